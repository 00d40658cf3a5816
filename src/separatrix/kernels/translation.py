"""scikit-learn's kernel objects as expressions of ours.

RBF → Gaussian,  Matern → Matern,  ExpSineSquared → Periodic,  DotProduct(σ₀) → σ₀² + x·z,  …

Parameters whose bounds are "fixed" become :class:`Fixed`, bounds other than the customary ones
:class:`Bounded`. Kernels that have no counterpart, subclasses of a user's own among them, are
wrapped with their values and derivatives as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from separatrix.kernels.algebra import Power, Product, Sum
from separatrix.kernels.base import Array, Items, Kernel, PreparedKernel, n_items
from separatrix.kernels.gaussian import Gaussian
from separatrix.kernels.parameters.constraints import Bounded, Fixed
from separatrix.kernels.parameters.hyperparameters import Hyperparameter
from separatrix.kernels.stationary.constant import Constant, White
from separatrix.kernels.stationary.matern import Matern
from separatrix.kernels.stationary.periodic import Periodic
from separatrix.kernels.stationary.rational_quadratic import RationalQuadratic
from separatrix.kernels.tiles import as_matrix, copy_to
from separatrix.kernels.vectors import Linear, Polynomial, Sigmoid
from separatrix.messages import InputError

#: scikit-learn's bounds where none are given: customary, no statement about the data.
CUSTOMARY = (1e-5, 1e5)
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
    found = None if translate is None else translate(kernel)
    return Foreign(kernel) if found is None else found


# -- one by one --------------------------------------------------------------------------------


def _customary(bounds: Any) -> bool:
    return bool(np.allclose(bounds, CUSTOMARY, rtol=1e-9, atol=0.0))


def _limited(kernel: Kernel, **bounds: Any) -> Kernel:
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
        own = [p for p in kernel.parameters if p == name or p.startswith(f"{name}_")]
        for each, (low, high) in zip(own, np.broadcast_to(pairs, (len(own), 2)), strict=True):
            if not _customary((low, high)):
                limits[each] = (float(low), float(high))
    found = Bounded(kernel, limits) if limits else kernel
    fixed = tuple(name for name, given in bounds.items() if isinstance(given, str))
    return Fixed(found, fixed) if fixed else found


def _bandwidth(length_scale: Any) -> Any:
    values = np.ravel(length_scale).astype(float).tolist()
    return tuple(values) if len(values) > 1 else values[0]


def _squared(bounds: Any) -> Any:
    """Bounds of v² from those of v; customary ones stay."""
    if isinstance(bounds, str) or _customary(bounds):
        return bounds
    return np.asarray(bounds, dtype=float) ** 2


def _constant(k: Any) -> Kernel:
    return _limited(Constant(float(k.constant_value)), constant=k.constant_value_bounds)


def _white(k: Any) -> Kernel:
    return _limited(White(float(k.noise_level)), variance=k.noise_level_bounds)


def _gaussian(k: Any) -> Kernel:
    return _limited(Gaussian(_bandwidth(k.length_scale)), bandwidth=k.length_scale_bounds)


def _matern(k: Any) -> Kernel:
    own = Matern(_bandwidth(k.length_scale), float(k.nu))
    return _limited(own, bandwidth=k.length_scale_bounds)


def _rational_quadratic(k: Any) -> Kernel:
    own = RationalQuadratic(float(k.length_scale), float(k.alpha))
    return _limited(own, bandwidth=k.length_scale_bounds, alpha=k.alpha_bounds)


def _periodic(k: Any) -> Kernel:
    own = Periodic(float(k.length_scale), float(k.periodicity))
    return _limited(own, bandwidth=k.length_scale_bounds, period=k.periodicity_bounds)


def _dot_product(k: Any) -> Kernel:
    if float(k.sigma_0) == 0.0:
        return Linear()
    offset = Constant(float(k.sigma_0) ** 2)
    return _limited(offset, constant=_squared(k.sigma_0_bounds)) + Linear()


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
        return _limited(Gaussian(float(np.sqrt(0.5 / gamma))), bandwidth=bounds)
    constant = float(options.pop("coef0", 1.0))
    if k.metric in ("poly", "polynomial") and set(options) <= {"degree"} and constant >= 0.0:
        degree = options.get("degree", 3)
        if degree == int(degree):
            own: Kernel = Polynomial(int(degree), constant, gamma)
            return _limited(own, scale=k.gamma_bounds, constant="fixed")
    if k.metric == "sigmoid" and not options:
        return _limited(Sigmoid(gamma, constant), scale=k.gamma_bounds, constant="fixed")
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
        found = []
        for name, value, (low, high) in zip(
            names, np.exp(self.kernel.theta), np.exp(self.kernel.bounds), strict=True
        ):
            limits = (float(low), float(high))
            bounded = not _customary(limits)
            found.append((name, Hyperparameter(float(value), *limits, bounded=bounded)))
        return found

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
        found = np.array(self.kernel.kernel(x, self.centers), dtype=float)
        return copy_to(found.reshape(n_items(x), len(self)), out)

    def take(self, indices: Any, out: Array | None = None) -> Array:
        """Rows of the Gram matrix."""
        return copy_to(self.gram()[indices], out)

    def gram(self, out: Array | None = None) -> Array:
        """Of the centers with themselves, noise included."""
        found = np.array(self.kernel.kernel(self.centers), dtype=float)
        return copy_to(0.5 * (found + found.T), out)
