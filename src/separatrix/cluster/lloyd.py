"""K-means in memory by Lloyd iterations.

    minimize Σᵢ wᵢ ‖xᵢ − c_{label(i)}‖²

An iteration assigns every row to its nearest center and moves every center to the mean of its rows.
Neither step can raise the inertia, and there are finitely many partitions, so the iterations end,
in a local optimum. Sums are updated by the rows that moved, and recomputed from all rows before the
end, so that no rounding errors accumulate in the means.

Rows of a large table are read where they lie, and centered batch by batch: memory holds the table
once, and of every row a label and the bounds of its distances. Those of others are centered once.
Of wide rows there is a centered copy in single precision, up to a size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.cluster import loops
from separatrix.messages import InputError
from separatrix.rows.schema import Block, unit_weights
from separatrix.statistics.moments import Moments, Standardizer, not_finite, zero_if_constant
from separatrix.threads import (
    MIN_PIECES,
    PIECE_NUMBERS,
    on_threads,
    one_blas_thread,
    parallel_map,
    pieces,
)

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
    origin: tuple[Floats, float] | None = None,
) -> LloydResult:
    """Lloyd iterations from the centers ``start`` (k x d) until no row moves, or no center.

    Weights must be positive; None is one for every row. Rows are taken through ``transform``
    whenever they are read. ``origin`` is what is known of :meth:`LloydRows.origin_and_unit`.
    """
    if x.size * len(start) <= SMALL:
        return _small(x if transform is None else transform(x), w, start, max_iter)

    iterations, converged = 0, False
    with one_blas_thread():  # set once, not by every step
        # Columns from which the products of BLAS are faster than bounds of groups of centers.
        kind = WideLloyd if x.shape[1] >= 128 else BoundedLloyd
        state = kind(LloydRows(x, w, transform, origin), start)
        while iterations < max_iter and not converged:
            iterations += 1
            moved, step = state.assign(), state.update_centers()
            converged = (not moved or step == 0.0) and state.recompute() == 0.0
        if not converged:
            state.assign()
        return LloydResult(*state.result(), iterations, converged)


def _small(x: Floats, w: Floats | None, start: Floats, max_iter: int) -> LloydResult:
    """The same iterations with every distance, in one compiled loop but for empty clusters."""
    mean, unit = LloydRows(x, w).origin_and_unit()
    z = np.ascontiguousarray((x - mean) / unit)
    (n, d), k, tile = z.shape, len(start), loops.TILE
    centers, label, weight = (start - mean) / unit, np.full(n, -1, np.int32), unit_weights(w, n)
    totals = Totals(np.empty(k), np.empty((k, d)), np.empty(k, np.int64))
    work = (np.empty(n), np.empty(tile, np.int32), np.empty(tile), np.empty(tile))
    by_column = np.ascontiguousarray(z.T)
    iterations, converged = 0, False
    while not converged:
        n_done, moved = loops.lloyd(
            z, by_column, weight, centers, max_iter - iterations, label, *totals, *work
        )
        iterations += n_done
        if iterations == max_iter:
            break
        iterations += 1
        moved += _fill_empty_clusters(z, weight, label, work[0], totals)
        converged = moved == 0
        if not converged:
            some, before = totals.counts > 0, centers.copy()
            centers[some] = totals.sums[some] / totals.weight[some, None]
            converged = bool(
                np.abs(centers - before).max() <= loops.UNMOVED * np.abs(centers).max()
            )
    inertia = float((weight * work[0]).sum()) * unit**2
    return LloydResult(centers * unit + mean, label, totals.weight, inertia, iterations, converged)


class Totals(NamedTuple):
    """Weights, weighted sums of rows, and numbers of rows of the clusters."""

    weight: Floats
    sums: Floats
    counts: NDArray[np.int64]


def _fill_empty_clusters(
    z: Floats, weight: Floats, label: NDArray[np.int32], squares: Floats, totals: Totals
) -> int:
    """Every empty cluster gets the row that adds most to the inertia; how many were filled."""
    filled = 0
    for j in np.flatnonzero(totals.counts == 0):
        loss = np.where(totals.counts[label] > 1, weight * squares, 0.0)
        far = int(loss.argmax())
        if loss[far] > 0.0:  # else every row equals its center
            a, row = label[far], weight[far] * z[far]
            label[far], squares[far] = j, 0.0
            for total, change in zip(totals, (weight[far], row, 1), strict=True):
                total[a] -= change
                total[j] = change
            filled += 1
    return filled


def first_best(runs: list[LloydResult]) -> LloydResult:
    """The first of least inertia; runs that differ by rounding alone are equally good."""
    least = min(run.inertia for run in runs)
    return next(run for run in runs if run.inertia <= least * (1.0 + 1e-12))


# -------------------------------------------------------------------------------------------------
# The steps of Lloyd iterations in memory, with bounds that skip rows which cannot move.
#
# Rows are cut into pieces at places that depend on the table alone. Every piece has sums of its
# own, which are added in order, so that results are the same bits on any number of threads.


#: Rows that are worth a piece of their own.
MIN_ROWS = 1024
#: Numbers in a large table: it is not copied, and initial centers are drawn from a sample of it.
LARGE = 2**25


class BoundedLloyd:
    """State of the iterations: centers are relative to the mean, rows scaled to less than 2."""

    def __init__(self, table: LloydRows, start: Floats) -> None:
        n, d = table.x.shape
        k = len(start)
        self.table = table
        self.pieces = pieces(n, max(min(MIN_ROWS, PIECE_NUMBERS // d), 2 * k))
        self.mean, self.unit = table.origin_and_unit()
        max_groups = 16  # groups of centers with a lower bound each
        if table.x.size > LARGE:
            # Bytes of a row's bounds, as a fraction of those of the row, in a large table.
            max_groups = max(1, min(max_groups, int(0.15 * 8 * d / 4) - 3))
        self.centers = center_layout(
            np.ascontiguousarray((start - self.mean) / self.unit), max_groups
        )
        self.groups = groups = len(self.centers.group_drift) - 1
        lower = np.full((n, groups), -np.inf, dtype=np.float32)
        self.state = loops.KMeansState(
            np.zeros(n, dtype=np.int32),
            np.full(n, np.inf, dtype=np.float32),
            lower,
            # the bound of a single group is that of all centers
            lower[:, 0] if groups == 1 else np.full(n, -np.inf, dtype=np.float32),
        )
        self.points = None if table.x.size > LARGE else self._center_all()
        # of ½‖c‖² − x·c, and of the difference of two, relative to ‖x‖² + ‖c‖²: there are four
        # partial sums of d/4 products, numbers rounded to single precision
        self.rounding = (0.5 * d + 16) * 2.0**-24
        self.cuts = np.array([0, *(piece.stop for piece in self.pieces)])
        # of every cluster the sum, the weight and the number of its rows; of all, and by piece
        self.totals = np.zeros((k, d + 2))
        self.parts = np.zeros((len(self.pieces), k, d + 2))
        self.first = True

    # -- rows ----------------------------------------------------------------------------------

    def _center_rows(self, start: int, stop: int) -> Iterator[tuple[slice, Floats, Floats]]:
        """(positions, rows, weights) of the rows ``start:stop``, a batch at a time."""
        if self.points is not None:
            yield slice(start, stop), self.points.exact[start:stop], self.points.weight[start:stop]
            return
        for at, x, w in self.table.batches(start, stop):
            yield at, (x - self.mean) / self.unit, w

    def _center_all(self) -> loops.KMeansRows:
        """All rows, laid out for the loops."""
        n, d = self.table.x.shape
        points = loops.KMeansRows(
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
        # Numbers of sums that are worth a thread of their own.
        parallel_map(collect, pieces(k, 20_000 // max(d * len(changed), 1)))

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

    def _assign(
        self, cuts: Ints, points: loops.KMeansRows, state: loops.KMeansState, parts: Floats
    ) -> Ints:
        """Assign the rows of all pieces; how many moved in each.

        There is one call of the loop for each thread, which takes pieces without the interpreter.
        """
        counter, moved = np.zeros(1, dtype=np.int64), np.zeros((len(cuts) - 1, 2), dtype=np.int64)

        def assign() -> None:
            loops.assign_pieces(
                counter, cuts, self.rounding, self.centers.max_square, *points, *state,
                *self.centers[2:-1], parts, moved, np.empty(loops.BATCH + 1, dtype=np.int64),
                np.empty(loops.BATCH + 1, dtype=np.float32),
                np.empty(self.groups, dtype=np.float32),
            )  # fmt: skip

        on_threads(assign, len(moved))
        if moved[:, 1].any():
            moved[0, 0] += self._assign_tied(points, state, parts[0])
        return moved[:, 0]

    def _assign_tied(self, points: loops.KMeansRows, state: loops.KMeansState, part: Floats) -> int:
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

        # Multiplications for rows near two centers that are worth a piece of their own.
        parallel_map(assign, pieces(len(rows), 200_000 // centers.exact.size + 1))
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
            points = loops.KMeansRows(
                np.empty(x.shape), np.empty(x.shape, np.float32), np.empty(len(x), np.float32), w
            )
            state = loops.KMeansState(own.label[at], own.upper[at], own.lower[at], own.lowest[at])
            loops.center_rows(
                x, self.mean, self.unit, state.label, state.upper, state.lowest,
                self.centers.drift, self.centers.group_drift[-1], *points[:3],
            )  # fmt: skip
            part = self.parts[number : number + 1]
            total += int(self._assign(np.array([0, len(x)]), points, state, part)[0])
        return total

    def update_centers(self) -> float:
        """Move centers to means, those of empty clusters to far rows; the largest change."""
        before = self.centers.exact.copy()
        for j in np.flatnonzero(self.totals[:, -1] == 0):
            self._fill_empty_cluster(int(j))
        nonempty = self.totals[:, -1] > 0
        new = self.centers.exact.copy()
        new[nonempty] = self.totals[nonempty, :-2] / self.totals[nonempty, -2, None]
        self._move_centers(new)
        moved = np.abs(before - new).max()
        return float(moved) if moved > loops.UNMOVED * np.sqrt(self.centers.max_square) else 0.0

    def recompute(self) -> float:
        """Recompute sums and means from all rows; the largest change of a center."""
        self._recompute_sums()
        return self.update_centers()

    def _recompute_sums(self) -> None:
        self.totals[:] = 0.0
        k = len(self.totals)

        def add(number: int) -> None:
            part = self.parts[number]
            part[:] = 0.0
            for at, x, w in self._center_rows(self.pieces[number].start, self.pieces[number].stop):
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
        loss, i = max(
            parallel_map(self._largest_loss, self.pieces), key=lambda farthest: farthest[0]
        )
        if loss <= 0.0:
            return  # every row equals its center
        a = int(self.state.label[i])
        _, rows, w = next(self._center_rows(i, i + 1))
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
        losses = []
        for at, x, w in self._center_rows(piece.start, piece.stop):
            step = x - self.centers.exact[self.state.label[at]]
            losses.append(w * np.einsum("ij,ij->i", step, step))
        return np.concatenate(losses)

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


# -------------------------------------------------------------------------------------------------
# Centers of K-means laid out for the search: in groups of near ones, sixteen to a tile.


def center_layout(centers: Floats, max_groups: int) -> loops.Centers:
    """Centers in groups of near ones, each group an integral number of tiles."""
    k, d = centers.shape
    wanted = -(-k // loops.LANES)
    per_group = -(-wanted // max_groups)
    groups = -(-wanted // per_group)
    lanes = groups * per_group * loops.LANES
    order = proximity_order(centers, np.arange(k), per_group * loops.LANES)
    lane_of, center_of = np.zeros(k, dtype=np.int64), np.zeros(lanes, dtype=np.int64)
    lane_of[order] = np.arange(k)
    center_of[:k] = order
    tiles = np.zeros((lanes // loops.LANES, d + 1, loops.LANES), dtype=np.float32)
    tiles[:, d] = np.inf
    layout = loops.Centers(
        np.zeros((k, d)),
        lane_of // (per_group * loops.LANES),
        np.zeros((k, d + 1), dtype=np.float32),
        tiles,
        lane_of,
        center_of,
        np.zeros(k),
        np.zeros(groups + 1),
        float((centers**2).sum(axis=1).max()),
    )
    fill_tiles(layout, centers)
    return layout


def fill_tiles(layout: loops.Centers, centers: Floats) -> None:
    """Write the centers into their lanes."""
    layout.exact[:] = layout.single[:, :-1] = centers
    layout.single[:, -1] = 0.5 * (centers**2).sum(axis=1)
    tile, lane = np.divmod(layout.lane_of, loops.LANES)
    layout.tiles[tile, :, lane] = layout.single


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


# -------------------------------------------------------------------------------------------------
# The steps of Lloyd iterations of wide rows in memory: products of BLAS in single precision.
#
# Rows are read where they lie; of every row there are a centered copy in single precision, its
# norm, a label, an upper bound of the distance to its own center and a lower bound of that to any
# other. While the first is below the second the row keeps its center (Hamerly 2010). Of the other
# rows all distances are from products, with a bound of their rounding errors; what that leaves open
# is decided in double precision.
#
# Work is cut at places that depend on the table alone, and partial sums are added in order, so that
# results are the same bits on any number of threads.


#: Columns of a product in single precision; the products of more are added in double.
MAX_COLUMNS = 1536
#: Numbers in the largest table of which there is a copy in single precision.
MAX_COPIED = 2**28
#: Inertia over the scatter about the mean below which products would lose digits.
MIN_FRACTION = 1e-3


class WideLloyd:
    """State of the iterations: rows and centers are relative to the mean, and scaled if need be."""

    def __init__(self, table: LloydRows, start: Floats) -> None:
        n, d = table.x.shape
        self.table = table
        self.pieces = pieces(n, PIECE_NUMBERS // d)
        self.mean, unit = table.origin_and_unit()
        # single precision holds the squares of most tables as they are
        min_unit = 2.0**-20  # least number near which rows are not scaled
        self.unit = 1.0 if min_unit <= unit <= 1.0 / min_unit else unit
        self.weight, self.square = unit_weights(table.w, n), np.empty(n)
        self.single = np.empty((n, d) if n * d <= MAX_COPIED else (0, d), dtype=np.float32)
        parallel_map(self._copy, self.pieces)
        self.label = np.full(n, -1, dtype=np.int32)
        self.upper, self.lower = np.full(n, np.inf), np.zeros(n)
        # a transform takes whole rows
        self.columns = pieces(d, MAX_COLUMNS, 1 if table.transform else 16)
        self.totals = np.zeros((len(start), d))
        self.added_up = False  # whether the sums are those of one pass over all rows
        # of a product, relative to the norms: those of its sums, and of the two numbers
        self.rounding = (min(d, MAX_COLUMNS) + 4) * 2.0**-24
        self._set_centers((start - self.mean) / self.unit)

    # -- rows ----------------------------------------------------------------------------------

    def _cuts(self, n: int, smallest: int = 1) -> list[slice]:
        """Cuts of ``n`` rows, which with those of the columns make about ``MIN_PIECES`` pieces."""
        width = self.table.x.shape[1] // len(self.columns)
        return pieces(n, max(PIECE_NUMBERS // width, smallest), MIN_PIECES // len(self.columns))

    def _center_rows(self, rows: Any, columns: slice = slice(None)) -> Floats:
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
            z = self._center_rows(at)
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
            self.added_up = False
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
                z = self._center_rows(some, columns).astype(np.float32)
            centers = self.single_centers[columns]
            for first in range(0, len(centers), MAX_COLUMNS):
                part = slice(first, first + MAX_COLUMNS)
                out += z[:, part] @ centers[part]

        def compare(rows: slice) -> None:
            product = products[:, rows].sum(axis=0) if len(products) > 1 else products[0, rows]
            loops.nearest_and_gain(
                product, square[rows], self.norms, no_weights, weight[rows], label[rows],
                near[rows],
                margin[rows], gain[rows],
            )  # fmt: skip

        cuts = self._cuts(len(rows))
        parallel_map(multiply, [(at, part) for at in cuts for part in range(len(self.columns))])
        parallel_map(compare, pieces(len(rows), PIECE_NUMBERS // (4 * k)))
        return label, near, margin

    def _nearest_exact(self, rows: Ints) -> tuple[Any, ...]:
        """Label, squared distance, margin and a bound of the errors, in double precision."""

        def nearest(at: slice) -> tuple[Any, ...]:
            z, squares, w = (
                self._center_rows(rows[at]),
                self.square[rows[at]],
                self.weight[rows[at]],
            )
            label, near, _, margin, error = nearest_of_centered(
                z, squares, self.centers, self.norms, w
            )
            return label, near, margin, error

        found = parallel_map(nearest, pieces(len(rows), PIECE_NUMBERS // self.table.x.shape[1]))
        return tuple(np.concatenate(part) for part in zip(*found, strict=True))

    def update_centers(self) -> float:
        """Move centers to means, those of empty clusters to far rows; the largest change."""
        before = self.centers
        self._fill_empty_clusters()
        weights = self._cluster_weights()
        new, nonempty = self.centers.copy(), weights > 0
        new[nonempty] = self.totals[nonempty] / weights[nonempty, None]
        self._move_centers(new)
        moved = np.abs(before - new).max()
        return float(moved) if moved > loops.UNMOVED * np.sqrt(self.norms.max()) else 0.0

    def recompute(self) -> float:
        """Recompute sums and means from all rows; the largest change of a center.

        Sums that no row has left or joined since they were computed are those of all rows.
        """
        if self.added_up:
            return 0.0
        self._recompute_sums()
        return self.update_centers()

    def _recompute_sums(self) -> None:
        self.totals = self._cluster_sums(None, self.label[:, None], self.weight[:, None])
        self.added_up = True

    def _cluster_weights(self) -> Floats:
        return np.asarray(np.bincount(self.label, self.weight, minlength=len(self.centers)))

    def _cluster_sums(self, rows: Ints | None, clusters: NDArray[Any], w: Floats) -> Floats:
        """Σ w x of every cluster; all rows if None. A row may count in several clusters."""
        k = len(self.centers)
        step = max(16, PIECE_NUMBERS // self.columns[-1].stop * len(self.columns))
        cuts = self._cuts(len(clusters), 2 * k)

        def add(cut: tuple[slice, slice]) -> Floats:
            total = np.zeros((k, cut[1].stop - cut[1].start))
            for first in range(cut[0].start, cut[0].stop, step):
                at = slice(first, min(first + step, cut[0].stop))
                x = self._center_rows(at if rows is None else rows[at], cut[1])
                total += membership(clusters[at], w[at], k) @ x
            return total

        sums = parallel_map(add, [(at, part) for part in self.columns for at in cuts])
        by_column = [sums[i : i + len(cuts)] for i in range(0, len(sums), len(cuts))]
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
            row = self.weight[i] * self._center_rows(slice(i, i + 1))[0]
            self.totals[self.label[i]] -= row
            self.totals[j] = row
            count[self.label[i]] -= 1
            self.label[i], count[j], losses[i] = j, 1, 0.0
            self.added_up = False
            self.upper[i], self.lower[i] = np.inf, 0.0

    # -- the result ----------------------------------------------------------------------------

    def _losses(self, piece: slice) -> Floats:
        """w ‖x − c‖² of rows to their own centers, in the scaled units, from differences."""
        step = self._center_rows(piece)
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


# -------------------------------------------------------------------------------------------------
# The nearest center of every row from products, with what rounding leaves open.


def nearest_centers(x: Floats, centers: Floats) -> tuple[NDArray[np.int32], Floats]:
    """Label and squared distance of every row; products are taken about the mean of the centers."""
    origin = centers.mean(axis=0)
    z, c = np.ascontiguousarray(x - origin), np.ascontiguousarray(centers - origin)
    label, square, _ = nearest_and_gains(z, c, np.ones(len(z)))
    return label, square


def nearest_and_gains(
    z: Floats, centers: Floats, w: Floats, known: Floats | None = None
) -> tuple[NDArray[np.int32], Floats, Floats]:
    """Label, squared distance and gain (see :func:`nearest_and_gain`) of every row.

    Rows and centers are relative to an origin near them. Where rounding could decide, distances are
    computed from differences, and the first of equally near centers is taken.
    """
    squares, norms = np.einsum("ij,ij->i", z, z), np.einsum("ij,ij->i", centers, centers)
    label, square, gain, _, noise = nearest_of_centered(z, squares, centers, norms, w, known)
    gain[gain <= 2.0 * noise * w] = 0.0  # below the error of products
    near = np.flatnonzero(square <= MIN_FRACTION * (squares + norms.max()))
    if len(near):
        step = z[near] - centers[label[near]]
        square[near] = np.einsum("ij,ij->i", step, step)
    return label, square, gain


def membership(clusters: NDArray[Any], w: Floats, k: int) -> Any:
    """The matrix (k x n) whose product with rows is Σ w x of every cluster.

    Row i counts in the clusters ``clusters[i]`` with the weights ``w[i]``.
    """
    n, each = clusters.shape
    if k <= 32:  # clusters up to which sums by BLAS are faster than those of a sparse matrix
        members = np.zeros((k, n))
        members[clusters, np.arange(n)[:, None]] = w
        return members
    entries = (w.ravel(), clusters.ravel(), np.arange(n + 1) * each)
    return sparse.csc_array(entries, shape=(k, n))


def nearest_of_centered(
    z: Floats,
    squares: Floats,
    centers: Floats,
    norms: Floats,
    w: Floats,
    known: Floats | None = None,
) -> tuple[NDArray[np.int32], Floats, Floats, Floats, Floats]:
    """Label, squared distance, gain and margin of every row, and a bound of their errors.

    ``own`` and ``norms`` are the squared norms of rows and centers. Of centers that are equally
    near but for rounding, differences decide, and then the order.
    """
    label, square, gain, margin = nearest_from_products(z @ centers.T, squares, norms, w, known)
    noise = 8 * (z.shape[1] + 4) * np.finfo(float).eps * (squares + norms.max())
    tied = np.flatnonzero(margin <= noise)
    if len(tied):
        from scipy.spatial.distance import cdist  # slow to import

        label[tied] = cdist(z[tied], centers, "sqeuclidean").argmin(axis=1)
    return label, square, gain, margin, noise


def nearest_from_products(
    product: Floats, squares: Floats, norms: Floats, w: Floats, known: Floats | None = None
) -> tuple[NDArray[np.int32], Floats, Floats, Floats]:
    """Label, squared distance, gain and margin of every row (:func:`nearest_and_gain`)."""
    n, k = product.shape
    label = np.empty(n, dtype=np.int32)
    near, gain, margin = np.empty(n), np.empty(n), np.empty(n)
    cluster_weights = np.full(k, np.inf) if known is None else known
    loops.nearest_and_gain(product, squares, norms, cluster_weights, w, label, near, margin, gain)
    return label, near, gain, margin


# -------------------------------------------------------------------------------------------------
# A dense table as K-means reads it: a batch of rows at a time, on threads.


#: Numbers in a batch of rows that is centered: it stays in the cache.
BATCH_NUMBERS = 2**16


@dataclass(frozen=True)
class LloydRows:
    """Rows and weights, of which a batch at a time is laid out for the loops."""

    x: Floats
    w: Floats | None
    transform: Callable[[Floats], Floats] | None = None
    known: tuple[Floats, float] | None = None

    @property
    def batch_rows(self) -> int:
        """Rows in a batch."""
        return max(16, BATCH_NUMBERS // max(int(self.x.shape[1]), 1))

    def batches(self, start: int, stop: int) -> Iterator[tuple[slice, Floats, Floats]]:
        """(positions, rows, weights) of the rows ``start:stop``; a view where there can be one."""
        for first in range(start, stop, self.batch_rows):
            at = slice(first, min(first + self.batch_rows, stop))
            x = self.x[at] if self.transform is None else self.transform(self.x[at])
            w = np.ones(len(x)) if self.w is None else np.ascontiguousarray(self.w[at])
            yield at, np.ascontiguousarray(x), w

    def origin_and_unit(self) -> tuple[Floats, float]:
        """The mean, and a power of two near the largest distance from it in any column.

        Scaling by a power of two does not round. They are found by a pass unless they are known.
        """
        if self.known is not None:
            return self.known
        n = len(self.x)
        extents = parallel_map(self._extent, pieces(n, self.batch_rows))
        mean = np.asarray(np.sum([part[0] for part in extents], axis=0))
        mean = mean / sum(part[1] for part in extents)
        low = np.min([part[2] for part in extents], axis=0)
        high = np.max([part[3] for part in extents], axis=0)
        return mean, power_of_two(float(max((high - mean).max(), (mean - low).max())))

    def _extent(self, rows: slice) -> tuple[Floats, float, Floats, Floats]:
        """Sum, weight, least and greatest of some rows."""
        d = self.x.shape[1]
        total, weight = np.zeros(d), 0.0
        low, high = np.full(d, np.inf), np.full(d, -np.inf)
        for _, x, w in self.batches(rows.start, rows.stop):
            total += w @ x
            weight += float(w.sum())
            np.minimum(low, x.min(axis=0), out=low)
            np.maximum(high, x.max(axis=0), out=high)
        return total, weight, low, high


def power_of_two(number: float) -> float:
    """The largest power of two that is no larger; 1 for zero."""
    exponent = int(np.frexp(number or 1.0)[1]) - 1
    return float(2.0 ** min(max(exponent, -1000), 1000))


# -------------------------------------------------------------------------------------------------
# Mean and scatter of every column: what K-means needs of a table before it starts.


@dataclass(frozen=True)
class ColumnSpread:
    """Rows of positive weight, their weight, and Σ w (x − μ)² about the mean μ of each column."""

    count: int
    weight: float
    mean: Floats
    squares: Floats

    @classmethod
    def from_moments(cls, moments: Moments) -> Self:
        """Of a table whose moments are known."""
        return cls(moments.count, moments.weight, moments.x_mean, np.diag(moments.xx))

    @classmethod
    def from_block(cls, block: Block) -> Self:
        """Of a matrix in memory, dense or CSR, without its products of columns."""
        w = block.weights
        count, weight = int((w > 0).sum()), float(w.sum())
        with np.errstate(over="ignore", invalid="ignore"):
            if sparse.issparse(block.x):
                mean = np.asarray(block.x.T @ w) / weight
                squares = np.asarray(block.x.multiply(block.x).T @ w) - weight * mean**2
            else:
                mean, squares = _dense(block.x, w, weight)
        if not np.isfinite(mean).all():
            raise not_finite(block, mean)
        if not np.isfinite(squares).all():
            raise InputError(
                "holds numbers so large that their squares overflow (beyond about 1e150).",
                column=block.terms.items[int(np.flatnonzero(~np.isfinite(squares))[0])].column,
                remedy="Divide the column by a power of ten.",
            )
        return cls(count, weight, mean, np.maximum(squares, 0.0))

    @property
    def standardizer(self) -> Standardizer:
        """Means and standard deviations."""
        scale = np.sqrt(np.maximum(self.squares, 0.0) / self.weight)
        return Standardizer(self.mean.copy(), zero_if_constant(scale, self.mean))

    def origin_and_unit(
        self, standardizer: Standardizer | None, w: Floats | None
    ) -> tuple[Floats, float] | None:
        """The mean, and a power of two near a bound of the distance from it in any column.

        None where weights are so different that the bound would be far too large.
        """
        least = 1.0 if w is None else float(w.min())
        # Least weight of a row, relative to the mean weight, with which scatter bounds distances.
        if not least * self.count >= 1e-3 * self.weight:
            return None
        mean, squares = self.mean, self.squares
        if standardizer is not None:
            mean = standardizer.transform(mean[None])[0]
            squares = squares * standardizer.inverse_scale**2
        return mean, power_of_two(float(np.sqrt(squares.max() / least)))

    def variance(self, standardizer: Standardizer | None) -> float:
        """The mean variance of the columns, standardized if so."""
        squares = self.squares
        if standardizer is not None:
            squares = squares * standardizer.inverse_scale**2
        return float(squares.mean()) / self.weight


def _dense(x: Floats, w: Floats, weight: float) -> tuple[Floats, Floats]:
    """Mean and scatter of the columns of a dense matrix, rows on threads."""
    cuts = pieces(len(x), PIECE_NUMBERS // max(x.shape[1], 1))
    mean = np.sum(parallel_map(lambda rows: w[rows] @ x[rows], cuts), axis=0) / weight

    def about_mean(rows: slice) -> tuple[Floats, Floats]:
        z = x[rows] - mean
        error = w[rows] @ z
        z *= z
        return error, w[rows] @ z

    blocks = parallel_map(about_mean, cuts)
    # A long sum rounds: the mean of the differences is its error.
    error = np.sum([part[0] for part in blocks], axis=0) / weight
    squares = np.sum([part[1] for part in blocks], axis=0) - weight * error**2
    return np.asarray(mean + error), np.asarray(squares)
