"""Penalties on coefficients: value, distance to the subdifferential, conjugate, excess.

Each acts coordinate by coordinate, with a weight of its own for every coefficient. b is
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

    def distance(self, b: Floats, v: Floats) -> Floats:
        """Distance of each vⱼ to ∂p(bⱼ).

        ∂p(bⱼ) is the point ℓⱼ sign(bⱼ) + qⱼbⱼ where bⱼ ≠ 0, and the interval [−ℓⱼ, ℓⱼ] at zero,
        which reaches down to −∞ when negative coefficients are forbidden.
        """
        return np.abs(self.offset(b, v))

    def offset(self, b: Floats, v: Floats) -> Floats:
        """vⱼ less the nearest point of ∂p(bⱼ)."""
        least = v if self.positive else np.maximum(v, -self.l1)
        at_zero = v - np.minimum(least, self.l1)
        return np.where(b == 0.0, at_zero, v - self.l1 * np.sign(b) - self.l2 * b)

    def conjugate(self, v: Floats) -> Floats:
        """p*(v) by coordinate: (|vⱼ| − ℓⱼ)₊² / 2qⱼ; without ℓ₂ part 0 within ±ℓⱼ and +∞ outside."""
        over = np.maximum((v if self.positive else np.abs(v)) - self.l1, 0.0)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return np.where(over > 0.0, 0.5 * over**2 / self.l2, 0.0)

    def excess(self, b: Floats, v: Floats) -> Floats:
        """p(b) + p*(v) − v·b by coordinate: at least zero, and zero exactly where v ∈ ∂p(b).

        Beyond the threshold, (q|b| − (|v| − ℓ))² / 2q; within it, |b|(ℓ ∓ v) + ½ q b²: neither
        subtracts large numbers. A coordinate without penalty asks for v = 0; what rounding leaves
        of it is charged |v·b|.
        """
        size = np.abs(b)
        over = np.maximum((v if self.positive else np.abs(v)) - self.l1, 0.0)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            within = size * (self.l1 - v * np.sign(b)) + 0.5 * self.l2 * b**2 + self.conjugate(v)
            beyond = 0.5 * (self.l2 * size - over) ** 2 / self.l2
        penalized = np.where((over > 0.0) & (v * b >= 0.0), beyond, within)
        return np.where((self.l1 > 0.0) | (self.l2 > 0.0), penalized, np.abs(v * b))

    def feasible_scale(self, v: Floats) -> float:
        """The largest t ≤ 1 with t·v within the thresholds ℓ > 0, where the conjugate is 0."""
        size = np.maximum(v, 0.0) if self.positive else np.abs(v)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where((size > self.l1) & (self.l1 > 0.0), self.l1 / size, 1.0)
        return float(ratio.min(initial=1.0))
