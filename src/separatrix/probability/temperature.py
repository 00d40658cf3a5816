"""Temperature scaling: one parameter for the probabilities of all classes.

    p ∝ e^{β s},      β = argmin Σ w [log Σₖ e^{β sₖ} − β Σₖ tₖ sₖ]

1/β is the temperature. The order of the classes in a row never changes, so that the predictions
stay as they were.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from separatrix.optimize.newton import newton
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats, unit_of


@dataclass(frozen=True)
class TemperatureMap:
    """p ∝ e^{β s} with ``inverse_temperature`` β ≥ 0; at zero all classes are equally probable."""

    inverse_temperature: float

    def probabilities(self, scores: Floats) -> Floats:
        """One probability for each class (n x K)."""
        shifted = scores - scores.max(axis=1, keepdims=True)
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
