"""The steps of Lloyd iterations in memory, with bounds that skip rows which cannot move.

Rows are cut into pieces at places that depend on the table alone. Every piece has sums of its own,
which are added in order, so that results are the same bits on any number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from separatrix.cluster.lloyd.center_layout import MAX_GROUPS, center_layout, fill_tiles
from separatrix.cluster.lloyd.table import Table
from separatrix.cluster.loops.assignments import center_rows
from separatrix.cluster.loops.kmeans import BATCH, Points, State, assign_rows, work_space
from separatrix.rows.block import Floats, Ints
from separatrix.threads import parallel_map, pieces

#: Rows that are worth a piece of their own.
MIN_ROWS = 1024
#: Bytes of a row's bounds, as a fraction of those of the row, in a large table.
BOUNDS_FRACTION = 0.15
#: Numbers in a large table.
LARGE = 2**25
#: Numbers of sums that are worth a thread of their own.
MIN_SUMS = 20_000


class BoundedLloyd:
    """State of the iterations: centers are relative to the mean, rows scaled to less than 2."""

    def __init__(self, table: Table, start: Floats) -> None:
        n, d = table.x.shape
        k = len(start)
        self.table, self.pieces = table, pieces(n, max(MIN_ROWS, 2 * k))
        self.mean, self.unit = table.origin_and_unit()
        max_groups = MAX_GROUPS
        if table.x.size > LARGE:
            max_groups = max(1, min(MAX_GROUPS, int(BOUNDS_FRACTION * 8 * d / 4) - 3))
        self.centers = center_layout(
            np.ascontiguousarray((start - self.mean) / self.unit), max_groups
        )
        self.groups = groups = len(self.centers.group_drift) - 1
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
        count = len(self.pieces)
        self.totals: tuple[Any, ...] = (np.zeros((k, d)), np.zeros(k), np.zeros(k, dtype=np.int64))
        self.parts: tuple[Any, ...] = (
            np.zeros((count, k, d)), np.zeros((count, k)), np.zeros((count, k), np.int64),
        )  # fmt: skip
        self.first = True

    # -- rows ----------------------------------------------------------------------------------

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

        def fill(piece: slice) -> None:
            for at, x, w in self.table.batches(piece.start, piece.stop):
                exact, single = points.exact[at], points.single[at]
                np.subtract(x, self.mean, out=exact)
                exact *= 1.0 / self.unit
                single[:] = exact
                np.einsum("ij,ij->i", single, single, out=points.square[at])
                points.weight[at] = w

        parallel_map(fill, self.pieces)
        return points

    def _collect_sums(self, changed: Sequence[int]) -> None:
        """Add the sums of some pieces to the totals, in order, and clear them."""

        def collect(clusters: slice) -> None:
            for total, part in zip(self.totals, self.parts, strict=True):
                for i in changed:
                    total[clusters] += part[i, clusters]
                    part[i, clusters] = 0

        k, d = self.totals[0].shape
        parallel_map(collect, pieces(k, MIN_SUMS // max(d * len(changed), 1)))

    # -- the two steps -------------------------------------------------------------------------

    def assign(self) -> int:
        """Assign every row to its nearest center; the number of rows that moved."""
        moved = parallel_map(self._assign_piece, range(len(self.pieces)))
        if self.first:  # there were no labels before
            self.first = False
            self._recompute_sums()
            return len(self.state.label)
        self._collect_sums(np.flatnonzero(moved).tolist())
        return sum(moved)

    def _assign_piece(self, number: int) -> int:
        start, stop = self.pieces[number].start, self.pieces[number].stop
        parts = tuple(part[number] for part in self.parts)
        if self.points is not None:
            return self._assign_rows(start, stop, self.points, self.state, parts)
        moved, own = 0, self.state
        for at, x, w in self.table.batches(start, stop):
            points = Points(
                np.empty(x.shape), np.empty(x.shape, np.float32), np.empty(len(x), np.float32), w
            )
            state = State(own.label[at], own.upper[at], own.lower[at], own.lowest[at])
            center_rows(
                x, self.mean, self.unit, state.label, state.upper, state.lowest,
                self.centers.drift, self.centers.group_drift[-1], *points[:3],
            )  # fmt: skip
            moved += self._assign_rows(0, len(x), points, state, parts)
        return moved

    def _assign_rows(self, start: int, stop: int, points: Points, state: State, parts: Any) -> int:
        """Assign the rows ``start:stop`` of ``points``; how many moved."""
        c, space = self.centers, work_space(stop - start, self.groups)
        moved, n_uncertain = assign_rows(
            start, stop, self.rounding, c.max_square, points.single, points.square, points.exact,
            points.weight, *state, c.single, c.halves, c.tiles, c.norms, c.lane_of, c.center_of,
            c.group_of, c.drift, c.group_drift, *parts, *space,
        )  # fmt: skip
        for first in range(0, n_uncertain, BATCH):
            uncertain = space[-1][first : min(first + BATCH, n_uncertain)]
            moved += self._assign_exactly(uncertain, points, state, parts)
        return int(moved)

    def _assign_exactly(self, rows: Ints, points: Points, state: State, parts: Any) -> int:
        """Assign rows in double precision, from differences; how many moved."""
        c, here = self.centers, np.arange(len(rows))
        x, w, old = points.exact[rows], points.weight[rows], state.label[rows]
        square = cdist(x, c.exact, "sqeuclidean")
        new = square.argmin(axis=1)
        distance = np.sqrt(square)
        state.label[rows] = new
        state.upper[rows] = _above(distance[here, new] * (1 + 1e-7) - c.drift[new])
        distance[here, new] = np.inf
        lowest = np.full(len(rows), np.inf)
        for g in range(self.groups):
            least = distance[:, c.group_of == g].min(axis=1, initial=np.inf) * (1 - 1e-7)
            np.minimum(lowest, least, out=lowest)
            state.lower[rows, g] = _below(least + c.group_drift[g])
        state.lowest[rows] = _below(lowest + c.group_drift[-1])
        moved = new != old
        for label, sign in ((old[moved], -1), (new[moved], 1)):
            np.add.at(parts[0], label, sign * w[moved, None] * x[moved])
            np.add.at(parts[1], label, sign * w[moved])
            np.add.at(parts[2], label, sign)
        return int(moved.sum())

    def update_centers(self) -> None:
        """Move centers to means, those of empty clusters to far rows."""
        sums, weights, count = self.totals
        for j in np.flatnonzero(count == 0):
            self._fill_empty_cluster(int(j))
        nonempty = count > 0
        new = self.centers.exact.copy()
        new[nonempty] = sums[nonempty] / weights[nonempty, None]
        self._move_centers(new)

    def recompute(self) -> float:
        """Recompute sums and means from all rows; the largest change of a center."""
        before = self.centers.exact.copy()
        self._recompute_sums()
        self.update_centers()
        moved = np.abs(before - self.centers.exact).max()
        return float(moved) if moved > 1e-15 * np.sqrt(self.centers.max_square) else 0.0

    def _recompute_sums(self) -> None:
        for total in self.totals:
            total[:] = 0
        k = len(self.totals[1])

        def add(number: int) -> None:
            parts = tuple(part[number] for part in self.parts)
            for part in parts:
                part[:] = 0
            for at, x, w in self._centered(self.pieces[number].start, self.pieces[number].stop):
                label = self.state.label[at]
                member = sparse.csr_array((w, label, np.arange(len(x) + 1)), shape=(len(x), k))
                parts[0][:] += member.T @ x
                parts[1][:] += np.bincount(label, w, minlength=k)
                parts[2][:] += np.bincount(label, minlength=k)

        everywhere = range(len(self.pieces))
        parallel_map(add, everywhere)
        self._collect_sums(everywhere)

    def _move_centers(self, new: Floats) -> None:
        old = self.centers
        steps = np.sqrt(((new - old.exact) ** 2).sum(axis=1))
        old.drift[:] += steps
        fastest = np.zeros(self.groups)
        np.maximum.at(fastest, old.group_of, steps)
        old.group_drift[:-1] += fastest
        old.group_drift[-1] += steps.max()
        fill_tiles(old, new)
        self.centers = old._replace(max_square=float((new**2).sum(axis=1).max()))

    def _fill_empty_cluster(self, j: int) -> None:
        """Move the row that adds most to the inertia to the empty cluster j."""
        loss, i = max(parallel_map(self._largest_loss, self.pieces), key=lambda found: found[0])
        if loss <= 0.0:
            return  # every row equals its center
        sums, weights, count = self.totals
        a = int(self.state.label[i])
        _, rows, w = next(self._centered(i, i + 1))
        self.state.label[i] = j
        self.state.upper[i] = np.inf
        self.state.lower[i], self.state.lowest[i] = -np.inf, -np.inf
        count[[a, j]] += (-1, 1)
        weights[a], weights[j] = weights[a] - w[0], w[0]
        sums[a] -= w[0] * rows[0]
        sums[j] = w[0] * rows[0]
        moved = self.centers.exact.copy()
        moved[j] = rows[0]
        self._move_centers(moved)

    # -- the result ----------------------------------------------------------------------------

    def _losses(self, piece: slice) -> Floats:
        """w ‖x − c‖² of rows to their own centers, in the scaled units."""
        found = []
        for at, x, w in self._centered(piece.start, piece.stop):
            step = x - self.centers.exact[self.state.label[at]]
            found.append(w * np.einsum("ij,ij->i", step, step))
        return np.concatenate(found)

    def _largest_loss(self, piece: slice) -> tuple[float, int]:
        loss = self._losses(piece)
        i = int(loss.argmax())
        return float(loss[i]), piece.start + i

    def result(self) -> tuple[Floats, Any, Floats, float]:
        """Centers, labels, weights of the clusters and the inertia, in the units of the rows."""
        losses = parallel_map(lambda piece: float(self._losses(piece).sum()), self.pieces)
        centers = self.centers.exact * self.unit + self.mean
        return centers, self.state.label, self.totals[1], sum(losses) * self.unit**2


def _above(values: Floats) -> Any:
    """Upper bounds in single precision, never rounded down."""
    return np.nextafter(values.astype(np.float32), np.float32(np.inf))


def _below(values: Floats) -> Any:
    """Lower bounds in single precision, never rounded up."""
    return np.nextafter(values.astype(np.float32), np.float32(-np.inf))
