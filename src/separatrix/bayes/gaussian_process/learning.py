"""Hyperparameters by the maximum of the evidence: several starts on some rows, then all rows.

θ̂ = argmax over low ≤ θ ≤ high of log p(y | θ),    θ = logarithms of the hyperparameters

An evidence has several maxima as soon as a kernel can explain the same rows as noise, or as a
function that varies fast. Starts are compared on a sample of the rows, where an evaluation
costs little; only what wins there, and what comes close, is climbed on more rows, from the
curvature that the sample has shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from separatrix.arrays import Floats
from separatrix.bayes.gaussian_process.evidence import ProcessRows
from separatrix.bayes.gaussian_process.model import function_entries
from separatrix.kernels import Kernel, Sum, natural_scales
from separatrix.optimize.convex import Status

#: Curvature of the evidence up to which, and standard error from which, the data hardly determine
#: the logarithm of a hyperparameter: by more than a factor e in either direction.
UNDETERMINED = 1.0


@dataclass(frozen=True)
class Optimum:
    """A maximum of the evidence: hyperparameters and the evidence there."""

    theta: Floats
    value: float


@dataclass(frozen=True)
class Learned:
    """Learned hyperparameters.

    Attributes
    ----------
    theta : ndarray of shape (p,)
        θ of the highest evidence found.
    value : float
        The evidence there.
    gradient : ndarray of shape (p,)
        Its gradient.
    curvature : ndarray of shape (p, p)
        −∇² of the evidence; an approximation from the steps of the ascent.
    at_limit : ndarray of shape (p,)
        Entries stopped by an end of their range.
    others : tuple of Optimum
        The other maxima found, highest first.
    evaluations : int
        Evaluations of the objective on all rows.
    status : Status
        Why the ascent ended.
    """

    theta: Floats
    value: float
    gradient: Floats
    curvature: Floats
    at_limit: np.ndarray
    others: tuple[Optimum, ...]
    evaluations: int
    status: Status

    @property
    def standard_errors(self) -> Floats:
        """Standard deviations of θ by the curvature; infinite where the data do not determine it.

        Entries at a limit are given as infinite too: the maximum is not inside.
        """
        errors = np.full(len(self.theta), np.inf)
        free = ~self.at_limit
        if free.any() and np.isfinite(self.curvature).all():
            values, vectors = np.linalg.eigh(self.curvature[np.ix_(free, free)])
            with np.errstate(divide="ignore"):
                inverse = np.where(values > 1e-10 * max(values.max(), 1e-300), 1.0 / values, np.inf)
            with np.errstate(invalid="ignore"):
                parts = np.where(vectors**2 > 1e-12, vectors**2 * inverse, 0.0)
            errors[free] = np.sqrt(parts.sum(axis=1))
        return errors


@dataclass(frozen=True)
class EvidenceSample:
    """The evidence of some of the rows, and how many of all rows one of them stands for."""

    objective: Objective
    growth: float


def learn(
    objective: Objective,
    starts: Sequence[Floats],
    box: Bounds,
    *,
    samples: Sequence[EvidenceSample] = (),
    least: int = 2,
    related: Callable[[Floats], Sequence[Floats]] | None = None,
    tolerance: float = 1e-10,
    max_evaluations: int = 200,
) -> Learned:
    """The highest maximum that these starts lead to.

    Parameters
    ----------
    objective : callable
        θ ↦ (log evidence, gradient); −inf where it does not exist.
    starts : sequence of ndarray of shape (p,)
        Where ascents begin, the most promising first. Once ``least`` have ended, and two of them in
        the highest maximum, the others are not needed.
    box : Bounds
        Range of every entry, and where length scales cease to matter.
    samples : sequence of EvidenceSample, default=()
        The same on growing samples of the rows: all starts are compared on the smallest.
    least : int, default=2
        Ascents at least.
    related : callable or None, default=None
        Further starts near a maximum that was found; the one of highest evidence is climbed.
    tolerance : float, default=1e-10
        Gain of evidence that the last step may leave, in nats.
    max_evaluations : int, default=200
        Limit of evaluations of one ascent.

    Returns
    -------
    Learned
        The maximum with its curvature, and the others.
    """
    stages = [*samples, EvidenceSample(objective, 1.0)]
    last, ends, growth = len(stages) - 1, list[AscentEnd](), stages[0].growth
    for i, stage in enumerate(stages):
        left = tolerance if i == last else max(1e-5, tolerance)
        if i == 0:
            search = MultistartAscent(stage.objective, box, left, max_evaluations)
            ends = search.from_starts(starts, least)
            ends += search.near(_distinct(ends)[0], related)
        else:
            factor = growth / stage.growth
            near = [ends[0], *(start for start in ends[1:] if _rivals(start, ends[0]))][:2]
            ends = [
                maximize(
                    stage.objective,
                    start.theta,
                    box,
                    curvature=factor * start.curvature,
                    tolerance=left,
                    max_evaluations=max_evaluations,
                )
                for start in near
            ]
        growth, evaluations = stage.growth, sum(end.evaluations for end in ends)
        ends = _distinct(ends)
    best = ends[0]
    return Learned(
        best.theta,
        best.value,
        best.gradient,
        best.curvature,
        best.at_limit,
        tuple(Optimum(end.theta, end.value) for end in ends[1:]),
        evaluations,
        best.status,
    )


@dataclass(frozen=True)
class MultistartAscent:
    """Ascents of one objective from several starts."""

    objective: Objective
    box: Bounds
    tolerance: float
    max_evaluations: int

    def climb(self, start: Floats, tolerance: float) -> AscentEnd:
        """One ascent."""
        most = self.max_evaluations
        return maximize(self.objective, start, self.box, tolerance=tolerance, max_evaluations=most)

    def again(self, start: Floats, best: AscentEnd) -> AscentEnd:
        """An ascent that stops early, and goes on only where it has come higher than the best."""
        # Gain that later ascents may leave, where they do not come higher than the first.
        end = self.climb(start, max(self.tolerance, 1e-3))
        return self.climb(end.theta, self.tolerance) if end.value > best.value else end

    def from_starts(self, starts: Sequence[Floats], least: int) -> list[AscentEnd]:
        """Ascents from the starts, until two of them have ended in the highest maximum so far."""
        ends = [self.climb(starts[0], self.tolerance)]
        for start in starts[1:]:
            best = _distinct(ends)[0]
            if len(ends) >= least and sum(_same(end, best) for end in ends) > 1:
                break
            ends.append(self.again(start, best))
        return ends

    def near(
        self, best: AscentEnd, related: Callable[[Floats], Sequence[Floats]] | None
    ) -> list[AscentEnd]:
        """Ascents from near the best: without columns that hardly matter, and related points."""
        if not np.isfinite(best.value):
            return []
        starts = [*_without_columns(best, self.box)]
        near = [] if related is None else list(related(best.theta))
        if near:
            values = [
                self.objective(np.clip(candidate, self.box.low, self.box.high))[0]
                for candidate in near
            ]
            starts.append(near[int(np.argmax(values))])
        return [self.again(start, best) for start in starts]


def _without_columns(best: AscentEnd, box: Bounds) -> list[Floats]:
    """Another start, where length scales that are hardly determined are at their end."""
    candidates = np.isfinite(box.vanishing) & (best.theta < box.high) & ~best.at_limit
    curvature = np.diagonal(best.curvature)
    candidates &= (curvature < UNDETERMINED) & (best.theta > box.vanishing - 1.0)
    return [np.where(candidates, box.high, best.theta)] if candidates.any() else []


def _distinct(ends: list[AscentEnd]) -> list[AscentEnd]:
    """Different maxima, highest first; the first one stays where none is finite."""
    ranked = sorted(ends, key=lambda end: -np.nan_to_num(end.value, nan=-np.inf, neginf=-np.inf))
    ascent_ends: list[AscentEnd] = []
    for end in ranked:
        if not ascent_ends or (
            np.isfinite(end.value) and not any(_same(end, theta) for theta in ascent_ends)
        ):
            ascent_ends.append(end)
    return ascent_ends


def _rivals(other: AscentEnd, best: AscentEnd) -> bool:
    """Whether another maximum of a sample comes close, and differs in what the sample determines.

    Columns that hardly matter make many maxima of about the same evidence: more rows decide, from
    any of them.
    """
    # Differences of log evidence on a sample below which a second maximum is tried on all rows too.
    if not other.value >= best.value - 3.0:
        return False
    determined = np.diagonal(best.curvature) > UNDETERMINED
    # Difference of θ below which two maxima of a sample are alike.
    return bool((np.abs(other.theta - best.theta)[determined] > 0.3).any())


def _same(a: AscentEnd, b: AscentEnd) -> bool:
    """Whether two ascents ended in one maximum; limits and flat directions do not tell."""
    same_value = 1e-2  # two ends of ascents are one maximum within this difference of the evidence
    if abs(a.value - b.value) > same_value:
        return False
    difference = a.theta - b.theta
    flat = abs(difference @ a.curvature @ difference) <= same_value
    # Two ends of ascents are one maximum within this difference of θ.
    return bool(flat or (np.abs(difference) <= 1e-2).all())


# -------------------------------------------------------------------------------------------------
# A maximum over a box, from values and gradients alone.
#
# max over θ in [low, high] of f(θ):   steps s of the model f + g·s − ½ s·B s within ‖s‖ ≤ r
#
# B, the curvature −∇²f, is learned from the changes of the gradient by symmetric updates of rank
# one, which need not be positive and approach the true curvature: what they end with is an estimate
# of it. Where an update of rank one would divide by almost zero, one of rank two takes its
# place.
#
# J. Nocedal and S. Wright, Numerical Optimization, 2006, chapter 6.2.


#: θ ↦ f(θ) and its gradient; −inf where f is not defined.
Objective = Callable[[Floats], tuple[float, Floats]]
#: Radius of the longest step, four times that of the first: hyperparameters are logarithms.
LONGEST_RADIUS = 4.0
#: Differences of f that rounding may explain, in nats and as a part of f.
NOISE, ROUNDING = 1e-6, 1e-12


@dataclass(frozen=True)
class Bounds:
    """Where to look: ``low`` ≤ θ ≤ ``high``.

    ``vanishing`` has a number for coordinates on which f depends as c exp(−2θ) from there on (a
    length scale), infinity for others: where a plateau promises little more, they are moved to the
    end of their range at once.
    """

    low: Floats
    high: Floats
    vanishing: Floats

    @classmethod
    def of(cls, low: Floats, high: Floats, vanishing: Floats | None = None) -> Bounds:
        """A box whose coordinates have no plateaus, unless they are given."""
        return cls(low, high, np.full(len(low), np.inf) if vanishing is None else vanishing)


@dataclass(frozen=True)
class AscentEnd:
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
    box: Bounds,
    *,
    curvature: Floats | None = None,
    tolerance: float = 1e-10,
    max_evaluations: int = 200,
) -> AscentEnd:
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
        self, objective: Objective, start: Floats, box: Bounds, curvature: Floats | None
    ) -> None:
        self.objective, self.box = objective, box
        self.theta = np.clip(np.asarray(start, dtype=float), box.low, box.high)
        self.value, self.gradient = objective(self.theta)
        self.evaluations, self.radius, self.misses, self.moved = 1, 0.25 * LONGEST_RADIUS, 0, 0.0
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
        return ~_at_bounds(self.theta, self.gradient, self.box)

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
        shortest = 1e-9  # radius at which no step was found to be better
        if not np.isfinite(value):
            self.radius = 0.25 * length
            return Status.ROUNDING if length < shortest else None
        change = self.gradient - gradient
        self.b = _update_curvature(self.b, step, change)
        if not self.scaled:
            self.b, self.scaled = _rescale_curvature(self.b, step, change), True
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
            # How far steps may lead, added up, until the curvature is computed anew.
            if self.information is not None and self.moved > 0.3:
                self.b, self.moved = self.information(), 0.0
        return Status.ROUNDING if self.misses > 1 or self.radius < shortest else None

    def _resize(self, ratio: float, length: float, *, stopped: bool) -> None:
        """A longer radius where the model was right up to it, a shorter one where it was wrong."""
        if ratio > 0.75 and stopped:
            self.radius = min(2.0 * self.radius, LONGEST_RADIUS)
        elif ratio < 0.25:
            self.radius = 0.25 * length

    def end(self, status: Status) -> AscentEnd:
        """Where the ascent is."""
        ends = (self.theta <= self.box.low) | (self.theta >= self.box.high)
        blocked = ~self.free | (ends & (np.abs(self.gradient) < 1e-6))
        step, _ = _step(self.gradient, self.b, ~blocked, LONGEST_RADIUS)
        gain = max(0.0, float(self.gradient @ step - 0.5 * step @ self.b @ step))
        return AscentEnd(
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


def _rescale_curvature(b: Floats, step: Floats, change: Floats) -> Floats:
    """The identity scaled to the curvature along the first step, corrected along it."""
    along = float(step @ change)
    if along <= 0.0:
        return b
    return _update_curvature(np.eye(len(step)) * (float(change @ change) / along), step, change)


def _update_curvature(b: Floats, step: Floats, change: Floats) -> Floats:
    """An update after which B s equals the change of the gradient.

    Of rank one; where that would divide by almost zero, the one of rank two that leaves B
    positive.
    """
    product = b @ step
    left = change - product
    along, size = float(left @ step), float(np.linalg.norm(left)) * float(np.linalg.norm(step))
    # Cosine between a step and what the model missed along it, below which rank one is too little.
    if abs(along) > 0.2 * size:
        return np.asarray(b + np.outer(left, left) / along)
    curved, before = float(change @ step), float(product @ step)
    if min(curved, before) <= 1e-8 * size:
        return b
    return np.asarray(b + np.outer(change, change) / curved - np.outer(product, product) / before)


def _at_bounds(theta: Floats, gradient: Floats, box: Bounds) -> np.ndarray:
    """Coordinates at an end of their range that the gradient points out of."""
    at_low = (theta <= box.low) & (gradient <= 0)
    return np.asarray(at_low | ((theta >= box.high) & (gradient >= 0)))


def _plateau(theta: Floats, gradient: Floats, b: Floats, box: Bounds) -> np.ndarray:
    """Coordinates far out on a plateau: all that is left to gain there is half the gradient."""
    # Gradient below which a coordinate beyond its vanishing point is moved to its end.
    rising = (theta > box.vanishing) & (gradient > 0) & (gradient < 0.2)
    # c exp(−2θ) curves by twice its slope; a maximum that is near curves much more
    return np.asarray(rising & (np.diagonal(b) < 10.0 * gradient))


def _size(gradient: Floats, theta: Floats, box: Bounds) -> float:
    free = ~_at_bounds(theta, gradient, box)
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


# -------------------------------------------------------------------------------------------------
# Where hyperparameters are looked for: around the data's own scales, in any units.
#
# Length scales are measured in standard deviations of their columns, variances in mean squares of
# the target. The box around them is so wide that its ends mean "no effect" or "rounding".


#: Half widths of the box, as logarithms: of length scales, of variances below and above, of others.
LENGTHS, SMALLER, LARGER, OTHERS = np.log([1e4, 1e10, 1e8, 1e4])


def target_square(rows: ProcessRows) -> float:
    """Mean square of the target about its trend; 1 where it is zero."""
    y, w = rows.y, rows.w
    if rows.basis.shape[1]:
        root = np.sqrt(w)[:, None]
        y = y - rows.basis @ np.linalg.lstsq(root * rows.basis, root * y, rcond=None)[0]
    square = float(np.average((y**2).mean(axis=1), weights=w))
    largest = float((rows.y**2).max(initial=0.0))
    return square if square > 1e-20 * largest and square > 0.0 else (largest or 1.0)


def natural_kernel(kernel: Kernel, rows: ProcessRows) -> Kernel:
    """The kernel with hyperparameters of the size of the data."""
    return natural_scales(kernel, rows.x, rows.w, target_square(rows))


def lengths(kernel: Kernel) -> np.ndarray:
    """Marks the entries of θ that are length scales."""
    return np.array([name.startswith("bandwidth") for name in kernel.theta_names], dtype=bool)


def box_around(natural: Kernel, *given: Floats) -> Bounds:
    """Ranges of θ around natural values, which contain the given points; given bounds hold."""
    center, is_length = natural.theta, lengths(natural)
    is_noise = ~function_entries(natural)
    is_variance = np.array(
        [
            name.startswith(("variance", "factor", "value", "constant"))
            for name in natural.theta_names
        ],
        dtype=bool,
    )
    below = np.where(is_length, LENGTHS, np.where(is_variance | is_noise, SMALLER, OTHERS))
    above = np.where(is_length, LENGTHS, np.where(is_variance | is_noise, LARGER, OTHERS))
    low = np.min([center - below, *given], axis=0)
    high = np.max([center + above, *given], axis=0)
    bounds = natural.bounds
    bounded = np.array([p.bounded or not p.positive for p in natural._continuous()], dtype=bool)
    low = np.where(bounded, bounds[:, 0], low)
    high = np.where(bounded, bounds[:, 1], high)
    plateau = is_length & ~bounded
    # A column may not matter at all where its length scale is this many times its natural one.
    return Bounds(low, high, np.where(plateau, center + float(np.log(5.0)), np.inf))


@dataclass(frozen=True)
class RadialTerm:
    """A term of a sum with a length scale: where in θ it and its variance are, and of what kind."""

    length: int
    variance: int | None
    kind: Kernel


def radial_terms(kernel: Kernel) -> list[RadialTerm]:
    """The terms of a sum that have one length scale for all columns, or are not sums: none."""
    terms: list[RadialTerm] = []
    at = 0
    for term in kernel.operands if isinstance(kernel, Sum) else ():
        names = [name for name, p in term._hyperparameters() if p.continuous]
        if "bandwidth" in names:
            variances = [i for i, name in enumerate(names) if name in ("constant", "factor")]
            variance = at + variances[0] if variances else None
            kind = term.with_theta(np.zeros(len(names)))
            terms.append(RadialTerm(at + names.index("bandwidth"), variance, kind))
        at += len(names)
    return terms


def swap_scales(kernel: Kernel, theta: Floats) -> list[Floats]:
    """θ with the length scales and variances of two different terms of a sum exchanged.

    Two terms can play each other's part, and an evidence has a maximum for either cast.
    """
    terms, swaps = radial_terms(kernel), []
    for i, term in enumerate(terms):
        for other in terms[:i]:
            if term.kind != other.kind:
                swapped = theta.copy()
                swapped[[term.length, other.length]] = theta[[other.length, term.length]]
                if term.variance is not None and other.variance is not None:
                    pair = [term.variance, other.variance]
                    swapped[pair] = theta[pair[::-1]]
                swaps.append(swapped)
    return swaps


def data_starts(natural: Kernel) -> list[Floats]:
    """From the data's scales; then functions that vary fast with little noise; then the reverse."""
    center, is_length = natural.theta, lengths(natural)
    is_noise = ~function_entries(natural)
    fast = center - np.log(3.0) * is_length - np.log(30.0) * is_noise
    slow = center + np.log(3.0) * is_length + np.log(5.0) * is_noise
    return [center, fast, slow]
