"""Nearest points of two convex hulls: the minimum-norm point of the hull of all differences a − b.

    min ‖Aᵀλ − Bᵀμ‖   over λ, μ ≥ 0 with Σλ = Σμ = 1

Wolfe's algorithm (P. Wolfe, Finding the nearest point in a polytope, 1976) maintains a *corral*,
affinely independent points whose convex hull has its minimum-norm point x in the relative interior.
A major cycle adds the point that minimizes x·p; minor cycles drop points whose weight would turn
negative. The norm decreases strictly, so no corral recurs and the algorithm is finite. If the hulls
intersect, x = 0, with the weights as proof; else x is normal to the maximum-margin hyperplane.

The algorithm runs on a pool of rows; one product with all rows finds those that violate the
optimality condition and extend the pool (column generation).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg, sparse

from separatrix.arrays import Floats, Ints, Matrix
from separatrix.kernels.base import squared_norms
from separatrix.rows.schema import to_array
from separatrix.threads import one_blas_thread

EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class NearestPoints:
    """Rows and convex weights of the nearest points of two hulls, with bounds on the distance.

    ``normal`` is a unit vector. ``low`` is the minimum of normal·a and ``high`` the maximum of
    normal·b (rows centered), so ``low − high`` is a lower bound of the distance, and ``distance``
    an upper one. ``scale`` is the size of the rows, ``work`` the multiplications spent.
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
    work: float = 0.0

    @property
    def duality_gap(self) -> float:
        """Upper minus lower bound of the distance."""
        return max(self.distance - max(self.low - self.high, 0.0), 0.0)


def nearest_points(
    a: Matrix,
    b: Matrix,
    *,
    tolerance: float = 1e-13,
    max_iter: int = 1_000_000,
    max_work: float = np.inf,
) -> NearestPoints:
    """Nearest points of the hulls of the rows of ``a`` and ``b`` (dense or CSR, same columns).

    ``tolerance`` is the duality gap relative to the distance, ``max_iter`` the most major cycles,
    ``max_work`` the most multiplications, after which the bounds of the result are all it claims.
    """
    with one_blas_thread():
        search = _MinNormSearch(a, b, max_iter, max_work)
        converged = extended = True
        while converged and extended:
            converged = search.major_cycles(tolerance)
            extended = search.extend_pool(tolerance)
        return search.result()


