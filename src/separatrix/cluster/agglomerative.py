"""Agglomerative clustering: the two closest clusters are merged until one is left."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import KW_ONLY, field, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, check_memory

from separatrix.arrays import Floats, Ints
from separatrix.cluster.base import MetricClusterer
from separatrix.cluster.linkage import (
    LINKAGES,
    ConnectedPoints,
    Dendrogram,
    certify_connected_linkage,
    certify_linkage,
    check_euclidean,
    connected_linkage,
    in_unit,
    linkage_of_points,
    restore_unit,
)
from separatrix.distances.metrics import Metric
from separatrix.distances.names import PrecomputedDistances
from separatrix.estimators.base import reads_tables
from separatrix.messages import InputError, check_option
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters
from separatrix.rows.schema import n_items
from separatrix.threads import physical_memory


@declare_parameters
class AgglomerativeClustering(MetricClusterer):
    """Agglomerative hierarchical clustering with a certificate of its merges.

    The two closest clusters are merged until one is left. The distance of two clusters A, B is

        single    min d(a, b)          complete   max d(a, b)          average   mean d(a, b)
        centroid  ‖μ_A − μ_B‖          ward       √(2|A||B|/(|A|+|B|)) ‖μ_A − μ_B‖

    Weighted and median linkage are average and centroid linkage in which the two parts of a cluster
    count alike, whatever their sizes.

    Parameters
    ----------
    n_clusters : int or None, default=2
        Number of clusters to cut the tree into; None if ``distance_threshold`` is given.
    metric : str, Metric or callable, default="euclidean"
        Distance d of two points: a name, a metric, a function of two points or of the whole matrix,
        or "precomputed" (a square matrix, or its entries above the diagonal in a vector). Centroid,
        median and Ward linkage need "euclidean".
    memory : str or joblib.Memory, default=None
        Ignored, nothing is cached on disk; accepted for scikit-learn compatibility.
    connectivity : array-like, sparse matrix or callable, default=None
        Graph of the points that may merge (n x n, or a function of ``X``): only connected clusters
        do. A graph of several components is completed by their nearest points.
    compute_full_tree : "auto" or bool, default="auto"
        The tree is always built; with ``connectivity``, False leaves out of ``children_`` the
        merges after ``n_clusters``, and so does "auto" for many clusters.
    linkage : {"ward", "single", "complete", "average", "weighted", "centroid", "median"}, \
