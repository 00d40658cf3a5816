"""Convex problems and their proof: losses, penalties, duality gap, certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol

import numpy as np

from separatrix.arrays import Floats, NDArray
from separatrix.messages import InputError
from separatrix.notebook import BAD, GOOD, MUTED, Sentence, Shown

# -------------------------------------------------------------------------------------------------
# Solutions and certificates: what every solver returns.


@dataclass(frozen=True, repr=False)
class Certificate(Shown):
    """Proof of optimality that can be checked from the data without solving again.

    gap = primal − dual bounds how far the objective can be above its minimum, and ``kkt`` is the
    largest violation of the optimality conditions, relative to the size of their terms. The gap
    holds if gap ≤ tolerance · max(|primal|, |dual|) + rounding, where ``rounding`` is the error
    that rounding can leave in the objective. A squared error may truly be zero: its ``scale``, a
    size that the data alone fix and that ``scale_of`` names, then takes the place of a smaller
    objective. The words say so wherever the gap is not small relative to the objective itself.
    ``digits`` is the number of decimal digits of the worst coefficient that rounding errors leave.

    ``promised`` lists the quantities that the method guarantees. It fails closed: a promised
    quantity that is not finite does not hold. A method that promises neither states its property
    in ``claim``. A quantity that a method does not compute is NaN.
    """

    claim: str
    primal: float = np.nan
    dual: float = np.nan
    gap: float = np.nan
    kkt: float = np.nan
    tolerance: float = np.nan
    rounding: float = 0.0
    scale: float = np.nan
    scale_of: str = ""
    condition: float = np.nan
    rank: int | None = None
    digits: float = np.nan
    statistic: str = ""
    dependent: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    promised: tuple[str, ...] = ("gap", "kkt")

    @property
    def relative_gap(self) -> float:
        """The duality gap as a fraction of the largest of primal, dual and ``scale``.

        A certificate without an objective states its gap as such a fraction.
        """
        return self.gap / self._size if self.gap else self.gap

    @property
    def relative_rounding(self) -> float:
        """``rounding`` in the units of the relative gap."""
        return self.rounding / self._size

    @property
    def holds(self) -> bool:
        """Whether all that was promised is finite, and all that was measured within tolerance."""
        small = {"gap": self._gap_is_small, "kkt": self.kkt <= self.tolerance}
        measured = {"gap": self.gap, "kkt": self.kkt}
        return all(
            small[name] if name in self.promised else small[name] or np.isnan(value)
            for name, value in measured.items()
        )

    @property
    def _gap_is_small(self) -> bool:
        known = np.isfinite([self.gap, self.rounding]).all()
        return bool(known and self.gap <= self.tolerance * self._size + self.rounding)

    @property
    def _objective_size(self) -> float:
        """max(|primal|, |dual|), or 1 of a gap that is a fraction already; never zero."""
        sizes = [abs(value) for value in (self.primal, self.dual) if np.isfinite(value)]
        return max(*sizes, np.finfo(float).tiny) if sizes else 1.0

    @property
    def _size(self) -> float:
        """What the gap is compared with: the objective, or ``scale`` where that is larger."""
        return float(np.fmax(self._objective_size, self.scale))

    def __str__(self) -> str:
        return " ".join(self._sentences())

    def _display(self) -> list[Sentence]:
        """The claim, marked by whether it holds, and what was measured."""
        claim, *measured = self._sentences()
        badge = ("holds", GOOD) if self.holds else ("does not hold", BAD)
        return [Sentence(claim, badge[1], badge[0]), Sentence(" ".join(measured), MUTED)]

    def _sentences(self) -> list[str]:
        sentences = [f"{self.claim}.", *self._digits_of_an_exact_solution()]
        if self._is_exact and self.holds:
            pass  # the digits say it: a gap of 1e-25 of the objective says nothing more
        elif np.isfinite(self.gap) and np.isfinite(self.primal):
            objective, bound = f"{self.primal:.6g}", f"{self.dual:.6g}"
            beside = "" if bound == objective else f", lower bound {bound}"
            sentences.append(f"Objective {objective}{beside} (duality gap {self.gap:.1e}).")
        elif np.isfinite(self.gap):
            sentences.append(f"Relative duality gap {self.gap:.1e}.")
        sentences += self._what_the_gap_is_compared_with()
        if np.isfinite(self.kkt):
            sentences.append(f"KKT residual {self.kkt:.1e}.")
        if self.promised and not self.holds:
            measured = [
                self.tolerance,
                *({"gap": self.gap, "kkt": self.kkt}[n] for n in self.promised),
            ]
            reached = f"The tolerance of {self.tolerance:.1e} was not reached."
            sentences.append(reached if np.isfinite(measured).all() else "This is not certified.")
        if self.rank is not None:
            sentences.append(f"Rank {self.rank}.")
        if self.dependent:
            sentences.append(f"Linearly dependent columns: {', '.join(self.dependent)}.")
        if np.isfinite(self.condition):
            sentences.append(f"Condition number {self.condition:.2g}.")
        return sentences + list(self.notes)

    @property
    def _is_exact(self) -> bool:
        return bool(self.digits >= 10)  # from so many on a closed form counts as exact

    def _digits_of_an_exact_solution(self) -> list[str]:
        """How many digits rounding errors leave of what a formula gives."""
        if not np.isfinite(self.digits):
            return []
        solved = "Solved exactly, to about" if self._is_exact else "About"
        return [f"{solved} {self.digits:.0f} correct digits (from {self.statistic})."]

    def _what_the_gap_is_compared_with(self) -> list[str]:
        """Said where the gap is not small relative to the objective itself."""
        objective, allowed = self._objective_size, self.tolerance * self._size
        if not self._gap_is_small:
            return []
        if objective <= self.rounding:
            return [f"The objective is zero up to rounding errors of {self.rounding:.1e}."]
        if self.gap <= self.tolerance * objective:
            return []
        if self.gap <= allowed:
            return [f"The gap is {self.relative_gap:.1e} of {self.scale_of}, {self.scale:.3g}."]
        return [f"The gap is within the rounding errors of the objective, {self.rounding:.1e}."]


class Status(StrEnum):
    """Why an iterative solver ended."""

    SOLVED = "solved"
    LIMIT = "limit reached"
    TIME = "time budget used up"
    ROUNDING = "rounding"
    CONVERGED = "converged"
    BOUND = "bound reached"
    STOPPED = "stopped early"
    DIVERGED = "diverged"
    OSCILLATING = "oscillating"
    SEPARABLE = "separable"
    UNBOUNDED = "no minimum: unbounded below"


@dataclass(frozen=True)
class Solution:
    """Parameters with their status, certificate and history.

    ``coef`` is d x k and ``intercept`` has length k, for k targets; ``history`` holds one number
    (the objective or the gap) per iteration of an iterative method.
    """

    coef: Floats
    intercept: Floats
    certificate: Certificate
    status: Status = Status.SOLVED
    iterations: int = 0
    history: Floats = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class LeastSquares(Solution):
    """A least-squares solution with what inference needs.

    ``rss`` holds Σ w r² per target; ``inverse`` is (XᵀX)⁻¹ over (1, x), or over x where there is no
    intercept, zero for dependent columns (a generalized inverse); ``identified`` marks coefficients
    that are unique; ``rank`` counts independent columns.
    """

    rss: Floats = field(default_factory=lambda: np.zeros(0))
    inverse: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    identified: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    rank: int = 0


# -------------------------------------------------------------------------------------------------
# Convex losses: value, derivatives, conjugate, and the terms of a duality gap.
#
# A loss is a function ℓ of one number per row: a residual z = y − prediction, or a margin
# z = y · score. Its conjugate and the Fenchel–Young inequality
#
#     ℓ*(u) = max over z of u·z − ℓ(z),        excess(z, u) = ℓ(z) + ℓ*(u) − u·z ≥ 0
#
# make up every dual problem here: the excess is zero exactly where u is a subgradient of ℓ at z.
# Outside its domain the conjugate, and with it the excess, is +∞. Each excess is written as a sum
# of terms that are not negative, so that it keeps its digits near zero.


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


# -------------------------------------------------------------------------------------------------
# Penalties on coefficients: value, distance to the subdifferential, conjugate, excess.
#
# Each acts coordinate by coordinate, with a weight of its own for every coefficient. b is
# optimal for ½‖y − Xb‖² + p(b) exactly when v = Xᵀ(y − Xb) lies in the subdifferential ∂p(b), and
#
#     p(b) + p*(v) ≥ v·b        (Fenchel–Young), with equality there and nowhere else.


@dataclass(frozen=True)
class ElasticNetPenalty:
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
        size, product = np.abs(b), v * b
        over = np.maximum((v if self.positive else np.abs(v)) - self.l1, 0.0)
        outside = over > 0.0
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            conjugate = np.where(outside, 0.5 * over**2 / self.l2, 0.0)
            within = size * (self.l1 - v * np.sign(b)) + 0.5 * self.l2 * b**2 + conjugate
            beyond = 0.5 * (self.l2 * size - over) ** 2 / self.l2
        penalized = np.where(outside & (product >= 0.0), beyond, within)
        return np.where((self.l1 > 0.0) | (self.l2 > 0.0), penalized, np.abs(product))

    def feasible_scale(self, v: Floats) -> float:
        """The largest t ≤ 1 with t·v within the thresholds ℓ > 0, where the conjugate is 0."""
        size = np.maximum(v, 0.0) if self.positive else np.abs(v)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where((size > self.l1) & (self.l1 > 0.0), self.l1 / size, 1.0)
        return float(ratio.min(initial=1.0))


# -------------------------------------------------------------------------------------------------
# Duality gap and KKT residual of a convex linear model, for any loss and any penalty.
#
#     P(b, a) = Σ cᵢ ℓ(zᵢ) + p(b),      zᵢ = yᵢ − sᵢ (residual) or yᵢ sᵢ (margin),   sᵢ = xᵢ·b + a
#
# With σᵢ = dzᵢ/dsᵢ, any u within the domain of ℓ* that balances the intercept, Σ cᵢuᵢσᵢ = 0, gives
# the lower bound D(u) = Σ cᵢ (uᵢ zᵢ(0) − ℓ*(uᵢ)) − p*(v) of P, where v = −Σ cᵢ uᵢ σᵢ xᵢ. Then
#
#     P(b, a) − D(u) = Σ cᵢ [ℓ(zᵢ) + ℓ*(uᵢ) − uᵢ zᵢ] + [p(b) + p*(v) − v·b]
#
# is a sum of Fenchel–Young differences, none of them negative: the gap is found without subtracting
# two large numbers. It is zero exactly where the KKT conditions u ∈ ∂ℓ(z), v ∈ ∂p(b), Σ cuσ = 0
# hold.


EPS = float(np.finfo(float).eps)
#: Rounding error of a sum over rows, relative to the sum of its absolute terms.
ROUNDING = 64.0 * EPS


class Penalty(Protocol):
    """What a duality gap needs of a penalty."""

    def value(self, b: Floats) -> float:
        """p(b)."""

    def excess(self, b: Floats, v: Floats) -> Floats:
        """p(b) + p*(v) − v·b by coordinate; |v·b| where a coordinate has no penalty."""

    def distance(self, b: Floats, v: Floats) -> Floats:
        """Distance of v to ∂p(b) by coordinate."""

    def offset(self, b: Floats, v: Floats) -> Floats:
        """V less the nearest point of ∂p(b), by coordinate."""

    def feasible_scale(self, v: Floats) -> float:
        """The largest t ≤ 1 for which p*(t·v) is sure to be finite."""


def certify_primal_dual(
    loss: Loss,
    penalty: Penalty,
    c: Floats,
    z: Floats,
    u: Floats,
    coef: Floats,
    v: Floats,
    *,
    claim: str,
    tolerance: float,
    intercept: Floats | float = 0.0,
    imbalance: Floats | float = 0.0,
    v_scale: Floats | float = 1.0,
    z_scale: float = 1.0,
    z_size: Floats | None = None,
    scale: float = np.nan,
    scale_of: str = "",
) -> Certificate:
    """Certificate of (b, a) from a dual point u, with v = −Xᵀ(c u σ) and imbalance = Σ c u σ.

    The gap is the smaller of those at u and at t·u, t being the scale that makes v feasible for
    the penalty. What rounding leaves of v and of the imbalance is charged to the gap at |b| and
    |a|, once for each of the two sides of Fenchel and Young's inequality; the KKT residual
    is the largest of |imbalance| / Σ c|u|, the distance of v to ∂p(b) in units of ``v_scale``, and
    the distance of (z, u) to the graph of ∂ℓ with z in units of ``z_scale``. The rounding error of
    the objective is what errors of ε · ``z_size``, the sizes of the terms that z is the sum of,
    leave in the losses.
    """
    conditions = [
        _largest(imbalance) / (float(c @ np.abs(u)) or 1.0),
        _largest_ratio(penalty.distance(coef, v), v_scale),
        _largest(loss.violation(z, u, z_scale)[c > 0.0]),
    ]
    v, charge = without_rounding(penalty, coef, v, ROUNDING * np.asarray(v_scale))
    gaps = [_gap(loss, penalty, c, z, u, coef, v)]
    t = penalty.feasible_scale(v)
    if t < 1.0:
        t *= 1.0 - 1e-15  # a dual point that is scaled into its domain stays inside by this factor
        gaps.append(_gap(loss, penalty, c, z, t * u, coef, t * v))
    charge += float(np.sum(np.abs(np.multiply(intercept, imbalance))))
    gap = float(np.fmin.reduce(gaps)) + 2.0 * charge
    primal = float(c @ loss.value(z)) + penalty.value(coef)
    return Certificate(
        claim=claim,
        primal=primal,
        dual=primal - gap,
        gap=gap,
        kkt=float(np.max(conditions)),
        tolerance=tolerance,
        rounding=rounding_of_losses(loss, c, z, np.abs(z) if z_size is None else z_size),
        scale=scale,
        scale_of=scale_of,
        statistic="the rows",
    )


def certify_residual(
    residual: Floats,
    v: Floats,
    b: Floats,
    cross: Floats,
    unit: Floats,
    alpha: float,
    tolerance: float,
) -> Certificate:
    """The certificate of b from r = y − Xb, Xᵀr and Xᵀy, with columns of length ``unit``.

    ``kkt`` is ‖Xᵀr − αb‖ / ‖Xᵀy‖ in equilibrated columns. Without penalty the gap is not bounded.
    """
    scale = float(np.linalg.norm(cross / unit)) or 1.0
    certificate = certify_primal_dual(
        Squared(),
        ElasticNetPenalty(np.zeros_like(b), np.full_like(b, alpha)),
        np.ones_like(residual),
        residual,
        residual,
        b,
        v,
        claim="Least squares by conjugate gradients" + (", with an ℓ₂ penalty" if alpha else ""),
        tolerance=tolerance,
    )
    certificate = replace(certificate, kkt=float(np.linalg.norm((v - alpha * b) / unit)) / scale)
    return (
        certificate if alpha else replace(certificate, gap=np.nan, dual=np.nan, promised=("kkt",))
    )


def without_rounding(penalty: Penalty, b: Floats, v: Floats, error: Floats) -> tuple[Floats, float]:
    """V moved towards ∂p(b) by its rounding ``error`` at most, and Σ |b|·|move|, the charge.

    Thresholds below the rounding errors of v could not be met otherwise.
    """
    off = np.clip(penalty.offset(b, v), -error, error)
    return v - off, float(np.abs(off * b).sum())


def rounding_of_losses(loss: Loss, c: Floats, z: Floats, size: Floats) -> float:
    """The change of Σ c ℓ(z) if every z is off by ε times the ``size`` of its terms."""
    value, error = loss.value(z), EPS * size
    off = np.maximum(np.abs(loss.value(z + error) - value), np.abs(loss.value(z - error) - value))
    return float(c @ off)


def _gap(
    loss: Loss, penalty: Penalty, c: Floats, z: Floats, u: Floats, coef: Floats, v: Floats
) -> float:
    """P − D where the intercept is balanced; a row without weight counts for nothing."""
    rows = float(c @ np.where(c > 0.0, loss.excess(z, u), 0.0))
    return rows + float(penalty.excess(coef, v).sum())


def joint_certificate(certificates: Sequence[Certificate]) -> Certificate:
    """One certificate of several independent problems: objectives and gaps add up."""
    primal, gap = sum(c.primal for c in certificates), sum(c.gap for c in certificates)
    return replace(
        certificates[0],
        primal=primal,
        gap=gap,
        dual=primal - gap,
        kkt=float(np.max([c.kkt for c in certificates])),
        rounding=sum(c.rounding for c in certificates),
        scale=sum(c.scale for c in certificates),
    )


def _largest(values: Floats | float) -> float:
    return float(np.abs(values).max(initial=0.0))


def _largest_ratio(distance: Floats, scale: Floats | float) -> float:
    """The largest distance / scale; where the scale is zero, nothing can be measured."""
    if np.ndim(scale) == 0:
        return _largest(distance / scale) if scale > 0.0 else 0.0
    known = np.asarray(scale) > 0.0
    return _largest(np.divide(distance, scale, out=np.zeros(distance.shape), where=known))
