"""Kernels by scikit-learn's names and parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats
from separatrix.kernels import stationary
from separatrix.kernels.algebra import Normalized, Power, Product, Sum
from separatrix.kernels.base import (
    Array,
    Custom,
    Hyperparameter,
    Items,
    Kernel,
    Precomputed,
    PreparedKernel,
    as_matrix,
    copy_to,
)
from separatrix.kernels.learning import Bounded, Fixed
from separatrix.kernels.vectors import Linear, Polynomial, Sigmoid
from separatrix.messages import InputError, did_you_mean
from separatrix.rows.schema import n_items, unit_weights

NAMES = ("linear", "poly", "rbf", "sigmoid", "precomputed")


def kernel_from(
    kernel: Any,
    *,
    gamma: str | float = "scale",
    degree: int = 3,
    coef0: float = 0.0,
    x: Items | None = None,
    sample_weight: Floats | None = None,
) -> Kernel:
    """The kernel given by a :class:`Kernel`, a kernel object or a name of scikit-learn, a function.

    ``gamma`` is γ in exp(−γ‖x − z‖²), (γ x·z + coef0)^degree and tanh(γ x·z + coef0): a number,
    "auto" for 1/d, or "scale" for 1/(d · weighted variance of all entries of ``x``).
    """
    if isinstance(kernel, Kernel):
        return kernel
    if is_foreign(kernel):
        return from_sklearn(kernel)
    if kernel == "linear":
        return Linear()
    if kernel == "precomputed":
        return Precomputed()
    if kernel == "poly":
        return Polynomial(degree, float(coef0), _gamma(gamma, x, sample_weight))
    if kernel == "rbf":
        return stationary.Gaussian(float(np.sqrt(0.5 / _gamma(gamma, x, sample_weight))))
    if kernel == "sigmoid":
        return Sigmoid(_gamma(gamma, x, sample_weight), float(coef0))
    if callable(kernel):
        return Custom(kernel)
    raise InputError(f"There is no kernel {kernel!r}.", remedy=did_you_mean(str(kernel), NAMES))


def _gamma(gamma: str | float, x: Items | None, w: Floats | None) -> float:
    if not isinstance(gamma, str):
        if not 0.0 < gamma < np.inf:
            raise InputError(f"gamma is {gamma!r}.", remedy="Take a number above zero.")
        return float(gamma)
    if gamma not in ("scale", "auto"):
        raise InputError(f"gamma is {gamma!r}.", remedy='Take "scale", "auto" or a number.')
    if x is None:
        raise InputError(
            f"gamma={gamma!r} is computed from the rows, and none are given.",
            remedy="Give gamma as a number.",
        )
    x = as_matrix(x)
    if gamma == "auto":
        return 1.0 / int(x.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        variance = _variance(x, w) * int(x.shape[1])
    if not np.isfinite(variance):
        raise InputError(
            "The variance of the rows is too large for a number, and with it gamma='scale'.",
            remedy="Divide the columns by their size, or use standardize=True where it is offered.",
        )
    return 1.0 / variance if variance > 0.0 else 1.0


def _variance(x: Any, w: Floats | None) -> float:
    """The weighted variance of all entries, zeros included."""
    if not sparse.issparse(x):
        if w is None:
            return float(x.var(dtype=float))
        weight = w / (w.sum() * x.shape[1])
        mean = float((weight @ x).sum())
        return float((weight @ (x - mean) ** 2).sum())
    entries, d = x.tocoo(), x.shape[1]
    w = unit_weights(w, x.shape[0])
    weight = w[entries.row] / (w.sum() * d)
    mean = float(weight @ entries.data)
    stored = float(weight @ (entries.data - mean) ** 2)
    return stored + max(1.0 - float(weight.sum()), 0.0) * mean**2


# -------------------------------------------------------------------------------------------------
# Kernels as scikit-learn's ``pairwise_kernels`` takes them: further names, functions of two rows.


PAIRWISE = (*NAMES, "polynomial", "laplacian", "cosine", "chi2", "additive_chi2")


def pairwise_from(
    kernel: Any,
    *,
    gamma: str | float | None = None,
    degree: float = 3,
    coef0: float = 1.0,
    parameters: Mapping[str, Any] | None = None,
    x: Items | None = None,
    sample_weight: Floats | None = None,
) -> Kernel:
    """The kernel of a name, a function κ(x, z) of two rows with ``parameters``, or an object.

    ``gamma`` None is 1/d, and 1 of chi2.
    """
    if isinstance(kernel, Kernel) or is_foreign(kernel):
        return kernel_from(kernel)
    if callable(kernel):
        return Custom(PairwiseFunction(kernel, tuple((parameters or {}).items())))
    if kernel not in PAIRWISE:
        remedy = did_you_mean(str(kernel), PAIRWISE)
        raise InputError(f"There is no kernel {kernel!r}.", remedy=remedy)
    if kernel == "cosine":
        return Normalized(Linear())
    if kernel == "chi2":
        chosen = 1.0 if gamma is None else _gamma(gamma, x, sample_weight)
        return Custom(PairwiseFunction(kernel, (("gamma", chosen),)))
    if kernel == "additive_chi2":
        return Custom(PairwiseFunction(kernel))
    gamma = "auto" if gamma is None else gamma
    if kernel == "laplacian":
        return stationary.Laplace(1.0 / _gamma(gamma, x, sample_weight), norm=1)
    if kernel in ("poly", "polynomial") and degree != int(degree):
        form = (("gamma", _gamma(gamma, x, sample_weight)), ("degree", degree), ("coef0", coef0))
        return Custom(PairwiseFunction("poly", form))
    kernel = "poly" if kernel == "polynomial" else kernel
    return kernel_from(
        kernel, gamma=gamma, degree=int(degree), coef0=coef0, x=x, sample_weight=sample_weight
    )


@dataclass(frozen=True)
class PairwiseFunction:
    """A name or a function of two rows that ``pairwise_kernels`` evaluates for all pairs."""

    metric: Any
    parameters: tuple[tuple[str, Any], ...] = ()

    def __call__(self, x: Any, z: Any) -> Any:
        """Of all pairs."""
        from sklearn.metrics.pairwise import pairwise_kernels

        return pairwise_kernels(x, z, metric=self.metric, **dict(self.parameters))


# -------------------------------------------------------------------------------------------------
# Kernels of scikit-learn, translated to kernel expressions.
#
# RBF → Gaussian,  Matern → Matern,  ExpSineSquared → Periodic,  DotProduct(σ₀) → σ₀² + x·z,  …
#
# Parameters whose bounds are "fixed" become :class:`Fixed`, bounds other than the customary ones
# :class:`Bounded`. Kernels that have no counterpart, subclasses of a user's own among them, are
# wrapped with their values and derivatives as they are.


_HOME = "sklearn.gaussian_process.kernels"


def is_foreign(kernel: Any) -> bool:
    """Whether this is a kernel object of scikit-learn, or one made like them."""
    needed = ("clone_with_theta", "theta", "bounds", "diag")
    return (
        callable(kernel)
        and not isinstance(kernel, type | Kernel)
        and all(hasattr(type(kernel), name) for name in needed)
    )


def from_sklearn(kernel: Any) -> Kernel:
    """The expression of ours that equals a kernel object of scikit-learn."""
    kind = type(kernel)
    if kind.__module__ == _HOME and kind.__name__ == "CompoundKernel":
        raise InputError(
            "The kernel cannot be a CompoundKernel, which is several kernels.",
            remedy="Give one kernel; several classes share it.",
        )
    translate = _TRANSLATIONS.get(kind.__name__) if kind.__module__ == _HOME else None
    translated = None if translate is None else translate(kernel)
    return Foreign(kernel) if translated is None else translated


# -- one by one --------------------------------------------------------------------------------


def _customary(bounds: Any) -> bool:
    # scikit-learn's bounds where none are given: customary, no statement about the data.
    return bool(np.allclose(bounds, (1e-5, 1e5), rtol=1e-9, atol=0.0))


def _limit(kernel: Kernel, **bounds: Any) -> Kernel:
    """The kernel with the bounds of scikit-learn's object, by name of our hyperparameters."""
    limits: dict[str, tuple[float, float]] = {}
    for name, given in bounds.items():
        if isinstance(given, str):
            continue
        pairs = np.atleast_2d(np.asarray(given, dtype=float))
        if not np.isfinite(pairs).all():
            raise InputError(
                f"A kernel object of scikit-learn requires that all bounds are finite, and those "
                f"of {name} are {pairs.ravel().tolist()}."
            )
        names = [p for p in kernel.parameters if p == name or p.startswith(f"{name}_")]
        for each, (low, high) in zip(names, np.broadcast_to(pairs, (len(names), 2)), strict=True):
            if not _customary((low, high)):
                limits[each] = (float(low), float(high))
    bounded = Bounded(kernel, limits) if limits else kernel
    fixed = tuple(name for name, given in bounds.items() if isinstance(given, str))
    return Fixed(bounded, fixed) if fixed else bounded


