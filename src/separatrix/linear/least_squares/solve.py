"""Least squares: min over a, b of Σ w (y − a − b·x)², to all the digits that the rows hold.

Three statistics can carry the problem; each keeps more digits and costs more than the last:

    moments            XᵀX in floats            error ≈ ε κ²
    triangular factor  R of X, by QR             error ≈ ε κ (1 + κ ρ),  ρ the relative residual
    extended moments   XᵀX in double-double      error ≈ ε² κ²

κ is the condition number of the equilibrated columns, so the choice does not depend on units.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from separatrix.linear.least_squares.certificate import certify_least_squares
from separatrix.linear.least_squares.extended_moments import ExtendedMoments
from separatrix.linear.least_squares.minimum_norm import shortest_coefficients
from separatrix.linear.least_squares.triangular import (
    EPS,
    Triangle,
    from_extended,
    from_factor,
    from_moments,
    from_moments_alone,
)
from separatrix.linear.loops import double_double as dd
from separatrix.messages import InputError, warn
from separatrix.optimize.solution import Certificate, LeastSquares
from separatrix.rows.block import Floats
from separatrix.rows.rows import Rows
from separatrix.statistics.moments import Moments
from separatrix.statistics.triangular import TriangularFactor

#: Digits that coefficients and residual sum of squares should keep; with fewer, climb the ladder.
WANTED_DIGITS = 10.0
#: Multiply–adds in double-double that a fit may spend (about ten seconds on one core).
AFFORDABLE = 1e10


def fit_least_squares(rows: Rows | None, moments: Moments, *, fit_intercept: bool) -> LeastSquares:
    """Solve from the moments where they keep enough digits, else read the rows once more.

    ``rows`` None means that only the moments are left (a summary file, a sum over sites).
    """
    if moments.count == 0:
        raise InputError("There are no rows to fit.")
    m = moments if fit_intercept else moments.about_origin()
    mean = moments.mean
    triangle = from_moments(m)
    if triangle is None or triangle.digits < WANTED_DIGITS:
        if rows is None:
            triangle = triangle or from_moments_alone(m)
        elif m.count * len(m.mean) ** 2 / 2 <= AFFORDABLE:
            extended = rows.reduce(ExtendedMoments(m.mean))
            mean = extended.mean()
            triangle = from_extended(extended.scatter() if fit_intercept else extended.gram, m)
        else:
            r = rows.reduce(TriangularFactor()).r
            # below its first row, the factor of [1 X Y] is that of the centred [X Y]
            r = r[1:, 1:] if fit_intercept else linalg.qr(r[:, 1:], mode="r")[0]
            triangle = from_factor(r, m)
    return _finish(triangle, m, np.atleast_2d(mean), fit_intercept)


def _finish(t: Triangle, m: Moments, mean: Floats, fit_intercept: bool) -> LeastSquares:
    coef = shortest_coefficients(t.kept, t.basis, t.combination)
    low = np.zeros_like(coef)
    if t.kept.all():
        low[:] = t.low
    intercept = _intercept(mean, coef, low) if fit_intercept else np.zeros(coef.shape[1])
    dependent = tuple(str(term) for term, keep in zip(m.terms, t.kept, strict=True) if not keep)
    certificate = certify_least_squares(
        m,
        coef,
        condition=t.condition,
        rank=int(t.kept.sum()),
        digits=float(np.clip(t.digits, 0.0, -np.log10(EPS))),
        statistic=t.statistic,
        dependent=dependent,
    )
    say(certificate)
    return LeastSquares(
        coef,
        intercept,
        certificate,
        rss=t.rss,
        inverse=_inverse(t, m, mean[:, : m.d], fit_intercept),
        identified=_identified(t, fit_intercept),
        rank=int(t.kept.sum()),
    )


def _intercept(mean: Floats, coef: Floats, low: Floats) -> Floats:
    """ȳ − x̄·b with twice the digits: its leading ones cancel when columns lie far from zero."""
    d, k = coef.shape
    if len(mean) == 1:
        return np.asarray(mean[0, d:] - mean[0, :d] @ coef)
    pairs = [
        (np.append(-mean[:, :d], [[1.0], [0.0]], axis=1), np.stack([coef[:, j], low[:, j]]))
        for j in range(k)
    ]
    return np.array(
        [
            sum(dd.dot(np.ascontiguousarray(a), np.append(b, mean[:, [d + j]], axis=1)))
            for j, (a, b) in enumerate(pairs)
        ]
    )


def _inverse(t: Triangle, m: Moments, center: Floats, fit_intercept: bool) -> Floats:
    """(XᵀX)⁻¹ over the design; with an intercept it is 1/Σw about the means, then moved to 0.

    (XᵀX)⁻¹ = QQᵀ, so that the intercept's entry is 1/Σw + ‖Qᵀx̄‖²: a sum without cancellation,
    once Qᵀx̄, where the large entries of Q cancel, has been formed with all its digits.
    """
    at = np.flatnonzero(t.kept) + int(fit_intercept)
    inverse = np.zeros((m.d + int(fit_intercept),) * 2)
    inverse[np.ix_(at, at)] = t.inverse
    if fit_intercept:
        pull = _pull(t.root, center[:, t.kept])
        inverse[0, 0] = 1.0 / m.weight + pull @ pull
        inverse[0, at] = inverse[at, 0] = -t.root[0] @ pull
    return inverse


def _pull(root: Floats, center: Floats) -> Floats:
    """Qᵀx̄, with twice the digits where the mean has them."""
    if len(center) == 1:
        return np.asarray(center[0] @ root[0])
    center = np.ascontiguousarray(center)
    columns = np.ascontiguousarray(np.moveaxis(root, 2, 0))
    return np.array([sum(dd.dot(column, center)) for column in columns])


def _identified(t: Triangle, fit_intercept: bool) -> NDArray[np.bool_]:
    """Coefficients that are unique: independent, and no dependent column leans on them."""
    free = t.kept.copy()
    if t.combination.size:
        # lengths in units of each column's own distance from the others: free of units
        weight = np.abs(t.combination) / np.sqrt(np.diag(t.inverse))[:, None]
        leaned = (weight > 1e-9 * weight.max(axis=0)).any(axis=1)
        free[np.flatnonzero(t.kept)[leaned]] = False
    return np.append(free.all(), free) if fit_intercept else free


def say(certificate: Certificate) -> None:
    """Warn where coefficients are not unique, or hardly any of their digits can be trusted."""
    if certificate.dependent:
        shown = ", ".join(certificate.dependent[:5])
        more = len(certificate.dependent) - 5
        shown += f" and {more} more" if more > 0 else ""
        warn(
            "SEP001",
            f"columns that are combinations of others: {shown}. The fitted values are unique; of "
            "the coefficients, the set with the smallest norm was returned. Remove these columns, "
            "or use Ridge, to make them unique.",
        )
    elif certificate.digits < 4:
        warn(
            "SEP002",
            f"only about {certificate.digits:.0f} digits of the coefficients can be trusted "
            f"(condition number {certificate.condition:.1e}). Fit from the rows instead of their "
            "moments, or use Ridge.",
        )
