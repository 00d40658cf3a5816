"""Ward linkage from means and sizes alone, in rounds of reciprocal nearest neighbors.

Merging a and b raises the scatter within clusters by |a||b|/(|a|+|b|) ‖μ_a − μ_b‖²; the height is
the square root of twice that. No merge brings a third cluster nearer, so that of a cluster whose
nearest did not merge it is still the nearest: a round searches for the others only, on threads.
"""

from __future__ import annotations

import numpy as np

from separatrix.cluster.loops import linkage as loops
from separatrix.cluster.loops.plusplus import TILE
from separatrix.cluster.merges import Columns, Merges
from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints
from separatrix.threads import parallel_map, pieces

#: Searches by point, after which nearest-neighbor chains do the rest: they need three at most.
MAX_SEARCHES = 12
#: Multiplications that are worth a piece of their own.
MIN_WORK = 200_000


def ward_linkage(x: Floats, merges: Merges) -> None:
    """Fill in the merges of the rows of ``x``."""
    clusters = _Clusters(x - x.mean(axis=0) if x.shape[1] else np.zeros((len(x), 1)))
    while len(clusters.member) > 1:
        if clusters.searches > MAX_SEARCHES * len(x):
            _chains(clusters.mean, clusters.size, clusters.member, *merges.remaining)
            return
        first, second, increase = clusters.reciprocal_pairs()
        height = np.sqrt(2.0 * increase)
        merges.append(clusters.member[first], clusters.member[second], height)
        clusters.merge(first, second)


def _chains(
    mean: Floats, size: Floats, member: Ints, first: Ints, second: Ints, height: Floats
) -> None:
    """What is left by nearest-neighbor chains; now and then slots that are empty are left out."""
    columns, (n, d) = np.ascontiguousarray(mean.T), mean.shape
    work = np.empty(n, dtype=np.int64), np.empty(d), np.empty(n)
    done = 0
    while done < n - 1:
        done = loops.ward_chain(columns, size, member, *work, done, first, second, height)
        if done < 0:
            raise InputError("The distances of means are no numbers.", remedy="Scale the columns.")
        left = np.flatnonzero(columns[0] < np.inf)
        columns, size, member = np.ascontiguousarray(columns[:, left]), size[left], member[left]


class _Clusters:
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

        parallel_map(search, pieces(len(slots), MIN_WORK // (m * (d + 2))))

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
