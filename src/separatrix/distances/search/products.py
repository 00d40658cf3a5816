"""Search by matrix products, for Euclidean distance in many dimensions.

‖z‖² − 2 x·z orders the points by distance from x, and comes out of one matrix product in single
precision. It is only used to find candidates, some more than k; those are measured again in double
precision. The error of the product is bounded, and so it is known whether a point left out could
have been among the k nearest. The few rows for which it could are searched in double precision.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from separatrix.distances.loops.distances import plain
from separatrix.distances.loops.nearest import in_order, measured_again, sift
from separatrix.distances.loops.point_distances import EUCLIDEAN
from separatrix.distances.search.result import Neighbors
from separatrix.rows.block import Floats
from separatrix.threads import one_blas_thread

ROWS, POINTS = 256, 512
SPARE = 6
#: Rows that are searched in double precision together.
FINE_ROWS = 16


class Products:
    """Points about their centre, in single precision for finding and in double for measuring."""

    def __init__(self, points: Floats) -> None:
        self._points = np.ascontiguousarray(points, dtype=np.float64)
        self._centre = self._points.mean(axis=0)
        about = self._points - self._centre
        norms = np.einsum("ij,ij->i", about, about)
        self._reach = float(norms.max(initial=0.0))
        # Lengths are scaled to one at most: no unit leaves the range of single precision.
        self._unit = np.sqrt(self._reach) or 1.0
        self._fine = np.ascontiguousarray(
            np.vstack([about.T / self._unit, norms / self._unit**2]), dtype=np.float32
        )

    def nearest(self, x: Floats, k: int) -> Neighbors:
        """The k nearest points of every row of x."""
        x = np.ascontiguousarray(x, dtype=np.float64)
        distances = np.empty((len(x), k))
        numbers = np.empty((len(x), k), dtype=np.int64)
        starts = range(0, len(x), ROWS)

        def some(starts: range) -> None:
            for start in starts:
                part = slice(start, start + ROWS)
                self._search(x[part], distances[part], numbers[part])

        with one_blas_thread(), ThreadPoolExecutor(1) as pool:
            other = pool.submit(some, starts[1::2])
            some(starts[::2])
            other.result()
        np.sqrt(distances, out=distances)
        return Neighbors(distances, numbers)

    def _search(self, x: Floats, distances: Floats, numbers: NDArray[np.int64]) -> None:
        n, k = len(self._points), distances.shape[1]
        m = min(n, k + max(SPARE, k // 4))
        about = (x - self._centre) / self._unit
        own = np.einsum("ij,ij->i", about, about)
        coarse = np.empty((len(x), x.shape[1] + 1), dtype=np.float32)
        # Rows far outside the cloud would overflow; they are searched in double precision.
        outside = own > 1e12
        coarse[:, :-1] = np.where(outside[:, None], 0.0, -2.0 * about)
        coarse[:, -1] = 1.0
        scores = np.empty((len(x), min(POINTS, n)), dtype=np.float32)
        found = np.empty((len(x), m), dtype=np.float32)
        candidates = np.empty((len(x), m), dtype=np.int64)
        sizes = np.zeros(len(x), dtype=np.int64)
        for start in range(0, n, POINTS):
            stop = min(start + POINTS, n)
            tile = scores[:, : stop - start]
            np.matmul(coarse, self._fine[:, start:stop], out=tile)
            sift(tile, start, found, candidates, sizes)
        limits = np.full(len(x), np.inf)
        if m < n:
            error = (x.shape[1] + 8) * np.finfo(np.float32).eps * (1.0 + 2.0 * np.sqrt(own))
            limits = (found[:, 0].astype(float) - error + own) * self._unit**2
        doubtful = np.zeros(len(x), dtype=np.bool_)
        measured_again(x, self._points, candidates, limits, distances, numbers, doubtful)
        self._search_finely(x, np.flatnonzero(doubtful | outside), distances, numbers)

    def _search_finely(
        self, x: Floats, which: NDArray[np.int64], distances: Floats, numbers: NDArray[np.int64]
    ) -> None:
        """Every distance in double precision, for rows in which single precision cannot tell."""
        if not len(which):
            return
        k = distances.shape[1]
        every = np.empty((min(len(which), FINE_ROWS), len(self._points)))
        for start in range(0, len(which), FINE_ROWS):
            rows = which[start : start + FINE_ROWS]
            plain(x[rows], self._columns, EUCLIDEAN, every[: len(rows)])
            near = np.empty((len(rows), k), dtype=np.int64)
            found = np.empty((len(rows), k))
            sift(every[: len(rows)], 0, found, near, np.zeros(len(rows), dtype=np.int64))
            for i, row in enumerate(rows):
                in_order(found[i], near[i], k)
                distances[row], numbers[row] = found[i], near[i]

    @cached_property
    def _columns(self) -> Floats:
        return np.ascontiguousarray(self._points.T)
