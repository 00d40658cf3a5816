"""Kernels by scikit-learn's names and parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from separatrix.kernels.base import Items, Kernel
from separatrix.kernels.gaussian import Gaussian
from separatrix.kernels.precomputed import Custom, Precomputed
from separatrix.kernels.tiles import as_matrix
from separatrix.kernels.translation import from_sklearn, is_foreign
from separatrix.kernels.vectors import Linear, Polynomial, Sigmoid
from separatrix.messages import InputError, did_you_mean
from separatrix.rows.block import Floats, unit_weights

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
        return Gaussian(float(np.sqrt(0.5 / _gamma(gamma, x, sample_weight))))
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