def _bandwidth(length_scale: Any) -> Any:
    values = np.ravel(length_scale).astype(float).tolist()
    return tuple(values) if len(values) > 1 else values[0]


def _square_bounds(bounds: Any) -> Any:
    """Bounds of v² from those of v; customary ones stay."""
    if isinstance(bounds, str) or _customary(bounds):
        return bounds
    return np.asarray(bounds, dtype=float) ** 2


def _constant(k: Any) -> Kernel:
    return _limit(stationary.Constant(float(k.constant_value)), constant=k.constant_value_bounds)


def _white(k: Any) -> Kernel:
    return _limit(stationary.White(float(k.noise_level)), variance=k.noise_level_bounds)


def _gaussian(k: Any) -> Kernel:
    return _limit(stationary.Gaussian(_bandwidth(k.length_scale)), bandwidth=k.length_scale_bounds)


def _matern(k: Any) -> Kernel:
    matern = stationary.Matern(_bandwidth(k.length_scale), float(k.nu))
    return _limit(matern, bandwidth=k.length_scale_bounds)


def _rational_quadratic(k: Any) -> Kernel:
    rational_quadratic = stationary.RationalQuadratic(float(k.length_scale), float(k.alpha))
    return _limit(rational_quadratic, bandwidth=k.length_scale_bounds, alpha=k.alpha_bounds)


