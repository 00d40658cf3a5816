"""Losses of linear scores that passes over a stream minimize: logistic, and squared hinge.

    logistic:       Σ w (log Σₖ e^sₖ − s_y)               of two classes log(1 + e^∓s)
    squared hinge:  Σ w Σₖ max(0, 1 ∓ sₖ)²                each class against the rest

Scores are (scores x rows): one for the second of two classes, else one for each class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from separatrix.logistic.ridge_path import (
    MAX_HESSIAN,
    BlockPreconditioner,
    HessianPreconditioner,
    RidgeRows,
    ridge_path,
)
from separatrix.optimize.newton import LinearSolver, cholesky_solver
from separatrix.probability.likelihood.loops import binary_loss, softmax_by_class
from separatrix.rows.block import Floats, Ints

#: Decrease of the mean loss of the sample that a step towards a warm start must promise.
WARM_TOLERANCE = 1e-8
#: Newton steps of a squared hinge on the sample, at most.
NEWTON_STEPS = 40


class PathLoss(Protocol):
    """A loss of scores, and what a sample of the rows tells of its minimum."""

    def evaluate(self, scores: Floats, codes: Ints, w: Floats) -> tuple[float, Floats]:
        """Σ w loss, and its derivative by every score; ``scores`` may be overwritten."""

    def validate(self, scores: Floats, codes: Ints) -> tuple[Floats, Floats]:
        """The loss of every row, and whether another class is predicted."""

    def warm_starts(self, sample: RidgeRows, penalties: Floats) -> list[Floats]:
        """θ for penalties in decreasing order, from the sample alone."""

    def solver(self, sample: RidgeRows, theta: Floats, penalty: float) -> LinearSolver:
        """g ↦ H⁻¹g, H the Hessian of the sample at θ with the penalty."""


@dataclass(frozen=True)
class LogisticLoss:
    """The negative log-likelihood."""

    n_classes: int

    def evaluate(self, scores: Floats, codes: Ints, w: Floats) -> tuple[float, Floats]:
        """Σ w loss, and its derivative by every score; ``scores`` may be overwritten."""
        residual = np.empty_like(scores)
        if len(scores) > 1:
            return float(softmax_by_class(scores, codes, w, residual)), residual
        positive, second = codes.astype(np.float64), np.empty(scores.shape[1])
        return float(binary_loss(scores[0], positive, w, residual[0], second)[0]), residual

    def validate(self, scores: Floats, codes: Ints) -> tuple[Floats, Floats]:
        """−log p of the true class, and whether another is more probable."""
        if len(scores) == 1:
            scores = np.vstack([np.zeros(scores.shape[1]), scores])
        at = np.arange(scores.shape[1])
        loss = np.logaddexp.reduce(scores, axis=0) - scores[codes, at]
        return loss, (scores.argmax(axis=0) != codes).astype(float)

    def warm_starts(self, sample: RidgeRows, penalties: Floats) -> list[Floats]:
        """θ for penalties in decreasing order, from the sample alone."""
        return list(ridge_path(sample, penalties, WARM_TOLERANCE))

    def solver(self, sample: RidgeRows, theta: Floats, penalty: float) -> LinearSolver:
        """g ↦ H⁻¹g, H the Hessian of the sample at θ with the penalty."""
        kind = HessianPreconditioner if theta.size <= MAX_HESSIAN else BlockPreconditioner
        return kind(sample, theta).with_penalty(sample.penalized(penalty))


@dataclass(frozen=True)
class SquaredHingeLoss:
    """Squared slacks of the margins of each class against the rest."""

    n_classes: int

    def signs(self, codes: Ints) -> Floats:
        """±1 for every score and row."""
        own = np.array([1]) if self.n_classes == 2 else np.arange(self.n_classes)
        return np.where(codes == own[:, None], 1.0, -1.0)

    def evaluate(self, scores: Floats, codes: Ints, w: Floats) -> tuple[float, Floats]:
        """Σ w loss, and its derivative by every score."""
        signs = self.signs(codes)
        slack = np.maximum(1.0 - signs * scores, 0.0)
        return float(np.sum((slack * slack) @ w)), -2.0 * w * signs * slack

    def validate(self, scores: Floats, codes: Ints) -> tuple[Floats, Floats]:
        """The squared slacks of every row, and whether another class has the largest score."""
        slack = np.maximum(1.0 - self.signs(codes) * scores, 0.0)
        predicted = (scores[0] > 0).astype(int) if len(scores) == 1 else scores.argmax(axis=0)
        return np.sum(slack * slack, axis=0), (predicted != codes).astype(float)

    def warm_starts(self, sample: RidgeRows, penalties: Floats) -> list[Floats]:
        """θ for penalties in decreasing order, from the sample alone, by Newton's method."""
        theta, found = np.zeros((sample.z.shape[1], sample.n_scores)), []
        for penalty in penalties:
            theta = self._newton(sample, theta, float(penalty))
            found.append(theta)
        return found

    def solver(self, sample: RidgeRows, theta: Floats, penalty: float) -> LinearSolver:
        """g ↦ H⁻¹g with H = 2 Σ w z zᵀ over the rows of positive slack, score by score."""
        scores, signs = theta.T @ sample.z.T, self.signs(sample.codes)
        ridge = sample.penalized(penalty)[:, 0] + 1e-9 * sample.weight
        solvers = []
        for own, sign in zip(scores, signs, strict=True):
            root = sample.z * np.sqrt(2.0 * sample.w * (sign * own < 1.0))[:, None]
            solvers.append(cholesky_solver(root.T @ root + np.diag(ridge)))
        return lambda g: np.column_stack([solve(g[:, j]) for j, solve in enumerate(solvers)])

    def _newton(self, sample: RidgeRows, theta: Floats, penalty: float) -> Floats:
        """Full steps while they decrease the objective: it is piecewise quadratic."""
        ridge = sample.penalized(penalty)

        def at(point: Floats) -> tuple[float, Floats]:
            value, residual = self.evaluate(point.T @ sample.z.T, sample.codes, sample.w)
            shrunk = ridge * point
            return value + 0.5 * float(np.sum(point * shrunk)), (residual @ sample.z).T + shrunk

        value, gradient = at(theta)
        for _ in range(NEWTON_STEPS):
            step = self.solver(sample, theta, penalty)(gradient)
            promised, size = float(np.sum(step * gradient)), 1.0
            if promised <= WARM_TOLERANCE * sample.weight:
                break
            there = at(theta - step)
            while there[0] > value - 1e-4 * size * promised and size > 1e-3:
                size *= 0.5
                there = at(theta - size * step)
            if there[0] >= value:
                break
            theta, (value, gradient) = theta - size * step, there
        return theta
