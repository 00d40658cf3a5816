"""The ways to part a table, behind one door: so many clusters of these points, please.

A search is made for one set of points and keeps what all numbers of clusters share: the distances,
the Gram matrix, or the whole tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.cluster.agglomerative import AgglomerativeClustering
from separatrix.cluster.dendrogram import Dendrogram
from separatrix.cluster.initialization import (
    kernel_plusplus,
    kmeans_plusplus,
    kmedoids_plusplus,
)
from separatrix.cluster.kernel_kmeans import KernelKMeans
from separatrix.cluster.kernel_lloyd import GramBlocks, kernel_lloyd
from separatrix.cluster.kmeans import KMeans
from separatrix.cluster.kmedoids import KMedoids
from separatrix.cluster.linkage import linkage
from separatrix.cluster.lloyd import lloyd
from separatrix.cluster.pam import k_medoids
from separatrix.cluster.silhouette import Silhouette, silhouette
from separatrix.distances.base import Metric
from separatrix.distances.gower import Gower
from separatrix.distances.names import metric_from
from separatrix.distances.vectors import Euclidean
from separatrix.kernels import Precomputed, kernel_from
from separatrix.messages import InputError, did_you_mean
from separatrix.rows.block import Floats

Labels = NDArray[np.int64]

TREES = ("single", "complete", "average", "centroid", "ward")
METHODS = ("kmeans", "kmedoids", "kernel", *TREES)
#: Distances that tables of numbers can be asked for.
METRICS = (
    "euclidean",
    "manhattan",
    "chebyshev",
    "sqeuclidean",
    "cosine",
    "mahalanobis",
    "gower",
)
#: Distances that bring every column to a common footing by themselves.
UNITLESS = ("mahalanobis", "gower")
#: Methods that are about means, and so about Euclidean distance.
OF_MEANS = ("kmeans", "kernel", "centroid", "ward")
#: A cluster of fewer rows, or of a smaller share, is a few outliers.
FEW_ROWS, FEW_SHARE = 3, 0.01
#: Rows that methods of all pairs take at most; single linkage holds no pairs.
MOST_ROWS = {"complete": 20_000, "average": 20_000, "kernel": 20_000, "single": 200_000}
MOST_MEANS = 50_000


@dataclass(frozen=True)
class Method:
    """A method and a metric by name; ``groups`` are the design's columns of one category each."""

    name: str
    metric: str = "euclidean"
    groups: tuple[tuple[int, ...], ...] = ()

    @property
    def has_starts(self) -> bool:
        """Whether chance has a part in it."""
        return self.name not in TREES

    @property
    def euclidean(self) -> bool:
        """Whether rows are compared by plain Euclidean distance."""
        return self.metric == "euclidean" and self.name != "kernel"

    def distance(self) -> Metric:
        """The metric itself."""
        return Gower(groups=self.groups) if self.metric == "gower" else metric_from(self.metric)

    def search(self, x: Floats) -> Search:
        """Ready to part these points."""
        return Search(self, x)

    def model(self, k: int, *, standardize: bool, seed: int, n: int) -> Any:
        """The estimator to keep; large tables get fewer starts."""
        starts = 10 if n <= 20_000 else 3
        if self.name == "kmeans":
            return KMeans(k, n_init=starts, standardize=standardize, random_state=seed)
        if self.name == "kmedoids":
            given = self.distance() if self.groups and self.metric == "gower" else self.metric
            return KMedoids(k, metric=given, standardize=standardize, random_state=seed)
        if self.name == "kernel":
            return KernelKMeans(k, standardize=standardize, random_state=seed)
        given = self.distance() if self.groups and self.metric == "gower" else self.metric
        return AgglomerativeClustering(k, linkage=self.name, metric=given, standardize=standardize)


def method_named(name: str, metric: str | None) -> Method:
    """The method asked for; refuses names that there are not, and metrics that it cannot use."""
    if name not in METHODS:
        raise InputError(f"There is no method {name!r}.", remedy=did_you_mean(name, METHODS))
    if metric is not None and metric not in METRICS:
        raise InputError(f"There is no metric {metric!r}.", remedy=did_you_mean(metric, METRICS))
    if name in OF_MEANS and metric not in (None, "euclidean"):
        what = "compares rows by a kernel" if name == "kernel" else "is about means of rows"
        raise InputError(
            f"{name} {what}, and takes no metric {metric!r}.",
            remedy=f"Use --method kmedoids or --method average with --metric {metric}.",
        )
    return Method(name, metric or "euclidean")