def _periodic(k: Any) -> Kernel:
    periodic = stationary.Periodic(float(k.length_scale), float(k.periodicity))
    return _limit(periodic, bandwidth=k.length_scale_bounds, period=k.periodicity_bounds)


def _dot_product(k: Any) -> Kernel:
    if float(k.sigma_0) == 0.0:
        return Linear()
    offset = stationary.Constant(float(k.sigma_0) ** 2)
    return _limit(offset, constant=_square_bounds(k.sigma_0_bounds)) + Linear()


def _pairwise(k: Any) -> Kernel | None:
    """A kernel of ``sklearn.metrics.pairwise`` that we have; None for others."""
    options, gamma = dict(k.pairwise_kernels_kwargs or {}), float(k.gamma)
    if k.metric == "linear" and not options:
        return Linear()
    if k.metric == "cosine" and not options:
        return Linear().normalized()
    if k.metric == "rbf" and not options:
        bounds = k.gamma_bounds
        if not isinstance(bounds, str) and not _customary(bounds):
            bounds = np.sqrt(0.5 / np.asarray(bounds, dtype=float))[::-1]
        return _limit(stationary.Gaussian(float(np.sqrt(0.5 / gamma))), bandwidth=bounds)
    constant = float(options.pop("coef0", 1.0))
    if k.metric in ("poly", "polynomial") and set(options) <= {"degree"} and constant >= 0.0:
        degree = options.get("degree", 3)
        if degree == int(degree):
            kernel: Kernel = Polynomial(int(degree), constant, gamma)
            return _limit(kernel, scale=k.gamma_bounds, constant="fixed")
    if k.metric == "sigmoid" and not options:
        return _limit(Sigmoid(gamma, constant), scale=k.gamma_bounds, constant="fixed")
    return None


