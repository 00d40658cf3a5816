"""Agglomerative linkage: all merges of clusters, in SciPy's form.

Complete, average, weighted and Ward linkage are reducible: a merged cluster is never closer to a
third one than the closer of its parts was. Reciprocal nearest neighbors may therefore merge at
once, all such pairs of a round together, and the merges are the same as if the closest pair had
always gone first; what rounds leave is done by nearest-neighbor chains. Centroid and median linkage
are not reducible, and there the closest pair does go first. Single linkage is the minimum spanning
tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.cluster import loops
from separatrix.cluster.loops import TILE
from separatrix.distances.graphs import require_reachable
from separatrix.distances.metrics import (
    Chebyshev,
    Euclidean,
    Manhattan,
    Metric,
    PreparedMetric,
    SquaredEuclidean,
    as_square,
)
from separatrix.distances.names import FunctionMetric, PrecomputedDistances, metric_from
from separatrix.distances.search import KDTree, NearestNeighborSearch
from separatrix.messages import InputError, check_option, warn
from separatrix.notebook import Shown
from separatrix.optimize.convex import Certificate
from separatrix.rows.schema import n_items, take_items, unit_of
from separatrix.threads import one_blas_thread, parallel_map, pieces

LINKAGES = ("single", "complete", "average", "weighted", "centroid", "median", "ward")
#: Linkages by means, of Euclidean points.
BY_MEANS = ("centroid", "median", "ward")
#: Those in which a merge may be lower than one before it.
WITH_INVERSIONS = ("centroid", "median")
# Integers of NumPy: one of Python would compile variants of its own.
_KINDS: dict[str, Any] = {
    name: np.int64(kind)
    for name, kind in {
        "complete": loops.COMPLETE,
        "average": loops.AVERAGE,
        "weighted": loops.WEIGHTED,
        "ward": loops.WARD,
    }.items()
}

#: A round that merges less than this fraction of the clusters does not pay for its pass.
MIN_MERGED = 0.05
#: The distances of so many clusters (512 KB) stay in the cache: no rounds for them.
FEW_CLUSTERS = 256
#: From so many points on, a search finds the first pairs, and the matrix is half as large.
MANY_POINTS = 12_000
#: Rows of distances that are updated together.
CHUNK = 32


def linkage(X: Any, method: str = "average", metric: Any = "euclidean") -> Floats:
    """(n − 1) x 4: the two clusters of each merge, their distance, and the size of their union.

    Points are numbered 0 … n − 1 and merges from n on, in order of distance (centroid and median:
    of merging, in which distances may decrease). ``metric`` may be "precomputed", of a square
    matrix or of distances in condensed form.
    """
    chosen = metric_from(metric)
    x = as_square(X) if isinstance(chosen, PrecomputedDistances) else X
    fitted = chosen.fitted(x)
    validated = fitted.validate(x)
    require_reachable(fitted, validated)
    points, unit = in_unit(validated, fitted)
    return restore_unit(linkage_of_points(points, method, fitted), unit)


def in_unit(points: Any, metric: Metric) -> tuple[Any, float]:
    """Euclidean points divided by a power of two, which is exact: their squares are numbers."""
    if type(metric) is not Euclidean:
        return points, 1.0
    unit = unit_of(points)
    return (points if unit == 1.0 else points / unit), unit


def restore_unit(table: Floats, unit: float) -> Floats:
    """The merges of points that were divided by ``unit``, with heights in their own units."""
    with np.errstate(over="ignore"):
        table[:, 2] *= unit
    if not np.isfinite(table[:, 2]).all():
        raise InputError(
            "The height of a merge is too large for a number (beyond about 1e308).",
            remedy="Divide all columns by a power of ten.",
        )
    return table


def linkage_of_points(points: Any, method: str, metric: Metric) -> Floats:
    """The same for points that a fitted metric has validated."""
    check_option("linkage", method, LINKAGES)
    merges = Merges(n_items(points))
    check_euclidean(method, metric)
    with one_blas_thread():  # set once, not by every round
        if method == "ward" and not _has_few_points(points):
            ward_linkage(points, merges)
        elif method in WITH_INVERSIONS:
            _merge_by_means(points, method, *merges.remaining)
        elif method == "single":
            minimum_spanning_tree(points, metric, *merges.remaining)
        else:
            _merge_by_distances(metric, points, _KINDS[method], merges)
    height = np.sqrt(2.0 * merges.height) if method == "ward" else merges.height
    merging = method in WITH_INVERSIONS
    order = np.arange(len(height)) if merging else np.argsort(height, kind="stable")
    n = len(height) + 1
    table = np.empty((n - 1, 4))
    table[:, 2] = height[order]
    forest = (np.arange(n), np.arange(n), np.ones(n))
    loops.scipy_linkage(merges.first[order], merges.second[order], *forest, table)
    return table


def check_euclidean(method: str, metric: Metric) -> None:
    """Refuse linkages by means in another distance."""
    if method in BY_MEANS and type(metric) is not Euclidean:
        raise InputError(
            f"{method} linkage is defined by means, in Euclidean distance.",
            remedy="Give points and metric='euclidean', or use average linkage.",
        )


# -- centroid and median linkage ------------------------------------------------------------------


def _merge_by_means(x: Floats, method: str, first: Ints, second: Ints, height: Floats) -> None:
    n = len(x)
    columns = np.ascontiguousarray((x - x.mean(axis=0)).T) if x.shape[1] else np.zeros((1, n))
    nearest, square = np.full(n, -1), np.full(n, np.inf)
    point, near = np.empty(len(columns)), np.empty(n)

    def search(rows: slice) -> None:
        work = np.empty(len(columns)), np.empty(n)
        loops.nearest_later(columns, rows.start, rows.stop, *work, nearest, square)

    parallel_map(search, _row_pieces(n, n * len(columns)))
    size, name, exact = np.ones(n), np.arange(n), np.ones(n, dtype=bool)
    n_merged = 0
    while n_merged < n - 1:
        n_merged = loops.centroid_linkage(
            columns, size, name, nearest, square, exact, method == "median", point, near, n_merged,
            first, second, height,
        )  # fmt: skip
        left = np.flatnonzero(columns[0] < np.inf)  # only occupied slots go on
        slot = np.full(len(near) + 1, -1)  # the last for none
        slot[left] = np.arange(len(left))
        columns, nearest = np.ascontiguousarray(columns[:, left]), slot[nearest[left]]
        size, name, square, exact = size[left], name[left], square[left], exact[left]
        exact[:-1] &= nearest[:-1] >= 0


# -- complete, average and weighted linkage --------------------------------------------------------


def _merge_by_distances(metric: Metric, x: Any, kind: int, merges: Merges) -> None:
    """Rounds of reciprocal nearest neighbors, then nearest-neighbor chains."""
    n = n_items(x)
    member, size = np.arange(n), np.ones(n)
    if metric.of_vectors:
        x, member, size = _merge_equal_rows(x, merges)
    if metric.of_vectors and len(x) >= MANY_POINTS:
        clusters = _first_round(metric, x, member, size, kind, merges)
    else:
        if kind == loops.WARD:
            metric = SquaredEuclidean()
        square = PreparedMetric(metric, x, metric.precompute(x)).validated_rows(x)
        if kind == loops.WARD:
            square *= size[:, None] * size / (size[:, None] + size)
        clusters = _Clusters(square, kind, member, size)
    while len(clusters.member) > 1:
        first, second, height = clusters.reciprocal_pairs()
        if len(clusters.member) <= FEW_CLUSTERS or len(first) < MIN_MERGED * len(clusters.member):
            _chains(clusters, merges)
            return
        merges.append(clusters.member[first], clusters.member[second], height)
        clusters.merge(first, second, height)


def _has_few_points(x: Floats) -> bool:
    """Whether Ward linkage takes the matrix of distances: a search by means costs n² d each time.

    The matrix costs one product, and passes over n² numbers as long as about 50 columns.
    """
    n, d = x.shape
    return bool(n <= FEW_CLUSTERS or n <= min(50 * d, MANY_POINTS))


def _chains(clusters: _Clusters, merges: Merges) -> None:
    """What is left by nearest-neighbor chains: rounds of few merges do not pay for their pass."""
    m, member = len(clusters.member), clusters.member
    square = clusters.d[clusters.row_of, :m]
    first, second, height = merges.remaining
    work = np.empty(m, dtype=np.int64), np.zeros(m, dtype=bool), np.empty(m)
    ended = loops.nearest_neighbor_chain(
        square, clusters.size, clusters.kind, *work, first, second, height
    )
    if not ended:
        raise InputError(
            "No two clusters are each other's nearest: the distances are not symmetric.",
            remedy="Use a metric with d(a, b) = d(b, a).",
        )
    first[:], second[:] = member[first], member[second]


def _merge_equal_rows(x: Floats, merges: Merges) -> tuple[Floats, Ints, Floats]:
    """Distinct rows, the first point of each and their counts; equal rows merge at distance 0."""
    apart = len(np.unique(x.sum(axis=1))) == len(x)  # equal rows have equal sums
    order = np.arange(len(x)) if apart or not x.shape[1] else np.lexsort(x.T[::-1])
    is_new = np.r_[True, (np.diff(x[order], axis=0) != 0).any(axis=1)]
    if is_new.all():
        return x, np.arange(len(x)), np.ones(len(x))
    group = np.cumsum(is_new) - 1
    first = order[is_new]  # the sort is stable: of equal rows the first
    merges.append(first[group[~is_new]], order[~is_new], 0.0)
    member = np.sort(first)
    size = np.bincount(np.searchsorted(member, first[group]), minlength=len(member))
    return np.ascontiguousarray(x[member]), member, size.astype(float)


def _first_round(
    metric: Metric, x: Floats, member: Ints, size: Floats, kind: int, merges: Merges
) -> _Clusters:
    """Reciprocal nearest points are found by a search, without the matrix of distances.

    The matrix is then computed among the merged clusters, about a third smaller from the start.
    """
    here = np.arange(len(x))
    neighbors = NearestNeighborSearch(x, metric).nearest_others(1, x)
    nearest = neighbors.indices[:, 0]
    first = np.flatnonzero((nearest[nearest] == here) & (here < nearest))
    second = nearest[first]
    merges.append(member[first], member[second], neighbors.distances[first, 0])
    partner = here.copy()
    partner[first] = second
    remaining = np.delete(here, second)
    other = partner[remaining]
    both = np.where(other == remaining, size[remaining], size[remaining] + size[other])
    square = _pair_distances(metric, x, remaining, other, size, kind)
    return _Clusters(square, kind, member[remaining], both)


def _pair_distances(
    metric: Metric, x: Floats, first: Ints, second: Ints, size: Floats, kind: int
) -> Floats:
    """Distances among clusters of one point or two, ``CHUNK`` rows at a time."""
    state, m = metric.precompute(x), len(first)
    d = np.empty((m, m))

    def fill(piece: slice) -> None:
        rows, others = np.empty((CHUNK, len(x))), np.empty((CHUNK, len(x)))
        for start in range(piece.start, piece.stop, CHUNK):
            stop = min(start + CHUNK, piece.stop)
            pairs = start + np.flatnonzero(first[start:stop] != second[start:stop])
            metric.fill(x[first[start:stop]], state, rows[: stop - start])
            metric.fill(x[second[pairs]], state, others[: len(pairs)])
            loops.distances_of_pairs(
                rows, others, pairs - start, start, first, second, size, kind, d[start:stop]
            )

    parallel_map(fill, pieces(m, CHUNK))
    np.fill_diagonal(d, np.inf)
    return d


class _Clusters:
    """Clusters in the first slots of a matrix of distances, which shrinks as they merge.

    ``member`` is a point of each cluster, ``size`` its weight, and ``row_of`` the row of the matrix
    with its distances to all clusters.
    """

    def __init__(self, d: Floats, kind: int, member: Ints, size: Floats) -> None:
        self.d, self.kind = d, kind
        self.member, self.size, self.row_of = member, size, np.arange(len(d), dtype=np.uint64)
        nobody = np.zeros(0, dtype=np.int64)
        self.merge(nobody, nobody, np.zeros(0))  # finds the nearest of all

    def reciprocal_pairs(self) -> Columns:
        """Pairs of slots that are each other's nearest, and their distances."""
        here = np.arange(len(self.member))
        first = np.flatnonzero((self.nearest[self.nearest] == here) & (here < self.nearest))
        return first, self.nearest[first], self.distance[first]

    def merge(self, first: Ints, second: Ints, apart: Floats) -> None:
        """Merge pairs of slots at their distances; the others keep their order."""
        slots = len(self.member)
        pair_of = np.full(slots, -1)
        pair_of[first] = np.arange(len(first))
        # unsigned: no loop has to ask whether a number counts from the end
        remaining, one, two = (
            index.astype(np.uint64)
            for index in (np.delete(np.arange(slots), second), first, second)
        )
        nearest, distance = np.empty(len(remaining), dtype=np.int64), np.empty(len(remaining))

        def update(part: slice) -> None:
            loops.merge_slots(
                self.d, self.row_of, remaining, pair_of, one, two, self.size, apart, self.kind,
                part.start, part.stop, nearest, distance,
            )  # fmt: skip

        parallel_map(update, _row_pieces(len(remaining), slots))
        self.size[first] += self.size[second]
        self.nearest, self.distance = nearest, distance
        self.member, self.size = self.member[remaining], self.size[remaining]
        self.row_of = self.row_of[remaining]


