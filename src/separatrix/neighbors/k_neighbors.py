"""Classification and regression by k nearest neighbors."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from separatrix.messages import InputError
from separatrix.neighbors.base import InstanceBasedRegressor
from separatrix.neighbors.leave_one_out import (
    CountLoss,
    SeveralLosses,
    SquaredLoss,
    ZeroOneLoss,
)
from separatrix.neighbors.prediction import NeighborsPredictor, weighted_means
from separatrix.neighbors.votes import NeighborsClassifier
from separatrix.neighbors.without_each_row import (
    Answers,
    NeighborFits,
    has_form,
    mean_answers,
    own_answers,
)
from separatrix.rows.block import Floats


class KNeighborsClassifier(NeighborsClassifier, NeighborsPredictor):
    """Classification by a weighted vote of the k nearest training rows.

        P(c | x) = (m Σ vᵢ 1{yᵢ = c} / Σ vᵢ + s/K) / (m + s),     m = (Σ vᵢ)² / Σ vᵢ²

    That is the proportion of the votes, or with s > 0 as if s more votes were spread over all K
    classes; m is the number of neighbors, that of equal weight where weights differ. A training row
    of weight w counts as w neighbors.

    Parameters
    ----------
    n_neighbors : int or "auto", default=5
        k; "auto" takes the k with the least leave-one-out error.
    weights : {"uniform", "distance", "gaussian"}, Gaussian, callable or None, default="uniform"
        v of a neighbor at distance d: 1; 1/d; exp(−d²/2h²) with h the distance of the k-th
        neighbor; exp(−d²/2h²) with the bandwidth of a :class:`Gaussian`; or a function of an
        array of distances. None is "uniform".
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        Taken as scikit-learn does, and unused: the search is exact, and measures which method is
        the faster one.
    leaf_size : int, default=30
        Unused.
    p : float, default=2
        The exponent of "minkowski": 1 is Manhattan, 2 Euclidean distance.
    metric : str, Metric or callable, default="minkowski"
        A name, a metric, a function of two points, or "precomputed" (a matrix, or a sparse graph
        of neighbors). Metrics of strings or mixed rows take lists of objects for ``X``.
    metric_params : dict, default=None
        Parameters of a metric that is given by name, or keywords of a function.
    n_jobs : int, default=None
        Threads that may be used; None or -1 for all that the process has.
    standardize : bool, default=False
        Standardize the columns first, so that their units do not matter.
    smoothing : float, default=0.0
        s, the votes that are spread over all classes, so that none has a probability of zero. The
        predicted class does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or a list of such arrays
        The class labels; of each target, if there are several.
    outputs_2d_ : bool
        Whether there are several targets.
    n_neighbors_ : int
        k.
    points_ : ndarray of shape (n_samples, n_features) or list
        Training rows of positive weight, standardized if ``standardize``.
    codes_ : ndarray of shape (n_samples,)
        Classes of the training rows, as positions in ``classes_``.
    output_codes_ : ndarray of shape (n_samples, n_targets)
        The same in place of ``codes_``, if there are several targets.
    sample_weight_ : ndarray of shape (n_samples,)
        Weights of the training rows.
    leave_one_out_ : LeaveOneOutErrors
        Leave-one-out errors by k, if k was chosen.
    metric_ : Metric
        The metric with what it learned from the training rows.
    effective_metric_ : str or callable
        The metric by its plainest name: "minkowski" with p = 2 is "euclidean".
    effective_metric_params_ : dict
        Its parameters.
    n_samples_fit_ : int
        The number of training rows of positive weight.
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
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        standardize: bool = False,
        smoothing: float = 0.0,
    ) -> None:
        super().__init__(
            n_neighbors,
            weights=weights,
            algorithm=algorithm,
            leaf_size=leaf_size,
            p=p,
            metric=metric,
            metric_params=metric_params,
            n_jobs=n_jobs,
            standardize=standardize,
        )
        self.smoothing = smoothing

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        self._check_parameters()
        if not 0.0 <= self.smoothing < np.inf:
            raise InputError(f"smoothing={self.smoothing} must be a number of votes, 0 or more.")
        self._fit_classes(X, y, sample_weight)
        self._fit_neighbors()
        return self

    def _loss(self) -> CountLoss:
        if not self.outputs_2d_:
            return ZeroOneLoss(self.codes_, len(self.classes_))
        columns = zip(self._codes.T, self.classes_, strict=True)
        return SeveralLosses(
            tuple(ZeroOneLoss(np.ascontiguousarray(c), len(of)) for c, of in columns)
        )

    def predict_proba(self, X: Any) -> Any:
        """The weighted proportion of each class among the neighbors, smoothed if asked for.

        Without X (None), those of each training row among the others. With several targets, a list.
        """
        votes, effective = self._over_blocks(
            X, lambda near: (self._votes(*near.flat), near.effective)
        )
        found = [np.concatenate(parts) for parts in zip(*votes, strict=True)]
        if s := float(self.smoothing):
            m = np.concatenate(effective)[:, None]
            found = [(m * part + s / part.shape[1]) / (m + s) for part in found]
        return found if self.outputs_2d_ else found[0]

    def leave_one_out_fits(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> NeighborFits | None:
        """Probabilities without each of the training rows; None if they need refits."""
        del X, y, sample_weight  # the rows are those that the model holds
        if self.outputs_2d_ or not has_form(self):
            return None
        return NeighborFits(own_answers(self))

    def _answers_of_neighbors(self) -> Answers:
        votes = np.eye(len(self.classes_))[self.codes_]
        return mean_answers(self.weights, votes, float(self.smoothing))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest weighted vote; of equals, the first in ``classes_``."""
        codes = self._over_blocks(X, lambda near: (self._most_voted(*near.flat),))[0]
        return self._labels(np.concatenate(codes))


class KNeighborsRegressor(RegressorMixin, InstanceBasedRegressor, NeighborsPredictor):
    """Regression by the weighted mean of the k nearest training rows.

        f(x) = Σ vᵢ yᵢ / Σ vᵢ

    A training row of weight w counts as w neighbors.

    Parameters
    ----------
    n_neighbors : int or "auto", default=5
        k; "auto" takes the k with the least leave-one-out squared error.
    weights : {"uniform", "distance", "gaussian"}, Gaussian, callable or None, default="uniform"
        v of a neighbor at distance d: 1; 1/d; exp(−d²/2h²) with h the distance of the k-th
        neighbor; exp(−d²/2h²) with the bandwidth of a :class:`Gaussian`; or a function of an
        array of distances. None is "uniform".
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        Taken as scikit-learn does, and unused: the search is exact, and measures which method is
        the faster one.
    leaf_size : int, default=30
        Unused.
    p : float, default=2
        The exponent of "minkowski": 1 is Manhattan, 2 Euclidean distance.
    metric : str, Metric or callable, default="minkowski"
        A name, a metric, a function of two points, or "precomputed" (a matrix, or a sparse graph
        of neighbors). Metrics of strings or mixed rows take lists of objects for ``X``.
    metric_params : dict, default=None
        Parameters of a metric that is given by name, or keywords of a function.
    n_jobs : int, default=None
        Threads that may be used; None or -1 for all that the process has.
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
    effective_metric_ : str or callable
        The metric by its plainest name: "minkowski" with p = 2 is "euclidean".
    effective_metric_params_ : dict
        Its parameters.
    n_samples_fit_ : int
        The number of training rows of positive weight.
    certificate_ : Certificate
        What is certain about the fit.

    See Also
    --------
    KNeighborsClassifier : The same for classes.
    NadarayaWatson : A mean of all training rows with Gaussian weights.

    References
    ----------
    C. J. Stone, Consistent nonparametric regression, Annals of Statistics 5, 1977.

    Examples
    --------
    >>> import separatrix as sx
    >>> model = sx.KNeighborsRegressor(2).fit([[0], [1], [2], [3]], [0.0, 1.0, 4.0, 9.0])
    >>> model.predict([[0.4], [2.6]]).tolist()
    [0.5, 6.5]
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and targets ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        self._check_parameters()
        self._fit_targets(X, y, sample_weight)
        self._fit_neighbors()
        return self

    def _loss(self) -> CountLoss:
        return SquaredLoss(self.targets_)

    def predict(self, X: Any) -> Floats:
        """The weighted mean of the neighbors' targets; without X (None), of each row's others."""
        means = self._over_blocks(
            X, lambda near: (weighted_means(self.targets_, near.indices, near.weights),)
        )[0]
        return self._shaped(np.concatenate(means))

    def leave_one_out_fits(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> NeighborFits | None:
        """Predictions without each of the training rows; None if they need refits."""
        del X, y, sample_weight  # the rows are those that the model holds
        if self.targets_.shape[1] != 1 or not has_form(self):
            return None
        return NeighborFits(own_answers(self))

    def _answers_of_neighbors(self) -> Answers:
        means = mean_answers(self.weights, self.targets_)
        return lambda distances, indices: means(distances, indices)[:, 0]
