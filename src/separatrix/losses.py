"""What one residual costs: value, slope, curvature, and the conjugate that bounds it from below.

A loss ℓ is convex, even and zero at zero; every function here works on arrays of residuals
r = y − prediction, row by row. Its conjugate

    ℓ*(u) = max over r of u·r − ℓ(r)

is what dual problems are made of: ℓ(r) + ℓ*(u) ≥ u·r always, with equality where u is a slope
of ℓ at r. Outside its domain the conjugate is +∞.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Floats


class Loss(Protocol):
    """Numbers per residual. A loss knows nothing of matrices."""

    def value(self, r: Floats) -> Floats:
        """ℓ(r)."""

    def slope(self, r: Floats) -> Floats:
        """ℓ′(r); at a kink, the slope halfway between its two sides."""

    def curvature(self, r: Floats) -> Floats:
        """ℓ″(r); zero at a kink, where no second derivative exists."""

    def conjugate(self, u: Floats) -> Floats:
        """ℓ*(u)."""


@dataclass(frozen=True)
class Squared:
    """ℓ(r) = r²/2, with ℓ*(u) = u²/2."""

    def value(self, r: Floats) -> Floats:
        """r²/2."""
        return 0.5 * r * r

    def slope(self, r: Floats) -> Floats:
        """The residual itself."""
        return np.array(r, dtype=float)

    def curvature(self, r: Floats) -> Floats:
        """One everywhere."""
        return np.ones_like(r, dtype=float)

    def conjugate(self, u: Floats) -> Floats:
        """u²/2."""
        return 0.5 * u * u


@dataclass(frozen=True)
class Absolute:
    """ℓ(r) = |r|, with ℓ*(u) = 0 for |u| ≤ 1: every residual pulls with the same force."""

    def value(self, r: Floats) -> Floats:
        """|r|."""
        return np.abs(r)

    def slope(self, r: Floats) -> Floats:
        """The sign of r."""
        return np.sign(r)

    def curvature(self, r: Floats) -> Floats:
        """Zero: the loss is made of two straight lines."""
        return np.zeros_like(r, dtype=float)

    def conjugate(self, u: Floats) -> Floats:
        """Zero up to slope one, infinite beyond."""
        return np.where(np.abs(u) <= 1.0, 0.0, np.inf)


@dataclass(frozen=True)
class Huber:
    """ℓ(r) = r²/2 for |r| ≤ ε, ε|r| − ε²/2 beyond; ℓ*(u) = u²/2 for |u| ≤ ε.

    A parabola that continues along its tangents: no residual pulls harder than ε.
    """

    epsilon: float = 1.35

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise InputError(
                f"epsilon={self.epsilon!r} leaves no parabola.", remedy="Use a positive number."
            )

    def value(self, r: Floats) -> Floats:
        """r²/2 inside, ε|r| − ε²/2 outside."""
        u = self.slope(r)
        return np.asarray(u * r - 0.5 * u * u)

    def slope(self, r: Floats) -> Floats:
        """r, held between −ε and ε."""
        return np.clip(r, -self.epsilon, self.epsilon)

    def curvature(self, r: Floats) -> Floats:
        """One inside, zero outside."""
        return np.asarray(np.abs(r) <= self.epsilon, dtype=float)

    def conjugate(self, u: Floats) -> Floats:
        """u²/2 up to slope ε, infinite beyond."""
        return np.where(np.abs(u) <= self.epsilon, 0.5 * u * u, np.inf)


@dataclass(frozen=True)
class EpsilonInsensitive:
    """ℓ(r) = max(0, |r| − ε), with ℓ*(u) = ε|u| for |u| ≤ 1: inside the tube nothing is owed."""

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        if not self.epsilon >= 0:
            raise InputError(
                f"epsilon={self.epsilon!r} is no width of a tube.", remedy="Use zero or more."
            )

    def value(self, r: Floats) -> Floats:
        """How far r is outside the tube."""
        return np.maximum(np.abs(r) - self.epsilon, 0.0)

    def slope(self, r: Floats) -> Floats:
        """The sign of r outside the tube, zero inside, one half of the sign at its wall."""
        size = np.abs(r)
        return np.sign(r) * (0.5 * (size > self.epsilon) + 0.5 * (size >= self.epsilon))

    def curvature(self, r: Floats) -> Floats:
        """Zero: the loss is made of straight lines."""
        return np.zeros_like(r, dtype=float)

    def conjugate(self, u: Floats) -> Floats:
        """ε|u| up to slope one, infinite beyond."""
        size = np.abs(u)
        return np.where(size <= 1.0, self.epsilon * size, np.inf)
