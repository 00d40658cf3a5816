"""A maximum over a box, from values and gradients alone.

max over θ in [low, high] of f(θ):   steps s of the model f + g·s − ½ s·B s within ‖s‖ ≤ r

B, the curvature −∇²f, is learned from the changes of the gradient by symmetric updates of rank one,
which need not be positive and approach the true curvature: what they end with is an estimate of it.
Where an update of rank one would divide by next to nothing, one of rank two takes its place.

J. Nocedal and S. Wright, Numerical Optimization, 2006, chapter 6.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from separatrix.optimize.solution import Status
from separatrix.rows.block import Floats

#: θ ↦ f(θ) and its gradient; −inf where f is not defined.
Objective = Callable[[Floats], tuple[float, Floats]]
#: Radius of the first step, and of the longest: hyperparameters are logarithms.
FIRST_RADIUS, LONGEST_RADIUS = 1.0, 4.0
#: Radius at which no step was found to be better.
SHORTEST = 1e-9
#: Gradient below which a coordinate beyond its vanishing point is moved to its end.
PLATEAU = 0.2
#: How far steps may lead, added up, until the curvature is computed anew.
NEAR = 0.3
#: Cosine between a step and what the model missed along it, below which rank one is too little.
SINGULAR = 0.2
#: Differences of f that rounding may explain, in nats and as a part of f.
NOISE, ROUNDING = 1e-6, 1e-12


@dataclass(frozen=True)
class Box:
    """Where to look: ``low`` ≤ θ ≤ ``high``.

    ``vanishing`` has a number for coordinates on which f depends as c exp(−2θ) from there on (a
    length scale), infinity for others: where a plateau promises little more, they are moved to the
    end of their range at once.
    """

    low: Floats
    high: Floats
    vanishing: Floats

    @classmethod
    def of(cls, low: Floats, high: Floats, vanishing: Floats | None = None) -> Box:
        """A box whose coordinates have no plateaus, unless they are given."""
        return cls(low, high, np.full(len(low), np.inf) if vanishing is None else vanishing)


@dataclass(frozen=True)
class Maximum:
    """Where an ascent ended.

    ``curvature`` approximates −∇²f, ``gain`` is what the quadratic model still promises, and
    ``at_limit`` marks coordinates that are stopped by the box.
    """

    theta: Floats
    value: float
    gradient: Floats
    curvature: Floats
    gain: float
    at_limit: np.ndarray
    evaluations: int
    status: Status


def maximize(
    objective: Objective,
    start: Floats,
    box: Box,
    *,
    curvature: Floats | None = None,
    tolerance: float = 1e-10,
    max_evaluations: int = 200,
) -> Maximum:
    """Climb from ``start`` until the model promises a gain below ``tolerance``.

    ``curvature`` is a first guess of −∇²f, of a sample of the rows for instance. An objective with
    a method ``information`` gives one itself, at the point of its last evaluation.
    """
    ascent = _Ascent(objective, start, box, curvature)
    status = None
    while status is None:
        if ascent.evaluations >= max_evaluations or not np.isfinite(ascent.value):
            status = Status.LIMIT
        elif not ascent.leap():
            status = ascent.step(tolerance)
    return ascent.end(status)


class _Ascent:
    """A point with its value and gradient, the curvature as known so far, and the radius."""

    def __init__(
        self, objective: Objective, start: Floats, box: Box, curvature: Floats | None
    ) -> None:
        self.objective, self.box = objective, box
        self.theta = np.clip(np.asarray(start, dtype=float), box.low, box.high)
        self.value, self.gradient = objective(self.theta)
        self.evaluations, self.radius, self.misses, self.moved = 1, FIRST_RADIUS, 0, 0.0
        self.tried = np.zeros(len(self.theta), dtype=bool)
        self.information: Callable[[], Floats] | None = getattr(objective, "information", None)
        self.scaled = curvature is not None or self.information is not None
        if self.information is not None and np.isfinite(self.value):
            self.b = self.information()
        elif curvature is not None:
            self.b = np.array(curvature)
        else:
            self.b = _first_curvature(self.gradient)

    @property
    def free(self) -> np.ndarray:
        """Coordinates that the box does not stop."""
        return ~_blocked(self.theta, self.gradient, self.box)

    def leap(self) -> bool:
        """Move coordinates on a plateau to the end of their range, once each."""
        far = _plateau(self.theta, self.gradient, self.b, self.box) & self.free & ~self.tried
        if not far.any():
            return False
        self.tried |= far
        there = np.where(far, self.box.high, self.theta)
        value, gradient = self.objective(there)
        self.evaluations += 1
        if value >= self.value - ROUNDING * abs(self.value):
            self.theta, self.value, self.gradient = there, value, gradient
        return True

    def step(self, tolerance: float) -> Status | None:
        """One step of the model; why the ascent ends, or None."""
        low, high = self.box.low - self.theta, self.box.high - self.theta
        step, stopped = _step_in_box(self.gradient, self.b, self.free, self.radius, low, high)
        promised = float(self.gradient @ step - 0.5 * step @ self.b @ step)
        if promised <= tolerance and not stopped:
            return Status.CONVERGED
        there = np.clip(self.theta + step, self.box.low, self.box.high)
        value, gradient = self.objective(there)
        self.evaluations += 1
        length = float(np.linalg.norm(step))
        if not np.isfinite(value):
            self.radius = 0.25 * length
            return Status.ROUNDING if length < SHORTEST else None
        change = self.gradient - gradient
        self.b = _updated(self.b, step, change)
        if not self.scaled:
            self.b, self.scaled = _rescaled(self.b, step, change), True
        if promised <= NOISE + ROUNDING * (abs(self.value) + abs(value)):
            # values differ by rounding: the gradient decides
            ends = _size(gradient, there, self.box), _size(self.gradient, self.theta, self.box)
            better = ends[0] < 0.5 * ends[1]
            self.misses = 0 if better else self.misses + 1
        else:
            better = value - self.value > 1e-4 * promised
            self._resize((value - self.value) / promised, length, stopped=stopped)
        if better:
            self.theta, self.value, self.gradient = there, value, gradient
            self.moved += length
            if self.information is not None and self.moved > NEAR:
                self.b, self.moved = self.information(), 0.0
        return Status.ROUNDING if self.misses > 1 or self.radius < SHORTEST else None

    def _resize(self, ratio: float, length: float, *, stopped: bool) -> None:
        """A longer radius where the model was right up to it, a shorter one where it was wrong."""
        if ratio > 0.75 and stopped:
            self.radius = min(2.0 * self.radius, LONGEST_RADIUS)
        elif ratio < 0.25:
            self.radius = 0.25 * length

    def end(self, status: Status) -> Maximum:
        """Where the ascent is."""
        ends = (self.theta <= self.box.low) | (self.theta >= self.box.high)
        blocked = ~self.free | (ends & (np.abs(self.gradient) < 1e-6))
        step, _ = _step(self.gradient, self.b, ~blocked, LONGEST_RADIUS)
        gain = max(0.0, float(self.gradient @ step - 0.5 * step @ self.b @ step))
        return Maximum(
            self.theta,
            self.value,
            self.gradient,
            self.b,
            gain,
            blocked,
            self.evaluations,
            status,
        )


def _first_curvature(gradient: Floats) -> Floats:
    """A multiple of the identity by which the first step has about unit length."""
    return np.eye(len(gradient)) * max(float(np.linalg.norm(gradient)), 1e-8)


def _rescaled(b: Floats, step: Floats, change: Floats) -> Floats:
    """The identity scaled to the curvature along the first step, corrected along it."""
    along = float(step @ change)
    if along <= 0.0:
        return b
    return _updated(np.eye(len(step)) * (float(change @ change) / along), step, change)


def _updated(b: Floats, step: Floats, change: Floats) -> Floats:
    """An update after which B s equals the change of the gradient.

    Of rank one; where that would divide by next to nothing, the one of rank two that leaves B
    positive.
    """
    product = b @ step
    left = change - product
    along, size = float(left @ step), float(np.linalg.norm(left)) * float(np.linalg.norm(step))
    if abs(along) > SINGULAR * size:
        return np.asarray(b + np.outer(left, left) / along)
    curved, before = float(change @ step), float(product @ step)
    if min(curved, before) <= 1e-8 * size:
        return b
    return np.asarray(b + np.outer(change, change) / curved - np.outer(product, product) / before)


def _blocked(theta: Floats, gradient: Floats, box: Box) -> np.ndarray:
    """Coordinates at an end of their range that the gradient points out of."""
    at_low = (theta <= box.low) & (gradient <= 0)
    return np.asarray(at_low | ((theta >= box.high) & (gradient >= 0)))


def _plateau(theta: Floats, gradient: Floats, b: Floats, box: Box) -> np.ndarray:
    """Coordinates far out on a plateau: all that is left to gain there is half the gradient."""
    rising = (theta > box.vanishing) & (gradient > 0) & (gradient < PLATEAU)
    # c exp(−2θ) curves by twice its slope; a maximum that is near curves much more
    return np.asarray(rising & (np.diagonal(b) < 10.0 * gradient))


def _size(gradient: Floats, theta: Floats, box: Box) -> float:
    free = ~_blocked(theta, gradient, box)
    return float(np.abs(gradient[free]).max(initial=0.0))


def _step_in_box(
    gradient: Floats, b: Floats, free: np.ndarray, radius: float, low: Floats, high: Floats
) -> tuple[Floats, bool]:
    """The step of the free coordinates; those that it leads out of the box stop at its side."""
    free, fixed = free.copy(), np.zeros(len(gradient))
    for _ in range(len(gradient) + 1):
        step, boundary = _step(gradient - b @ fixed, b, free, radius)
        out = free & ((step < low) | (step > high))
        if not out.any():
            break
        fixed[out] = np.clip(step, low, high)[out]
        free &= ~out
    return np.asarray(step + fixed), boundary


def _step(gradient: Floats, b: Floats, free: np.ndarray, radius: float) -> tuple[Floats, bool]:
    """The best step of the free coordinates within the radius; whether that stops it."""
    step = np.zeros(len(gradient))
    if not free.any():
        return step, False
    values, vectors = np.linalg.eigh(b[np.ix_(free, free)])
    g = vectors.T @ gradient[free]
    largest = float(np.abs(values).max())
    least = max(largest * 1e-14, np.finfo(float).tiny)
    with np.errstate(over="ignore"):
        plain = g / np.maximum(values, least)
    if values[0] > least and float(np.linalg.norm(plain)) <= radius:
        step[free] = vectors @ plain
        return step, False
    shift = _shift(values, g, radius, least)
    found = g / np.maximum(values + shift, least)
    missing = radius**2 - float(found @ found)
    if missing > 1e-6 * radius**2 and values[0] <= least:  # along the direction of least curvature
        found[0] += np.copysign(np.sqrt(missing), g[0])
    step[free] = vectors @ found
    return step, True


def _shift(values: Floats, g: Floats, radius: float, least: float) -> float:
    """μ of ‖(B + μ)⁻¹ g‖ = r, by Newton's method for 1/‖·‖ within a bracket."""
    low = max(0.0, -float(values[0]))
    high = low + max(float(np.sqrt(g @ g)) / radius, least)
    shift = high
    for _ in range(30):
        divisors = np.maximum(values + shift, least)
        scaled = g / divisors
        square = float(scaled @ scaled)
        length = np.sqrt(square)
        if length > radius:
            low = shift
        else:
            high = shift
        if abs(length - radius) <= 1e-3 * radius or high - low <= 1e-12 * high:
            break
        slope = float(scaled @ (scaled / divisors))
        newton = shift + (length - radius) / radius * square / max(slope, least)
        shift = newton if low < newton < high else 0.5 * (low + high)
    return shift