def refuse_size(method: Method, n: int) -> None:
    """Methods that look at all pairs of rows end somewhere."""
    most = MOST_MEANS if method.name in ("ward", "centroid") else MOST_ROWS.get(method.name, n)
    if n > most:
        raise InputError(
            f"{n:,} rows are too many for {method.name}, which compares all pairs "
            f"(at most {most:,}).",
            remedy="Use --method kmeans or --method kmedoids, or a sample of the rows.",
        )


def few_rows(n: int) -> int:
    """Clusters of fewer rows are outliers."""
    return max(FEW_ROWS, int(np.ceil(FEW_SHARE * n)))


class Search:
    """Points with what is computed once for all numbers of clusters."""

    def __init__(self, method: Method, x: Floats) -> None:
        self.method = method
        self.x = np.ascontiguousarray(x)
        self.ones = np.ones(len(x))

    @cached_property
    def _pairs(self) -> Floats:
        """Distances of all pairs, in the space of the kernel where there is one."""
        if self.method.name == "kernel":
            own = np.diag(self._gram)
            return np.asarray(np.sqrt(np.maximum(own[:, None] + own - 2 * self._gram, 0.0)))
        d = self.method.distance().fitted(self.x).distances(self.x)
        np.fill_diagonal(d, 0.0)
        return np.asarray((d + d.T) / 2)

    @cached_property
    def _gram(self) -> Floats:
        return np.asarray(kernel_from("rbf", gamma="scale", x=self.x).gram(self.x))

    @cached_property
    def _tree(self) -> Dendrogram:
        name = self.method.name
        if type(self.method.distance()) is Euclidean:
            return Dendrogram(linkage(self.x, name))
        return Dendrogram(linkage(self._pairs, name, "precomputed"))

    def labels(self, k: int, rng: np.random.Generator, starts: int = 1) -> Labels:
        """The best of some starts; trees have none, and are cut."""
        if not self.method.has_starts:
            return self._tree.cut(k)
        found = [self._once(k, rng) for _ in range(starts)]
        return min(found, key=lambda one: one[0])[1]

    def _once(self, k: int, rng: np.random.Generator) -> tuple[float, Labels]:
        """One start: what is minimised, and the clusters."""
        if self.method.name == "kmeans":
            start = kmeans_plusplus(self.x, self.ones, k, rng)
            found = lloyd(self.x, self.ones, start, max_iter=300)
            return found.inertia, found.labels.astype(np.int64)
        if self.method.name == "kernel":
            gram = GramBlocks(Precomputed().prepare(self._gram))
            first = kernel_plusplus(gram, self.ones, k, rng)
            swept = kernel_lloyd(gram, self.ones, first, k, assign="centroid", max_iter=300)
            return swept.inertia, swept.labels
        single = self._singles
        medoids = k_medoids(
            single,
            self.ones,
            kmedoids_plusplus(single, self.ones, k, rng),
            method="pam",
            max_iter=300,
        )
        return medoids.loss, single[:, medoids.indices].argmin(axis=1).astype(np.int64)

    @cached_property
    def _singles(self) -> NDArray[np.float32]:
        return np.ascontiguousarray(self._pairs, dtype=np.float32)

    def silhouette(self, labels: Labels) -> Silhouette:
        """Silhouettes in the distance that the method uses."""
        if self.method.euclidean:
            return silhouette(self.x, labels)
        return silhouette(self._pairs, labels, "precomputed")

    def judged(self, labels: Labels) -> float:
        """The mean silhouette, that of rows in clusters of a few being 0, as of a row alone.

        NaN if fewer than two other clusters remain: cutting off outliers parts nothing.
        """
        sizes, few = np.bincount(labels), few_rows(len(labels))
        kept = np.flatnonzero((sizes >= few)[labels])
        if (sizes >= few).sum() < 2:
            return float("nan")
        if len(kept) == len(labels):
            return self.silhouette(labels).score
        if self.method.euclidean:
            score = silhouette(self.x[kept], labels[kept]).score
        else:
            among = self._pairs[np.ix_(kept, kept)]
            score = silhouette(among, labels[kept], "precomputed").score
        return score * len(kept) / len(labels)
