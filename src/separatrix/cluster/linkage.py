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

from separatrix.cluster.loops import linkage as loops
from separatrix.cluster.merges import Columns, Merges
from separatrix.cluster.spanning_tree import minimum_spanning_tree
from separatrix.cluster.ward import ward_linkage
from separatrix.distances.base import Metric, PreparedMetric
from separatrix.distances.condensed import as_square
from separatrix.distances.names import PrecomputedDistances, metric_from
from separatrix.distances.search.neighbors import NeighborSearch
from separatrix.distances.vectors import Euclidean
from separatrix.kernels.base import n_items
from separatrix.messages import InputError, check_option
from separatrix.rows.block import Floats, Ints, unit_of
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
    }.items()
}

#: A round that merges less than this fraction of the clusters does not pay for its pass.
MIN_MERGED = 0.05
#: But up to 20 times so many clusters any round does.
FEW_PAIRS = 25
#: From so many points on, a search finds the first pairs, and the matrix is half as large.
MANY_POINTS = 12_000
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
    points, unit = in_unit(fitted.validate(x), fitted)
    return rescaled(linkage_of_points(points, method, fitted), unit)


def in_unit(points: Any, metric: Metric) -> tuple[Any, float]:
    """Euclidean points divided by a power of two, which is exact: their squares are numbers."""
    if type(metric) is not Euclidean:
        return points, 1.0
    unit = unit_of(points)
    return (points if unit == 1.0 else points / unit), unit


def rescaled(table: Floats, unit: float) -> Floats:
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
        if method == "ward":
            ward_linkage(points, merges)
        elif method in BY_MEANS:
            _merge_by_means(points, method, *merges.remaining)
        elif method == "single":
            minimum_spanning_tree(points, metric, *merges.remaining)
        else:
            _merge_by_distances(metric, points, _KINDS[method], merges)
    height = merges.height
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
    done = 0
    while done < n - 1:
        done = loops.centroid_linkage(
            columns, size, name, nearest, square, exact, method == "median", point, near, done,
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
        square = PreparedMetric(metric, x, metric.precompute(x)).validated_rows(x)
        clusters = _Clusters(square, kind, member, size)
    while len(clusters.member) > 1:
        first, second, height = clusters.reciprocal_pairs()
        if len(first) < max(1.0, MIN_MERGED * len(clusters.member) - FEW_PAIRS):
            _chains(clusters, merges)
            return
        merges.append(clusters.member[first], clusters.member[second], height)
        clusters.merge(first, second)


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
    metric: Metric, x: Floats, member: Ints, size: Floats, kind: int, merges: Merges
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
    """Clusters in the first slots of a matrix of distances, which shrinks as they merge.

    ``member`` is a point of each cluster, ``size`` its weight, and ``row_of`` the row of the matrix
    with its distances to all clusters.
    """

    def __init__(self, d: Floats, kind: int, member: Ints, size: Floats) -> None:
        self.d, self.kind = d, kind
        self.member, self.size, self.row_of = member, size, np.arange(len(d), dtype=np.uint64)
        nobody = np.zeros(0, dtype=np.int64)
        self.merge(nobody, nobody)  # finds the nearest of all

    def reciprocal_pairs(self) -> Columns:
        """Pairs of slots that are each other's nearest, and their distances."""
        here = np.arange(len(self.member))
        first = np.flatnonzero((self.nearest[self.nearest] == here) & (here < self.nearest))
        return first, self.nearest[first], self.distance[first]

    def merge(self, first: Ints, second: Ints) -> None:
        """Merge pairs of slots; the others keep their order."""
        slots = len(self.member)
        weight = _first_weight(self.size[first], self.size[first] + self.size[second], self.kind)
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
                self.d, self.row_of, remaining, pair_of, one, two, weight, self.kind, part.start,
                part.stop, nearest, distance,
            )  # fmt: skip

        parallel_map(update, _row_pieces(len(remaining), slots))
        self.size[first] += self.size[second]
        self.nearest, self.distance = nearest, distance
        self.member, self.size, self.row_of = (
            self.member[remaining],
            self.size[remaining],
            self.row_of[remaining],
        )


def _row_pieces(n: int, width: int) -> list[slice]:
    """Cuts of n rows of so many distances each."""
    return pieces(n, MIN_WORK // max(width, 1))
