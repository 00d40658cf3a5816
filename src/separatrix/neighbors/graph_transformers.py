"""Graphs of neighbors as transformers, for pipelines of models that take precomputed distances."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.neighbors.nearest_neighbors import UnlabeledNeighbors
from separatrix.neighbors.queries import (
    KNeighborsQueries,
    RadiusQueries,
    check_mode,
    check_n_neighbors,
    check_radius,
)


class _GraphTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """A transformer whose columns are the training rows."""

    n_samples_fit_: int

    @property
    def _n_features_out(self) -> int:
        return self.n_samples_fit_

    def fit_transform(self, X: Any, y: Any = None) -> Any:  # noqa: ARG002
        """Index ``X``, and the graph of its rows."""
        return self.fit(X).transform(X)


class KNeighborsTransformer(_GraphTransformer, KNeighborsQueries, UnlabeledNeighbors):
    """The graph of the k nearest training rows, as a sparse matrix.

        A[i, j] = d(xᵢ, zⱼ) if zⱼ is among the nearest training rows of xᵢ

    Models with ``metric="precomputed"`` take it in place of rows.

    Parameters
    ----------
    mode : {"distance", "connectivity"}, default="distance"
        Distances, or ones. With distances there is one neighbor more than ``n_neighbors``: a
        training row is its own nearest.
    n_neighbors : int, default=5
        k.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        Taken as scikit-learn does, and unused.
    leaf_size : int, default=30
        Unused.
    metric : str, Metric or callable, default="minkowski"
        A name, a metric, a function of two points, or "precomputed".
    p : float, default=2
        The exponent of "minkowski".
    metric_params : dict, default=None
        Parameters of a metric that is given by name, or keywords of a function.
    n_jobs : int, default=None
        Threads that may be used; None or -1 for all that the process has.
    standardize : bool, default=False
        Standardize the columns first, so that their units do not matter.

    Attributes
    ----------
    points_ : ndarray of shape (n_samples, n_features) or list
        The rows or objects that are searched.
    n_samples_fit_ : int
        Their number.
    metric_ : Metric
        The metric with what it learned from the training rows.
    effective_metric_ : str or callable
        The metric by its plainest name.
    effective_metric_params_ : dict
        Its parameters.
    certificate_ : Certificate
        What is certain about the search.

    See Also
    --------
    RadiusNeighborsTransformer : The graph of all rows within a radius.
    NearestNeighbors : The search itself.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.KNeighborsTransformer(n_neighbors=1).fit_transform([[0.0], [3.0], [4.0]]).toarray()
    array([[0., 3., 0.],
           [0., 0., 1.],
           [0., 1., 0.]])
    """

    def __init__(
        self,
        *,
        mode: str = "distance",
        n_neighbors: int = 5,
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        standardize: bool = False,
    ) -> None:
        self.mode = mode
        self.n_neighbors = n_neighbors
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.standardize = standardize

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Index ``X``: a matrix, Rows, or a list of objects that the metric compares."""
        check_mode(self.mode)
        check_n_neighbors(self.n_neighbors)
        self._fit_unlabeled(X)
        return self

    def transform(self, X: Any) -> Any:
        """The graph from the rows of X to their nearest training rows."""
        check_is_fitted(self, "points_")
        k = check_n_neighbors(self.n_neighbors) + (self.mode == "distance")
        return self.kneighbors_graph(X, k, self.mode)


class RadiusNeighborsTransformer(_GraphTransformer, RadiusQueries, UnlabeledNeighbors):
    """The graph of all training rows within a radius, as a sparse matrix.

        A[i, j] = d(xᵢ, zⱼ) if d(xᵢ, zⱼ) ≤ radius

    Models with ``metric="precomputed"`` take it in place of rows. A distance of zero is a stored
    zero.

    Parameters
    ----------
    mode : {"distance", "connectivity"}, default="distance"
        Distances, or ones.
    radius : float, default=1.0
        The largest distance of a neighbor.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        Taken as scikit-learn does, and unused.
    leaf_size : int, default=30
        Unused.
    metric : str, Metric or callable, default="minkowski"
        A name, a metric, a function of two points, or "precomputed".
    p : float, default=2
        The exponent of "minkowski".
    metric_params : dict, default=None
        Parameters of a metric that is given by name, or keywords of a function.
    n_jobs : int, default=None
        Threads that may be used; None or -1 for all that the process has.
    standardize : bool, default=False
        Standardize the columns first, so that their units do not matter.

    Attributes
    ----------
    points_ : ndarray of shape (n_samples, n_features) or list
        The rows or objects that are searched.
    n_samples_fit_ : int
        Their number.
    metric_ : Metric
        The metric with what it learned from the training rows.
    effective_metric_ : str or callable
        The metric by its plainest name.
    effective_metric_params_ : dict
        Its parameters.
    certificate_ : Certificate
        What is certain about the search.

    See Also
    --------
    KNeighborsTransformer : The graph of the k nearest rows.
    NearestNeighbors : The search itself.

    Examples
    --------
    >>> import separatrix as sx
    >>> graph = sx.RadiusNeighborsTransformer(radius=2.0).fit_transform([[0.0], [3.0], [4.0]])
    >>> graph.toarray().tolist(), graph.nnz
    ([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]], 5)
    """

    def __init__(
        self,
        *,
        mode: str = "distance",
        radius: float = 1.0,
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        standardize: bool = False,
    ) -> None:
        self.mode = mode
        self.radius = radius
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.standardize = standardize

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Index ``X``: a matrix, Rows, or a list of objects that the metric compares."""
        check_mode(self.mode)
        check_radius(self.radius)
        self._fit_unlabeled(X)
        return self

    def transform(self, X: Any) -> Any:
        """The graph from the rows of X to all training rows within the radius."""
        check_is_fitted(self, "points_")
        return self.radius_neighbors_graph(X, mode=self.mode, sort_results=True)
