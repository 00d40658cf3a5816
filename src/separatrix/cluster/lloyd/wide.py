"""The steps of Lloyd iterations of wide rows in memory: products of BLAS in single precision.

Rows are read where they lie; of every row there are a centered copy in single precision, its norm,
a label, an upper bound of the distance to its own center and a lower bound of that to any other.
While the first is below the second the row keeps its center (Hamerly 2010). Of the other rows all
distances are from products, with a bound of their rounding errors; what that leaves open is decided
in double precision.

Work is cut at places that depend on the table alone, and partial sums are added in order, so that
results are the same bits on any number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.cluster.lloyd.nearest import membership, nearest_of_centered
from separatrix.cluster.lloyd.table import Table
from separatrix.cluster.loops.assignments import nearest_and_gain
from separatrix.rows.block import Floats, Ints, unit_weights
from separatrix.threads import MIN_PIECES, parallel_map, pieces

#: Columns from which the products of BLAS are faster than bounds of groups of centers.
MIN_COLUMNS = 128
#: Numbers that are worth a piece of their own.
MIN_NUMBERS = 100_000
#: Columns of a product in single precision; the products of more are added in double.
MAX_COLUMNS = 1536
#: Numbers in the largest table of which there is a copy in single precision.
MAX_COPIED = 2**28
#: Least number near which rows are not scaled.
MIN_UNIT = 2.0**-20
#: Inertia over the scatter about the mean below which products would lose digits.
MIN_FRACTION = 1e-3


class WideLloyd:
    """State of the iterations: rows and centers are relative to the mean, and scaled if need be."""

    def __init__(self, table: Table, start: Floats) -> None:
        n, d = table.x.shape
        self.table = table
        self.pieces = pieces(n, MIN_NUMBERS // d)
        self.mean, unit = table.origin_and_unit()
        # single precision holds the squares of most tables as they are
        self.unit = 1.0 if MIN_UNIT <= unit <= 1.0 / MIN_UNIT else unit
        self.weight, self.square = unit_weights(table.w, n), np.empty(n)
        self.single = np.empty((n, d) if n * d <= MAX_COPIED else (0, d), dtype=np.float32)
        parallel_map(self._copy, self.pieces)
        self.label = np.full(n, -1, dtype=np.int32)
        self.upper, self.lower = np.full(n, np.inf), np.zeros(n)
        # a transform takes whole rows
        self.columns = pieces(d, MAX_COLUMNS, 1 if table.transform else 16)
        self.totals = np.zeros((len(start), d))
        # of a product, relative to the norms: those of its sums, and of the two numbers
        self.rounding = (min(d, MAX_COLUMNS) + 4) * 2.0**-24
        self._set_centers((start - self.mean) / self.unit)

    # -- rows ----------------------------------------------------------------------------------

    def _cuts(self, n: int, smallest: int = 1) -> list[slice]:
        """Cuts of ``n`` rows, which with those of the columns make about ``MIN_PIECES`` pieces."""
        width = self.table.x.shape[1] // len(self.columns)
        return pieces(n, max(MIN_NUMBERS // width, smallest), MIN_PIECES // len(self.columns))

    def _centered(self, rows: Any, columns: slice = slice(None)) -> Floats:
        """Some rows (a slice or positions) in double precision, relative to the mean."""
        x = self.table.x[:, columns][rows]
        if self.table.transform is not None:
            x = self.table.transform(self.table.x[rows])[:, columns]
        z: Floats = x - self.mean[columns]
        if self.unit != 1.0:
            z *= 1.0 / self.unit  # a power of two
        return z

    def _copy(self, piece: slice) -> None:
        """Norms and single precision of the rows of a piece."""
        step = self.table.batch_rows
        for first in range(piece.start, piece.stop, step):
            at = slice(first, min(first + step, piece.stop))
            z = self._centered(at)
            np.einsum("ij,ij->i", z, z, out=self.square[at])
            if len(self.single):
                self.single[at] = z

    # -- the two steps -------------------------------------------------------------------------

    def assign(self) -> int:
        """Assign every row to its nearest center; the number of rows that moved."""
        n, first = len(self.label), bool(self.label[0] < 0)
        rows: Any = np.flatnonzero(self.upper >= self.lower)
        if 2 * len(rows) > n:
            rows = np.arange(n)
        label, near, margin = self._nearest(rows)
        # of the difference of two squared distances
        error = 4.0 * (self.rounding * np.sqrt(self.square[rows] * self.norms.max()) + self.tiny)
        tied = np.flatnonzero(margin <= error)
        label[tied], near[tied], margin[tied], error[tied] = self._nearest_exact(rows[tied])
        self.upper[rows] = np.sqrt(near + error) * (1.0 + 1e-12)
        self.lower[rows] = np.sqrt(np.maximum(near + margin - error, 0.0)) * (1.0 - 1e-12)
        before = self.label[rows]
        self.label[rows] = label
        moved = np.flatnonzero(before != label)
        if first:  # there were no labels before
            self._recompute_sums()
        elif len(moved):
            clusters = np.stack([label[moved], before[moved]], axis=1)
            signs = self.weight[rows[moved], None] * [1.0, -1.0]
            self.totals += self._cluster_sums(rows[moved], clusters, signs)
        return len(moved)

    def _nearest(self, rows: Ints) -> tuple[NDArray[np.int32], Floats, Floats]:
        """Label, squared distance and margin of some rows, from products in single precision."""
        everywhere, k = len(rows) == len(self.label), len(self.centers)
        weight, no_weights = np.ones(len(rows)), np.full(k, np.inf)
        label, square = np.empty(len(rows), dtype=np.int32), self.square[rows]
        near, margin, gain = (np.empty(len(rows)) for _ in range(3))
        products = np.zeros((len(self.columns), len(rows), k))

        def multiply(cut: tuple[slice, int]) -> None:
            at, columns, out = cut[0], self.columns[cut[1]], products[cut[1], cut[0]]
            some: Any = at if everywhere else rows[at]  # a view of all rows
            if len(self.single):
                z = self.single[:, columns][some]
            else:
                z = self._centered(some, columns).astype(np.float32)
            centers = self.single_centers[columns]
            for first in range(0, len(centers), MAX_COLUMNS):
                part = slice(first, first + MAX_COLUMNS)
                out += z[:, part] @ centers[part]

        def compare(at: slice) -> None:
            product = products[:, at].sum(axis=0) if len(products) > 1 else products[0, at]
            nearest_and_gain(
                product, square[at], self.norms, no_weights, weight[at], label[at], near[at],
                margin[at], gain[at],
            )  # fmt: skip

        cuts = self._cuts(len(rows))
        parallel_map(multiply, [(at, part) for at in cuts for part in range(len(self.columns))])
        parallel_map(compare, pieces(len(rows), MIN_NUMBERS // (4 * k)))
        return label, near, margin

    def _nearest_exact(self, rows: Ints) -> tuple[Any, ...]:
        """Label, squared distance, margin and a bound of the errors, in double precision."""

        def nearest(at: slice) -> tuple[Any, ...]:
            z, own, w = self._centered(rows[at]), self.square[rows[at]], self.weight[rows[at]]
            label, near, _, margin, error = nearest_of_centered(z, own, self.centers, self.norms, w)
            return label, near, margin, error

        found = parallel_map(nearest, pieces(len(rows), MIN_NUMBERS // self.table.x.shape[1]))
        return tuple(np.concatenate(part) for part in zip(*found, strict=True))

    def update_centers(self) -> None:
        """Move centers to means, those of empty clusters to far rows."""
        self._fill_empty_clusters()
        weights = self._cluster_weights()
        new, nonempty = self.centers.copy(), weights > 0
        new[nonempty] = self.totals[nonempty] / weights[nonempty, None]
        self._move_centers(new)

    def recompute(self) -> float:
        """Recompute sums and means from all rows; the largest change of a center."""
        before = self.centers
        self._recompute_sums()
        self.update_centers()
        moved = np.abs(before - self.centers).max()
        return float(moved) if moved > 1e-14 * np.sqrt(self.norms.max()) else 0.0

    def _recompute_sums(self) -> None:
        self.totals = self._cluster_sums(None, self.label[:, None], self.weight[:, None])

    def _cluster_weights(self) -> Floats:
        return np.asarray(np.bincount(self.label, self.weight, minlength=len(self.centers)))

    def _cluster_sums(self, rows: Ints | None, clusters: NDArray[Any], w: Floats) -> Floats:
        """Σ w x of every cluster; all rows if None. A row may count in several clusters."""
        k = len(self.centers)
        step = max(16, MIN_NUMBERS // self.columns[-1].stop * len(self.columns))
        cuts = self._cuts(len(clusters), 2 * k)

        def add(cut: tuple[slice, slice]) -> Floats:
            total = np.zeros((k, cut[1].stop - cut[1].start))
            for first in range(cut[0].start, cut[0].stop, step):
                at = slice(first, min(first + step, cut[0].stop))
                x = self._centered(at if rows is None else rows[at], cut[1])
                total += membership(clusters[at], w[at], k) @ x
            return total

        found = parallel_map(add, [(at, part) for part in self.columns for at in cuts])
        by_column = [found[i : i + len(cuts)] for i in range(0, len(found), len(cuts))]
        return np.hstack([np.sum(parts, axis=0) for parts in by_column])

    def _set_centers(self, centers: Floats) -> None:
        self.centers = np.ascontiguousarray(centers)
        self.norms = np.einsum("ij,ij->i", centers, centers)
        self.single_centers = np.ascontiguousarray(centers.T, dtype=np.float32)
        # numbers that single precision cannot hold are lost
        self.tiny = centers.shape[1] * 2.0**-126 * max(1.0, float(np.abs(centers).max()))

    def _move_centers(self, new: Floats) -> None:
        """Bounds after the centers have moved: of the others, the fastest counts."""
        steps = np.sqrt(((new - self.centers) ** 2).sum(axis=1)) * (1.0 + 1e-12)
        fastest = int(steps.argmax())
        others = np.full(len(steps), steps[fastest])
        others[fastest] = np.delete(steps, fastest).max(initial=0.0)
        self.upper += steps[self.label]
        self.lower -= others[self.label]
        self._set_centers(new)

    def _fill_empty_clusters(self) -> None:
        """Every empty cluster gets the row that adds most to the inertia."""
        count = np.bincount(self.label, minlength=len(self.centers))
        empty = np.flatnonzero(count == 0)
        if not len(empty):
            return
        losses = np.concatenate(parallel_map(self._losses, self.pieces))
        for j in empty:
            losses[count[self.label] == 1] = 0.0
            i = int(losses.argmax())
            if losses[i] <= 0.0:
                return  # every row equals its center
            row = self.weight[i] * self._centered(slice(i, i + 1))[0]
            self.totals[self.label[i]] -= row
            self.totals[j] = row
            count[self.label[i]] -= 1
            self.label[i], count[j], losses[i] = j, 1, 0.0
            self.upper[i], self.lower[i] = np.inf, 0.0

    # -- the result ----------------------------------------------------------------------------

    def _losses(self, piece: slice) -> Floats:
        """w ‖x − c‖² of rows to their own centers, in the scaled units, from differences."""
        step = self._centered(piece)
        step -= self.centers[self.label[piece]]
        return np.asarray(self.weight[piece] * np.einsum("ij,ij->i", step, step))

    def _inertia(self) -> float:
        """Σ w ‖x − c‖², from the sums of the clusters where no digits are lost."""
        scatter, weights = float(self.weight @ self.square), self._cluster_weights()
        products = np.einsum("ij,ij->i", self.centers, self.totals)
        inertia = scatter + float((weights * self.norms - 2.0 * products).sum())
        if inertia > MIN_FRACTION * scatter:
            return inertia
        return sum(parallel_map(lambda piece: float(self._losses(piece).sum()), self.pieces))

    def result(self) -> tuple[Floats, Any, Floats, float]:
        """Centers, labels, weights of the clusters and the inertia, in the units of the rows."""
        centers = self.centers * self.unit + self.mean
        return centers, self.label, self._cluster_weights(), self._inertia() * self.unit**2
