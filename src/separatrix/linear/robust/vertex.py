"""From near the optimum to an exact corner of it, for absolute error with or without a tube.

    f(β) = Σ w max(0, |r| − ε),     r = y − zβ

is made of flat facets; some corner, where p residuals equal ±ε (0 for ε = 0) and so fix the p
coefficients, is a minimum. At a corner the other rows have slopes u = ±w or 0, and the p rows
of the corner get the slopes that make zᵀu = 0. If each of these lies between the slopes to
either side of its kink, the corner is optimal: u is then a dual solution of the same value.
If not, the row that is worst leaves, β slides along the edge that opens, and the row where f
stops falling enters. Ties are broken by moving every y by a random amount far below the
tolerance, so the search cannot run in circles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from separatrix.rows.block import Floats

#: Random displacement of y that breaks ties, in units of the mean absolute residual.
TIE_BREAK = 1e-11
#: Violation of a slope's bound, as a fraction of its weight, that is taken for rounding.
SLACK = 1e-9


@dataclass(frozen=True)
class Corner:
    """Coefficients at a corner, slopes u of all rows, and how far another, as good one may be.

    ``slack`` is the most that a fitted value changes on the way to it: 0 where there is none.
    """

    beta: Floats
    u: Floats
    pivots: int
    slack: float


@dataclass
class _Basis:
    """The rows of a corner and the wall of the tube (−1, 0, +1) that each one touches."""

    rows: NDArray[np.int64]
    wall: Floats


class _Facets:
    """The function f, and what is needed to walk along its edges."""

    def __init__(self, z: Floats, y: Floats, w: Floats, epsilon: float) -> None:
        self.z, self.w, self.epsilon, self.y = z, w, epsilon, y
        noise = np.random.default_rng(0).uniform(-1.0, 1.0, len(y))
        self.untied = y + TIE_BREAK * noise

    def inverse(self, basis: _Basis) -> Floats:
        """Z_B⁻¹: its columns are the edges that leave the corner."""
        return np.asarray(linalg.inv(self.z[basis.rows], check_finite=False))

    def corner(self, inverse: Floats, basis: _Basis, y: Floats) -> Floats:
        """β with residuals ±ε at the rows of the corner."""
        return np.asarray(inverse @ (y[basis.rows] - self.epsilon * basis.wall))

    def slopes(self, inverse: Floats, basis: _Basis, r: Floats) -> Floats:
        """u: ±w outside the tube, 0 inside, and what balances them at the corner."""
        u = self.w * np.sign(r) * (np.abs(r) > self.epsilon)
        u[basis.rows] = 0.0
        u[basis.rows] = -inverse.T @ (self.z.T @ u)
        return u

    def bounds(self, basis: _Basis) -> tuple[Floats, Floats]:
        """Slopes to the left and right of each kink of the corner."""
        w = self.w[basis.rows]
        return np.where(basis.wall > 0, 0.0, -w), np.where(basis.wall < 0, 0.0, w)

    def slide(
        self, basis: _Basis, out: int, edge: Floats, r: Floats, slope: float
    ) -> tuple[int, float, float] | None:
        """Where f stops falling along an edge: (row, wall, distance); None if it never does.

        ``edge`` is the rate of every residual; ``slope`` < 0 the initial rate of f. Each kink that
        is passed adds w·|rate|.
        """
        rate = edge.copy()
        rate[np.delete(basis.rows, out)] = 0.0
        rate[np.abs(rate) <= 1e-13 * np.abs(rate).max()] = 0.0
        kinks = np.stack([r - self.epsilon, r + self.epsilon])
        own = basis.rows[out]
        # the kink that is being left behind lies at distance zero, up to rounding
        kinks[np.abs(kinks[:, own]).argmin() if self.epsilon else slice(None), own] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = np.where(rate != 0.0, -kinks / rate, np.inf).ravel()
        distance[~(distance > 0.0)] = np.inf
        order = np.argsort(distance, kind="stable")
        order = order[: np.searchsorted(distance[order], np.inf)]
        passed = slope + np.cumsum((self.w * np.abs(rate))[order % len(r)])
        stop = int(np.searchsorted(passed, 0.0))
        if stop == len(order):
            return None
        at = int(order[stop])
        wall = 0.0 if self.epsilon == 0.0 else (1.0 if at < len(r) else -1.0)
        return at % len(r), wall, float(distance[at])


def polish(
    z: Floats, y: Floats, w: Floats, *, epsilon: float, certainty: Floats, max_pivots: int
) -> Corner | None:
    """The optimal corner near an interior solution, or None if the walk does not end there.

    ``certainty`` (boxes x n) is large for the rows whose residual sits at a kink.
    """
    facets = _Facets(z, y, w, epsilon)
    basis = _first_basis(z, certainty, epsilon)
    if basis is None:
        return None
    for pivots in range(max_pivots + 1):
        try:
            inverse = facets.inverse(basis)
        except (linalg.LinAlgError, ValueError):
            return None
        r = facets.untied - z @ facets.corner(inverse, basis, facets.untied)
        u = facets.slopes(inverse, basis, r)
        worst = _worst(facets, basis, u)
        if worst is None:
            beta = facets.corner(inverse, basis, y)
            return Corner(beta, u, pivots, _slack(facets, basis, inverse, u, y - z @ beta))
        out, slope, direction = worst
        found = facets.slide(basis, out, direction * (z @ inverse[:, out]), r, slope)
        if found is None:
            return None
        basis.rows[out], basis.wall[out] = found[:2]
    return None


def _first_basis(z: Floats, certainty: Floats, epsilon: float) -> _Basis | None:
    """p independent rows, the surest first: QR with pivoting on the rows weighted by certainty."""
    n, p = z.shape
    best = certainty.max(axis=0)
    order = np.argsort(-best, kind="stable")
    count = 4 * p + 20
    while True:
        rows = order[: min(count, n)]
        weighted = z[rows] * np.sqrt(best[rows])[:, None]
        corner, pivot = linalg.qr(weighted.T, mode="r", pivoting=True, check_finite=False)
        size = np.abs(np.diag(corner))
        if len(size) == p and size[-1] > 1e-12 * size[0] * np.sqrt(
            best[rows[pivot[p - 1]]] / best[order[0]]
        ):
            break
        if count >= n:
            return None
        count *= 4
    chosen = rows[pivot[:p]]
    wall = np.zeros(p) if epsilon == 0.0 else 1.0 - 2.0 * certainty[:, chosen].argmax(axis=0)
    return _Basis(chosen.astype(np.int64), wall.astype(float))


def _worst(facets: _Facets, basis: _Basis, u: Floats) -> tuple[int, float, float] | None:
    """The row whose slope is furthest out of bounds: (place, rate of f, way its residual goes)."""
    low, high = facets.bounds(basis)
    inside, w = u[basis.rows], facets.w[basis.rows]
    over, under = (inside - high) / w, (low - inside) / w
    violation = np.maximum(over, under)
    out = int(violation.argmax())
    if violation[out] <= SLACK:
        return None
    # moving against the edge of Z_B⁻¹ raises the row's residual
    if over[out] >= under[out]:
        return out, float(high[out] - inside[out]), 1.0
    return out, float(inside[out] - low[out]), -1.0


def _slack(facets: _Facets, basis: _Basis, inverse: Floats, u: Floats, r: Floats) -> float:
    """How far fitted values can move along an edge on which f stays level."""
    low, high = facets.bounds(basis)
    inside, slack = u[basis.rows], SLACK * facets.w[basis.rows]
    kinks = np.stack([r - facets.epsilon, r + facets.epsilon])
    kinks[:, basis.rows] = np.nan  # rows of the corner stay at their kinks, or leave them at once
    kinks[np.abs(kinks) <= 1e-9] = 0.0
    found = 0.0
    for direction, level in ((1.0, high - inside <= slack), (-1.0, inside - low <= slack)):
        for out in np.flatnonzero(level):
            rate = direction * (facets.z @ inverse[:, out])
            rate[np.abs(rate) <= 1e-9] = 0.0
            with np.errstate(divide="ignore", invalid="ignore"):
                distance = -kinks / rate
            ahead = distance[(distance >= 0) & np.isfinite(distance)]
            found = max(found, float(ahead.min(initial=np.inf)) * float(np.abs(rate).max()))
    return found
