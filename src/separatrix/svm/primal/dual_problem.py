"""The dual of a linear SVM with many columns, for hinges, ε-insensitive errors and their squares.

    min over β of ½ ‖Xᵀβ‖² + ½ g (Σβ)² + ½ Σ δβ² − tᵀβ + ε Σ|β|,      low ≤ β ≤ high

Columns are divided by √ρ, so that all penalties are one. δ is 0, or 1/(2c) of a squared loss, whose
β has no bound. g is 1/ρ₀ of a penalized intercept b = gΣβ; a free one constrains Σβ = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from separatrix.rows.block import Floats, Ints
from separatrix.svm.primal.some_rows import SomeRows, some_rows
from separatrix.svm.primal.squared_problem import SquaredProblem
from separatrix.svm.problem import LinearProblem, SVMProblem

#: Steps to the best free intercept of a squared loss.
_INTERCEPT_STEPS = 50


@dataclass(frozen=True)
class DualProblem:
    """Rows, targets t, bounds of β, δ and ε; ``shared`` is g, and ``balances`` that Σβ = 0."""

    rows: SomeRows
    t: Floats
    low: Floats
    high: Floats
    diagonal: Floats
    epsilon: float
    shared: float
    balances: bool

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.t)

    @cached_property
    def numbers(self) -> Floats:
        """What coordinate descent reads of every row."""
        return np.stack([self.t, self.low, self.high, self.diagonal, self.rows.square], axis=1)

    @cached_property
    def step(self) -> float:
        """How much b changes with Σβ in coordinate descent: g, or the size of the rows."""
        return (float(self.rows.square.mean()) or 1.0) if self.balances else self.shared

    @cached_property
    def squared(self) -> bool:
        """Whether the losses are squared."""
        return bool(self.diagonal.any())

    @cached_property
    def hinges(self) -> SVMProblem:
        """The same losses where they are not squared."""
        return SVMProblem(self.t, self.low, self.high, self.epsilon, self.balances)

    @property
    def inverse_shared(self) -> float:
        """1/g: zero for a free intercept, infinity without one."""
        if self.balances:
            return 0.0
        return 1.0 / self.shared if self.shared > 0.0 else np.inf

    def free(self, beta: Floats) -> Ints:
        """Rows whose β is at no bound, and not at the kink of ε|β|."""
        inside = (beta > self.low) & (beta < self.high)
        return np.flatnonzero(inside & (beta != 0.0) if self.epsilon > 0.0 else inside)

    def bounds(self, beta: Floats, rows: Ints) -> tuple[Floats, Floats]:
        """Between which β of free rows stays on its side of the kink."""
        low, high, own = self.low[rows], self.high[rows], beta[rows]
        if self.epsilon > 0.0:
            low, high = np.where(own > 0.0, 0.0, low), np.where(own < 0.0, 0.0, high)
        return low, high

    def slopes(self, beta: Floats, scores: Floats) -> tuple[Floats, Floats]:
        """How fast the dual falls as β increases, and as it decreases; 0 where it does not."""
        slope, epsilon = scores - self.t + self.diagonal * beta, self.epsilon
        up = np.where(beta < self.high, -slope - np.where(beta >= 0.0, epsilon, -epsilon), 0.0)
        down = np.where(beta > self.low, slope + np.where(beta > 0.0, epsilon, -epsilon), 0.0)
        return np.maximum(up, 0.0), np.maximum(down, 0.0)

    def unsettled(self, beta: Floats, scores: Floats) -> Ints:
        """Rows that are free, or whose β would change if it could alone."""
        up, down = self.slopes(beta, scores)
        moving = (up > 0.0) | (down > 0.0)
        moving[self.free(beta)] = True
        return np.flatnonzero(moving)

    def kkt(self, beta: Floats, scores: Floats) -> float:
        """The largest distance of a score and β to where they fit, β in units of its bound."""
        up, down = self.slopes(beta, scores)
        if self.squared:
            return 2.0 * float(np.maximum(up, down).max(initial=0.0))
        cost = np.maximum(self.high, -self.low)
        unit = np.where(cost > 0.0, cost, 1.0)
        kinked = self.epsilon > 0.0
        rise = np.where(kinked & (beta < 0.0), -beta, self.high - beta) / unit
        fall = np.where(kinked & (beta > 0.0), beta, beta - self.low) / unit
        return float(np.maximum(np.minimum(up, rise), np.minimum(down, fall)).max(initial=0.0))

    def linear(self, beta: Floats) -> float:
        """½ Σ δβ² − tᵀβ + ε Σ|β|."""
        own = float(self.t @ beta) - self.epsilon * float(np.abs(beta).sum())
        return 0.5 * float(self.diagonal @ beta**2) - own

    def loss(self, scores: Floats) -> float:
        """Σ c ξ, or Σ c ξ²."""
        over = np.maximum(self.t - scores - self.epsilon, 0.0)
        under = np.maximum(scores - self.t - self.epsilon, 0.0)
        if not self.squared:
            return float(self.high @ over - self.low @ under)
        each = np.where(self.high > 0.0, over, 0.0) ** 2 + np.where(self.low < 0.0, under, 0.0) ** 2
        return float(np.sum(each / (2.0 * self.diagonal)))

    def best_intercept(self, scores: Floats, near: float) -> float:
        """The free b of least loss beside ``scores``."""
        if not self.squared:
            low, high = self.hinges.intercept_interval(scores)
            return min(max(near, low), high)
        b = near
        for _ in range(_INTERCEPT_STEPS):
            z = self.t - scores - b
            over = np.where(self.high > 0.0, np.maximum(z - self.epsilon, 0.0), 0.0)
            under = np.where(self.low < 0.0, np.maximum(-z - self.epsilon, 0.0), 0.0)
            pull = float(np.sum((over - under) / self.diagonal))
            weight = float(np.sum(((over > 0.0) | (under > 0.0)) / self.diagonal))
            if weight <= 0.0 or b + pull / weight == b:
                break
            b += pull / weight
        return b

    def balanced(self, beta: Floats) -> Floats:
        """β with Σβ = 0: free rows give way as far as their bounds let them, then all of a side."""
        total = float(beta.sum())
        if not self.balances or total == 0.0:
            return beta
        rows = self.free(beta)
        low, high = self.bounds(beta, rows)
        room = np.minimum(beta[rows] - low if total > 0.0 else high - beta[rows], self._reach(beta))
        if float(room.sum()) > 2.0 * abs(total):
            beta = beta.copy()
            beta[rows] -= total * (room / float(room.sum()))
            return beta
        plus, minus = float(beta[beta > 0.0].sum()), -float(beta[beta < 0.0].sum())
        least = min(plus, minus)
        factor = np.where(beta > 0.0, least / (plus or 1.0), least / (minus or 1.0))
        return np.asarray(beta * factor)

    @staticmethod
    def _reach(beta: Floats) -> float:
        return float(np.abs(beta).max(initial=0.0)) or 1.0


def dual_of_hinges(problem: LinearProblem, root: Floats) -> DualProblem:
    """The dual of hinges or ε-insensitive errors."""
    penalized = problem.intercept and not problem.balances
    return DualProblem(
        some_rows(problem.x, root),
        problem.t,
        problem.low,
        problem.high,
        np.zeros(problem.n),
        problem.epsilon if problem.regression else 0.0,
        1.0 / problem.intercept_ridge if penalized else 0.0,
        problem.balances,
    )


def dual_of_squares(problem: SquaredProblem, root: Floats) -> DualProblem:
    """The dual of squared hinges or squared ε-insensitive errors with an ℓ₂ penalty."""
    label = problem.epsilon is None
    infinite = np.full(problem.n, np.inf)
    penalized = problem.intercept and not problem.free_intercept
    return DualProblem(
        some_rows(problem.x, root),
        problem.t,
        np.where(problem.t > 0.0, 0.0, -infinite) if label else -infinite,
        np.where(problem.t > 0.0, infinite, 0.0) if label else infinite,
        1.0 / (2.0 * problem.cost),
        problem.epsilon or 0.0,
        1.0 / float(problem.penalty.l2[-1]) if penalized else 0.0,
        problem.free_intercept,
    )
