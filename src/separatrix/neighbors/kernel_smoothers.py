"""All training rows vote, each by its closeness: for a class, or with a number."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.messages import InputError
from separatrix.neighbors.bandwidth import (
    Bandwidth,
    RowLoss,
    leave_one_out_bandwidth,
    local_mean,
    log_loss,
    squared_loss,
)
from separatrix.neighbors.base import (
    InstanceBasedClassifier,
    InstanceBasedModel,
    InstanceBasedRegressor,
)
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats


class _LocalAverage(InstanceBasedModel):
    """f(x) = Σ pᵢ yᵢ with pᵢ ∝ wᵢ exp(−d(x, xᵢ)²/2h²), a probability over the training rows."""

    bandwidth: float | str
    bandwidth_: float

    def __init__(
        self,
        bandwidth: float | str = "loo",
        *,
        metric: Any = "euclidean",
        standardize: bool = False,
    ) -> None:
        self.bandwidth = bandwidth
        self.metric = metric
        self.standardize = standardize

    def _settle(self, said: Floats, loss: RowLoss) -> None:
        """Take the bandwidth that was given, or choose it by leaving one row out."""
        self.__dict__.pop("choice_", None)
        points = self.metric_.prepare(self.points_)
        if self.bandwidth == "loo":
            self.choice_: Bandwidth = leave_one_out_bandwidth(points, self.weights_, said, loss)
            self.bandwidth_ = self.choice_.value
            claim = f"Bandwidth {self.bandwidth_:.4g}: none that was tried has a smaller loss"
        else:
            if isinstance(self.bandwidth, str) or not 0 < self.bandwidth < np.inf:
                raise InputError(
                    f"bandwidth={self.bandwidth!r} is no width.",
                    remedy="Give a positive number, or 'loo' to choose it by leave-one-out.",
                )
            self.bandwidth_ = float(self.bandwidth)
            claim = "A closed form: the average of all training rows, by their closeness"
        self.certificate_ = Certificate(
            claim,
            promised=(),
        )

    def _average(self, X: Any, said: Floats) -> Floats:
        points = self.metric_.prepare(self.points_)
        x = self._located(X)
        out = np.empty((len(x), said.shape[1]))
        for part, rows in points.blocks(x):
            out[part] = local_mean(rows**2, self.weights_, said, self.bandwidth_)
        return out

    def influence(self, X: Any) -> Floats:
        """pᵢ: the share that every training row has in the answer for every row of X."""
        check_is_fitted(self)
        return self._average(X, np.eye(len(self.points_)))


class KernelVoteClassifier(ClassifierMixin, InstanceBasedClassifier, _LocalAverage):
    """P(c | x) = Σ pᵢ 1{yᵢ = c} with pᵢ ∝ exp(−d(x, xᵢ)²/2h²): every training row votes.

    Parameters
    ----------
    bandwidth : float or "loo", default="loo"
        h; "loo" takes the one with the least leave-one-out log loss.
    metric : name, Metric or function of two points, default="euclidean"
        d. Metrics of strings or mixed rows take lists of objects for ``X``.
    standardize : bool, default=False
        Divide columns by their deviation first, so that units do not matter.

    Attributes
    ----------
    bandwidth_ : h.
    choice_ : the losses along the scan, if h was chosen.
    points_, codes_, weights_ : what is remembered.
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Remember ``X`` and labels ``y``, or :class:`~separatrix.rows.rows.Rows`."""
        self._remember_classes(X, y, sample_weight)
        self._settle(self._opinions(), log_loss)
        return self

    def _opinions(self) -> Floats:
        return np.eye(len(self.classes_))[self.codes_]

    def predict_proba(self, X: Any) -> Floats:
        """The share of each class among the votes."""
        check_is_fitted(self)
        return self._average(X, self._opinions())

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with most votes."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])


class NadarayaWatson(RegressorMixin, InstanceBasedRegressor, _LocalAverage):
    """f(x) = Σ κ(x, xᵢ) yᵢ / Σ κ(x, xᵢ) with κ = exp(−d²/2h²): a mean that moves along.

    Parameters and attributes as for :class:`KernelVoteClassifier`; "loo" minimizes the squared
    error. Beyond the data the nearest training rows decide.
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Remember ``X`` and numbers ``y``, or :class:`~separatrix.rows.rows.Rows`."""
        self._remember_targets(X, y, sample_weight)
        self._settle(self.targets_, squared_loss)
        return self

    def predict(self, X: Any) -> Floats:
        """The local mean."""
        check_is_fitted(self)
        return self._shaped(self._average(X, self.targets_))
