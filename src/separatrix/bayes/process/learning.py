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

from separatrix.bayes.process.trust_region import Box, Maximum, Objective, maximize
from separatrix.optimize.solution import Status
from separatrix.rows.block import Floats

#: Differences of log evidence on a sample below which a second maximum is tried on all rows too.
CLOSE = 3.0
#: Curvature of a length scale that the data hardly determine: by more than a factor e.
UNDETERMINED = 1.0
#: Difference of θ below which two maxima of a sample are alike.
ALIKE = 0.3
#: Gain that later ascents may leave, where they do not come higher than the first.
ROUGH = 1e-3
#: Two ends of ascents are one maximum within these differences of θ and of the evidence.
SAME_THETA, SAME_VALUE = 1e-2, 1e-2


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
class Sample:
    """The evidence of some of the rows, and how many of all rows one of them stands for."""

    objective: Objective
    growth: float


def learn(
    objective: Objective,
    starts: Sequence[Floats],
    box: Box,
    *,
    samples: Sequence[Sample] = (),
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
    box : Box
        Range of every entry, and where length scales cease to matter.
    samples : sequence of Sample, default=()
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
    stages = [*samples, Sample(objective, 1.0)]
    last, ends, growth = len(stages) - 1, list[Maximum](), stages[0].growth
    for i, stage in enumerate(stages):
        left = tolerance if i == last else max(1e-5, tolerance)
        if i == 0:
            search = Search(stage.objective, box, left, max_evaluations)
            ends = search.from_starts(starts, least)
            ends += search.near(_distinct(ends)[0], related)
        else:
            factor = growth / stage.growth
            near = [ends[0], *(one for one in ends[1:] if _rivals(one, ends[0]))][:2]
            ends = [
                maximize(
                    stage.objective,
                    one.theta,
                    box,
                    curvature=factor * one.curvature,
                    tolerance=left,
                    max_evaluations=max_evaluations,
                )
                for one in near
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
class Search:
    """Ascents of one objective from several starts."""

    objective: Objective
    box: Box
    tolerance: float
    max_evaluations: int

    def climb(self, start: Floats, tolerance: float) -> Maximum:
        """One ascent."""
        most = self.max_evaluations
        return maximize(self.objective, start, self.box, tolerance=tolerance, max_evaluations=most)

    def again(self, start: Floats, best: Maximum) -> Maximum:
        """An ascent that stops early, and goes on only where it has come higher than the best."""
        end = self.climb(start, max(self.tolerance, ROUGH))
        return self.climb(end.theta, self.tolerance) if end.value > best.value else end

    def from_starts(self, starts: Sequence[Floats], least: int) -> list[Maximum]:
        """Ascents from the starts, until two of them have ended in the highest maximum so far."""
        ends = [self.climb(starts[0], self.tolerance)]
        for start in starts[1:]:
            best = _distinct(ends)[0]
            if len(ends) >= least and sum(_same(end, best) for end in ends) > 1:
                break
            ends.append(self.again(start, best))
        return ends

    def near(
        self, best: Maximum, related: Callable[[Floats], Sequence[Floats]] | None
    ) -> list[Maximum]:
        """Ascents from near the best: without columns that hardly matter, and related points."""
        if not np.isfinite(best.value):
            return []
        starts = [*_without_columns(best, self.box)]
        near = [] if related is None else list(related(best.theta))
        if near:
            values = [self.objective(np.clip(one, self.box.low, self.box.high))[0] for one in near]
            starts.append(near[int(np.argmax(values))])
        return [self.again(start, best) for start in starts]


def _without_columns(best: Maximum, box: Box) -> list[Floats]:
    """Another start, where length scales that are hardly determined are at their end."""
    candidates = np.isfinite(box.vanishing) & (best.theta < box.high) & ~best.at_limit
    curvature = np.diagonal(best.curvature)
    candidates &= (curvature < UNDETERMINED) & (best.theta > box.vanishing - 1.0)
    return [np.where(candidates, box.high, best.theta)] if candidates.any() else []


def _distinct(ends: list[Maximum]) -> list[Maximum]:
    """Different maxima, highest first; the first one stays where none is finite."""
    ranked = sorted(ends, key=lambda end: -np.nan_to_num(end.value, nan=-np.inf, neginf=-np.inf))
    found: list[Maximum] = []
    for end in ranked:
        if not found or (np.isfinite(end.value) and not any(_same(end, one) for one in found)):
            found.append(end)
    return found


def _rivals(other: Maximum, best: Maximum) -> bool:
    """Whether another maximum of a sample comes close, and differs in what the sample determines.

    Columns that hardly matter make many maxima of about the same evidence: more rows decide, from
    any of them.
    """
    if not other.value >= best.value - CLOSE:
        return False
    determined = np.diagonal(best.curvature) > UNDETERMINED
    return bool((np.abs(other.theta - best.theta)[determined] > ALIKE).any())


def _same(a: Maximum, b: Maximum) -> bool:
    """Whether two ascents ended in one maximum; limits and flat directions do not tell."""
    if abs(a.value - b.value) > SAME_VALUE:
        return False
    difference = a.theta - b.theta
    flat = abs(difference @ a.curvature @ difference) <= SAME_VALUE
    return bool(flat or (np.abs(difference) <= SAME_THETA).all())
