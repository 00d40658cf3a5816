"""Convex losses: value, derivatives, conjugate, and the terms of a duality gap.

A loss is a function ℓ of one number per row: a residual z = y − prediction, or a margin
z = y · score. Its conjugate and the Fenchel–Young inequality

    ℓ*(u) = max over z of u·z − ℓ(z),        excess(z, u) = ℓ(z) + ℓ*(u) − u·z ≥ 0

make up every dual problem here: the excess is zero exactly where u is a subgradient of ℓ at z.
Outside its domain the conjugate, and with it the excess, is +∞. Each excess is written as a sum
of terms that are not negative, so that it keeps its digits near zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Floats

#: A segment of the graph of ∂ℓ, parallel to an axis: the ends of z, then the ends of u.
Segment = tuple[float, float, float, float]


class Loss(Protocol):
    """What a duality gap needs of a loss; all functions work row by row."""

    def value(self, z: Floats) -> Floats:
        """ℓ(z)."""

    def conjugate(self, u: Floats) -> Floats:
        """ℓ*(u)."""

    def excess(self, z: Floats, u: Floats) -> Floats:
        """ℓ(z) + ℓ*(u) − u·z."""

    def violation(self, z: Floats, u: Floats, unit: float) -> Floats:
        """Distance of (z, u) to the graph of ∂ℓ, with z measured in ``unit``."""


@dataclass(frozen=True)
class Squared:
    """Squared error ℓ(z) = z²/2, with ℓ*(u) = u²/2."""

    def value(self, z: Floats) -> Floats:
        """z²/2."""
        return 0.5 * z * z

    def gradient(self, z: Floats) -> Floats:
        """The residual itself."""
        return np.array(z, dtype=float)

    def conjugate(self, u: Floats) -> Floats:
        """u²/2."""
        return 0.5 * u * u

    def excess(self, z: Floats, u: Floats) -> Floats:
        """(z − u)²/2."""
        return np.asarray(0.5 * (z - u) ** 2)

    def violation(self, z: Floats, u: Floats, unit: float) -> Floats:
        """|z − u|."""
        return np.asarray(np.abs(z - u) / unit)


@dataclass(frozen=True)
class Huber:
    """Huber's loss ℓ(z) = z²/2 for |z| ≤ ε, ε|z| − ε²/2 beyond; ℓ*(u) = u²/2 for |u| ≤ ε."""

    epsilon: float = 1.35

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise InputError(
                f"epsilon={self.epsilon!r} leaves no quadratic part.",
                remedy="Use a positive number.",
            )

    def value(self, z: Floats) -> Floats:
        """z²/2 inside, ε|z| − ε²/2 outside."""
        u = self.gradient(z)
        return np.asarray(u * z - 0.5 * u * u)

    def gradient(self, z: Floats) -> Floats:
        """z, clipped to [−ε, ε]."""
        return np.clip(z, -self.epsilon, self.epsilon)

    def second_derivative(self, z: Floats) -> Floats:
        """One inside, zero outside."""
        return np.asarray(np.abs(z) <= self.epsilon, dtype=float)

    def conjugate(self, u: Floats) -> Floats:
        """u²/2 for |u| ≤ ε, infinite beyond."""
        return np.where(np.abs(u) <= self.epsilon, 0.5 * u * u, np.inf)

    def excess(self, z: Floats, u: Floats) -> Floats:
        """(p − u)²/2 + (z − p)(p − u) with p = ℓ′(z)."""
        p = self.gradient(z)
        inside = 0.5 * (p - u) ** 2 + (z - p) * (p - u)
        return np.where(np.abs(u) <= self.epsilon, inside, np.inf)

    def violation(self, z: Floats, u: Floats, unit: float) -> Floats:
        """|ℓ′(z) − u|."""
        return np.asarray(np.abs(self.gradient(z) - u) / unit)


@dataclass(frozen=True)
class EpsilonInsensitive:
    """ε-insensitive error ℓ(z) = max(0, |z| − ε), with ℓ*(u) = ε|u| for |u| ≤ 1.

    With ε = 0 it is the absolute error.
    """

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        if not self.epsilon >= 0:
            raise InputError(f"epsilon={self.epsilon!r} is negative.", remedy="Use zero or more.")

    def value(self, z: Floats) -> Floats:
        """max(0, |z| − ε)."""
        return np.maximum(np.abs(z) - self.epsilon, 0.0)

    def gradient(self, z: Floats) -> Floats:
        """sign(z) where |z| > ε and zero where |z| < ε; at a kink, halfway between the two."""
        size = np.abs(z)
        return np.sign(z) * (0.5 * (size > self.epsilon) + 0.5 * (size >= self.epsilon))

    def conjugate(self, u: Floats) -> Floats:
        """ε|u| for |u| ≤ 1, infinite beyond."""
        size = np.abs(u)
        return np.where(size <= 1.0, self.epsilon * size, np.inf)

    def excess(self, z: Floats, u: Floats) -> Floats:
        """(1 − |u|)(|z| − ε)₊ + |u|(ε − |z|)₊ + |u||z| − u·z."""
        size, outside = np.abs(u), np.abs(z) - self.epsilon
        beyond = (1.0 - size) * np.maximum(outside, 0.0) + size * np.maximum(-outside, 0.0)
        against = np.where(u * z < 0.0, 2.0 * size * np.abs(z), 0.0)
        return np.where(size <= 1.0, beyond + against, np.inf)

    def violation(self, z: Floats, u: Floats, unit: float) -> Floats:
        """Distance to the graph of ∂ℓ, a staircase through (−ε, −1), (−ε, 0), (ε, 0), (ε, 1)."""
        e = self.epsilon
        return _distance_to_segments(
            z,
            u,
            unit,
            (-np.inf, -e, -1.0, -1.0),
            (-e, -e, -1.0, 0.0),
            (-e, e, 0.0, 0.0),
            (e, e, 0.0, 1.0),
            (e, np.inf, 1.0, 1.0),
        )


