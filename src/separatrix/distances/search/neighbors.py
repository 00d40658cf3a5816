"""Exact nearest-neighbor search in any metric, by whichever method computes fewer distances."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.distances.base import Metric, PreparedMetric
from separatrix.distances.loops.k_smallest import push_columns, sort_heap
from separatrix.distances.names import PrecomputedDistances, metric_from, require_square
from separatrix.distances.search import NeighborLists, Neighbors, Search
from separatrix.distances.search.few_points import nearest_of_few
from separatrix.distances.search.given import GivenSearch, as_graph
from separatrix.distances.search.kd_tree import KDTree
from separatrix.distances.search.products import ProductSearch
from separatrix.distances.search.sparse_rows import SparseSearch, stays_sparse
from separatrix.distances.vectors import (
    LARGEST,
    Chebyshev,
    Cosine,
    Euclidean,
    Manhattan,
    Minkowski,
    SquaredEuclidean,
    beyond_squares,
)
from separatrix.kernels.base import n_items
from separatrix.messages import InputError
from separatrix.rows.block import Floats

#: In more dimensions than this a k-d tree prunes next to nothing.
MAX_TREE_DIMENSIONS = 24
#: Time of one distance in a k-d tree over that of one among all, about.
TREE_COST = 8.0
#: Nanoseconds by products, about: of a query, of a point, of a feature of a point.
QUERY_TIME, POINT_TIME, FEATURE_TIME = 15_000.0, 0.6, 0.016
#: Nanoseconds in a k-d tree, about: of a query, of a distance, of a feature of a distance.
TREE_QUERY_TIME, TREE_POINT_TIME, TREE_FEATURE_TIME = 4_000.0, 10.0, 0.7
#: Queries on which the number of distances of a k-d tree is measured.
TRIAL_QUERIES = 32
#: A tree inserts neighbors one by one; more than this are found among all distances.
MAX_TREE_NEIGHBORS = 512
#: Fewer points than this get no tree.
MIN_TREE_POINTS = 256
#: Pairs of a row and a point times columns up to which NumPy is as fast as loops to be compiled.
FEW_NUMBERS = 300_000


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

    def within(self, x: Any, radius: float) -> NeighborLists:
        """All points within a radius of every row of x, by blocks of rows."""
        found = []
        for part, rows in self._points.blocks(x):
            i, j = np.nonzero(rows <= radius)
            found.append((i + part.start, j, rows[i, j]))
        return _lists(found, n_items(x))


class TreeOrExhaustiveSearch:
    """A k-d tree if it computes few distances on the first queries, else all distances."""

    def __init__(self, metric: Metric, points: Floats, name: str) -> None:
        self._metric, self._points, self._name = metric, points, name
        self._tree: KDTree | None = None
        #: Squares of such coordinates leave the range of numbers; the metric itself scales them.
        self._scaled = name == "euclidean" and beyond_squares(points)
        few = len(points) < MIN_TREE_POINTS or points.shape[1] > MAX_TREE_DIMENSIONS
        if not few and not self._scaled:
            self._tree = KDTree(points, name)

    @cached_property
    def _pairs(self) -> ExhaustiveSearch:
        return ExhaustiveSearch(self._metric.prepare(self._points))

    @cached_property
    def _exhaustive(self) -> ProductSearch | ExhaustiveSearch:
        by_products = self._name == "euclidean" and not self._scaled
        return ProductSearch(self._points) if by_products else self._pairs

    def nearest(self, x: Any, k: int) -> Neighbors:
        """The k nearest points of every row of x."""
        x = self._metric.validate(x)
        far = self._out_of_range(x)
        if far.all():
            return self._pairs.nearest(x, k)
        if far.any():
            distances, indices = np.empty((len(x), k)), np.empty((len(x), k), dtype=np.int64)
            for rows, search in ((far, self._pairs), (~far, self)):
                found = search.nearest(x[rows], k)
                distances[rows], indices[rows] = found.distances, found.indices
            return Neighbors(distances, indices)
        if self._is_small(x):
            return nearest_of_few(x, self._points, k)
        if self._tree is not None and self._tree_is_faster(self._tree, x, k):
            return self._tree.nearest(x, k)
        return self._exhaustive.nearest(x, k)

    def within(self, x: Any, radius: float) -> NeighborLists:
        """All points within a radius of every row of x."""
        x = self._metric.validate(x)
        if self._name == "euclidean" and (self._out_of_range(x).any() or self._tree is None):
            return self._exact_within(x, radius)
        if self._tree is None:
            return self._pairs.within(x, radius)
        return self._tree.within(x, radius)

    def _exact_within(self, x: Floats, radius: float) -> NeighborLists:
        """Candidates by matrix products within a bound on their error, then exact distances."""
        margin = 1.0 + 1e7 * np.finfo(float).eps * (x.shape[1] + 8)
        near = self._pairs.within(x, radius * margin)
        rows, step = near.rows, max(1, (1 << 20) // max(1, x.shape[1]))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            difference = np.abs(x[rows[part]] - self._points[near.indices[part]])
            largest = difference.max(axis=1, initial=0.0)
            scaled = difference / np.where(largest > 0.0, largest, 1.0)[:, None]
            near.distances[part] = largest * np.sqrt((scaled**2).sum(axis=1))
        return near.up_to(radius)

    def _out_of_range(self, x: Floats) -> Any:
        """Rows whose squared distances no fast method computes."""
        if self._scaled:
            return np.ones(len(x), dtype=np.bool_)
        if self._name != "euclidean":
            return np.zeros(len(x), dtype=np.bool_)
        return np.abs(x).max(axis=1, initial=0.0) > LARGEST

    def _is_small(self, x: Floats) -> bool:
        """Whether so few distances are needed that nothing is worth compiling."""
        n, d = self._points.shape
        small = n < MIN_TREE_POINTS and len(x) * n * (d + 4) <= FEW_NUMBERS
        return small and self._name == "euclidean"

    def _tree_is_faster(self, tree: KDTree, x: Floats, k: int) -> bool:
        if k > MAX_TREE_NEIGHBORS:
            return False
        if not len(x):
            return True
        trial = x[:: max(1, len(x) // TRIAL_QUERIES)][:TRIAL_QUERIES]
        n_distances = tree.nearest_and_count(trial, k)[1] / len(trial)
        n, d = self._points.shape
        if self._name != "euclidean":
            return bool(n_distances * TREE_COST < n)
        by_tree = TREE_QUERY_TIME + n_distances * (TREE_POINT_TIME + TREE_FEATURE_TIME * d)
        return bool(by_tree < QUERY_TIME + n * (POINT_TIME + FEATURE_TIME * d))


class EuclideanSearch:
    """Metrics that are Euclidean after a map (whitening, unit vectors), or a function of that."""

    def __init__(self, metric: SquaredEuclidean, points: Floats) -> None:
        self._metric = metric
        self._center = np.zeros(points.shape[1])
        if self._maps and not beyond_squares(points):
            self._center = points.mean(axis=0)
        self.search = TreeOrExhaustiveSearch(Euclidean(), self._transform(points), "euclidean")

    def nearest(self, x: Any, k: int) -> Neighbors:
        """The k nearest points of every row of x."""
        found = self.search.nearest(self._transform(self._metric.validate(x)), k)
        return Neighbors(self._metric.of_euclidean(found.distances), found.indices)

    def within(self, x: Any, radius: float) -> NeighborLists:
        """All points within a radius of every row of x."""
        reach = self._metric.euclidean_radius(radius) * (1.0 + 1e-14)
        found = self.search.within(self._transform(self._metric.validate(x)), reach)
        distances = self._metric.of_euclidean(found.distances)
        return NeighborLists(found.starts, found.indices, distances).up_to(radius)

    @property
    def _maps(self) -> bool:
        """Whether there is a linear map; without one the coordinates stay exact."""
        return type(self._metric).transform is not SquaredEuclidean.transform

    def _transform(self, x: Floats) -> Floats:
        return self._metric.transform(x - self._center) if self._maps else self._metric.embed(x)


class DirectionSearch(EuclideanSearch):
    """Cosine distances: Euclidean ones of unit vectors, unless some row is zero."""

    def __init__(self, metric: Cosine, points: Floats) -> None:
        super().__init__(metric, points)
        self._pairs = ExhaustiveSearch(metric.prepare(points))
        self._zeros = not points.any(axis=1).all()

    def nearest(self, x: Any, k: int) -> Neighbors:
        """The k nearest points of every row of x."""
        zeros = self._zeros or not self._metric.validate(x).any(axis=1).all()
        return self._pairs.nearest(x, k) if zeros else super().nearest(x, k)

    def within(self, x: Any, radius: float) -> NeighborLists:
        """All points within a radius of every row of x."""
        zeros = self._zeros or not self._metric.validate(x).any(axis=1).all()
        return self._pairs.within(x, radius) if zeros else super().within(x, radius)


class MappedSearch:
    """Points and queries go through a map first."""

    def __init__(self, search: Search, transform: Callable[[Any], Any]) -> None:
        self._search, self._transform = search, transform

    def nearest(self, x: Any, k: int) -> Neighbors:
        """The k nearest points of every row of x."""
        return self._search.nearest(self._transform(x), k)

    def within(self, x: Any, radius: float) -> NeighborLists:
        """All points within a radius of every row of x."""
        return self._search.within(self._transform(x), radius)


class NeighborSearch:
    """Nearest neighbors among fixed points.

    ``metric`` is a name, a :class:`Metric` or a function of two points; it is fitted to the points
    where it has parameters (a covariance, ranges). Points with precomputed distances are a square
    matrix, or a sparse graph of neighbors.
    """

    def __init__(self, points: Any, metric: Any = "euclidean") -> None:
        self._search: Search
        self._columns: Any = None
        self.metric = metric_from(metric)
        if isinstance(self.metric, PrecomputedDistances):
            points = as_graph(points) if sparse.issparse(points) else self.metric.validate(points)
            require_square(points)
            self.n = n_items(points)
            self._search = GivenSearch(self.n)
            return
        if stays_sparse(points, self.metric):
            self.n = points.shape[0]
            self._search = SparseSearch(points, self.metric)
            return
        self.metric = self.metric.fitted(points)
        validated = self.metric.validate(points)
        self.n = n_items(validated)
        if not self.n:
            raise InputError("No points: there are no nearest neighbors.")
        if isinstance(validated, np.ndarray):
            self._columns = np.shape(validated)[1:]
        self._search = _search(self.metric, validated, points)

    def nearest(self, x: Any, k: int) -> Neighbors:
        """The k nearest points of every row of x, nearest first; ties in the order of points."""
        if not 1 <= k <= self.n:
            raise InputError(
                f"{k} neighbors were requested, among {self.n} points: expected n_neighbors <= "
                "n_samples_fit.",
                remedy=f"Request 1 to {self.n}.",
            )
        self._check_columns(x)
        return self._search.nearest(x, k)

    def within(self, x: Any, radius: float) -> NeighborLists:
        """All points within ``radius`` of every row of x, in the order of points."""
        if not radius >= 0.0:
            raise InputError(f"radius={radius!r} is no distance.", remedy="Give 0 or more.")
        self._check_columns(x)
        return self._search.within(x, float(radius))

    def nearest_others(self, k: int, points: Any) -> Neighbors:
        """For the points themselves, in their order: the k nearest others."""
        if not 1 <= k < self.n:
            raise InputError(
                f"{k} other neighbors were requested, and there are {self.n - 1}: expected "
                "n_neighbors < n_samples_fit.",
                remedy="Request fewer.",
            )
        found = self.nearest(points, k + 1)
        itself = found.indices == np.arange(self.n)[:, None]
        # of many equal points one may not be among its own nearest: then the last is dropped
        itself[~itself.any(axis=1), -1] = True
        return Neighbors(
            found.distances[~itself].reshape(self.n, k), found.indices[~itself].reshape(self.n, k)
        )

    def others_within(self, radius: float, points: Any) -> NeighborLists:
        """For the points themselves, in their order: all others within ``radius``."""
        found = self.within(points, radius)
        return found.where(found.indices != found.rows)

    def _check_columns(self, x: Any) -> None:
        if self._columns is None:
            return
        validated = self.metric.validate(x)
        if np.shape(validated)[1:] != self._columns:
            raise InputError(
                f"Rows of {np.shape(validated)[1]} columns have no neighbors among points with "
                f"{self._columns[0]} columns."
            )


def _lists(pairs: list[tuple[Any, Any, Floats]], n: int) -> NeighborLists:
    """Pairs found block by block, rows in order."""
    if not pairs:
        nothing = np.empty(0, dtype=np.int64)
        return NeighborLists(np.zeros(n + 1, dtype=np.int64), nothing, np.empty(0))
    rows, indices, distances = (np.concatenate(part) for part in zip(*pairs, strict=True))
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    return NeighborLists(starts.astype(np.int64), indices.astype(np.int64), distances)


def _search(metric: Metric, validated: Any, points: Any) -> Search:
    if isinstance(metric, Minkowski) and metric.p in (1.0, 2.0, np.inf):
        scaled = metric.scaled(validated)
        search = _search(metric.unweighted(), scaled, scaled)
        return search if metric.w is None else MappedSearch(search, _scaling(metric))
    if isinstance(metric, Cosine):
        return DirectionSearch(metric, validated)
    if isinstance(metric, SquaredEuclidean):
        return EuclideanSearch(metric, validated)
    if isinstance(metric, Manhattan):
        name = "chebyshev" if isinstance(metric, Chebyshev) else "manhattan"
        return TreeOrExhaustiveSearch(metric, validated, name)
    return ExhaustiveSearch(metric.prepare(points))


def _scaling(metric: Minkowski) -> Callable[[Any], Any]:
    return lambda x: metric.scaled(metric.validate(x))
