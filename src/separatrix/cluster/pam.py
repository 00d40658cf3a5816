"""Partitioning around medoids (PAM) from a matrix of distances.

    minimize Σ w d(x, nearest medoid)

Alternating (rows to the nearest medoid, medoids to the row of least total distance in their
cluster) is fast and stops early; swaps of one medoid with one other row continue from there until
no swap lowers the loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.cluster.loops import pam as loops
from separatrix.distances.base import Metric
from separatrix.distances.names import PrecomputedDistances
from separatrix.distances.vectors import Euclidean, SquaredEuclidean
from separatrix.kernels.base import take_items
from separatrix.rows.block import Floats, Ints
from separatrix.threads import MIN_PIECES, parallel_map, pieces

Singles = NDArray[np.float32]

#: Distances that are worth a piece of their own.
MIN_WORK = 200_000
#: Candidates that are evaluated before the best swaps among them are made.
BATCH = 512
#: A relative change of the loss below this is rounding: distances are in single precision.
ROUNDING = 1e-6
#: Distances that one thread computes at once.
BLOCK_NUMBERS = 500_000
#: Squares below this fraction of the largest lose single precision in products.
MIN_SQUARE = 1e-8


@dataclass(frozen=True)
class MedoidResult:
    """Rows chosen as medoids, the label of every row, and the loss in the unit of the matrix."""

    indices: Ints
    labels: Ints
    loss: float
    iterations: int
    converged: bool


class _Assignment:
    """Distances with the nearest and second nearest medoid of every row."""

    def __init__(self, distance: Singles, weight: Floats) -> None:
        n = len(distance)
        self.distance, self.weight = distance, weight
        self.nearest, self.second_nearest = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self.first, self.second = np.full(n, np.inf), np.full(n, np.inf)

    @property
    def _arrays(self) -> tuple[Ints, Ints, Floats, Floats]:
        return self.nearest, self.second_nearest, self.first, self.second

    def assign(self, medoids: Ints) -> float:
        """Assign all rows; the loss."""
        loops.two_nearest(self.distance, medoids, *self._arrays, 0, len(self.nearest))
        return self._loss(medoids)

    def swap(self, medoids: Ints, m: int) -> float:
        """Update the rows after medoid m was replaced; the loss."""
        loops.update_after_swap(self.distance, medoids, m, *self._arrays)
        return self._loss(medoids)

    def _loss(self, medoids: Ints) -> float:
        self.nearest[medoids] = np.arange(len(medoids))  # its own medoid, also among equal rows
        return float(self.weight @ self.first)

    def removal_losses(self, out: Floats) -> None:
        """Increase of the loss by removing each medoid."""
        loops.removal_losses(self.nearest, self.first, self.second, self.weight, out)


def k_medoids(
    distance: Singles, weight: Floats, start: Ints, *, method: str, max_iter: int
) -> MedoidResult:
    """Alternate from the rows ``start``; with method "pam", then swap until no swap helps."""
    assignment = _Assignment(distance, weight)
    medoids, iterations, converged = _alternate(assignment, start.copy(), max_iter)
    if method == "pam":
        passes, converged = _swap(assignment, medoids, max_iter)
        iterations += passes
    loss = assignment.assign(medoids)
    return MedoidResult(medoids, assignment.nearest.copy(), loss, iterations, converged)


def _alternate(assignment: _Assignment, medoids: Ints, max_iter: int) -> tuple[Ints, int, bool]:
    """Medoids to the row of least total distance in their cluster, until none changes."""
    for iteration in range(1, max_iter + 1):
        assignment.assign(medoids)
        order = np.argsort(assignment.nearest, kind="stable")
        ends = np.searchsorted(assignment.nearest[order], np.arange(len(medoids) + 1))
        clusters = [order[ends[m] : ends[m + 1]] for m in range(len(medoids))]
        new = np.array(_best_within(assignment, medoids, clusters), dtype=np.int64)
        if np.array_equal(new, medoids):
            return medoids, iteration, True
        medoids = new
    return medoids, max_iter, False


def _best_within(assignment: _Assignment, medoids: Ints, clusters: list[Ints]) -> list[int]:
    """The row of least total distance in every cluster; the medoid where none has less."""

    def best(m: int) -> int:
        members = clusters[m]
        totals = np.empty(len(members))
        loops.within_totals(assignment.distance, members, assignment.weight, totals)
        own = totals[members == medoids[m]].min(initial=np.inf)
        least = int(totals.argmin())
        return int(members[least] if totals[least] < own * (1 - ROUNDING) else medoids[m])

    numbers = range(len(medoids))
    if len(assignment.weight) ** 2 < MIN_WORK * len(medoids):
        return [best(m) for m in numbers]
    return parallel_map(best, numbers)


def _swap(assignment: _Assignment, medoids: Ints, max_iter: int) -> tuple[int, bool]:
    """Swap medoids in place while some swap lowers the loss; passes, and whether converged.

    Candidates are evaluated a batch at a time on all cores; of a batch the improving ones are
    evaluated again, best first, after every swap. It has converged after a pass without a swap.
    """
    n, k = len(assignment.nearest), len(medoids)
    removal, change, which = np.zeros(k), np.zeros(n), np.zeros(n, np.int64)
    loss = assignment.assign(medoids)
    without_swap, start, passes = 0, 0, 0

    def evaluate(rows: slice) -> None:
        loops.swap_changes(
            assignment.distance, assignment.nearest, assignment.first, assignment.second,
            assignment.weight, removal, rows.start, rows.stop, change, which,
        )  # fmt: skip

    assignment.removal_losses(removal)
    while without_swap < n and passes < max_iter and k < n:
        stop = min(start + BATCH, n)
        at = [
            slice(start + cut.start, start + cut.stop)
            for cut in pieces(stop - start, MIN_WORK // n)
        ]
        parallel_map(evaluate, at)
        without_swap += stop - start
        improving = start + np.flatnonzero(change[start:stop] < -ROUNDING * loss)
        for c in improving[np.argsort(change[improving], kind="stable")].tolist():
            if c in medoids:
                continue
            evaluate(slice(c, c + 1))
            if change[c] < -ROUNDING * loss:
                medoids[which[c]] = c
                loss = assignment.swap(medoids, int(which[c]))
                assignment.removal_losses(removal)
                without_swap = 0
        start = stop % n
        passes += start == 0
    return passes, bool(without_swap >= n or k >= n)


# -- what a certificate states ---------------------------------------------------------------------


def best_swap(distance: Singles, weight: Floats, medoids: Ints) -> float:
    """The largest reduction of the loss by any swap, recomputed from all distances.

    Shares no code with the search. Without medoid m a row has its second nearest medoid if m is its
    nearest, else the nearest; row c in place of m then leaves

        Σ w min(d(c, ·), first)  −  Σ over rows of m  w (min(d(c, ·), first) − min(d(c, ·), second))

    and the sums over the rows of every m are products with the 0/1 matrix of membership.
    """
    n, k = len(weight), len(medoids)
    to_medoids = np.sort(distance[medoids], axis=0)
    first = to_medoids[0]
    second = to_medoids[1] if k > 1 else np.full(n, np.inf, dtype=np.float32)
    member = np.zeros((n, k), dtype=np.float32)
    member[np.arange(n), distance[medoids].argmin(axis=0)] = weight
    finite = np.where(np.isfinite(second), second, distance.max())

    def least(a: int) -> float:
        rows = distance[a : a + step]
        near = np.minimum(rows, first)
        with_first = near @ member
        with_second = np.minimum(rows, finite, out=near) @ member if k > 1 else rows @ member
        losses = with_first.sum(axis=1, dtype=float)[:, None] - with_first + with_second
        return float(losses.min())

    step = max(1, min(-(-n // MIN_PIECES), BLOCK_NUMBERS // n))
    best = min(parallel_map(least, range(0, n, step)))
    return float(weight @ first.astype(float)) - best


def best_replacement_within(distance: Singles, weight: Floats, medoids: Ints) -> float:
    """The largest reduction of a cluster's total distance by another of its rows as medoid."""
    labels = distance[medoids].argmin(axis=0)
    labels[medoids] = np.arange(len(medoids))

    def reduction(m: int) -> float:
        members = np.flatnonzero(labels == m)
        step = max(1, BLOCK_NUMBERS // len(members))
        totals = [
            (distance[np.ix_(members[a : a + step], members)] @ weight[members]).min()
            for a in range(0, len(members), step)
        ]
        own = float(distance[medoids[m], members].astype(float) @ weight[members])
        return own - float(min(totals))

    return max(0.0, *parallel_map(reduction, range(len(medoids))))


# -- distances of all pairs ------------------------------------------------------------------------


def pairwise_distances(metric: Metric, points: Any, index: Ints) -> Singles:
    """d(x, z) for all pairs of the points ``index``, scaled to the order of 1."""
    if isinstance(metric, PrecomputedDistances):
        given = points[np.ix_(index, index)]
        return np.asarray(given / (given.max(initial=0.0) or 1.0), dtype=np.float32)
    chosen = take_items(points, index)
    if type(metric) is Euclidean:
        return _euclidean_distances(np.asarray(chosen))
    out = np.empty((len(chosen), len(chosen)), dtype=np.float32)
    unit = 0.0
    for rows, block in metric.prepare(chosen).blocks(chosen):
        unit = unit or float(block.max(initial=0.0))
        out[rows] = block / (unit or 1.0)
    return out


def _euclidean_distances(x: Floats) -> Singles:
    """Products in double precision about the mean, roots in single.

    Squares that are small relative to the largest lose their digits in the products: such pairs,
    and all pairs of a block with many of them, are computed from differences.
    """
    z = x - x.mean(axis=0)
    unit = float(np.abs(z).max(initial=0.0)) or 1.0
    z /= unit
    square = np.einsum("ij,ij->i", z, z)
    inexact = MIN_SQUARE * float(square.max(initial=0.0))
    out = np.empty((len(z), len(z)), dtype=np.float32)
    step = max(1, min(-(-len(z) // MIN_PIECES) + 64, BLOCK_NUMBERS // len(z)))
    half, one = 0.5 * square, np.ones(len(z))
    # ½ ‖x‖² + ½ ‖z‖² − x·z as one product
    left = np.column_stack([z, half, one])
    right = np.ascontiguousarray(np.column_stack([-z, one, half]).T)

    def fill(a: int) -> None:
        part = left[a : a + step] @ right
        _recompute_small(part, z, a, inexact)
        rows = out[a : a + step]
        rows[:] = part
        np.sqrt(rows, out=rows)

    parallel_map(fill, range(0, len(z), step))
    return out


def _recompute_small(halves: Floats, z: Floats, start: int, inexact: float) -> None:
    """½ ‖x − z‖² from differences where it is at most ``inexact``; rows from ``start`` on."""
    # of the flat array: NumPy finds few entries of many much faster than in two dimensions
    i, j = np.divmod(np.flatnonzero(halves <= inexact), len(z))
    if len(i) > 4 * len(z):
        metric = SquaredEuclidean()
        metric.fill(z[start : start + len(halves)], metric.precompute(z), halves)
        halves *= 0.5
    else:
        difference = z[start + i] - z[j]
        halves[i, j] = 0.5 * np.einsum("ij,ij->i", difference, difference)
