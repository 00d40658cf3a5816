"""Classification and regression by k nearest neighbors."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.distances.search import Neighbors
from separatrix.messages import InputError
from separatrix.neighbors.base import InstanceBasedClassifier, InstanceBasedRegressor
from separatrix.neighbors.leave_one_out import (
    CountLoss,
    LeaveOneOutErrors,
    SquaredLoss,
    ZeroOneLoss,
    leave_one_out_errors,
)
from separatrix.neighbors.nearest_neighbors import NeighborsModel, check_n_neighbors
from separatrix.neighbors.tuning import tune_neighbors
from separatrix.neighbors.weights import distance_weights, truncated_weights
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats, Ints
from separatrix.selection.tuning import Tuning, TuningData

#: Queries that are predicted together.
BLOCK = 4096


class NeighborsPredictor(NeighborsModel):
    """ŷ(x) = Σ vᵢ yᵢ / Σ vᵢ over the k nearest training points, with v from their distances."""

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

    @abstractmethod
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and ``y``, or to :class:`~separatrix.rows.rows.Rows`."""

    @abstractmethod
    def _mean_target(self, indices: Ints, weights: Floats) -> Floats:
        """Mean target of the training points ``indices``, whose ``weights`` sum to one."""

    @abstractmethod
    def _loss(self) -> CountLoss:
        """The loss by which k is chosen."""

    def tune(self, data: TuningData) -> Tuning:
        """Compare numbers of neighbors, weights and metrics on the folds of ``data``.

        For classes also how much votes are smoothed. Columns are standardized over all rows if
        ``standardize``, as in a fit to all of them.
        """
        return tune_neighbors(data, standardize=bool(self.standardize))

    def fit_tuned(self, rows: Any, tuning: Tuning) -> Self:
        """Fit to all rows with the parameters that were chosen, which replace those given."""
        self.set_params(**tuning.parameters)
        return self.fit(rows)

    def _fit_neighbors(self) -> None:
        """Build the search, then check or choose the number of neighbors."""
        self._build_search()
        total = self.sample_weight_.sum()
        self.__dict__.pop("leave_one_out_", None)
        if self.n_neighbors == "auto":
            self.leave_one_out_ = self.leave_one_out()
            self.n_neighbors_ = self.leave_one_out_.best
        else:
            self.n_neighbors_ = check_n_neighbors(self.n_neighbors)
            if self.n_neighbors_ > total:
                raise InputError(
                    f"n_neighbors={self.n_neighbors_} exceeds the total weight {total:g} of "
                    f"n_samples = {len(self.points_)} rows: a row of weight w counts as w "
                    "neighbors.",
                    remedy="Use fewer neighbors, or weights that count rows.",
                )
        self.certificate_ = Certificate(
            f"The {self.n_neighbors_} nearest of {len(self.points_)} training rows are exact",
            notes=("Ties in distance go to the row that comes first.",),
            promised=(),
        )

    def leave_one_out(self, max_neighbors: int | None = None) -> LeaveOneOutErrors:
        """Leave-one-out error of k = 1 … ``max_neighbors``, by default 2√(Σ w), at most 128."""
        check_is_fitted(self, "points_")
        return leave_one_out_errors(
            self._search, self.points_, self.sample_weight_, self.weights, self._loss(),
            max_neighbors,
        )  # fmt: skip

    def _neighbors(self, x: Any) -> tuple[Neighbors, Floats]:
        """Enough neighbors for a total weight of k, and how much of its weight each counts."""
        k, n = self.n_neighbors_, len(self.points_)
        count = min(k, n)
        while True:
            found = self._search.nearest(x, count)
            copies = truncated_weights(found.indices, self.sample_weight_, k)
            if count == n or (copies.sum(axis=1) >= k * (1 - 1e-12)).all():
                return found, copies
            count = min(n, 2 * count)  # weights below one need more rows

    def _predict_mean(self, X: Any) -> tuple[Floats, Floats]:
        """Mean targets of the neighbors, and (Σ v)² / Σ v²: how many of equal weight they are."""
        x = self._query_points(X)
        means: list[Floats] = []
        effective: list[Floats] = []
        for start in range(0, len(x), BLOCK):
            found, copies = self._neighbors(x[start : start + BLOCK])
            # A neighbor beyond the k-th must not set the bandwidth of the adaptive Gaussian.
            distances = np.where(copies > 0, found.distances, found.distances[:, :1])
            values = distance_weights(self.weights, distances)
            # Where all weights vanish, the k neighbors count alike.
            vanish = ~((copies * values).sum(axis=1, keepdims=True) > 0)
            values = np.where(vanish, 1.0, values)
            weights = copies * values
            total = weights.sum(axis=1, keepdims=True)
            means.append(self._mean_target(found.indices, weights / total))
            effective.append(total[:, 0] ** 2 / (weights * values).sum(axis=1))
        return np.concatenate(means), np.concatenate(effective)


