"""Penalties on coefficients: value, proximal step, distance to the subdifferential, conjugate.

Each acts coordinate by coordinate, with a weight of its own for every coefficient. A model b is
optimal for ½‖y − Xb‖² + p(b) exactly when v = Xᵀ(y − Xb) lies in the subdifferential ∂p(b), and

    p(b) + p*(v) ≥ v·b        (Fenchel–Young), with equality there and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.rows.block import Floats


@dataclass(frozen=True)
class ElasticNet:
    """p(b) = Σ ℓⱼ|bⱼ| + ½ Σ qⱼ bⱼ²;  +∞ where a coefficient is negative and ``positive`` is set."""

    l1: Floats
    l2: Floats
    positive: bool = False

    def value(self, b: Floats) -> float:
        """p(b)."""
        if self.positive and (b < 0.0).any():
            return float(np.inf)
        return float(np.sum(self.l1 * np.abs(b) + 0.5 * self.l2 * b**2))

    def proximal(self, v: Floats, step: float = 1.0) -> Floats:
        """argmin over b of ½‖b − v‖² + step·p(b): shrink towards 0 by step·ℓ, then divide."""
        inside = v if self.positive else np.abs(v)
        shrunk = np.maximum(inside - step * self.l1, 0.0) / (1.0 + step * self.l2)
        return np.asarray(shrunk if self.positive else np.sign(v) * shrunk)

    def distance(self, b: Floats, v: Floats) -> Floats:
        """Distance of each vⱼ to ∂p(bⱼ).

        ∂p(bⱼ) is the point ℓⱼ sign(bⱼ) + qⱼbⱼ where bⱼ ≠ 0, and the interval [−ℓⱼ, ℓⱼ] at zero,
        which reaches down to −∞ when negative coefficients are forbidden.
        """
        at_zero = np.maximum((v if self.positive else np.abs(v)) - self.l1, 0.0)
        elsewhere = np.abs(v - self.l1 * np.sign(b) - self.l2 * b)
        return np.where(b == 0.0, at_zero, elsewhere)

    def conjugate(self, v: Floats) -> Floats:
        """p*(v) by coordinate: (|vⱼ| − ℓⱼ)₊² / 2qⱼ; without ℓ₂ part 0 within ±ℓⱼ and +∞ outside."""
        over = np.maximum((v if self.positive else np.abs(v)) - self.l1, 0.0)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return np.where(over > 0.0, 0.5 * over**2 / self.l2, 0.0)

    def excess(self, b: Floats, v: Floats) -> Floats:
        """p(b) + p*(v) − v·b by coordinate: at least zero, and zero exactly where v ∈ ∂p(b).

        Written without subtracting large numbers: |b| (ℓ − |v|) is formed before it is summed.
        """
        inside = self.l1 * np.abs(b) + 0.5 * self.l2 * b**2 - v * b
        return np.asarray(np.maximum(inside + self.conjugate(v), 0.0))

    def feasible_share(self, v: Floats) -> float:
        """The largest t ≤ 1 with t·v within the thresholds ℓ, where the conjugate is 0."""
        size = np.maximum(v, 0.0) if self.positive else np.abs(v)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(size > self.l1, self.l1 / size, 1.0)
        return float(share.min(initial=1.0))


class L1(ElasticNet):
    """p(b) = Σ ℓⱼ|bⱼ|, the lasso's: flat faces and corners, so that coefficients vanish."""

    def __init__(self, weights: Floats, positive: bool = False) -> None:
        super().__init__(weights, np.zeros_like(weights), positive)


class L2(ElasticNet):
    """p(b) = ½ Σ qⱼ bⱼ², ridge's: round, so that coefficients shrink and never vanish."""

    def __init__(self, weights: Floats, positive: bool = False) -> None:
        super().__init__(np.zeros_like(weights), weights, positive)
