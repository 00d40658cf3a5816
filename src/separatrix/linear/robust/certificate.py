"""A piecewise-linear regression in scaled units: its objective, dual points and certificate.

    P(β) = Σ h max(0, r − ε) + l max(0, −r − ε),  r = y − Zβ;     D(u) = u·y − Σ ε|u|

for every u with Zᵀu = 0 and −l ≤ u ≤ h. P − D = Σ [loss(r) + ε|u| − u r] + u·Zβ is a sum of
differences that are not negative.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.linear.robust.design import Design
from separatrix.optimize.interior_point import (
    SLICE_ROWS,
    EpsilonInsensitiveProblem,
    PrimalDualPoint,
)
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats


@dataclass(frozen=True)
class Table:
    """Rows ``z`` with least-squares residuals, of mean size 1, as targets ``y``.

    ``high`` and ``low`` are the slopes of each row's loss above and below the tube; rows of a
    penalty, from ``z.own`` on, occur with ε = 0 only. ``start`` are the least-squares
    coefficients, ``unit`` and ``w_unit`` the units of residuals and weights, ``noise`` is the
    rounding error of a residual.
    """

    z: Design
    y: Floats
    high: Floats
    low: Floats
    epsilon: float
    start: Floats
    unit: float
    w_unit: float
    noise: float
    tol: float

    def residuals(self, beta: Floats) -> Floats:
        """y − zβ, exactly at a kink of the loss where they are within rounding of it."""
        r = self.y - self.z @ beta
        at_kink = np.abs(np.abs(r) - self.epsilon) <= self.noise
        return np.where(at_kink, np.sign(r) * self.epsilon, r)

    def losses(self, r: Floats) -> Floats:
        """The loss of every row."""
        excess = np.maximum(np.abs(r) - self.epsilon, 0.0)
        return np.asarray(np.where(r > 0.0, self.high, self.low) * excess)

    def objective(self, beta: Floats) -> float:
        """The sum of the losses."""
        return float(self.losses(self.residuals(beta)).sum())

    def feasible(self, u: Floats) -> Floats:
        """The dual point u, made feasible: zᵀu = 0 first, then scaled into its boxes."""
        inside = np.maximum(np.minimum(self.high - u, u + self.low), 0.0)
        inside += 1e-12 * (self.high + self.low)
        correction = np.linalg.lstsq(self.z.gram(inside), self.z.T @ u, rcond=None)[0]
        u = u - inside * (self.z @ correction)
        outside = np.maximum(u / self.high, -u / self.low)
        return np.asarray(u / max(1.0, float(outside.max(initial=0.0))))

    def _certify_rows(
        self, r: Floats, u: Floats, high: Floats, low: Floats
    ) -> tuple[float, float, float]:
        """Loss, gap, and how far u is from ∂loss(r) relative to the weight, of some rows."""
        losses = np.where(r > 0.0, high, low) * np.maximum(np.abs(r) - self.epsilon, 0.0)
        excess = np.maximum(losses + self.epsilon * np.abs(u) - u * r, 0.0)
        most = np.where(r >= self.epsilon, high, 0.0)
        least = np.where(r <= -self.epsilon, -low, 0.0)
        least = np.where(r > self.epsilon, high, least)
        most = np.where(r < -self.epsilon, -low, most)
        off = np.maximum(np.maximum(u - most, least - u), 0.0) / (0.5 * (high + low))
        return float(losses.sum()), float(excess.sum()), float(np.max(off, initial=0.0))

    def certify(self, beta: Floats, u: Floats) -> Certificate:
        """Certificate of β by a feasible dual point, in the units of y and of the weights."""
        r, balance = self.residuals(beta), self.z.T @ u
        primal, gap, off = 0.0, float(np.abs(balance * beta).sum()), 0.0
        for start in range(0, len(r), SLICE_ROWS):
            rows = slice(start, start + SLICE_ROWS)
            found = self._certify_rows(r[rows], u[rows], self.high[rows], self.low[rows])
            primal, gap, off = primal + found[0], gap + found[1], max(off, found[2])
        unit = self.unit * self.w_unit
        # Zᵀu = 0 relative to its terms
        weight = self.high + self.low
        weight *= 0.5
        size = self.z.sizes(weight)
        imbalance = np.abs(balance) / np.maximum(size, np.finfo(float).tiny)
        return Certificate(
            "",
            primal=primal * unit,
            dual=(primal - gap) * unit,
            gap=gap * unit,
            kkt=float(max(off, imbalance.max(initial=0.0))),
            tolerance=self.tol,
            rounding=self.noise * float(self.high.sum() + self.low.sum()) * unit,
        )


class TiltedProblem(EpsilonInsensitiveProblem):
    """The program of a table for the interior-point method: boxes from −l to h."""

    z: Design  # type: ignore[assignment]

    def __init__(self, table: Table) -> None:
        self.table, self.z, self.y = table, table.z, table.y
        self.epsilon = table.epsilon
        high, low = table.high, table.low
        self.sign = np.array([[1.0]]) if self.epsilon == 0.0 else np.array([[1.0], [-1.0]])
        self.upper = (high + low)[None, :] if self.epsilon == 0.0 else np.stack([high, low])
        self.offset = low if self.epsilon == 0.0 else np.zeros_like(low)

    def weighted_gram(self, weights: Floats) -> Floats:
        """Σ weight z zᵀ."""
        return self.z.gram(weights)

    def objective(self, beta: Floats) -> float:
        """The sum of the losses."""
        return self.table.objective(beta)

    def start(self, beta: Floats) -> PrimalDualPoint:
        """u = 0, inside every box, with multipliers that match the costs."""
        cost = self.reduced_cost(beta)
        shift = max(float(np.abs(cost).mean()), 1e-3)
        v = self.offset[None, :] + 0.0
        if self.epsilon:
            v = np.tile(0.5 * np.minimum(self.upper[0], self.upper[1]), (2, 1))
        p, q = np.maximum(cost, 0.0) + shift, np.maximum(-cost, 0.0) + shift
        return PrimalDualPoint(v, self.upper - v, p, q, beta)
