"""Least squares from moments, or from a second pass where those lose too many digits.

    min over a, b of Σ w (y − a − b·x)²

Three statistics determine the solution; each preserves more digits and costs more than the last:

    moments            XᵀX in floats            error ≈ ε κ²
    triangular factor  R of X, by QR             error ≈ ε κ (1 + κ ρ),  ρ the relative residual
    extended moments   XᵀX in double-double      error ≈ ε² κ²

κ is the condition number of the equilibrated columns, so that the choice does not depend on units.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from separatrix.linear.least_squares import loops as dd
from separatrix.linear.least_squares.basic_solution import (
    EPS,
    BasicSolution,
    from_extended_moments,
    from_moments,
    from_moments_only,
    from_triangular_factor,
)
from separatrix.linear.least_squares.certificate import certify_from_moments, warn_if_not_unique
from separatrix.linear.least_squares.extended_moments import ExtendedMoments
from separatrix.linear.least_squares.minimum_norm import minimum_norm
from separatrix.messages import InputError
from separatrix.optimize.solution import LeastSquares
from separatrix.rows.block import Floats
from separatrix.rows.rows import Rows
from separatrix.statistics.moments import Moments
from separatrix.statistics.triangular import TriangularFactor

#: Digits of coefficients and residual sum of squares below which the rows are read again.
WANTED_DIGITS = 10.0
#: Multiply–adds in double-double that a fit may spend (about ten seconds on one core).
AFFORDABLE = 1e10


def solve_moments(rows: Rows | None, moments: Moments, *, fit_intercept: bool) -> LeastSquares:
    """Solve from the moments where they have enough digits, else read the rows once more.

    ``rows`` None means that there are only the moments (a summary file, a sum over sites).
    """
    if moments.count == 0:
        raise InputError("There are no rows to fit.")
    m = moments if fit_intercept else moments.about_origin()
    mean = moments.mean
    basic = from_moments(m)
    if basic is None or basic.digits < WANTED_DIGITS:
        if rows is None:
            basic = basic or from_moments_only(m)
        elif m.count * len(m.mean) ** 2 / 2 <= AFFORDABLE:
            extended = rows.reduce(ExtendedMoments(m.mean))
            mean = extended.mean()
            scatter = extended.scatter() if fit_intercept else extended.gram
            basic = from_extended_moments(scatter, m)
        else:
            r = rows.reduce(TriangularFactor()).r
            # below its first row, the factor of [1 X Y] is that of the centered [X Y]
            r = r[1:, 1:] if fit_intercept else linalg.qr(r[:, 1:], mode="r")[0]
            basic = from_triangular_factor(r, m)
    return _solution(basic, m, np.atleast_2d(mean), fit_intercept)


def _solution(basic: BasicSolution, m: Moments, mean: Floats, fit_intercept: bool) -> LeastSquares:
    """Minimum-norm coefficients, intercept, certificate and what inference needs."""
    coef = minimum_norm(basic.independent, basic.coef, basic.combination)
    low = np.zeros_like(coef)
    if basic.independent.all():
        low[:] = basic.coef_low
    intercept = _intercept(mean, coef, low) if fit_intercept else np.zeros(coef.shape[1])
    rank = int(basic.independent.sum())
    certificate = replace(
        certify_from_moments(m, coef),
        condition=basic.condition,
        rank=rank,
        digits=float(np.clip(basic.digits, 0.0, -np.log10(EPS))),
        statistic=basic.statistic,
        dependent=tuple(
            str(term)
            for term, independent in zip(m.terms, basic.independent, strict=True)
            if not independent
        ),
    )
    warn_if_not_unique(certificate)
    return LeastSquares(
        coef,
        intercept,
        certificate,
        rss=basic.rss,
        inverse=_inverse(basic, m, mean[:, : m.d], fit_intercept),
        identified=_identified(basic, mean[0, : m.d] if fit_intercept else None, m.weight),
        rank=rank,
    )


def _intercept(mean: Floats, coef: Floats, low: Floats) -> Floats:
    """ȳ − x̄·b with twice the digits: its leading ones cancel when columns lie far from zero."""
    d, k = coef.shape
    if len(mean) == 1:
        return np.asarray(mean[0, d:] - mean[0, :d] @ coef)
    negative_mean = np.ascontiguousarray(np.append(-mean[:, :d], [[1.0], [0.0]], axis=1))
    intercepts = np.empty(k)
    for j in range(k):
        b = np.stack([coef[:, j], low[:, j]])
        intercepts[j] = sum(dd.dot(negative_mean, np.append(b, mean[:, [d + j]], axis=1)))
    return intercepts


def _inverse(basic: BasicSolution, m: Moments, center: Floats, fit_intercept: bool) -> Floats:
    """(XᵀX)⁻¹ over the design; with an intercept it is 1/Σw about the means, then moved to 0.

    (XᵀX)⁻¹ = QQᵀ, so that the intercept's entry is 1/Σw + ‖Qᵀx̄‖²: a sum without cancellation,
    once Qᵀx̄, where the large entries of Q cancel, has been formed with all its digits.
    """
    at = np.flatnonzero(basic.independent) + int(fit_intercept)
    inverse = np.zeros((m.d + int(fit_intercept),) * 2)
    inverse[np.ix_(at, at)] = basic.inverse
    if fit_intercept:
        projected = _projected_mean(basic.inverse_root, center[:, basic.independent])
        inverse[0, 0] = 1.0 / m.weight + projected @ projected
        inverse[0, at] = inverse[at, 0] = -basic.inverse_root[0] @ projected
    return inverse


def _projected_mean(root: Floats, center: Floats) -> Floats:
    """Qᵀx̄, with twice the digits where the mean has them."""
    if len(center) == 1:
        return np.asarray(center[0] @ root[0])
    center = np.ascontiguousarray(center)
    columns = np.ascontiguousarray(np.moveaxis(root, 2, 0))
    return np.array([sum(dd.dot(column, center)) for column in columns])


def _identified(basic: BasicSolution, center: Floats | None, count: float) -> NDArray[np.bool_]:
    """Coefficients that are unique: independent, and part of no dependent column.

    The intercept is unique (without one, ``center`` is None) if no dependent column is a
    combination of others plus a constant. A constant column is left out, not combined.
    """
    unique = basic.independent.copy()
    if basic.combination.size:
        # lengths in units of each column's own distance from the others: free of units
        weight = np.abs(basic.combination) / np.sqrt(np.diag(basic.inverse))[:, None]
        involved = (weight > 1e-9 * weight.max(axis=0)).any(axis=1)
        unique[np.flatnonzero(basic.independent)[involved]] = False
    return (
        unique if center is None else np.append(_intercept_identified(basic, center, count), unique)
    )


def _intercept_identified(basic: BasicSolution, center: Floats, count: float) -> bool:
    """Whether x_D = X_I T holds without a constant, up to the digits of T."""
    combined = basic.combination.any(axis=0)
    if not combined.any():
        return True
    t, own = basic.combination[:, combined], center[~basic.independent][combined]
    constant = own - center[basic.independent] @ t
    size = np.abs(own) + np.abs(center[basic.independent]) @ np.abs(t)
    tolerance = min(1e2 * 10.0**-basic.digits, 1e-9)
    # entries rounded by ε|x| leave the constant uncertain by that times √[(XᵀX)⁻¹]₀₀, times √n
    lever = np.sqrt(1.0 + count * np.sum((center[basic.independent] @ basic.inverse_root[0]) ** 2))
    return bool((np.abs(constant) <= max(tolerance, 10.0 * EPS * lever) * size).all())
