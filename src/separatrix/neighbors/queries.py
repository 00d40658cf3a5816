"""Neighbors of new rows, or of the training rows among themselves: as lists, and as graphs."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.neighbors._base import KNeighborsMixin, RadiusNeighborsMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.distances.search import NeighborLists
from separatrix.distances.search.neighbors import NeighborSearch
from separatrix.kernels.base import n_items
from separatrix.messages import InputError
from separatrix.neighbors.search_parameters import SearchParameters
from separatrix.threads import thread_limit

MODES = ("connectivity", "distance")


class NeighborsModel(SearchParameters):
    """Training points with an exact search for neighbors.

    Models of neighbors are scikit-learn's ``KNeighborsMixin`` and ``RadiusNeighborsMixin``, whose
    methods they all have their own: its functions take a fitted search only if it is one of these.
    """

    _searches = True
    _search_cache: NeighborSearch | None = None

    def _build_search(self) -> NeighborSearch:
        self._search_cache = NeighborSearch(self.points_, self.metric_)
        return self._search_cache

    @property
    def _search(self) -> NeighborSearch:
        """The search over the training points, built again after loading."""
        return self._build_search() if self._search_cache is None else self._search_cache

    @property
    def n_samples_fit_(self) -> int:
        """The number of training rows that are searched."""
        if "points_" not in vars(self):
            raise AttributeError("n_samples_fit_: not fitted yet")
        return n_items(self.points_)

    @property
    def _fit_X(self) -> Any:
        """The training points as queries, by the name that functions of scikit-learn read."""
        if "points_" not in vars(self):
            raise AttributeError("_fit_X: not fitted yet")
        scaled = self.standardizer_
        return self.points_ if scaled is None else scaled.inverse_transform(self.points_)

    def __getstate__(self) -> dict[str, Any]:
        """Without the search index, which is rebuilt from the points."""
        return {k: v for k, v in super().__getstate__().items() if k != "_search_cache"}


class KNeighborsQueries(KNeighborsMixin, NeighborsModel):
    """The k nearest training points, by default ``n_neighbors`` of them."""

    n_neighbors: Any

    def _count(self, n_neighbors: Any) -> int:
        if n_neighbors is None:
            k = getattr(self, "n_neighbors_", None)
            return check_n_neighbors(self.n_neighbors) if k is None else k
        if not isinstance(n_neighbors, Integral):
            raise TypeError(f"n_neighbors={n_neighbors!r} is no count: give an integer.")
        return check_n_neighbors(n_neighbors)

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """Distances and indices of the nearest training points; without X, of each one's others."""
        check_is_fitted(self, "points_")
        k = self._count(n_neighbors)
        with thread_limit(self.n_jobs):
            if X is None:
                found = self._search.nearest_others(k, self.points_)
            else:
                found = self._search.nearest(self._query_points(X), k)
        return (found.distances, found.indices) if return_distance else found.indices

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity"
    ) -> Any:
        """The k nearest training points as a sparse matrix (CSR), of ones or of distances.

        Without X, the graph of the training points, none of which is its own neighbor.
        """
        check_is_fitted(self, "points_")
        check_mode(mode)
        distances, indices = self.kneighbors(X, n_neighbors)
        starts = np.arange(0, indices.size + 1, indices.shape[1])
        values = distances.ravel() if mode == "distance" else np.ones(indices.size)
        return as_matrix(values, indices.ravel(), starts, self.n_samples_fit_)


class RadiusQueries(RadiusNeighborsMixin, NeighborsModel):
    """All training points within a distance, by default ``radius``."""

    radius: Any

    def _near(self, X: Any, radius: Any) -> NeighborLists:
        check_is_fitted(self, "points_")
        given = self.radius if radius is None else radius
        if np.ndim(given) == 1:  # one for each row
            each = np.array([check_radius(r) for r in given])
            near = self._near(X, float(each.max(initial=0.0)))
            if len(each) != len(near.starts) - 1:
                raise InputError(f"{len(each)} radii for {len(near.starts) - 1} rows.")
            return near.where(near.distances <= each[near.rows])
        r = check_radius(given)
        with thread_limit(self.n_jobs):
            if X is None:
                return self._search.others_within(r, self.points_)
            return self._search.within(self._query_points(X), r)

    def radius_neighbors(
        self,
        X: Any = None,
        radius: float | None = None,
        return_distance: bool = True,
        sort_results: bool = False,
    ) -> Any:
        """Distances and indices of all training points within ``radius``, an array for each row.

        They come in the order of the training points, or nearest first if ``sort_results``.
        Without X, the neighbors of each training point among the others.
        """
        if sort_results and not return_distance:
            raise InputError(
                "return_distance must be True if sort_results: the order is by distance."
            )
        near = self._near(X, radius)
        near = near.nearest_first() if sort_results else near
        indices = near.split(near.indices)
        return (near.split(near.distances), indices) if return_distance else indices

    def radius_neighbors_graph(
        self,
        X: Any = None,
        radius: float | None = None,
        mode: str = "connectivity",
        sort_results: bool = False,
    ) -> Any:
        """All training points within ``radius`` as a sparse matrix (CSR), of ones or of distances.

        Without X, the graph of the training points, none of which is its own neighbor. The entries
        of a row come nearest first if ``sort_results``.
        """
        check_mode(mode)
        near = self._near(X, radius)
        near = near.nearest_first() if sort_results else near
        values = near.distances if mode == "distance" else np.ones(len(near.indices))
        return as_matrix(values, near.indices, near.starts, self.n_samples_fit_)


def as_matrix(values: Any, indices: Any, starts: Any, n: int) -> Any:
    """A CSR matrix, or array if scikit-learn is configured so; stored zeros are kept."""
    shape = (len(starts) - 1, n)
    arrays = get_config().get("sparse_interface", "spmatrix") == "sparray"
    return (sparse.csr_array if arrays else sparse.csr_matrix)(
        (values, indices, starts), shape=shape
    )


def check_mode(mode: Any) -> None:
    """Refuse a graph of anything but ones or distances."""
    if mode not in MODES:
        raise InputError(
            f'Unsupported mode, must be one of "connectivity", or "distance" but got "{mode}" '
            "instead."
        )


def check_n_neighbors(k: Any) -> int:
    """k as an int, refused unless it is a positive integer."""
    if not isinstance(k, Integral) or isinstance(k, bool) or k < 1:
        raise InputError(f"n_neighbors={k!r} is no count.", remedy="Give 1, 2, … or 'auto'.")
    return int(k)


def check_radius(radius: Any) -> float:
    """The radius as a float, refused unless it is a number of 0 or more."""
    if not isinstance(radius, int | float | np.number) or not radius >= 0.0:
        raise InputError(f"radius={radius!r} is no distance.", remedy="Give a number, 0 or more.")
    return float(radius)