def _row_pieces(n: int, width: int) -> list[slice]:
    """Cuts of n rows of so many distances each."""
    return pieces(n, 50_000 // max(width, 1))  # distances that are worth a piece of their own


# -------------------------------------------------------------------------------------------------
# The merges of a linkage, as they are found.


Columns = tuple[Ints, Ints, Floats]


class Merges:
    """Pairs of points whose clusters merge, and the distance at which they do."""

    def __init__(self, n: int) -> None:
        if n < 1:
            raise InputError("No points: nothing to cluster.")
        self.first, self.second = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64)
        self.height = np.empty(n - 1)
        self.count = 0

    @property
    def remaining(self) -> Columns:
        """Views of the merges that are still to be filled in."""
        rest = slice(self.count, None)
        return self.first[rest], self.second[rest], self.height[rest]

    def append(self, first: Ints, second: Ints, height: Floats | float) -> None:
        """Add merges."""
        added = slice(self.count, self.count + len(first))
        self.first[added], self.second[added], self.height[added] = first, second, height
        self.count += len(first)


# -------------------------------------------------------------------------------------------------
# Ward linkage of many points from means and sizes alone, in rounds of reciprocal nearest neighbors.
#
# Merging a and b raises the scatter within clusters by |a||b|/(|a|+|b|) ‖μ_a − μ_b‖²; the height is
# the square root of twice that. No merge brings a third cluster nearer, so that of a cluster whose
# nearest did not merge it is still the nearest: a round searches for the others only, on threads.


