"""Exact Euclidean and cosine neighbors of sparse rows, which are never made dense.

    ‖x − z‖² = ‖x‖² + ‖z‖² − 2 x·z

Products of sparse rows, block by block, select candidates within a bound on their rounding error;
the distances of candidates are computed from the differences of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.distances.base import Metric
from separatrix.distances.search import NeighborLists, Neighbors
from separatrix.distances.vectors import (
    Cosine,
    Euclidean,
    Minkowski,
    SquaredEuclidean,
    beyond_squares,
)
from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints

#: Rows stay sparse from so many entries on, of which at most this fraction is stored.
MANY_ENTRIES, MOST_STORED = 1 << 23, 0.1
#: Entries of a block of products, and of the differences that are computed together.
BLOCK_ENTRIES = 1 << 22


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
        self._columns = sparse.csr_array(self._points.T)
        self._squares = _squared_norms(self._points)

    def nearest(self, x: Any, k: int) -> Neighbors:
        """The k nearest points of every row of x."""
        parts = []
        for block, squares, error in self._blocks(x):
            kth = np.partition(squares, k - 1, axis=1)[:, k - 1 : k]
            found = self._measured(block, *np.nonzero(squares <= kth + error)).nearest_first()
            at = found.starts[:-1, None] + np.arange(k)
            parts.append((found.distances[at], found.indices[at]))
        if not parts:
            return Neighbors(np.empty((0, k)), np.empty((0, k), dtype=np.int64))
        distances, indices = (np.concatenate(part) for part in zip(*parts, strict=True))
        return Neighbors(self._metric.of_euclidean(distances), indices)

    def within(self, x: Any, radius: float) -> NeighborLists:
        """All points within a radius of every row of x."""
        reach = self._metric.euclidean_radius(radius) ** 2 * (1.0 + 1e-12)
        starts: list[Ints] = [np.zeros(1, dtype=np.int64)]
        parts: list[NeighborLists] = []
        for block, squares, error in self._blocks(x):
            found = self._measured(block, *np.nonzero(squares <= reach + error))
            parts.append(found)
            starts.append(found.starts[1:] + starts[-1][-1])
        indices = [part.indices for part in parts] or [np.empty(0, dtype=np.int64)]
        distances = [part.distances for part in parts] or [np.empty(0)]
        every = NeighborLists(
            np.concatenate(starts),
            np.concatenate(indices),
            self._metric.of_euclidean(np.concatenate(distances)),
        )
        return every.up_to(radius)

    def _mapped(self, x: Any) -> Any:
        """Rows in CSR form; of unit length if only their direction counts."""
        x = sparse.csr_array(x, dtype=np.float64)
        if not isinstance(self._metric, Cosine):
            return x
        length = np.sqrt(_squared_norms(x))
        return sparse.csr_array(sparse.diags_array(1.0 / np.where(length > 0, length, 1.0)) @ x)

    def _blocks(self, x: Any) -> Iterator[tuple[Any, Floats, Floats]]:
        """Blocks of rows, their squared distances to all points, and a bound on the error."""
        x = self._mapped(x)
        if x.shape[1] != self._points.shape[1]:
            raise InputError(
                f"Rows of {x.shape[1]} columns have no neighbors among points with "
                f"{self._points.shape[1]} columns."
            )
        step = max(1, BLOCK_ENTRIES // self._points.shape[0])
        for start in range(0, x.shape[0], step):
            block = x[start : start + step]
            own = _squared_norms(block)[:, None]
            squares = own + self._squares - 2.0 * (block @ self._columns).toarray()
            self._set_zero_rows(own[:, 0] == 0.0, slice(None), squares)
            terms = np.diff(block.indptr).max(initial=0) + 8
            size = own + self._squares.max(initial=0.0)
            yield block, squares, 4.0 * terms * np.finfo(float).eps * size

    def _set_zero_rows(self, rows: Any, points: Any, squares: Floats) -> None:
        """Rows without a direction are orthogonal to all others, by cosine distance."""
        if isinstance(self._metric, Cosine):
            zero = self._squares[points] == 0.0
            rows = rows[:, None] if squares.ndim == 2 else rows
            squares[rows | zero] = 2.0
            squares[rows & zero] = 0.0

    def _measured(self, block: Any, rows: Ints, indices: Ints) -> NeighborLists:
        """Euclidean distances of pairs, from the differences of their rows."""
        squares = np.empty(len(rows))
        stored = max(1, (block.nnz + self._points.nnz) // self._points.shape[0])
        step = max(1, BLOCK_ENTRIES // (8 * stored))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            squares[part] = _squared_norms(block[rows[part]] - self._points[indices[part]])
        empty = np.diff(block.indptr) == 0
        self._set_zero_rows(empty[rows], indices, squares)
        indices = indices.astype(np.int64)
        return NeighborLists.of_pairs(rows, indices, np.sqrt(squares), block.shape[0])


def _squared_norms(x: Any) -> Floats:
    return np.asarray(x.multiply(x).sum(axis=1), dtype=np.float64).ravel()
