"""Agglomerative clustering: the two closest clusters are merged until one is left."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.cluster.base import MetricClusterer
from separatrix.cluster.dendrogram import Dendrogram
from separatrix.cluster.linkage import LINKAGES, linkage_of_points
from separatrix.cluster.linkage_certificate import certify_linkage
from separatrix.kernels.base import n_items
from separatrix.messages import InputError, check_option
from separatrix.rows.block import Floats, Ints


class AgglomerativeClustering(MetricClusterer):
    """Agglomerative hierarchical clustering with a certificate of its merges.

    The two closest clusters are merged until one is left. The distance of two clusters A, B is

        single    min d(a, b)          complete   max d(a, b)          average   mean d(a, b)
        centroid  ‖μ_A − μ_B‖          ward       √(2|A||B|/(|A|+|B|)) ‖μ_A − μ_B‖

    Parameters
    ----------
    n_clusters : int or None, default=2
        Number of clusters to cut the tree into; None if ``distance_threshold`` is given.
    distance_threshold : float, default=None
        Height at which to cut the tree: merges up to it are made.
    linkage : {"single", "complete", "average", "centroid", "ward"}, default="average"
        Distance of two clusters.
    metric : str, Metric or callable, default="euclidean"
        Distance d of two points: a name, a metric, a function of two objects, or "precomputed".
        Centroid and Ward linkage need "euclidean".
    standardize : bool, default=False
        Standardize the columns first, so that their units do not matter; the levels of a discrete
        column have one scale, so that it counts no more than a numeric one.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of every row, numbered by first appearance.
    n_clusters_ : int
        Number of clusters.
    dendrogram_ : Dendrogram
        The tree of merges.
    linkage_ : ndarray of shape (n_samples - 1, 4)
        The merges in SciPy's form.
    children_ : ndarray of shape (n_samples - 1, 2)
        The two nodes of every merge.
    distances_ : ndarray of shape (n_samples - 1,)
        The height of every merge.
    inversions_ : ndarray of int
        Merges that are lower than one below them, which only centroid linkage has.
    metric_ : Metric
        The metric with what it learned from the rows.
    certificate_ : Certificate
        Whether merges joined the closest clusters, recomputed from the definition.

    See Also
    --------
    Dendrogram : The tree, which can be cut again.
    KMeans : Clusters about means, for large tables.
    KMedoids : Clusters about medoids in any metric.

    Notes
    -----
    Single, centroid and Ward linkage store a few numbers per row; complete and average linkage
    need all n² distances.

    References
    ----------
    Müllner, D. (2011). Modern hierarchical, agglomerative clustering algorithms. arXiv:1109.2378.

    Examples
    --------
    >>> import separatrix as sx
    >>> words = ["cat", "cut", "cats", "horse", "house"]
    >>> model = sx.AgglomerativeClustering(2, metric="edit").fit(words)
    >>> model.labels_.tolist(), model.distances_.round(2).tolist()
    ([0, 0, 0, 1, 1], [1.0, 1.0, 1.5, 4.5])
    >>> model.certificate_.holds
    True
    """

    labels_: Ints
    dendrogram_: Dendrogram

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
        """Build the tree of the rows of ``X``: a matrix, a frame, Rows, distances or a list."""
        points, w = self._fit_metric(X)
        if w is not None and (w != 1.0).any():
            raise InputError(
                "Agglomerative clustering has one leaf for each row, and no weights.",
                remedy="Leave weight= out, or use KMedoids or KMeans.",
            )
        self._check_parameters(n_items(points))
        self._check_memory(n_items(points))
        table = linkage_of_points(points, self.linkage, self.metric_)
        self.dendrogram_ = Dendrogram(table)
        certificate = certify_linkage(points, self.metric_, self.linkage, table)
        self.certificate_ = replace(
            certificate, notes=(*certificate.notes, *self._inversion_notes())
        )
        self.labels_ = self.dendrogram_.cut(self.n_clusters, level=self.distance_threshold)
        self.n_clusters_ = int(self.labels_.max()) + 1
        return self

    def _check_parameters(self, n: int) -> None:
        check_option("linkage", self.linkage, LINKAGES)
        level = self.distance_threshold
        if (self.n_clusters is None) == (level is None):
            raise InputError(
                "Cut by n_clusters or by distance_threshold: one of the two must be None.",
                remedy="Use n_clusters=None with a distance_threshold.",
            )
        if level is not None and not level >= 0:
            raise InputError(f"distance_threshold={level!r} must not be negative.")
        if self.n_clusters is not None:
            self._check_n_clusters(n)

    def _check_memory(self, n: int) -> None:
        """Refuse what could only end by running out of memory."""
        needed, available = 8.0 * n**2, physical_memory()
        if self.linkage in ("complete", "average") and needed > available:
            raise InputError(
                f"{self.linkage} linkage of {n} rows needs all their distances, "
                f"{needed / 1e9:.0f} GB, and this computer has {available / 1e9:.0f} GB.",
                remedy="Single, centroid and ward linkage store a few numbers a row; or take a "
                "sample of the rows.",
            )

    def _inversion_notes(self) -> tuple[str, ...]:
        many = len(self.inversions_)
        if not many:
            return ()
        merges = f"{many} merges are" if many > 1 else "1 merge is"
        return (
            f"{merges} lower than one below (inversions_): a centroid moves when clusters merge, "
            "and may come nearer to others. The tree has the order of merging.",
        )

    @property
    def linkage_(self) -> Floats:
        """The merges in SciPy's form."""
        check_is_fitted(self)
        return self.dendrogram_.linkage

    @property
    def inversions_(self) -> Ints:
        """Merges that are lower than one below them."""
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
        """The number of rows."""
        return len(self.linkage_) + 1


def physical_memory() -> float:
    """Bytes of physical memory; infinite where the system does not report them."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return float("inf")