@dataclass(frozen=True)
class Hinge:
    """Hinge loss ℓ(z) = max(0, 1 − z) of a margin, with ℓ*(u) = u for −1 ≤ u ≤ 0."""

    def value(self, z: Floats) -> Floats:
        """max(0, 1 − z)."""
        return np.maximum(1.0 - z, 0.0)

    def gradient(self, z: Floats) -> Floats:
        """−1 where z < 1 and zero where z > 1; at the kink, halfway between the two."""
        return np.asarray(-0.5 * (z < 1.0) - 0.5 * (z <= 1.0))

    def conjugate(self, u: Floats) -> Floats:
        """U for −1 ≤ u ≤ 0, infinite elsewhere."""
        return np.where((u >= -1.0) & (u <= 0.0), u, np.inf)

    def excess(self, z: Floats, u: Floats) -> Floats:
        """(1 + u)(1 − z)₊ − u (z − 1)₊."""
        inside = (1.0 + u) * np.maximum(1.0 - z, 0.0) - u * np.maximum(z - 1.0, 0.0)
        return np.where((u >= -1.0) & (u <= 0.0), inside, np.inf)

    def violation(self, z: Floats, u: Floats, unit: float) -> Floats:
        """Distance to the graph of ∂ℓ, a step from −1 to 0 at z = 1."""
        return _distance_to_segments(
            z,
            u,
            unit,
            (-np.inf, 1.0, -1.0, -1.0),
            (1.0, 1.0, -1.0, 0.0),
            (1.0, np.inf, 0.0, 0.0),
        )


@dataclass(frozen=True)
class SquaredEpsilonInsensitive:
    """Squared error beyond ε, ℓ(z) = max(0, |z| − ε)², with ℓ*(u) = ε|u| + u²/4."""

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        if not self.epsilon >= 0:
            raise InputError(f"epsilon={self.epsilon!r} is negative.", remedy="Use zero or more.")

    def value(self, z: Floats) -> Floats:
        """max(0, |z| − ε)²."""
        return np.asarray(np.maximum(np.abs(z) - self.epsilon, 0.0) ** 2)

    def gradient(self, z: Floats) -> Floats:
        """2 sign(z) max(0, |z| − ε)."""
        return np.asarray(2.0 * np.sign(z) * np.maximum(np.abs(z) - self.epsilon, 0.0))

    def second_derivative(self, z: Floats) -> Floats:
        """Two outside, zero inside."""
        return np.where(np.abs(z) > self.epsilon, 2.0, 0.0)

    def conjugate(self, u: Floats) -> Floats:
        """ε|u| + u²/4."""
        return np.asarray(self.epsilon * np.abs(u) + 0.25 * u * u)

    def excess(self, z: Floats, u: Floats) -> Floats:
        """((|z| − ε)₊ − |u|/2)² + |u|(ε − |z|)₊ + |u||z| − u·z."""
        size, outside = np.abs(u), np.abs(z) - self.epsilon
        square = (np.maximum(outside, 0.0) - 0.5 * size) ** 2
        against = np.where(u * z < 0.0, 2.0 * size * np.abs(z), 0.0)
        return np.asarray(square + size * np.maximum(-outside, 0.0) + against)

    def violation(self, z: Floats, u: Floats, unit: float) -> Floats:
        """|ℓ′(z) − u|."""
        return np.asarray(np.abs(self.gradient(z) - u) / unit)


@dataclass(frozen=True)
class SquaredHinge:
    """Squared hinge ℓ(z) = max(0, 1 − z)² of a margin, with ℓ*(u) = u + u²/4 for u ≤ 0."""

    def value(self, z: Floats) -> Floats:
        """max(0, 1 − z)²."""
        return np.asarray(np.maximum(1.0 - z, 0.0) ** 2)

    def gradient(self, z: Floats) -> Floats:
        """−2 max(0, 1 − z)."""
        return np.asarray(-2.0 * np.maximum(1.0 - z, 0.0))

    def second_derivative(self, z: Floats) -> Floats:
        """Two where z < 1, zero beyond."""
        return np.where(z < 1.0, 2.0, 0.0)

    def conjugate(self, u: Floats) -> Floats:
        """U + u²/4 for u ≤ 0, infinite elsewhere."""
        return np.where(u <= 0.0, u + 0.25 * u * u, np.inf)

    def excess(self, z: Floats, u: Floats) -> Floats:
        """((1 − z)₊ + u/2)² − u (z − 1)₊."""
        inside = (np.maximum(1.0 - z, 0.0) + 0.5 * u) ** 2 - u * np.maximum(z - 1.0, 0.0)
        return np.where(u <= 0.0, inside, np.inf)

    def violation(self, z: Floats, u: Floats, unit: float) -> Floats:
        """|ℓ′(z) − u|."""
        return np.asarray(np.abs(self.gradient(z) - u) / unit)


def _distance_to_segments(z: Floats, u: Floats, unit: float, *segments: Segment) -> Floats:
    """The smallest max(distance in z / unit, distance in u) to any of the segments."""
    nearest = np.full(np.shape(z), np.inf)
    for z_low, z_high, u_low, u_high in segments:
        along_z = np.maximum(np.maximum(z_low - z, z - z_high), 0.0) / unit
        along_u = np.maximum(np.maximum(u_low - u, u - u_high), 0.0)
        nearest = np.minimum(nearest, np.maximum(along_z, along_u))
    return nearest
