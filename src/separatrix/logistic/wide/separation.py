"""Separation on wide and sparse rows: by a point that classifies all rows, or by one column.

Text is often separable by a word that one class alone has: its coefficient then has no finite
maximum likelihood estimate, whatever the other words.
"""

from __future__ import annotations

import numpy as np

from separatrix.logistic.separation import ROUNDING, Separation
from separatrix.logistic.wide.problem import WideLogistic
from separatrix.rows.block import Floats


def separation_along(problem: WideLogistic, theta: Floats) -> Separation | None:
    """θ as a direction of recession, if the margins of all rows agree."""
    theta = theta / max(float(np.linalg.norm(theta)), np.finfo(float).tiny)
    scores = problem.times(theta)
    counted = problem.w > 0.0
    if theta.shape[1] == 1:
        margins = (problem.sign * scores[:, 0])[counted]
    else:
        own = np.take_along_axis(scores, problem.codes[:, None], axis=1)
        margins = own - scores
        np.put_along_axis(margins, problem.codes[:, None], np.inf, axis=1)
        margins = margins[counted]
    smallest = float(margins.min())
    largest = float(margins[np.isfinite(margins)].max())
    if not largest > 1e-6 or smallest < -ROUNDING * largest:
        return None
    coef, intercept = problem.unscale(theta)
    return Separation(coef, intercept, smallest, largest, complete=smallest > ROUNDING * largest)


def separating_column(problem: WideLogistic) -> Separation | None:
    """A column whose values in the classes overlap in one point at most; two classes only."""
    if problem.shape[1] > 1:
        return None
    low, high = _ranges(problem)
    origin = 0.0 if problem.design.intercept else np.nan
    for sign in (1.0, -1.0):
        lower, upper = (high[0], low[1]) if sign > 0 else (high[1], low[0])
        threshold = lower if np.isfinite(origin) else np.zeros_like(lower)
        apart = (lower <= threshold) & (threshold <= upper)
        apart &= np.maximum(high[0], high[1]) > np.minimum(low[0], low[1])
        if apart.any():
            j = int(np.argmax(np.where(apart, (upper - lower) / problem.preconditioner.scale, -1)))
            return _by_column(problem, j, sign, float(threshold[j]))
    return None


def _ranges(problem: WideLogistic) -> tuple[list[Floats], list[Floats]]:
    """Smallest and largest value of every column in each class."""
    x, low, high = problem.rows.collect().x, [], []
    for code in (0, 1):
        part = x[(problem.codes == code) & (problem.w > 0.0)]
        smallest, largest = part.min(axis=0), part.max(axis=0)
        low.append(np.asarray(smallest.toarray() if problem.is_sparse else smallest).ravel())
        high.append(np.asarray(largest.toarray() if problem.is_sparse else largest).ravel())
    return low, high


def _by_column(problem: WideLogistic, j: int, sign: float, threshold: float) -> Separation | None:
    """The direction ±(xⱼ − threshold), checked on all rows."""
    theta = np.zeros(problem.shape)
    theta[j] = sign * problem.preconditioner.scale[j]
    if problem.design.intercept:
        theta[-1] = sign * (problem.preconditioner.center[j] - threshold)
    coef, intercept = problem.unscale(theta)
    x = problem.rows.collect().x[:, [j]]
    values = np.asarray(x.toarray() if problem.is_sparse else x).ravel()
    margins = (problem.sign * sign * (values - threshold))[problem.w > 0.0]
    smallest, largest = float(margins.min()), float(margins.max())
    if smallest < 0.0 or not largest > 0.0:
        return None
    return Separation(coef, intercept, smallest, largest, complete=smallest > 0.0)
