"""Exact nearest-neighbor search in any metric, by whichever method computes fewer distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.distances.base import Metric, PreparedMetric
from separatrix.distances.loops.k_smallest import push_columns, sort_heap
from separatrix.distances.names import metric_from
from separatrix.distances.search import Neighbors, Search
from separatrix.distances.search.kd_tree import KDTree
from separatrix.distances.search.products import ProductSearch
from separatrix.distances.vectors import (
    Chebyshev,
    Cosine,
    Euclidean,
    Manhattan,
    Minkowski,
    SquaredEuclidean,
)
from separatrix.kernels.base import n_items
from separatrix.messages import InputError
from separatrix.rows.block import Floats

#: In more dimensions than this a k-d tree prunes next to nothing.
MAX_TREE_DIMENSIONS = 24
#: Time of one distance in a k-d tree over that in a matrix product, about.
TREE_COST = 8.0
#: Queries on which the number of distances of a k-d tree is measured.
TRIAL_QUERIES = 32
#: Fewer points than this get no tree.
MIN_TREE_POINTS = 256


class ExhaustiveSearch:
    """All distances, by blocks of rows: any metric, any objects."""

    def __init__(self, points: PreparedMetric) -> None:
        self._points = points

    def nearest(self, x: Any, k: int) -> Neighbors:
        """The k nearest points of every row of x."""
        n = n_items(x)
        distances = np.empty((n, k))
        indices = np.empty((n, k), dtype=np.int64)
        for part, rows in self._points.blocks(x):
            sizes = np.zeros(len(rows), dtype=np.int64)
            push_columns(rows, 0, distances[part], indices[part], sizes)
        for i in range(n):
            sort_heap(distances[i], indices[i], k)
        return Neighbors(distances, indices)


class TreeOrExhaustiveSearch:
    """A k-d tree if it computes few distances on the first queries, else all distances."""

    def __init__(self, metric: Metric, points: Floats, name: str) -> None:
        self._metric, self._points, self._name = metric, points, name
        self._tree: KDTree | None = None
        self._exhaustive: ProductSearch | ExhaustiveSearch | None = None
        if len(points) >= MIN_TREE_POINTS and points.shape[1] <= MAX_TREE_DIMENSIONS:
            self._tree = KDTree(points, name)

    def nearest(self, x: Any, k: int) -> Neighbors:
        """The k nearest points of every row of x."""
        x = self._metric.validate(x)
        if self._tree is not None and self._tree_is_faster(self._tree, x, k):
            return self._tree.nearest(x, k)
        if self._exhaustive is None:
            if self._name == "euclidean":
                self._exhaustive = ProductSearch(self._points)
            else:
                self._exhaustive = ExhaustiveSearch(self._metric.prepare(self._points))
        return self._exhaustive.nearest(x, k)

    def _tree_is_faster(self, tree: KDTree, x: Floats, k: int) -> bool:
        if not len(x):
            return True
        trial = x[:: max(1, len(x) // TRIAL_QUERIES)][:TRIAL_QUERIES]
        n_distances = tree.nearest_and_count(trial, k)[1] / len(trial)
        return n_distances * TREE_COST < len(self._points)


class EuclideanSearch:
    """Metrics that are Euclidean after a linear map (whitening, scaling to unit length)."""

    def __init__(self, metric: SquaredEuclidean, points: Floats) -> None:
        self._metric = metric
        self._center = points.mean(axis=0)
        self.search = TreeOrExhaustiveSearch(Euclidean(), self._transform(points), "euclidean")

    def nearest(self, x: Any, k: int) -> Neighbors:
        """The k nearest points of every row of x."""
        found = self.search.nearest(self._transform(self._metric.validate(x)), k)
        if isinstance(self._metric, Euclidean):
            return found
        factor = 0.5 if isinstance(self._metric, Cosine) else 1.0
        return Neighbors(factor * found.distances**2, found.indices)

    def _transform(self, x: Floats) -> Floats:
        """Without a map the coordinates stay exact."""
        if type(self._metric) in (Euclidean, SquaredEuclidean, Cosine):
            return x
        return self._metric.transform(x - self._center)


class NeighborSearch:
    """Nearest neighbors among fixed points.

    ``metric`` is a name, a :class:`Metric` or a function of two points; it is fitted to the points
    where it has parameters (a covariance, ranges).
    """

    def __init__(self, points: Any, metric: Any = "euclidean") -> None:
        self.metric = metric_from(metric).fitted(points)
        validated = self.metric.validate(points)
        self.n = n_items(validated)
        if not self.n:
            raise InputError("No points: there are no nearest neighbors.")
        self._columns = np.shape(validated)[1:] if isinstance(validated, np.ndarray) else None
        self._search = _search(self.metric, validated, points)

    def nearest(self, x: Any, k: int) -> Neighbors:
        """The k nearest points of every row of x, nearest first; ties in the order of points."""
        if not 1 <= k <= self.n:
            raise InputError(
                f"{k} neighbors were requested, among {self.n} points.",
                remedy=f"Request 1 to {self.n}.",
            )
        validated = self.metric.validate(x)
        if self._columns is not None and np.shape(validated)[1:] != self._columns:
            raise InputError(
                f"Rows of {np.shape(validated)[1]} columns have no neighbors among points with "
                f"{self._columns[0]} columns."
            )
        return self._search.nearest(x, k)

    def nearest_others(self, k: int, points: Any) -> Neighbors:
        """For the points themselves, in their order: the k nearest others."""
        if not 1 <= k < self.n:
            raise InputError(
                f"{k} other neighbors were requested, and there are {self.n - 1}.",
                remedy="Request fewer.",
            )
        found = self.nearest(points, k + 1)
        itself = found.indices == np.arange(self.n)[:, None]
        # of many equal points one may not be among its own nearest: then the last is dropped
        itself[~itself.any(axis=1), -1] = True
        return Neighbors(
            found.distances[~itself].reshape(self.n, k), found.indices[~itself].reshape(self.n, k)
        )


def _search(metric: Metric, validated: Any, points: Any) -> Search:
    if isinstance(metric, Minkowski):
        named = {1.0: Manhattan(), 2.0: Euclidean(), np.inf: Chebyshev()}
        metric = named.get(metric.p, metric)
    if isinstance(metric, SquaredEuclidean):
        return EuclideanSearch(metric, validated)
    if isinstance(metric, Manhattan):
        name = "chebyshev" if isinstance(metric, Chebyshev) else "manhattan"
        return TreeOrExhaustiveSearch(metric, validated, name)
    return ExhaustiveSearch(metric.prepare(points))
