"""Calibrations: from classifier scores to probabilities, for a classifier that has none."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.special import expit, logit, logsumexp, softmax
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.estimators import wrapped
from separatrix.estimators.base import codes_of, in_words, label_array
from separatrix.estimators.class_labels import (
    two_or_more,
)
from separatrix.formula import nodes
from separatrix.messages import InputError, check_option
from separatrix.mixins import BaseEstimator
from separatrix.optimize.convex import Certificate
from separatrix.optimize.newton import newton
from separatrix.parameters import declare_parameters
from separatrix.probability.loops import sigmoid_newton
from separatrix.probability.roc import BinaryScores, binary_scores
from separatrix.rows.schema import check_sample_weight, unit_of, unit_weights
from separatrix.selection.folds import fold_router, folds_of, named_folds, route_params
from separatrix.threads import parallel_map


class BinaryCalibration(BaseEstimator):
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


@declare_parameters
class LogisticCalibration(BinaryCalibration):
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

    map_: SigmoidMap = field(init=False)

    _: KW_ONLY
    ratio: float | None = None

    def _learn(self, rows: BinaryScores) -> tuple[SigmoidMap, Certificate]:
        if self.ratio is not None and not 0 < self.ratio < np.inf:
            raise InputError(
                f"ratio={self.ratio!r} is not a ratio of classes.", remedy="Use a positive number."
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


@declare_parameters
class PlattCalibration(BinaryCalibration):
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

    map_: SigmoidMap = field(init=False)

    _: KW_ONLY
    smooth: bool = True

    def _learn(self, rows: BinaryScores) -> tuple[SigmoidMap, Certificate]:
        return fit_platt(rows, smooth=self.smooth)


class IsotonicCalibration(BinaryCalibration):
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


# -------------------------------------------------------------------------------------------------
# Sigmoid calibration maps: from class means in closed form, or by maximum likelihood (Platt).
#
#     p(s) = 1 / (1 + exp(−γ (s − d₀) − log r))
#
# If the scores of both classes are normal with one variance σ², the sigmoid is exact:
# γ = (d̄⁺ − d̄⁻)/σ², d₀ = (d̄⁺ + d̄⁻)/2 with d̄ the class means, and r the ratio of the classes.
# Platt scaling maximizes the likelihood instead:
#
#     min over γ ≥ 0, b of  Σ w [log(1 + e^m) − t m],     m = γ z + b,   z the standardized scores
#
# A score grows with its class, and a calibration is a nondecreasing function of it: γ ≥ 0 in both.
# This is what keeps out-of-fold scores honest. A row that is left out lacks in its own model: the
# proportion and the mean of its class there are lower than elsewhere, so that among scores without
# information those of a class run *against* it (all the way, where each row is left out alone). A
# negative slope would read the label back.


EPS = float(np.finfo(float).eps)
LARGEST = float(np.finfo(float).max)


@dataclass(frozen=True)
class SigmoidMap:
    """1 / (1 + exp(−γ (s − d₀) − log r)): ``slope`` γ, ``center`` d₀, ``log_ratio`` log r."""

    slope: float
    center: float
    log_ratio: float

    def probability(self, score: Floats) -> Floats:
        """The probability of the positive class for every score."""
        return np.asarray(expit(self.log_odds(score)))

    def log_odds(self, score: Floats) -> Floats:
        """γ (s − d₀) + log r for every score."""
        with np.errstate(over="ignore"):
            return np.asarray(self.slope * (score - self.center) + self.log_ratio)

    def odds(self, score: nodes.Node) -> nodes.Affine:
        """The formula of the log odds."""
        center, slope = np.array([float(self.center)]), np.array([[float(self.slope)]])
        return nodes.Affine(score, slope, float(self.log_ratio), center)

    def formula(self, score: nodes.Node) -> nodes.Node:
        """The probability of the positive class."""
        return nodes.Elementwise(self.odds(score), "sigmoid")


def fit_class_means(rows: BinaryScores, ratio: float | None = None) -> SigmoidMap:
    """The sigmoid of two normal classes with equal variance, in closed form; γ is at least 0.

    σ² is the pooled variance about the class means (1/N). Scores that do not vary within the
    classes give a step function: σ is then taken as the size of a rounding error.
    """
    unit = unit_of(rows.score)
    mean, square, weight = np.zeros(2), np.zeros(2), np.zeros(2)
    for k, positive in enumerate((False, True)):
        s, w = rows.of_class(positive)
        s = s / unit
        weight[k] = s.size if w is None else w.sum()
        mean[k] = s.mean() if w is None else w @ s / weight[k]
        deviation = s - mean[k]
        square[k] = deviation @ deviation if w is None else w @ (deviation * deviation)
    difference = max(mean[1] - mean[0], 0.0)
    rounding = EPS * np.abs(mean).max()
    variance = max(square.sum() / weight.sum(), rounding**2, float(np.finfo(float).tiny))
    odds = weight[1] / weight[0] if ratio is None else ratio
    return _undo_scaling(difference / variance, float(mean.sum() / 2), float(np.log(odds)), unit)


def _undo_scaling(slope: float, center: float, log_ratio: float, unit: float) -> SigmoidMap:
    """The sigmoid of the scores themselves, from one fitted to scores divided by ``unit``."""
    with np.errstate(over="ignore"):
        steep = np.clip(np.float64(slope) / unit, -LARGEST, LARGEST)
    return SigmoidMap(float(steep), center * unit, log_ratio)


def fit_platt(rows: BinaryScores, *, smooth: bool = True) -> tuple[SigmoidMap, Certificate]:
    """The maximum likelihood sigmoid (Platt scaling), by Newton's method in two variables; γ ≥ 0.

    ``smooth`` replaces the targets 1 and 0 by (N⁺+1)/(N⁺+2) and 1/(N⁻+2), which keeps the sigmoid
    finite where a threshold separates the classes.
    """
    if not smooth:
        _refuse_separated(rows)
    problem = _problem(rows, smooth)
    start = np.array([0.0, logit(problem.w @ problem.t / problem.weight)])
    if problem.unit == 0.0:  # all scores are equal: only the class ratio can be estimated
        slope, offset = 0.0, float(start[1])
    else:
        calibration = _minimize(problem, start)
        slope, offset = float(calibration[0]), float(calibration[1])
    notes: tuple[str, ...] = ()
    if smooth:
        notes += ("Targets are smoothed by one row of each class.",)
    if slope < 0.0:  # the objective is convex: its least value at γ ≥ 0 is at γ = 0
        slope, offset = 0.0, float(start[1])
        notes += ("Scores run against the classes: the slope is 0, and all probabilities equal.",)
    at = np.array([slope, offset])
    derivatives = problem.gradient(at) / problem.weight
    if slope == 0.0:  # at the bound it may grow inward
        derivatives[0] = min(derivatives[0], 0.0)
    certificate = Certificate(
        "Platt scaling: the sigmoid of maximum likelihood",
        primal=problem.value(at),
        kkt=float(np.abs(derivatives).max()),
        tolerance=1e-7,
        notes=notes,
        promised=("kkt",),
    )
    slope /= problem.unit or 1.0
    return _undo_scaling(slope, problem.center, offset, unit_of(rows.score)), certificate


def _minimize(problem: PlattProblem, start: Floats) -> Floats:
    """The minimum by a compiled loop, gone on with where its steps do not end at it."""
    # Derivatives of the likelihood, for a weight of one, at which Platt scaling ends.
    tolerance = 1e-9
    vector = sigmoid_newton(problem.z, problem.t, problem.w, float(start[1]), tolerance, 100)
    if np.abs(problem.gradient(vector)).max() <= tolerance * problem.weight:
        return np.asarray(vector)
    solution = newton(problem, vector, tol=tolerance, gradient_scale=problem.weight)
    return np.asarray(solution.coef[:, 0])


@dataclass(frozen=True)
class PlattProblem:
    """Negative log-likelihood of (γ, b) with gradient and Hessian; z = (score − center) / unit."""

    z: Floats
    t: Floats
    w: Floats
    center: float
    unit: float

    @cached_property
    def weight(self) -> float:
        """Σ w."""
        return float(self.w.sum())

    def value(self, x: Floats) -> float:
        """Σ w [log(1 + e^m) − t m]."""
        m = x[0] * self.z + x[1]
        return float(self.w @ (np.logaddexp(0.0, m) - self.t * m))

    def gradient(self, x: Floats) -> Floats:
        """Σ w (p − t) (z, 1)."""
        r = self.w * (expit(x[0] * self.z + x[1]) - self.t)
        return np.array([r @ self.z, r.sum()])

    def hessian(self, x: Floats) -> Floats:
        """Σ w p (1 − p) (z, 1)(z, 1)ᵀ."""
        m = x[0] * self.z + x[1]
        c = self.w * expit(m) * expit(-m)
        cz = c * self.z
        cross = cz.sum()
        return np.array([[cz @ self.z, cross], [cross, c.sum()]])


def _problem(rows: BinaryScores, smooth: bool) -> PlattProblem:
    w, is_positive = rows.weights, rows.is_positive
    weight = w.sum()
    score = rows.score / unit_of(rows.score)
    center = float(w @ score / weight)
    deviation = score - center
    unit = float(np.sqrt(w @ (deviation * deviation) / weight))
    if unit <= 4 * EPS * abs(center):
        unit = 0.0
    positive = float(w[is_positive].sum())
    prior = 1.0 if smooth else 0.0
    high = (positive + prior) / (positive + 2 * prior)
    low = prior / (weight - positive + 2 * prior)
    z = deviation / unit if unit else np.zeros_like(deviation)
    return PlattProblem(z, np.where(is_positive, high, low), w, center, unit)


def _refuse_separated(rows: BinaryScores) -> None:
    pos, neg = rows.score[rows.is_positive], rows.score[~rows.is_positive]
    constant = pos.min() == pos.max() == neg.min() == neg.max()
    if not constant and (pos.min() >= neg.max() or neg.min() >= pos.max()):
        raise InputError(
            "A threshold separates the classes: the maximum likelihood estimate does not exist.",
            remedy="Use smooth=True, or LogisticCalibration.",
        )


# -------------------------------------------------------------------------------------------------
# Isotonic regression of the class on the score, by the ROC convex hull.
#
#     p = Δ positives / (Δ positives + Δ negatives)     along an edge of the hull
#
# Each edge of the hull is a constant piece of the nondecreasing function of least squared error,
# which is also that of maximum likelihood: the solution of pooling adjacent violators. Between the
# pieces probabilities are interpolated linearly.


_NONE = np.empty(0)


@dataclass(frozen=True)
class IsotonicMap:
    """Piecewise constant: ``value`` from score ``low`` to score ``high``, both increasing."""

    low: Floats
    high: Floats
    value: Floats

    def probability(self, score: Floats) -> Floats:
        """The probability of the positive class; constant beyond the first and last piece."""
        ends = np.stack([self.low, self.high], axis=1).ravel()
        return np.asarray(np.interp(score, ends, np.repeat(self.value, 2)))

    def formula(self, score: nodes.Node) -> nodes.Node:
        """The probability of the positive class."""
        return nodes.Piecewise(score, self.low, self.high, self.value)


def fit_isotonic(rows: BinaryScores) -> tuple[IsotonicMap, Certificate]:
    """The isotonic map from the ROC convex hull."""
    from separatrix.probability.loops import hull_edges, isotonic_violation

    if rows.w is not None:
        rows = replace(rows, w=rows.w / unit_of(rows.w))
    classes = (rows.of_class(True), rows.of_class(False))
    many = rows.score.size >= 50_000  # rows from which the two classes are sorted on two threads
    pos, neg = parallel_map(_sort_scores, classes) if many else map(_sort_scores, classes)
    low, high, up, right = hull_edges(*pos, *neg)
    fitted = IsotonicMap(low, high, up / (up + right))
    certificate = Certificate(
        "Isotonic regression: no nondecreasing function of the score has a smaller squared error "
        "or a higher likelihood",
        kkt=isotonic_violation(*pos, *neg, fitted.high, fitted.value),
        tolerance=1e-9,
        notes=(f"{len(low)} constant pieces.",),
        promised=("kkt",),
    )
    return fitted, certificate


def _sort_scores(scores: tuple[Floats, Floats | None]) -> tuple[Floats, Floats]:
    """Sorted scores with their weights; a plain sort takes half the time of an argsort."""
    score, w = scores
    if w is None:
        return np.sort(score), _NONE
    order = np.argsort(score, kind="stable")
    return score[order], w[order]


# -------------------------------------------------------------------------------------------------
# Temperature scaling: one parameter for the probabilities of all classes.
#
#     p ∝ e^{β s},      β = argmin Σ w [log Σₖ e^{β sₖ} − β Σₖ tₖ sₖ]
#
# 1/β is the temperature. The order of the classes in a row never changes, so that the predictions
# stay as they were.


@dataclass(frozen=True)
class TemperatureMap:
    """p ∝ e^{β s} with ``inverse_temperature`` β ≥ 0; at zero all classes are equally probable."""

    inverse_temperature: float

    def probabilities(self, scores: Floats) -> Floats:
        """One probability for each class (n x K)."""
        with np.errstate(over="ignore"):
            shifted = scores - scores.max(axis=1, keepdims=True)
        shifted = np.maximum(shifted, -np.finfo(float).max)  # zero times infinity is not a number
        return np.asarray(softmax(self.inverse_temperature * shifted, axis=1))


@dataclass(frozen=True)
class TemperatureProblem:
    """Negative log-likelihood of β with its derivatives; the largest score of a row is zero."""

    scores: Floats
    targets: Floats
    w: Floats

    @cached_property
    def weight(self) -> float:
        """Σ w."""
        return float(self.w.sum())

    @cached_property
    def target_scores(self) -> Floats:
        """Σₖ tₖ sₖ of every row."""
        return np.asarray(np.sum(self.targets * self.scores, axis=1))

    def lower(self, x: Floats) -> Floats:
        """β ≥ 0: the order of the classes is preserved."""
        return np.zeros_like(x)

    def value(self, x: Floats) -> float:
        """Σ w [log Σₖ e^{β sₖ} − β Σₖ tₖ sₖ]."""
        return float(self.w @ (logsumexp(x[0] * self.scores, axis=1) - x[0] * self.target_scores))

    def gradient(self, x: Floats) -> Floats:
        """Σ w [Σₖ pₖ sₖ − Σₖ tₖ sₖ]."""
        p = softmax(x[0] * self.scores, axis=1)
        return np.array([self.w @ (np.sum(p * self.scores, axis=1) - self.target_scores)])

    def hessian(self, x: Floats) -> Floats:
        """Σ w · variance of sₖ under p."""
        p = softmax(x[0] * self.scores, axis=1)
        mean = np.sum(p * self.scores, axis=1, keepdims=True)
        return np.array([[self.w @ np.sum(p * (self.scores - mean) ** 2, axis=1)]])


def fit_temperature(
    scores: Floats, codes: NDArray[np.int64], w: Floats
) -> tuple[TemperatureMap, Certificate]:
    """The maximum likelihood temperature.

    Targets are (N + 1)/(N + K) for the true class of a row and 1/(N + K) for every other, N being
    the weight of its class, which keeps β finite where the true class always has the best score.
    """
    k = scores.shape[1]
    shifted = scores - scores.max(axis=1, keepdims=True)
    unit = unit_of(np.average(shifted.min(axis=1), weights=w))
    shifted /= unit
    class_weight = np.bincount(codes, w, minlength=k)[codes]
    targets = np.repeat(1.0 / (class_weight + k)[:, None], k, axis=1)
    targets[np.arange(len(codes)), codes] *= class_weight + 1.0
    problem = TemperatureProblem(shifted, targets, w)
    at = np.ones(1)
    if shifted.any():
        at = newton(problem, at, tol=1e-9, gradient_scale=problem.weight).coef[:, 0]
    gradient = float(problem.gradient(at)[0]) / problem.weight
    certificate = Certificate(
        "Temperature scaling: the temperature of maximum likelihood",
        primal=problem.value(at),
        kkt=abs(gradient) if at[0] > 0.0 else max(-gradient, 0.0),
        tolerance=1e-7,
        notes=("Targets are smoothed by one row of each class.",),
        promised=("kkt",),
    )
    return TemperatureMap(float(at[0]) / unit), certificate


# -------------------------------------------------------------------------------------------------
# Calibrated probabilities for any classifier, from out-of-fold scores.


_METHODS: dict[str, type[BinaryCalibration]] = {
    "logistic": LogisticCalibration,
    "isotonic": IsotonicCalibration,
    "platt": PlattCalibration,
}
#: The method with one parameter for all classes.
JOINT = "temperature"


@declare_parameters
class CalibratedClassifier(wrapped.WrappedClassifier):
    """Classifier with calibrated probabilities: p = calibration(score).

    Every fold is scored by a copy of the estimator fitted to the other folds; one calibration is
    fitted to all these out-of-fold scores, and applied to the estimator fitted to all rows. Two
    classes need one calibration. With K classes each is calibrated against the rest and the
    probabilities are normalized to sum to one (1/K where all of them are zero). Temperature scaling
    has one parameter for all classes and changes no prediction.

    Parameters
    ----------
    estimator : classifier
        A classifier with ``decision_function`` or ``predict_proba``.
    method : {"logistic", "isotonic", "platt", "temperature"}, default="logistic"
        The calibration.
    cv : int, splitter or iterable of (train, test), default=5

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    estimator_ : classifier
        The estimator, fitted to all rows.
    calibrations_ : list of calibrations
        One for two classes or a temperature, otherwise one for each class.
    certificate_ : Certificate
        The worst of those of the estimator and the calibrations.

    See Also
    --------
    LogisticCalibration : The default method.
    RejectOption : Decisions at least expected cost from the probabilities.
    reliability : Whether probabilities are calibrated.

    References
    ----------
    A. Niculescu-Mizil and R. Caruana, Predicting good probabilities with supervised learning,
    ICML, 2005.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0]], [0, 0, 0, 1, 0, 1, 1, 1]
    >>> model = sx.CalibratedClassifier(sx.LinearSVC(), cv=4).fit(X, y)
    >>> model.predict_proba([[0.0], [7.0]])[:, 1].round(1)
    array([0.1, 0.9])
    """

    calibrations_: list[Any] = field(init=False)

    estimator: Any
    _: KW_ONLY
    method: str = "logistic"
    cv: Any = 5

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`.

        ``params`` such as ``groups`` go to the splitter by scikit-learn's metadata routing.
        """
        check_option("method", self.method, (*_METHODS, JOINT))
        cv = named_folds(self.cv, X, y, route_params(self, params, None)["split"])
        rows = wrapped.labeled_rows(self, X, y, sample_weight)
        two_or_more(np.unique(rows.y[rows.positive_weight]).tolist())
        with wrapped.warn_once():
            self._expose(wrapped.fit_wrapped(self.estimator, rows))
            scores, codes, w = self._out_of_fold(rows, cv)
        return self.from_fitted(self.estimator_, scores, codes, w)

    def get_metadata_routing(self) -> Any:
        """Which arguments of ``fit`` go to the splitter."""
        return fold_router(self)

    def from_fitted(self, model: Any, scores: Floats, codes: Ints, w: Floats | None = None) -> Self:
        """Calibrate a classifier that is fitted already on out-of-fold scores.

        ``codes`` are the positions of their classes in ``model.classes_``.
        """
        check_option("method", self.method, (*_METHODS, JOINT))
        self._expose(model)
        if self.method == JOINT:
            joint = TemperatureCalibration().fit(wrapped.joint_scores(model, scores), codes, w)
            self.calibrations_ = [joint]
        else:
            self.calibrations_ = learn_maps(self.method, scores, codes, len(self.classes_), w)
        self.certificate_ = wrapped.joint_certificate(
            f"Calibrated ({self.method}) on {len(codes)} out-of-fold scores",
            [*self.calibrations_, self.estimator_],
        )
        return self

    def _out_of_fold(
        self, rows: wrapped.LabeledRows, cv: Any
    ) -> tuple[Floats, Ints, Floats | None]:
        """Scores of each fold by a model fitted to the others, class codes and weights."""
        weighted, codes = rows.positive_weight, codes_of(rows.y, self.classes_)
        if cv is None or isinstance(cv, int | np.integer):
            _require_two_of_each(codes[weighted], self.classes_)
        train_codes, copied = codes[weighted], lambda: rows.copies(weighted)
        folds = folds_of(cv, len(codes), rows=weighted, codes=train_codes, copied=copied)
        scores = folds.map(
            lambda train, test: self._test_scores(rows, weighted[train], weighted[test])
        )
        tests = weighted[np.concatenate([test for _, test in folds.pairs])]
        return np.concatenate(scores), codes[tests], None if rows.w is None else rows.w[tests]

    def _test_scores(self, rows: wrapped.LabeledRows, train: Ints, test: Ints) -> Floats:
        """Scores of the test rows of a fold by the estimator fitted to its training rows."""
        train_rows, test_rows = rows.split(self.estimator, train, test)
        model = wrapped.fit_wrapped(self.estimator, train_rows)
        if len(model.classes_) != len(self.classes_):
            known = set(model.classes_.tolist())
            absent = next(c for c in self.classes_.tolist() if c not in known)
            raise InputError(
                f"Class {absent!r} is absent from the training rows of a fold.",
                remedy="Choose folds that contain every class, or give cv as a number.",
            )
        return wrapped.decision_scores(model, test_rows.x)

    def predict_proba(self, X: Any) -> Floats:
        """One probability for each class in ``classes_``; rows sum to one."""
        check_is_fitted(self)
        scores = wrapped.decision_scores(self.estimator_, X)
        first = self.calibrations_[0]
        if isinstance(first, TemperatureCalibration):
            return first.predict(wrapped.joint_scores(self.estimator_, scores))
        return calibrate(self.calibrations_, scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        chosen = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def formula(self) -> nodes.ClassFormula:
        """A classifier's scores through its calibration."""
        inner, labels = nodes.class_formula_of(self.estimator_), self.classes_
        scores, first = nodes.decision_scores(inner), self.calibrations_[0]
        if not isinstance(first, TemperatureCalibration):
            maps = [one.map_ for one in self.calibrations_]
            return nodes.by_probability(nodes.calibrate_scores(maps, scores, labels), labels)
        if len(labels) > 2 and inner.probabilities is not None:
            scores = nodes.Elementwise(scores, "log_sigmoid")
        factor = float(first.map_.inverse_temperature) * np.eye(
            1 if len(labels) == 2 else len(labels)
        )
        return nodes.by_probability(
            nodes.probabilities(nodes.Affine(scores, factor), labels), labels
        )


def learn_maps(
    method: str, scores: Floats, codes: Ints, classes: int, w: Floats | None = None
) -> list[BinaryCalibration]:
    """One calibration for two classes, else one of each class against the rest."""
    targets = [1] if classes == 2 else range(classes)
    columns = scores[:, None] if scores.ndim == 1 else scores
    return [_METHODS[method]().fit(columns[:, j], codes == k, w) for j, k in enumerate(targets)]


def calibrate(maps: Sequence[BinaryCalibration], scores: Floats) -> Floats:
    """Class probabilities from scores (n, or n x K)."""
    if scores.ndim == 1:
        p = maps[0].predict(scores)
        return np.stack([1.0 - p, p], axis=1)
    return normalize(np.stack([c.predict(s) for c, s in zip(maps, scores.T, strict=True)], 1))


def normalize(p: Floats) -> Floats:
    """Rows of ``p`` divided by their sums; 1/K where all K entries are zero."""
    total = p.sum(axis=1, keepdims=True)
    return np.where(total > 0, p / np.where(total > 0, total, 1.0), 1.0 / p.shape[1])


def _require_two_of_each(codes: Ints, classes: NDArray[Any]) -> None:
    sizes = np.bincount(codes, minlength=len(classes))
    if sizes.min() < 2:
        raise InputError(
            f"Class {classes.tolist()[sizes.argmin()]!r} has one row: a fold that holds it "
            "leaves none to train on.",
            remedy="Give at least two rows of each class.",
        )
