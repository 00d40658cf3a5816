"""Kernel smoothers: means of all training rows with Gaussian weights."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.kernels import Gaussian
from separatrix.messages import InputError
from separatrix.neighbors.bandwidth import (
    BandwidthSearch,
    RowLoss,
    kernel_mean,
    leave_one_out_bandwidth,
    log_loss,
    squared_loss,
)
from separatrix.neighbors.base import (
    InstanceBasedClassifier,
    InstanceBasedModel,
    InstanceBasedRegressor,
)
from separatrix.neighbors.weights import gaussian_weights
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats


class KernelSmoother(InstanceBasedModel):
    """f(x) = Σ pᵢ yᵢ with pᵢ ∝ wᵢ exp(−d(x, xᵢ)²/2h²), which sum to one over the training rows."""

    bandwidth: Any
    bandwidth_: float

    def __init__(
        self,
        bandwidth: Any = "loo",
        *,
        metric: Any = "euclidean",
        standardize: bool = False,
    ) -> None:
        self.bandwidth = bandwidth
        self.metric = metric
        self.standardize = standardize

    def _fit_bandwidth(self, y: Floats, loss: RowLoss) -> None:
        """Check the bandwidth, or choose it by the leave-one-out loss."""
        self.__dict__.pop("bandwidth_search_", None)
        if isinstance(self.bandwidth, str) and self.bandwidth == "loo":
            points = self.metric_.prepare(self.points_)
            found = leave_one_out_bandwidth(points, self.sample_weight_, y, loss)
            self.bandwidth_search_: BandwidthSearch = found
            self.bandwidth_ = found.bandwidth
            if np.isfinite(found.loss):
                claim = f"No bandwidth tried has a lower loss than {found.bandwidth:.4g}"
            else:
                claim = "All training rows coincide, and every bandwidth gives their mean"
        else:
            self.bandwidth_ = _checked(self.bandwidth)
            claim = "A closed form: the kernel-weighted mean of all training rows"
        self.certificate_ = Certificate(claim, promised=())

    def _smooth(self, X: Any, y: Floats) -> Floats:
        """Kernel-weighted means of the columns of ``y`` (n x k)."""
        points, x = self.metric_.prepare(self.points_), self._query_points(X)
        out = np.empty((len(x), y.shape[1]))
        for part, distances in points.blocks(x):
            out[part] = kernel_mean(distances, self.sample_weight_, y, self.bandwidth_)
        return out

    def smoother_matrix(self, X: Any) -> Floats:
        """The weights pᵢ of all training rows in the prediction of every row of X."""
        check_is_fitted(self)
        points, x = self.metric_.prepare(self.points_), self._query_points(X)
        out = np.empty((len(x), len(self.points_)))
        for part, distances in points.blocks(x):
            weights = gaussian_weights(distances, self.bandwidth_) * self.sample_weight_
            out[part] = weights / weights.sum(axis=1, keepdims=True)
        return out


def _checked(bandwidth: Any) -> float:
    """The bandwidth as a number, that of a Gaussian kernel included."""
    h = bandwidth.bandwidth if isinstance(bandwidth, Gaussian) else bandwidth
    if not isinstance(h, int | float | np.number) or not 0 < h < np.inf:
        raise InputError(
            f"bandwidth={bandwidth!r} is not a positive number.",
            remedy="Give a positive number, a Gaussian kernel, or 'loo' to choose it by "
            "leave-one-out.",
        )
    return float(h)


class KernelVoteClassifier(ClassifierMixin, InstanceBasedClassifier, KernelSmoother):
    """Classification by a vote of all training rows with Gaussian weights.

        P(c | x) = Σ pᵢ 1{yᵢ = c},     pᵢ ∝ wᵢ exp(−d(x, xᵢ)²/2h²)

    This is the Nadaraya–Watson smoother of the one-hot targets.

    Parameters
    ----------
    bandwidth : float, Gaussian or "loo", default="loo"
        h, or a :class:`Gaussian` kernel that has it; "loo" takes the one with the least
        leave-one-out log loss.
    metric : str, Metric or callable, default="euclidean"
        d: a name, a metric, a function of two points, or "precomputed". Metrics of strings or
        mixed rows take lists of objects for ``X``.
    standardize : bool, default=False
        Standardize the columns first, so that their units do not matter.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    bandwidth_ : float
        h.
    bandwidth_search_ : BandwidthSearch
        The grid of bandwidths and their losses, if h was chosen.
    points_ : ndarray of shape (n_samples, n_features) or list
        Training rows of positive weight, standardized if ``standardize``.
    codes_ : ndarray of shape (n_samples,)
        Classes of the training rows, as positions in ``classes_``.
    sample_weight_ : ndarray of shape (n_samples,)
        w, the weights of the training rows.
    metric_ : Metric
        The metric with what it learned from the training rows.
    certificate_ : Certificate
        What is certain about the fit.

    See Also
    --------
    NadarayaWatson : The same for numeric targets.
    KNeighborsClassifier : A vote of the k nearest rows only.

    Examples
    --------
    >>> import separatrix as sx
    >>> model = sx.KernelVoteClassifier(1.0).fit([[0], [1], [4]], list("aab"))
    >>> model.predict([[0.5], [3.5]]).tolist()
    ['a', 'b']
    >>> model.predict_proba([[2.5]]).round(3).tolist()
    [[0.532, 0.468]]
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        self._fit_classes(X, y, sample_weight)
        self._fit_bandwidth(self._one_hot_targets(), log_loss)
        return self

    def _one_hot_targets(self) -> Floats:
        return np.eye(len(self.classes_))[self.codes_]

    def predict_proba(self, X: Any) -> Floats:
        """The weighted proportion of each class."""
        check_is_fitted(self)
        return self._smooth(X, self._one_hot_targets())

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest weighted vote."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])


