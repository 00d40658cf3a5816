"""k-d tree for Euclidean, Manhattan and Chebyshev distance in few dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.distances.loops import kd_tree, point_distances
from separatrix.distances.search import NeighborLists, Neighbors
from separatrix.rows.block import Floats, Ints
from separatrix.threads import MIN_PIECES, parallel_map, pieces

#: Points of a leaf, about: enough for whole vectors, few enough to prune most leaves.
LEAF_SIZE = 64
#: Queries of a piece, at least, and points of a subtree that one thread builds.
MIN_QUERIES, MIN_POINTS = 32, 4096
#: Nodes that wait to be visited, at most: two on every level.
STACK = 128

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
        self._shrink_boxes(levels)
        leaves = self._starts[2**levels - 1 :]
        self._largest_leaf = int((leaves[:, 1] - leaves[:, 0]).max())

    def _shrink_boxes(self, levels: int) -> None:
        """Cells become the bounding boxes of their points: first of leaves, then level by level."""
        first = 2**levels - 1
        starts = self._starts[first:, 0]
        if not self._columns.size:
            return

        def leaves(part: slice) -> None:
            here = slice(first + part.start, first + part.stop)
            points = self._columns[:, starts[part.start] : self._starts[here.stop - 1, 1]]
            at = starts[part] - starts[part.start]
            self._low[here] = np.minimum.reduceat(points, at, axis=1).T
            self._high[here] = np.maximum.reduceat(points, at, axis=1).T

        parallel_map(leaves, pieces(len(starts), 1 + MIN_POINTS // LEAF_SIZE))
        for level in range(levels - 1, -1, -1):
            nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
            below = slice(2 ** (level + 1) - 1, 2 ** (level + 2) - 1)
            self._low[nodes] = self._low[below].reshape(2**level, 2, -1).min(axis=1)
            self._high[nodes] = self._high[below].reshape(2**level, 2, -1).max(axis=1)

    def _build(self, points: Floats, levels: int) -> None:
        """Split level by level, nodes side by side, until there are enough subtrees of one each."""
        self._order[:] = np.arange(len(points))
        self._starts[0] = 0, len(points)
        if len(points):
            self._low[0], self._high[0] = points.min(axis=0), points.max(axis=0)
        keys = np.empty(len(points))
        tree = (points, self._order, keys, self._starts, self._low, self._high)
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

        def query(part: slice) -> tuple[Ints, Ints, Floats]:
            rows = x[part]
            row, size, counts = 0, 0, np.zeros(len(rows), dtype=np.int64)
            indices, distances = np.empty(0, dtype=np.int64), np.empty(0)
            while row < len(rows):
                more = max(self._largest_leaf, 16 * len(rows), 2 * indices.size)
                indices = np.concatenate([indices[:size], np.empty(more, dtype=np.int64)])
                distances = np.concatenate([distances[:size], np.empty(more)])
                row, size = kd_tree.query_radius(
                    rows, *self.arrays, self.metric, *self._room(), reach, row, size, counts,
                    indices, distances,
                )  # fmt: skip
            return counts, indices[:size], distances[:size]

        parts = parallel_map(query, pieces(len(x), MIN_QUERIES))
        counts, indices, distances = (np.concatenate(found) for found in zip(*parts, strict=True))
        if euclidean:
            np.sqrt(distances, out=distances)
        rows = np.repeat(np.arange(len(x)), counts)
        return NeighborLists.of_pairs(rows, indices, distances, len(x)).up_to(radius)

    def _room(self) -> tuple[Floats, Ints]:
        """Room for the distances to a leaf, and for a stack of nodes."""
        return np.empty(self._largest_leaf), np.empty(STACK, dtype=np.int64)

    def _query(self, x: Floats, k: int) -> tuple[Neighbors, int]:
        x = np.ascontiguousarray(x, dtype=np.float64)
        distances = np.empty((len(x), k))
        indices = np.empty((len(x), k), dtype=np.int64)

        def query(part: slice) -> int:
            room = (*self._room(), np.empty(STACK), distances[part], indices[part])
            return int(kd_tree.query(x[part], *self.arrays, self.metric, *room))

        n_distances = parallel_map(query, pieces(len(x), MIN_QUERIES))
        return Neighbors(distances, indices), sum(n_distances)
