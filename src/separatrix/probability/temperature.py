"""One number for all classes: how much sharper or flatter their probabilities should be.

    p ∝ e^{β s},      β = argmin Σ w [log Σₖ e^{β sₖ} − β Σₖ tₖ sₖ]

1/β is called the temperature. The order of the classes in a row never changes, so that a model
errs as often as before and only says differently how sure it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from separatrix.optimize.newton import newton
from separatrix.optimize.solution import Certificate
from separatrix.probability.scored import unit_of
from separatrix.rows.block import Floats


@dataclass(frozen=True)
class Temperature:
    """``sharpness`` β ≥ 0; at zero all classes are as probable."""

    sharpness: float

    def probabilities(self, scores: Floats) -> Floats:
        """One probability for each class (n x K)."""
        lead = scores - scores.max(axis=1, keepdims=True)
        return np.asarray(softmax(self.sharpness * lead, axis=1))


@dataclass(frozen=True)
class SharpnessLoss:
    """The negative log likelihood of β with its derivatives; the best score of a row is zero."""

    scores: Floats
    targets: Floats
    w: Floats

    @cached_property
    def weight(self) -> float:
        """Σ w."""
        return float(self.w.sum())

    @cached_property
    def wanted(self) -> Floats:
        """Σₖ tₖ sₖ of every row."""
        return np.asarray(np.sum(self.targets * self.scores, axis=1))

    def lower(self, x: Floats) -> Floats:
        """β may not turn the order of the classes round."""
        return np.zeros_like(x)

    def value(self, x: Floats) -> float:
        """Σ w [log Σₖ e^{β sₖ} − β Σₖ tₖ sₖ]."""
        return float(self.w @ (logsumexp(x[0] * self.scores, axis=1) - x[0] * self.wanted))

    def gradient(self, x: Floats) -> Floats:
        """Σ w [Σₖ pₖ sₖ − Σₖ tₖ sₖ]."""
        p = softmax(x[0] * self.scores, axis=1)
        return np.array([self.w @ (np.sum(p * self.scores, axis=1) - self.wanted)])

    def hessian(self, x: Floats) -> Floats:
        """Σ w · variance of sₖ under p."""
        p = softmax(x[0] * self.scores, axis=1)
        mean = np.sum(p * self.scores, axis=1, keepdims=True)
        return np.array([[self.w @ np.sum(p * (self.scores - mean) ** 2, axis=1)]])


def most_likely_temperature(
    scores: Floats, codes: NDArray[np.int64], w: Floats
) -> tuple[Temperature, Certificate]:
    """The temperature of greatest likelihood, and the proof that the slope vanishes there.

    Targets are (N + 1)/(N + K) for the own class of a row and 1/(N + K) for every other, N being
    the weight of its class: it keeps β finite where the right class always has the best score.
    """
    k = scores.shape[1]
    lead = scores - scores.max(axis=1, keepdims=True)
    unit = unit_of(np.average(lead.min(axis=1), weights=w))
    lead /= unit
    own = np.bincount(codes, w, minlength=k)[codes]
    targets = np.repeat(1.0 / (own + k)[:, None], k, axis=1)
    targets[np.arange(len(codes)), codes] *= own + 1.0
    problem = SharpnessLoss(lead, targets, w)
    at = np.ones(1)
    if lead.any():
        at = newton(problem, at, tol=1e-9, slope_unit=problem.weight).coef[:, 0]
    slope = float(problem.gradient(at)[0]) / problem.weight
    certificate = Certificate(
        "One temperature for all classes: no other has a greater likelihood",
        primal=problem.value(at),
        kkt=abs(slope) if at[0] > 0.0 else max(-slope, 0.0),
        tolerance=1e-7,
        notes=("Targets were smoothed by one row of each class.",),
        promised=("kkt",),
    )
    return Temperature(float(at[0]) / unit), certificate