_TRANSLATIONS: dict[str, Callable[[Any], Kernel | None]] = {
    "ConstantKernel": _constant,
    "WhiteKernel": _white,
    "RBF": _gaussian,
    "Matern": _matern,
    "RationalQuadratic": _rational_quadratic,
    "ExpSineSquared": _periodic,
    "DotProduct": _dot_product,
    "PairwiseKernel": _pairwise,
    "Sum": lambda k: Sum.of(from_sklearn(k.k1), from_sklearn(k.k2)),
    "Product": lambda k: Product.of(from_sklearn(k.k1), from_sklearn(k.k2)),
    "Exponentiation": lambda k: Power(from_sklearn(k.kernel), float(k.exponent)),
}


# -- all others --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Foreign(Kernel):
    """A kernel object made like scikit-learn's, with its own values and derivatives."""

    kernel: Any

    def __post_init__(self) -> None:
        vectors = bool(getattr(self.kernel, "requires_vector_input", True))
        object.__setattr__(self, "of_vectors", vectors)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Foreign) and bool(self.kernel == other.kernel)

    def __hash__(self) -> int:
        return hash((type(self.kernel), tuple(np.ravel(self.kernel.theta).tolist())))

    @property
    def mercer(self) -> bool:
        """False, since it is unknown."""
        return False

    def prepare(self, z: Items) -> PreparedForeign:
        """The centers unchanged."""
        return PreparedForeign(self, self.validate(z))

    def diagonal(self, x: Items) -> Array:
        """As the object computes it."""
        return np.array(self.kernel.diag(self.validate(x)), dtype=float)

    def validate(self, x: Items) -> Items:
        """Rows as a matrix, other items as they are."""
        return as_matrix(x) if self.of_vectors else x

    def _own_hyperparameters(self) -> list[tuple[str, Hyperparameter]]:
        names = [
            h.name for h in self.kernel.hyperparameters if not h.fixed for _ in range(h.n_elements)
        ]
        hyperparameters = []
        for name, value, (low, high) in zip(
            names, np.exp(self.kernel.theta), np.exp(self.kernel.bounds), strict=True
        ):
            limits = (float(low), float(high))
            bounded = not _customary(limits)
            hyperparameters.append((name, Hyperparameter(float(value), *limits, bounded=bounded)))
        return hyperparameters

    def _with_values(self, values: Sequence[float]) -> Self:
        return type(self)(self.kernel.clone_with_theta(np.log(np.asarray(values, dtype=float))))

    def _derivatives(self, x: Items) -> list[Array]:
        if not len(self.kernel.theta):
            return []
        _, by_theta = self.kernel(self.validate(x), eval_gradient=True)
        return [by_theta[:, :, k] / f for k, f in enumerate(self._theta_factors())]


class PreparedForeign(PreparedKernel):
    """Values of a foreign kernel object."""

    kernel: Foreign

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """Between two sets of rows."""
        x = self.kernel.validate(x)
        values = np.array(self.kernel.kernel(x, self.centers), dtype=float)
        return copy_to(values.reshape(n_items(x), len(self)), out)

    def take(self, indices: Any, out: Array | None = None) -> Array:
        """Rows of the Gram matrix."""
        return copy_to(self.gram()[indices], out)

    def gram(self, out: Array | None = None) -> Array:
        """Of the centers with themselves, noise included."""
        values = np.array(self.kernel.kernel(self.centers), dtype=float)
        return copy_to(0.5 * (values + values.T), out)
