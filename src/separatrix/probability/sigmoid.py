"""Sigmoid calibration maps: from class means in closed form, or by maximum likelihood (Platt).

    p(s) = 1 / (1 + exp(−γ (s − d₀) − log r))

If the scores of both classes are normal with one variance σ², the sigmoid is exact:
γ = (d̄⁺ − d̄⁻)/σ², d₀ = (d̄⁺ + d̄⁻)/2 with d̄ the class means, and r the ratio of the classes.
Platt scaling maximizes the likelihood instead:

    min over γ ≥ 0, b of  Σ w [log(1 + e^m) − t m],     m = γ z + b,   z the standardized scores

A score grows with its class, and a calibration is a nondecreasing function of it: γ ≥ 0 in both.
This is what keeps out-of-fold scores honest. A row that is left out lacks in its own model: the
proportion and the mean of its class there are lower than elsewhere, so that among scores without
information those of a class run *against* it (all the way, where each row is left out alone). A
negative slope would read the label back.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, logit

from separatrix.messages import InputError
from separatrix.optimize.newton import newton
from separatrix.optimize.solution import Certificate
from separatrix.probability.binary_scores import BinaryScores
from separatrix.probability.loops import sigmoid_newton
from separatrix.rows.block import Floats, unit_of

EPS = float(np.finfo(float).eps)
LARGEST = float(np.finfo(float).max)
#: Derivatives of the likelihood, for a weight of one, at which Platt scaling ends.
TOLERANCE, MAX_ITER = 1e-9, 100


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
    return _unscaled(difference / variance, float(mean.sum() / 2), float(np.log(odds)), unit)


def _unscaled(slope: float, center: float, log_ratio: float, unit: float) -> SigmoidMap:
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
        found = _minimized(problem, start)
        slope, offset = float(found[0]), float(found[1])
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
    return _unscaled(slope, problem.center, offset, unit_of(rows.score)), certificate


def _minimized(problem: PlattProblem, start: Floats) -> Floats:
    """The minimum by a compiled loop, gone on with where its steps do not end at it."""
    found = sigmoid_newton(problem.z, problem.t, problem.w, float(start[1]), TOLERANCE, MAX_ITER)
    if np.abs(problem.gradient(found)).max() <= TOLERANCE * problem.weight:
        return np.asarray(found)
    solution = newton(problem, found, tol=TOLERANCE, gradient_scale=problem.weight)
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
