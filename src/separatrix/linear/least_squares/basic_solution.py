"""Basic solutions of least squares, from each of the statistics that determine them.

A basic solution has nonzero coefficients for linearly independent columns only. Columns are taken
in order; one that lies in the span of those before it, up to the precision of the statistic, is
called dependent and described as their combination.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from separatrix.linear.least_squares import loops as dd
from separatrix.rows.block import Floats
from separatrix.statistics.moments import Moments
from separatrix.statistics.standardizer import Standardizer

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
    found = _in_double_double(scatter, m, tolerance)
    while (found.condition > 0.1 / EPS or _within_rounding(found, m)) and tolerance < EPS:
        tolerance *= 1e4
        found = _in_double_double(scatter, m, tolerance)
    return found


def _within_rounding(found: BasicSolution, m: Moments) -> bool:
    """Whether a column's distance from the others is the rounding of entries far from zero.

    The residual of column j on the others is Σ cₗxₗ with cₗ = [(XᵀX)⁻¹]ⱼₗ / [(XᵀX)⁻¹]ⱼⱼ, its length
    is 1/√[(XᵀX)⁻¹]ⱼⱼ, and each xₗ is rounded by up to ε|xₗ|.
    """
    inverse = found.inverse
    diagonal = np.diag(inverse)
    if not len(diagonal) or not (np.isfinite(diagonal) & (diagonal > 0.0)).all():
        return False
    c = inverse / diagonal[:, None]
    rounding = 4.0 * EPS * np.sqrt(m.weight * (c**2 @ m.x_mean[found.independent] ** 2))
    return bool((rounding * np.sqrt(diagonal) >= 1.0).any())


def from_moments_only(m: Moments) -> BasicSolution:
    """From moments whose rows cannot be read again: near dependence counts as dependence."""
    scatter = np.stack([m.scatter, np.zeros_like(m.scatter)])
    found = _in_double_double(scatter, m, 1e3 * max(m.d, 1) * EPS)
    return replace(found, digits=-np.log10(EPS * found.condition**2), statistic="moments")


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
