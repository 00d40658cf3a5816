"""Exact Euclidean and cosine neighbors of sparse rows, which are never made dense.

    ‖x − z‖² = ‖x‖² + ‖z‖² − 2 x·z

Products of sparse rows, block by block on threads, select candidates within a bound on their
rounding error; the distances of candidates are computed from the differences of the rows. Columns
that most rows share (the commonest words) are multiplied as a dense matrix, which is faster.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from separatrix.distances.base import Metric
from separatrix.distances.loops.k_smallest import push_columns
from separatrix.distances.loops.sparse_pairs import pair_squares
from separatrix.distances.search import NeighborLists, Neighbors
from separatrix.distances.vectors import (
    Cosine,
    Euclidean,
    Minkowski,
    SquaredEuclidean,
    beyond_squares,
)
from separatrix.matrices.loops.gram import sparse_gram_rows
from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints
from separatrix.threads import MIN_PIECES, parallel_map, pieces

#: Rows stay sparse from so many entries on, of which at most this fraction is stored.
MANY_ENTRIES, MOST_STORED = 1 << 23, 0.1
#: The fraction of the points that store a column from which it is multiplied as a dense one.
COMMON = 0.25
#: Products of a block of rows with all points.
BLOCK_ENTRIES = 1 << 20


def stays_sparse(x: Any, metric: Metric) -> bool:
    """Whether a search of these rows is better off without a dense copy."""
    if not sparse.issparse(x) or not isinstance(_plain(metric), SquaredEuclidean):
        return False
    entries = x.shape[0] * x.shape[1]
    if entries < MANY_ENTRIES or x.nnz > MOST_STORED * entries:
        return False
    return type(_plain(metric)) in (Euclidean, SquaredEuclidean, Cosine) and not beyond_squares(
        x.data
    )


def _plain(metric: Metric) -> Metric:
    """Minkowski's distance with p = 2 and no weights is Euclidean."""
    if isinstance(metric, Minkowski) and metric.p == 2 and metric.w is None:
        return Euclidean()
    return metric


