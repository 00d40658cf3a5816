"""Complete and average linkage from distances: all mutual pairs at once, then chains.

A round merges every two clusters that are nearest to each other. Both linkages are reducible, so
that these mergers stand however far apart the clusters of other pairs are. Rows that are equal
merge first, at distance zero.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from separatrix.cluster.loops import linkage as loops
from separatrix.distances.base import Metric, PreparedMetric
from separatrix.distances.search.neighbors import NeighborSearch
from separatrix.kernels.base import n_items
from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints

#: A round that unites less than this share of the clusters is not worth rewriting all distances.
WORTH_A_ROUND = 0.05
#: Fewer points are merged by chains alone.
MANY_POINTS = 3000
#: Rows of distances that are united together.
CHUNK = 32


class Merges:
    """Pairs of points whose clusters merge, and the distance at which they do."""

    def __init__(self, n: int) -> None:
        if n < 1:
            raise InputError("No points: nothing to cluster.")
        self.first, self.second = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64)
        self.height = np.empty(n - 1)
        self.done = 0

    @property
    def room(self) -> tuple[Ints, Ints, Floats]:
        """What is still to be filled."""
        rest = slice(self.done, None)
        return self.first[rest], self.second[rest], self.height[rest]

    def add(self, one: Ints, two: Ints, height: Floats | float) -> None:
        """Further mergers."""
        now = slice(self.done, self.done + len(one))
        self.first[now], self.second[now], self.height[now] = one, two, height
        self.done += len(one)


def merged_by_distance(metric: Metric, X: Any, kind: int) -> Merges:
    """All mergers of complete or average linkage."""
    x = metric.validate(X)
    merges = Merges(n_items(x))
    member, size = np.arange(n_items(x)), np.ones(n_items(x))
    if metric.of_vectors:
        x, member, size = _distinct(x, merges)
    if metric.of_vectors and len(x) >= MANY_POINTS:
        clusters = _first_round(metric, x, member, size, kind, merges)
        with ThreadPoolExecutor(1) as pool:
            while True:
                one, two, height = clusters.mutual(pool)
                if len(one) < WORTH_A_ROUND * clusters.alive or clusters.alive == 1:
                    break
                merges.add(clusters.member[one], clusters.member[two], height)
                clusters.merge(pool, one, two)
        clusters.pack()
        m, member, size = clusters.alive, clusters.member, clusters.size
        square = np.ascontiguousarray(clusters.d[:m, :m])
    else:
        square = PreparedMetric(metric, x, metric.precompute(x)).validated_rows(x)
    one, two, height = merges.room
    loops.chain_of_distances(square, size, kind, one, two, height)
    one[:], two[:] = member[one], member[two]
    return merges


def _distinct(x: Floats, merges: Merges) -> tuple[Floats, Ints, Floats]:
    """Different rows, the first point of each and how many there are; equal rows are merged."""
    order = np.lexsort(x.T[::-1]) if x.shape[1] else np.arange(len(x))
    starts = np.r_[True, (np.diff(x[order], axis=0) != 0).any(axis=1)]
    if starts.all():
        return x, np.arange(len(x)), np.ones(len(x))
    group = np.cumsum(starts) - 1
    first = order[starts]  # of equal rows the first, for the order keeps their order
    merges.add(first[group[~starts]], order[~starts], 0.0)
    member = np.sort(first)
    size = np.bincount(np.searchsorted(member, first[group]), minlength=len(member))
    return np.ascontiguousarray(x[member]), member, size.astype(float)


def _first_round(
    metric: Metric, x: Floats, member: Ints, size: Floats, kind: int, merges: Merges
) -> _Clusters:
    """Pairs of points that are nearest to each other are found without a square of distances.

    The square is then made among the unions, a third smaller from the start.
    """
    here = np.arange(len(x))
    found = NeighborSearch(x, metric).nearest_others(1, x)
    nearest = found.indices[:, 0]
    one = np.flatnonzero((nearest[nearest] == here) & (here < nearest))
    two = nearest[one]
    merges.add(member[one], member[two], found.distances[one, 0])
    partner = here.copy()
    partner[one] = two
    kept = np.delete(here, two)
    other = partner[kept]
    both = np.where(other == kept, size[kept], size[kept] + size[other])
    square = _united(metric, x, kept, other, size[kept] / both, kind)
    return _Clusters(square, kind, member[kept], both)


def _united(metric: Metric, x: Floats, one: Ints, two: Ints, share: Floats, kind: int) -> Floats:
    """Distances among clusters of one point or two, a few rows at a time in the same memory."""
    state, m = metric.precompute(x), len(one)
    d = np.empty((m, m))

    def fill(starts: range) -> None:
        rows, others = np.empty((CHUNK, len(x))), np.empty((CHUNK, len(x)))
        for start in starts:
            stop = min(start + CHUNK, m)
            apart = start + np.flatnonzero(one[start:stop] != two[start:stop])
            metric.fill(x[one[start:stop]], state, rows[: stop - start])
            metric.fill(x[two[apart]], state, others[: len(apart)])
            loops.unite(rows, others, apart - start, start, one, two, share, kind, d[start:stop])

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

    def __init__(self, d: Floats, kind: int, member: Ints, size: Floats) -> None:
        n = len(d)
        self.d, self.kind = d, kind
        self.member, self.size = member, size
        self.there = np.ones(n, dtype=np.bool_)
        self.nearest, self.least = np.full(n, -1), np.full(n, np.inf)
        self.stale = np.zeros(n, dtype=np.bool_)

    @property
    def alive(self) -> int:
        return int(self.there.sum())

    def mutual(self, pool: ThreadPoolExecutor) -> tuple[Ints, Ints, Floats]:
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

    def merge(self, pool: ThreadPoolExecutor, one: Ints, two: Ints) -> None:
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
