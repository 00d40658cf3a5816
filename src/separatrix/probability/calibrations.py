"""Calibrations: from classifier scores to probabilities."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.base import in_words
from separatrix.estimators.targets import label_array
from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate
from separatrix.probability.binary_scores import BinaryScores, binary_scores
from separatrix.probability.isotonic import IsotonicMap, fit_isotonic
from separatrix.probability.sigmoid import SigmoidMap, fit_class_means, fit_platt
from separatrix.probability.temperature import TemperatureMap, fit_temperature
from separatrix.rows.block import Floats, check_sample_weight, unit_weights


class Calibration(BaseEstimator):
    """Calibration of two classes: ``predict(scores)`` gives probabilities of ``classes_[1]``."""

    classes_: NDArray[Any]
    map_: SigmoidMap | IsotonicMap
    certificate_: Certificate

    def fit(self, scores: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to one score and one label of two classes for each row."""
        rows = binary_scores("A calibration", y, _vector(scores), sample_weight)
        self.classes_, self.n_features_in_ = rows.classes, 1
        self.map_, self.certificate_ = self._learn(rows)
        return self

    @abstractmethod
    def _learn(self, rows: BinaryScores) -> tuple[SigmoidMap | IsotonicMap, Certificate]:
        """The map from scores to probabilities, and its certificate."""

    def predict(self, scores: Any) -> Floats:
        """The probability of ``classes_[1]`` for every score."""
        check_is_fitted(self)
        s = _vector(scores)
        if np.isnan(s).any():
            row = int(np.flatnonzero(np.isnan(s))[0])
            raise InputError("The score is not a number.", row=row + 1)
        return self.map_.probability(s)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags


class LogisticCalibration(Calibration):
    """Logistic calibration from the class means of the scores, in closed form.

        p = 1 / (1 + exp(−γ(d − d₀)) / r),   γ = max(d̄⁺ − d̄⁻, 0)/σ²,   d₀ = (d̄⁺ + d̄⁻)/2

    d̄ are the class means of the signed distances and σ² the variance about them; exact where the
    distances are normal with equal variance. Scores that run against the classes say nothing: all
    probabilities are then equal. For the basic linear classifier γ = ‖μ⁺ − μ⁻‖/σ² and
    d₀ = 0.

    Parameters
    ----------
    ratio : float or None, default=None
        r, positives for each negative where the probabilities will be used; None counts the
        training rows. 1 gives likelihood ratios.

    Attributes
    ----------
    slope_ : float
        γ.
    center_ : float
        d₀.
    classes_ : ndarray of shape (2,)
        The class labels; probabilities are those of the second.
    certificate_ : Certificate
        States that this is a closed form.

    See Also
    --------
    PlattCalibration : The same curve by maximum likelihood.
    IsotonicCalibration : Any nondecreasing curve.
    CalibratedClassifier : Calibrates a classifier on out-of-fold scores.

    References
    ----------
    P. Flach, Machine Learning: The Art and Science of Algorithms that Make Sense of Data,
    Cambridge University Press, 2012.

    Examples
    --------
    >>> import separatrix as sx
    >>> model = sx.LogisticCalibration().fit([-2.0, -1.0, 1.0, 2.0], [0, 0, 1, 1])
    >>> float(model.slope_), float(model.center_)
    (12.0, 0.0)
    >>> model.predict([-0.1, 0.0, 0.1]).round(2)
    array([0.23, 0.5 , 0.77])
    """

    map_: SigmoidMap

    def __init__(self, *, ratio: float | None = None) -> None:
        self.ratio = ratio

    def _learn(self, rows: BinaryScores) -> tuple[SigmoidMap, Certificate]:
        if self.ratio is not None and not 0 < self.ratio < np.inf:
            raise InputError(
                f"ratio={self.ratio!r} is no ratio of classes.", remedy="Use a positive number."
            )
        return fit_class_means(rows, self.ratio), Certificate(
            "Sigmoid of the class means: closed form, exact for normal scores of equal variance",
            promised=(),
        )

    @property
    def slope_(self) -> float:
        """γ."""
        return self.map_.slope

    @property
    def center_(self) -> float:
        """d₀, where the likelihood ratio is one."""
        return self.map_.center


class PlattCalibration(Calibration):
    """Platt scaling: the sigmoid of maximum likelihood.

        max over γ ≥ 0, b of the likelihood of p = 1 / (1 + exp(−γ s − b))

    Like every calibration it is nondecreasing in the score: scores that run against the classes,
    as those of rows left out of pure noise do, give equal probabilities.

    Parameters
    ----------
    smooth : bool, default=True
        Use the targets (N⁺+1)/(N⁺+2) and 1/(N⁻+2) instead of 1 and 0, which keeps the sigmoid
        finite where a threshold separates the classes.

    Attributes
    ----------
    map_ : SigmoidMap
        ``slope``, ``center`` and ``log_ratio``.
    classes_ : ndarray of shape (2,)
        The class labels; probabilities are those of the second.
    certificate_ : Certificate
        The gradient of the likelihood at the solution.

    See Also
    --------
    LogisticCalibration : The sigmoid of the class means, in closed form.
    IsotonicCalibration : Any nondecreasing curve.
    TemperatureCalibration : One parameter for all classes.

    References
    ----------
    - J. Platt, Probabilistic outputs for support vector machines, 1999.
    - H.-T. Lin, C.-J. Lin and R. C. Weng, A note on Platt's probabilistic outputs for support
      vector machines, 2007.

    Examples
    --------
    >>> import separatrix as sx
    >>> model = sx.PlattCalibration().fit([-2.0, -1.0, 1.0, 2.0], [0, 1, 0, 1])
    >>> model.predict([-2.0, 0.0, 2.0]).round(2)
    array([0.4, 0.5, 0.6])
    """

    map_: SigmoidMap

    def __init__(self, *, smooth: bool = True) -> None:
        self.smooth = smooth

    def _learn(self, rows: BinaryScores) -> tuple[SigmoidMap, Certificate]:
        return fit_platt(rows, smooth=self.smooth)


