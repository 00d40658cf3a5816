"""The steps of Lloyd iterations in memory, with bounds that skip rows which cannot move.

Rows are cut into pieces at places that depend on the table alone. Every piece has sums of its own,
which are added in order, so that results are the same bits on any number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from separatrix.cluster.lloyd.center_layout import MAX_GROUPS, center_layout, fill_tiles
from separatrix.cluster.lloyd.table import Table
from separatrix.cluster.loops.assignments import center_rows
from separatrix.cluster.loops.kmeans import BATCH, Points, State, assign_pieces
from separatrix.rows.block import Floats, Ints, unit_weights
from separatrix.threads import on_threads, parallel_map, pieces

#: Rows that are worth a piece of their own.
MIN_ROWS = 1024
#: Or numbers, if the rows are wide.
MIN_NUMBERS = 100_000
#: Bytes of a row's bounds, as a fraction of those of the row, in a large table.
BOUNDS_FRACTION = 0.15
#: Numbers in a large table.
LARGE = 2**25
#: Numbers of sums that are worth a thread of their own.
MIN_SUMS = 20_000
#: Multiplications for rows near two centers that are worth a piece of their own.
MIN_TIED = 200_000


class BoundedLloyd:
    """State of the iterations: centers are relative to the mean, rows scaled to less than 2."""

    def __init__(self, table: Table, start: Floats) -> None:
        n, d = table.x.shape
        k = len(start)
        self.table = table
        self.pieces = pieces(n, max(min(MIN_ROWS, MIN_NUMBERS // d), 2 * k))
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
        # of ½‖c‖² − x·c, and of the difference of two, relative to ‖x‖² + ‖c‖²: there are four
        # partial sums of d/4 products, numbers rounded to single precision
        self.rounding = (0.5 * d + 16) * 2.0**-24
        self.cuts = np.array([0, *(piece.stop for piece in self.pieces)])
        # of every cluster the sum, the weight and the number of its rows; of all, and by piece
        self.totals = np.zeros((k, d + 2))
        self.parts = np.zeros((len(self.pieces), k, d + 2))
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
                points.square[at] = np.einsum("ij,ij->i", exact, exact)
                points.weight[at] = w

        parallel_map(fill, self.pieces)
        return points

    def _collect_sums(self, changed: Sequence[int]) -> None:
        """Add the sums of some pieces to the totals, in order, and clear them."""

        def collect(clusters: slice) -> None:
            self.totals[clusters] += self.parts[changed, clusters].sum(axis=0)
            self.parts[changed, clusters] = 0.0

        k, d = self.totals.shape
        parallel_map(collect, pieces(k, MIN_SUMS // max(d * len(changed), 1)))

    # -- the two steps -------------------------------------------------------------------------

    def assign(self) -> int:
        """Assign every row to its nearest center; the number of rows that moved."""
        if self.points is not None:
            moved = self._assign(self.cuts, self.points, self.state, self.parts)
        else:
            moved = np.array(parallel_map(self._assign_batches, range(len(self.pieces))))
        if self.first:  # there were no labels before
            self.first = False
            self._recompute_sums()
            return len(self.state.label)
        self._collect_sums(np.flatnonzero(moved).tolist())
        return int(moved.sum())

    def _assign(self, cuts: Ints, points: Points, state: State, parts: Floats) -> Ints:
        """Assign the rows of all pieces; how many moved in each.

        There is one call of the loop for each thread, which takes pieces without the interpreter.
        """
        counter, moved = np.zeros(1, dtype=np.int64), np.zeros((len(cuts) - 1, 2), dtype=np.int64)

        def assign() -> None:
            assign_pieces(
                counter, cuts, self.rounding, self.centers.max_square, *points, *state,
                *self.centers[2:-1], parts, moved, np.empty(BATCH + 1, dtype=np.int64),
                np.empty(BATCH + 1, dtype=np.float32), np.empty(self.groups, dtype=np.float32),
            )  # fmt: skip

        on_threads(assign, len(moved))
        if moved[:, 1].any():
            moved[0, 0] += self._assign_tied(points, state, parts[0])
        return moved[:, 0]

    def _assign_tied(self, points: Points, state: State, part: Floats) -> int:
        """Assign the rows that single precision does not decide; how many moved.

        Distances are from differences; of equally near centers the first is taken.
        """
        from scipy.spatial.distance import cdist  # slow to import

        centers, rows = self.centers, np.flatnonzero(np.isinf(state.upper))
        nearest = np.empty(len(rows), dtype=np.int64)

        def assign(some: slice) -> None:
            at, here = rows[some], np.arange(some.stop - some.start)
            squares = cdist(points.exact[at], centers.exact, "sqeuclidean")
            best = nearest[some] = squares.argmin(axis=1)
            away = np.sqrt(squares[here, best]) * (1.0 + 1e-7)
            squares[here, best] = np.inf
            least = [squares[:, centers.group_of == g].min(axis=1) for g in range(self.groups)]
            bounds = np.sqrt(least) * (1.0 - 1e-7)
            state.upper[at] = _up(away - centers.drift[best])
            state.lower[at] = _down(bounds.T + centers.group_drift[:-1])
            state.lowest[at] = _down(bounds.min(axis=0) + centers.group_drift[-1])

        parallel_map(assign, pieces(len(rows), MIN_TIED // centers.exact.size + 1))
        changed = np.flatnonzero(state.label[rows] != nearest)
        at, new = rows[changed], nearest[changed]
        w = points.weight[at, None]
        moved = np.hstack([w * points.exact[at], w, np.ones((len(at), 1))])
        part -= _cluster_sums(moved, state.label[at], len(part))
        part += _cluster_sums(moved, new, len(part))
        state.label[at] = new
        return len(at)

    def _assign_batches(self, number: int) -> int:
        """Assign the rows of a piece, which are centered a batch at a time; how many moved."""
        total, own = 0, self.state
        for at, x, w in self.table.batches(self.cuts[number], self.cuts[number + 1]):
            points = Points(
                np.empty(x.shape), np.empty(x.shape, np.float32), np.empty(len(x), np.float32), w
            )
            state = State(own.label[at], own.upper[at], own.lower[at], own.lowest[at])
            center_rows(
                x, self.mean, self.unit, state.label, state.upper, state.lowest,
                self.centers.drift, self.centers.group_drift[-1], *points[:3],
            )  # fmt: skip
            part = self.parts[number : number + 1]
            total += int(self._assign(np.array([0, len(x)]), points, state, part)[0])
        return total

    def update_centers(self) -> None:
        """Move centers to means, those of empty clusters to far rows."""
        for j in np.flatnonzero(self.totals[:, -1] == 0):
            self._fill_empty_cluster(int(j))
        nonempty = self.totals[:, -1] > 0
        new = self.centers.exact.copy()
        new[nonempty] = self.totals[nonempty, :-2] / self.totals[nonempty, -2, None]
        self._move_centers(new)

    def recompute(self) -> float:
        """Recompute sums and means from all rows; the largest change of a center."""
        before = self.centers.exact.copy()
        self._recompute_sums()
        self.update_centers()
        moved = np.abs(before - self.centers.exact).max()
        return float(moved) if moved > 1e-14 * np.sqrt(self.centers.max_square) else 0.0

    def _recompute_sums(self) -> None:
        self.totals[:] = 0.0
        k = len(self.totals)

        def add(number: int) -> None:
            part = self.parts[number]
            part[:] = 0.0
            for at, x, w in self._centered(self.pieces[number].start, self.pieces[number].stop):
                label = self.state.label[at]
                part[:, :-2] += _cluster_sums(x, label, k, w)
                part[:, -2] += np.bincount(label, w, minlength=k)
                part[:, -1] += np.bincount(label, minlength=k)

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
        a = int(self.state.label[i])
        _, rows, w = next(self._centered(i, i + 1))
        self.state.label[i] = j
        self.state.upper[i] = np.inf
        self.state.lower[i], self.state.lowest[i] = -np.inf, -np.inf
        self.totals[j] = np.r_[w[0] * rows[0], w[0], 1.0]
        self.totals[a] -= self.totals[j]
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
        return centers, self.state.label, self.totals[:, -2].copy(), sum(losses) * self.unit**2


def _cluster_sums(x: Floats, label: NDArray[Any], k: int, w: Floats | None = None) -> Floats:
    """Σ w x over the rows of every cluster."""
    member = (unit_weights(w, len(x)), label, np.arange(len(x) + 1))
    return np.asarray(sparse.csr_array(member, shape=(len(x), k)).T @ x)


def _up(bound: Floats) -> Floats:
    """Upper bounds that stay such in single precision."""
    return bound + 1.2e-7 * np.abs(bound)


def _down(bound: Floats) -> Floats:
    """Lower bounds that stay such in single precision."""
    return np.where(bound < np.inf, bound - 1.2e-7 * np.abs(bound), np.inf)
