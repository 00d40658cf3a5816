"""Search for clusters of given points, with what all numbers of clusters share computed once.

That is the distances of all pairs, the Gram matrix, the sorted rows, or the whole dendrogram.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from separatrix.cluster.dendrogram import Dendrogram
from separatrix.cluster.initialization import (
    SortedRows,
    kernel_plusplus,
    kmedoids_plusplus,
    plusplus_centers,
    sorted_rows,
)
from separatrix.cluster.kernel_lloyd import GramBlocks, kernel_lloyd
from separatrix.cluster.linkage import linkage
from separatrix.cluster.lloyd.iterations import lloyd
from separatrix.cluster.loops.small_tables import pair_distances
from separatrix.cluster.pam import k_medoids
from separatrix.cluster.silhouette import Silhouette, coefficients, silhouette
from separatrix.distances.vectors import Euclidean
from separatrix.kernels import Precomputed, kernel_from
from separatrix.rows.block import Floats, Ints
from separatrix.study.clustering.methods import Method, few_rows

#: Rows whose Euclidean distances are all stored, and shared by all silhouettes.
STORED_PAIRS = 4_000
#: Iterations of one initialization, at most.
ITERATIONS = 300


class Partition(NamedTuple):
    """Labels, the objective that they minimize (0 for a tree), and medoids where there are any."""

    objective: float
    labels: Ints
    medoids: Ints | None = None


class _LargeClusters(NamedTuple):
    """Sizes of the clusters that are not a few outliers, their rows, and positions of clusters."""

    sizes: Ints
    rows: Ints
    code: Ints
    n: int

    @classmethod
    def of(cls, labels: Ints) -> _LargeClusters:
        sizes = np.bincount(labels)
        large = sizes >= few_rows(len(labels))
        rows = np.flatnonzero(large[labels])
        return cls(sizes[large], rows, (np.cumsum(large) - 1)[labels[rows]], len(labels))

    @property
    def members(self) -> Floats:
        """Indicators of the clusters, n x k."""
        found = np.zeros((self.n, len(self.sizes)))
        found[self.rows, self.code] = 1.0
        return found

    def score(self, sums: Floats) -> float:
        """The mean silhouette from sums of distances to these clusters."""
        if len(self.sizes) < 2:
            return float("nan")
        return float(coefficients(sums[self.rows], self.sizes, self.code)[0].sum()) / self.n


class Search:
    """Clusters of given points."""

    def __init__(self, method: Method, x: Floats) -> None:
        self.method = method
        self.x = np.ascontiguousarray(x)
        self.ones = np.ones(len(x))

    def partition(self, k: int, rng: np.random.Generator, starts: int = 1) -> Partition:
        """The best of some initializations; a dendrogram is cut."""
        if not self.method.random:
            return Partition(0.0, self._tree.cut(k))
        found = [self._once(k, rng) for _ in range(starts)]
        return min(found, key=lambda one: one.objective)

    def _once(self, k: int, rng: np.random.Generator) -> Partition:
        """One initialization."""
        if self.method.name == "kmeans":
            start = plusplus_centers(self._sorted, k, rng)
            found = lloyd(self.x, self.ones, start, max_iter=ITERATIONS)
            return Partition(found.inertia, found.labels.astype(np.int64))
        if self.method.name == "kernel":
            gram = self._blocks
            first = kernel_plusplus(gram, self.ones, k, rng)
            swept = kernel_lloyd(gram, self.ones, first, k, assign="centroid", max_iter=ITERATIONS)
            return Partition(swept.inertia, swept.labels)
        d = self._single_precision_pairs
        first = kmedoids_plusplus(d, self.ones, k, rng)
        medoids = k_medoids(d, self.ones, first, method="pam", max_iter=ITERATIONS)
        labels = d[:, medoids.indices].argmin(axis=1).astype(np.int64)
        return Partition(medoids.loss, labels, medoids.indices)

    def silhouette(self, labels: Ints) -> Silhouette:
        """Silhouettes in the distance that the method uses."""
        if self.method.euclidean:
            return silhouette(self.x, labels)
        return silhouette(self._pairs, labels, "precomputed")

    def scores(self, partitions: Sequence[Partition]) -> list[float]:
        """Mean silhouettes, those of rows in clusters of a few being 0, as of a row alone.

        NaN if fewer than two other clusters remain: cutting off outliers is no partition.
        """
        if self.method.euclidean and len(self.x) > STORED_PAIRS:
            return [self._score_in_blocks(found.labels) for found in partitions]
        large = [_LargeClusters.of(found.labels) for found in partitions]
        ends = np.cumsum([len(one.sizes) for one in large])
        # one product for all partitions: the distances are read once
        sums = np.split(self._pairs @ np.hstack([one.members for one in large]), ends[:-1], axis=1)
        return [one.score(of) for one, of in zip(large, sums, strict=True)]

    def _score_in_blocks(self, labels: Ints) -> float:
        large = _LargeClusters.of(labels)
        if len(large.sizes) < 2:
            return float("nan")
        found = silhouette(self.x[large.rows], labels[large.rows])
        return found.score * len(large.rows) / len(labels)

    # -- what all numbers of clusters share --------------------------------------------------------

    @cached_property
    def _sorted(self) -> SortedRows:
        return sorted_rows(self.x, self.ones)

    @cached_property
    def _pairs(self) -> Floats:
        """Distances of all pairs, in the space of the kernel where there is one."""
        if self.method.name == "kernel":
            diagonal = np.diag(self._gram)
            squared = diagonal[:, None] + diagonal - 2 * self._gram
            return np.asarray(np.sqrt(np.maximum(squared, 0.0)))
        if self.method.euclidean:
            d = np.empty((len(self.x), len(self.x)))
            pair_distances(self.x, np.ascontiguousarray(self.x.T), d)
            return d
        d = self.method.distance().fitted(self.x).distances(self.x)
        np.fill_diagonal(d, 0.0)
        return np.asarray((d + d.T) / 2)

    @cached_property
    def _single_precision_pairs(self) -> NDArray[np.float32]:
        return np.ascontiguousarray(self._pairs, dtype=np.float32)

    @cached_property
    def _gram(self) -> Floats:
        return np.asarray(kernel_from("rbf", gamma="scale", x=self.x).gram(self.x))

    @cached_property
    def _blocks(self) -> GramBlocks:
        return GramBlocks(Precomputed().prepare(self._gram))

    @cached_property
    def _tree(self) -> Dendrogram:
        name = self.method.name
        if type(self.method.distance()) is Euclidean:
            return Dendrogram(linkage(self.x, name))
        return Dendrogram(linkage(self._pairs, name, "precomputed"))
