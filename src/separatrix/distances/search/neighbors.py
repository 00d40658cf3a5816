"""Exact search in any metric, by whichever way measures fewer points."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.distances.base import Metric, PreparedMetric
from separatrix.distances.loops.nearest import in_order, sift
from separatrix.distances.metric_from import metric_from
from separatrix.distances.search.kd_tree import Tree
from separatrix.distances.search.products import Products
from separatrix.distances.search.result import Neighbors, Search
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

#: In more dimensions than this nearly all boxes of a tree would be opened.
MOST_DIMENSIONS = 24
#: A tree takes about this many times as long for a point that it measures as a matrix product.
PRICE_OF_A_TREE = 8.0
#: Rows on which the share of opened boxes is measured.
TRIED = 32
#: Fewer points are not worth sorting.
FEW_POINTS = 256


class Exhaustive:
    """Every distance, a block of rows at a time: any metric, any objects."""

    def __init__(self, points: PreparedMetric) -> None:
        self._points = points

    def nearest(self, x: Any, k: int) -> Neighbors:
        """The k nearest points of every row of x."""
        n = n_items(x)
        distances = np.empty((n, k))
        numbers = np.empty((n, k), dtype=np.int64)
        for part, rows in self._points.blocks(x):
            sift(rows, 0, distances[part], numbers[part], np.zeros(len(rows), dtype=np.int64))
        for i in range(n):
            in_order(distances[i], numbers[i], k)
        return Neighbors(distances, numbers)


class Straight:
    """A metric that is Euclidean after a map: whitened, weighted, or on the unit sphere."""

    def __init__(self, metric: SquaredEuclidean, points: Floats) -> None:
        self._metric = metric
        self._centre = points.mean(axis=0)
        self.search = Fastest(self._map(points), "euclidean")

    def nearest(self, x: Any, k: int) -> Neighbors:
        """The k nearest points of every row of x."""
        found = self.search.nearest(self._map(self._metric.validate(x)), k)
        if isinstance(self._metric, Euclidean):
            return found
        share = 0.5 if isinstance(self._metric, Cosine) else 1.0
        return Neighbors(share * found.distances**2, found.indices)

    def _map(self, x: Floats) -> Floats:
        """Plain distances keep the coordinates, and every digit of them."""
        if type(self._metric) in (Euclidean, SquaredEuclidean, Cosine):
            return x
        return self._metric.transform(x - self._centre)


class Fastest:
    """A tree as long as it leaves most boxes closed, else every distance by products.

    Both are exact; which is taken is measured on the first rows that are asked for.
    """

    def __init__(self, points: Floats, kind: str) -> None:
        self._points, self._kind = points, kind
        self._tree: Tree | None = None
        self._every: Products | Exhaustive | None = None
        if len(points) >= FEW_POINTS and points.shape[1] <= MOST_DIMENSIONS:
            self._tree = Tree(points, kind)

    def nearest(self, x: Floats, k: int) -> Neighbors:
        """The k nearest points of every row of x."""
        if self._tree is not None and self._pays(self._tree, x, k):
            return self._tree.nearest(x, k)
        if self._every is None:
            self._every = self._all_distances()
        return self._every.nearest(x, k)

    def _pays(self, tree: Tree, x: Floats, k: int) -> bool:
        if not len(x):
            return True
        tried = x[:: max(1, len(x) // TRIED)][:TRIED]
        measured = tree.counted(tried, k)[1] / len(tried)
        return measured * PRICE_OF_A_TREE < len(self._points)

    def _all_distances(self) -> Products | Exhaustive:
        if self._kind == "euclidean":
            return Products(self._points)
        metric: Metric = Manhattan() if self._kind == "manhattan" else Chebyshev()
        return Exhaustive(metric.prepare(self._points))


class NeighborSearch:
    """Points in a metric, to be asked for the nearest of them.

    ``metric`` is a name, a :class:`Metric` or a function of two points; it is fitted to the points
    where it has something to learn (a covariance, ranges).
    """

    def __init__(self, points: Any, metric: Any = "euclidean") -> None:
        self.metric = metric_from(metric).fitted(points)
        accepted = self.metric.validate(points)
        self.n = n_items(accepted)
        if not self.n:
            raise InputError("No points: nobody can be nearest.")
        self._columns = np.shape(accepted)[1:] if isinstance(accepted, np.ndarray) else None
        self._search: Search = _search(self.metric, accepted, points)

    def nearest(self, x: Any, k: int) -> Neighbors:
        """The k nearest points of every row of x, near to far; ties in the order of the points."""
        if not 1 <= k <= self.n:
            raise InputError(f"{k} neighbours were asked for, among {self.n} points.")
        accepted = self.metric.validate(x)
        if self._columns is not None and np.shape(accepted)[1:] != self._columns:
            raise InputError(
                f"Rows of {np.shape(accepted)[1]} columns have no neighbours among points with "
                f"{self._columns[0]} columns."
            )
        return self._search.nearest(x, k)

    def nearest_others(self, k: int, points: Any) -> Neighbors:
        """For the points themselves, in their order: the k nearest others."""
        if not 1 <= k < self.n:
            raise InputError(f"{k} other neighbours were asked for, and there are {self.n - 1}.")
        found = self.nearest(points, k + 1)
        itself = found.indices == np.arange(self.n)[:, None]
        # Of many equal points one may not be among its own nearest: then the last is dropped.
        itself[~itself.any(axis=1), -1] = True
        return Neighbors(
            found.distances[~itself].reshape(self.n, k), found.indices[~itself].reshape(self.n, k)
        )


def _search(metric: Metric, accepted: Any, points: Any) -> Search:
    if isinstance(metric, Minkowski):
        named = {1.0: Manhattan(), 2.0: Euclidean(), np.inf: Chebyshev()}
        metric = named.get(metric.p, metric)
    if isinstance(metric, SquaredEuclidean):
        return Straight(metric, accepted)
    if isinstance(metric, Manhattan):
        kind = "chebyshev" if isinstance(metric, Chebyshev) else "manhattan"
        return _Accepting(metric, Fastest(accepted, kind))
    return Exhaustive(metric.prepare(points))


class _Accepting:
    """Checks the rows that are asked for as the metric does, then searches."""

    def __init__(self, metric: Metric, search: Fastest) -> None:
        self._metric, self._search = metric, search

    def nearest(self, x: Any, k: int) -> Neighbors:
        """The k nearest points of every row of x."""
        return self._search.nearest(self._metric.validate(x), k)
