"""What one residual costs: value, slope, curvature, and the conjugate that bounds it from below.

A loss ℓ is convex, even and zero at zero; every function here works on arrays of residuals
r = y − prediction, row by row. Its conjugate

    ℓ*(u) = max over r of u·r − ℓ(r)

is what dual problems are made of: ℓ(r) + ℓ*(u) ≥ u·r always, with equality where u is a slope
of ℓ at r. Outside its domain the conjugate is +∞. Losses of classes take margins or scores in
place of residuals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

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


@dataclass(frozen=True)
class Logistic:
    """ℓ(t) = log(1 + e^−t) for a margin t = ±score, with ℓ*(u) = q log q + (1 − q) log(1 − q).

    Unlike the losses of residuals it is neither even nor zero at zero: a margin is never large
    enough. Here q = −u is the probability of the other class, between 0 and 1.
    """

    def value(self, r: Floats) -> Floats:
        """log(1 + e^−t), finite for margins of any size."""
        return np.asarray(np.logaddexp(0.0, -np.asarray(r, dtype=float)))

    def slope(self, r: Floats) -> Floats:
        """−1/(1 + e^t): minus the probability of the other class."""
        return np.asarray(-special.expit(-np.asarray(r, dtype=float)))

    def curvature(self, r: Floats) -> Floats:
        """p (1 − p)."""
        return np.asarray(special.expit(r) * special.expit(-np.asarray(r, dtype=float)))

    def conjugate(self, u: Floats) -> Floats:
        """Minus the entropy of (q, 1 − q) for q = −u, infinite outside 0 ≤ q ≤ 1."""
        q = -np.asarray(u, dtype=float)
        return np.asarray(-(special.entr(q) + special.entr(1.0 - q)))


@dataclass(frozen=True)
class Softmax:
    """ℓ(s) = log Σₖ e^sₖ − s_y for a row of scores, with ℓ*(u) = Σ p log p at p = u + e_y.

    ``own`` numbers the class of each row; every function works on (n x K) scores.
    """

    own: NDArray[np.intp]

    def value(self, r: Floats) -> Floats:
        """log Σ e^s − s_y by row."""
        return np.asarray(special.logsumexp(r, axis=1) - r[np.arange(len(r)), self.own])

    def slope(self, r: Floats) -> Floats:
        """p − e_y."""
        p = np.asarray(special.softmax(r, axis=1))
        p[np.arange(len(r)), self.own] -= 1.0
        return p

    def curvature(self, r: Floats) -> Floats:
        """p (1 − p): the diagonal of the matrix diag(p) − p pᵀ."""
        p = np.asarray(special.softmax(r, axis=1))
        return np.asarray(p * (1.0 - p))

    def conjugate(self, u: Floats) -> Floats:
        """Minus the entropy of p = u + e_y; infinite where that is no probability."""
        p = np.array(u, dtype=float)
        p[np.arange(len(p)), self.own] += 1.0
        off = np.abs(p.sum(axis=1) - 1.0) > 1e-9
        return np.where(off, np.inf, -special.entr(p).sum(axis=1))