#: Searches by point, after which nearest-neighbor chains do the rest: they need three at most.
MAX_SEARCHES = 12


def ward_linkage(x: Floats, merges: Merges) -> None:
    """Fill in the merges of the rows of ``x``."""
    clusters = _WardClusters(x - x.mean(axis=0) if x.shape[1] else np.zeros((len(x), 1)))
    while len(clusters.member) > 1:
        if clusters.searches > MAX_SEARCHES * len(x):
            _ward_chains(clusters.mean, clusters.size, clusters.member, *merges.remaining)
            return
        first, second, increase = clusters.reciprocal_pairs()
        merges.append(clusters.member[first], clusters.member[second], increase)
        clusters.merge(first, second)


def _ward_chains(
    mean: Floats, size: Floats, member: Ints, first: Ints, second: Ints, height: Floats
) -> None:
    """What is left by nearest-neighbor chains; now and then slots that are empty are left out."""
    columns, (n, d) = np.ascontiguousarray(mean.T), mean.shape
    work = np.empty(n, dtype=np.int64), np.empty(d), np.empty(n)
    n_merged = 0
    while n_merged < n - 1:
        n_merged = loops.ward_chain(columns, size, member, *work, n_merged, first, second, height)
        if n_merged < 0:
            raise InputError("The distances of means are not numbers.", remedy="Scale the columns.")
        left = np.flatnonzero(columns[0] < np.inf)
        columns, size, member = np.ascontiguousarray(columns[:, left]), size[left], member[left]


