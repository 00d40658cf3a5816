"""From near the optimum to an exact optimal vertex, for a tilted ε-insensitive loss.

    f(β) = Σ h max(0, r − ε) + l max(0, −r − ε),     r = y − zβ

f is piecewise linear; some vertex, where p residuals equal ±ε (0 for ε = 0) and so determine the p
coefficients, is a minimum. At a vertex the other rows have dual variables h, −l or 0, and the p
rows of the basis get those that make zᵀu = 0. If each of these lies within the subdifferential at
its kink, the vertex is optimal: u is then a dual solution of the same value. If not, this is a
simplex pivot: the row with the largest violation leaves the basis, and the ratio test along the
edge that opens finds the row that enters. Ties are broken by a random perturbation of y far below
the tolerance, so that the pivots cannot cycle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from separatrix.linear.robust.design import Design
from separatrix.rows.block import Floats, Ints

#: Slopes of the loss above and below the tube, by row.
Slopes = tuple[Floats, Floats]

#: Random perturbation of y that breaks ties, in units of the mean absolute residual.
TIE_BREAK = 1e-11
#: Violation of a bound on u, as a fraction of its weight, that is taken for rounding.
SLACK = 1e-9


@dataclass(frozen=True)
class Vertex:
    """Coefficients at an optimal vertex, its rows, and dual variables u of all rows.

    ``alternative`` is the largest change of a fitted value on the way to another optimal vertex:
    0 where the solution is unique.
    """

    beta: Floats
    u: Floats
    pivots: int
    alternative: float
    rows: Ints


@dataclass
class _Basis:
    """The rows that determine a vertex; ``side`` is the sign of ε in each of their residuals."""

    rows: Ints
    side: Floats


class _PiecewiseLinear:
    """The function f with what its vertices and edges need."""

    def __init__(self, z: Design, y: Floats, slopes: Slopes, epsilon: float) -> None:
        self.z, self.epsilon, self.y = z, epsilon, y
        self.high, self.low = slopes
        self.perturbed = np.random.default_rng(0).uniform(-1.0, 1.0, len(y))
        self.perturbed *= TIE_BREAK
        self.perturbed += y

    def weights(self, basis: _Basis) -> Floats:
        """The weights of the rows of the basis."""
        return np.asarray(0.5 * (self.high[basis.rows] + self.low[basis.rows]))

    def edges(self, basis: _Basis) -> Floats:
        """Z_B⁻¹: its columns are the edges that leave the vertex."""
        return np.asarray(linalg.inv(self.z[basis.rows], check_finite=False))

    def vertex(self, edges: Floats, basis: _Basis, y: Floats) -> Floats:
        """β with residuals ±ε at the rows of the basis."""
        return np.asarray(edges @ (y[basis.rows] - self.epsilon * basis.side))

    def dual_variables(self, edges: Floats, basis: _Basis, r: Floats) -> Floats:
        """u = w ℓ′(r) outside the basis, and what makes zᵀu = 0 inside it."""
        u = np.where(r > 0.0, self.high, -self.low) * (np.abs(r) > self.epsilon)
        u[basis.rows] = 0.0
        u[basis.rows] = -edges.T @ (self.z.T @ u)
        return u

    def bounds(self, basis: _Basis) -> tuple[Floats, Floats]:
        """The ends of the subdifferential at the kink of each row of the basis."""
        high, low = self.high[basis.rows], self.low[basis.rows]
        return np.where(basis.side > 0, 0.0, -low), np.where(basis.side < 0, 0.0, high)

    def ratio_test(
        self, basis: _Basis, leaving: int, rate: Floats, r: Floats, derivative: float
    ) -> tuple[int, float] | None:
        """Where f stops decreasing along an edge: (row, side); None if it never does.

        ``rate``, which is written to, is that of every residual's change; ``derivative`` < 0 that
        of f at the vertex, which increases by h or l times |rate| at each kink that is passed.
        """
        rate[np.delete(basis.rows, leaving)] = 0.0
        rate[np.abs(rate) <= 1e-13 * np.abs(rate).max()] = 0.0
        kinks = np.stack([r - self.epsilon, r + self.epsilon])
        own = basis.rows[leaving]
        # the kink of the leaving row lies at distance zero, up to rounding
        kinks[np.abs(kinks[:, own]).argmin() if self.epsilon else slice(None), own] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            kinks /= -rate
        kinks[:, rate == 0.0] = np.inf
        distance = kinks.ravel()
        order = np.flatnonzero((distance > 0.0) & (distance < np.inf))
        order = order[np.argsort(distance[order], kind="stable")]
        del kinks, distance
        jumps = np.where(order < len(r), self.high[order % len(r)], self.low[order % len(r)])
        jumps *= np.abs(rate[order % len(r)])
        derivatives = derivative + np.cumsum(jumps)
        stop = int(np.searchsorted(derivatives, 0.0))
        if stop == len(order):
            return None
        at = int(order[stop])
        side = 0.0 if self.epsilon == 0.0 else (1.0 if at < len(r) else -1.0)
        return at % len(r), side


def optimal_vertex(
    z: Design, y: Floats, slopes: Slopes, *, epsilon: float, diagonal: Floats, max_pivots: int
) -> Vertex | None:
    """An optimal vertex near an interior solution, or None if the pivots do not reach one.

    ``slopes`` are (h, l) of every row; ``diagonal`` (boxes x n) is large for the rows whose
    residual is at a kink.
    """
    f = _PiecewiseLinear(z, y, slopes, epsilon)
    basis = _initial_basis(z, diagonal, epsilon)
    if basis is None:
        return None
    for pivots in range(max_pivots + 1):
        try:
            edges = f.edges(basis)
        except (linalg.LinAlgError, ValueError):
            return None
        r = f.perturbed - z @ f.vertex(edges, basis, f.perturbed)
        u = f.dual_variables(edges, basis, r)
        violated = _largest_violation(f, basis, u)
        if violated is None:
            beta = f.vertex(edges, basis, y)
            alternative = _alternative(f, basis, edges, u, y - z @ beta)
            return Vertex(beta, u, pivots, alternative, basis.rows)
        leaving, derivative, direction = violated
        entering = f.ratio_test(basis, leaving, direction * (z @ edges[:, leaving]), r, derivative)
        if entering is None:
            return None
        basis.rows[leaving], basis.side[leaving] = entering
    return None


def _initial_basis(z: Design, diagonal: Floats, epsilon: float) -> _Basis | None:
    """p independent rows of large ``diagonal``, by QR with pivoting on the weighted rows."""
    n, p = z.shape
    best = diagonal.max(axis=0)
    order = np.argsort(-best, kind="stable")
    count = 4 * p + 20
    while True:
        rows = order[: min(count, n)]
        weighted = z[rows] * np.sqrt(best[rows])[:, None]
        factor, pivot = linalg.qr(weighted.T, mode="r", pivoting=True, check_finite=False)
        size = np.abs(np.diag(factor))
        if len(size) == p and size[-1] > 1e-12 * size[0] * np.sqrt(
            best[rows[pivot[p - 1]]] / best[order[0]]
        ):
            break
        if count >= n:
            return None
        count *= 4
    chosen = rows[pivot[:p]]
    side = np.zeros(p) if epsilon == 0.0 else 1.0 - 2.0 * diagonal[:, chosen].argmax(axis=0)
    return _Basis(chosen.astype(np.int64), side.astype(float))


def _largest_violation(
    f: _PiecewiseLinear, basis: _Basis, u: Floats
) -> tuple[int, float, float] | None:
    """The row of the basis with u furthest out of bounds: (position, derivative of f, direction).

    The direction is the sign in which its residual changes.
    """
    low, high = f.bounds(basis)
    inside, w = u[basis.rows], f.weights(basis)
    over, under = (inside - high) / w, (low - inside) / w
    violation = np.maximum(over, under)
    leaving = int(violation.argmax())
    if violation[leaving] <= SLACK:
        return None
    # moving against the edge of Z_B⁻¹ raises the row's residual
    if over[leaving] >= under[leaving]:
        return leaving, float(high[leaving] - inside[leaving]), 1.0
    return leaving, float(inside[leaving] - low[leaving]), -1.0


def _alternative(f: _PiecewiseLinear, basis: _Basis, edges: Floats, u: Floats, r: Floats) -> float:
    """The largest change of a fitted value along an edge on which f is constant."""
    low, high = f.bounds(basis)
    inside, slack = u[basis.rows], SLACK * f.weights(basis)
    kinks = np.stack([r - f.epsilon, r + f.epsilon])
    kinks[:, basis.rows] = np.nan  # rows of the basis stay at their kinks, or leave them at once
    kinks[np.abs(kinks) <= 1e-9] = 0.0
    found = 0.0
    for direction, constant in ((1.0, high - inside <= slack), (-1.0, inside - low <= slack)):
        for leaving in np.flatnonzero(constant):
            rate = direction * (f.z @ edges[:, leaving])
            rate[np.abs(rate) <= 1e-9] = 0.0
            with np.errstate(divide="ignore", invalid="ignore"):
                distance = -kinks / rate
            ahead = distance[(distance >= 0) & np.isfinite(distance)]
            found = max(found, float(ahead.min(initial=np.inf)) * float(np.abs(rate).max()))
    return found