class KNeighborsClassifier(ClassifierMixin, InstanceBasedClassifier, NeighborsPredictor):
    """Classification by a weighted vote of the k nearest training rows.

        P(c | x) = (m Σ vᵢ 1{yᵢ = c} / Σ vᵢ + s/K) / (m + s),     m = (Σ vᵢ)² / Σ vᵢ²

    That is the proportion of the votes, or with s > 0 as if s more votes were spread over all K
    classes; m is the number of neighbors, that of equal weight where weights differ. A training row
    of weight w counts as w neighbors.

    Parameters
    ----------
    n_neighbors : int or "auto", default=5
        k; "auto" takes the k with the least leave-one-out error.
    weights : {"uniform", "distance", "gaussian"}, Gaussian or callable, default="uniform"
        v of a neighbor at distance d: 1; 1/d; exp(−d²/2h²) with h the distance of the k-th
        neighbor; exp(−d²/2h²) with the bandwidth of a :class:`Gaussian`; or a function of an
        array of distances.
    metric : str, Metric or callable, default="euclidean"
        A name, a metric, a function of two points, or "precomputed". Metrics of strings or mixed
        rows take lists of objects for ``X``.
    standardize : bool, default=False
        Standardize the columns first, so that their units do not matter.
    smoothing : float, default=0.0
        s, the votes that are spread over all classes, so that none has a probability of zero. The
        predicted class does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_neighbors_ : int
        k.
    points_ : ndarray of shape (n_samples, n_features) or list
        Training rows of positive weight, standardized if ``standardize``.
    codes_ : ndarray of shape (n_samples,)
        Classes of the training rows, as positions in ``classes_``.
    sample_weight_ : ndarray of shape (n_samples,)
        Weights of the training rows.
    leave_one_out_ : LeaveOneOutErrors
        Leave-one-out errors by k, if k was chosen.
    metric_ : Metric
        The metric with what it learned from the training rows.
    certificate_ : Certificate
        What is certain about the fit.

    See Also
    --------
    KNeighborsRegressor : The same for numeric targets.
    KernelVoteClassifier : All training rows vote, with Gaussian weights.
    NearestExemplar : One point for each class.

    References
    ----------
    Cover, T. and Hart, P. (1967). Nearest neighbor pattern classification. IEEE Transactions on
    Information Theory 13.

    Examples
    --------
    >>> import separatrix as sx
    >>> model = sx.KNeighborsClassifier(3).fit([[0], [1], [2], [8], [9]], list("aaabb"))
    >>> model.predict([[1.5], [7.0]]).tolist()
    ['a', 'b']
    >>> model.predict_proba([[7.0]]).round(2).tolist()
    [[0.33, 0.67]]
    """

    def __init__(
        self,
        n_neighbors: int | str = 5,
        *,
        weights: Any = "uniform",
        metric: Any = "euclidean",
        standardize: bool = False,
        smoothing: float = 0.0,
    ) -> None:
        super().__init__(n_neighbors, weights=weights, metric=metric, standardize=standardize)
        self.smoothing = smoothing

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        if not 0.0 <= self.smoothing < np.inf:
            raise InputError(f"smoothing={self.smoothing} must be a number of votes, 0 or more.")
        self._fit_classes(X, y, sample_weight)
        self._fit_neighbors()
        return self

    def _mean_target(self, indices: Ints, weights: Floats) -> Floats:
        n, n_classes = len(indices), len(self.classes_)
        cells = np.arange(n)[:, None] * n_classes + self.codes_[indices]
        sums = np.bincount(cells.ravel(), weights.ravel(), minlength=n * n_classes)
        return np.asarray(sums.reshape(n, n_classes))

    def _loss(self) -> CountLoss:
        return ZeroOneLoss(self.codes_, len(self.classes_))

    def predict_proba(self, X: Any) -> Floats:
        """The weighted proportion of each class among the neighbors, smoothed if asked for."""
        votes, effective = self._predict_mean(X)
        if not self.smoothing:
            return votes
        m, s = effective[:, None], float(self.smoothing)
        return np.asarray((m * votes + s / votes.shape[1]) / (m + s))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest weighted vote; of equals, the first in ``classes_``."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])


class KNeighborsRegressor(RegressorMixin, InstanceBasedRegressor, NeighborsPredictor):
    """Regression by the weighted mean of the k nearest training rows.

        f(x) = Σ vᵢ yᵢ / Σ vᵢ

    A training row of weight w counts as w neighbors.

    Parameters
    ----------
    n_neighbors : int or "auto", default=5
        k; "auto" takes the k with the least leave-one-out squared error.
    weights : {"uniform", "distance", "gaussian"}, Gaussian or callable, default="uniform"
        v of a neighbor at distance d: 1; 1/d; exp(−d²/2h²) with h the distance of the k-th
        neighbor; exp(−d²/2h²) with the bandwidth of a :class:`Gaussian`; or a function of an
        array of distances.
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
        Training rows of positive weight, standardized if ``standardize``.
    targets_ : ndarray of shape (n_samples, n_targets)
        Targets of the training rows.
    sample_weight_ : ndarray of shape (n_samples,)
        Weights of the training rows.
    leave_one_out_ : LeaveOneOutErrors
        Leave-one-out errors by k, if k was chosen.
    metric_ : Metric
        The metric with what it learned from the training rows.
    certificate_ : Certificate
        What is certain about the fit.

    See Also
    --------
    KNeighborsClassifier : The same for classes.
    NadarayaWatson : A mean of all training rows with Gaussian weights.

    Examples
    --------
    >>> import separatrix as sx
    >>> model = sx.KNeighborsRegressor(2).fit([[0], [1], [2], [3]], [0.0, 1.0, 4.0, 9.0])
    >>> model.predict([[0.4], [2.6]]).tolist()
    [0.5, 6.5]
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and targets ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        self._fit_targets(X, y, sample_weight)
        self._fit_neighbors()
        return self

    def _mean_target(self, indices: Ints, weights: Floats) -> Floats:
        return np.asarray(np.einsum("ij,ijk->ik", weights, self.targets_[indices]))

    def _loss(self) -> CountLoss:
        return SquaredLoss(self.targets_)

    def predict(self, X: Any) -> Floats:
        """The weighted mean of the neighbors' targets."""
        return self._shaped(self._predict_mean(X)[0])