class _WardClusters:
    """Means, sizes, a member and the nearest other of every cluster; −1 where it is not known."""

    def __init__(self, z: Floats) -> None:
        n = len(z)
        self.mean, self.size, self.member = z, np.ones(n), np.arange(n)
        self.nearest, self.increase = np.full(n, -1), np.full(n, np.inf)
        self.searches = 0

    def reciprocal_pairs(self) -> Columns:
        """Pairs that are each other's nearest, and by how much merging them raises the scatter."""
        here = np.arange(len(self.member))
        self._search(np.flatnonzero(self.nearest < 0))
        first = np.flatnonzero((self.nearest[self.nearest] == here) & (here < self.nearest))
        if not len(first):  # only among equally near clusters: then the first of them counts
            self._search(here)
            first = np.flatnonzero((self.nearest[self.nearest] == here) & (here < self.nearest))
        return first, self.nearest[first], self.increase[first]

    def _search(self, slots: Ints) -> None:
        (m, d), count = self.mean.shape, -(-len(self.mean) // TILE)
        # an even number of columns; one of zeros adds no distance
        padded, size = np.zeros((count * TILE, d + d % 2)), np.ones((count, TILE))
        padded[:m, :d], padded[m:], size.reshape(-1)[:m] = self.mean, np.inf, self.size
        tiles = np.ascontiguousarray(padded.reshape(count, TILE, -1).transpose(0, 2, 1))
        self.searches += len(slots)

        def search(part: slice) -> None:
            loops.ward_nearest(
                tiles, size, slots, part.start, part.stop, np.empty(TILE), self.nearest,
                self.increase,
            )  # fmt: skip

        # Multiplications that are worth a piece of their own.
        parallel_map(search, pieces(len(slots), 200_000 // (m * (d + 2))))

    def merge(self, first: Ints, second: Ints) -> None:
        """Merge pairs; the others keep their order."""
        a, b = self.size[first, None], self.size[second, None]
        self.mean[first] = (a * self.mean[first] + b * self.mean[second]) / (a + b)
        self.size[first] += self.size[second]
        merged = np.zeros(len(self.member), dtype=bool)
        merged[first] = merged[second] = True
        self.nearest[merged | merged[self.nearest]] = -1
        remaining = np.delete(np.arange(len(merged)), second)
        slot = np.full(len(merged) + 1, -1)  # the last for one that is not known
        slot[remaining] = np.arange(len(remaining))
        self.nearest = slot[self.nearest[remaining]]
        self.mean, self.size = self.mean[remaining], self.size[remaining]
        self.member, self.increase = self.member[remaining], self.increase[remaining]


# -------------------------------------------------------------------------------------------------
# Minimum spanning tree of points, whose edges sorted by length are single linkage.
#
# In few dimensions by Borůvka's algorithm with a k-d tree; in many, or in other metrics, by Prim's.
# Both store a few numbers per point.


#: A k-d tree does not pay in more dimensions, nor for fewer points: distances to all of them take
#: no time, and have fewer loops to compile.
MAX_DIMENSIONS, FEW_POINTS = 12, 4000


def minimum_spanning_tree(
    x: Any, metric: Metric, first: Ints, second: Ints, height: Floats
) -> None:
    """Fill in the n − 1 edges (point, point, length) of validated points, in any order."""
    n = n_items(x)
    kind = {Euclidean: "euclidean", Manhattan: "manhattan", Chebyshev: "chebyshev"}.get(
        type(metric)
    )
    if kind and n >= FEW_POINTS and 1 <= x.shape[1] <= MAX_DIMENSIONS:
        _boruvka(x, kind, first, second, height)
    elif kind == "euclidean" and x.shape[1]:
        columns = np.ascontiguousarray((x - x.mean(axis=0)).T)
        outside = np.arange(n), np.full(n, np.inf), np.zeros(n, dtype=np.int64)
        loops.prim(columns, *outside, np.empty(len(columns)), np.empty(n), first, second, height)
        np.sqrt(height, out=height)
    else:
        _prim(metric, x, first, second, height)


def _boruvka(x: Floats, kind: str, first: Ints, second: Ints, height: Floats) -> None:
    tree = KDTree(x, kind)
    n, k = len(x), min(3, len(x) - 1)  # nearest neighbors of every point that are computed first
    order = tree.arrays[1]
    # In the order of the boxes, so that queries share cached points.
    neighbors = tree.nearest_reduced(x[order], k + 1)
    itself = neighbors.indices == order[:, None]
    itself[~itself.any(axis=1), -1] = True  # among many equal points
    others, lengths = np.empty((n, k), dtype=np.int64), np.empty((n, k))
    others[order] = neighbors.indices[~itself].reshape(n, k)
    lengths[order] = neighbors.distances[~itself].reshape(n, k)
    loops.boruvka(x, tree.arrays, tree.metric, lengths, others, first, second, height)
    if kind == "euclidean":
        np.sqrt(height, out=height)


def _prim(metric: Metric, x: Any, first: Ints, second: Ints, height: Floats) -> None:
    """Prim's algorithm, a row of distances at a time."""
    state, n = metric.precompute(x), n_items(x)
    left = np.arange(n - 1)
    nearest, here = np.full(n - 1, n - 1), n - 1
    distance = np.full(n - 1, np.inf)
    row = np.empty((1, n))
    for step in range(n - 1):
        metric.fill(x[here : here + 1], state, row)
        closer = row[0, left] < distance
        distance[closer], nearest[closer] = row[0, left[closer]], here
        index = int(distance.argmin())
        here = int(left[index])
        first[step], second[step], height[step] = nearest[index], here, distance[index]
        rest = np.arange(len(left)) != index
        left, nearest, distance = left[rest], nearest[rest], distance[rest]


# -------------------------------------------------------------------------------------------------
# Linkage of points that a graph connects: only neighbors merge.
#
# The distance of two connected clusters A, B combines those of their parts, over the parts that are
# connected:
#
#     single min    complete max    average by size    weighted halves    ward, others: by means
#
# The closest connected pair is kept in a heap; a merged cluster inherits the neighbors of both.


Neighbors = list[dict[int, float]]
#: Linkages by the distances of connected parts (a, b) of sizes (m, n); others are by means.
COMBINE: dict[str, Callable[[float, float, float, float], float]] = {
    "single": lambda a, b, *_: min(a, b),
    "complete": lambda a, b, *_: max(a, b),
    "average": lambda a, b, m, n: (m * a + n * b) / (m + n),
    "weighted": lambda a, b, *_: 0.5 * (a + b),
}


class ConnectedPoints:
    """Points with the graph that connects them, completed to a single component.

    ``n_components`` counts those of the given graph: the nearest points of every two are joined.
    """

    def __init__(self, points: Any, metric: Metric, connectivity: Any) -> None:
        self.points, self.metric, self.n = points, metric, n_items(points)
        graph = sparse.csr_array(connectivity)
        if graph.shape != (self.n, self.n):
            raise InputError(
                f"Wrong shape for connectivity matrix: {graph.shape} for {self.n} rows.",
                remedy="Row i marks the neighbors of point i, as in kneighbors_graph.",
            )
        graph = sparse.coo_array(graph + graph.T)
        self.n_components, component = connected_components(graph, directed=False)
        keep = (graph.row > graph.col) & (graph.data != 0)
        first, second = graph.row[keep].astype(np.int64), graph.col[keep].astype(np.int64)
        if self.n_components > 1:
            warn(
                "SEP015",
                f"the number of connected components of the connectivity matrix is "
                f"{self.n_components} > 1. Completing it to avoid stopping the tree early: the "
                "nearest points of every two are joined.",
            )
            added = self._bridges(component)
            first, second = np.r_[first, added[:, 0]], np.r_[second, added[:, 1]]
        self.first, self.second = first, second

    def _bridges(self, component: Ints) -> Ints:
        """The nearest points of every two components, the later point first."""
        members = [np.flatnonzero(component == c) for c in range(self.n_components)]
        bridges = []
        for c, member in enumerate(members):
            for other in members[:c]:
                d = self.distances(member, other)
                i, k = np.unravel_index(int(d.argmin()), d.shape)
                bridges.append(sorted((int(member[i]), int(other[k])), reverse=True))
        return np.asarray(bridges, dtype=np.int64)

    def distances(self, rows: Ints, others: Ints) -> Floats:
        """Distances of some points to some others."""
        if isinstance(self.metric, PrecomputedDistances):
            return np.asarray(self.points[np.ix_(rows, others)])
        out = np.empty((len(rows), len(others)))
        state = self.metric.precompute(take_items(self.points, others))
        self.metric.fill(take_items(self.points, rows), state, out)
        return out

    def edge_lengths(self) -> Floats:
        """The distance of the points of every edge."""
        out = np.empty(len(self.first))
        order = np.argsort(self.first, kind="stable")
        cuts = np.flatnonzero(np.diff(self.first[order], prepend=-1))
        for edges in np.split(order, cuts[1:]) if len(order) else []:
            out[edges] = self.distances(self.first[edges[:1]], self.second[edges])[0]
        return out


def connected_linkage(connected: ConnectedPoints, method: str) -> Floats:
    """(n − 1) x 4 as in SciPy, in the order of merging, in which distances may decrease."""
    n = connected.n
    rule = _ByParts(connected, method) if method in COMBINE else _ByMeans(connected, method)
    near: Neighbors = [{} for _ in range(2 * n - 1)]
    first, second = connected.first.tolist(), connected.second.tolist()
    lengths = rule.lengths().tolist()
    for i, k, length in zip(first, second, lengths, strict=True):
        near[i][k] = near[k][i] = length
    heap = list(zip(lengths, first, second, strict=True))
    heapify(heap)
    live, size = [True] * n + [False] * (n - 1), [1.0] * (2 * n - 1)
    table = np.empty((n - 1, 4))
    for node in range(n, 2 * n - 1):
        while True:
            length, i, k = heappop(heap)
            if live[i] and live[k]:
                break
        live[i] = live[k] = False
        live[node], size[node] = True, size[i] + size[k]
        table[node - n] = min(i, k), max(i, k), length, size[node]
        near[node] = rule.merge(near, i, k, node, size)
        for other, distance in near[node].items():
            for part in (i, k):
                near[other].pop(part, None)
            near[other][node] = distance
            heappush(heap, (distance, node, other))
        near[i] = near[k] = {}
    return table


class _ByParts:
    """Distances of a union from those of its connected parts."""

    def __init__(self, connected: ConnectedPoints, method: str) -> None:
        self.connected, self.combine = connected, COMBINE[method]

    def lengths(self) -> Floats:
        return self.connected.edge_lengths()

    def merge(self, near: Neighbors, i: int, k: int, _: int, size: list[float]) -> dict[int, float]:
        a, b = near[i], near[k]
        both = {
            other: self.combine(a[other], b[other], size[i], size[k]) if other in b else a[other]
            for other in a
        }
        both.update((other, d) for other, d in b.items() if other not in a)
        both.pop(i, None)
        both.pop(k, None)
        return both


class _ByMeans:
    """Distances of a union from its mean: ward, centroid, median."""

    def __init__(self, connected: ConnectedPoints, method: str) -> None:
        self.connected, self.method = connected, method
        x = connected.points
        self.mean = np.zeros((2 * connected.n - 1, x.shape[1]))
        self.mean[: connected.n] = x - x.mean(axis=0)

    def lengths(self) -> Floats:
        return self._distances(self.connected.first, self.connected.second, 1.0, 1.0)

    def _distances(self, a: Any, b: Any, m: Any, n: Any) -> Floats:
        away = np.sqrt(((self.mean[a] - self.mean[b]) ** 2).sum(axis=-1))
        return np.asarray(away * np.sqrt(2.0 * m * n / (m + n)) if self.method == "ward" else away)

    def merge(
        self, near: Neighbors, i: int, k: int, node: int, size: list[float]
    ) -> dict[int, float]:
        m, n = (1.0, 1.0) if self.method == "median" else (size[i], size[k])
        self.mean[node] = (m * self.mean[i] + n * self.mean[k]) / (m + n)
        others = sorted((near[i].keys() | near[k].keys()) - {i, k})
        sizes = np.array([size[other] for other in others])
        away = self._distances(node, np.array(others, dtype=np.int64), size[node], sizes)
        return dict(zip(others, away.tolist(), strict=True))


# -------------------------------------------------------------------------------------------------
# Dendrograms: trees of merges with the distance of each.


@dataclass(frozen=True, repr=False)
class Dendrogram(Shown):
    """A tree of merges, which can be cut into clusters.

    Leaves are nodes 0 … n − 1 and merge s is node n + s. All methods take time in proportion to the
    number of leaves, but for :meth:`cophenetic`, which returns a number for every pair.

    Parameters
    ----------
    linkage : ndarray of shape (n_leaves - 1, 4)
        SciPy's table: two nodes, their distance, and the number of leaves of their union.

    See Also
    --------
    AgglomerativeClustering : Builds the tree from rows.
    silhouette : Compares the clusters of a cut.

    Examples
    --------
    >>> import separatrix as sx
    >>> tree = sx.Dendrogram([[0, 1, 1.0, 2], [2, 3, 1.5, 2], [4, 5, 4.0, 4]])
    >>> tree.cut(2).tolist(), tree.cut(level=1.2).tolist()
    ([0, 0, 1, 1], [0, 0, 1, 2])
    >>> tree.cophenetic().tolist()
    [1.0, 4.0, 4.0, 4.0, 4.0, 1.5]
    """

    linkage: Floats

    def __str__(self) -> str:
        heights = self.linkage[:, 2]
        return (
            f"Tree of {len(self):,} leaves, merged at distances from {heights.min():.4g} to "
            f"{heights.max():.4g}. Cut it with `cut`."
        )

    def __post_init__(self) -> None:
        table = np.ascontiguousarray(self.linkage, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != 4:
            raise InputError(
                f"A tree of merges is a table of 4 columns, not of shape {table.shape}.",
                remedy="Give linkage_ of a fitted AgglomerativeClustering, or SciPy's linkage(…).",
            )
        nodes, size = table[:, :2], np.ones(2 * len(table) + 1)
        merged = len(table) + 1 + np.arange(len(table))
        uses = np.bincount(nodes.astype(np.int64).clip(0).ravel(), minlength=2 * len(table) + 1)
        valid = np.isfinite(table).all() and bool((nodes >= 0).all())
        if not valid or (nodes >= merged[:, None]).any() or (uses[: 2 * len(table)] != 1).any():
            raise InputError(
                "Not a tree: every node but the last must merge once, after it is created."
            )
        size[merged] = table[:, 3]
        if (size[nodes.astype(np.int64)].sum(axis=1) != table[:, 3]).any():
            raise InputError("Not a tree: the size of a merge is not the sum of its parts.")
        object.__setattr__(self, "linkage", table)

    def __len__(self) -> int:
        """Number of leaves."""
        return len(self.linkage) + 1

    @property
    def left(self) -> Ints:
        """The first node of every merge."""
        return np.ascontiguousarray(self.linkage[:, 0].astype(np.int64))

    @property
    def right(self) -> Ints:
        """The second node of every merge."""
        return np.ascontiguousarray(self.linkage[:, 1].astype(np.int64))

    @property
    def sizes(self) -> Ints:
        """Leaves under every merge."""
        return np.ascontiguousarray(self.linkage[:, 3].astype(np.int64))

    @property
    def heights(self) -> Floats:
        """Distance of the two clusters of every merge, in the order of merging."""
        return np.ascontiguousarray(self.linkage[:, 2])

    @property
    def max_heights(self) -> Floats:
        """The largest height in the subtree of every merge."""
        heights = self.heights
        if (np.diff(heights) >= 0.0).all():
            return heights

        out = np.empty(len(heights))
        loops.subtree_heights(self.left, self.right, heights, out)
        return out

    @property
    def inversions(self) -> Ints:
        """Merges that are lower than one below them, as centroid linkage can have."""
        # A relative difference in height below this is rounding, not an inversion.
        return np.flatnonzero(self.heights < self.max_heights * (1 - 1e-12))

    @property
    def first_leaf(self) -> Ints:
        """For every node, the position of its first leaf among :attr:`leaves`."""
        n, left, right = len(self), self.left, self.right
        size = np.concatenate([np.ones(n, dtype=np.int64), self.sizes])
        offset, parent = np.zeros(2 * n - 1, dtype=np.int64), np.arange(2 * n - 1)
        offset[right] = size[left]
        parent[left] = parent[right] = np.arange(n, 2 * n - 1)
        # offsets to ever higher ancestors, twice as many levels at a time
        while (parent[:-1] != 2 * n - 2).any():
            offset += offset[parent]
            parent = parent[parent]
        return offset

    @property
    def leaves(self) -> Ints:
        """The leaves in an order in which no two branches cross."""
        order = np.empty(len(self), dtype=np.int64)
        order[self.first_leaf[: len(self)]] = np.arange(len(self))
        return order

    def cut(self, n_clusters: int | None = None, *, level: float | None = None) -> Ints:
        """Cluster labels of the leaves, for a number of clusters or a height ``level``.

        ``n_clusters`` leaves out the last merges. ``level`` makes every merge whose subtree has no
        greater height. Clusters are numbered by first appearance.
        """
        if (n_clusters is None) == (level is None):
            raise InputError("Cut by a number of clusters or at a level: give one of the two.")
        if level is not None:
            if np.isnan(level):
                raise InputError("level is NaN: not a height to cut at.")
            made = self.max_heights <= level
        else:
            if not isinstance(n_clusters, int | np.integer) or not 1 <= n_clusters <= len(self):
                raise InputError(
                    f"n_clusters={n_clusters!r} must be an integer from 1 to the "
                    f"{len(self)} leaves."
                )
            made = np.arange(len(self.linkage)) < len(self) - n_clusters
        return self._labels(made)

    def _labels(self, made: NDArray[np.bool_]) -> Ints:
        """Labels if only some merges are made; those inside a merge that is made must be too."""
        n = len(self)
        top, merge = np.arange(2 * n - 1), np.arange(n, 2 * n - 1)
        top[self.left[made]] = top[self.right[made]] = merge[made]
        while (top != (higher := top[top])).any():
            top = higher
        first = np.full(2 * n - 1, n)
        first[top[:n][::-1]] = np.arange(n)[::-1]  # of several, the last assignment counts
        label = np.empty(2 * n - 1, dtype=np.int64)
        clusters = np.flatnonzero(first < n)
        label[clusters[np.argsort(first[clusters])]] = np.arange(len(clusters))
        return label[top[:n]]

    def cophenetic(self) -> Floats:
        """Cophenetic distances: height of the first common merge, in the order of ``pdist``."""
        n, start = len(self), self.first_leaf
        size = np.concatenate([np.ones(n, dtype=np.int64), self.sizes])
        heights = np.zeros((n, n))
        for a, b, height in zip(self.left, self.right, self.heights, strict=True):
            first = slice(start[a], start[a] + size[a])
            second = slice(start[b], start[b] + size[b])
            heights[first, second] = heights[second, first] = height
        position = start[:n]
        i, k = np.triu_indices(n, 1)
        return np.asarray(heights[position[i], position[k]])


# -------------------------------------------------------------------------------------------------
# Certificate of a linkage: whether merges joined the two closest clusters, by its definition.
#
#     single min d, complete max d, average mean d, centroid ‖μ_A − μ_B‖,
#     ward √(2|A||B|/(|A|+|B|)) ‖μ_A − μ_B‖
#
# Weighted and median linkage are average and centroid linkage with weights: the two parts of a
# cluster count alike, so that a member counts 2^−depth.
#
# Up to ``ALL_MERGES`` points all merges are checked against all pairs of clusters; of more points,
# a few merges against all clusters of their time.


#: Up to this many points all merges are checked; of more points, this many merges.
ALL_MERGES, SOME_MERGES = 300, 12
TOLERANCE = 1e-9
BETWEEN: dict[str, np.ufunc] = {
    **{"single": np.minimum, "complete": np.maximum},
    **{"average": np.add, "weighted": np.add},
}
#: Linkages in which both parts of a cluster count alike, whatever their sizes.
BY_HALVES = ("weighted", "median")


def certify_linkage(points: Any, metric: Metric, method: str, table: Floats) -> Certificate:
    """Check ``table`` (SciPy's form) for ``points`` that the fitted ``metric`` has validated."""
    n = n_items(points)
    if n <= ALL_MERGES:
        error = _check_all_merges(points, metric, method, table)
        checked = f"All {n - 1} merges were checked by the definition of the linkage."
    else:
        steps = _merges_to_check(metric, table, by_means=method in BY_MEANS)
        check = _MergeCheck(points, metric, method, table)
        error = max((check.error(int(s)) for s in steps), default=np.nan)
        checked = (
            f"{len(steps)} of the {n - 1} merges were checked by the definition of the linkage: "
            "neither of the two had a closer cluster at that step."
        )
    scale = float(table[:, 2].max(initial=0.0)) or 1.0
    return Certificate(
        claim="Every merge joined the two closest clusters",
        kkt=error / scale,
        tolerance=TOLERANCE,
        statistic="distances of all pairs" if n <= ALL_MERGES else "distances of some pairs",
        notes=(checked, "Merging is greedy: no partition is claimed to be optimal."),
        promised=("kkt",),
    )


# -- points that a graph connects ---------------------------------------------------------------


def certify_connected_linkage(
    connected: ConnectedPoints, method: str, table: Floats
) -> Certificate:
    """Check that merges joined the closest two connected clusters, from a dense matrix."""
    n = connected.n
    max_connected = 500  # points of a graph up to which all merges are checked
    few = n <= max_connected
    error = _check_connected(connected, method, table) if few else np.nan
    scale = float(table[:, 2].max(initial=0.0)) or 1.0
    note = (
        f"All {n - 1} merges were checked by the definition of the linkage."
        if few
        else f"Merges of more than {max_connected} connected points are not checked again."
    )
    return Certificate(
        claim="Every merge joined the two closest clusters that are connected"
        if few
        else "Merges of connected clusters, the closest first",
        kkt=error / scale,
        tolerance=TOLERANCE,
        statistic="distances of connected points",
        notes=(note, "Merging is greedy: no partition is claimed to be optimal."),
        promised=("kkt",) if few else (),
    )


def _check_connected(connected: ConnectedPoints, method: str, table: Floats) -> float:
    """The largest error of a height, or by how much a connected pair was closer."""
    n, worst = connected.n, 0.0
    joined = np.zeros((n, n), dtype=bool)
    joined[connected.first, connected.second] = joined[connected.second, connected.first] = True
    d = np.full((n, n), np.inf)
    d[connected.first, connected.second] = connected.edge_lengths()
    d = np.minimum(d, d.T)
    size, slot = np.ones(n), {node: node for node in range(n)}
    x = connected.points
    mean: Floats | None = None if method in BETWEEN else x - x.mean(axis=0)
    for s, (a, b, height, _) in enumerate(table):
        i, k = slot.pop(int(a)), slot.pop(int(b))
        worst = max(worst, abs(d[i, k] - height), d[i, k] - float(d.min()))
        both, either = joined[i] & joined[k], joined[i] | joined[k]
        either[[i, k]] = False
        m, o = size[i], size[k]
        size[i] += size[k]
        if mean is None:
            weight = 0.5 if method in BY_HALVES else m / (m + o)
            first, other = d[i, both], d[k, both]
            row = np.minimum(d[i], d[k])  # one of the two is infinite where one is connected
            row[both] = (
                weight * first + (1.0 - weight) * other
                if BETWEEN[method] is np.add
                else BETWEEN[method](first, other)
            )
        else:
            weight = 0.5 if method in BY_HALVES else m / (m + o)
            mean[i] = weight * mean[i] + (1.0 - weight) * mean[k]
            row = _mean_distances(mean, size, i, method == "ward")
        row[~either] = np.inf
        joined[i] = joined[:, i] = either
        joined[k] = joined[:, k] = False
        d[i] = d[:, i] = row
        d[k] = d[:, k] = np.inf
        slot[n + s] = i
    return float(worst)


# -- all merges of few points ------------------------------------------------------------------


def _check_all_merges(points: Any, metric: Metric, method: str, table: Floats) -> float:
    """The largest error: a height that is not the distance, or by how much a pair was closer."""
    pairs = (
        _MeanDistances(points, method)
        if method in BY_MEANS
        else _MemberDistances(metric, points, method)
    )
    n, worst = n_items(points), 0.0
    node = np.arange(n)
    for s, (a, b, height, _) in enumerate(table):
        live = n - s
        i, k = (int(np.flatnonzero(node[:live] == child)[0]) for child in (a, b))
        d = pairs.distance[:live, :live]
        worst = max(worst, abs(d[i, k] - height), d[i, k] - float(d.min()))
        i, k = min(i, k), max(i, k)
        pairs.merge(i, k, live)
        node[i], node[k] = n + s, node[live - 1]
    return float(worst)


class _MemberDistances:
    """Distances of clusters from those of their members; the last slot moves to the freed one."""

    def __init__(self, metric: Metric, points: Any, method: str) -> None:
        d = np.array(
            points if isinstance(metric, PrecomputedDistances) else metric.distances(points)
        )
        np.fill_diagonal(d, np.inf)
        self.members, self.size, self.mean = d, np.ones(len(d)), method == "average"
        self.combine, self.halves = BETWEEN[method], method in BY_HALVES
        self.distance = d.copy() if self.mean else d

    def merge(self, i: int, k: int, live: int) -> None:
        d, size = self.members, self.size
        row = self.combine(d[i, :live], d[k, :live])
        if self.halves:
            row *= 0.5
        size[i] += size[k]
        if self.mean:
            _replace(self.distance, i, k, live, row / (size[:live] * size[i]))
        _replace(d, i, k, live, row)
        size[k] = size[live - 1]


class _MeanDistances:
    """Distances of clusters from their means and sizes."""

    def __init__(self, x: Floats, method: str) -> None:
        self.ward, self.halves = method == "ward", method in BY_HALVES
        self.mean, self.size = x - x.mean(axis=0), np.ones(len(x))
        self.distance = np.stack([self.row(i, len(x)) for i in range(len(x))])

    def row(self, i: int, live: int) -> Floats:
        out = _mean_distances(self.mean[:live], self.size[:live], i, self.ward)
        out[i] = np.inf
        return out

    def merge(self, i: int, k: int, live: int) -> None:
        mean, size = self.mean, self.size
        mean[i] = (size[i] * mean[i] + size[k] * mean[k]) / (size[i] + size[k])
        size[i] = 1.0 if self.halves else size[i] + size[k]
        _replace(self.distance, i, k, live, self.row(i, live))
        mean[k], size[k] = mean[live - 1], size[live - 1]


def _mean_distances(mean: Floats, size: Floats, i: int, ward: bool) -> Floats:
    away = np.sqrt(((mean - mean[i]) ** 2).sum(axis=1))
    return np.asarray(away * np.sqrt(2 * size * size[i] / (size + size[i])) if ward else away)


def _replace(d: Floats, i: int, k: int, live: int, row: Floats) -> None:
    """Slot i gets a new row and column, slot k those of the last slot."""
    last = live - 1
    d[i, :live] = d[:live, i] = row
    d[k, :live], d[:live, k] = d[last, :live], d[:live, last]
    d[i, i] = d[k, k] = np.inf


# -- some merges of many points ----------------------------------------------------------------


def _merges_to_check(metric: Metric, table: Floats, *, by_means: bool) -> Ints:
    """Evenly spaced merges among those that few enough distances can check."""
    # Distances that the check of some merges may compute, and of a user's function.
    pairs = 100_000 if isinstance(metric, FunctionMetric) else 2_000_000
    rows = pairs / (len(table) + 1) / SOME_MERGES
    small = np.arange(len(table)) if by_means else np.flatnonzero(table[:, 3] <= max(rows, 2))
    if not len(small):
        return small
    return np.asarray(small[np.unique(np.linspace(0, len(small) - 1, SOME_MERGES).astype(int))])


class _MergeCheck:
    """Checks single merges of many points against the clusters before the merge."""

    def __init__(self, points: Any, metric: Metric, method: str, table: Floats) -> None:
        self.points, self.metric, self.method, self.table = points, metric, method, table
        self.tree = Dendrogram(table)
        # In the order of the drawn tree every cluster at every step is one run of leaves.
        self.order = self.tree.leaves
        self.some_leaf = self.order[self.tree.first_leaf]
        if method in BY_MEANS:
            self.centered = points - points.mean(axis=0)
        elif not isinstance(metric, PrecomputedDistances):
            self.state = metric.precompute(points)

    def error(self, s: int) -> float:
        """By how much merge s misses its height, or the nearest cluster of either side."""
        labels = self.tree.cut(len(self.tree) - s)
        a, b = (int(labels[self.some_leaf[int(node)]]) for node in self.table[s, :2])
        distances = self._from_means if self.method in BY_MEANS else self._from_members
        from_a, from_b = distances(labels, self._weights(labels, s), a, b)
        between = from_a[b]
        from_a[a] = from_b[b] = np.inf
        nearest = min(float(from_a.min()), float(from_b.min()))
        return max(abs(float(between - self.table[s, 2])), float(between) - nearest)

    def _weights(self, labels: Ints, s: int) -> Floats:
        """The weight of every point in the mean of its cluster before merge s."""
        n = len(self.tree)
        if self.method not in BY_HALVES:
            return np.asarray(1.0 / np.bincount(labels)[labels])
        weight, pairs = [1.0] * (2 * n - 1), self.table[:s, :2].astype(int).tolist()
        for merge in range(s - 1, -1, -1):
            left, right = pairs[merge]
            weight[left] = weight[right] = 0.5 * weight[n + merge]
        return np.array(weight[:n])

    def _from_means(self, labels: Ints, weight: Floats, a: int, b: int) -> tuple[Floats, Floats]:
        size, z = np.bincount(labels).astype(float), self.centered
        sums = [np.bincount(labels, weight * column) for column in z.T]
        mean: Floats = np.asarray(np.stack(sums, axis=1), dtype=float)
        ward = self.method == "ward"
        return _mean_distances(mean, size, a, ward), _mean_distances(mean, size, b, ward)

    def _from_members(self, labels: Ints, weight: Floats, a: int, b: int) -> tuple[Floats, Floats]:
        """Distance of the clusters a and b to every cluster, from all pairs of members."""
        run = labels[self.order]
        begin = np.append(0, np.flatnonzero(np.diff(run)) + 1)
        combine, rows = BETWEEN[self.method], []
        for cluster in (a, b):
            members = np.flatnonzero(labels == cluster)
            d = self._rows(members)
            if combine is np.add:
                d = d * weight[members, None] * weight
            row = np.empty(len(begin))
            row[run[begin]] = combine.reduceat(combine.reduce(d, axis=0)[self.order], begin)
            rows.append(row)
        return rows[0], rows[1]

    def _rows(self, members: Ints) -> Floats:
        points = self.points
        if isinstance(self.metric, PrecomputedDistances):
            return np.asarray(points[members])
        out = np.empty((len(members), n_items(points)))
        self.metric.fill(take_items(points, members), self.state, out)
        return out
