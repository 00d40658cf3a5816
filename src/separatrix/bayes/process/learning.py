"""Hyperparameters by the maximum of the evidence: several starts on some rows, then all rows.

θ̂ = argmax over low ≤ θ ≤ high of log p(y | θ),    θ = logarithms of the hyperparameters

An evidence has several maxima as soon as a kernel can explain the same rows as noise, or as a
function that varies fast. Starts are compared on a sample of the rows (``preview``), where an
evaluation costs little; only what wins there, and what comes close, is climbed on all rows, from
the curvature that the sample has shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from separatrix.bayes.process.trust_region import Box, Maximum, Objective, maximize
from separatrix.optimize.solution import Status
from separatrix.rows.block import Floats

#: Differences of log evidence on a sample below which a second maximum is tried on all rows too.
CLOSE = 3.0
#: Two ends of ascents are one maximum within these differences of θ and of the evidence.
SAME_THETA, SAME_VALUE = 1e-2, 1e-3


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
        if free.any():
            values, vectors = np.linalg.eigh(self.curvature[np.ix_(free, free)])
            with np.errstate(divide="ignore"):
                inverse = np.where(values > 1e-10 * max(values.max(), 1e-300), 1.0 / values, np.inf)
            with np.errstate(invalid="ignore"):
                parts = np.where(vectors**2 > 1e-12, vectors**2 * inverse, 0.0)
            errors[free] = np.sqrt(parts.sum(axis=1))
        return errors


def learn(
    objective: Objective,
    starts: Sequence[Floats],
    box: Box,
    *,
    preview: Objective | None = None,
    growth: float = 1.0,
    tolerance: float = 1e-10,
    max_evaluations: int = 200,
) -> Learned:
    """The highest maximum that these starts lead to.

    Parameters
    ----------
    objective : callable
        θ ↦ (log evidence, gradient); −inf where it does not exist.
    starts : sequence of ndarray of shape (p,)
        Where ascents begin.
    box : Box
        Range of every entry, and where length scales cease to matter.
    preview : callable or None, default=None
        The same on a sample of the rows, on which all starts are compared.
    growth : float, default=1.0
        Number of all rows over those of the sample, by which curvature grows.
    tolerance : float, default=1e-10
        Gain of evidence that the last step may leave, in nats.
    max_evaluations : int, default=200
        Limit of evaluations of one ascent.

    Returns
    -------
    Learned
        The maximum with its curvature, and the others.
    """

    def climb(one: Objective, start: Floats, left: float, known: Floats | None = None) -> Maximum:
        return maximize(
            one, start, box, curvature=known, tolerance=left, max_evaluations=max_evaluations
        )

    if preview is None:
        ends = [climb(objective, start, tolerance) for start in starts]
    else:
        first = _distinct([climb(preview, start, max(1e-6, tolerance)) for start in starts])
        near = [one for one in first if one.value >= first[0].value - CLOSE][:2]
        ends = [climb(objective, one.theta, tolerance, growth * one.curvature) for one in near]
    evaluations = sum(end.evaluations for end in ends)
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


def _distinct(ends: list[Maximum]) -> list[Maximum]:
    """Different maxima, highest first; the first one stays where none is finite."""
    ranked = sorted(ends, key=lambda end: -np.nan_to_num(end.value, nan=-np.inf, neginf=-np.inf))
    found: list[Maximum] = []
    for end in ranked:
        if not found or (np.isfinite(end.value) and not any(_same(end, one) for one in found)):
            found.append(end)
    return found


def _same(a: Maximum, b: Maximum) -> bool:
    """Whether two ascents ended in one maximum; limits and flat directions do not tell."""
    if abs(a.value - b.value) > SAME_VALUE:
        return False
    difference = a.theta - b.theta
    flat = abs(difference @ a.curvature @ difference) <= SAME_VALUE
    return bool(flat or (np.abs(difference) <= SAME_THETA).all())
