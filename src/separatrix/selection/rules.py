"""Selection rules along a regularization path: minimum, one standard error, elbow, AIC and BIC.

Penalties may be in any order; among equals the largest penalty, the simplest model, is chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from separatrix.arrays import Floats, NDArray
from separatrix.messages import InputError
from separatrix.rows.schema import Block
from separatrix.statistics.moments import Moments


def validation_error(
    test: Moments | Block, coefs: Floats, intercepts: Floats, target: int = 0
) -> Floats:
    """Mean squared error of many models at once, from the test rows or their moments.

    (yy − 2 b·xy + bᵀ xx b) / W + (ȳ − a − b·x̄)²     for each row b of ``coefs`` (m x d)

    The first term is the variance of the residuals, the second their squared mean.
    """
    if isinstance(test, Block):
        residual = test.y[:, [target]] - (test.x @ coefs.T + intercepts)
        return np.asarray(np.average(residual**2, axis=0, weights=test.w))
    cross = coefs @ test.xy[:, target]
    square = np.einsum("ij,ij->i", coefs @ test.xx, coefs)
    spread = (test.yy[target, target] - 2.0 * cross + square) / test.weight
    bias = test.y_mean[target] - intercepts - coefs @ test.x_mean
    return np.asarray(np.maximum(spread, 0.0) + bias**2)


def minimum(penalties: Floats, errors: Floats) -> int:
    """Index of the least error; errors by fold (m x k) are averaged first."""
    mean = errors if errors.ndim == 1 else errors.mean(axis=1)
    return _largest(penalties, mean <= np.nanmin(mean))


def one_standard_error(penalties: Floats, errors: Floats) -> int:
    """Index of the largest penalty whose mean error is within one standard error of the least.

    mean(α) ≤ min mean + s/√k,     s the standard deviation over the k folds at the minimum
    """
    mean = errors.mean(axis=1)
    best = minimum(penalties, errors)
    k = errors.shape[1]
    spread = float(errors[best].std(ddof=1)) / np.sqrt(k) if k > 1 else 0.0
    return _largest(penalties, mean <= mean[best] + spread)


def elbow(penalties: Floats, errors: Floats) -> int:
    """Index of the largest penalty that no other point beats by more than one standard error.

    mean(α) − min mean ≤ s/√k,     s the standard deviation over the k folds of their difference

    Beyond it the error does not fall any more by what the folds can tell. Errors of the same folds
    rise and fall together, so that their differences are known better than they are.
    """
    best = minimum(penalties, errors)
    apart = errors - errors[best]
    k = errors.shape[1]
    spread = apart.std(axis=1, ddof=1) / np.sqrt(k) if k > 1 else np.zeros(len(errors))
    return _largest(penalties, apart.mean(axis=1) <= spread)


def _largest(penalties: Floats, eligible: NDArray[np.bool_]) -> int:
    return int(np.argmax(np.where(eligible, penalties, -np.inf)))


#: The rules that choose from errors by fold, by the name users give them.
RULES: dict[str, Callable[[Floats, Floats], int]] = {
    "min": minimum,
    "one_se": one_standard_error,
    "elbow": elbow,
}


def number_or_values(name: str, given: Any, remedy: str) -> int | Floats:
    """A number of values for a grid, or the values, finite and positive, in increasing order."""
    if isinstance(given, int | np.integer):
        if given < 1:
            raise InputError(f"{name}={given} must be at least 1, or a list of values.")
        return int(given)
    values = np.sort(numbers(name, given))
    if not len(values) or not (values > 0.0).all():
        raise InputError(f"{name} must be finite numbers greater than 0.", remedy=remedy)
    return values


def numbers(name: str, given: Any, bound: str = ">= 0.0") -> Floats:
    """The values given for a parameter, finite and not negative, in their order.

    ``bound`` says in the message what they must be.
    """
    values = np.asarray(given, dtype=object).ravel().tolist()
    for i, value in enumerate(values):
        if not isinstance(value, Real):
            kind = type(value).__name__
            raise TypeError(f"{name}[{i}] must be an instance of float, not {kind}.")
        if not 0.0 <= float(value) < np.inf:
            raise InputError(f"{name}[{i}] == {value}, must be {bound}.")
    return np.array(values, dtype=float)


def aic(squares: Floats, freedom: Floats, n: float) -> Floats:
    """Akaike's criterion, −2 log L + 2 k: see :func:`information`."""
    return information(squares, freedom, n, 2.0)


def bic(squares: Floats, freedom: Floats, n: float) -> Floats:
    """Schwarz's criterion, −2 log L + log(n) k: see :func:`information`."""
    return information(squares, freedom, n, np.log(n))


def information(squares: Floats, freedom: Floats, n: float, penalty: float) -> Floats:
    """Information criterion −2 log L + penalty · k  =  n log(2π RSS/n) + n + penalty · k.

    The likelihood is Gaussian with variance RSS/n (``squares`` / n) at each point, and k is
    ``freedom``, the effective degrees of freedom including the intercept. ``n`` is the sum of the
    weights. Where k > n/2 the variance is underestimated, and a path that ends in interpolation
    would always have its minimum there: such points get +∞.
    """
    value = penalty * freedom - 2.0 * gaussian_log_likelihood(squares, n)
    return np.where(freedom > np.maximum(n / 2.0, 1.0), np.inf, value)


def gaussian_log_likelihood(squares: Floats, n: float) -> Floats:
    """Maximum of the Gaussian log-likelihood, −n/2 (log(2π RSS/n) + 1)."""
    variance = np.maximum(squares / n, np.finfo(float).tiny)
    return np.asarray(-0.5 * n * (np.log(2.0 * np.pi * variance) + 1.0))
