"""How far a process's own sums are rounded: terms that are huge and cancel.

    |mean − exact| ≤ ε Σⱼ |κ(x, xⱼ)| |αⱼ|,    |variance − exact| ≤ 2ε Σᵢ |vᵢ| Σⱼ |L⁻¹ᵢⱼ| |κ(x, xⱼ)|

A process that has learned a nearly linear function has a large variance and long length scales:
its answers are small differences of large numbers, and no two ways to add them agree to 10⁻⁹.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from separatrix.bayes.process.noise import SplitKernel
from separatrix.rows.block import Floats, to_array

EPS = float(np.finfo(np.float64).eps)


def roundings(model: Any, X: Any) -> dict[str, Floats]:
    """Bounds of the rounding of a process's answers by output; nothing for other models."""
    if type(model).__name__ != "GaussianProcessRegressor" or model._structures:
        return {}
    x = np.asarray(to_array(model._design(X)), dtype=np.float64)
    if len(model.target_scale_) > 1:
        return {"prediction": _of_mean(model, x) * model.target_scale_}
    mean, scale = _of_mean(model, x)[:, 0], float(model.target_scale_[0])
    spread = np.asarray(model.predict(X, return_std=True)[1]) / scale
    variance = _of_variance(model, x)
    deviation = np.where(spread > 0.0, variance / np.where(spread > 0.0, spread, 1.0), 0.0)
    deviation = np.minimum(deviation, np.sqrt(variance))
    interval = (mean + 4.0 * deviation)[:, None]
    found = {"prediction": mean, "standard_deviation": deviation, "interval": interval}
    return {name: scale * value for name, value in found.items()}


def _of_mean(model: Any, x: Floats) -> Floats:
    split, k = SplitKernel(model.kernel_), len(model.target_scale_)
    alpha = np.abs(model.alpha_.reshape(-1, k))
    total = np.zeros((len(x), k))
    if split.function is not None:
        total += np.abs(split.function.gram(x, model.X_train_)) @ alpha
    if len(model.basis_):
        total += np.abs(model.basis_.of_rows(x)) @ np.abs(model.trend_coef_)
    return np.asarray(4.0 * EPS * total)


def _of_variance(model: Any, x: Floats) -> Floats:
    """Of the exact process by its factor, of inducing points by that of the points."""
    if model._is_inducing:
        inducing = model._inducing_bound.inducing
        cross, inverse = np.abs(inducing.rows(x)), inducing.whitening
        whitened = np.abs(inducing.whitened(x))
    else:
        function = SplitKernel(model.kernel_).function
        if function is None:
            return np.zeros(len(x))
        cross = np.abs(function.gram(x, model.X_train_))
        factor = np.tril(model._factored.factor)
        inverse = linalg.solve_triangular(factor, np.eye(len(factor)), lower=True).T
        whitened = np.abs(cross @ inverse)
    terms = cross @ np.abs(inverse)
    return np.asarray(4.0 * EPS * np.einsum("ij,ij->i", whitened, terms))
