"""k nearest neighbors: class, probability, number, or the neighbors themselves."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix.distances.search.neighbors import NeighborSearch
from separatrix.distances.search.result import Neighbors
from separatrix.messages import InputError
from separatrix.neighbors.base import (
    InstanceBasedClassifier,
    InstanceBasedModel,
    InstanceBasedRegressor,
)
from separatrix.neighbors.leave_one_out import NeighborCounts, errors_by_count
from separatrix.neighbors.weights import share_of, votes_of
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats
from separatrix.rows.rows import Rows
from separatrix.statistics.preparation import prepare

#: Rows whose votes are counted together.
BLOCK = 4096


class _Asked(InstanceBasedModel):
    """Remembered rows that can be asked for the nearest of them."""

    n_neighbors_: int

    def _index(self) -> None:
        """Sort the points for searching, once for all questions."""
        self.__dict__["_searcher"] = NeighborSearch(self.points_, self.metric_)

    @property
    def _search(self) -> NeighborSearch:
        """Built from the points; a model from a file builds it when first asked."""
        if "_searcher" not in self.__dict__:
            self._index()
        found: NeighborSearch = self.__dict__["_searcher"]
        return found

    def __getstate__(self) -> dict[str, Any]:
        """The search is built again from the points."""
        return {k: v for k, v in super().__getstate__().items() if k != "_searcher"}

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """(distances, numbers) of the nearest rows remembered; without X, of each row's others."""
        check_is_fitted(self, "points_")
        k = self.n_neighbors_ if n_neighbors is None else n_neighbors
        found = (
            self._search.nearest_others(k, self.points_)
            if X is None
            else self._search.nearest(self._located(X), k)
        )
        return (found.distances, found.indices) if return_distance else found.indices


