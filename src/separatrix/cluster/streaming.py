"""K-means over rows that are read again at every iteration: files, Dask, sparse matrices.

An iteration is one additive statistic over the rows nearest to each center c_j,

    weight_j = Σ w,    shift_j = Σ w (x − c_j),    inertia = Σ w ‖x − c‖²

and the mean of a cluster is c_j + shift_j / weight_j: sums are taken about the mean of the centers,
so that they do not cancel however far the rows are from the origin. No row is stored.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.cluster import lloyd
from separatrix.cluster.loops import (
    UNMOVED,
    assign_compressed,
    square_compressed,
    sum_compressed,
)
from separatrix.formatting import plural
from separatrix.optimize.convex import Certificate
from separatrix.rows.loops import add_column
from separatrix.rows.parts import hash_block, salted_words
from separatrix.rows.rows import EncodedRows, InMemory, Rows, reduce_on_threads
from separatrix.rows.schema import Block, Encoding, to_array
from separatrix.statistics.moments import Standardizer
from separatrix.threads import MIN_PIECES, one_blas_thread, parallel_map, pieces

#: Numbers in a block of distances or rows.
BLOCK_NUMBERS = 250_000
#: Standard deviations by which more hashes are looked at than a sample needs.
SURPLUS = 8.0


def streaming_lloyd(
    rows: Rows,
    standardizer: Standardizer | None,
    start: Floats,
    *,
    max_iter: int,
    variance: float,
) -> lloyd.LloydResult:
    """Lloyd iterations from ``start`` (standardized) until no center moves; without labels."""
    centers, iterations, converged = start, 0, False
    while iterations < max_iter:
        iterations += 1
        sums = rows.reduce(ClusterSums(centers, standardizer))
        new = sums.means()
        shift = float(((new - centers) ** 2).sum())
        centers = new
        typical = sums.inertia / sums.cluster_weights.sum()
        # A step below this fraction of the typical distance to a center is rounding.
        converged = shift <= 1e-12**2 * (typical + variance)
        if converged:
            break
    final = rows.reduce(ClusterSums(centers, standardizer))
    no_labels = np.zeros(0, dtype=np.int32)
    return lloyd.LloydResult(
        centers, no_labels, final.cluster_weights, final.inertia, iterations, converged
    )


def certify_kmeans(
    rows: Rows, standardizer: Standardizer | None, lloyd_result: lloyd.LloydResult, variance: float
) -> Certificate:
    """Nearest centers and means recomputed from the rows in double precision.

    ``kkt`` is the largest distance of a center from the mean of the rows nearest to it, relative to
    the standard deviation of the rows: zero exactly at fixed points of the Lloyd iteration.
    """
    sums = _reduce(
        rows, ClusterSums(lloyd_result.centers, standardizer, lloyd_result.cluster_weights)
    )
    nonempty = sums.cluster_weights > 0
    steps = sums.shift[nonempty] / sums.cluster_weights[nonempty, None]
    deviation = np.sqrt(variance * lloyd_result.centers.shape[1]) or 1.0
    if sums.improving_rows:
        single = (
            "Moving a single row to another cluster and updating both means would still lower it: "
            f"{plural(sums.improving_rows, 'such row')}, by {sums.gain:.3g} at most."
        )
    else:
        single = "Moving any single row and updating both means does not lower it either."
    notes = ["A local optimum: other initializations may end lower.", single]
    if not nonempty.all():
        notes.append(f"{int((~nonempty).sum())} of the {len(nonempty)} clusters are empty.")
    return Certificate(
        claim="Every row is nearest to its own center, and centers are the means of their rows: "
        "with centers fixed, no reassignment lowers the inertia",
        primal=float(sums.inertia),
        kkt=float(np.sqrt((steps**2).sum(axis=1)).max(initial=0.0)) / deviation,
        tolerance=1e-9,
        statistic="distances in double precision, from all rows",
        notes=tuple(notes),
        promised=("kkt",),
    )


def _reduce(rows: Rows, statistic: ClusterSums) -> ClusterSums:
    """The statistic of all rows; those in memory are cut by their numbers, not by rows alone."""
    if not isinstance(rows, InMemory):
        return rows.reduce(statistic)
    if sparse.issparse(rows.block.x):
        return reduce_on_threads(statistic, [rows.blocks])  # on threads inside
    k, d = statistic.centers.shape
    # sums of all pieces together are small beside the table
    most = max(1, min(MIN_PIECES, rows.block.n // (8 * k)))
    cuts = pieces(rows.block.n, BLOCK_NUMBERS // (2 * (k + d)), most)
    return reduce_on_threads(
        statistic,
        [lambda cut=cut: iter([rows.block.take(cut)]) for cut in cuts],  # type: ignore[misc]
    )


class ClusterSums:
    """Sums of the rows nearest to each of the ``centers`` (k x d), which are standardized.

    ``far_rows`` are up to k rows that add most to the inertia (for clusters that are empty). Where
    the weights of the clusters are ``known``, there are none; instead ``gain`` is the largest
    reduction of the inertia by moving a single row, and ``improving_rows`` the number of rows whose
    move would reduce it.
    """

    def __init__(
        self, centers: Floats, standardizer: Standardizer | None, known: Floats | None = None
    ) -> None:
        k, d = centers.shape
        self.centers, self.standardizer, self.known = centers, standardizer, known
        self.cluster_weights, self.shift, self.inertia = np.zeros(k), np.zeros((k, d)), 0.0
        self.gain, self.improving_rows = 0.0, 0
        self.far_rows, self.far_loss = np.zeros((0, d)), np.zeros(0)

    def fresh(self) -> Self:
        """An empty statistic about the same centers."""
        return type(self)(self.centers, self.standardizer, self.known)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        if sparse.issparse(block.x):
            self._update_sparse(block)
            return
        k, origin = len(self.centers), self.centers.mean(axis=0)
        centers = np.ascontiguousarray(self.centers - origin)
        weights = np.zeros(k)
        step = max(128, BLOCK_NUMBERS // (k + self.centers.shape[1]))
        for start in range(0, block.n, step):
            x = block.dense(start, start + step)
            x = x if self.standardizer is None else self.standardizer.transform(x)
            w = np.ones(len(x)) if block.w is None else block.w[start : start + step]
            if not w.all():
                x, w = x[w > 0], w[w > 0]
            z = np.ascontiguousarray(x - origin)
            label, square, gain = lloyd.nearest_and_gains(z, centers, w, self.known)
            self.shift += lloyd.membership(label[:, None], w[:, None], k) @ z
            weights += np.bincount(label, w, minlength=k)
            self.inertia += float(w @ square)
            if self.known is not None and len(x):
                self.gain = max(self.gain, float(gain.max()))
                self.improving_rows += int((gain > 1e-12 * w * square).sum())
            else:
                self._add_far_rows(x, w * square)
        self.shift -= weights[:, None] * centers
        self.cluster_weights += weights

    def _update_sparse(self, block: Block) -> None:
        """Add compressed rows from products, on threads; none is filled in."""
        k = len(self.centers)
        positive = slice(None) if block.w is None else np.flatnonzero(block.w > 0)
        x, offset = scale_rows(block.x[positive], self.standardizer)
        w, centers = block.weights[positive], self.centers + offset
        rows = CompressedRows(sparse.csr_array(x), k)
        by_column, norms = transpose_centers(centers), np.einsum("ij,ij->i", centers, centers)

        def nearest(piece: int) -> tuple[NDArray[np.int32], Floats, Floats]:
            at, part = rows.cuts[piece], rows.parts[piece]
            found = lloyd.nearest_from_products(
                part @ by_column, rows.square[at], norms, w[at], self.known
            )
            label, square, gain, _ = found
            gain[gain <= rows.rounding * w[at] * (rows.square[at] + norms.max())] = 0.0
            return label, square, gain

        label, square, gain = (
            np.concatenate(part)
            for part in zip(*parallel_map(nearest, range(len(rows.cuts))), strict=True)
        )
        members = [np.flatnonzero(label == j) for j in range(k)]
        weights = np.bincount(label, w, minlength=k)
        sums = parallel_map(lambda j: rows.cluster_sum(members[j], w), range(k))
        self.shift += np.stack(sums) - weights[:, None] * centers
        self.cluster_weights += weights
        self.inertia += float(w @ square)
        if self.known is not None and len(w):
            self.gain = max(self.gain, float(gain.max()))
            self.improving_rows += int((gain > 1e-12 * w * square).sum())

    def _add_far_rows(self, x: Floats, loss: Floats) -> None:
        k = len(self.centers)
        if not len(loss):
            return
        if len(loss) > k:
            largest = np.argpartition(-loss, k)[:k]
            x, loss = x[largest], loss[largest]
        rows, losses = np.concatenate([self.far_rows, x]), np.concatenate([self.far_loss, loss])
        order = np.lexsort((*rows.T, -losses))[:k]
        self.far_rows, self.far_loss = rows[order], losses[order]

    def __add__(self, other: Self) -> Self:
        both = self.fresh()
        both.cluster_weights = self.cluster_weights + other.cluster_weights
        both.shift = self.shift + other.shift
        both.inertia, both.gain = self.inertia + other.inertia, max(self.gain, other.gain)
        both.improving_rows = self.improving_rows + other.improving_rows
        both.far_rows, both.far_loss = self.far_rows, self.far_loss
        both._add_far_rows(other.far_rows, other.far_loss)
        return both

    def means(self) -> Floats:
        """The means of the clusters; empty ones get the rows that add most to the inertia."""
        nonempty = self.cluster_weights > 0
        new = self.centers.copy()
        new[nonempty] += self.shift[nonempty] / self.cluster_weights[nonempty, None]
        candidates = np.flatnonzero(self.far_loss > 0)
        for j, i in zip(np.flatnonzero(~nonempty), candidates, strict=False):
            new[j] = self.far_rows[i]
        return new


def sample_rows(rows: Rows, size: int, seed: int, count: int) -> tuple[Floats, Floats]:
    """About ``size`` distinct rows of ``count`` and their weights; all of a matrix of no more."""
    if isinstance(rows, InMemory) and rows.block.n <= size:
        w = rows.block.weights
        return rows.block.dense()[w > 0], w[w > 0]
    # Rows with hashes beyond a bound that is rarely too low are never stored, nor do they travel.
    share = (size + SURPLUS * np.sqrt(size)) / max(count, 1)
    if isinstance(rows, EncodedRows):
        return sample_design(rows, size, seed, share)
    sample = rows.reduce(WeightedRowSample(size, seed, share))
    if share < 1.0 and len(sample.key) < size:  # so many copies that there are fewer rows
        # In memory block after block: samples of all chunks at once would hold the whole table.
        reduce = Rows.reduce if isinstance(rows, InMemory) else type(rows).reduce
        sample = reduce(rows, WeightedRowSample(size, seed))
    return sample.rows, sample.weight


def sample_design(rows: EncodedRows, size: int, seed: int, share: float) -> tuple[Floats, Floats]:
    """Distinct rows of a design and their weights, drawn by their content before the encoding."""
    sample = rows.rows.reduce(DesignSample(rows.encoding, size, seed, share))
    if share < 1.0 and len(sample.key) < size:
        sample = rows.rows.reduce(DesignSample(rows.encoding, size, seed, 1.0))
    return sample.rows, sample.weight


class WeightedRowSample:
    """A sample of distinct rows with their weights, by a hash of their content and a seed.

    The ``size`` rows of smallest hash are taken, whatever the order and the blocks of the table; a
    repeated row is one row with more weight. Of all hashes only the lowest ``share`` is looked at.
    """

    def __init__(self, size: int, seed: int, share: float = 1.0) -> None:
        self.size, self.seed, self.share = size, seed, share
        self.key = np.zeros(0, dtype=np.uint64)
        self.rows: Floats = np.zeros((0, 0))
        self.weight = np.zeros(0)

    def fresh(self) -> Self:
        """An empty sample of the same size and seed."""
        return type(self)(self.size, self.seed, self.share)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        w = block.weights
        step = max(64, BLOCK_NUMBERS // (4 * max(len(block.terms), 1)))
        for start in range(0, block.n, step):
            positive = w[start : start + step] > 0
            x = np.ascontiguousarray(block.dense(start, start + step)[positive])
            self._add(_row_hashes(x, self.seed), x, w[start : start + step][positive])

    @property
    def bound(self) -> np.uint64:
        """Hashes above it are not in the sample."""
        if len(self.key) == self.size:  # most rows are out already
            return np.uint64(self.key[-1])
        return np.uint64(2**64 - 1) if self.share >= 1.0 else np.uint64(self.share * 2.0**64)

    def _add(self, key: NDArray[np.uint64], x: Floats, w: Floats) -> None:
        near = key <= self.bound
        if not near.all():
            key, x, w = key[near], x[near], w[near]
        rows = x if not len(self.key) else np.concatenate([self.rows, x])
        keys, first, which = np.unique(
            np.concatenate([self.key, key]), return_index=True, return_inverse=True
        )
        weight = np.asarray(np.bincount(which, np.concatenate([self.weight, w])), dtype=float)
        self.key, self.rows = keys[: self.size], rows[first[: self.size]]
        self.weight = weight[: self.size]

    def __add__(self, other: Self) -> Self:
        both = self.fresh()
        both.key, both.rows, both.weight = self.key, self.rows, self.weight
        if len(other.key):
            both._add(other.key, other.rows, other.weight)
        return both


class DesignSample(WeightedRowSample):
    """A sample of the design rows of a table, by a hash of their raw content.

    Imputed means differ in their last digits between machines; the raw content does not.
    """

    def __init__(self, encoding: Encoding, size: int, seed: int, share: float) -> None:
        super().__init__(size, seed, share)
        self.encoding = encoding

    def fresh(self) -> Self:
        """An empty sample of the same size and seed."""
        return type(self)(self.encoding, self.size, self.seed, self.share)

    def update(self, block: Block) -> None:
        """Add the rows of a raw block."""
        key = salted_words(hash_block(block), f"sample {self.seed}")
        near = np.flatnonzero((key <= self.bound) & (block.weights > 0))
        stored_rows = 4_096  # rows of a design that are encoded at a time
        for start in range(0, len(near), stored_rows):
            at = near[start : start + stored_rows]
            some = block.take(at)
            self._add(key[at], self.encoding.apply(some).dense(), some.weights)


def _row_hashes(x: Floats, seed: int) -> NDArray[np.uint64]:
    total = np.zeros(len(x), dtype=np.uint64)
    rng = np.random.default_rng([seed, 7])
    for f in range(x.shape[1]):
        key = np.uint64(rng.integers(0, 2**63))
        add_column(np.ascontiguousarray(x[:, f]).view(np.uint64), key, total)
    return total


# -------------------------------------------------------------------------------------------------
# Lloyd iterations over compressed rows that are never converted to dense ones.
#
# Of every row an upper bound of the distance to its own center and a lower bound of that to any
# other are stored. Centers that move change the bounds by their steps, and while the first is below
# the second the row keeps its center (Hamerly 2010). The sums of a cluster are computed from its
# rows whenever one joins or leaves it, so that no rounding errors accumulate in the means.


def sparse_lloyd(x: Any, w: Floats, start: Floats, *, max_iter: int) -> lloyd.LloydResult:
    """Lloyd iterations of CSR rows of positive weight from the centers ``start`` (k x d)."""
    iterations, converged = 0, False
    with one_blas_thread():  # set once, not by every step
        state = _SparseLloyd(CompressedRows(x, len(start)), w, start)
        while iterations < max_iter:
            iterations += 1
            before = state.centers.copy()
            if state.assign():
                state.update_centers()
            step, largest = np.abs(state.centers - before).max(), np.abs(state.centers).max()
            converged = bool(step <= UNMOVED * largest)
            if converged:
                break
        if not converged:
            state.assign()
        losses = state.losses()
    weights = np.asarray(np.bincount(state.label, w, minlength=len(start)), dtype=float)
    label = state.label.astype(np.int32)
    return lloyd.LloydResult(
        state.centers, label, weights, float(losses.sum()), iterations, converged
    )


class _SparseLloyd:
    """Labels and bounds of the rows, and the centers."""

    def __init__(self, rows: CompressedRows, w: Floats, start: Floats) -> None:
        n = len(w)
        self.rows, self.w, self.centers = rows, w, start.copy()
        self.label = np.full(n, -1, dtype=np.int64)
        self.upper, self.lower = np.full(n, np.inf), np.zeros(n)
        self.changed = np.zeros(len(start), dtype=bool)
        self._set_norms()

    def _set_norms(self) -> None:
        self.norms = np.einsum("ij,ij->i", self.centers, self.centers)
        self.by_column = transpose_centers(self.centers)

    def assign(self) -> int:
        """Assign every row to its nearest center; the number of rows that moved."""
        pieces_assigned = parallel_map(self._assign_piece, range(len(self.rows.cuts)))
        self.changed[:] = np.any([changed for _, changed in pieces_assigned], axis=0)
        moved = sum(count for count, _ in pieces_assigned)
        return moved + self._fill_empty_clusters()

    def _assign_piece(self, piece: int) -> tuple[int, Any]:
        """Assign the rows of a piece; how many moved, and which clusters they joined or left."""
        cut, x = self.rows.cuts[piece], self.rows.x
        changed = np.zeros(len(self.centers), dtype=bool)
        moved = assign_compressed(
            x.indptr, x.indices, x.data, cut.start, self.rows.square[cut], self.by_column,
            self.norms, self.rows.rounding, self.label[cut], self.upper[cut], self.lower[cut],
            changed,
        )  # fmt: skip
        return moved, changed

    def update_centers(self) -> None:
        """Move centers to the means of their rows."""
        k = len(self.centers)
        order = np.argsort(self.label, kind="stable")
        ends = np.searchsorted(self.label[order], np.arange(k + 1))
        steps = np.zeros(k)

        def move(j: int) -> None:
            members: Ints = order[ends[j] : ends[j + 1]]
            if not len(members):
                return
            mean = self.rows.cluster_sum(members, self.w) / self.w[members].sum()
            steps[j] = np.linalg.norm(mean - self.centers[j])
            self.centers[j] = mean

        parallel_map(move, np.flatnonzero(self.changed).tolist())
        self._set_norms()
        self._loosen(steps * (1 + 1e-12))

    def _loosen(self, steps: Floats) -> None:
        """Bounds after the centers have moved: of the others, the fastest counts."""
        fastest = int(steps.argmax())
        others = np.full(len(steps), steps[fastest])
        others[fastest] = np.delete(steps, fastest).max(initial=0.0)
        self.upper += steps[self.label]
        self.lower -= others[self.label]

    def losses(self) -> Floats:
        """w ‖x − c‖² of every row and its own center."""

        def one(piece: int) -> Floats:
            square = self.rows.squared_distances(piece, self.by_column, self.norms)
            labels = self.label[self.rows.cuts[piece]]
            return np.asarray(square[np.arange(len(labels)), labels])

        squares = parallel_map(one, range(len(self.rows.cuts)))
        return np.asarray(self.w * np.concatenate(squares))

    def _fill_empty_clusters(self) -> int:
        """Every empty cluster gets the row that adds most to the inertia; how many were filled."""
        count = np.bincount(self.label, minlength=len(self.centers))
        empty = np.flatnonzero(count == 0)
        if not len(empty):
            return 0
        losses, filled = self.losses(), 0
        for j in empty:
            losses[count[self.label] == 1] = 0.0
            i = int(losses.argmax())
            # products leave rounding errors where a row equals its center
            if losses[i] <= self.rows.rounding * self.w[i] * (self.rows.square[i] + 1e-300):
                break
            count[self.label[i]] -= 1
            self.changed[[self.label[i], j]] = True
            self.label[i], count[j], losses[i] = j, 1, 0.0
            self.upper[i], self.lower[i] = np.inf, 0.0
            filled += 1
        return filled


# -------------------------------------------------------------------------------------------------
# Compressed rows as K-means reads them: products with centers and sums of clusters.
#
# Nothing is centered, so that rows stay sparse: K-means does not change if rows and centers are
# shifted alike. Standardized columns are divided, and the centers shifted by what was not
# subtracted.


#: Multiplications that are worth a piece of their own.
MIN_WORK = 200_000
#: A sparse table with fewer numbers is filled in, or with more than this fraction if it fits.
MIN_SPARSE, MAX_FRACTION, MAX_DENSE = 1_000_000, 0.25, 50_000_000


def dense_if_small(x: Any, spread: lloyd.ColumnSpread) -> Any:
    """A sparse matrix filled in where that is as cheap, or where products would lose digits."""
    size = x.shape[0] * x.shape[1]
    # Squared norm of the mean over the variance, beyond which products of rows lose digits.
    far = float((spread.mean**2).sum()) > 1e6 * float(spread.squares.sum()) / spread.weight
    if size <= MIN_SPARSE or (size <= MAX_DENSE and (far or x.nnz > MAX_FRACTION * size)):
        return to_array(x)
    return x


def scale_rows(x: Any, standardizer: Standardizer | None) -> tuple[Any, Floats | float]:
    """Rows divided by the scales of their columns, and what to add to standardized centers."""
    if standardizer is None:
        return x, 0.0
    inverse = standardizer.inverse_scale
    return sparse.csr_array(x @ sparse.diags_array(inverse)), standardizer.mean * inverse


class CompressedRows:
    """Compressed rows (n x d) in pieces, and their squared norms."""

    def __init__(self, x: Any, k: int) -> None:
        self.x = x
        n = x.shape[0]
        work = k * x.nnz // max(n, 1)
        self.cuts = pieces(n, MIN_WORK // max(work, 1))
        self.parts = [self._view(rows) for rows in self.cuts]
        self.square: Floats = np.empty(n)
        square_compressed(x.indptr, x.data, self.square)
        #: Bound of the relative error of a squared distance from products.
        self.rounding = 8 * (float(np.diff(x.indptr).max(initial=0)) + 4) * np.finfo(float).eps

    def _view(self, rows: slice) -> Any:
        """Some rows, which share the memory of all."""
        x = self.x
        begin, end = x.indptr[rows.start], x.indptr[rows.stop]
        inner = (x.data[begin:end], x.indices[begin:end], x.indptr[rows.start : rows.stop + 1])
        pointers = inner[2] - begin
        shape = (rows.stop - rows.start, x.shape[1])
        return sparse.csr_array((inner[0], inner[1], pointers), shape=shape, copy=False)

    def squared_distances(self, piece: int, by_column: Floats, norms: Floats) -> Floats:
        """‖x − c‖² of the rows of a piece; ``by_column`` is the centers transposed (d x k)."""
        out = np.asarray(self.parts[piece] @ by_column)
        out *= -2.0
        out += norms
        out += self.square[self.cuts[piece]][:, None]
        return np.asarray(np.maximum(out, 0.0, out=out))

    def cluster_sum(self, members: Ints, w: Floats) -> Floats:
        """Σ w x over some rows."""
        x, total = self.x, np.empty(self.x.shape[1])
        sum_compressed(x.indptr, x.indices, x.data, w, members, total)
        return total


def transpose_centers(centers: Floats) -> Floats:
    """The centers as columns, contiguous, on threads."""
    k, d = centers.shape
    out = np.empty((d, k))

    def copy(columns: slice) -> None:
        out[columns] = centers[:, columns].T

    parallel_map(copy, pieces(d, MIN_WORK // max(k, 1)))
    return out


def squared_distances(x: Any, centers: Floats) -> Floats:
    """‖x − c‖² of all rows and centers, from products."""
    rows = CompressedRows(x, len(centers))
    by_column, norms = transpose_centers(centers), np.einsum("ij,ij->i", centers, centers)
    distances = parallel_map(
        lambda piece: rows.squared_distances(piece, by_column, norms), range(len(rows.cuts))
    )
    return np.concatenate(distances)
