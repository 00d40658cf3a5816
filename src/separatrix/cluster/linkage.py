"""Agglomerative linkage: all merges of clusters, in SciPy's form.

Complete, average, weighted and Ward linkage are reducible: a merged cluster is never closer to a
third one than the closer of its parts was. Reciprocal nearest neighbors may therefore merge at
once, all such pairs of a round together, and the merges are the same as if the closest pair had
always gone first; what rounds leave is done by nearest-neighbor chains. Centroid and median linkage
are not reducible, and there the closest pair does go first. Single linkage is the minimum spanning
tree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.cluster.loops import linkage as loops
from separatrix.cluster.spanning_tree import minimum_spanning_tree
from separatrix.distances.base import Metric, PreparedMetric
from separatrix.distances.condensed import as_square
from separatrix.distances.names import PrecomputedDistances, metric_from
from separatrix.distances.search.neighbors import NeighborSearch
from separatrix.distances.vectors import Euclidean
from separatrix.kernels.base import n_items
from separatrix.messages import InputError, check_option
from separatrix.rows.block import Floats, Ints
from separatrix.threads import parallel_map, pieces

LINKAGES = ("single", "complete", "average", "weighted", "centroid", "median", "ward")
#: Linkages by means, of Euclidean points.
BY_MEANS = ("centroid", "median", "ward")
#: Those in which a merge may be lower than one before it.
WITH_INVERSIONS = ("centroid", "median")
_KINDS = {"complete": loops.COMPLETE, "average": loops.AVERAGE, "weighted": loops.WEIGHTED}

#: A round that merges less than this fraction of the clusters does not pay for its pass.
MIN_MERGED = 0.05
#: Fewer points are merged by nearest-neighbor chains alone.
MANY_POINTS = 3000
#: Rows of distances that are updated together.
CHUNK = 32
#: Distances that are worth a piece of their own.
MIN_WORK = 50_000


def linkage(X: Any, method: str = "average", metric: Any = "euclidean") -> Floats:
    """(n − 1) x 4: the two clusters of each merge, their distance, and the size of their union.

    Points are numbered 0 … n − 1 and merges from n on, in order of distance (centroid and median:
    of merging, in which distances may decrease). ``metric`` may be "precomputed", of a square
    matrix or of distances in condensed form.
    """
    chosen = metric_from(metric)
    x = as_square(X) if isinstance(chosen, PrecomputedDistances) else X
    fitted = chosen.fitted(x)
    return linkage_of_points(fitted.validate(x), method, fitted)


def linkage_of_points(points: Any, method: str, metric: Metric) -> Floats:
    """The same for points that a fitted metric has validated."""
    check_option("linkage", method, LINKAGES)
    merges = _Merges(n_items(points))
    check_euclidean(method, metric)
    if method in BY_MEANS:
        _merge_by_means(points, method, *merges.remaining)
    elif method == "single":
        minimum_spanning_tree(points, metric, *merges.remaining)
    else:
        _merge_by_distances(metric, points, _KINDS[method], merges)
    height = merges.height
    merging = method in WITH_INVERSIONS
    order = np.arange(len(height)) if merging else np.argsort(height, kind="stable")
    table = np.empty((len(height), 4))
    loops.scipy_linkage(merges.first, merges.second, height, order, table)
    return table


def check_euclidean(method: str, metric: Metric) -> None:
    """Refuse linkages by means in another distance."""
    if method in BY_MEANS and type(metric) is not Euclidean:
        raise InputError(
            f"{method} linkage is defined by means, in Euclidean distance.",
            remedy="Give points and metric='euclidean', or use average linkage.",
        )


Columns = tuple[Ints, Ints, Floats]


class _Merges:
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


# -- centroid, median and Ward linkage -------------------------------------------------------------


def _merge_by_means(x: Floats, method: str, *merges: NDArray[Any]) -> None:
    n = len(x)
    columns = np.ascontiguousarray((x - x.mean(axis=0)).T) if x.shape[1] else np.zeros((1, n))
    if method == "ward":
        loops.ward_chain(columns, np.ones(n), *merges)
        return
    nearest, square = np.full(n, -1), np.full(n, np.inf)

    def search(rows: slice) -> None:
        loops.nearest_later(columns, rows.start, rows.stop, nearest, square)

    parallel_map(search, _row_pieces(n, n * len(columns)))
    loops.centroid_linkage(columns, nearest, square, method == "median", *merges)


# -- complete, average and weighted linkage --------------------------------------------------------


def _merge_by_distances(metric: Metric, x: Any, kind: int, merges: _Merges) -> None:
    """Rounds of reciprocal nearest neighbors, then nearest-neighbor chains."""
    n = n_items(x)
    member, size = np.arange(n), np.ones(n)
    if metric.of_vectors:
        x, member, size = _merge_equal_rows(x, merges)
    if metric.of_vectors and len(x) >= MANY_POINTS:
        clusters = _first_round(metric, x, member, size, kind, merges)
        while True:
            first, second, height = clusters.reciprocal_pairs()
            if len(first) < MIN_MERGED * clusters.n_clusters or clusters.n_clusters == 1:
                break
            merges.append(clusters.member[first], clusters.member[second], height)
            clusters.merge(first, second)
        clusters.compact()
        m, member, size = clusters.n_clusters, clusters.member, clusters.size
        square = np.ascontiguousarray(clusters.d[:m, :m])
    else:
        square = PreparedMetric(metric, x, metric.precompute(x)).validated_rows(x)
    first, second, height = merges.remaining
    loops.nearest_neighbor_chain(square, size, kind, first, second, height)
    first[:], second[:] = member[first], member[second]


def _merge_equal_rows(x: Floats, merges: _Merges) -> tuple[Floats, Ints, Floats]:
    """Distinct rows, the first point of each and their counts; equal rows merge at distance 0."""
    order = np.lexsort(x.T[::-1]) if x.shape[1] else np.arange(len(x))
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
    metric: Metric, x: Floats, member: Ints, size: Floats, kind: int, merges: _Merges
) -> _Clusters:
    """Reciprocal nearest points are found by a search, without the matrix of distances.

    The matrix is then computed among the merged clusters, about a third smaller from the start.
    """
    here = np.arange(len(x))
    found = NeighborSearch(x, metric).nearest_others(1, x)
    nearest = found.indices[:, 0]
    first = np.flatnonzero((nearest[nearest] == here) & (here < nearest))
    second = nearest[first]
    merges.append(member[first], member[second], found.distances[first, 0])
    partner = here.copy()
    partner[first] = second
    remaining = np.delete(here, second)
    other = partner[remaining]
    both = np.where(other == remaining, size[remaining], size[remaining] + size[other])
    weight = _first_weight(size[remaining], both, kind)
    square = _pair_distances(metric, x, remaining, other, weight, kind)
    return _Clusters(square, kind, member[remaining], both)


def _first_weight(size: Floats, both: Floats, kind: int) -> Floats:
    """The weight of the first of two clusters in their union."""
    return np.full(len(size), 0.5) if kind == loops.WEIGHTED else size / both


def _pair_distances(
    metric: Metric, x: Floats, first: Ints, second: Ints, weight: Floats, kind: int
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
            loops.pair_distances(
                rows, others, pairs - start, start, first, second, weight, kind, d[start:stop]
            )

    parallel_map(fill, pieces(m, CHUNK))
    np.fill_diagonal(d, np.inf)
    return d


class _Clusters:
    """Clusters in the slots of a matrix of distances, which is compacted as they merge.

    ``member`` is a point of each cluster, ``size`` its weight; distances of empty slots are
    infinite.
    """

    def __init__(self, d: Floats, kind: int, member: Ints, size: Floats) -> None:
        n = len(d)
        self.d, self.kind = d, kind
        self.member, self.size = member, size
        self.occupied = np.ones(n, dtype=np.bool_)
        self.nearest, self.distance = np.full(n, -1), np.full(n, np.inf)
        self.stale = np.zeros(n, dtype=np.bool_)

    @property
    def n_clusters(self) -> int:
        return int(self.occupied.sum())

    def reciprocal_pairs(self) -> Columns:
        """Pairs of slots that are each other's nearest, and their distances."""
        slots = len(self.member)

        def search(rows: slice) -> None:
            loops.nearest_in_rows(
                self.d, slots, rows.start, rows.stop, self.stale, self.nearest, self.distance
            )

        parallel_map(search, _row_pieces(slots, slots))
        self.stale[:] = False
        here = np.arange(slots)
        reciprocal = (self.nearest[self.nearest] == here) & (here < self.nearest) & self.occupied
        first = np.flatnonzero(reciprocal)
        return first, self.nearest[first], self.distance[first]

    def merge(self, first: Ints, second: Ints) -> None:
        """Merge pairs of slots; the union stays in the first."""
        weight = _first_weight(self.size[first], self.size[first] + self.size[second], self.kind)
        pairs = (first, second, weight, self.kind)
        slots = len(self.member)

        def by_row(part: slice) -> None:
            loops.merge_rows(self.d, slots, *pairs, part.start, part.stop)

        def by_column(rows: slice) -> None:
            loops.merge_columns(self.d, *pairs, rows.start, rows.stop)

        parallel_map(by_row, _row_pieces(len(first), slots))
        parallel_map(by_column, _row_pieces(slots, len(first)))
        self.size[first] += self.size[second]
        self.occupied[second] = False
        self.stale[first] = self.stale[second] = True
        self.nearest[first] = -1
        if self.n_clusters < 0.75 * slots:
            self.compact()

    def compact(self) -> None:
        """Move the occupied slots to the front."""
        occupied = np.flatnonzero(self.occupied)
        loops.compact(self.d, occupied)
        new_slot = np.full(len(self.member), -1)
        new_slot[occupied] = np.arange(len(occupied))
        nearest = self.nearest[occupied]
        unknown = (nearest < 0) | self.stale[nearest]
        self.nearest = np.where(unknown, -1, new_slot[nearest])
        self.member, self.size = self.member[occupied], self.size[occupied]
        self.distance = self.distance[occupied]
        self.occupied = self.occupied[occupied]
        self.stale = np.zeros(len(occupied), dtype=np.bool_)


def _row_pieces(n: int, width: int) -> list[slice]:
    """Cuts of n rows of so many distances each."""
    return pieces(n, MIN_WORK // max(width, 1))