default="ward"
        Distance of two clusters.
    distance_threshold : float, default=None
        Height at which to cut the tree: merges below it are made.
    compute_distances : bool, default=False
        Ignored, ``distances_`` are always computed; accepted for scikit-learn compatibility.
    standardize : bool, default=False
        Standardize the columns first, so that their units do not matter; the levels of a discrete
        column have one scale, so that it counts no more than a numeric one.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of every row, numbered by first appearance.
    n_clusters_ : int
        Number of clusters.
    n_leaves_ : int
        Number of rows.
    n_connected_components_ : int
        Number of components of ``connectivity``; 1 without it.
    dendrogram_ : Dendrogram
        The tree of merges.
    linkage_ : ndarray of shape (n_samples - 1, 4)
        The merges in SciPy's form.
    children_ : ndarray of shape (n_samples - 1, 2)
        The two nodes of every merge.
    distances_ : ndarray of shape (n_samples - 1,)
        The height of every merge.
    inversions_ : ndarray of int
        Merges that are lower than one below them: of centroid and median linkage, or of a graph.
    metric_ : Metric
    certificate_ : Certificate
        Whether merges joined the closest clusters, recomputed from the definition.

    See Also
    --------
    Dendrogram : The tree, which can be cut again.
    KMeans : Clusters about means, for large tables.
    KMedoids : Clusters about medoids in any metric.

    Notes
    -----
    Single, centroid and median linkage store a few numbers per row, and so does Ward linkage of
    more than 50 rows for each column; complete, average and weighted linkage need all n² distances.

    References
    ----------
    Müllner, D. (2011). Modern hierarchical, agglomerative clustering algorithms. arXiv:1109.2378.

    Examples
    --------
    >>> import separatrix as sx
    >>> words = ["cat", "cut", "cats", "horse", "house"]
    >>> model = sx.AgglomerativeClustering(2, linkage="average", metric="edit").fit(words)
    >>> model.labels_.tolist(), model.distances_.round(2).tolist()
    ([0, 0, 0, 1, 1], [1.0, 1.0, 1.5, 4.5])
    >>> model.certificate_.holds
    True
    """

    labels_: Ints = field(init=False)
    dendrogram_: Dendrogram = field(init=False)
    _certify: Callable[[], Certificate] = field(init=False)

    n_clusters: int | None = 2
    _: KW_ONLY
    metric: Any = "euclidean"
    memory: Any = None
    connectivity: Any = None
    compute_full_tree: Any = "auto"
    linkage: str = "ward"
    distance_threshold: float | None = None
    compute_distances: bool = False
    standardize: bool = False

    @reads_tables
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Build the tree of the rows of ``X``: a matrix, a frame, Rows, distances or a list."""
        points, w = self._points(X)
        points, unit = in_unit(points, self.metric_)
        if w is not None and (w != 1.0).any():
            raise InputError(
                "Agglomerative clustering has one leaf for each row, and no weights.",
                remedy="Leave weight= out, or use KMedoids or KMeans.",
            )
        n = n_items(points)
        self._check_parameters(n)
        self.n_connected_components_ = 1
        if self.connectivity is None:
            self._check_memory(n)
            table = linkage_of_points(points, self.linkage, self.metric_)
            certify = partial(certify_linkage, points, self.metric_, self.linkage, table)
        else:
            graph = self.connectivity(X) if callable(self.connectivity) else self.connectivity
            check_euclidean(self.linkage, self.metric_)
            connected = ConnectedPoints(points, self.metric_, graph)
            self.n_connected_components_ = int(connected.n_components)
            table = connected_linkage(connected, self.linkage)
            certify = partial(certify_connected_linkage, connected, self.linkage, table)
        self.dendrogram_ = Dendrogram(restore_unit(table.copy(), unit))
        self.__dict__.pop("certificate_", None)
        self._certify = certify
        self.labels_ = self._cut()
        self.n_clusters_ = int(self.labels_.max()) + 1
        return self

    @cached_property
    def certificate_(self) -> Certificate:  # type: ignore[override]
        """Whether merges joined the closest clusters, checked when first asked for.

        To check every merge takes longer than to find it.
        """
        check_is_fitted(self)
        certificate = self._certify()
        return replace(certificate, notes=(*certificate.notes, *self._inversion_notes()))

    def __getstate__(self) -> dict[str, Any]:
        """With the certificate, for which the points would be needed."""
        if hasattr(self, "_certify"):
            self.certificate_  # noqa: B018
        state = super().__getstate__()
        return {key: value for key, value in state.items() if key != "_certify"}

    def _points(self, X: Any) -> tuple[Any, Floats | None]:
        """The points as ``metric_`` compares them, and their weights if any."""
        if not is_function_of_matrix(self.metric):
            return self._fit_metric(X)
        x, w = self._read_points(X, None, objects=False)
        self.metric_ = PrecomputedDistances()
        distances = self.metric_.validate(self.metric(self._fit_standardize(x, w, numeric=True)))
        self.metric_.precompute(distances)  # refuses a matrix that is not square and symmetric
        return distances, w

    def _cut(self) -> Ints:
        """Labels by the number of clusters, or by the merges below ``distance_threshold``."""
        level = self.distance_threshold
        if level is None:
            return self.dendrogram_.cut(self.n_clusters)
        if self.connectivity is not None:  # heights of a graph may decrease: counted
            return self.dendrogram_.cut(1 + int((self.dendrogram_.heights >= level).sum()))
        return self.dendrogram_.cut(level=np.nextafter(level, -np.inf))

    def _check_parameters(self, n: int) -> None:
        check_option("linkage", self.linkage, LINKAGES)
        check_memory(self.memory)
        level, full = self.distance_threshold, self.compute_full_tree
        if not (isinstance(full, bool | np.bool_) or (isinstance(full, str) and full == "auto")):
            raise InputError(f"compute_full_tree={full!r} must be True, False or 'auto'.")
        if (self.n_clusters is None) == (level is None):
            raise InputError(
                "Exactly one of n_clusters and distance_threshold has to be set, the other None.",
                remedy="Use n_clusters=None with a distance_threshold.",
            )
        if level is not None and not full:
            raise InputError("compute_full_tree must be True if distance_threshold is set.")
        if level is not None and not level >= 0:
            raise InputError(f"distance_threshold={level!r} must not be negative.")
        if self.n_clusters is not None:
            self._check_n_clusters(n)

    def _check_memory(self, n: int) -> None:
        """Refuse what could only end by running out of memory."""
        needed, available = 8.0 * n**2, physical_memory()
        if self.linkage in ("complete", "average", "weighted") and needed > available:
            raise InputError(
                f"{self.linkage} linkage of {n} rows needs all their distances, "
                f"{needed / 1e9:.0f} GB, and this computer has {available / 1e9:.0f} GB.",
                remedy="Single, centroid and ward linkage store a few numbers a row; or take a "
                "sample of the rows, or give a graph of neighbors as connectivity.",
            )

    def _inversion_notes(self) -> tuple[str, ...]:
        many = len(self.inversions_)
        if not many:
            return ()
        merges = f"{many} merges are" if many > 1 else "1 merge is"
        return (
            f"{merges} lower than one below (inversions_): a union may be nearer to others than "
            "its parts were. The tree has the order of merging.",
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
        return self.linkage_[: self._n_merges, :2].astype(np.int64)

    @property
    def distances_(self) -> Floats:
        """The height of every merge, as in scikit-learn."""
        return self.linkage_[: self._n_merges, 2].copy()

    @property
    def _n_merges(self) -> int:
        """Merges that ``compute_full_tree`` shows."""
        n, k, full = self.n_leaves_, self.n_clusters, self.compute_full_tree
        if isinstance(full, str):
            full = k is None or k < max(100, 0.02 * n)
        return n - 1 if full or self.connectivity is None or k is None else n - k

    @property
    def n_leaves_(self) -> int:
        """The number of rows."""
        return len(self.linkage_) + 1


def is_function_of_matrix(metric: Any) -> bool:
    """Whether a metric is a function of the whole matrix, rather than of two points."""
    if not callable(metric) or isinstance(metric, Metric | type):
        return False
    try:
        inspect.signature(metric).bind(None)
    except (TypeError, ValueError):
        return False
    return True