class _MinNormSearch:
    """Wolfe's algorithm on a pool of rows; all rows are centered and scaled."""

    def __init__(self, a: Matrix, b: Matrix, max_iter: int, max_work: float) -> None:
        center, half_range = midrange_and_half_range(a, b)
        self.scale = float(half_range.max(initial=0.0)) or 1.0
        self.a, self.b = ((x if sparse.issparse(x) else x - center) / self.scale for x in (a, b))
        difference = _mean(self.a) - _mean(self.b)
        self.pool_a = np.array([int(np.argmin(self.a @ difference))])
        self.pool_b = np.array([int(np.argmax(self.b @ difference))])
        self.points_a = to_array(self.a[self.pool_a])
        self.points_b = to_array(self.b[self.pool_b])
        self.size = _max_norm(self.a) + _max_norm(self.b) or 1.0
        self.pairs: list[tuple[int, int]] = []
        self.corral = _Corral(self.size, a.shape[1])
        self._add_pair(0, 0)
        self.weights = np.ones(1)
        self.iterations, self.max_iter = 0, max_iter
        self.work, self.max_work = 0.0, max_work

    def major_cycles(self, tolerance: float) -> bool:
        """Minimize the norm over the pool; False if rounding stops it or the hulls intersect."""
        best = np.inf
        while self.iterations < self.max_iter and self.work < self.max_work:
            self.work += self._cycle_cost()
            normal, norm = self.corral.normal()
            if norm <= 8.0 * EPS * self.size or not norm < best:
                return norm > 8.0 * EPS * self.size
            best = norm * (1.0 - EPS)
            score_a, score_b = self.points_a @ normal, self.points_b @ normal
            i, j = int(np.argmin(score_a)), int(np.argmax(score_b))
            pair = (int(self.pool_a[i]), int(self.pool_b[j]))
            bound = norm - self._tolerance(norm, tolerance)
            if score_a[i] - score_b[j] >= bound or pair in self.pairs:
                return True
            if not self._add_pair(i, j):
                return False
            self.weights = np.append(self.weights, 0.0)
            self._minor_cycles()
            self.iterations += 1
        return False

    def _cycle_cost(self) -> float:
        """Multiplications of a major cycle: products with Q, its copy, and scores of the pool."""
        pool = len(self.pool_a) + len(self.pool_b)
        return float(self.corral.q.shape[0] * (10 * (len(self.pairs) + 1) + pool))

    def _tolerance(self, norm: float, tolerance: float) -> float:
        return max(tolerance * norm, 4.0 * EPS * self.size)

    def _add_pair(self, i: int, j: int) -> bool:
        if not self.corral.add(self.points_a[i] - self.points_b[j]):
            return False
        self.pairs.append((int(self.pool_a[i]), int(self.pool_b[j])))
        return True

    def _minor_cycles(self) -> None:
        """Move to the minimum-norm point of the affine hull; drop points of no positive weight."""
        while True:
            target = self.corral.weights()
            if (target > 0.0).all():
                self.weights = target
                return
            falling = target <= 0.0
            ratio = np.full(len(target), np.inf)
            decrease = self.weights[falling] - target[falling]
            ratio[falling] = self.weights[falling] / (decrease + 1e-300)
            leaving = int(np.argmin(ratio))
            step = min(float(ratio[leaving]), 1.0)
            self.weights = np.maximum(self.weights + step * (target - self.weights), 0.0)
            self.weights = np.delete(self.weights, leaving)
            self.weights /= self.weights.sum()
            del self.pairs[leaving]
            self.corral.remove(leaving)

    def extend_pool(self, tolerance: float) -> bool:
        """Add the rows that violate optimality most; False if there are none."""
        normal, norm = self.corral.normal()
        if norm <= 8.0 * EPS * self.size:
            return False
        self.work += float(sum(x.nnz if sparse.issparse(x) else x.size for x in (self.a, self.b)))
        slack = 0.5 * self._tolerance(norm, tolerance)
        score_a, score_b = np.asarray(self.a @ normal), -np.asarray(self.b @ normal)
        bound_a = float((self.points_a @ normal).min()) - slack
        bound_b = -float((self.points_b @ normal).max()) - slack
        score_a[self.pool_a], score_b[self.pool_b] = np.inf, np.inf  # despite rounding
        max_rows = max(16, self.a.shape[1] // 2)
        new_a = _lowest_rows(score_a, bound_a, max_rows)
        new_b = _lowest_rows(score_b, bound_b, max_rows)
        self.pool_a = np.concatenate([self.pool_a, new_a])
        self.pool_b = np.concatenate([self.pool_b, new_b])
        self.points_a = np.concatenate([self.points_a, to_array(self.a[new_a])])
        self.points_b = np.concatenate([self.points_b, to_array(self.b[new_b])])
        return len(new_a) + len(new_b) > 0

    def result(self) -> NearestPoints:
        """Weights summed by row; distance and bounds recomputed from all rows."""
        pairs = np.array(self.pairs)
        rows_a, weights_a = _sum_by_row(pairs[:, 0], self.weights)
        rows_b, weights_b = _sum_by_row(pairs[:, 1], self.weights)
        nearest_a = weights_a @ to_array(self.a[rows_a])
        nearest_b = weights_b @ to_array(self.b[rows_b])
        normal = self.corral.normal()[0]
        return NearestPoints(
            rows_a,
            weights_a,
            rows_b,
            weights_b,
            normal,
            self.scale * float(np.linalg.norm(nearest_a - nearest_b)),
            self.scale * float((self.a @ normal).min()),
            self.scale * float((self.b @ normal).max()),
            self.scale * self.size,
            self.iterations,
            self.work,
        )


class _Corral:
    """The corral's QR factorization, Q R = [s; P]: points are the columns of P, below a row of s.

    The least-squares solution of [s; P] u = (1, 0, …) is proportional to the weights of the
    minimum-norm point of the affine hull; the residual is along its normal.
    """

    def __init__(self, size: float, d: int) -> None:
        self.size = size
        self.q = np.zeros((d + 1, 0))
        self.r = np.zeros((0, 0))
        self.points: list[Floats] = []
        self.updates = 0

    def add(self, point: Floats) -> bool:
        """Append a point; False if it is affinely dependent on the others, up to rounding."""
        column = np.concatenate([[self.size], point])
        k = len(self.points)
        coefficients = self.q.T @ column
        residual = column - self.q @ coefficients
        correction = self.q.T @ residual  # Gram–Schmidt twice is enough
        residual -= self.q @ correction
        norm = float(np.linalg.norm(residual))
        if k > len(column) - 1 or not norm > 4.0 * EPS * self.size:
            return False
        self.q = np.column_stack([self.q, residual / norm])
        r = np.zeros((k + 1, k + 1))
        r[:k, :k] = self.r
        r[:k, k], r[k, k] = coefficients + correction, norm
        self.r = r
        self.points.append(point)
        return True

    def remove(self, index: int) -> None:
        """Remove a point."""
        del self.points[index]
        self.updates += 1
        # Updates of the QR factorization between two new ones, against accumulated rounding.
        if self.updates % 200 == 0:
            top = np.full(len(self.points), self.size)
            columns = np.vstack([top, np.column_stack(self.points)])
            self.q, self.r = linalg.qr(columns, mode="economic", check_finite=False)
            return
        q, r = linalg.qr_delete(self.q, self.r, index, which="col", check_finite=False)
        k = len(self.points)  # a square q has one column too many
        self.q, self.r = q[:, :k], r[:k]

    def weights(self) -> Floats:
        """Weights of the minimum-norm point of the affine hull; their sum is one."""
        u = linalg.solve_triangular(self.r, self.q[0], check_finite=False)
        return np.asarray(u / u.sum())

    def normal(self) -> tuple[Floats, float]:
        """Unit normal of the affine hull, and its distance from the origin."""
        first = np.zeros(len(self.q))
        first[0] = 1.0
        residual = first - self.q @ self.q[0]
        for _ in range(2):  # a small residual is mostly rounding until it is orthogonalized again
            residual -= self.q @ (self.q.T @ residual)
        norm = float(np.linalg.norm(residual[1:]))
        if not norm > 4.0 * EPS:
            return np.zeros(len(residual) - 1), 0.0
        return -residual[1:] / norm, self.size * abs(float(residual[0])) / norm


def midrange_and_half_range(a: Matrix, b: Matrix) -> tuple[Floats | float, Floats]:
    """Midrange and half range of every column; sparse columns are not centered."""
    if sparse.issparse(a) or sparse.issparse(b):
        return 0.0, np.maximum(max_abs(a), max_abs(b))
    low = np.minimum(a.min(axis=0), b.min(axis=0))
    high = np.maximum(a.max(axis=0), b.max(axis=0))
    return low / 2 + high / 2, high / 2 - low / 2


def max_abs(x: Matrix) -> Floats:
    """Largest absolute value of every column."""
    return to_array(abs(x).max(axis=0)).ravel()


def _mean(x: Matrix) -> Floats:
    return np.asarray(x.mean(axis=0)).ravel()


def _max_norm(x: Matrix) -> float:
    return float(np.sqrt(squared_norms(x).max()))


def _lowest_rows(score: Floats, bound: float, max_rows: int) -> Ints:
    """At most ``max_rows`` rows of the lowest scores below the bound."""
    indices = np.flatnonzero(score < bound)
    if len(indices) > max_rows:
        indices = indices[np.argpartition(score[indices], max_rows)[:max_rows]]
    return indices


def _sum_by_row(rows: Ints, weights: Floats) -> tuple[Ints, Floats]:
    distinct, where = np.unique(rows, return_inverse=True)
    return distinct, np.asarray(np.bincount(where, weights=weights), dtype=np.float64)


# -------------------------------------------------------------------------------------------------
# A common point of two convex hulls, as convex combinations of few rows (Carathéodory).


@dataclass(frozen=True)
class CommonPoint:
    """A point of both convex hulls, as convex combinations of rows of a and of rows of b.

    ``disagreement`` is the largest difference of the two combinations in a column, as a fraction
    of the column's range. If ``proved``, some weights of the same rows agree without rounding.
    """

    point: Floats
    rows_a: Ints
    weights_a: Floats
    rows_b: Ints
    weights_b: Floats
    disagreement: float
    proved: bool = False


def common_point(a: Matrix, b: Matrix, nearest_points: NearestPoints) -> CommonPoint:
    """Convex combinations of few rows that agree up to rounding."""
    points_a, points_b = to_array(a[nearest_points.rows_a]), to_array(b[nearest_points.rows_b])
    columns = np.block(
        [
            [points_a.T, -points_b.T],
            [np.ones((1, len(points_a))), np.zeros((1, len(points_b)))],
            [np.zeros((1, len(points_a))), np.ones((1, len(points_b)))],
        ]
    )
    weights = np.concatenate([nearest_points.weights_a, nearest_points.weights_b])
    support, weights = _caratheodory(columns, weights)
    first = support < len(points_a)
    rows_a, rows_b = (
        nearest_points.rows_a[support[first]],
        nearest_points.rows_b[support[~first] - len(points_a)],
    )
    weights_a, weights_b = weights[first], weights[~first]
    weights_a, weights_b = weights_a / weights_a.sum(), weights_b / weights_b.sum()
    common = combinations(a, b, rows_a, weights_a, rows_b, weights_b)
    return replace(common, proved=_weights_are_positive(columns[:, support], weights))


def combinations(
    a: Matrix, b: Matrix, rows_a: Ints, weights_a: Floats, rows_b: Ints, weights_b: Floats
) -> CommonPoint:
    """The point of two convex combinations, and their difference."""
    mean_a = np.asarray(a[rows_a].T @ weights_a)
    mean_b = np.asarray(b[rows_b].T @ weights_b)
    difference = float(np.abs(mean_a - mean_b).max(initial=0.0)) / 2
    return CommonPoint((mean_a + mean_b) / 2, rows_a, weights_a, rows_b, weights_b, difference)


def _weights_are_positive(columns: Floats, weights: Floats) -> bool:
    """Whether the weights that solve the system exactly are positive, whatever rounding did.

    For a square system: they differ from ``weights`` by at most ‖M⁻¹‖ times the residual and the
    rounding of the rows, which are at most 1 in size.
    """
    m = len(columns)
    if columns.shape[1] != m:
        return False
    try:
        inverse = np.abs(linalg.inv(columns, check_finite=False)).sum(axis=1)
    except linalg.LinAlgError:
        return False
    target = np.zeros(m)
    target[-2:] = 1.0
    residual = float(np.abs(columns @ weights - target).max()) + 16.0 * EPS * m
    return bool((weights > 2.0 * inverse * residual).all() and inverse.max() * EPS * m < 0.01)


def _caratheodory(columns: Floats, weights: Floats) -> tuple[Ints, Floats]:
    """Carathéodory's reduction to linearly independent columns.

    Along n with columns·n = 0 the combination is unchanged; the first weight that vanishes is
    dropped. The remaining system is solved once more, which removes accumulated rounding.
    """
    support = np.flatnonzero(weights > 0.0)
    weights = weights[support]
    target = np.zeros(len(columns))
    target[-2:] = 1.0
    _, values, right = linalg.svd(columns[:, support], check_finite=False)
    null_space = right[int((values > 1e-13 * values[0]).sum()) :].T  # orthonormal
    while null_space.shape[1]:
        null = null_space[:, 0] if null_space[:, 0].max() > 0 else -null_space[:, 0]
        ratio = np.where(null > 0, weights / np.where(null > 0, null, 1.0), np.inf)
        out = int(np.argmin(ratio))
        weights = np.maximum(weights - ratio[out] * null, 0.0)
        null_space = np.delete(_null_space_without(null_space, out), out, axis=0)
        support, weights = np.delete(support, out), np.delete(weights, out)
    refined = linalg.lstsq(columns[:, support], target, check_finite=False)[0]
    better = np.abs(columns[:, support] @ refined - target).max()
    if (refined >= 0.0).all() and better <= np.abs(columns[:, support] @ weights - target).max():
        weights = refined
    return support, weights


def _null_space_without(null_space: Floats, out: int) -> Floats:
    """An orthonormal basis of the null vectors that vanish at index ``out``.

    A Householder reflection moves row ``out`` into the first basis vector, which is dropped.
    """
    reflector = null_space[out].copy()
    reflector[0] += np.copysign(np.linalg.norm(reflector), reflector[0])
    reflector /= np.linalg.norm(reflector)
    return np.asarray(null_space - 2.0 * np.outer(null_space @ reflector, reflector))[:, 1:]
