"""Proximal Newton on a working set: quadratic models, solved by coordinate descent.

    θ ← θ + t·δ,   δ = argmin  Σ (uᵢ + ½ hᵢ Δᵢ) Δᵢ + Σ ℓ|θ + δ| + ½ Σ q (θ + δ)²,   Δ = Z δ + a

Classes take turns within one model: the curvature between two scores enters the slopes of the
second, so that the model is the true one for any number of classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.logistic.lasso.columns import Columns, Model
from separatrix.logistic.lasso.rows import LassoRows, ModelRows
from separatrix.rows.block import Floats, Ints

#: Fraction of the predicted decrease that a step must achieve (Armijo).
SUFFICIENT_DECREASE = 1e-4
#: Sweeps over a quadratic model at most, and those over its nonzero columns between full ones.
MAX_CYCLES, ACTIVE_SWEEPS = 5, 8
#: Fraction of the violation at its start that is left of a model.
MODEL_ACCURACY = 0.05


@dataclass(frozen=True)
class SetPenalty:
    """Thresholds ℓ and ridge penalties q of the columns of a working set."""

    l1: Floats
    l2: Floats

    def value(self, theta: Floats) -> float:
        """Σ ℓ|θ| + ½ Σ q θ² over all scores."""
        return float(self.l1 @ np.abs(theta).sum(axis=1) + 0.5 * self.l2 @ (theta**2).sum(axis=1))


@dataclass(frozen=True)
class SetPoint:
    """θ (columns x scores) and intercepts, where scores are Σ θⱼ xⱼ + intercept; loss there."""

    theta: Floats
    intercept: Floats
    scores: Floats
    at: ModelRows
    objective: float


def point_of(
    rows: LassoRows, columns: Columns, penalty: SetPenalty, theta: Floats, intercept: Floats
) -> SetPoint:
    """The point with its scores computed anew."""
    scores = columns.times(theta) + intercept[:, None]
    at = rows.loss(scores, scores, 0.0, 0.0)
    return SetPoint(theta, intercept, scores, at, at.value + penalty.value(theta))


def descend(
    rows: LassoRows,
    columns: Columns,
    penalty: SetPenalty,
    point: SetPoint,
    *,
    free: bool,
    target: float,
    steps: int,
) -> tuple[SetPoint, int]:
    """Newton steps until no coordinate violates by more than ``target``, and how many."""
    for count in range(1, steps + 1):
        new, move, violation = _minimize_model(columns, penalty, point, free, target)
        there = _backtrack(rows, penalty, point, new, move)
        if there is None:
            return point, count
        point = there
        if violation <= target:
            return point, count
    return point, steps


def _minimize_model(
    columns: Columns, penalty: SetPenalty, point: SetPoint, free: bool, target: float
) -> tuple[tuple[Floats, Floats], Floats, float]:
    """θ and intercepts at the minimum of the model, the change of scores, the first violation."""
    turns = _Turns(columns, penalty, point, free)
    everything = np.arange(len(point.theta))
    first = worst = turns.cycle(everything)
    accuracy = max(MODEL_ACCURACY * first, 0.3 * target)
    for _ in range(MAX_CYCLES):
        if worst <= accuracy:
            break
        active = np.flatnonzero(turns.by_score.any(axis=0))
        for _ in range(ACTIVE_SWEEPS):
            if turns.cycle(active) <= 0.5 * accuracy:
                break
        worst = turns.cycle(everything)
    turns.finish()
    return (turns.by_score.T, turns.intercept), turns.move, first


class _Turns:
    """The minimum so far of one model: a sweep for each score in turn."""

    def __init__(self, columns: Columns, penalty: SetPenalty, point: SetPoint, free: bool) -> None:
        self.columns, self.penalty, self.at = columns, penalty, point.at
        self.by_score = point.theta.T.copy()
        self.intercept = point.intercept.copy()
        self.move = np.zeros_like(point.scores)
        self.mean_move = np.zeros(point.scores.shape[1])  # Σₖ w pₖ Δₖ / w
        self.mass = [float(h.sum()) if free else 0.0 for h in self.at.h]
        self.moments = [
            columns.moments(h, mass) for h, mass in zip(self.at.h, self.mass, strict=True)
        ]
        self.several = len(self.by_score) > 1
        self.model = self._model_of(0)

    def cycle(self, order: Ints) -> float:
        """A sweep over these columns for every score; the largest violation met."""
        return max(self._turn(k, order) for k in range(len(self.by_score)))

    def finish(self) -> None:
        """Count the intercept of the only score in."""
        if not self.several:
            self._count_intercept(0)

    def _turn(self, k: int, order: Ints) -> float:
        before = np.zeros(0)
        if self.several:
            before, self.model = self.move[k].copy(), self._model_of(k)
        l1, l2 = self.penalty.l1, self.penalty.l2
        worst = self.columns.sweep(order, self.model, l1, l2, self.by_score[k], self.move[k])
        if self.several:
            self._count_intercept(k)
            self.mean_move += self.at.p[k] * (self.move[k] - before)
        return worst

    def _model_of(self, k: int) -> Model:
        """The model of score k, given the changes of all."""
        u, h = self.at.residual[k].copy(), self.at.h[k]
        if self.several:
            p, w = self.at.p[k], self.at.w
            u += h * self.move[k] - w * p * (self.mean_move - p * self.move[k])
        total, mass = float(u.sum()), self.mass[k]
        state = np.array([-total / mass if mass > 0.0 else 0.0, total, mass])
        return Model(u, h, *self.moments[k], state)

    def _count_intercept(self, k: int) -> None:
        self.move[k] += self.model.state[0]
        self.intercept[k] += self.model.state[0]


def _backtrack(
    rows: LassoRows,
    penalty: SetPenalty,
    point: SetPoint,
    new: tuple[Floats, Floats],
    move: Floats,
) -> SetPoint | None:
    """Part of the way, halved until F decreases enough; None where rounding hides a decrease."""
    before = penalty.value(point.theta)
    slope = float(np.sum(point.at.residual * move))
    predicted = slope + penalty.value(new[0]) - before
    for t in 0.5 ** np.arange(30):
        theta = new[0] if t == 1.0 else point.theta + t * (new[0] - point.theta)
        at = rows.loss(point.scores, move, t, 0.0)
        change = (at.value - point.at.value) + (penalty.value(theta) - before)
        small = abs(change) <= 1e-13 * abs(point.objective)
        if change <= SUFFICIENT_DECREASE * t * predicted or (t == 1.0 and small):
            intercept = point.intercept + t * (new[1] - point.intercept)
            scores = point.scores + t * move
            return SetPoint(theta, intercept, scores, at, at.value + penalty.value(theta))
        if -t * predicted <= 1e-16 * abs(point.objective):
            return None
    return None
