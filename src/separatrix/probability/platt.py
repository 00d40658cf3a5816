"""The sigmoid of greatest likelihood (Platt's scaling), by Newton's method in two variables.

min over γ, b of  Σ w [log(1 + e^m) − t m],     m = γ z + b,   z the scores in standard units
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, logit

from separatrix.messages import InputError
from separatrix.optimize.newton import newton
from separatrix.optimize.solution import Certificate
from separatrix.probability.scored import Scored, unit_of
from separatrix.probability.sigmoid import EPS, Sigmoid, sigmoid_of
from separatrix.rows.block import Floats


def most_likely_sigmoid(rows: Scored, *, smooth: bool = True) -> tuple[Sigmoid, Certificate]:
    """The sigmoid, and the proof that its slope vanishes.

    ``smooth`` moves the targets from 1 and 0 to (N⁺+1)/(N⁺+2) and 1/(N⁻+2): what one more row of
    either class would leave room for. It keeps the sigmoid finite where a threshold separates the
    classes.
    """
    if not smooth:
        _refuse_separated(rows)
    problem = _problem(rows, smooth)
    start = np.array([0.0, logit(problem.w @ problem.t / problem.weight)])
    if problem.unit == 0.0:  # all scores are equal: only the ratio of the classes is left to learn
        slope, offset = 0.0, float(start[1])
    else:
        found = newton(problem, start, tol=1e-9, slope_unit=problem.weight).coef[:, 0]
        slope, offset = float(found[0]), float(found[1])
    at = np.array([slope, offset])
    certificate = Certificate(
        "Platt's sigmoid: no other has a greater likelihood",
        primal=problem.value(at),
        kkt=float(np.abs(problem.gradient(at)).max() / problem.weight),
        tolerance=1e-7,
        notes=("Targets were smoothed by one row of each class.",) if smooth else (),
        promised=("kkt",),
    )
    slope /= problem.unit or 1.0
    return sigmoid_of(slope, problem.centre, offset, unit_of(rows.score)), certificate


@dataclass(frozen=True)
class LogLoss:
    """The negative log likelihood of (γ, b) with its derivatives; z = (score − centre) / unit."""

    z: Floats
    t: Floats
    w: Floats
    centre: float
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


def _problem(rows: Scored, smooth: bool) -> LogLoss:
    w, hit = rows.weights, rows.hit
    weight = w.sum()
    score = rows.score / unit_of(rows.score)
    centre = float(w @ score / weight)
    away = score - centre
    unit = float(np.sqrt(w @ (away * away) / weight))
    if unit <= 4 * EPS * abs(centre):
        unit = 0.0
    positive = float(w[hit].sum())
    room = 1.0 if smooth else 0.0
    high = (positive + room) / (positive + 2 * room)
    low = room / (weight - positive + 2 * room)
    z = away / unit if unit else np.zeros_like(away)
    return LogLoss(z, np.where(hit, high, low), w, centre, unit)


def _refuse_separated(rows: Scored) -> None:
    pos, neg = rows.score[rows.hit], rows.score[~rows.hit]
    constant = pos.min() == pos.max() == neg.min() == neg.max()
    if not constant and (pos.min() >= neg.max() or neg.min() >= pos.max()):
        raise InputError(
            "A threshold separates the classes, so the likelihood grows with the slope for ever.",
            remedy="Use smooth=True, or LogisticCalibration.",
        )
