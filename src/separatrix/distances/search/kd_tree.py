"""Search by a k-d tree, for Euclidean, Manhattan and Chebyshev distance in few dimensions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from separatrix.distances.loops import kd_tree, point_distances
from separatrix.distances.search.result import Neighbors
from separatrix.rows.block import Floats

#: Points in a leaf, about: enough for whole vectors, few enough to leave most leaves closed.
LEAF = 64
#: Rows below which one thread is enough.
WORTH_A_THREAD = 200

KINDS = {
    "euclidean": point_distances.EUCLIDEAN,
    "manhattan": point_distances.MANHATTAN,
    "chebyshev": point_distances.CHEBYSHEV,
}


class Tree:
    """Points sorted into boxes, each level halving them across their longest side."""

    def __init__(self, points: Floats, kind: str = "euclidean") -> None:
        n, d = points.shape
        levels = max(0, int(np.ceil(np.log2(max(n, 1) / LEAF))))
        nodes = 2 ** (levels + 1) - 1
        self.kind = KINDS[kind]
        self._order = np.empty(n, dtype=np.int64)
        self._starts = np.zeros((nodes, 2), dtype=np.int64)
        self._low, self._high = np.empty((nodes, d)), np.empty((nodes, d))
        points = np.ascontiguousarray(points, dtype=np.float64)
        self._split(points, levels)
        self._columns = np.ascontiguousarray(points[self._order].T)
        kd_tree.tighten(self._columns, self._starts, self._low, self._high)

    def _split(self, points: Floats, levels: int) -> None:
        """The first cut, then both halves at the same time."""
        self._order[:] = np.arange(len(points))
        self._starts[0] = 0, len(points)
        if len(points):
            self._low[0], self._high[0] = points.min(axis=0), points.max(axis=0)
        tree = (points, self._order, self._starts, self._low, self._high)
        kd_tree.split(*tree, 0, min(levels, 1))
        if levels > 1:
            with ThreadPoolExecutor(1) as pool:
                other = pool.submit(lambda: kd_tree.split(*tree, 2, levels - 1))
                kd_tree.split(*tree, 1, levels - 1)
                other.result()

    def nearest(self, x: Floats, k: int) -> Neighbors:
        """The k nearest points of every row of x."""
        return self.counted(x, k)[0]

    def counted(self, x: Floats, k: int) -> tuple[Neighbors, int]:
        """The nearest points, and how many points had to be measured to find them."""
        found, measured = self._asked(x, k)
        if self.kind == point_distances.EUCLIDEAN:
            np.sqrt(found.distances, out=found.distances)
        return found, measured

    def raw(self, x: Floats, k: int) -> Neighbors:
        """The nearest points, with distances as they are compared: squares if Euclidean."""
        return self._asked(x, k)[0]

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The tree for compiled loops: columns, order, starts, low, high."""
        return self._columns, self._order, self._starts, self._low, self._high

    def _asked(self, x: Floats, k: int) -> tuple[Neighbors, int]:
        x = np.ascontiguousarray(x, dtype=np.float64)
        distances = np.empty((len(x), k))
        numbers = np.empty((len(x), k), dtype=np.int64)

        def ask(part: slice) -> int:
            return int(
                kd_tree.query(x[part], *self.arrays, self.kind, distances[part], numbers[part])
            )

        half = len(x) // 2
        if len(x) < WORTH_A_THREAD:
            measured = ask(slice(None))
        else:
            with ThreadPoolExecutor(1) as pool:
                other = pool.submit(ask, slice(half, None))
                measured = ask(slice(None, half)) + other.result()
        return Neighbors(distances, numbers), measured