class NadarayaWatson(RegressorMixin, InstanceBasedRegressor, KernelSmoother):
    """Kernel regression: a mean of all training rows with Gaussian weights.

        f(x) = Σ wᵢ κ(x, xᵢ) yᵢ / Σ wᵢ κ(x, xᵢ),     κ(x, z) = exp(−d(x, z)²/2h²)

    Far from the data the nearest training rows determine the prediction.

    Parameters
    ----------
    bandwidth : float, Gaussian or "loo", default="loo"
        h, or a :class:`Gaussian` kernel that has it; "loo" takes the one with the least
        leave-one-out squared error.
    metric : str, Metric or callable, default="euclidean"
        d: a name, a metric, a function of two points, or "precomputed". Metrics of strings or
        mixed rows take lists of objects for ``X``.
    standardize : bool, default=False
        Standardize the columns first, so that their units do not matter.

    Attributes
    ----------
    bandwidth_ : float
        h.
    bandwidth_search_ : BandwidthSearch
        The grid of bandwidths and their losses, if h was chosen.
    points_ : ndarray of shape (n_samples, n_features) or list
        Training rows of positive weight, standardized if ``standardize``.
    targets_ : ndarray of shape (n_samples, n_targets)
        Targets of the training rows.
    sample_weight_ : ndarray of shape (n_samples,)
        w, the weights of the training rows.
    metric_ : Metric
        The metric with what it learned from the training rows.
    certificate_ : Certificate
        What is certain about the fit.

    See Also
    --------
    KernelVoteClassifier : The same for classes.
    KNeighborsRegressor : The mean of the k nearest rows only.

    References
    ----------
    - E. A. Nadaraya, On estimating regression, Theory of Probability and its Applications 9, 1964.
    - G. S. Watson, Smooth regression analysis, Sankhyā A 26, 1964.

    Examples
    --------
    >>> import separatrix as sx
    >>> model = sx.NadarayaWatson(1.0).fit([[0], [1], [4]], [0.0, 1.0, 5.0])
    >>> model.predict([[0.5], [4.0]]).round(3).tolist()
    [0.506, 4.954]
    >>> model.smoother_matrix([[0.5]]).round(3).tolist()
    [[0.499, 0.499, 0.001]]
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and targets ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        self._fit_targets(X, y, sample_weight)
        self._fit_bandwidth(self.targets_, squared_loss)
        return self

    def predict(self, X: Any) -> Floats:
        """The kernel-weighted mean."""
        check_is_fitted(self)
        return self._shaped(self._smooth(X, self.targets_))
