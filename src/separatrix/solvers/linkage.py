"""Agglomerative clustering: the whole history of mergers, in SciPy's form.

Complete, average and Ward's linkage are reducible: a merger is never nearer to a third cluster than
the nearer of its halves was. Clusters that are nearest to each other may therefore merge at once,
all such pairs of a round together, and the history is the same as if the closest pair had always
gone first. Centroids are not reducible, and there the closest pair does go first. Single linkage is
the minimum spanning tree in disguise.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.compiled import linkage as loops
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.similarity.metrics.base import Metric, Prepared, count, vectors
from separatrix.similarity.metrics.chosen import metric_from
from separatrix.similarity.metrics.vectors import Euclidean
from separatrix.similarity.neighbours.search import NeighbourSearch
from separatrix.solvers.spanning_tree import spanning_tree

LINKAGES = ("single", "complete", "average", "centroid", "ward")
#: A round that unites less than this share of the clusters is not worth rewriting all distances.
WORTH_A_ROUND = 0.05
#: From so many points on, the first pairs are found by a search.
MANY_POINTS = 1000
#: Rows of distances that are united together.
CHUNK = 32

Index = NDArray[np.int64]


def linkage(X: Any, method: str = "average", metric: Any = "euclidean") -> Floats:
    """(n − 1) x 4: the two clusters of each merger, their distance, and the size of the union.

    Points are numbered 0 … n − 1 and mergers from n on, in order of distance (centroid: of
    merging, in which distances may fall). ``metric`` may be "precomputed".
    """
    chosen = metric_from(metric).fitted(X)
    if method not in LINKAGES:
        raise InputError(f"No linkage {method!r}.", remedy=f"Choose of {', '.join(LINKAGES)}.")
    if method in ("centroid", "ward"):
        if type(chosen) is not Euclidean:
            raise InputError(
                f"{method} linkage is about means of points, in Euclidean distance.",
                remedy="Give points and metric='euclidean', or use average linkage.",
            )
        merges = _from_means(vectors(X), method)
    elif method == "single":
        merges = spanning_tree(X, chosen)
    else:
        kind = loops.COMPLETE if method == "complete" else loops.AVERAGE
        merges = _from_distances(chosen, X, kind)
    first, second, height = merges
    order = np.arange(len(height)) if method == "centroid" else np.argsort(height, kind="stable")
    table = np.empty((len(height), 4))
    loops.numbered(first, second, height, order, table)
    return table


Merges = tuple[Index, Index, Floats]


def _from_means(x: Floats, method: str) -> Merges:
    n = len(x)
    merges = _room(n)
    columns = np.ascontiguousarray((x - x.mean(axis=0)).T) if x.shape[1] else np.zeros((1, n))
    if method == "ward":
        loops.ward_chain(columns, np.ones(n), *merges)
        return merges
    nearest, square = np.full(n, -1), np.full(n, np.inf)
    # A slot looks at those after it: this many of the first have half of the work.
    half = int(n * (1 - np.sqrt(0.5)))
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(lambda: loops.nearest_later(columns, half, n, nearest, square))
        loops.nearest_later(columns, 0, half, nearest, square)
        other.result()
    loops.centroids(columns, nearest, square, *merges)
    return merges


def _from_distances(metric: Metric, X: Any, kind: int) -> Merges:
    """Rounds in which all pairs merge that are nearest to each other; the rest by chains."""
    x = metric.accept(X)
    merges = _room(count(x))
    with ThreadPoolExecutor(1) as pool:
        if metric.of_vectors and len(x) >= MANY_POINTS:
            clusters, done = _first_round(metric, X, x, kind, merges)
        else:
            clusters, done = _Clusters(_square(metric, x), kind), 0
        while done < len(merges[0]):
            one, two, height = clusters.mutual(pool)
            if len(one) < WORTH_A_ROUND * clusters.alive:
                break
            done = _written(merges, done, clusters.member[one], clusters.member[two], height)
            clusters.merge(pool, one, two)
    clusters.pack()
    chained = _room(clusters.alive)
    square = np.ascontiguousarray(clusters.d[: clusters.alive, : clusters.alive])
    loops.chain_of_distances(square, clusters.size, kind, *chained)
    one, two, height = chained
    _written(merges, done, clusters.member[one], clusters.member[two], height)
    return merges


def _written(merges: Merges, done: int, one: Index, two: Index, height: Floats) -> int:
    for column, values in zip(merges, (one, two, height), strict=True):
        column[done : done + len(one)] = values
    return done + len(one)


def _square(metric: Metric, x: Any) -> Floats:
    d = Prepared(metric, x, metric.prepare(x)).among(x)
    np.fill_diagonal(d, np.inf)
    return d


def _first_round(
    metric: Metric, X: Any, x: Floats, kind: int, merges: Merges
) -> tuple[_Clusters, int]:
    """Pairs of points that are nearest to each other are found without a square of distances.

    The square is then made among the unions, a third smaller from the start.
    """
    n = len(x)
    found = NeighbourSearch(X, metric).nearest_others(1, X)
    nearest, here = found.indices[:, 0], np.arange(n)
    one = np.flatnonzero((nearest[nearest] == here) & (here < nearest))
    two = nearest[one]
    done = _written(merges, 0, one, two, found.distances[one, 0])
    partner = here.copy()
    partner[one] = two
    kept = np.delete(here, two)
    clusters = _Clusters(_united(metric, x, kept, partner[kept], kind), kind)
    clusters.member = kept
    clusters.size = np.where(partner[kept] == kept, 1.0, 2.0)
    return clusters, done


def _united(metric: Metric, x: Floats, one: Index, two: Index, kind: int) -> Floats:
    """Distances among clusters of one point or two, a few rows at a time in the same memory."""
    state, m = metric.prepare(x), len(one)
    d = np.empty((m, m))

    def fill(starts: range) -> None:
        rows, others = np.empty((CHUNK, len(x))), np.empty((CHUNK, len(x)))
        for start in starts:
            stop = min(start + CHUNK, m)
            apart = start + np.flatnonzero(one[start:stop] != two[start:stop])
            metric.fill(x[one[start:stop]], state, rows[: stop - start])
            metric.fill(x[two[apart]], state, others[: len(apart)])
            loops.unite(rows, others, apart - start, one, two, kind, d[start:stop])

    starts = range(0, m, CHUNK)
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(fill, starts[1::2])
        fill(starts[::2])
        other.result()
    np.fill_diagonal(d, np.inf)
    return d


class _Clusters:
    """Clusters in the slots of a square of distances, which shrinks towards its corner.

    ``member`` is a point of each cluster, ``size`` its weight; empty slots are at infinity.
    """

    def __init__(self, d: Floats, kind: int) -> None:
        n = len(d)
        self.d, self.kind = d, kind
        self.member, self.size = np.arange(n), np.ones(n)
        self.there = np.ones(n, dtype=np.bool_)
        self.nearest, self.least = np.full(n, -1), np.full(n, np.inf)
        self.stale = np.zeros(n, dtype=np.bool_)

    @property
    def alive(self) -> int:
        return int(self.there.sum())

    def mutual(self, pool: ThreadPoolExecutor) -> tuple[Index, Index, Floats]:
        """Pairs of slots that are nearest to each other, and their distances."""
        slots = len(self.member)

        def look(a: int, b: int) -> None:
            table = (self.d, slots, a, b, self.stale, self.nearest, self.least)
            loops.nearest_in_rows(*table)

        _halves(pool, slots, look)
        self.stale[:] = False
        here = np.arange(slots)
        first = (self.nearest[self.nearest] == here) & (here < self.nearest) & self.there
        one = np.flatnonzero(first)
        return one, self.nearest[one], self.least[one]

    def merge(self, pool: ThreadPoolExecutor, one: Index, two: Index) -> None:
        """Unite pairs of slots; the union stays in the first."""
        share = self.size[one] / (self.size[one] + self.size[two])
        pairs = (one, two, share, self.kind)
        slots = len(self.member)
        _halves(pool, len(one), lambda a, b: loops.join_rows(self.d, slots, *pairs, a, b))
        _halves(pool, slots, lambda a, b: loops.join_columns(self.d, *pairs, a, b))
        self.size[one] += self.size[two]
        self.there[two] = False
        self.stale[one] = self.stale[two] = True
        self.nearest[one] = -1
        if self.alive < 0.75 * slots:
            self.pack()

    def pack(self) -> None:
        """Close the gaps that empty slots leave."""
        kept = np.flatnonzero(self.there)
        loops.pack(self.d, kept)
        to = np.full(len(self.member), -1)
        to[kept] = np.arange(len(kept))
        nearest = self.nearest[kept]
        gone = (nearest < 0) | self.stale[nearest]
        self.nearest = np.where(gone, -1, to[nearest])
        self.member, self.size, self.least = self.member[kept], self.size[kept], self.least[kept]
        self.there, self.stale = self.there[kept], np.zeros(len(kept), dtype=np.bool_)


def _halves(pool: ThreadPoolExecutor, n: int, work: Callable[[int, int], None]) -> None:
    """Both halves of 0 … n at the same time."""
    other = pool.submit(work, n // 2, n)
    work(0, n // 2)
    other.result()


def _room(n: int) -> Merges:
    if n < 1:
        raise InputError("No points: nothing to cluster.")
    return np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1)
