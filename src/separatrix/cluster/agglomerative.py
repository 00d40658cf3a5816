"""Agglomerative clustering: the two closest clusters merge, again and again, until one is left."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.cluster.base import points_of
from separatrix.cluster.dendrogram import Dendrogram
from separatrix.cluster.linkage import LINKAGES, linkage
from separatrix.cluster.linkage_certificate import certify_linkage
from separatrix.distances.base import Metric
from separatrix.distances.names import metric_from
from separatrix.estimators.base import RowsEstimator
from separatrix.kernels.base import n_items
from separatrix.messages import InputError, did_you_mean
from separatrix.optimize.solution import Certificate
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Floats, Ints
from separatrix.rows.rows import Rows
from separatrix.statistics.moments import Moments
from separatrix.statistics.preparation import prepare
from separatrix.statistics.standardizer import Standardizer


class AgglomerativeClustering(ClusterMixin, RowsEstimator):
    """The whole tree of merges, cut into a number of clusters or at a level.

    Parameters
    ----------
    n_clusters : clusters to cut the tree into; None if ``distance_threshold`` says where to cut.
    distance_threshold : merge up to this distance and no farther.
    linkage : what is the distance of two clusters: that of their closest members ("single"), of
        their farthest ("complete"), the mean over all pairs ("average"), that of their means
        ("centroid"), or by how much the scatter grows if they merge ("ward").
    metric : distance of two points: a name, a Metric, a function of two objects, or "precomputed"
        (X holds the distances). Means need "euclidean".
    standardize : measure every column in units of its deviation, so that units do not matter.

    Attributes
    ----------
    labels_ : cluster of every row, numbered by first appearance. ``n_clusters_``: how many.
    dendrogram_ : the tree, a :class:`~separatrix.cluster.dendrogram.Dendrogram`.
    linkage_ : the same as SciPy's table, (n − 1) x 4. ``inversions_``: merges of it that are lower
        than one inside them, which only centroid linkage has.
    metric_, certificate_.

    Single linkage keeps a few numbers per row; complete and average need all n² distances.
    """

    labels_: Ints
    dendrogram_: Dendrogram
    metric_: Metric
    certificate_: Certificate

    def __init__(
        self,
        n_clusters: int | None = 2,
        *,
        distance_threshold: float | None = None,
        linkage: str = "average",
        metric: Any = "euclidean",
        standardize: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.distance_threshold = distance_threshold
        self.linkage = linkage
        self.metric = metric
        self.standardize = standardize

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Grow the tree of the rows of ``X``: a matrix, a frame, Rows, distances or a list."""
        metric = metric_from(self.metric)
        points = self._points(metric, X)
        self._check(n_items(points))
        self._check_room(n_items(points))
        table = linkage(points, self.linkage, metric)
        self.metric_ = metric.fitted(points)
        self.dendrogram_ = Dendrogram(table)
        proof = certify_linkage(self.metric_.validate(points), self.metric_, self.linkage, table)
        self.certificate_ = replace(proof, notes=(*proof.notes, *self._inverted()))
        self.labels_ = self.dendrogram_.cut(self.n_clusters, level=self.distance_threshold)
        self.n_clusters_ = int(self.labels_.max()) + 1
        return self

    def _points(self, metric: Metric, X: Any) -> Any:
        if not isinstance(X, Rows):
            self.__dict__.pop("encoding_", None)
            return self._scaled(metric, points_of(self, metric, X))
        prepared = prepare(X)
        block = prepared.rows.collect()
        if block.w is not None and (block.w != 1.0).any():
            raise InputError(
                "A tree of clusters has one leaf a row, and no weights.",
                remedy="Leave weight= out, or use KMedoids or KMeans.",
            )
        self._name_columns(X)
        self.encoding_ = prepared.encoding
        return self._scaled(metric, block.dense())

    def _scaled(self, metric: Metric, x: Any) -> Any:
        if not self.standardize:
            return x
        if not metric.of_vectors or not isinstance(x, np.ndarray):
            raise InputError("standardize=True is about columns of numbers, and there are none.")
        spread = Standardizer.from_moments(ArrayRows(x, None).reduce(Moments())).scale
        return (x - x.mean(axis=0)) / np.where(spread > 0, spread, np.inf)

    def _check(self, n: int) -> None:
        if self.linkage not in LINKAGES:
            raise InputError(
                f"No linkage {self.linkage!r}.",
                remedy=did_you_mean(str(self.linkage), list(LINKAGES)),
            )
        k, level = self.n_clusters, self.distance_threshold
        if (k is None) == (level is None):
            raise InputError(
                "Cut by n_clusters or by distance_threshold: one of the two must be None.",
                remedy="Use n_clusters=None with a distance_threshold.",
            )
        if level is not None and not level >= 0:
            raise InputError(f"distance_threshold={level!r} must not be negative.")
        if k is not None and (not isinstance(k, int | np.integer) or k < 1):
            raise InputError(f"n_clusters={k!r} must be a whole number from 1 up.")
        if k is not None and n < k:
            raise InputError(
                f"n_samples={n} should be >= n_clusters={k}: every cluster needs a row.",
                remedy="Ask for fewer clusters.",
            )

    def _check_room(self, n: int) -> None:
        """Refuse what could only end by running out of memory."""
        needed, there = 8.0 * n**2, machine_memory()
        if self.linkage in ("complete", "average") and needed > there:
            raise InputError(
                f"{self.linkage} linkage of {n} rows needs all their distances, "
                f"{needed / 1e9:.0f} GB, and the machine has {there / 1e9:.0f} GB.",
                remedy="Single, centroid and ward linkage keep a few numbers a row; or take a "
                "sample of the rows.",
            )

    def _inverted(self) -> tuple[str, ...]:
        many = len(self.inversions_)
        if not many:
            return ()
        said = f"{many} merges are" if many > 1 else "1 merge is"
        return (
            f"{said} lower than one inside (inversions_): means move when clusters merge, and may "
            "come nearer to others. The tree keeps the order of merging.",
        )

    @property
    def linkage_(self) -> Floats:
        """The merges in SciPy's form."""
        check_is_fitted(self)
        return self.dendrogram_.linkage

    @property
    def inversions_(self) -> Ints:
        """Numbers of the merges that are lower than one inside them."""
        check_is_fitted(self)
        return self.dendrogram_.inversions

    @property
    def children_(self) -> Ints:
        """The two nodes of every merge, as in scikit-learn."""
        return self.linkage_[:, :2].astype(np.int64)

    @property
    def distances_(self) -> Floats:
        """The height of every merge, as in scikit-learn."""
        return self.linkage_[:, 2].copy()

    @property
    def n_leaves_(self) -> int:
        """Rows of the table."""
        return len(self.linkage_) + 1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def machine_memory() -> float:
    """Bytes of memory that the machine has; infinite where it does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return float("inf")
