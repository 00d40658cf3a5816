"""Exact search for nearest neighbors among stored points."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.distances.names import metric_from
from separatrix.distances.search.neighbors import NeighborSearch
from separatrix.estimators.metric_inputs import holds_objects
from separatrix.kernels.base import n_items, take_items
from separatrix.messages import InputError
from separatrix.neighbors.base import InstanceBasedModel
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import unit_weights


class NeighborsModel(InstanceBasedModel):
    """Training points with an exact search for nearest neighbors."""

    n_neighbors_: int
    _search_cache: NeighborSearch | None = None

    def _build_search(self) -> NeighborSearch:
        self._search_cache = NeighborSearch(self.points_, self.metric_)
        return self._search_cache

    @property
    def _search(self) -> NeighborSearch:
        """The search over the training points, built again after loading."""
        return self._build_search() if self._search_cache is None else self._search_cache

    def __getstate__(self) -> dict[str, Any]:
        """Without the search index, which is rebuilt from the points."""
        return {k: v for k, v in super().__getstate__().items() if k != "_search_cache"}

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """Distances and indices of the nearest training points; without X, of each one's others."""
        check_is_fitted(self, "points_")
        k = self.n_neighbors_ if n_neighbors is None else n_neighbors
        if X is None:
            found = self._search.nearest_others(k, self.points_)
        else:
            found = self._search.nearest(self._query_points(X), k)
        return (found.distances, found.indices) if return_distance else found.indices


def check_n_neighbors(k: Any) -> int:
    """k as an int, refused unless it is a positive integer."""
    if not isinstance(k, int | float | np.number) or k != int(k) or k < 1:
        raise InputError(f"n_neighbors={k!r} is no count.", remedy="Give 1, 2, … or 'auto'.")
    return int(k)


class NearestNeighbors(NeighborsModel):
    """Exact search for the k nearest rows, or objects of any kind.

    Parameters
    ----------
    n_neighbors : int, default=5
        k.
    metric : str, Metric or callable, default="euclidean"
        A name, a metric, a function of two points, or "precomputed". Metrics of strings or mixed
        rows take lists of objects for ``X``.
    standardize : bool, default=False
        Standardize the columns first, so that their units do not matter.

    Attributes
    ----------
    n_neighbors_ : int
        k.
    points_ : ndarray of shape (n_samples, n_features) or list
        The rows or objects that are searched.
    metric_ : Metric
        The metric with what it learned from the training rows.
    certificate_ : Certificate
        What is certain about the search.

    See Also
    --------
    KNeighborsClassifier : Classification by the nearest rows.
    KNeighborsRegressor : Regression by the nearest rows.
    medoid : The row of least total distance to all others.

    Examples
    --------
    >>> import separatrix as sx
    >>> search = sx.NearestNeighbors(2, metric="edit").fit(["cat", "cart", "dog"])
    >>> search.retrieve(["car"])
    [['cat', 'cart']]
    >>> search.kneighbors(["dig"], 1)[0].tolist()
    [[1.0]]
    """

    def __init__(
        self, n_neighbors: int = 5, *, metric: Any = "euclidean", standardize: bool = False
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.standardize = standardize

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Index ``X``: a matrix, Rows, or a list of objects that the metric compares."""
        self.n_neighbors_ = check_n_neighbors(self.n_neighbors)
        objects = holds_objects(metric_from(self.metric), X)
        x, given = self._read_points(X, None, objects=objects)
        w = unit_weights(given, n_items(x))
        rows = np.flatnonzero(w > 0)
        self._fit_points(take_items(x, rows), w[rows], rows)
        self._build_search()
        self.certificate_ = Certificate(
            f"The search among {len(self.points_)} rows is exact", promised=()
        )
        return self

    def retrieve(self, X: Any, n_neighbors: int | None = None) -> list[list[Any]]:
        """The nearest objects themselves, for every row of X."""
        indices = self.kneighbors(X, n_neighbors, return_distance=False)
        return [[self.points_[i] for i in row] for row in indices]