class SparseSearch:
    """Neighbors among sparse rows by Euclidean, squared Euclidean or cosine distance."""

    def __init__(self, points: Any, metric: Metric) -> None:
        plain = _plain(metric)
        assert isinstance(plain, SquaredEuclidean)
        self._metric = plain
        self._points = self._mapped(points)
        self._squares = _squared_norms(self._points)
        counts = np.bincount(self._points.indices, minlength=self._points.shape[1])
        self._common = np.flatnonzero(counts > COMMON * self._points.shape[0])
        self._common_columns = self._points[:, self._common].toarray().T.copy()
        self._by_column = _without(self._points, self._common).tocsc()

    def nearest(self, x: Any, k: int) -> Neighbors:
        """The k nearest points of every row of x."""
        x = self._queries(x)
        distances = np.empty((x.shape[0], k))
        indices = np.empty(distances.shape, dtype=np.int64)

        def search(part: slice) -> None:
            block, products, error = self._block(x, part)
            # the heaps of the k smallest are written over by what is found
            sizes = np.zeros(len(products), dtype=np.int64)
            push_columns(products, 0, distances[part], indices[part], sizes)
            near = np.flatnonzero(products <= distances[part, :1] + error)
            found = self._measured(block, near).nearest_first()
            at = found.starts[:-1, None] + np.arange(k)
            distances[part], indices[part] = found.distances[at], found.indices[at]

        parallel_map(search, self._pieces(x))
        return Neighbors(self._metric.of_euclidean(distances), indices)

    def within(self, x: Any, radius: float) -> NeighborLists:
        """All points within a radius of every row of x."""
        x = self._queries(x)
        reach = self._metric.euclidean_radius(radius) ** 2 * (1.0 + 1e-12)

        def search(part: slice) -> NeighborLists:
            block, products, error = self._block(x, part)
            limit = reach - _squared_norms(block)[:, None] + error
            return self._measured(block, np.flatnonzero(products <= limit))

        parts = parallel_map(search, self._pieces(x))
        counts = np.concatenate([np.diff(part.starts) for part in parts])
        every = NeighborLists(
            np.concatenate([[0], np.cumsum(counts)]),
            np.concatenate([part.indices for part in parts]),
            self._metric.of_euclidean(np.concatenate([part.distances for part in parts])),
        )
        return every.up_to(radius)

    def _mapped(self, x: Any) -> Any:
        """Rows in CSR form, columns in order; of unit length if only their direction counts."""
        x = sparse.csr_array(x, dtype=np.float64)
        if not x.has_canonical_format:
            x = x.copy()
            x.sum_duplicates()
        if not isinstance(self._metric, Cosine):
            return x
        length = np.sqrt(_squared_norms(x))
        unit = np.repeat(np.where(length > 0, length, 1.0), np.diff(x.indptr))
        return sparse.csr_array((x.data / unit, x.indices, x.indptr), shape=x.shape)

    def _queries(self, x: Any) -> Any:
        x = self._mapped(x)
        if x.shape[1] != self._points.shape[1]:
            raise InputError(
                f"Rows of {x.shape[1]} columns have no neighbors among points with "
                f"{self._points.shape[1]} columns."
            )
        return x

    def _pieces(self, x: Any) -> list[slice]:
        """Pieces of rows whose products with all points are few enough to stay in the cache."""
        rows = max(1, BLOCK_ENTRIES // self._points.shape[0])
        return pieces(x.shape[0], most=max(MIN_PIECES, -(-x.shape[0] // rows)))

    def _block(self, x: Any, part: slice) -> tuple[Any, Floats, Floats]:
        """A block of rows, ‖z‖² − 2 x·z for all points z, and what must be added to a limit on it.

        That is a bound on the error; ‖x‖² is the same for all points.
        """
        block, z = x[part], self._by_column
        own = _squared_norms(block)[:, None]
        products = (-2.0 * block[:, self._common].toarray()) @ self._common_columns
        sparse_gram_rows(
            0, block.shape[0], block.indptr, block.indices, -2.0 * block.data,
            z.indptr, z.indices, z.data, products,
        )  # fmt: skip
        products += self._squares
        self._set_zero_rows(own == 0.0, self._squares == 0.0, products, 2.0 - own, -own)
        terms = np.diff(block.indptr).max(initial=0) + 8
        size = own + self._squares.max(initial=0.0)
        return block, products, 4.0 * terms * np.finfo(float).eps * size

    def _set_zero_rows(
        self, rows: Any, points: Any, squares: Floats, one_zero: Any, both_zero: Any
    ) -> None:
        """Rows without a direction are orthogonal to all others, by cosine distance."""
        if isinstance(self._metric, Cosine) and (rows.any() or points.any()):
            squares[:] = np.where(rows | points, one_zero, squares)
            squares[:] = np.where(rows & points, both_zero, squares)

    def _measured(self, block: Any, near: Ints) -> NeighborLists:
        """Euclidean distances of pairs, from the differences of their rows.

        A pair is a position in the matrix of all rows of the block and all points.
        """
        rows, indices = np.divmod(near, self._points.shape[0])
        squares, z = np.empty(len(rows)), self._points
        pairs = np.stack([rows, indices]).astype(np.int64)
        pair_squares(
            pairs, block.indptr, block.indices, block.data, z.indptr, z.indices, z.data, squares
        )
        empty = np.diff(block.indptr) == 0
        self._set_zero_rows(empty[rows], self._squares[indices] == 0.0, squares, 2.0, 0.0)
        return NeighborLists.of_pairs(pairs[0], pairs[1], np.sqrt(squares), block.shape[0])


def _without(x: Any, columns: Ints) -> Any:
    """The same rows with nothing stored in some columns."""
    others = np.ones(x.shape[1], dtype=np.bool_)
    others[columns] = False
    stored = others[x.indices]
    starts = np.concatenate([[0], np.cumsum(stored)])[x.indptr].astype(x.indptr.dtype)
    return sparse.csr_array((x.data[stored], x.indices[stored], starts), shape=x.shape)


def _squared_norms(x: Any) -> Floats:
    return np.asarray(x.multiply(x).sum(axis=1), dtype=np.float64).ravel()