class IsotonicCalibration(Calibration):
    """Isotonic calibration: the nondecreasing function of the score with least squared error.

        min over nondecreasing p of Σ w (p(s) − y)²: the slopes of the ROC convex hull

    Attributes
    ----------
    map_ : IsotonicMap
        Constant pieces with ``low``, ``high`` and ``value``, interpolated linearly in between.
    classes_ : ndarray of shape (2,)
        The class labels; probabilities are those of the second.
    certificate_ : Certificate
        The largest violation of the optimality conditions.

    See Also
    --------
    PlattCalibration : A sigmoid by maximum likelihood.
    roc_curve : The ROC curve, its convex hull and areas.

    References
    ----------
    - B. Zadrozny and C. Elkan, Transforming classifier scores into accurate multiclass probability
      estimates, KDD, 2002.
    - T. Fawcett and A. Niculescu-Mizil, PAV and the ROC convex hull, Machine Learning 68, 2007.

    Examples
    --------
    >>> import separatrix as sx
    >>> model = sx.IsotonicCalibration().fit([1.0, 2.0, 3.0, 4.0], [0, 1, 0, 1])
    >>> model.predict([1.0, 2.5, 4.0]).round(2)
    array([0. , 0.5, 1. ])
    """

    def _learn(self, rows: BinaryScores) -> tuple[IsotonicMap, Certificate]:
        return fit_isotonic(rows)


class TemperatureCalibration(BaseEstimator):
    """Temperature scaling: one parameter for all classes, which changes no prediction.

        p ∝ e^{β s} over the scores s of all classes

    ``fit(scores, y)`` takes a score for every class (n x K), such as log probabilities;
    ``predict(scores)`` gives as many probabilities.

    Attributes
    ----------
    map_ : TemperatureMap
        ``inverse_temperature`` β; 1/β is the temperature.
    classes_ : ndarray of shape (K,)
        The class labels, in the order of the columns.
    certificate_ : Certificate
        The gradient of the likelihood at the solution.

    See Also
    --------
    PlattCalibration : A sigmoid for two classes.
    CalibratedClassifier : Calibrates a classifier on out-of-fold scores.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger, On calibration of modern neural networks, 2017.

    Examples
    --------
    >>> import separatrix as sx
    >>> scores = [[4.0, 0.0], [3.0, 0.0], [0.0, 3.0], [3.0, 0.0]]
    >>> model = sx.TemperatureCalibration().fit(scores, [0, 0, 1, 1])
    >>> model.predict([[4.0, 0.0]]).round(2)
    array([[0.66, 0.34]])
    """

    classes_: NDArray[Any]
    map_: TemperatureMap
    certificate_: Certificate

    def fit(self, scores: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to the scores of every class (n x K) and one label for each row."""
        s, truth = _table(scores), label_array(y)
        w = unit_weights(check_sample_weight(sample_weight, len(s), any_size=True), len(s))
        if truth.shape != (len(s),):
            raise InputError(f"y has shape {truth.shape}, and scores {s.shape}: one label per row.")
        self.classes_, codes = np.unique(truth[w > 0], return_inverse=True)
        if len(self.classes_) != s.shape[1]:
            raise InputError(
                f"scores has {s.shape[1]} columns, and y has {len(self.classes_)} classes.",
                remedy="Give one column for each class, in the order of the sorted classes.",
            )
        self.n_features_in_ = s.shape[1]
        self.map_, self.certificate_ = fit_temperature(s[w > 0], codes, w[w > 0])
        return self

    def predict(self, scores: Any) -> Floats:
        """One probability for each class (n x K)."""
        check_is_fitted(self)
        return self.map_.probabilities(_table(scores))


def _table(scores: Any) -> Floats:
    with in_words(scores=scores):
        s = np.asarray(scores, dtype=float)
    if s.ndim != 2 or s.shape[1] < 2:
        raise InputError(f"scores has shape {s.shape}: a column for each class is needed.")
    if not np.isfinite(s).all():
        row = int(np.flatnonzero(~np.isfinite(s).all(axis=1))[0])
        raise InputError("A score is not a finite number.", row=row + 1)
    return s


def _vector(scores: Any) -> Floats:
    with in_words(scores=scores):
        s = np.asarray(scores, dtype=float)
    if s.ndim == 2 and s.shape[1] == 1:
        s = s[:, 0]
    if s.ndim != 1:
        raise InputError(f"scores has shape {s.shape}: one score per row is needed.")
    return s
