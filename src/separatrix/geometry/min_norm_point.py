"""Nearest points of two convex hulls: the point of least norm in the hull of all differences a − b.

    min ‖Aᵀλ − Bᵀμ‖   over λ, μ ≥ 0 with Σλ = Σμ = 1

Wolfe's method keeps a *corral*, a few differences whose hull has its point of least norm x inside.
While some difference lies below the plane through x, it joins, and members that it makes
superfluous leave. The norm falls at every round, so no corral returns and the search is finite.
Hulls that meet have x = 0, with the weights as proof; else x is normal to the widest gap.

The rows stay outside: the search runs on a pool of rows near the gap, and one product with all
rows tells which of them should have been in it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from separatrix.rows.block import Floats, Ints, Matrix
from separatrix.threads import small_products

EPS = float(np.finfo(float).eps)
#: Members of the corral between two factorisations from scratch: updates gather rounding.
REFRESH = 200


@dataclass(frozen=True)
class NearestPoints:
    """Rows and weights of either hull, the normal between them, and how far apart they are.

    ``normal`` has length one. ``low`` is the least normal·a and ``high`` the greatest normal·b, so
    ``low − high`` is a lower bound of the distance and ``distance`` an upper one, up to the centre
    that both were measured from.
    """

    rows_a: Ints
    weights_a: Floats
    rows_b: Ints
    weights_b: Floats
    normal: Floats
    distance: float
    low: float
    high: float
    scale: float
    iterations: int
    passes: int

    @property
    def gap(self) -> float:
        """What separates the distance that was reached from the one that is proved."""
        return max(self.distance - max(self.low - self.high, 0.0), 0.0)


def nearest_points(
    a: Matrix, b: Matrix, *, enough: float = 1e-13, max_iter: int = 1_000_000
) -> NearestPoints:
    """Of the hulls of the rows of ``a`` and of ``b`` (dense or CSR, the same columns).

    ``enough`` is the share of the distance that may be left open; after ``max_iter`` rounds the
    bounds are as good as they are.
    """
    with small_products(a.shape[1]):
        search = _Search(a, b, max_iter)
        passes, going = 0, True
        while going:
            passes += 1
            settled = search.settle(enough)
            going = search.widen(enough) and settled
        return search.result(passes)


class _Search:
    """The corral, its pool of rows, and all rows measured from a common centre."""

    def __init__(self, a: Matrix, b: Matrix, max_iter: int) -> None:
        centre, self.unit = _frame(a, b)
        self.a, self.b = _moved(a, centre, self.unit), _moved(b, centre, self.unit)
        apart = _mean(self.a) - _mean(self.b)
        first, last = int(np.argmin(self.a @ apart)), int(np.argmax(self.b @ apart))
        self.pool_a, self.pool_b = np.array([first]), np.array([last])
        self.near_a, self.near_b = _dense(self.a, self.pool_a), _dense(self.b, self.pool_b)
        self.size = _longest(self.a) + _longest(self.b) or 1.0
        self.pairs: list[tuple[int, int]] = []
        self.corral = _Corral(self.size, a.shape[1])
        self._join(0, 0)
        self.weights = np.ones(1)
        self.iterations, self.max_iter = 0, max_iter

    def settle(self, enough: float) -> bool:
        """The least norm over the pool. False if rounding stops it, or the hulls meet."""
        best = np.inf
        while self.iterations < self.max_iter:
            normal, level = self.corral.normal()
            if level <= 8.0 * EPS * self.size or not level < best:
                return level > 8.0 * EPS * self.size
            best = level * (1.0 - EPS)
            below, above = self.near_a @ normal, self.near_b @ normal
            i, j = int(np.argmin(below)), int(np.argmax(above))
            pair = (int(self.pool_a[i]), int(self.pool_b[j]))
            if below[i] - above[j] >= level - self._slack(level, enough) or pair in self.pairs:
                return True
            if not self._join(i, j):
                return False
            self.weights = np.append(self.weights, 0.0)
            self._retire()
            self.iterations += 1
        return False

    def _slack(self, level: float, enough: float) -> float:
        return max(enough * level, 4.0 * EPS * self.size)

    def _join(self, i: int, j: int) -> bool:
        if not self.corral.add(self.near_a[i] - self.near_b[j]):
            return False
        self.pairs.append((int(self.pool_a[i]), int(self.pool_b[j])))
        return True

    def _retire(self) -> None:
        """Walk towards the least norm of the affine hull; whoever would turn negative leaves."""
        while True:
            aim = self.corral.weights()
            if (aim > 0.0).all():
                self.weights = aim
                return
            leaving = aim <= 0.0
            ratio = np.full(len(aim), np.inf)
            ratio[leaving] = self.weights[leaving] / (self.weights[leaving] - aim[leaving] + 1e-300)
            out = int(np.argmin(ratio))
            step = min(float(ratio[out]), 1.0)
            self.weights = np.maximum(self.weights + step * (aim - self.weights), 0.0)
            self.weights = np.delete(self.weights, out)
            self.weights /= self.weights.sum()
            del self.pairs[out]
            self.corral.remove(out)

    def widen(self, enough: float) -> bool:
        """Add the rows that lie furthest inside the gap; False if there are none."""
        normal, level = self.corral.normal()
        if level <= 8.0 * EPS * self.size:
            return False
        slack = 0.5 * self._slack(level, enough)
        score_a, score_b = np.asarray(self.a @ normal), -np.asarray(self.b @ normal)
        bound_a = float((self.near_a @ normal).min()) - slack
        bound_b = -float((self.near_b @ normal).max()) - slack
        score_a[self.pool_a], score_b[self.pool_b] = np.inf, np.inf  # whatever rounding says
        some = max(16, self.a.shape[1] // 2)
        new_a, new_b = _least(score_a, bound_a, some), _least(score_b, bound_b, some)
        self.pool_a = np.concatenate([self.pool_a, new_a])
        self.pool_b = np.concatenate([self.pool_b, new_b])
        self.near_a = np.concatenate([self.near_a, _dense(self.a, new_a)])
        self.near_b = np.concatenate([self.near_b, _dense(self.b, new_b)])
        return len(new_a) + len(new_b) > 0

    def result(self, passes: int) -> NearestPoints:
        """Weights gathered by row; distance and bounds from all rows anew."""
        pairs = np.array(self.pairs)
        rows_a, weights_a = _gathered(pairs[:, 0], self.weights)
        rows_b, weights_b = _gathered(pairs[:, 1], self.weights)
        apart = weights_a @ _dense(self.a, rows_a) - weights_b @ _dense(self.b, rows_b)
        normal = self.corral.normal()[0]
        return NearestPoints(
            rows_a,
            weights_a,
            rows_b,
            weights_b,
            normal,
            self.unit * float(np.linalg.norm(apart)),
            self.unit * float((self.a @ normal).min()),
            self.unit * float((self.b @ normal).max()),
            self.unit * self.size,
            self.iterations,
            passes,
        )


class _Corral:
    """Q R = [s; P]: members are the columns of P, below a row of the common size s.

    Least squares of this matrix against (1, 0, …) has weights in proportion to those of the point
    of least norm, and a residual along the normal of the plane through the members.
    """

    def __init__(self, size: float, d: int) -> None:
        self.size = size
        self.q = np.zeros((d + 1, 0))
        self.r = np.zeros((0, 0))
        self.members: list[Floats] = []
        self.updates = 0

    def add(self, member: Floats) -> bool:
        """False where the member is a combination of the others, to rounding."""
        column = np.concatenate([[self.size], member])
        k = len(self.members)
        inside = self.q.T @ column
        rest = column - self.q @ inside
        again = self.q.T @ rest  # twice is enough
        rest -= self.q @ again
        length = float(np.linalg.norm(rest))
        if k > len(column) - 1 or not length > 4.0 * EPS * self.size:
            return False
        self.q = np.column_stack([self.q, rest / length])
        r = np.zeros((k + 1, k + 1))
        r[:k, :k] = self.r
        r[:k, k], r[k, k] = inside + again, length
        self.r = r
        self.members.append(member)
        return True

    def remove(self, at: int) -> None:
        """Take a member out."""
        del self.members[at]
        self.updates += 1
        if self.updates % REFRESH == 0:
            top = np.full(len(self.members), self.size)
            columns = np.vstack([top, np.column_stack(self.members)])
            self.q, self.r = linalg.qr(columns, mode="economic", check_finite=False)
            return
        q, r = linalg.qr_delete(self.q, self.r, at, which="col", check_finite=False)
        k = len(self.members)  # a square q keeps a column too many
        self.q, self.r = q[:, :k], r[:k]

    def weights(self) -> Floats:
        """Of the point of least norm in the affine hull; they add up to one."""
        u = linalg.solve_triangular(self.r, self.q[0], check_finite=False)
        return np.asarray(u / u.sum())

    def normal(self) -> tuple[Floats, float]:
        """Unit normal of the plane through all members, and its distance from the origin."""
        first = np.zeros(len(self.q))
        first[0] = 1.0
        rest = first - self.q @ self.q[0]
        for _ in range(2):  # a thin residual is mostly rounding until it is made orthogonal again
            rest -= self.q @ (self.q.T @ rest)
        length = float(np.linalg.norm(rest[1:]))
        if not length > 4.0 * EPS:
            return np.zeros(len(rest) - 1), 0.0
        return -rest[1:] / length, self.size * abs(float(rest[0])) / length


def _frame(a: Matrix, b: Matrix) -> tuple[Floats | None, float]:
    """The middle of all rows (of sparse ones: none) and the largest number seen from there."""
    if sparse.issparse(a) or sparse.issparse(b):
        return None, max(float(abs(a).max()), float(abs(b).max())) or 1.0
    low = np.minimum(a.min(axis=0), b.min(axis=0))
    high = np.maximum(a.max(axis=0), b.max(axis=0))
    return low / 2 + high / 2, float((high / 2 - low / 2).max(initial=0.0)) or 1.0


def _moved(x: Matrix, centre: Floats | None, unit: float) -> Matrix:
    return (x if centre is None else x - centre) / unit


def _mean(x: Matrix) -> Floats:
    return np.asarray(x.mean(axis=0)).ravel()


def _longest(x: Matrix) -> float:
    squares = x.multiply(x).sum(axis=1) if sparse.issparse(x) else np.einsum("ij,ij->i", x, x)
    return float(np.sqrt(np.max(squares)))


def _dense(x: Matrix, rows: Ints) -> Floats:
    part = x[rows]
    return np.asarray(part.toarray() if sparse.issparse(part) else part)


def _least(score: Floats, below: float, some: int) -> Ints:
    """At most ``some`` rows whose score is below the bound, the lowest ones."""
    found = np.flatnonzero(score < below)
    if len(found) > some:
        found = found[np.argpartition(score[found], some)[:some]]
    return found


def _gathered(rows: Ints, weights: Floats) -> tuple[Ints, Floats]:
    found, where = np.unique(rows, return_inverse=True)
    return found, np.asarray(np.bincount(where, weights=weights), dtype=np.float64)
