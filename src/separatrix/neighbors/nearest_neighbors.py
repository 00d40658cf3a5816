"""Exact search for nearest neighbors among stored points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.base import reads_tables
from separatrix.estimators.metric_inputs import holds_objects
from separatrix.mixins import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from separatrix.neighbors import base
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters
from separatrix.rows.schema import n_items, unit_weights
from separatrix.threads import on_one_blas_thread


def fit_unlabeled(model: Any, X: Any) -> None:
    """Fit a search among points without targets."""
    model._check_search()
    X = base.stored_points(X, model)
    objects = holds_objects(model._chosen_metric(), X)
    x, given = model._read_points(X, None, objects=objects)
    w = unit_weights(given, n_items(x))
    rows = np.flatnonzero(w > 0)
    base.fit_points(model, base.chosen_items(x, rows), w[rows], rows, n_items(x))
    model._build_search()
    model.certificate_ = Certificate(
        f"The search among {n_items(model.points_)} rows is exact", promised=()
    )


@declare_parameters
class NearestNeighbors(base.KNeighborsMixin, base.RadiusNeighborsMixin, base.NeighborsModel):
    """Exact search for the nearest rows, or objects of any kind.

    Parameters
    ----------
    n_neighbors : int, default=5
        k, the number of neighbors that :meth:`kneighbors` finds.
    radius : float, default=1.0
        The distance within which :meth:`radius_neighbors` finds all.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
    leaf_size : int, default=30
    metric : str, Metric or callable, default="minkowski"
    p : float, default=2
    metric_params : dict, default=None
    n_jobs : int, default=None
    standardize : bool, default=False

    Attributes
    ----------
    n_neighbors_ : int
        k.
    points_ : ndarray of shape (n_samples, n_features) or list
        The rows or objects that are searched.
    n_samples_fit_ : int
        Their number.
    metric_ : Metric
    effective_metric_ : str or callable
    effective_metric_params_ : dict
    certificate_ : Certificate
        What is certain about the search.

    See Also
    --------
    KNeighborsClassifier : Classification by the nearest rows.
    KNeighborsRegressor : Regression by the nearest rows.
    KNeighborsTransformer : The graph of neighbors in a pipeline.
    medoid : The row of least total distance to all others.

    References
    ----------
    J. H. Friedman, J. L. Bentley and R. A. Finkel, An algorithm for finding best matches in
    logarithmic expected time, ACM Transactions on Mathematical Software 3, 1977.

    Examples
    --------
    >>> import separatrix as sx
    >>> search = sx.NearestNeighbors(n_neighbors=2, metric="edit").fit(["cat", "cart", "dog"])
    >>> search.retrieve(["car"])
    [['cat', 'cart']]
    >>> search.kneighbors(["dig"], 1)[0].tolist()
    [[1.0]]
    >>> search.radius_neighbors(["cut"], 2.0)[1][0].tolist()
    [0, 1]
    """

    _: KW_ONLY
    n_neighbors: int = 5
    radius: float = 1.0
    algorithm: str = "auto"
    leaf_size: int = 30
    metric: Any = "minkowski"
    p: float = 2
    metric_params: dict[str, Any] | None = None
    n_jobs: int | None = None
    standardize: bool = False

    kneighbors = base.kneighbors
    kneighbors_graph = base.kneighbors_graph
    radius_neighbors = base.radius_neighbors
    radius_neighbors_graph = base.radius_neighbors_graph

    @reads_tables
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Index ``X``: a matrix, Rows, or a list of objects that the metric compares."""
        self.__dict__.pop("n_neighbors_", None)
        if self.n_neighbors is not None:
            self.n_neighbors_ = base.check_n_neighbors(self.n_neighbors)
        if self.radius is not None:
            base.check_radius(self.radius)
        fit_unlabeled(self, X)
        return self

    def retrieve(self, X: Any, n_neighbors: int | None = None) -> list[list[Any]]:
        """The nearest objects themselves, for every row of X."""
        indices = self.kneighbors(X, n_neighbors, return_distance=False)
        return [[self.points_[i] for i in row] for row in indices]


