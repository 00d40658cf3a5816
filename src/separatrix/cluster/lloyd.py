"""K-means in memory by Lloyd iterations.

    minimize Σᵢ wᵢ ‖xᵢ − c_{label(i)}‖²

An iteration assigns every row to its nearest center and moves every center to the mean of its rows.
Neither step can raise the inertia, and there are finitely many partitions, so the iterations end,
in a local optimum. Sums are updated by the rows that moved, and recomputed from all rows before the
end, so that no rounding errors accumulate in the means.

Rows of a large table are read where they lie, and centered batch by batch: memory holds the table
once, and of every row a label and the bounds of its distances. Those of others are centered once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.cluster.center_layout import MAX_GROUPS, center_layout, fill_tiles
from separatrix.cluster.loops import assignments as row_loops
from separatrix.cluster.loops import kmeans as kmeans_loops
from separatrix.cluster.loops import small_tables
from separatrix.cluster.loops.kmeans import Points, State
from separatrix.rows.block import Floats, Ints, unit_weights

#: Rows that are summed together. Fixed, so that results do not depend on the number of threads.
ROWS_PER_CHUNK = 16_384
#: Numbers in a batch of rows that is centered: it stays in the cache.
BATCH_NUMBERS = 2**16
#: Bytes of a row's bounds, as a fraction of those of the row, in a large table.
BOUNDS_FRACTION = 0.15
#: Numbers in a large table.
LARGE = 2**25
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


def lloyd(
    x: Floats,
    w: Floats | None,
    start: Floats,
    *,
    max_iter: int,
    transform: Callable[[Floats], Floats] | None = None,
) -> LloydResult:
    """Lloyd iterations from the centers ``start`` (k x d) until no row moves.

    Weights must be positive; None is one for every row. Rows are taken through ``transform``
    whenever they are read.
    """
    if x.size * len(start) <= SMALL:
        return _small(x if transform is None else transform(x), w, start, max_iter)
    with _Lloyd(_Table(x, w, transform), start) as state:
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


@dataclass(frozen=True)
class _Table:
    """Rows and weights, of which a batch at a time is laid out for the loops."""

    x: Floats
    w: Floats | None
    transform: Callable[[Floats], Floats] | None = None

    def batches(self, start: int, stop: int) -> Iterator[tuple[slice, Floats, Floats]]:
        """(positions, rows, weights) of the rows ``start:stop``; a view where there can be one."""
        step = min(ROWS_PER_CHUNK, max(64, BATCH_NUMBERS // max(self.x.shape[1], 1)))
        for first in range(start, stop, step):
            at = slice(first, min(first + step, stop))
            x = self.x[at] if self.transform is None else self.transform(self.x[at])
            w = np.ones(len(x)) if self.w is None else np.ascontiguousarray(self.w[at])
            yield at, np.ascontiguousarray(x), w

    def origin_and_unit(self) -> tuple[Floats, float]:
        """The mean, and a power of two near the largest distance from it in any column.

        Scaling by a power of two does not round.
        """
        d = self.x.shape[1]
        total, weight = np.zeros(d), 0.0
        low, high = np.full(d, np.inf), np.full(d, -np.inf)
        for _, x, w in self.batches(0, len(self.x)):
            total += w @ x
            weight += float(w.sum())
            np.minimum(low, x.min(axis=0), out=low)
            np.maximum(high, x.max(axis=0), out=high)
        mean = total / weight
        largest = float(max((high - mean).max(), (mean - low).max())) or 1.0
        exponent = int(np.frexp(largest)[1]) - 1
        return mean, 2.0 ** min(max(exponent, -1000), 1000)


def _small(x: Floats, w: Floats | None, start: Floats, max_iter: int) -> LloydResult:
    """The same iterations with every distance, in one compiled loop."""
    mean, unit = _Table(x, w).origin_and_unit()
    z = np.ascontiguousarray((x - mean) / unit)
    centers, label = (start - mean) / unit, np.empty(len(x), dtype=np.int32)
    cluster_weights = np.empty(len(start))
    iterations, converged, inertia = small_tables.lloyd(
        z,
        np.ascontiguousarray(z.T),
        unit_weights(w, len(z)),
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
    """State of the iterations: centers are relative to the mean, rows scaled to less than 2."""

    def __init__(self, table: _Table, start: Floats) -> None:
        n, d = table.x.shape
        self.table, self.cuts = table, [*range(0, n, ROWS_PER_CHUNK), n]
        self.mean, self.unit = table.origin_and_unit()
        max_groups = MAX_GROUPS
        if table.x.size > LARGE:
            max_groups = max(1, min(MAX_GROUPS, int(BOUNDS_FRACTION * 8 * d / 4) - 3))
        self.centers = center_layout(
            np.ascontiguousarray((start - self.mean) / self.unit), max_groups
        )
        groups = len(self.centers.group_drift) - 1
        lower = np.full((n, groups), -np.inf, dtype=np.float32)
        self.state = State(
            np.zeros(n, dtype=np.int32),
            np.full(n, np.inf, dtype=np.float32),
            lower,
            # the bound of a single group is that of all centers
            lower[:, 0] if groups == 1 else np.full(n, -np.inf, dtype=np.float32),
        )
        self.points = None if table.x.size > LARGE else self._all_centered()
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
        return self

    def __exit__(self, *_: object) -> None:
        if self.pool is not None:
            self.pool.shutdown()

    def _centered(self, start: int, stop: int) -> Iterator[tuple[slice, Floats, Floats]]:
        """(positions, rows, weights) of the rows ``start:stop``, a batch at a time."""
        if self.points is not None:
            yield slice(start, stop), self.points.exact[start:stop], self.points.weight[start:stop]
            return
        for at, x, w in self.table.batches(start, stop):
            yield at, (x - self.mean) / self.unit, w

    def _all_centered(self) -> Points:
        """All rows, laid out for the loops."""
        n, d = self.table.x.shape
        points = Points(
            np.empty((n, d)), np.empty((n, d), np.float32), np.empty(n, np.float32), np.empty(n)
        )
        for at, x, w in self.table.batches(0, n):
            self._center(at, x, *(part[at] for part in points[:3]))
            points.weight[at] = w
        return points

    def _center(self, at: slice, x: Floats, *out: Any) -> None:
        """Center the rows that the bounds do not decide."""
        own = self.state
        row_loops.center_rows(
            x, self.mean, self.unit, own.label[at], own.upper[at], own.lowest[at],
            self.centers.drift, self.centers.group_drift[-1], *out,
        )  # fmt: skip

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
        moved = sum(self._map_chunks(self._assign_chunk))
        if self.first:  # there were no labels before
            self.first = False
            self._recompute_sums()
            return len(self.state.label)
        self._collect_sums()
        return int(moved)

    def _assign_chunk(self, start: int, stop: int, *parts: Any) -> int:
        if self.points is not None:
            every = (self.points, self.centers, self.state, self.rounding, start, stop)
            return int(kmeans_loops.assign_rows(*every, *parts))
        moved, points = 0, None
        for at, x, w in self.table.batches(start, stop):
            if points is None or len(points.square) < len(x):
                points = Points(
                    np.empty(x.shape),
                    np.empty(x.shape, np.float32),
                    np.empty(len(x), np.float32),
                    w,
                )
            self._center(at, x, *points[:3])
            own = self.state
            state = State(own.label[at], own.upper[at], own.lower[at], own.lowest[at])
            rows = (points._replace(weight=w), self.centers, state, self.rounding, 0, len(x))
            moved += int(kmeans_loops.assign_rows(*rows, *parts))
        return moved

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
            for at, x, w in self._centered(start, stop):
                row_loops.add_rows(x, w, self.state.label[at], 0, len(x), *parts)

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
        loss, i = max(self._map_chunks(self._largest_loss), key=lambda found: found[0])
        if loss <= 0.0:
            return  # every row equals its center
        a = int(self.state.label[i])
        _, rows, weights = next(self._centered(i, i + 1))
        x, w = rows[0], float(weights[0])
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

    def _losses(self, start: int, stop: int) -> Floats:
        """w ‖x − c‖² of rows to their own centers, in the scaled units."""
        out = np.empty(stop - start)
        for at, x, w in self._centered(start, stop):
            square = out[at.start - start : at.stop - start]
            row_loops.squares_to_own_center(
                x, self.centers.exact, self.state.label[at], 0, len(x), square
            )
            square *= w
        return out

    def _largest_loss(self, start: int, stop: int, *_: Any) -> tuple[float, int]:
        loss = self._losses(start, stop)
        i = int(loss.argmax())
        return float(loss[i]), start + i

    def result(self, iterations: int, converged: bool) -> LloydResult:
        """The result in the units of the rows."""
        parts = self._map_chunks(lambda a, b, *_: float(self._losses(a, b).sum()))
        return LloydResult(
            self.centers.exact * self.unit + self.mean,
            self.state.label,
            self.cluster_weights,
            sum(parts) * self.unit**2,
            iterations,
            converged,
        )
