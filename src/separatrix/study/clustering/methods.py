"""Clustering methods by name: their metric, their estimator, and what they refuse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.cluster.agglomerative import AgglomerativeClustering
from separatrix.cluster.kernel_kmeans import KernelKMeans
from separatrix.cluster.kmeans import KMeans
from separatrix.cluster.kmedoids import KMedoids
from separatrix.distances.base import Metric
from separatrix.distances.gower import Gower
from separatrix.distances.names import metric_from
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

    def model(
        self, k: int, init: Floats | Ints | None, *, standardize: bool, seed: int
    ) -> FittedClusterer:
        """The estimator, not fitted yet: K-means from centers, K-medoids from rows if known."""
        if self.name == "kmeans":
            start: dict[str, Any] = {"n_init": 10} if init is None else {"init": init}
            return KMeans(
                k, **start, max_iter=1000, tol=0.0, standardize=standardize, random_state=seed
            )
        if self.name == "kernel":
            return KernelKMeans(k, standardize=standardize, random_state=seed)
        metric = self.distance() if self.categories and self.metric == "gower" else self.metric
        if self.name == "kmedoids":
            start = {} if init is None else {"init": init}
            return KMedoids(k, metric=metric, **start, standardize=standardize, random_state=seed)
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
            remedy=f"Use `method='kmedoids'` or `method='average'` with `metric={metric!r}`.",
        )
    return Method(name, metric or "euclidean")


def refuse_size(method: Method, n: int) -> None:
    """Refuse a table too large for a method that compares all pairs of rows."""
    most = MOST_ROWS.get(method.name, n)
    if n > most:
        raise InputError(
            f"{n:,} rows are too many for {method.name}, which compares all pairs "
            f"(at most {most:,}).",
            remedy="Use `method='kmeans'` or `method='kmedoids'`, or a sample of the rows.",
        )


def few_rows(n: int) -> int:
    """Clusters of fewer rows are outliers."""
    return max(FEW_ROWS, int(np.ceil(FEW_FRACTION * n)))


def largest_first(model: FittedClusterer) -> FittedClusterer:
    """The same model with clusters numbered by size; equal ones in order of their first row."""
    if isinstance(model, KMeans) and not hasattr(model, "labels_"):  # of a stream: by size alone
        order = np.argsort(-model.sizes_, kind="stable")
        model.cluster_centers_, model.sizes_ = model.cluster_centers_[order], model.sizes_[order]
        return model
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
