"""Clustering methods behind one interface: labels of a table for a given number of clusters.

A search belongs to one set of points and stores what all numbers of clusters share: the distances,
the Gram matrix, or the whole dendrogram.
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
from separatrix.rows.block import Floats, Ints
from separatrix.study.clustering.result import LINKAGES

FittedClusterer = KMeans | KMedoids | KernelKMeans | AgglomerativeClustering

METHODS = ("kmeans", "kmedoids", "kernel", *LINKAGES)
#: Metrics of tables of numbers.
METRICS = (
    "euclidean",
    "manhattan",
    "chebyshev",
    "sqeuclidean",
    "cosine",
    "mahalanobis",
    "gower",
)
#: Metrics that do not depend on the units of the columns.
UNITLESS = ("mahalanobis", "gower")
#: Methods of means, which imply Euclidean distance.
OF_MEANS = ("kmeans", "kernel", "centroid", "ward")
#: A cluster of fewer rows, or of a smaller fraction of them, is a few outliers.
FEW_ROWS, FEW_FRACTION = 3, 0.01
#: Rows that methods of all pairs take at most; single linkage stores no pairs.
MOST_ROWS = {
    "complete": 20_000,
    "average": 20_000,
    "kernel": 20_000,
    "centroid": 50_000,
    "ward": 50_000,
    "single": 200_000,
}


@dataclass(frozen=True)
class Method:
    """A method and a metric by name; ``categories`` are the columns of each discrete column."""

    name: str
    metric: str = "euclidean"
    categories: tuple[tuple[int, ...], ...] = ()

    @property
    def random(self) -> bool:
        """Whether the method has random initializations."""
        return self.name not in LINKAGES

    @property
    def euclidean(self) -> bool:
        """Whether rows are compared by plain Euclidean distance."""
        return self.metric == "euclidean" and self.name != "kernel"

    def distance(self) -> Metric:
        """The metric itself."""
        return Gower(groups=self.categories) if self.metric == "gower" else metric_from(self.metric)

    def model(self, k: int, *, standardize: bool, seed: int, n: int) -> FittedClusterer:
        """The estimator, not fitted yet; large tables get fewer initializations."""
        if self.name == "kmeans":
            starts = 10 if n <= 20_000 else 3
            return KMeans(k, n_init=starts, standardize=standardize, random_state=seed)
        if self.name == "kernel":
            return KernelKMeans(k, standardize=standardize, random_state=seed)
        metric = self.distance() if self.categories and self.metric == "gower" else self.metric
        if self.name == "kmedoids":
            return KMedoids(k, metric=metric, standardize=standardize, random_state=seed)
        return AgglomerativeClustering(k, linkage=self.name, metric=metric, standardize=standardize)


def method_named(name: str, metric: str | None) -> Method:
    """The method of this name; refuses unknown names, and metrics that it cannot use."""
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
    """Refuse a table too large for a method that compares all pairs of rows."""
    most = MOST_ROWS.get(method.name, n)
    if n > most:
        raise InputError(
            f"{n:,} rows are too many for {method.name}, which compares all pairs "
            f"(at most {most:,}).",
            remedy="Use --method kmeans or --method kmedoids, or a sample of the rows.",
        )


def few_rows(n: int) -> int:
    """Clusters of fewer rows are outliers."""
    return max(FEW_ROWS, int(np.ceil(FEW_FRACTION * n)))


class Search:
    """Clusters of given points, with what is computed once for all numbers of clusters."""

    def __init__(self, method: Method, x: Floats) -> None:
        self.method = method
        self.x = np.ascontiguousarray(x)
        self.ones = np.ones(len(x))

    @cached_property
    def _pairs(self) -> Floats:
        """Distances of all pairs, in the space of the kernel where there is one."""
        if self.method.name == "kernel":
            diagonal = np.diag(self._gram)
            squared = diagonal[:, None] + diagonal - 2 * self._gram
            return np.asarray(np.sqrt(np.maximum(squared, 0.0)))
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

    def labels(self, k: int, rng: np.random.Generator, starts: int = 1) -> Ints:
        """The best of some initializations; a dendrogram is cut."""
        if not self.method.random:
            return self._tree.cut(k)
        found = [self._once(k, rng) for _ in range(starts)]
        return min(found, key=lambda one: one[0])[1]

    def _once(self, k: int, rng: np.random.Generator) -> tuple[float, Ints]:
        """One initialization: the objective minimized, and the clusters."""
        if self.method.name == "kmeans":
            start = kmeans_plusplus(self.x, self.ones, k, rng)
            found = lloyd(self.x, self.ones, start, max_iter=300)
            return found.inertia, found.labels.astype(np.int64)
        if self.method.name == "kernel":
            gram = GramBlocks(Precomputed().prepare(self._gram))
            first = kernel_plusplus(gram, self.ones, k, rng)
            swept = kernel_lloyd(gram, self.ones, first, k, assign="centroid", max_iter=300)
            return swept.inertia, swept.labels
        d = self._pairs_float32
        first = kmedoids_plusplus(d, self.ones, k, rng)
        medoids = k_medoids(d, self.ones, first, method="pam", max_iter=300)
        return medoids.loss, d[:, medoids.indices].argmin(axis=1).astype(np.int64)

    @cached_property
    def _pairs_float32(self) -> NDArray[np.float32]:
        return np.ascontiguousarray(self._pairs, dtype=np.float32)

    def silhouette(self, labels: Ints) -> Silhouette:
        """Silhouettes in the distance that the method uses."""
        if self.method.euclidean:
            return silhouette(self.x, labels)
        return silhouette(self._pairs, labels, "precomputed")

    def score(self, labels: Ints) -> float:
        """The mean silhouette, that of rows in clusters of a few being 0, as of a row alone.

        NaN if fewer than two other clusters remain: cutting off outliers is no partition.
        """
        large = np.bincount(labels) >= few_rows(len(labels))
        rows = np.flatnonzero(large[labels])
        if large.sum() < 2:
            return float("nan")
        if len(rows) == len(labels):
            return self.silhouette(labels).score
        if self.method.euclidean:
            score = silhouette(self.x[rows], labels[rows]).score
        else:
            score = silhouette(self._pairs[np.ix_(rows, rows)], labels[rows], "precomputed").score
        return score * len(rows) / len(labels)


def largest_first(model: FittedClusterer) -> FittedClusterer:
    """The same model with clusters numbered by size; equal ones in order of their first row."""
    labels: NDArray[Any] = model.labels_
    sizes = np.bincount(labels)
    first = np.full(len(sizes), len(labels))
    np.minimum.at(first, labels, np.arange(len(labels)))
    order = np.lexsort((first, -sizes))
    number = np.argsort(order)
    model.labels_ = number[labels].astype(labels.dtype)
    if isinstance(model, KMeans):
        model.cluster_centers_, model.sizes_ = model.cluster_centers_[order], model.sizes_[order]
    elif isinstance(model, KMedoids):
        model.cluster_centers_ = model.cluster_centers_[order]
        model.medoid_indices_ = model.medoid_indices_[order]
    elif isinstance(model, KernelKMeans):
        model.norms_, model.labels_fit_ = model.norms_[order], number[model.labels_fit_]
    return model
