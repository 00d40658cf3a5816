"""Exact nearest-neighbor search: k-d tree in few dimensions, matrix products in many."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.distances import loops, metrics
from separatrix.distances import loops as kd_tree
from separatrix.distances.graphs import GraphDistance
from separatrix.distances.loops import ROWS
from separatrix.distances.metrics import Metric, PreparedMetric, center_and_reach
from separatrix.distances.names import PrecomputedDistances, metric_from, require_square
from separatrix.matrices.loops import sparse_gram_rows
from separatrix.messages import InputError
from separatrix.rows.schema import n_items
from separatrix.threads import MIN_PIECES, parallel_map, pieces


@dataclass(frozen=True)
class Neighbors:
    """The k nearest points of every row, nearest first; ties in the order of the points."""

    distances: Floats
    indices: Ints


@dataclass(frozen=True)
class NeighborLists:
    """Points within a radius of every row, in their order; as many as there are.

    The points of row i are ``indices[starts[i]:starts[i + 1]]``.
    """

    starts: Ints
    indices: Ints
    distances: Floats

    @classmethod
    def of_pairs(cls, rows: Ints, indices: Ints, distances: Floats, n: int) -> NeighborLists:
        """From pairs of a row and a point, in any order."""
        order = np.lexsort((indices, rows))
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
        return cls(starts.astype(np.int64), indices[order], distances[order])

    @classmethod
    def of_blocks(cls, blocks: Sequence[NeighborLists]) -> NeighborLists:
        """From those of blocks of rows, in order."""
        counts = np.concatenate([np.diff(block.starts) for block in blocks])
        return cls(
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            np.concatenate([block.indices for block in blocks]),
            np.concatenate([block.distances for block in blocks]),
        )

    @property
    def rows(self) -> Ints:
        """The row of every pair."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def where(self, chosen: NDArray[np.bool_]) -> NeighborLists:
        """Some of the pairs only."""
        before = np.concatenate([[0], np.cumsum(chosen)])
        return NeighborLists(before[self.starts], self.indices[chosen], self.distances[chosen])

    def up_to(self, radius: float) -> NeighborLists:
        """Pairs at most ``radius`` apart."""
        near = self.distances <= radius
        return self if near.all() else self.where(near)

    def nearest_first(self) -> NeighborLists:
        """The points of every row from near to far; ties in the order of the points."""
        order = np.lexsort((self.indices, self.distances, self.rows))
        return NeighborLists(self.starts, self.indices[order], self.distances[order])

    def split(self, values: Any) -> Any:
        """Values of pairs as one array for each row, in an array of objects."""
        parts = np.empty(len(self.starts) - 1, dtype=object)
        for i in range(len(parts)):
            parts[i] = values[self.starts[i] : self.starts[i + 1]]
        return parts


class NeighborIndex(Protocol):
    """A nearest-neighbor index over a set of points; queries are validated by its metric."""

    def nearest(self, x: Any, k: int) -> Neighbors:
        """The k nearest points of every row of x."""

    def within(self, x: Any, radius: float) -> NeighborLists:
        """All points within a radius of every row of x."""


# -------------------------------------------------------------------------------------------------
# Exact nearest-neighbor search in any metric, by whichever method computes fewer distances.


#: Fewer points than this get no tree.
MIN_TREE_POINTS = 256
#: Products of a block of rows with all points.
BLOCK_ENTRIES = 1 << 20


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
            loops.push_columns(rows, 0, distances[part], indices[part], sizes)
        for i in range(n):
            loops.sort_heap(distances[i], indices[i], k)
        return Neighbors(distances, indices)

    def within(self, x: Any, radius: float) -> NeighborLists:
        """All points within a radius of every row of x, by blocks of rows."""
        lists = []
        for part, rows in self._points.blocks(x):
            i, j = np.nonzero((rows <= radius) & np.isfinite(rows))
            lists.append((i + part.start, j, rows[i, j]))
        return _lists(lists, n_items(x))


