"""k-d tree for Euclidean, Manhattan and Chebyshev distance in few dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.distances.loops import kd_tree, point_distances
from separatrix.distances.search import NeighborLists, Neighbors
from separatrix.rows.block import Floats
from separatrix.threads import MIN_PIECES, parallel_map, pieces

#: Points of a leaf, about: enough for whole vectors, few enough to prune most leaves.
LEAF_SIZE = 64
#: Queries of a piece, at least, and points of a subtree that one thread builds.
MIN_QUERIES, MIN_POINTS = 32, 4096

METRICS = {
    "euclidean": point_distances.EUCLIDEAN,
    "manhattan": point_distances.MANHATTAN,
    "chebyshev": point_distances.CHEBYSHEV,
}


class KDTree:
    """Points in nested boxes; each level halves them at the median of the widest dimension."""

    def __init__(self, points: Floats, metric: str = "euclidean") -> None:
        n, d = points.shape
        levels = max(0, int(np.ceil(np.log2(max(n, 1) / LEAF_SIZE))))
        nodes = 2 ** (levels + 1) - 1
        self.metric = METRICS[metric]
        self._order = np.empty(n, dtype=np.int64)
        self._starts = np.zeros((nodes, 2), dtype=np.int64)
        self._low, self._high = np.empty((nodes, d)), np.empty((nodes, d))
        points = np.ascontiguousarray(points, dtype=np.float64)
        self._build(points, levels)
        self._columns = np.empty((d, n))

        def gather(part: slice) -> None:
            self._columns[:, part] = points[self._order[part]].T

        parallel_map(gather, pieces(n, MIN_POINTS))
        boxes = (self._columns, self._starts, self._low, self._high)
        leaves = pieces(2**levels, 1 + MIN_POINTS // LEAF_SIZE)
        inner = 2**levels - 1
        parallel_map(
            lambda part: kd_tree.shrink_boxes(*boxes, inner + part.start, inner + part.stop), leaves
        )
        kd_tree.shrink_boxes(*boxes, 0, inner)

    def _build(self, points: Floats, levels: int) -> None:
        """Split level by level, nodes side by side, until there are enough subtrees of one each."""
        self._order[:] = np.arange(len(points))
        self._starts[0] = 0, len(points)
        if len(points):
            self._low[0], self._high[0] = points.min(axis=0), points.max(axis=0)
        tree = (points, self._order, self._starts, self._low, self._high)
        first, last = 0, 0
        while levels > 1 and first < min(MIN_PIECES - 1, len(points) // MIN_POINTS):
            parallel_map(lambda node: kd_tree.split(*tree, node, 1), range(first, last + 1))
            first, last, levels = 2 * first + 1, 2 * last + 2, levels - 1
        parallel_map(lambda node: kd_tree.split(*tree, node, levels), range(first, last + 1))

    def nearest(self, x: Floats, k: int) -> Neighbors:
        """The k nearest points of every row of x."""
        return self.nearest_and_count(x, k)[0]

    def nearest_and_count(self, x: Floats, k: int) -> tuple[Neighbors, int]:
        """The nearest points, and the number of distances computed to find them."""
        found, n_distances = self._query(x, k)
        if self.metric == point_distances.EUCLIDEAN:
            np.sqrt(found.distances, out=found.distances)
        return found, n_distances

    def nearest_reduced(self, x: Floats, k: int) -> Neighbors:
        """The nearest points, with squared distances if the metric is Euclidean."""
        return self._query(x, k)[0]

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The tree for compiled loops: columns, order, starts, low, high."""
        return self._columns, self._order, self._starts, self._low, self._high

    def within(self, x: Floats, radius: float) -> NeighborLists:
        """All points within a radius of every row of x."""
        x = np.ascontiguousarray(x, dtype=np.float64)
        euclidean = self.metric == point_distances.EUCLIDEAN
        reach = radius**2 * (1.0 + 1e-12) if euclidean else radius

        def query(part: slice) -> Any:
            return kd_tree.query_radius(x[part], *self.arrays, self.metric, reach)

        parts = parallel_map(query, pieces(len(x), MIN_QUERIES))
        counts, indices, distances = (np.concatenate(found) for found in zip(*parts, strict=True))
        if euclidean:
            np.sqrt(distances, out=distances)
        rows = np.repeat(np.arange(len(x)), counts)
        return NeighborLists.of_pairs(rows, indices, distances, len(x)).up_to(radius)

    def _query(self, x: Floats, k: int) -> tuple[Neighbors, int]:
        x = np.ascontiguousarray(x, dtype=np.float64)
        distances = np.empty((len(x), k))
        indices = np.empty((len(x), k), dtype=np.int64)

        def query(part: slice) -> int:
            return int(
                kd_tree.query(x[part], *self.arrays, self.metric, distances[part], indices[part])
            )

        n_distances = parallel_map(query, pieces(len(x), MIN_QUERIES))
        return Neighbors(distances, indices), sum(n_distances)
