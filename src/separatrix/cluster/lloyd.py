"""K-means in memory by Lloyd iterations.

    minimize Σᵢ wᵢ ‖xᵢ − c_{label(i)}‖²

An iteration assigns every row to its nearest center and moves every center to the mean of its rows.
Neither step can raise the inertia, and there are finitely many partitions, so the iterations end,
in a local optimum. Sums are updated by the rows that moved, and recomputed from all rows before the
end, so that no rounding errors accumulate in the means.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.cluster.loops import assignments as row_loops
from separatrix.cluster.loops import kmeans as kmeans_loops
from separatrix.cluster.loops import small_tables
from separatrix.cluster.loops.kmeans import Centers, Points, State
from separatrix.cluster.loops.tiles import LANES
from separatrix.rows.block import Floats, Ints

#: Rows that are summed together. Fixed, so that results do not depend on the number of threads.
ROWS_PER_CHUNK = 16_384
#: Groups of centers with a lower bound each.
MAX_GROUPS = 16
#: Rows times columns times centers up to which plain distances are faster than bounds.
SMALL = 1_000_000


@dataclass(frozen=True)
class LloydResult:
    """Centers, labels (none of streamed rows) and weights of the clusters, and the inertia."""

    centers: Floats
    labels: NDArray[np.int32]
    cluster_weights: Floats
    inertia: float
    iterations: int
    converged: bool


def lloyd(x: Floats, w: Floats, start: Floats, *, max_iter: int) -> LloydResult:
    """Lloyd iterations from the centers ``start`` (k x d) until no row moves.

    Weights must be positive.
    """
    if x.size * len(start) <= SMALL:
        return _small(x, w, start, max_iter)
    with _Lloyd(x, w, start) as state:
        iterations, converged = 0, False
        while iterations < max_iter:
            iterations += 1
            moved = state.assign()
            state.update_centers()
            converged = not moved and state.recompute() == 0.0
            if converged:
                break
        if not converged:
            state.assign()
        return state.result(iterations, converged)


def _origin_and_unit(x: Floats, w: Floats) -> tuple[Floats, float]:
    """The mean, and the largest distance from it in any column: rows are scaled to at most 1."""
    mean = (w @ x) / w.sum()
    return mean, float(max((x.max(axis=0) - mean).max(), (mean - x.min(axis=0)).max())) or 1.0


def _small(x: Floats, w: Floats, start: Floats, max_iter: int) -> LloydResult:
    """The same iterations with every distance, in one compiled loop."""
    mean, unit = _origin_and_unit(x, w)
    z = (x - mean) / unit
    centers, label = (start - mean) / unit, np.empty(len(x), dtype=np.int32)
    cluster_weights = np.empty(len(start))
    iterations, converged, inertia = small_tables.lloyd(
        z,
        np.ascontiguousarray(z.T),
        w,
        centers,
        max_iter,
        label,
        cluster_weights,
    )
    inertia *= unit**2
    return LloydResult(
        centers * unit + mean, label, cluster_weights, inertia, iterations, converged
    )


class _Lloyd:
    """State of the iterations: rows and centers relative to the mean, scaled to at most 1."""

    def __init__(self, x: Floats, w: Floats, start: Floats) -> None:
        n, d = x.shape
        self.cuts = [*range(0, n, ROWS_PER_CHUNK), n]
        self.mean, self.unit = _origin_and_unit(x, w)
        single, square = np.empty((n, d), np.float32), np.empty(n, np.float32)
        self.x, self.points = x, Points(np.empty((n, d)), single, square, w)
        self.centers = center_layout(np.ascontiguousarray((start - self.mean) / self.unit))
        groups = len(self.centers.group_drift) - 1
        self.state = State(
            np.zeros(n, dtype=np.int32),
            np.full(n, np.inf, dtype=np.float32),
            np.full((n, groups), -np.inf, dtype=np.float32),
            np.full(n, -np.inf, dtype=np.float32),
        )
        self.rounding = (2 * d + 16) * 2.0**-24
        k, chunks = len(start), -(-n // ROWS_PER_CHUNK)
        self.sums, self.cluster_weights = np.zeros((k, d)), np.zeros(k)
        self.count = np.zeros(k, dtype=int)
        self.parts = (np.zeros((chunks, k, d)), np.zeros((chunks, k)), np.zeros((chunks, k), int))
        self.first = True

    def __enter__(self) -> _Lloyd:
        workers = min(os.cpu_count() or 1, len(self.cuts) - 1)
        self.pool = ThreadPoolExecutor(workers) if workers > 1 else None
        self.tasks = np.array_split(np.arange(len(self.cuts) - 1), 4 * workers)

        def work(start: int, stop: int, *_: Any) -> None:
            row_loops.center_rows(self.x, self.mean, self.unit, start, stop, *self.points[:3])

        self._map_chunks(work)
        return self

    def __exit__(self, *_: object) -> None:
        if self.pool is not None:
            self.pool.shutdown()

    def _map_chunks(self, work: Callable[..., Any]) -> list[Any]:
        """``work(start, stop, sums, cluster_weights, count)`` of every chunk, on threads."""

        def several(chunks: Ints) -> list[Any]:
            return [
                work(self.cuts[i], self.cuts[i + 1], *(part[i] for part in self.parts))
                for i in chunks.tolist()
            ]

        if self.pool is None:
            return several(np.arange(len(self.cuts) - 1))
        return [out for outs in self.pool.map(several, self.tasks) for out in outs]

    def _collect_sums(self) -> None:
        totals = (self.sums, self.cluster_weights, self.count)
        for total, part in zip(totals, self.parts, strict=True):
            total += part.sum(axis=0)
            part[:] = 0

    # -- the two steps -------------------------------------------------------------------------

    def assign(self) -> int:
        """Assign every row to its nearest center; the number of rows that moved."""

        def work(start: int, stop: int, *parts: Any) -> int:
            rows = (self.points, self.centers, self.state, self.rounding, start, stop)
            return int(kmeans_loops.assign_rows(*rows, *parts))

        moved = sum(self._map_chunks(work))
        if self.first:  # there were no labels before
            self.first = False
            self._recompute_sums()
            return len(self.state.label)
        self._collect_sums()
        return int(moved)

    def update_centers(self) -> None:
        """Move centers to means, those of empty clusters to far rows."""
        for j in np.flatnonzero(self.count == 0):
            self._fill_empty_cluster(int(j))
        nonempty = self.count > 0
        new = self.centers.exact.copy()
        new[nonempty] = self.sums[nonempty] / self.cluster_weights[nonempty, None]
        self._move_centers(new)

    def recompute(self) -> float:
        """Recompute sums and means from all rows; the largest change of a center."""
        before = self.centers.exact.copy()
        self._recompute_sums()
        self.update_centers()
        moved = np.abs(before - self.centers.exact).max()
        return float(moved) if moved > 1e-15 * np.sqrt(self.centers.max_square) else 0.0

    def _recompute_sums(self) -> None:
        for total in (self.sums, self.cluster_weights, self.count, *self.parts):
            total[:] = 0

        def work(start: int, stop: int, *parts: Any) -> None:
            row_loops.add_rows(
                self.points.exact, self.points.weight, self.state.label, start, stop, *parts
            )

        self._map_chunks(work)
        self._collect_sums()

    def _move_centers(self, new: Floats) -> None:
        old = self.centers
        steps = np.sqrt(((new - old.exact) ** 2).sum(axis=1))
        old.drift[:] += steps
        groups = len(old.group_drift) - 1
        fastest = np.zeros(groups)
        np.maximum.at(fastest, old.group_of, steps)
        old.group_drift[:groups] += fastest
        old.group_drift[groups] += steps.max()
        fill_tiles(old, new)
        self.centers = old._replace(max_square=float((new**2).sum(axis=1).max()))

    def _fill_empty_cluster(self, j: int) -> None:
        """Move the row that adds most to the inertia to the empty cluster j."""
        loss = self.points.weight * self.squares_to_own_center()
        i = int(loss.argmax())
        if loss[i] <= 0.0:
            return  # every row equals its center
        a, w, x = int(self.state.label[i]), self.points.weight[i], self.points.exact[i]
        self.state.label[i] = j
        self.state.upper[i] = np.inf
        self.state.lower[i], self.state.lowest[i] = -np.inf, -np.inf
        self.count[[a, j]] += (-1, 1)
        self.cluster_weights[a], self.cluster_weights[j] = self.cluster_weights[a] - w, w
        self.sums[a] -= w * x
        self.sums[j] = w * x
        moved = self.centers.exact.copy()
        moved[j] = x
        self._move_centers(moved)

    # -- the result ----------------------------------------------------------------------------

    def squares_to_own_center(self) -> Floats:
        """‖x − c‖² of every row to its own center, in the scaled units."""
        out = np.empty(len(self.state.label))

        def work(start: int, stop: int, *_: Any) -> None:
            row_loops.squares_to_own_center(
                self.points.exact, self.centers.exact, self.state.label, start, stop, out
            )

        self._map_chunks(work)
        return out

    def result(self, iterations: int, converged: bool) -> LloydResult:
        """The result in the units of the rows."""
        squares = self.points.weight * self.squares_to_own_center()
        parts = [float(squares[a:b].sum()) for a, b in pairwise(self.cuts)]
        return LloydResult(
            self.centers.exact * self.unit + self.mean,
            self.state.label,
            self.cluster_weights,
            sum(parts) * self.unit**2,
            iterations,
            converged,
        )


# -- the layout of centers ---------------------------------------------------------------------


def center_layout(centers: Floats) -> Centers:
    """Centers in groups of near ones, each group an integral number of tiles."""
    k, d = centers.shape
    tiles = -(-k // LANES)
    per_group = -(-tiles // MAX_GROUPS)
    groups = -(-tiles // per_group)
    lanes = groups * per_group * LANES
    order = proximity_order(centers, np.arange(k), per_group * LANES)
    lane_of, center_of = np.zeros(k, dtype=np.int64), np.zeros(lanes, dtype=np.int64)
    lane_of[order] = np.arange(k)
    center_of[:k] = order
    layout = Centers(
        np.zeros((k, d)),
        np.zeros((k, d), dtype=np.float32),
        np.zeros(k, dtype=np.float32),
        np.zeros((lanes // LANES, d, LANES), dtype=np.float32),
        np.full((lanes // LANES, LANES), np.inf, dtype=np.float32),
        lane_of,
        center_of,
        lane_of // (per_group * LANES),
        np.zeros(k),
        np.zeros(groups + 1),
        float((centers**2).sum(axis=1).max()),
    )
    fill_tiles(layout, centers)
    return layout


def fill_tiles(layout: Centers, centers: Floats) -> None:
    """Write the centers into their lanes."""
    layout.exact[:] = layout.single[:] = centers
    layout.halves[:] = 0.5 * (centers**2).sum(axis=1)
    tile, lane = np.divmod(layout.lane_of, LANES)
    layout.tiles[tile, :, lane] = centers
    layout.norms[tile, lane] = layout.halves


def proximity_order(centers: Floats, index: Ints, size: int) -> Ints:
    """Order by recursive bisection along the widest column, into runs of ``size``."""
    if len(index) <= size:
        return index
    chosen = centers[index]
    order = index[np.argsort(chosen[:, chosen.var(axis=0).argmax()], kind="stable")]
    runs = -(-len(index) // size)
    half = (runs // 2) * size
    return np.concatenate(
        [proximity_order(centers, order[:half], size), proximity_order(centers, order[half:], size)]
    )