class _Voting(_Asked):
    """Neighbors that vote, for a class or with their number."""

    n_neighbors: int | str
    weights: Any

    def __init__(
        self,
        n_neighbors: int | str = 5,
        *,
        weights: Any = "uniform",
        metric: Any = "euclidean",
        standardize: bool = False,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.metric = metric
        self.standardize = standardize

    def _said_by(self, indices: NDArray[np.int64], shares: Floats) -> Floats:
        """The mean of what these points say, each with its share."""
        raise NotImplementedError

    def _settle(self) -> None:
        """Check the number of neighbors, or choose it; then say what is certain."""
        self._index()
        total = self.weights_.sum()
        if self.n_neighbors == "auto":
            self.counts_ = self.leave_one_out()
            self.n_neighbors_ = self.counts_.best
        else:
            self.n_neighbors_ = _counted(self.n_neighbors)
            if self.n_neighbors_ > total:
                raise InputError(
                    f"{self.n_neighbors_} neighbors were asked for, and n_samples = "
                    f"{len(self.points_)} rows of total weight {total:g} were given: a row of "
                    "weight w fills w places.",
                    remedy="Ask for fewer, or give weights that count rows.",
                )
        self.certificate_ = Certificate(
            f"The {self.n_neighbors_} nearest of {len(self.points_)} remembered rows, exactly",
            notes=("The search is exact; ties go to the row that came first.",),
            promised=(),
        )

    def leave_one_out(self, most: int | None = None) -> NeighborCounts:
        """Error of 1, 2, … neighbors, every row judged by the others, from one search.

        ``most`` bounds the count; by default twice the square root of the number of rows, at most
        128.
        """
        check_is_fitted(self, "points_")
        return errors_by_count(self, most)

    def _near(self, x: Any) -> tuple[Neighbors, Floats]:
        """Enough neighbors to fill k places, and the places that each takes."""
        k, n = self.n_neighbors_, len(self.points_)
        asked = min(k, n)
        while True:
            found = self._search.nearest(x, asked)
            places = share_of(found.indices, self.weights_, k)
            if asked == n or (places.sum(axis=1) >= k * (1 - 1e-12)).all():
                return found, places
            asked = min(n, 2 * asked)  # weights below one leave places empty

    def _averaged(self, X: Any) -> Floats:
        x = self._located(X)
        out: list[Floats] = []
        for start in range(0, len(x), BLOCK):
            part = slice(start, start + BLOCK)
            found, places = self._near(x[part])
            # One that got no place must not be the farthest either.
            there = np.where(places > 0, found.distances, found.distances[:, :1])
            votes = places * votes_of(self.weights, there)
            # Where every vote vanished, all that have a place count alike.
            votes = np.where(votes.sum(axis=1, keepdims=True) > 0, votes, places)
            out.append(self._said_by(found.indices, votes / votes.sum(axis=1, keepdims=True)))
        return np.concatenate(out)


def _counted(k: Any) -> int:
    if not isinstance(k, int | float | np.number) or k != int(k) or k < 1:
        raise InputError(f"n_neighbors={k!r} is no count.", remedy="Give 1, 2, … or 'auto'.")
    return int(k)


class KNeighborsClassifier(ClassifierMixin, InstanceBasedClassifier, _Voting):
    """P(c | x) = Σ vᵢ 1{yᵢ = c} / Σ vᵢ over the k nearest training rows.

    A training row of weight w fills w of the k places.

    Parameters
    ----------
    n_neighbors : int or "auto", default=5
        k; "auto" takes the count with the least leave-one-out error.
    weights : {"uniform", "distance", "gaussian"}, Gaussian or function, default="uniform"
        The vote of a neighbor at distance d: 1; 1/d; exp(−d²/2h²) with h the distance of the
        k-th; that of a kernel :class:`Gaussian`; or any function of an array of distances.
    metric : name, Metric or function of two points, default="euclidean"
        Also "precomputed". Metrics of strings or mixed rows take lists of objects for ``X``.
    standardize : bool, default=False
        Divide columns by their deviation first, so that units do not matter.

    Attributes
    ----------
    n_neighbors_ : k.
    points_, codes_, weights_ : what is remembered.
    counts_ : leave-one-out errors by count, if k was chosen.
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Remember ``X`` and labels ``y``, or :class:`~separatrix.rows.rows.Rows`."""
        self._remember_classes(X, y, sample_weight)
        self._settle()
        return self

    def _said_by(self, indices: NDArray[np.int64], shares: Floats) -> Floats:
        n, classes = len(indices), len(self.classes_)
        cells = np.arange(n)[:, None] * classes + self.codes_[indices]
        sums = np.bincount(cells.ravel(), shares.ravel(), minlength=n * classes)
        return np.asarray(sums.reshape(n, classes))

    def predict_proba(self, X: Any) -> Floats:
        """The share of each class among the votes."""
        return self._averaged(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with most votes; of equals, the first in ``classes_``."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])


class KNeighborsRegressor(RegressorMixin, InstanceBasedRegressor, _Voting):
    """f(x) = Σ vᵢ yᵢ / Σ vᵢ over the k nearest training rows.

    Parameters and attributes as for :class:`KNeighborsClassifier`; ``targets_`` are remembered.
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Remember ``X`` and numbers ``y``, or :class:`~separatrix.rows.rows.Rows`."""
        self._remember_targets(X, y, sample_weight)
        self._settle()
        return self

    def _said_by(self, indices: NDArray[np.int64], shares: Floats) -> Floats:
        return np.asarray(np.einsum("ij,ijk->ik", shares, self.targets_[indices]))

    def predict(self, X: Any) -> Floats:
        """The mean of the neighbors, by their votes."""
        return self._shaped(self._averaged(X))


class NearestNeighbors(_Asked):
    """The k nearest of the rows, or of any objects, that were remembered.

    Parameters as for :class:`KNeighborsClassifier`.
    """

    def __init__(
        self, n_neighbors: int = 5, *, metric: Any = "euclidean", standardize: bool = False
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.standardize = standardize

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Remember ``X``: a matrix, Rows, or a list of objects that the metric measures."""
        if self._takes_objects(X):
            self._keep_objects(X, None)
            return self._said()
        if isinstance(X, Rows):
            self._name_columns(X)
            prepared = prepare(X)
            self.encoding_ = prepared.encoding
            x = prepared.rows.collect().dense()
        else:
            x = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        n = x.shape[0]
        self._keep_rows(x, np.ones(n), np.arange(n))
        return self._said()

    def _said(self) -> Self:
        self._index()
        self.n_neighbors_ = _counted(self.n_neighbors)
        self.certificate_ = Certificate(
            f"An exact search among {len(self.points_)} rows",
            promised=(),
        )
        return self

    def retrieve(self, X: Any, n_neighbors: int | None = None) -> list[list[Any]]:
        """The nearest objects themselves, for every row of X."""
        numbers = self.kneighbors(X, n_neighbors, return_distance=False)
        return [[self.points_[i] for i in row] for row in numbers]