# -------------------------------------------------------------------------------------------------
# Graphs of neighbors as transformers, for pipelines of models that take precomputed distances.


class _GraphTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """A transformer whose columns are the training rows."""

    n_samples_fit_: int
    fit: Callable[..., Any]

    @property
    def _n_features_out(self) -> int:
        return self.n_samples_fit_

    def fit_transform(self, X: Any, y: Any = None) -> Any:  # noqa: ARG002
        """Index ``X``, and the graph of its rows."""
        return self.fit(X).transform(X)


@declare_parameters
class KNeighborsTransformer(_GraphTransformer, base.KNeighborsMixin, base.NeighborsModel):
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
    leaf_size : int, default=30
    metric : str, Metric or callable, default="minkowski"
    p : float, default=2
    metric_params : dict, default=None
    n_jobs : int, default=None
    standardize : bool, default=False

    Attributes
    ----------
    points_ : ndarray of shape (n_samples, n_features) or list
        The rows or objects that are searched.
    n_samples_fit_ : int
        Their number.
    metric_ : Metric
    effective_metric_ : str or callable
    effective_metric_params_ : dict
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

    _: KW_ONLY
    mode: str = "distance"
    n_neighbors: int = 5
    algorithm: str = "auto"
    leaf_size: int = 30
    metric: Any = "minkowski"
    p: float = 2
    metric_params: dict[str, Any] | None = None
    n_jobs: int | None = None
    standardize: bool = False

    kneighbors = base.kneighbors
    kneighbors_graph = base.kneighbors_graph

    @reads_tables
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Index ``X``: a matrix, Rows, or a list of objects that the metric compares."""
        base.check_mode(self.mode)
        base.check_n_neighbors(self.n_neighbors)
        fit_unlabeled(self, X)
        return self

    @on_one_blas_thread
    def transform(self, X: Any) -> Any:
        """The graph from the rows of X to their nearest training rows."""
        check_is_fitted(self, "points_")
        k = base.check_n_neighbors(self.n_neighbors) + (self.mode == "distance")
        return self.kneighbors_graph(X, k, self.mode)


@declare_parameters
class RadiusNeighborsTransformer(_GraphTransformer, base.RadiusNeighborsMixin, base.NeighborsModel):
    """The graph of all training rows within a radius, as a sparse matrix.

        A[i, j] = d(xᵢ, zⱼ) if d(xᵢ, zⱼ) ≤ radius

    Models with ``metric="precomputed"`` take it in place of rows. A distance of zero is a stored
    zero.

    Parameters
    ----------
    mode : {"distance", "connectivity"}, default="distance"
        Distances, or ones.
    radius : float, default=1.0
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
    leaf_size : int, default=30
    metric : str, Metric or callable, default="minkowski"
    p : float, default=2
    metric_params : dict, default=None
    n_jobs : int, default=None
    standardize : bool, default=False

    Attributes
    ----------
    points_ : ndarray of shape (n_samples, n_features) or list
        The rows or objects that are searched.
    n_samples_fit_ : int
        Their number.
    metric_ : Metric
    effective_metric_ : str or callable
    effective_metric_params_ : dict
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

    _: KW_ONLY
    mode: str = "distance"
    radius: float = 1.0
    algorithm: str = "auto"
    leaf_size: int = 30
    metric: Any = "minkowski"
    p: float = 2
    metric_params: dict[str, Any] | None = None
    n_jobs: int | None = None
    standardize: bool = False

    radius_neighbors = base.radius_neighbors
    radius_neighbors_graph = base.radius_neighbors_graph

    @reads_tables
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Index ``X``: a matrix, Rows, or a list of objects that the metric compares."""
        base.check_mode(self.mode)
        base.check_radius(self.radius)
        fit_unlabeled(self, X)
        return self

    @on_one_blas_thread
    def transform(self, X: Any) -> Any:
        """The graph from the rows of X to all training rows within the radius."""
        check_is_fitted(self, "points_")
        return self.radius_neighbors_graph(X, mode=self.mode, sort_results=True)