class TreeOrExhaustiveSearch:
    """A k-d tree if it computes few distances on the first queries, else all distances."""

    def __init__(self, metric: Metric, points: Floats, name: str) -> None:
        self._metric, self._points, self._name = metric, points, name
        self._tree: KDTree | None = None
        #: Squares of such coordinates leave the range of numbers; the metric itself scales them.
        self._scaled = name == "euclidean" and metrics.beyond_squares(points)
        # In more dimensions than this a k-d tree prunes almost nothing.
        few = len(points) < MIN_TREE_POINTS or points.shape[1] > 24
        if not few and not self._scaled:
            self._tree = KDTree(points, name)

    @cached_property
    def _pairs(self) -> ExhaustiveSearch:
        return ExhaustiveSearch(self._metric.prepare(self._points))

    @cached_property
    def _products(self) -> RadiusSearch:
        return RadiusSearch(self._points)

    @cached_property
    def _exhaustive(self) -> ProductSearch | ExhaustiveSearch:
        by_products = self._name == "euclidean" and not self._scaled
        return ProductSearch(self._points) if by_products else self._pairs

    def nearest(self, x: Any, k: int) -> Neighbors:
        """The k nearest points of every row of x."""
        far = self._out_of_range(x)
        if far.all():
            return self._pairs.nearest(x, k)
        if far.any():
            distances, indices = np.empty((len(x), k)), np.empty((len(x), k), dtype=np.int64)
            for rows, search in ((far, self._pairs), (~far, self)):
                neighbors = search.nearest(x[rows], k)
                distances[rows], indices[rows] = neighbors.distances, neighbors.indices
            return Neighbors(distances, indices)
        if self._is_small(x):
            return nearest_of_few(x, self._points, k)
        if self._tree is not None and self._tree_is_faster(self._tree, x, k):
            return self._tree.nearest(x, k)
        return self._exhaustive.nearest(x, k)

    def within(self, x: Any, radius: float) -> NeighborLists:
        """All points within a radius of every row of x."""
        if self._out_of_range(x).any() or (self._tree is None and self._name != "euclidean"):
            return self._pairs.within(x, radius)
        if self._tree is None:
            return self._products.within(x, radius)
        return self._tree.within(x, radius)

    def _out_of_range(self, x: Floats) -> Any:
        """Rows whose squared distances no fast method computes."""
        if self._scaled:
            return np.ones(len(x), dtype=np.bool_)
        if self._name != "euclidean":
            return np.zeros(len(x), dtype=np.bool_)
        largest = np.maximum(x.max(axis=1, initial=0.0), -x.min(axis=1, initial=0.0))
        return np.asarray(largest > metrics.LARGEST)

    def _is_small(self, x: Floats) -> bool:
        """Whether so few distances are needed that nothing is worth compiling."""
        n, d = self._points.shape
        # Pairs of a row and a point times columns up to which NumPy is as fast as loops to be
        # compiled.
        small = n < MIN_TREE_POINTS and len(x) * n * (d + 4) <= 300_000
        return small and self._name == "euclidean"

    def _tree_is_faster(self, tree: KDTree, x: Floats, k: int) -> bool:
        # A tree inserts neighbors one by one; more than this are found among all distances.
        if k > 512:
            return False
        if not len(x):
            return True
        trial_queries = 32  # queries on which the number of distances of a k-d tree is measured
        trial = x[:: max(1, len(x) // trial_queries)][:trial_queries]
        n_distances = tree.nearest_and_count(trial, k)[1] / len(trial)
        n, d = self._points.shape
        if self._name != "euclidean":
            # Time of one distance in a k-d tree over that of one among all, about.
            return bool(n_distances * 8.0 < n)
        # Nanoseconds in a k-d tree, about: of a query, of a distance, of a feature of a distance.
        by_tree = 4_000.0 + n_distances * (10.0 + 0.7 * d)
        # Nanoseconds by products, about: of a query, of a point, of a feature of a point.
        return bool(by_tree < 15_000.0 + n * (0.6 + 0.016 * d))


class EuclideanSearch:
    """Metrics that are Euclidean after a map (whitening, unit vectors), or a function of that."""

    def __init__(self, metric: metrics.SquaredEuclidean, points: Floats) -> None:
        self._metric = metric
        self._center = np.zeros(points.shape[1])
        if self._maps and not metrics.beyond_squares(points):
            self._center = points.mean(axis=0)
        self.search = TreeOrExhaustiveSearch(
            metrics.Euclidean(), self._transform(points), "euclidean"
        )

    def nearest(self, x: Any, k: int) -> Neighbors:
        """The k nearest points of every row of x."""
        neighbors = self.search.nearest(self._transform(x), k)
        return Neighbors(self._metric.of_euclidean(neighbors.distances), neighbors.indices)

    def within(self, x: Any, radius: float) -> NeighborLists:
        """All points within a radius of every row of x."""
        reach = self._metric.euclidean_radius(radius) * (1.0 + 1e-14)
        neighbors = self.search.within(self._transform(x), reach)
        distances = self._metric.of_euclidean(neighbors.distances)
        return NeighborLists(neighbors.starts, neighbors.indices, distances).up_to(radius)

    @property
    def _maps(self) -> bool:
        """Whether there is a linear map; without one the coordinates stay exact."""
        return type(self._metric).transform is not metrics.SquaredEuclidean.transform

    def _transform(self, x: Floats) -> Floats:
        return self._metric.transform(x - self._center) if self._maps else self._metric.embed(x)


class DirectionSearch(EuclideanSearch):
    """Cosine distances: Euclidean ones of unit vectors, unless some row is zero."""

    def __init__(self, metric: metrics.Cosine, points: Floats) -> None:
        super().__init__(metric, points)
        self._pairs = ExhaustiveSearch(metric.prepare(points))
        self._zeros = not points.any(axis=1).all()

    def nearest(self, x: Any, k: int) -> Neighbors:
        """The k nearest points of every row of x."""
        zeros = self._zeros or not x.any(axis=1).all()
        return self._pairs.nearest(x, k) if zeros else super().nearest(x, k)

    def within(self, x: Any, radius: float) -> NeighborLists:
        """All points within a radius of every row of x."""
        zeros = self._zeros or not x.any(axis=1).all()
        return self._pairs.within(x, radius) if zeros else super().within(x, radius)


class MappedSearch:
    """Points and queries go through a map first."""

    def __init__(self, search: NeighborIndex, transform: Callable[[Any], Any]) -> None:
        self._search, self._transform = search, transform

    def nearest(self, x: Any, k: int) -> Neighbors:
        """The k nearest points of every row of x."""
        return self._search.nearest(self._transform(x), k)

    def within(self, x: Any, radius: float) -> NeighborLists:
        """All points within a radius of every row of x."""
        return self._search.within(self._transform(x), radius)


class NearestNeighborSearch:
    """Nearest neighbors among fixed points.

    ``metric`` is a name, a :class:`Metric` or a function of two points; it is fitted to the points
    where it has parameters (a covariance, ranges). Points with precomputed distances are a square
    matrix, or a sparse graph of neighbors.
    """

    def __init__(self, points: Any, metric: Any = "euclidean") -> None:
        self._search: NeighborIndex
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
        found = self._search.nearest(self._validate(x), k)
        if isinstance(self.metric, GraphDistance) and np.isinf(found.distances[:, -1]).any():
            row = int(np.argmax(np.isinf(found.distances[:, -1])))
            reached = int(np.isfinite(found.distances[row]).sum())
            raise InputError(
                f"{k} neighbors were requested, and row {row + 1} reaches {reached} of the points.",
                remedy="Request fewer, or those within a radius.",
            )
        return found

    def within(self, x: Any, radius: float) -> NeighborLists:
        """All points within ``radius`` of every row of x, in the order of points."""
        if not radius >= 0.0:
            raise InputError(f"radius={radius!r} is not a distance.", remedy="Give 0 or more.")
        return self._search.within(self._validate(x), float(radius))

    def nearest_others(self, k: int, points: Any) -> Neighbors:
        """For the points themselves, in their order: the k nearest others."""
        if not 1 <= k < self.n:
            raise InputError(
                f"{k} other neighbors were requested, and there are {self.n - 1}: expected "
                "n_neighbors < n_samples_fit.",
                remedy="Request fewer.",
            )
        neighbors = self.nearest(points, k + 1)
        itself = neighbors.indices == np.arange(self.n)[:, None]
        # of many equal points one may not be among its own nearest: then the first is dropped, as
        # in scikit-learn
        itself[~itself.any(axis=1), 0] = True
        return Neighbors(
            neighbors.distances[~itself].reshape(self.n, k),
            neighbors.indices[~itself].reshape(self.n, k),
        )

    def others_within(self, radius: float, points: Any) -> NeighborLists:
        """For the points themselves, in their order: all others within ``radius``."""
        neighbors = self.within(points, radius)
        return neighbors.where(neighbors.indices != neighbors.rows)

    def _validate(self, x: Any) -> Any:
        """Queries as the index takes them: of matrices, checked once."""
        if self._columns is None:
            return x
        validated = self.metric.validate(x)
        if np.shape(validated)[1:] != self._columns:
            raise InputError(
                f"Rows of {np.shape(validated)[1]} columns have no neighbors among points with "
                f"{self._columns[0]} columns."
            )
        return validated


def _lists(pairs: list[tuple[Any, Any, Floats]], n: int) -> NeighborLists:
    """Pairs found block by block, rows in order."""
    if not pairs:
        nothing = np.empty(0, dtype=np.int64)
        return NeighborLists(np.zeros(n + 1, dtype=np.int64), nothing, np.empty(0))
    rows, indices, distances = (np.concatenate(part) for part in zip(*pairs, strict=True))
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    return NeighborLists(starts.astype(np.int64), indices.astype(np.int64), distances)


def _search(metric: Metric, validated: Any, points: Any) -> NeighborIndex:
    if isinstance(metric, metrics.Minkowski) and metric.p in (1.0, 2.0, np.inf):
        scaled = metric.scaled(validated)
        search = _search(metric.unweighted(), scaled, scaled)
        return search if metric.w is None else MappedSearch(search, _scaling(metric))
    if isinstance(metric, metrics.Cosine):
        return DirectionSearch(metric, validated)
    if isinstance(metric, metrics.SquaredEuclidean):
        return EuclideanSearch(metric, validated)
    if isinstance(metric, metrics.Manhattan):
        name = "chebyshev" if isinstance(metric, metrics.Chebyshev) else "manhattan"
        return TreeOrExhaustiveSearch(metric, validated, name)
    return ExhaustiveSearch(metric.prepare(points))


def _scaling(metric: metrics.Minkowski) -> Callable[[Any], Any]:
    return lambda x: metric.scaled(x)


# -------------------------------------------------------------------------------------------------
# Nearest neighbors among few points: all distances, without a loop to compile.


def nearest_of_few(x: Floats, points: Floats, k: int) -> Neighbors:
    """The k nearest points of every row of x in Euclidean distance; ties in the order of points.

    Squares are summed in the order of features, as other searches do.
    """
    squares = np.zeros((len(x), len(points)))
    step = np.empty_like(squares)
    for f in range(x.shape[1]):
        np.subtract(x[:, f, None], points[:, f], out=step)
        step *= step
        squares += step
    last = np.partition(squares, k - 1, axis=1)[:, k - 1 : k]
    near = squares <= last
    tied = np.flatnonzero(near.sum(axis=1) > k)  # more than k, of which the first ones count
    for i in tied:
        near[i] = False
        near[i, np.argsort(squares[i], kind="stable")[:k]] = True
    indices = np.nonzero(near)[1].reshape(-1, k)
    squares = squares[near].reshape(-1, k)
    order = np.argsort(squares, axis=1, kind="stable")
    distances = np.sqrt(np.take_along_axis(squares, order, 1))
    return Neighbors(distances, np.take_along_axis(indices, order, 1))


# -------------------------------------------------------------------------------------------------
# Nearest points from distances that are given: a matrix, or a sparse graph of neighbors.
#
# In a sparse graph only the stored entries are neighbors; a stored zero is a distance of zero.


def as_graph(x: Any) -> Any:
    """A sparse graph of neighbors in rows, checked; stored zeros are kept."""
    graph = x if x.format == "csr" else sparse.csr_array(x)
    if not np.isfinite(graph.data).all():
        raise InputError("Distances in a graph are finite numbers, none negative.")
    if (graph.data < 0.0).any():
        raise InputError("Negative values in data passed to precomputed distance matrix.")
    return graph


class GivenSearch:
    """Neighbors by distances that queries bring along: all of them, or those in a sparse graph."""

    def __init__(self, n: int) -> None:
        self.n = n

    def _lists(self, x: Any) -> NeighborLists:
        """The neighbors that every row of distances names, nearest first."""
        if x.shape[1] != self.n:
            raise InputError(f"Distances to {self.n} points are expected, not {x.shape[1]}.")
        graph = as_graph(x)
        starts = graph.indptr.astype(np.int64)
        neighbor_lists = NeighborLists(
            starts, graph.indices.astype(np.int64), graph.data.astype(float)
        )
        return neighbor_lists.nearest_first()

    def nearest(self, x: Any, k: int) -> Neighbors:
        """The first k neighbors of every row, which must have as many."""
        if not sparse.issparse(x):
            x = np.ascontiguousarray(PrecomputedDistances().validate(x))
            distances, indices = np.empty((len(x), k)), np.empty((len(x), k), dtype=np.int64)
            loops.push_columns(x, 0, distances, indices, np.zeros(len(x), dtype=np.int64))
            for i in range(len(x)):
                loops.sort_heap(distances[i], indices[i], k)
            return Neighbors(distances, indices)
        neighbor_lists = self._lists(x)
        counts = np.diff(neighbor_lists.starts)
        if len(counts) and counts.min() < k:
            raise InputError(
                f"{k} neighbors per samples are required, but some samples have only "
                f"{counts.min()} in the precomputed graph.",
                remedy="Give a graph of more neighbors, or request fewer.",
            )
        at = neighbor_lists.starts[:-1, None] + np.arange(k)
        return Neighbors(neighbor_lists.distances[at], neighbor_lists.indices[at])

    def within(self, x: Any, radius: float) -> NeighborLists:
        """The neighbors up to a distance of ``radius``."""
        if not sparse.issparse(x):
            x = PrecomputedDistances().validate(x)
            rows, indices = np.nonzero(x <= radius)
            return NeighborLists.of_pairs(rows, indices, x[rows, indices], len(x))
        neighbor_lists = self._lists(x)
        rows, n = neighbor_lists.rows, len(neighbor_lists.starts) - 1
        return NeighborLists.of_pairs(
            rows, neighbor_lists.indices, neighbor_lists.distances, n
        ).up_to(radius)


# -------------------------------------------------------------------------------------------------
# k-d tree for Euclidean, Manhattan and Chebyshev distance in few dimensions.


#: Points of a leaf, about: enough for whole vectors, few enough to prune most leaves.
LEAF_SIZE = 64
#: Queries of a piece, at least, and points of a subtree that one thread builds.
MIN_QUERIES, MIN_POINTS = 32, 4096
#: Nodes that wait to be visited, at most: two on every level.
STACK = 128

METRICS = {
    "euclidean": loops.EUCLIDEAN,
    "manhattan": loops.MANHATTAN,
    "chebyshev": loops.CHEBYSHEV,
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
        neighbors, n_distances = self._query(x, k)
        if self.metric == loops.EUCLIDEAN:
            np.sqrt(neighbors.distances, out=neighbors.distances)
        return neighbors, n_distances

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
        euclidean = self.metric == loops.EUCLIDEAN
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


# -------------------------------------------------------------------------------------------------
# Exact Euclidean nearest neighbors by products, for many dimensions.
#
#     ‖x − z‖² = ‖x‖² + 2 (½‖z‖² − x·z)
#
# The bracket orders the points z by distance from x. Rows and points, measured from the mean, are
# rounded to integers of sixteen bits in units of their own norms, whose products are exact. The
# residual of the rounding is known, so by Cauchy and Schwarz the error of x·z is at most
#
#     ‖x − x̃‖ ‖z‖ + ‖x̃‖ ‖z − z̃‖
#
# and a scan of the bounds leaves somewhat more than k candidates, whose distances are computed in
# double precision.


class ProductSearch:
    """Centered points as integers for candidates, in double precision for distances."""

    def __init__(self, points: Floats) -> None:
        self._points = np.ascontiguousarray(points, dtype=np.float64)
        n, d = self._points.shape
        self._center, reach = center_and_reach(self._points)
        # a power of two: no unit leaves the range of numbers, and no digit is lost
        self._inverse = 0.5 ** np.ceil(np.log2(reach)) if reach > 0.0 else 1.0
        self._tiles, measures = self._room(n, loops.POINTS)
        parallel_map(
            lambda part: self._pack(self._points, part, self._tiles, measures),
            pieces(len(self._tiles), 16),
        )
        norms, scales, residuals = measures.T
        #: The relative residual of any row of integers.
        self._residual = 0.5 * np.sqrt(d) / loops.LARGEST_NORM * (1.0 + 1e-9)
        error = self._residual * norms + (1.0 + self._residual) * residuals
        table = np.full(
            (len(self._tiles) * loops.POINTS, 3), np.nan, dtype=np.float32
        )  # no point: NaN
        table[:n, 0] = 0.5 * norms**2 * (1.0 - loops.ROUNDING)
        table[:n, 1] = error + loops.ROUNDING * norms + 1e-37
        table[:n, 2] = scales
        self._table = np.ascontiguousarray(table.reshape(-1, loops.POINTS, 3).swapaxes(1, 2))
        self._farthest = float(norms.max(initial=0.0))

    def nearest(self, x: Floats, k: int) -> Neighbors:
        """The k nearest points of every row of x."""
        x = np.ascontiguousarray(x, dtype=np.float64)
        parts, spans = self._pieces(len(x), k)
        found = np.empty((len(spans), len(x), k))
        indices = np.empty((len(spans), len(x), k), dtype=np.int64)

        def search(piece: tuple[slice, int]) -> None:
            part, at = piece
            self._search(x[part], spans[at], found[at, part], indices[at, part])

        parallel_map(search, list(itertools.product(parts, range(len(spans)))))
        return _merge_neighbors(found, indices, k)

    def _pieces(self, q: int, k: int) -> tuple[list[slice], list[slice]]:
        """Slices of rows and of tiles; few rows are searched in parts of the points."""
        groups, n_tiles = -(-q // ROWS), len(self._tiles)
        # Groups of rows in a piece: more would need much memory.
        most = max(MIN_PIECES, -(-groups // 256))
        # Groups of rows in a piece: fewer would read the points too often.
        parts = [
            slice(part.start * ROWS, min(part.stop * ROWS, q)) for part in pieces(groups, 8, most)
        ]
        # Products of a panel and a pair of columns that are worth a thread, at least.
        # Panels of points in a piece, at least.
        smallest = max(256, (1 << 16) // self._tiles.shape[1], -(-4 * k // loops.POINTS))
        return parts, pieces(n_tiles, smallest, max(1, MIN_PIECES // len(parts)))

    def _room(self, n: int, width: int) -> tuple[Ints, Floats]:
        """Room for n rows as integers in groups of ``width``, and for their measures."""
        pairs = (self._points.shape[1] + 1) // 2
        return _allocate_aligned((-(-n // width), pairs, width)), np.empty((n, 3))

    def _pack(self, x: Floats, groups: slice, packed: Ints, measures: Floats) -> None:
        span = groups.start, groups.stop
        row = np.zeros(2 * packed.shape[1])
        loops.pack(x, self._center, self._inverse, *span, row, packed, measures)

    def _search(self, x: Floats, span: slice, nearest: Floats, indices: Ints) -> None:
        k, (q, d) = nearest.shape[1], x.shape
        if not q:
            return
        rows, measures = self._room(q, ROWS)
        self._pack(x, slice(0, len(rows)), rows, measures)
        norms, scales, _ = measures.T
        # Rows farther out, in units of the farthest point, are compared in double precision alone.
        far = norms > 1e15
        slack = 4.0 * (d + 4) * np.finfo(float).eps * (norms + self._farthest) ** 2
        slack = np.where(far, np.inf, slack + 1e-36 * (1.0 + norms))
        table = np.zeros((len(rows) * ROWS, 3), dtype=np.float32)
        table[:, 0] = -np.inf
        table[:q, 0] = np.inf
        table[:q, 1] = np.where(far, 0.0, norms)
        table[:q, 2] = np.where(far, 0.0, scales)
        of_rows = np.ascontiguousarray(table.reshape(-1, ROWS, 3).swapaxes(1, 2))
        # Bytes of a block of points that stays in the cache while all rows of a piece meet it.
        block = max(1, (1 << 16) // (64 * self._tiles.shape[1]))
        room = 2 * k + 16  # candidates of a row beyond twice the neighbors, for which there is room
        candidates = (
            np.empty((q, room)), np.empty((q, room)), np.empty((q, room), dtype=np.int64),
            np.zeros(q, dtype=np.int64), np.empty((ROWS, loops.POINTS), dtype=np.float32),
            np.empty(room),
        )  # fmt: skip
        loops.scan(
            x, self._points, rows, self._tiles, self._table, of_rows, norms.copy(), slack,
            self._inverse, span.start, span.stop, block, *candidates, nearest, indices,
        )  # fmt: skip


def _allocate_aligned(shape: tuple[int, ...]) -> Ints:
    """An array that starts with a cache line: no load of a vector crosses two."""
    size = 4 * int(np.prod(shape))
    raw = np.empty(size + 64, dtype=np.uint8)
    start = -raw.ctypes.data % 64
    return np.asarray(raw[start : start + size].view(np.int32).reshape(shape))


def _merge_neighbors(distances: Floats, indices: Ints, k: int) -> Neighbors:
    """The k nearest of those found in each part of the points."""
    if len(distances) == 1:
        return Neighbors(np.sqrt(distances[0]), indices[0])
    distances, indices = np.hstack(list(distances)), np.hstack(list(indices))
    order = np.lexsort((indices, distances))[:, :k]
    return Neighbors(
        np.sqrt(np.take_along_axis(distances, order, 1)), np.take_along_axis(indices, order, 1)
    )


# -------------------------------------------------------------------------------------------------
# All points within a radius by products in single precision.
#
#     ‖x‖² + ‖z‖² − 2 x·z ≤ r² + c (‖x‖² + ‖z‖²) + s
#
# Rows and points are measured from the mean, in a unit near the largest of them. c bounds the
# relative error of a product of d rounded numbers, s what underflow can leave. Few pairs pass that
# are too far apart; those that do pass are measured in double precision.


class RadiusSearch:
    """Centered points in single precision for candidates, in double precision for distances."""

    def __init__(self, points: Floats) -> None:
        self._points = np.ascontiguousarray(points, dtype=np.float64)
        self._center, reach = center_and_reach(self._points)
        self._inverse = 0.5 ** np.ceil(np.log2(reach)) if reach > 0.0 else 1.0
        self._rounded, self._squares = self._round(self._points)
        d = points.shape[1]
        self._error = 4.0 * (d + 8) * float(np.finfo(np.float32).eps)
        self._slack = 4.0 * (d + 8) * float(np.finfo(np.float32).tiny)

    def _round(self, x: Floats) -> tuple[Any, Floats]:
        """Centered rows in single precision, and their squared norms in double."""
        centered = (x - self._center) * self._inverse
        with np.errstate(over="ignore"):
            return centered.astype(np.float32), np.einsum("ij,ij->i", centered, centered)

    def within(self, x: Floats, radius: float) -> NeighborLists:
        """All points within a radius of every row of x."""
        x = np.ascontiguousarray(x, dtype=np.float64)
        reach = min(radius * self._inverse, 1e100) ** 2 + self._slack

        def search(part: slice) -> NeighborLists:
            rows, squares = self._round(x[part])
            # rows so far out, in units near the largest point, that single precision has no number
            # for their products meet all points
            far = ~(squares < 1e30)
            rows[far], squares[far] = 0.0, -np.inf
            given = rows @ self._rounded.T, squares, self._squares, self._error, reach
            counts = np.empty(len(rows), dtype=np.int64)
            loops.count_near(*given, counts)
            starts = np.concatenate([[0], np.cumsum(counts)])
            indices, distances = np.empty(starts[-1], dtype=np.int64), np.empty(starts[-1])
            loops.measure_near(x[part], self._points, *given, starts, indices, distances)
            return NeighborLists(starts, indices, np.sqrt(distances, out=distances)).up_to(radius)

        # Each block reads all points: of fewer rows that takes longer than their products.
        blocks = max(MIN_PIECES, len(x) * len(self._points) // BLOCK_ENTRIES)
        return NeighborLists.of_blocks(parallel_map(search, pieces(len(x), 64, blocks)))


# -------------------------------------------------------------------------------------------------
# Exact Euclidean and cosine neighbors of sparse rows, which are never made dense.
#
#     ‖x − z‖² = ‖x‖² + ‖z‖² − 2 x·z
#
# Products of sparse rows, block by block on threads, select candidates within a bound on their
# rounding error; the distances of candidates are computed from the differences of the rows. Columns
# that most rows share (the commonest words) are multiplied as a dense matrix, which is faster.


#: Rows stay sparse from so many entries on, of which at most this fraction is stored.
MANY_ENTRIES, MOST_STORED = 1 << 23, 0.1


def stays_sparse(x: Any, metric: Metric) -> bool:
    """Whether a search of these rows is better off without a dense copy."""
    if not sparse.issparse(x) or not isinstance(_plain(metric), metrics.SquaredEuclidean):
        return False
    entries = x.shape[0] * x.shape[1]
    if entries < MANY_ENTRIES or x.nnz > MOST_STORED * entries:
        return False
    return type(_plain(metric)) in (
        metrics.Euclidean,
        metrics.SquaredEuclidean,
        metrics.Cosine,
    ) and not metrics.beyond_squares(x.data)


def _plain(metric: Metric) -> Metric:
    """Minkowski's distance with p = 2 and no weights is Euclidean."""
    if isinstance(metric, metrics.Minkowski) and metric.p == 2 and metric.w is None:
        return metrics.Euclidean()
    return metric


class SparseSearch:
    """Neighbors among sparse rows by Euclidean, squared Euclidean or cosine distance."""

    def __init__(self, points: Any, metric: Metric) -> None:
        plain = _plain(metric)
        assert isinstance(plain, metrics.SquaredEuclidean)
        self._metric = plain
        self._points = self._map(points)
        self._squares = _squared_norms(self._points)
        counts = np.bincount(self._points.indices, minlength=self._points.shape[1])
        # The fraction of the points that store a column from which it is multiplied as a dense one.
        self._common = np.flatnonzero(counts > 0.25 * self._points.shape[0])
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
            loops.push_columns(products, 0, distances[part], indices[part], sizes)
            near = np.flatnonzero(products <= distances[part, :1] + error)
            neighbor_lists = self._measure(block, near).nearest_first()
            at = neighbor_lists.starts[:-1, None] + np.arange(k)
            distances[part], indices[part] = (
                neighbor_lists.distances[at],
                neighbor_lists.indices[at],
            )

        parallel_map(search, self._pieces(x))
        return Neighbors(self._metric.of_euclidean(distances), indices)

    def within(self, x: Any, radius: float) -> NeighborLists:
        """All points within a radius of every row of x."""
        x = self._queries(x)
        reach = self._metric.euclidean_radius(radius) ** 2 * (1.0 + 1e-12)

        def search(part: slice) -> NeighborLists:
            block, products, error = self._block(x, part)
            limit = reach - _squared_norms(block)[:, None] + error
            return self._measure(block, np.flatnonzero(products <= limit))

        every = NeighborLists.of_blocks(parallel_map(search, self._pieces(x)))
        distances = self._metric.of_euclidean(every.distances)
        return NeighborLists(every.starts, every.indices, distances).up_to(radius)

    def _map(self, x: Any) -> Any:
        """Rows in CSR form, columns in order; of unit length if only their direction counts."""
        x = sparse.csr_array(x, dtype=np.float64)
        if not x.has_canonical_format:
            x = x.copy()
            x.sum_duplicates()
        if not isinstance(self._metric, metrics.Cosine):
            return x
        length = np.sqrt(_squared_norms(x))
        unit = np.repeat(np.where(length > 0, length, 1.0), np.diff(x.indptr))
        return sparse.csr_array((x.data / unit, x.indices, x.indptr), shape=x.shape)

    def _queries(self, x: Any) -> Any:
        x = self._map(x)
        if x.shape[1] != self._points.shape[1]:
            raise InputError(
                f"Rows of {x.shape[1]} columns have no neighbors among points with "
                f"{self._points.shape[1]} columns."
            )
        return x

    def _pieces(self, x: Any) -> list[slice]:
        """Pieces of rows whose products with all points are few enough to stay in the cache."""
        rows = max(1, BLOCK_ENTRIES // self._points.shape[0])
        # with fewer products a block takes longer to cut out than to multiply
        return pieces(x.shape[0], rows // 4, max(MIN_PIECES, -(-x.shape[0] // rows)))

    def _block(self, x: Any, part: slice) -> tuple[Any, Floats, Floats]:
        """A block of rows, ‖z‖² − 2 x·z for all points z, and what must be added to a limit on it.

        That is a bound on the error; ‖x‖² is the same for all points.
        """
        block, z = x[part], self._by_column
        squares = _squared_norms(block)[:, None]
        products = (-2.0 * block[:, self._common].toarray()) @ self._common_columns
        sparse_gram_rows(
            0, block.shape[0], block.indptr, block.indices, -2.0 * block.data,
            z.indptr, z.indices, z.data, products,
        )  # fmt: skip
        products += self._squares
        self._set_zero_rows(squares == 0.0, self._squares == 0.0, products, 2.0 - squares, -squares)
        terms = np.diff(block.indptr).max(initial=0) + 8
        size = squares + self._squares.max(initial=0.0)
        return block, products, 4.0 * terms * np.finfo(float).eps * size

    def _set_zero_rows(
        self, rows: Any, points: Any, squares: Floats, one_zero: Any, both_zero: Any
    ) -> None:
        """Rows without a direction are orthogonal to all others, by cosine distance."""
        if isinstance(self._metric, metrics.Cosine) and (rows.any() or points.any()):
            squares[:] = np.where(rows | points, one_zero, squares)
            squares[:] = np.where(rows & points, both_zero, squares)

    def _measure(self, block: Any, near: Ints) -> NeighborLists:
        """Euclidean distances of pairs, from the differences of their rows.

        A pair is a position in the matrix of all rows of the block and all points.
        """
        rows, indices = np.divmod(near, self._points.shape[0])
        squares, z = np.empty(len(rows)), self._points
        pairs = np.stack([rows, indices]).astype(np.int64)
        loops.pair_squares(
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
