"""Support vectors as one problem, whether they divide classes or carry a tube.

    primal  min over f, b of  ½‖f‖² + Σ high (t − u − ε)₊ − low (u − t − ε)₊,     u = f(x) + b
    dual    max over β of     tᵀβ − ε Σ|β| − ½ βᵀKβ        with Σβ = 0, low ≤ β ≤ high

Classes: t = ±1, ε = 0, and β between 0 and ±C. A tube: t the target, −C ≤ β ≤ C.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.rows.block import Floats


@dataclass(frozen=True)
class DualProblem:
    """Targets ``t``, bounds of the coefficients, half the width ε of the tube."""

    t: Floats
    low: Floats
    high: Floats
    eps: float = 0.0

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.t)

    @property
    def hard(self) -> bool:
        """Whether a coefficient has no bound: no row may be on the wrong side."""
        return bool(np.isinf(self.high).any() or np.isinf(self.low).any())

    def take(self, index: np.ndarray) -> DualProblem:
        """The same problem for some of the rows."""
        return DualProblem(self.t[index], self.low[index], self.high[index], self.eps)

    def capped(self, cap: float) -> DualProblem:
        """The problem with bounds of at most ``cap``."""
        return DualProblem(self.t, np.maximum(self.low, -cap), np.minimum(self.high, cap), self.eps)

    def rises(self, beta: Floats, f: Floats) -> Floats:
        """Slope of raising each coefficient; ∞ where that is not allowed."""
        slope = f - self.t + np.where(beta >= 0.0, self.eps, -self.eps)
        return np.where(beta < self.high, slope, np.inf)

    def falls(self, beta: Floats, f: Floats) -> Floats:
        """Minus the slope of lowering each coefficient; −∞ where that is not allowed."""
        slope = f - self.t + np.where(beta > 0.0, self.eps, -self.eps)
        return np.where(beta > self.low, slope, -np.inf)

    def violation(self, beta: Floats, f: Floats) -> float:
        """How far the steepest pair is from rest: at the optimum no fall exceeds a rise."""
        most = self.falls(beta, f).max(initial=-np.inf)
        return max(float(most - self.rises(beta, f).min(initial=np.inf)), 0.0)

    def free(self, beta: Floats) -> np.ndarray:
        """Coefficients that are neither at a bound nor at zero."""
        return np.asarray((beta > self.low) & (beta < self.high) & (beta != 0.0))

    def offset(self, beta: Floats, f: Floats) -> float:
        """The b of least primal value for these f: a weighted quantile of where rows start to pay.

        Between two breakpoints without slope the middle is taken. Without bounds, the middle
        between the slopes of rises and falls.
        """
        if self.hard:
            return self._middle(beta, f)
        pays = [self.high > 0, self.low < 0]
        at = np.concatenate([(self.t - self.eps - f)[pays[0]], (self.t + self.eps - f)[pays[1]]])
        price = np.concatenate([self.high[pays[0]], -self.low[pays[1]]])
        order = np.argsort(at, kind="stable")
        at, slope = at[order], np.cumsum(price[order]) - self.high[pays[0]].sum()
        rest = 1e-12 * price.sum()
        left = int(np.searchsorted(slope, -rest))
        right = min(int(np.searchsorted(slope, rest, side="right")), len(at) - 1)
        return float(0.5 * (at[left] + at[right]))

    def _middle(self, beta: Floats, f: Floats) -> float:
        most, least = self.falls(beta, f).max(), self.rises(beta, f).min()
        ends = [end for end in (most, least) if np.isfinite(end)]
        return -float(np.mean(ends)) if ends else 0.0


def classes_problem(y: Floats, C: Floats) -> DualProblem:
    """Hinge loss: y is ±1 and C the price of each row."""
    return DualProblem(y, np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0))


def tube_problem(y: Floats, C: Floats, epsilon: float) -> DualProblem:
    """ε-insensitive loss: deviations up to ε are free."""
    return DualProblem(y, -C, C.copy(), float(epsilon))
