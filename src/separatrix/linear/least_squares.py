"""Least squares from moments, or from a second pass where those lose too many digits.

    min over a, b of Σ w (y − a − b·x)²

Three statistics determine the solution; each preserves more digits and costs more than the last:

    moments            XᵀX in floats            error ≈ ε κ²
    triangular factor  R of X, by QR             error ≈ ε κ (1 + κ ρ),  ρ the relative residual
    extended moments   XᵀX in double-double      error ≈ ε² κ²

κ is the condition number of the equilibrated columns, so that the choice does not depend on units.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy import linalg

from separatrix.arrays import Floats, NDArray
from separatrix.linear import loops as dd
from separatrix.messages import InputError, warn
from separatrix.optimize.convex import (
    ROUNDING,
    Certificate,
    ElasticNetPenalty,
    LeastSquares,
    Solution,
    Squared,
    certify_primal_dual,
    joint_certificate,
)
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Block
from separatrix.statistics.moments import Moments, Standardizer, zero_if_constant
from separatrix.statistics.triangular import TriangularFactor

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
    # Digits of coefficients and residual sum of squares below which the rows are read again.
    if basic is None or basic.digits < 10.0:
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
        identified=_find_identified(basic, mean[0, : m.d] if fit_intercept else None, m.weight),
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


def _find_identified(
    basic: BasicSolution, center: Floats | None, count: float
) -> NDArray[np.bool_]:
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
        unique
        if center is None
        else np.append(_is_intercept_identified(basic, center, count), unique)
    )


def _is_intercept_identified(basic: BasicSolution, center: Floats, count: float) -> bool:
    """Whether x_D = X_I T holds without a constant, up to the digits of T."""
    combined = basic.combination.any(axis=0)
    if not combined.any():
        return True
    t, center_left = basic.combination[:, combined], center[~basic.independent][combined]
    constant = center_left - center[basic.independent] @ t
    size = np.abs(center_left) + np.abs(center[basic.independent]) @ np.abs(t)
    tolerance = min(1e2 * 10.0**-basic.digits, 1e-9)
    # entries rounded by ε|x| leave the constant uncertain by that times √[(XᵀX)⁻¹]₀₀, times √n
    lever = np.sqrt(1.0 + count * np.sum((center[basic.independent] @ basic.inverse_root[0]) ** 2))
    return bool((np.abs(constant) <= max(tolerance, 10.0 * EPS * lever) * size).all())


# -------------------------------------------------------------------------------------------------
# Basic solutions of least squares, from each of the statistics that determine them.
#
# A basic solution has nonzero coefficients for linearly independent columns only. Columns are taken
# in order; one that lies in the span of those before it, up to the precision of the statistic, is
# called dependent and described as their combination.


EPS = float(np.finfo(float).eps)
TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class BasicSolution:
    """Least squares solved over its ``independent`` columns.

    ``coef`` holds their coefficients (one column per target) and ``coef_low`` the lower halves of
    those in double-double; column j of ``combination`` writes the j-th dependent column in terms
    of them; ``inverse_root`` times its transpose is (XᵀX)⁻¹ over them, as hi and lo (2 x r x r);
    ``condition`` is κ of the equilibrated columns; ``digits`` are those that rounding leaves.
    """

    independent: NDArray[np.bool_]
    coef: Floats
    coef_low: Floats
    combination: Floats
    inverse_root: Floats
    rss: Floats
    condition: float
    digits: float
    statistic: str

    @property
    def inverse(self) -> Floats:
        """(XᵀX)⁻¹ over the independent columns."""
        return np.asarray(self.inverse_root[0] @ self.inverse_root[0].T)


def from_moments(m: Moments) -> BasicSolution | None:
    """Cholesky of the correlation matrix; None where it is not safely positive definite."""
    scale = np.sqrt(np.diag(m.xx))
    if m.d == 0 or _constant(m).any():
        return None
    correlation = m.xx / np.outer(scale, scale)
    try:
        factor = linalg.cholesky(correlation, check_finite=False)
    except linalg.LinAlgError:
        return None
    reciprocal = linalg.lapack.dpocon(factor, float(np.abs(correlation).sum(axis=0).max()))[0]
    if reciprocal < 1e3 * EPS:
        return None
    root = linalg.solve_triangular(factor, np.eye(m.d), check_finite=False) / scale[:, None]
    coef = linalg.cho_solve((factor, False), m.xy / scale[:, None]) / scale[:, None]
    yy = np.diag(m.yy)
    rss = np.maximum(yy - np.einsum("ij,ij->j", coef, m.xy), 0.0)
    # the subtraction in rss costs as many digits as R² has nines
    unexplained = float(np.min(rss[yy > 0] / yy[yy > 0], initial=1.0))
    lost = max(1.0 / reciprocal, 1.0 / max(unexplained, EPS))
    return BasicSolution(
        independent=np.ones(m.d, dtype=bool),
        coef=coef,
        coef_low=np.zeros_like(coef),
        combination=np.zeros((m.d, 0)),
        inverse_root=np.stack([root, np.zeros_like(root)]),
        rss=rss,
        condition=float(1.0 / np.sqrt(reciprocal)),
        digits=float(-np.log10(EPS * lost)),
        statistic="moments",
    )


def from_extended_moments(scatter: Floats, m: Moments) -> BasicSolution:
    """Cholesky in double-double of ``scatter`` (hi and lo, 2 x p x p, targets last).

    A column counts as dependent when its distance from the others is no more than the rounding of
    the table's own entries. That rounding is magnified where the others are nearly dependent
    themselves; then the condition number exceeds 1/ε, and the tolerance is raised.
    """
    tolerance = (max(m.count, m.d) * EPS) ** 2
    basic_solution = _in_double_double(scatter, m, tolerance)
    while (
        basic_solution.condition > 0.1 / EPS or _within_rounding(basic_solution, m)
    ) and tolerance < EPS:
        tolerance *= 1e4
        basic_solution = _in_double_double(scatter, m, tolerance)
    return basic_solution


def _within_rounding(basic_solution: BasicSolution, m: Moments) -> bool:
    """Whether a column's distance from the others is the rounding of entries far from zero.

    The residual of column j on the others is Σ cₗxₗ with cₗ = [(XᵀX)⁻¹]ⱼₗ / [(XᵀX)⁻¹]ⱼⱼ, its length
    is 1/√[(XᵀX)⁻¹]ⱼⱼ, and each xₗ is rounded by up to ε|xₗ|.
    """
    inverse = basic_solution.inverse
    diagonal = np.diag(inverse)
    if not len(diagonal) or not (np.isfinite(diagonal) & (diagonal > 0.0)).all():
        return False
    c = inverse / diagonal[:, None]
    rounding = 4.0 * EPS * np.sqrt(m.weight * (c**2 @ m.x_mean[basic_solution.independent] ** 2))
    return bool((rounding * np.sqrt(diagonal) >= 1.0).any())


def from_moments_only(m: Moments) -> BasicSolution:
    """From moments whose rows cannot be read again: near dependence counts as dependence."""
    scatter = np.stack([m.scatter, np.zeros_like(m.scatter)])
    basic_solution = _in_double_double(scatter, m, 1e3 * max(m.d, 1) * EPS)
    return replace(
        basic_solution, digits=-np.log10(EPS * basic_solution.condition**2), statistic="moments"
    )


def _in_double_double(scatter: Floats, m: Moments, tolerance: float) -> BasicSolution:
    """``tolerance`` is the squared relative distance up to which a column counts as dependent."""
    d, k = m.d, len(m.targets)
    scale = powers_of_two(np.sqrt(np.diag(scatter[0])))
    a = scatter / np.outer(scale, scale)
    constant = _constant(m)
    a[:, :d][:, constant] = a[:, :, :d][:, :, constant] = 0.0
    independent = dd.cholesky(a, d, tolerance)[:d]
    at, dependent = np.flatnonzero(independent), np.flatnonzero(~independent)
    identity = np.stack([np.eye(len(at)), np.zeros((len(at), len(at)))])
    right = np.concatenate([a[:, at, d:], a[:, at][:, :, dependent], identity], axis=2)
    upper = np.ascontiguousarray(a[:, at][:, :, at])
    dd.back_substitute(upper, right)
    coef, combination, root = np.split(right[0], [k, k + len(dependent)], axis=1)
    lower_right = np.triu(a[0, d:, d:]) * scale[d:]
    condition = _condition(np.triu(upper[0]), root)
    return BasicSolution(
        independent=independent,
        coef=coef * scale[d:] / scale[at, None],
        coef_low=right[1, :, :k] * scale[d:] / scale[at, None],
        combination=combination * scale[dependent] / scale[at, None],
        inverse_root=right[:, :, k + len(dependent) :] / scale[at, None],
        rss=(lower_right**2).sum(axis=0),
        condition=condition,
        digits=min(-np.log10(EPS), -np.log10(EPS**2 * condition**2)),
        statistic="moments in double-double",
    )


def from_triangular_factor(r: Floats, m: Moments) -> BasicSolution:
    """From the factor R of [X Y]: the independent columns, factorized again without the others."""
    d, k = m.d, len(m.targets)
    scale = np.linalg.norm(r, axis=0)
    scale[scale == 0] = 1.0
    r = r / scale
    distance = np.zeros(d)
    distance[: min(d, len(r))] = np.abs(np.diag(r[:, :d]))
    independent = (distance > max(m.count, d) * EPS) & ~_constant(m)
    at, dependent = np.flatnonzero(independent), np.flatnonzero(~independent)
    top = len(at)
    again = linalg.qr(r[:, np.concatenate([at, np.arange(d, d + k), dependent])], mode="r")[0]
    right = np.concatenate([again[:top, top:], np.eye(top)], axis=1)
    solved = linalg.solve_triangular(again[:top, :top], right) if top else right
    coef, combination, root = np.split(solved, [k, k + len(dependent)], axis=1)
    condition = _condition(again[:top, :top], root)
    rss = (again[top:, top : top + k] ** 2).sum(axis=0) * scale[d:] ** 2
    misfit = np.sqrt(np.max(rss / np.maximum(np.diag(m.yy), TINY), initial=0.0))
    return BasicSolution(
        independent=independent,
        coef=coef * scale[d:] / scale[at, None],
        coef_low=np.zeros_like(coef),
        combination=combination * scale[dependent] / scale[at, None],
        inverse_root=np.stack([root / scale[at, None], np.zeros_like(root)]),
        rss=rss,
        condition=condition,
        digits=float(-np.log10(EPS * condition * (1.0 + condition * misfit))),
        statistic="the triangular factor",
    )


def _constant(m: Moments) -> NDArray[np.bool_]:
    """Constant columns; also those whose squares underflow."""
    return np.asarray(Standardizer.from_moments(m).scale * np.sqrt(m.weight) <= np.sqrt(TINY))


def powers_of_two(scale: Floats) -> Floats:
    """The nearest powers of two: dividing by them rounds nothing."""
    return np.exp2(np.round(np.log2(np.where(scale > 0, scale, 1.0))))


def _condition(upper: Floats, inverse: Floats) -> float:
    if not upper.size:
        return 1.0
    return float(np.linalg.norm(upper, 2) * np.linalg.norm(inverse, 2))


# -------------------------------------------------------------------------------------------------
# Moments in double-double precision, for nearly dependent columns.
#
# The sums of :class:`~separatrix.statistics.moments.Moments`, each stored as hi + lo: 32 decimal
# digits. Forming XᵀX squares the condition number κ; with errors of 10⁻³²·κ² instead of 10⁻¹⁶·κ²
# even κ = 10¹² leaves the coefficients right to the last digit that a float can hold.


class ExtendedMoments:
    """Σw, Σwz and Σwzzᵀ about the fixed point ``shift``, in double-double, for z = (x, y).

    All blocks of one pass have the same ``shift`` (near the means, from an earlier pass), so that
    merging is plain addition.
    """

    def __init__(self, shift: Floats, count: int = 0) -> None:
        p = len(shift)
        self.shift, self.count = shift, count
        self.weight = 0.0
        self.total = np.zeros((2, p))
        self.gram = np.zeros((2, p, p))

    def fresh(self) -> Self:
        """An empty one about the same point."""
        return type(self)(self.shift)

    def update(self, block: Block) -> None:
        """Add the rows of a block, made dense in chunks."""
        w = block.weights
        step = max(1, 4_000_000 // len(self.shift))
        for start in range(0, block.n, step):
            rows = slice(start, start + step)
            z = np.concatenate([block.dense(start, start + step), block.y[rows]], axis=1)
            dd.accumulate(z, w[rows], self.shift, self.total, self.gram)
        self.count += int(np.count_nonzero(w))
        self.weight += float(w.sum())

    def __add__(self, other: Self) -> Self:
        merged = type(self)(self.shift, self.count + other.count)
        merged.weight = self.weight + other.weight
        merged.total = _sum(self.total, other.total)
        merged.gram = _sum(self.gram, other.gram)
        return merged

    def mean(self) -> Floats:
        """shift + Σwz/Σw, as hi and lo (2 x p)."""
        offset = (self.total[0] + self.total[1]) / self.weight
        hi = self.shift + offset
        return np.stack([hi, offset - (hi - self.shift)])

    def scatter(self) -> Floats:
        """Σw(z−μ)(z−μ)ᵀ as hi and lo (2 x p x p), upper triangle."""
        t = self.total[0] + self.total[1]
        # Σwz is tiny about a point near the mean: its square needs no more than a float's digits
        correction = -np.outer(t, t / self.weight)
        return _sum(self.gram, np.stack([correction, np.zeros_like(correction)]))


def _sum(a: Floats, b: Floats) -> Floats:
    s = a[0] + b[0]
    v = s - a[0]
    error = (a[0] - (s - v)) + (b[0] - v) + a[1] + b[1]
    hi = s + error
    return np.stack([hi, error - (hi - s)])


# -------------------------------------------------------------------------------------------------
# The minimum-norm solution of least squares, where linearly dependent columns leave many.
#
# Fitted values are unique; coefficients are not when columns depend on each other. Of all of them
# the one with the smallest ‖b‖ is returned: the limit of ridge regression as its penalty vanishes.


def minimum_norm(independent: NDArray[np.bool_], basic: Floats, combination: Floats) -> Floats:
    """Minimum-norm coefficients from those of a basic solution.

    With dependent columns X_D = X_I T every solution is (b − T z, z); its norm is least at
    z = argmin ‖[T; I] z − [b; 0]‖. A constant column has T = 0 and receives 0.
    """
    coef = np.zeros((len(independent), basic.shape[1]))
    coef[independent] = basic
    if not independent.all() and independent.any():
        tall = np.concatenate([combination, np.eye(combination.shape[1])])
        right = np.concatenate([basic, np.zeros((combination.shape[1], basic.shape[1]))])
        z = linalg.lstsq(tall, right)[0]
        coef[independent] = basic - combination @ z
        coef[~independent] = z
    return coef


def solve_wide(block: Block, *, fit_intercept: bool) -> Solution:
    """Least squares on no more rows than columns, by orthogonal factors of the rows.

    Where the products of the rows say that these are independent, b = Xᵀc fits all of them, and no
    such b is shorter. Else, with X S⁻¹ P = QR of equilibrated, pivoted columns, b fits best where
    the first rows of RPᵀS send it to those of Qᵀy, as many as the rank. The minimum-norm b in the
    table's units is taken unless units differ so much that it would lose the fit; then that of the
    equilibrated columns is.
    """
    x, y, x_mean, y_mean, weight = center_rows(block, fit_intercept)
    root = np.sqrt(weight)
    scale = root * zero_if_constant(np.linalg.norm(x, axis=0) / root, x_mean)
    x[:, scale == 0] = 0.0
    names = [str(term) for term in block.terms]
    through = _fit_every_row(x, y, np.sqrt(block.weights), scale > 0.0, fit_intercept)
    scale[scale == 0] = 1.0
    if through is not None:
        coef, residual, independent = through
        dependent = [name for name, spans in zip(names, independent, strict=True) if not spans]
        rank = int(independent.sum())
        certificate = certify_wide(x, scale, y, residual, (residual, rank), dependent)
        return Solution(coef, y_mean - x_mean @ coef, certificate)
    span, r, order = linalg.qr(x / scale, mode="economic", pivoting=True, check_finite=False)
    size = np.abs(np.diag(r))
    rank = int((size > max(x.shape) * EPS * size.max(initial=0.0)).sum())
    span, map_of_coef = span[:, :rank], np.empty((x.shape[1], rank))
    map_of_coef[order] = r[:rank].T
    right = span.T @ y
    coef = _least_norm_coef(map_of_coef * scale[:, None], right)
    least = np.linalg.norm(y - span @ right)
    if not np.linalg.norm(y - x @ coef) <= least + 1e-10 * np.linalg.norm(y):
        coef = _least_norm_coef(map_of_coef, right) / scale[:, None]
    residual = y - x @ coef
    dependent = [names[j] for j in sorted(order[rank:])]
    certificate = certify_wide(x, scale, y, residual, (span.T @ residual, rank), dependent)
    return Solution(coef, y_mean - x_mean @ coef, certificate)


def _fit_every_row(
    x: Floats, y: Floats, root: Floats, varies: NDArray[np.bool_], fit_intercept: bool
) -> tuple[Floats, Floats, NDArray[np.bool_]] | None:
    """Coefficients, residuals and columns that span all others, of independent centered rows.

    None where rows or the first columns are nearly dependent, or have no weight. The mean, to which
    centered rows are orthogonal, is added to their products: they are regular with it.
    """
    rank, size = len(x) - int(fit_intercept), float(np.einsum("ij,ij->", x, x)) / len(x)
    first = np.flatnonzero(varies)[:rank]
    if not 0 < rank == len(first) or not root.all():
        return None
    mean = np.outer(root, root) * (size / float(root @ root) if fit_intercept else 0.0)
    gram = x @ x.T + mean
    factor = _regular_factor(gram)
    if factor is None:
        return None
    independent = np.zeros(x.shape[1], dtype=bool)
    independent[first] = True
    rest = x[:, ~independent & varies]
    among = gram - rest @ rest.T if rest.shape[1] < rank else x[:, first] @ x[:, first].T + mean
    if _regular_factor(among) is None:
        return None
    dual, residual = np.zeros_like(y), y
    for _ in range(3):  # the solution, and two rounds of refinement: enough for what is regular
        dual = dual + linalg.cho_solve((factor, False), residual, check_finite=False)
        coef = x.T @ dual
        residual = y - x @ coef
    if not np.linalg.norm(residual) <= 1e-10 * np.linalg.norm(y):
        return None
    return coef, residual, independent


def _regular_factor(gram: Floats) -> Floats | None:
    """The Cholesky factor of products of rows, where refinement can make up for its rounding."""
    factor, info = linalg.lapack.dpotrf(gram, lower=False, clean=False)
    if info:
        return None
    reciprocal = linalg.lapack.dpocon(factor, float(np.abs(gram).sum(axis=0).max()))[0]
    return factor if reciprocal > 1e5 * EPS else None


def _least_norm_coef(map_of_coef: Floats, right: Floats) -> Floats:
    """The b of least norm with Mᵀb = ``right``, for M (d x rank) of independent columns."""
    if not map_of_coef.size:
        return np.zeros((len(map_of_coef), right.shape[1]))
    (reflectors, tau), factor = linalg.qr(map_of_coef, mode="raw", check_finite=False)
    (d, rank), k = map_of_coef.shape, right.shape[1]
    coef = np.zeros((d, k), order="F")
    coef[:rank] = linalg.solve_triangular(factor[:rank], right, trans="T", check_finite=False)
    return np.asarray(linalg.lapack.dormqr("L", "N", reflectors, tau, coef, 64 * k)[0])


def center_rows(block: Block, fit_intercept: bool) -> tuple[Floats, Floats, Floats, Floats, float]:
    """Rows about their mean (or the origin), times √w; the means; the total weight."""
    w = block.weights
    x, y = block.dense(), block.y
    x_mean, y_mean = np.zeros(x.shape[1]), np.zeros(y.shape[1])
    if fit_intercept:
        x_mean, y_mean = w @ x / w.sum(), w @ y / w.sum()
    root = np.sqrt(w)[:, None]
    return (x - x_mean) * root, (y - y_mean) * root, x_mean, y_mean, float(w.sum())


# -------------------------------------------------------------------------------------------------
# Certificates of least squares and ridge, computed from the data and the coefficients alone.


CLAIM = "Least squares: no other coefficients fit these rows better"
RIDGE_CLAIM = "Ridge: no other coefficients have a smaller sum of squares plus penalty"
TOLERANCE = 1e-8
#: The size that the data give a sum of squares which may itself be zero.
NULL_MODEL = "half the sum of squares of the target about its mean"


def certify_from_moments(
    m: Moments, coef: Floats, alpha: float = 0.0, claim: str = CLAIM
) -> Certificate:
    """Certificate of f(b) = ½ Σ w (y − a − b·x)² + ½ α ‖b‖² at ``coef`` (d x k), from moments.

    f is quadratic, so that its distance from the minimum is half the squared Newton step,
    f(b) − min f = ½ gᵀ(XᵀX + αI)⁻¹g: finite for α = 0 as well, where a penalty's conjugate is not.
    ``kkt`` is the largest cosine between a column and the residual.
    """
    gradient = m.xx @ coef + alpha * coef - m.xy
    scale = np.sqrt(np.maximum(np.diag(m.xx) + alpha, 0.0))
    scale[scale == 0] = 1.0
    yy = np.diag(m.yy)
    fitted = np.einsum("jk,jk->k", coef, 2.0 * m.xy - m.xx @ coef - alpha * coef)
    primal = 0.5 * float(np.maximum(yy - fitted, 0.0).sum())
    equilibrated = gradient / scale[:, None]
    hessian = (m.xx + alpha * np.eye(m.d)) / np.outer(scale, scale)
    step = _newton_step(hessian, equilibrated)
    gap = 0.5 * float(np.maximum(np.einsum("jk,jk->k", equilibrated, step), 0.0).sum())
    size = np.sqrt(np.where(yy > 0, yy, 1.0))
    return Certificate(
        claim=claim,
        primal=primal,
        dual=primal - gap,
        gap=gap,
        kkt=float(np.max(np.abs(equilibrated / size), initial=0.0)),
        tolerance=TOLERANCE,
        # the residuals are what cancellation leaves of Σ w y² and of the fitted sums
        rounding=ROUNDING * float((np.abs(yy) + np.abs(fitted)).sum()),
        scale=0.5 * float(yy.sum()),
        scale_of=NULL_MODEL,
        statistic="moments",
    )


def _newton_step(hessian: Floats, gradient: Floats) -> Floats:
    """H⁻¹g by Cholesky; by least squares where dependent columns leave H singular."""
    if hessian.size:  # LAPACK itself: a path asks for a step at every penalty
        factor, info = linalg.lapack.dpotrf(hessian, lower=False, clean=False)
        if not info and factor.diagonal().min() > 1e-6:
            return np.asarray(linalg.lapack.dpotrs(factor, gradient, lower=False)[0])
    return np.asarray(np.linalg.lstsq(hessian, gradient, rcond=1e3 * np.finfo(float).eps)[0])


def certify_wide(
    x: Floats,
    scale: Floats,
    y: Floats,
    residual: Floats,
    projected: tuple[Floats, int],
    dependent: list[str],
) -> Certificate:
    """Certificate of least squares from rows, equilibrated by ``scale``: Xᵀr = 0.

    The gap is ½‖Pr‖², with P the projection onto the column space; ``projected`` holds Pr in an
    orthonormal basis, or r where it spans all rows, and the rank.
    """
    size = np.linalg.norm(y, axis=0)
    size[size == 0] = 1.0
    primal = 0.5 * float((residual**2).sum())
    gap = 0.5 * float((projected[0] ** 2).sum())
    return Certificate(
        claim=CLAIM,
        primal=primal,
        dual=primal - gap,
        gap=gap,
        kkt=float(np.max(np.abs((residual.T @ x).T / scale[:, None]) / size, initial=0.0)),
        tolerance=TOLERANCE,
        scale=0.5 * float((y**2).sum()),
        scale_of=NULL_MODEL,
        rank=projected[1],
        statistic="the rows",
        dependent=tuple(dependent),
    )


def certify_ridge_rows(
    x: Floats, y: Floats, coef: Floats, alpha: Floats, dual: Floats
) -> Certificate:
    """Certificate of ½‖y − Xb‖² + ½ α ‖b‖² from rows and a dual point (n x k).

    The residual would do for one, but a large column magnifies its rounding: the dual point is
    the residual less what changes no fit.
    """
    residual, v = y - x @ coef, x.T @ dual
    squares, unit_weights = (x**2).sum(axis=0), np.ones(len(y))
    certificates = []
    for j, a in enumerate(alpha):
        length = float(np.linalg.norm(y[:, j]))
        certificates.append(
            certify_primal_dual(
                Squared(),
                ElasticNetPenalty(np.zeros(len(coef)), np.full(len(coef), a)),
                unit_weights,
                residual[:, j],
                dual[:, j],
                coef[:, j],
                v[:, j],
                claim=RIDGE_CLAIM,
                tolerance=TOLERANCE,
                v_scale=np.sqrt(squares + a) * max(length, np.finfo(float).tiny),
                z_scale=max(length, np.finfo(float).tiny),
                scale=0.5 * length**2,
                scale_of=NULL_MODEL,
            )
        )
    return joint_certificate(certificates)


def warn_if_not_unique(certificate: Certificate) -> None:
    """Warn where coefficients are not unique, or hardly any of their digits can be trusted."""
    if certificate.dependent:
        shown = ", ".join(certificate.dependent[:5])
        more = len(certificate.dependent) - 5
        shown += f" and {more} more" if more > 0 else ""
        warn(
            "SEP001",
            f"linearly dependent columns: {shown}. The fitted values are unique; of the "
            "coefficients, the minimum-norm solution was returned. Remove these columns, or use "
            "Ridge, to make them unique.",
        )
    elif certificate.digits < 4:
        warn(
            "SEP002",
            f"only about {certificate.digits:.0f} digits of the coefficients can be trusted "
            f"(condition number {certificate.condition:.1e}). Fit from the rows instead of their "
            "moments, or use Ridge.",
        )
