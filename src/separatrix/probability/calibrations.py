"""Calibrations: from scores of two classes to the probability of the positive one."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate
from separatrix.probability.isotonic import Plateaus, hull_plateaus
from separatrix.probability.platt import most_likely_sigmoid
from separatrix.probability.scored import Scored, checked_weights, scored
from separatrix.probability.sigmoid import Sigmoid, class_mean_sigmoid
from separatrix.probability.temperature import Temperature, most_likely_temperature
from separatrix.rows.block import Floats, unit_weights


class Calibration(BaseEstimator):
    """``fit(scores, y)`` learns, ``predict(scores)`` gives probabilities of ``classes_[1]``."""

    classes_: NDArray[Any]
    map_: Sigmoid | Plateaus
    certificate_: Certificate

    def fit(self, scores: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from one score and one label per row; two classes."""
        rows = scored("A calibration", y, _vector(scores), sample_weight)
        self.classes_, self.n_features_in_ = rows.classes, 1
        self.map_, self.certificate_ = self._learn(rows)
        return self

    @abstractmethod
    def _learn(self, rows: Scored) -> tuple[Sigmoid | Plateaus, Certificate]:
        """The map from scores to probabilities, and the evidence for it."""

    def predict(self, scores: Any) -> Floats:
        """The probability of ``classes_[1]`` for every score."""
        check_is_fitted(self)
        s = _vector(scores)
        if np.isnan(s).any():
            row = int(np.flatnonzero(np.isnan(s))[0])
            raise InputError("The score is not a number.", row=row)
        return self.map_.probability(s)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags


class LogisticCalibration(Calibration):
    """p = 1 / (1 + exp(−γ(d − d₀)) / r): the sigmoid of the class means, in closed form.

    γ = (d̄⁺ − d̄⁻)/σ² and d₀ = (d̄⁺ + d̄⁻)/2 for mean distances d̄ and variance σ² about them; exact
    where distances are normal with one variance. For the basic linear classifier
    γ = ‖μ⁺ − μ⁻‖/σ² and d₀ = 0.

    Parameters
    ----------
    ratio : float or None, default=None
        r, positives for each negative where the probabilities will be used; None counts the
        training rows. 1 gives likelihood ratios.

    Attributes
    ----------
    slope_, centre_ : γ and d₀.
    """

    def __init__(self, *, ratio: float | None = None) -> None:
        self.ratio = ratio

    def _learn(self, rows: Scored) -> tuple[Sigmoid, Certificate]:
        if self.ratio is not None and not 0 < self.ratio < np.inf:
            raise InputError(
                f"ratio={self.ratio!r} is no ratio of classes.", remedy="Use a positive number."
            )
        return class_mean_sigmoid(rows, self.ratio), Certificate(
            "Sigmoid of the class means: closed form, exact for normal scores of equal variance",
            promised=(),
        )

    @property
    def slope_(self) -> float:
        """γ."""
        assert isinstance(self.map_, Sigmoid)
        return self.map_.slope

    @property
    def centre_(self) -> float:
        """d₀, where both classes are as likely if they are as frequent."""
        assert isinstance(self.map_, Sigmoid)
        return self.map_.centre


class PlattCalibration(Calibration):
    """max over γ, b of the likelihood of p = 1 / (1 + exp(−γ s − b)).

    Parameters
    ----------
    smooth : bool, default=True
        Aim at (N⁺+1)/(N⁺+2) and 1/(N⁻+2) instead of 1 and 0, which keeps the sigmoid finite where
        a threshold separates the classes.
    """

    def __init__(self, *, smooth: bool = True) -> None:
        self.smooth = smooth

    def _learn(self, rows: Scored) -> tuple[Sigmoid, Certificate]:
        return most_likely_sigmoid(rows, smooth=self.smooth)


class IsotonicCalibration(Calibration):
    """The nondecreasing function of least squared error: the slopes of the ROC convex hull.

    Attributes
    ----------
    map_ : plateaus with ``low``, ``high`` and ``value``; straight lines join them.
    """

    def _learn(self, rows: Scored) -> tuple[Plateaus, Certificate]:
        return hull_plateaus(rows)


class TemperatureCalibration(BaseEstimator):
    """p ∝ e^{β s} over the scores s of all classes: one number, which changes no answer.

    ``fit(scores, y)`` learns β from a score for every class (n x K), such as the logarithms of
    probabilities; ``predict(scores)`` gives as many probabilities.

    Attributes
    ----------
    map_ : with ``sharpness`` β; 1/β is called the temperature.
    """

    classes_: NDArray[Any]
    map_: Temperature
    certificate_: Certificate

    def fit(self, scores: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the scores of every class (n x K) and one label per row."""
        s, truth = _table(scores), np.asarray(y)
        w = checked_weights(sample_weight, len(s))
        w = unit_weights(w, len(s))
        if truth.shape != (len(s),):
            raise InputError(f"y has shape {truth.shape}, and scores {s.shape}: one label per row.")
        self.classes_, codes = np.unique(truth[w > 0], return_inverse=True)
        if len(self.classes_) != s.shape[1]:
            raise InputError(
                f"scores has {s.shape[1]} columns, and y has {len(self.classes_)} classes.",
                remedy="Give one column for each class, in the order of the sorted classes.",
            )
        self.n_features_in_ = s.shape[1]
        self.map_, self.certificate_ = most_likely_temperature(s[w > 0], codes, w[w > 0])
        return self

    def predict(self, scores: Any) -> Floats:
        """One probability for each class (n x K)."""
        check_is_fitted(self)
        return self.map_.probabilities(_table(scores))


def _table(scores: Any) -> Floats:
    s = np.asarray(scores, dtype=float)
    if s.ndim != 2 or s.shape[1] < 2:
        raise InputError(f"scores has shape {s.shape}: a column for each class is needed.")
    if not np.isfinite(s).all():
        row = int(np.flatnonzero(~np.isfinite(s).all(axis=1))[0])
        raise InputError("A score is not a finite number.", row=row)
    return s


def _vector(scores: Any) -> Floats:
    s = np.asarray(scores, dtype=float)
    if s.ndim == 2 and s.shape[1] == 1:
        s = s[:, 0]
    if s.ndim != 1:
        raise InputError(f"scores has shape {s.shape}: one score per row is needed.")
    return s
