"""K-means over rows that are read again at every iteration: files, Dask, sparse matrices.

An iteration is one additive statistic over the rows nearest to each center c_j,

    weight_j = Σ w,    shift_j = Σ w (x − c_j),    inertia = Σ w ‖x − c‖²

and the mean of a cluster is c_j + shift_j / weight_j: sums are taken about the mean of the centers,
so that they do not cancel however far the rows are from the origin. No row is stored.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from separatrix.cluster.lloyd.iterations import LloydResult
from separatrix.cluster.lloyd.nearest import membership, nearest_and_gains, nearest_from_products
from separatrix.cluster.lloyd.sparse_rows import SparseRows, scaled, transposed
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Block, Floats
from separatrix.rows.encoding import Encoding
from separatrix.rows.loops.hashing import add_column
from separatrix.rows.mapped import EncodedRows
from separatrix.rows.parts import hash_block, salted_words
from separatrix.rows.rows import InMemory, Rows, reduce_on_threads
from separatrix.statistics.standardizer import Standardizer
from separatrix.threads import MIN_PIECES, parallel_map, pieces

#: Numbers in a block of distances or rows.
BLOCK_NUMBERS = 250_000
#: A step below this fraction of the typical distance to a center is rounding.
ROUNDING = 1e-12
#: Standard deviations by which more hashes are looked at than a sample needs.
SURPLUS = 8.0
#: Rows of a design that are encoded at a time.
STORED_ROWS = 4_096


def streaming_lloyd(
    rows: Rows,
    standardizer: Standardizer | None,
    start: Floats,
    *,
    max_iter: int,
    variance: float,
) -> LloydResult:
    """Lloyd iterations from ``start`` (standardized) until no center moves; without labels."""
    centers, iterations, converged = start, 0, False
    while iterations < max_iter:
        iterations += 1
        sums = rows.reduce(ClusterSums(centers, standardizer))
        new = sums.means()
        shift = float(((new - centers) ** 2).sum())
        centers = new
        typical = sums.inertia / sums.cluster_weights.sum()
        converged = shift <= ROUNDING**2 * (typical + variance)
        if converged:
            break
    final = rows.reduce(ClusterSums(centers, standardizer))
    no_labels = np.zeros(0, dtype=np.int32)
    return LloydResult(
        centers, no_labels, final.cluster_weights, final.inertia, iterations, converged
    )


def certify_kmeans(
    rows: Rows, standardizer: Standardizer | None, found: LloydResult, variance: float
) -> Certificate:
    """Nearest centers and means recomputed from the rows in double precision.

    ``kkt`` is the largest distance of a center from the mean of the rows nearest to it, relative to
    the standard deviation of the rows: zero exactly at fixed points of the Lloyd iteration.
    """
    sums = _reduce(rows, ClusterSums(found.centers, standardizer, found.cluster_weights))
    nonempty = sums.cluster_weights > 0
    steps = sums.shift[nonempty] / sums.cluster_weights[nonempty, None]
    deviation = np.sqrt(variance * found.centers.shape[1]) or 1.0
    if sums.improving_rows:
        single = (
            f"Moving one row with both means updated would still lower it for "
            f"{sums.improving_rows} rows, by {sums.gain:.3g} at most."
        )
    else:
        single = "Nor does moving any single row with both means updated."
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
        [lambda at=at: iter([rows.block.take(at)]) for at in cuts],  # type: ignore[misc]
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
        step = max(64, BLOCK_NUMBERS // (k + self.centers.shape[1]))
        for start in range(0, block.n, step):
            x = block.dense(start, start + step)
            x = x if self.standardizer is None else self.standardizer.transform(x)
            w = np.ones(len(x)) if block.w is None else block.w[start : start + step]
            if not w.all():
                x, w = x[w > 0], w[w > 0]
            z = np.ascontiguousarray(x - origin)
            label, square, gain = nearest_and_gains(z, centers, w, self.known)
            self.shift += membership(label[:, None], w[:, None], k) @ z
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
        x, offset = scaled(block.x[positive], self.standardizer)
        w, centers = block.weights[positive], self.centers + offset
        rows = SparseRows(sparse.csr_array(x), k)
        by_column, norms = transposed(centers), np.einsum("ij,ij->i", centers, centers)

        def nearest(piece: int) -> tuple[NDArray[np.int32], Floats, Floats]:
            at, part = rows.cuts[piece], rows.parts[piece]
            found = nearest_from_products(
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
    sample = rows.reduce(RowSample(size, seed, share))
    if share < 1.0 and len(sample.key) < size:  # so many copies that there are fewer rows
        # In memory block after block: samples of all chunks at once would hold the whole table.
        reduce = Rows.reduce if isinstance(rows, InMemory) else type(rows).reduce
        sample = reduce(rows, RowSample(size, seed))
    return sample.rows, sample.weight


def sample_design(rows: EncodedRows, size: int, seed: int, share: float) -> tuple[Floats, Floats]:
    """Distinct rows of a design and their weights, drawn by their content before the encoding."""
    sample = rows.rows.reduce(DesignSample(rows.encoding, size, seed, share))
    if share < 1.0 and len(sample.key) < size:
        sample = rows.rows.reduce(DesignSample(rows.encoding, size, seed, 1.0))
    return sample.rows, sample.weight


class RowSample:
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


class DesignSample(RowSample):
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
        for start in range(0, len(near), STORED_ROWS):
            at = near[start : start + STORED_ROWS]
            some = block.take(at)
            self._add(key[at], self.encoding.apply(some).dense(), some.weights)


def _row_hashes(x: Floats, seed: int) -> NDArray[np.uint64]:
    total = np.zeros(len(x), dtype=np.uint64)
    rng = np.random.default_rng([seed, 7])
    for f in range(x.shape[1]):
        key = np.uint64(rng.integers(0, 2**63))
        add_column(np.ascontiguousarray(x[:, f]).view(np.uint64), key, total)
    return total
