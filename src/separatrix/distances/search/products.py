"""Exact Euclidean nearest neighbors by matrix products, for many dimensions.

    ‖x − z‖² = ‖x‖² + (‖z‖² − 2 x·z)

The bracket orders the points by distance from x. One matrix product in single precision finds
somewhat more than k candidates, whose distances are recomputed in double precision. The rounding
error of the product is bounded, so it is known whether a point that is no candidate could be among
the k nearest; the few rows for which it could are searched in double precision.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np

from separatrix.distances.loops.distances import by_coordinates
from separatrix.distances.loops.k_smallest import exact_distances, push_columns, sort_heap
from separatrix.distances.loops.point_distances import EUCLIDEAN
from separatrix.distances.search import Neighbors
from separatrix.rows.block import Floats, Ints
from separatrix.threads import one_blas_thread

#: Rows and points of one product.
ROWS, POINTS = 256, 512
#: Candidates beyond k, at least.
EXTRA_CANDIDATES = 6
#: Rows searched in double precision together.
DOUBLE_ROWS = 16


class ProductSearch:
    """Centered points in single precision for candidates, in double precision for distances."""

    def __init__(self, points: Floats) -> None:
        self._points = np.ascontiguousarray(points, dtype=np.float64)
        self._center = self._points.mean(axis=0)
        centered = self._points - self._center
        squared_norms = np.einsum("ij,ij->i", centered, centered)
        # norms are scaled to at most one: no unit leaves the range of single precision
        self._scale = np.sqrt(float(squared_norms.max(initial=0.0))) or 1.0
        self._single = np.ascontiguousarray(
            np.vstack([centered.T / self._scale, squared_norms / self._scale**2]), dtype=np.float32
        )

    def nearest(self, x: Floats, k: int) -> Neighbors:
        """The k nearest points of every row of x."""
        x = np.ascontiguousarray(x, dtype=np.float64)
        distances = np.empty((len(x), k))
        indices = np.empty((len(x), k), dtype=np.int64)
        starts = range(0, len(x), ROWS)

        def search(starts: range) -> None:
            for start in starts:
                part = slice(start, start + ROWS)
                self._search(x[part], distances[part], indices[part])

        with one_blas_thread(), ThreadPoolExecutor(1) as pool:
            other = pool.submit(search, starts[1::2])
            search(starts[::2])
            other.result()
        np.sqrt(distances, out=distances)
        return Neighbors(distances, indices)

    def _search(self, x: Floats, distances: Floats, indices: Ints) -> None:
        n, k = len(self._points), distances.shape[1]
        m = min(n, k + max(EXTRA_CANDIDATES, k // 4))
        centered = (x - self._center) / self._scale
        squared_norms = np.einsum("ij,ij->i", centered, centered)
        single = np.empty((len(x), x.shape[1] + 1), dtype=np.float32)
        # rows far away from all points would overflow; they are searched in double precision
        far = squared_norms > 1e12
        single[:, :-1] = np.where(far[:, None], 0.0, -2.0 * centered)
        single[:, -1] = 1.0
        scores = np.empty((len(x), min(POINTS, n)), dtype=np.float32)
        found = np.empty((len(x), m), dtype=np.float32)
        candidates = np.empty((len(x), m), dtype=np.int64)
        sizes = np.zeros(len(x), dtype=np.int64)
        for start in range(0, n, POINTS):
            stop = min(start + POINTS, n)
            tile = scores[:, : stop - start]
            np.matmul(single, self._single[:, start:stop], out=tile)
            push_columns(tile, start, found, candidates, sizes)
        limits = np.full(len(x), np.inf)
        if m < n:
            norms = np.sqrt(squared_norms)
            error = (x.shape[1] + 8) * np.finfo(np.float32).eps * (1.0 + 2.0 * norms)
            limits = (found[:, 0].astype(float) - error + squared_norms) * self._scale**2
        uncertain = np.zeros(len(x), dtype=np.bool_)
        exact_distances(x, self._points, candidates, limits, distances, indices, uncertain)
        self._search_in_double(x, np.flatnonzero(uncertain | far), distances, indices)

    def _search_in_double(self, x: Floats, queries: Ints, distances: Floats, indices: Ints) -> None:
        """All distances in double precision, for rows that single precision does not decide."""
        if not len(queries):
            return
        k = distances.shape[1]
        block = np.empty((min(len(queries), DOUBLE_ROWS), len(self._points)))
        for start in range(0, len(queries), DOUBLE_ROWS):
            rows = queries[start : start + DOUBLE_ROWS]
            by_coordinates(x[rows], self._columns, EUCLIDEAN, block[: len(rows)])
            nearest = np.empty((len(rows), k), dtype=np.int64)
            found, sizes = np.empty((len(rows), k)), np.zeros(len(rows), dtype=np.int64)
            push_columns(block[: len(rows)], 0, found, nearest, sizes)
            for i, row in enumerate(rows):
                sort_heap(found[i], nearest[i], k)
                distances[row], indices[row] = found[i], nearest[i]

    @cached_property
    def _columns(self) -> Floats:
        return np.ascontiguousarray(self._points.T)
