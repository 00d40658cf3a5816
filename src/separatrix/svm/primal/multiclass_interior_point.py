"""Interior point for the multi-class SVM of Crammer and Singer with few coefficients.

    min over W, τ of ½ Σ ‖wₖ‖² + Σ cᵢ (τᵢ − w_y·xᵢ)    with τᵢ ≥ eᵢₖ + wₖ·xᵢ,   eᵢₖ = [k ≠ yᵢ]

With slacks s and multipliers γ of the constraints, γ ≥ 0 and Σₖ γ = c, a step eliminates τ row by
row and solves a system in W:

    [I + Σᵢ (diag(Dᵢ) − Dᵢ Dᵢᵀ / Σ Dᵢ) ⊗ xᵢ xᵢᵀ] dW = …,      D = γ/s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.rows.block import Floats
from separatrix.svm.primal.newton import solve_scaled

#: Fraction of the way to the boundary that a step may go.
_INSIDE = 0.995


@dataclass(frozen=True)
class InteriorPoint:
    """W (d x K), τ (n), slacks and multipliers (n x K) of rows ``x`` with bounds ``own``.

    ``own`` holds c [k = y] and ``error`` [k ≠ y].
    """

    x: Floats
    own: Floats
    error: Floats
    w: Floats
    tau: Floats
    slack: Floats
    gamma: Floats

    @classmethod
    def start(cls, x: Floats, own: Floats) -> InteriorPoint:
        """W = 0 and equal multipliers of all classes: as far from all bounds as can be.

        W = Σ α x holds from the first full step on. From there steps would be short for many
        times, were the multipliers made so small that it holds at once.
        """
        error = np.where(own > 0.0, 0.0, 1.0)
        gamma = np.repeat(own.sum(axis=1, keepdims=True) / own.shape[1], own.shape[1], axis=1)
        tau = np.full(len(x), 2.0)
        w = np.zeros((x.shape[1], own.shape[1]))
        return cls(x, own, error, w, tau, tau[:, None] - error, gamma)

    @property
    def feasible_alpha(self) -> Floats:
        """α from multipliers that are scaled to the sum c."""
        total, cost = (v.sum(axis=1, keepdims=True) for v in (self.gamma, self.own))
        scaled = self.gamma * (cost / total)
        return np.where(self.own > 0.0, _others(scaled), -scaled)

    def step(self) -> InteriorPoint:
        """Predictor and corrector with one matrix."""
        d = self.gamma / self.slack
        total = d.sum(axis=1)
        matrix = self._matrix(d, total)
        mean = float(np.mean(self.gamma * self.slack))
        none = np.zeros_like(self.gamma)
        first = self._direction(matrix, d, total, none)
        length = self._length(*first[2:])
        ahead = (self.slack + length * first[2]) * (self.gamma + length * first[3])
        center = (float(np.mean(ahead)) / mean) ** 3 * mean
        dw, dtau, ds, dg = self._direction(matrix, d, total, center - first[2] * first[3])
        length = min(1.0, _INSIDE * self._length(ds, dg))
        return InteriorPoint(
            self.x,
            self.own,
            self.error,
            self.w + length * dw,
            self.tau + length * dtau,
            self.slack + length * ds,
            self.gamma + length * dg,
        )

    def _matrix(self, d: Floats, total: Floats) -> Floats:
        size, classes = self.w.shape
        matrix = np.zeros((classes, size, classes, size))
        others = _others(d)
        for k in range(classes):
            for j in range(k + 1):
                weight = d[:, k] * (others[:, k] if j == k else -d[:, j]) / total
                block = self.x.T @ (self.x * weight[:, None])
                matrix[k, :, j], matrix[j, :, k] = block, block.T
        square = matrix.reshape(classes * size, classes * size)
        square.flat[:: classes * size + 1] += 1.0
        return square

    def _direction(
        self, matrix: Floats, d: Floats, total: Floats, product: Floats
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Changes of W, τ, s and γ towards γ s = ``product``."""
        x, classes = self.x, self.own.shape[1]
        short = self.tau[:, None] - self.error - x @ self.w - self.slack
        dual = self.w - x.T @ (self.own - self.gamma)
        missing = self.own.sum(axis=1) - self.gamma.sum(axis=1)
        q = product / self.slack - self.gamma - d * short
        share = (q.sum(axis=1) - missing) / total
        left = q * _others(d) - d * (_others(q) - missing[:, None])
        right = -dual - x.T @ (left / total[:, None])
        dw = solve_scaled(matrix, right.T.ravel()).reshape(classes, -1).T
        along = x @ dw
        dtau = share + (d * along).sum(axis=1) / total
        ds = dtau[:, None] - along + short
        dg = product / self.slack - self.gamma - d * ds
        return dw, dtau, ds, dg

    def _length(self, ds: Floats, dg: Floats) -> float:
        """The longest step at which slacks and multipliers are not negative."""
        longest = 1.0 / _INSIDE
        for value, change in ((self.slack, ds), (self.gamma, dg)):
            down = change < 0.0
            if down.any():
                longest = min(longest, float(np.min(value[down] / -change[down])))
        return longest


def _others(values: Floats) -> Floats:
    """The sum over all other classes, without subtracting: one of them may be far the largest."""
    before, after = np.zeros_like(values), np.zeros_like(values)
    np.cumsum(values[:, :-1], axis=1, out=before[:, 1:])
    after[:, :-1] = np.cumsum(values[:, :0:-1], axis=1)[:, ::-1]
    return before + after
