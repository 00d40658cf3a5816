"""Maximum likelihood for logistic models, with or without a ridge penalty.

Newton's method where the curvature is cheap beside reading the rows: every pass brings value,
slope and curvature, and a handful of passes suffice. Where it is not (many classes, many columns),
the curvature of a sample of rows serves as metric, and steps remember what the slope did since.
Either way the first steps are taken on a sample, so that whole passes start near the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from separatrix.logistic.preconditioner import (
    LARGEST_METRIC,
    metric,
    sample_metric,
    sample_rows,
)
from separatrix.logistic.problem import At, LogisticProblem, LogisticSettings
from separatrix.logistic.separation import (
    Separation,
    along_boundary,
    by_programming,
    completely,
)
from separatrix.rows.block import Floats
from separatrix.rows.rows import InMemory
from separatrix.threads import small_products

#: Parameters up to which one pass may bring the whole curvature, for one score and for several.
NEWTON_ONE, NEWTON_MORE = 600, 120
#: Fraction of the promised decrease that a step must deliver.
SUFFICIENT = 1e-4
#: Steps remembered.
MEMORY = 12
#: Passes at which a fit without penalty that has not settled is examined for separation.
EXAMINED = (12, 16, 24, 40, 80, 160)


@dataclass(frozen=True)
class Descent:
    """Where a descent ended: ``theta`` before, and ``step`` still to be subtracted from it."""

    theta: Floats
    step: Floats
    status: str
    passes: int
    history: Floats
    hessian: Floats | None = None
    separation: Separation | None = None


def minimise(problem: LogisticProblem, start: Floats, settings: LogisticSettings) -> Descent:
    """Minimise F (without ℓ₁ part) from ``start``."""
    width, k = problem.shape
    exact = width * k <= (NEWTON_ONE if k == 1 else NEWTON_MORE) or _few_rows(problem)
    with small_products(width * k if exact else 0):
        near = _on_sample(problem, start, exact)
        if exact:
            return _descend(problem, near, settings, _Newton(problem))
        return _descend(problem, near, settings, _Remembering(problem, near))


def _few_rows(problem: LogisticProblem) -> bool:
    """Whether all rows together cost no more than a sample would."""
    size = problem.shape[0] * problem.shape[1]
    table = problem.rows
    return (
        size <= LARGEST_METRIC and isinstance(table, InMemory) and len(table) <= sample_rows(size)
    )


def _on_sample(problem: LogisticProblem, start: Floats, exact: bool) -> Floats:
    """A few Newton steps on a sample; a pull towards the start keeps it where a sample is blind."""
    if not exact:
        return start
    sample = problem.sampled(max(20_000, 40 * start.size), times=3.0)
    if sample is None:
        return start
    pull = 1e-4 * sample.weight
    held = replace(sample, ridge=sample.ridge + pull)
    theta = start
    best = np.inf
    for _ in range(8):
        at = held.curved(theta)
        value = at.value - pull * float(np.sum(theta * start))
        if not value < best:
            break
        best = value
        assert at.hessian is not None
        step = metric(at.hessian, held)(at.gradient - pull * start)
        theta = theta - step
        if float(np.abs(step).max(initial=0.0)) < 1e-3:
            break
    return theta if np.isfinite(theta).all() else start


# -- the two metrics ---------------------------------------------------------------------------


class _Newton:
    """The curvature of all rows, new at every pass."""

    settles = 1e-6  # a step this short squares the error below anything that counts

    def __init__(self, problem: LogisticProblem) -> None:
        self.problem = problem
        self.hessian: Floats | None = None

    def at(self, theta: Floats) -> At:
        return self.problem.curved(theta)

    def direction(self, at: At) -> Floats:
        assert at.hessian is not None
        self.hessian = at.hessian
        return metric(at.hessian, self.problem)(at.gradient)

    def cautious(self, at: At, lift: float) -> Floats:
        """A step as if the loss bent more than it does here, where it hardly bends at all."""
        assert at.hessian is not None
        more = lift * self.problem.weight * np.eye(len(at.hessian))
        return metric(at.hessian + more, self.problem)(at.gradient)

    def learn(self, moved: Floats, turned: Floats) -> None:
        """Nothing: the next pass brings the curvature anew."""


class _Remembering:
    """The curvature of a sample at the start, corrected by the slopes met since (limited BFGS)."""

    settles = 0.0
    hessian: Floats | None = None

    def __init__(self, problem: LogisticProblem, theta: Floats) -> None:
        self.problem = problem
        self.solve = sample_metric(problem, theta)
        self.pairs: list[tuple[Floats, Floats]] = []

    def at(self, theta: Floats) -> At:
        return self.problem.slope(theta)

    def direction(self, at: At) -> Floats:
        q = at.gradient.copy()
        along = []
        for moved, turned in reversed(self.pairs):
            a = np.sum(moved * q) / np.sum(moved * turned)
            q -= a * turned
            along.append(a)
        q = self.solve(q)
        for (moved, turned), a in zip(self.pairs, reversed(along), strict=True):
            q += (a - np.sum(turned * q) / np.sum(moved * turned)) * moved
        return q

    def cautious(self, at: At, lift: float) -> Floats:
        """A step by the largest curvature that the loss can have; what was learned is dropped."""
        unit = 0.25 * self.problem.weight + self.problem.ridge[:, None]
        self.solve, self.pairs = (lambda g: g / unit), []
        return np.asarray(at.gradient / (unit + lift * self.problem.weight))

    def learn(self, moved: Floats, turned: Floats) -> None:
        if np.sum(moved * turned) > 1e-12 * np.linalg.norm(moved) * np.linalg.norm(turned):
            self.pairs = [*self.pairs[1 - MEMORY :], (moved, turned)]


# -- the descent -------------------------------------------------------------------------------


def _descend(
    problem: LogisticProblem,
    theta: Floats,
    settings: LogisticSettings,
    method: _Newton | _Remembering,
) -> Descent:
    """Damped steps until the slope vanishes, or the classes turn out to be separable."""
    at = method.at(theta)
    history = [at.value]
    free = not problem.ridge.any()
    while True:
        step = method.direction(at)
        done = _settled(at, step, theta, problem, settings, method.settles)
        new, parted = None, None
        if free and not done:
            parted = _parted(problem, theta, step, at, len(history))
        if parted is None and not done and len(history) <= settings.max_iter:
            new = _next(method, theta, step, at, settings.tol * problem.weight)
        if new is None:
            if free and not done and parted is None:
                parted = by_programming(problem)
            status = done or ("limit reached" if len(history) > settings.max_iter else "rounding")
            return Descent(
                theta,
                step if done else np.zeros_like(step),
                status if parted is None else "separable",
                len(history),
                np.array(history),
                method.hessian,
                parted,
            )
        moved, there = new
        method.learn(moved - theta, there.gradient - at.gradient)
        theta, at = moved, there
        history.append(at.value)


def _parted(
    problem: LogisticProblem, theta: Floats, step: Floats, at: At, passes: int
) -> Separation | None:
    if at.margin > 0.0:
        return completely(problem, theta)
    return along_boundary(problem, theta, step) if passes in EXAMINED else None


def _settled(
    at: At,
    step: Floats,
    theta: Floats,
    problem: LogisticProblem,
    settings: LogisticSettings,
    settles: float,
) -> str:
    length, reach = float(np.abs(step).max(initial=0.0)), 1.0 + float(np.abs(theta).max(initial=0))
    flat = float(np.abs(at.gradient).max(initial=0.0)) <= 0.5 * settings.tol * problem.weight
    return "solved" if length <= settles * reach or (flat and length <= 1e-5 * reach) else ""


def _next(
    method: _Newton | _Remembering, theta: Floats, step: Floats, at: At, flat: float
) -> tuple[Floats, At] | None:
    """The step, or a more cautious one where scores are so large that the loss looks straight."""
    new = _shorter(method, theta, step, at)
    for lift in (1e-6, 1e-4, 1e-2, 1.0, 100.0):
        if new is not None or float(np.abs(at.gradient).max(initial=0.0)) <= flat:
            break
        new = _shorter(method, theta, method.cautious(at, lift), at)
    return new


def _shorter(
    method: _Newton | _Remembering, theta: Floats, step: Floats, at: At
) -> tuple[Floats, At] | None:
    """The step, halved until F falls enough; None where rounding hides any decrease."""
    promised = float(np.sum(at.gradient * step))
    for t in 0.5 ** np.arange(12):
        new = theta - t * step
        there = method.at(new)
        change = there.value - at.value
        if change <= -SUFFICIENT * t * promised:
            return new, there
        size = np.abs(there.gradient).max(initial=0.0)
        if abs(change) <= 1e-13 * abs(at.value) and size < 0.9 * np.abs(at.gradient).max():
            return new, there
        if t * promised <= 1e-16 * abs(at.value):
            return None
    return None
