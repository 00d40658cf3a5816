"""Least squares as a triangular system, from each of the statistics that can carry it.

Columns are taken in order; one that lies in the span of those before it, to within the digits that
the statistic keeps, is set aside and described as their combination.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from separatrix.linear.loops import double_double as dd
from separatrix.rows.block import Floats
from separatrix.statistics.moments import Moments

EPS = float(np.finfo(float).eps)
TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class Triangle:
    """The least-squares problem solved over its independent columns.

    ``kept`` marks them; ``basis`` holds their coefficients (one column per target) and ``low`` what
    rounding took from these; column j of ``combination`` writes the j-th dependent column in terms
    of them; ``root`` times its transpose is (XᵀX)⁻¹ over them, as hi and lo (2 x r x r);
    ``condition`` is κ of the equilibrated columns.
    """

    kept: NDArray[np.bool_]
    basis: Floats
    low: Floats
    combination: Floats
    root: Floats
    rss: Floats
    condition: float
    digits: float
    statistic: str

    @property
    def inverse(self) -> Floats:
        """(XᵀX)⁻¹ over the independent columns."""
        return np.asarray(self.root[0] @ self.root[0].T)


def from_moments(m: Moments) -> Triangle | None:
    """Cholesky of the correlation matrix; None where it is not safely positive definite."""
    scale = np.sqrt(np.diag(m.xx))
    if m.d == 0 or not varying(m).all():
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
    basis = linalg.cho_solve((factor, False), m.xy / scale[:, None]) / scale[:, None]
    yy = np.diag(m.yy)
    rss = np.maximum(yy - np.einsum("ij,ij->j", basis, m.xy), 0.0)
    # the subtraction in rss costs as many digits as R² has nines
    unexplained = float(np.min(rss[yy > 0] / yy[yy > 0], initial=1.0))
    lost = max(1.0 / reciprocal, 1.0 / max(unexplained, EPS))
    return Triangle(
        kept=np.ones(m.d, dtype=bool),
        basis=basis,
        low=np.zeros_like(basis),
        combination=np.zeros((m.d, 0)),
        root=np.stack([root, np.zeros_like(root)]),
        rss=rss,
        condition=float(1.0 / np.sqrt(reciprocal)),
        digits=float(-np.log10(EPS * lost)),
        statistic="moments",
    )


def from_extended(scatter: Floats, m: Moments) -> Triangle:
    """Cholesky in double-double of ``scatter`` (hi and lo, 2 x p x p, targets last).

    A column counts as dependent when its distance from the others is no more than the rounding of
    the table's own entries. That rounding is magnified where the others are long combinations of
    each other; a condition number beyond 1/ε tells, and then the bar is raised.
    """
    tolerance = (max(m.count, m.d) * EPS) ** 2
    found = _in_double_double(scatter, m, tolerance)
    while found.condition > 0.1 / EPS and tolerance < EPS:
        tolerance *= 1e4
        found = _in_double_double(scatter, m, tolerance)
    return found


def _in_double_double(scatter: Floats, m: Moments, tolerance: float, **changes: Any) -> Triangle:
    """``tolerance`` is the squared relative distance up to which a column counts as dependent."""
    d, k = m.d, len(m.targets)
    scale = powers_of_two(np.sqrt(np.diag(scatter[0])))
    a = scatter / np.outer(scale, scale)
    a[:, :d][:, ~varying(m)] = a[:, :, :d][:, :, ~varying(m)] = 0.0
    kept = dd.cholesky(a, d, tolerance)[:d]
    at, gone = np.flatnonzero(kept), np.flatnonzero(~kept)
    identity = np.stack([np.eye(len(at)), np.zeros((len(at), len(at)))])
    right = np.concatenate([a[:, at, d:], a[:, at][:, :, gone], identity], axis=2)
    triangle = np.ascontiguousarray(a[:, at][:, :, at])
    dd.back_substitute(triangle, right)
    basis, combination, root = np.split(right[0], [k, k + len(gone)], axis=1)
    corner = np.triu(a[0, d:, d:]) * scale[d:]
    condition = _condition(np.triu(triangle[0]), root)
    found = {
        "kept": kept,
        "basis": basis * scale[d:] / scale[at, None],
        "low": right[1, :, :k] * scale[d:] / scale[at, None],
        "combination": combination * scale[gone] / scale[at, None],
        "root": right[:, :, k + len(gone) :] / scale[at, None],
        "rss": (corner**2).sum(axis=0),
        "condition": condition,
        "digits": min(-np.log10(EPS), -np.log10(EPS**2 * condition**2)),
        "statistic": "moments in double-double",
    }
    return Triangle(**{**found, **changes})


def from_moments_alone(m: Moments) -> Triangle:
    """Moments whose rows are gone: what they cannot tell from dependence counts as dependent."""
    scatter = np.stack([m.scatter, np.zeros_like(m.scatter)])
    found = _in_double_double(scatter, m, 1e3 * max(m.d, 1) * EPS, statistic="moments")
    digits = -np.log10(EPS * found.condition**2)
    return Triangle(**{**found.__dict__, "digits": digits})


def from_factor(r: Floats, m: Moments) -> Triangle:
    """From the factor R of [X Y]: set dependent columns aside, triangularise the rest again."""
    d, k = m.d, len(m.targets)
    scale = np.linalg.norm(r, axis=0)
    scale[scale == 0] = 1.0
    r = r / scale
    distance = np.zeros(d)
    distance[: min(d, len(r))] = np.abs(np.diag(r[:, :d]))
    kept = (distance > max(m.count, d) * EPS) & varying(m)
    at, gone = np.flatnonzero(kept), np.flatnonzero(~kept)
    top = len(at)
    again = linalg.qr(r[:, np.concatenate([at, np.arange(d, d + k), gone])], mode="r")[0]
    right = np.concatenate([again[:top, top:], np.eye(top)], axis=1)
    solved = linalg.solve_triangular(again[:top, :top], right) if top else right
    basis, combination, root = np.split(solved, [k, k + len(gone)], axis=1)
    condition = _condition(again[:top, :top], root)
    rss = (again[top:, top : top + k] ** 2).sum(axis=0) * scale[d:] ** 2
    slope = np.sqrt(np.max(rss / np.maximum(np.diag(m.yy), TINY), initial=0.0))
    return Triangle(
        kept=kept,
        basis=basis * scale[d:] / scale[at, None],
        low=np.zeros_like(basis),
        combination=combination * scale[gone] / scale[at, None],
        root=np.stack([root / scale[at, None], np.zeros_like(root)]),
        rss=rss,
        condition=condition,
        digits=float(-np.log10(EPS * condition * (1.0 + condition * slope))),
        statistic="the triangular factor",
    )


def varying(m: Moments) -> NDArray[np.bool_]:
    """Which columns are further from a constant than rounding alone would put them."""
    floor = 4.0 * EPS * np.sqrt(m.weight) * np.abs(m.x_mean)
    return np.asarray(np.sqrt(np.diag(m.xx)) > np.maximum(floor, np.sqrt(TINY)))


def powers_of_two(scale: Floats) -> Floats:
    """The nearest powers of two: dividing by them rounds nothing."""
    return np.exp2(np.round(np.log2(np.where(scale > 0, scale, 1.0))))


def _condition(triangle: Floats, root: Floats) -> float:
    if not triangle.size:
        return 1.0
    return float(np.linalg.norm(triangle, 2) * np.linalg.norm(root, 2))
