"""L-BFGS for logistic regression on wide and sparse rows, preconditioned by scales and curvature.

    θ ← θ − t H⁻¹ ∇F(θ)

Sparse rows: products with the direction give the scores along the whole line, so that t is the
minimum and costs no further pass. Dense rows are read once a step, at t = 1: the scores there give
the line too, and where another t is clearly better it is taken. Dense passes are in single
precision, on standardized columns, until the tolerance is near; the rest is in double.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import sparse

from separatrix.logistic.newton import MAX_FULL, DescentResult
from separatrix.logistic.problem import LogisticOptions, LogisticProblem
from separatrix.logistic.separation import Separation
from separatrix.logistic.wide.loops import slopes_along
from separatrix.logistic.wide.problem import Point, WideLogistic, with_products
from separatrix.logistic.wide.sampled_hessian import (
    LEAST_CURVATURE,
    MAX_BLOCK,
    SampledRows,
    sampled_hessian,
)
from separatrix.logistic.wide.separation import separating_column, separation_along
from separatrix.optimize.limited_memory import LimitedMemory
from separatrix.optimize.newton import LinearSolver
from separatrix.optimize.solution import Status
from separatrix.rows.block import Floats
from separatrix.rows.rows import ArrayRows

#: Passes for each step that ``max_iter`` allows: these steps are cheaper than Newton's.
PASSES = 10
#: A step of t = 1 is taken unless the slope there exceeds this part of the slope at 0.
WOLFE = 0.9
#: Relative rounding errors of sums over rows.
SINGLE, DOUBLE = 1e-7, 1e-13
#: Tolerance down to which sums in single precision decide; the certificate is in double.
SINGLE_ACCURACY = 1e-6
#: Steps without a smaller gradient or value after which rounding errors are all that is left.
PATIENCE = 12
#: Passes at which the Hessian of a sample of rows is computed first, for several classes and for
#: two, whose scales and mean curvature often suffice; then again after so many, of more rows.
REFRESHED, REFRESHED_BINARY, AGAIN = (1, 6, 16), (14,), 32
#: Multiplications of a Hessian from which a point near the minimum is sought first, its part of the
#: tolerance, and passes that it may take.
MIN_HESSIAN_WORK, NEAR, NEAR_PASSES = 1e8, 0.3, 80
#: Passes without penalty after which separation by a single column is looked for.
CHECK = 4


def minimize_wide(problem: WideLogistic, start: Floats, options: LogisticOptions) -> DescentResult:
    """Minimize F (without ℓ₁ part) from ``start``."""
    return _minimized(_Descent(problem, options), start)


def near_minimum(
    problem: LogisticProblem, start: Floats, options: LogisticOptions
) -> Floats | None:
    """A point so near the maximum likelihood estimate that one Hessian is enough to finish.

    None where Hessians are cheap, where rows are not in memory, and where no maximum was found.
    """
    width, k = problem.shape
    if problem.ridge.any() or not isinstance(problem.rows, ArrayRows):
        return None
    x, parameters = problem.rows.block.x, width * k
    if problem.design.rotation is not None or sparse.issparse(x) or parameters > MAX_FULL:
        return None
    if x.shape[0] * parameters**2 < MIN_HESSIAN_WORK:
        return None
    descent = _Descent(with_products(problem), replace(options, tol=NEAR * options.tol))
    descent.limit, descent.check = NEAR_PASSES, 0
    found = _minimized(descent, start)
    return found.theta if found.status is Status.SOLVED else None


def _minimized(descent: _Descent, start: Floats) -> DescentResult:
    problem, found = descent.problem, None
    single = problem.single_rows
    if not problem.is_sparse and problem.shape[0] <= MAX_BLOCK:
        descent.sampled = single or problem.dense_rows
    if single is not None:
        descent.rounding, part = SINGLE, max(0.7, SINGLE_ACCURACY / max(descent.tol, 1e-300))
        found = descent.run(start, lambda theta: problem.at_rows(theta, single), part)
        start, descent.rounding = found.theta, DOUBLE
    if found is None or not descent.converged or descent.tol < SINGLE_ACCURACY:
        found = descent.run(start, problem.at, 1.0)
    theta = found.theta
    if descent.converged and descent.separation is None:
        theta = _balanced(problem, found)
    status = Status.SOLVED if descent.converged else descent.stopped
    return DescentResult(
        theta,
        np.zeros_like(theta),
        status if descent.separation is None else Status.SEPARABLE,
        len(descent.history),
        np.array(descent.history),
        None,
        descent.separation,
    )


class _Descent:
    """The state that single and double precision share: steps, history, verdicts."""

    def __init__(self, problem: WideLogistic, options: LogisticOptions) -> None:
        self.problem, self.tol = problem, options.tol
        self.limit, self.check = PASSES * options.max_iter, CHECK
        self.memory, self.rounding = LimitedMemory(), DOUBLE
        self.history: list[float] = []
        self.stopped, self.converged = Status.LIMIT, False
        self.separation: Separation | None = None
        self.sampled: SampledRows | None = None
        self.solve: LinearSolver = lambda g: g / self.bound
        self.bound = (0.25 * problem.weight + problem.ridge)[:, None]
        self.unpenalized = not problem.ridge.any()

    def run(self, theta: Floats, at: Callable[[Floats], Point], part: float) -> Point:
        """Descend from θ until the conditions hold with ``part`` of the tolerance."""
        here = at(theta)
        self.history.append(here.value)
        best, lowest, stale = np.inf, np.inf, 0
        while True:
            size = float(np.linalg.norm(here.gradient / np.sqrt(self.bound)))
            if size < 0.9 * best or here.value < lowest - 1e-9 * abs(lowest):
                best, lowest, stale = min(size, best), here.value, 0
            stale += 1
            self.converged = self._optimal(here, part)
            if self.unpenalized and not self.converged:
                self.separation = self._separation(here)
            if self.converged or self.separation is not None or len(self.history) > self.limit:
                return here
            self._precondition(here)
            direction = -self.memory.direction(here.gradient, self.solve, scaled=True)
            new = self._step(here, direction, at)
            if new is None:
                self.memory.clear()
                self.solve = lambda g: g / self.bound
                new = self._step(here, -here.gradient / self.bound, at)
            if new is None or stale > PATIENCE:
                self.stopped = Status.ROUNDING
                return here
            self.memory.add(new.theta - here.theta, new.gradient - here.gradient)
            here = new
            self.history.append(here.value)

    def _precondition(self, here: Point) -> None:
        """Approximate the Hessian anew: by that of a sample of rows, or by mean curvatures.

        Near separable classes curvatures are a small part of their bound, so that the penalty
        decides in more columns; stored steps remain valid for any approximation.
        """
        passes, several, problem = len(self.history), here.theta.shape[1] > 1, self.problem
        first = REFRESHED if several else REFRESHED_BINARY
        if self.sampled is not None and passes >= first[0]:
            if passes in first or passes % AGAIN == 0:
                more = 1.0 + passes / AGAIN
                self.solve = sampled_hessian(
                    self.sampled, here.theta, here.scores, problem.ridge, problem.weight, more
                )
        elif len(here.scores) and passes & (passes - 1) == 0:  # 1, 2, 4, 8 ...
            flat = here.scores[:, 0] if here.scores.shape[1] == 1 else here.scores
            least = LEAST_CURVATURE * self.problem.weight
            curvature = np.maximum(self.problem.curvature(flat).sum(axis=0), least)
            diagonal = curvature + self.problem.ridge[:, None]
            self.solve = lambda g: g / diagonal

    def _optimal(self, here: Point, part: float) -> bool:
        """The duality gap of the probabilities, Σ g²/(2q), and the gradient, per row."""
        g, q = here.gradient, self.problem.ridge[:, None]
        largest = float(np.abs(g).max(initial=0.0))
        if largest > part * self.tol * self.problem.weight:
            return False
        if self.unpenalized:
            slack = float(np.sum(np.abs(g * here.theta)))
            return slack <= part * self.tol * abs(here.value)
        penalized = self.problem.ridge > 0.0
        gap = float(np.sum(g[penalized] ** 2 / (2.0 * q[penalized])))
        if g.shape[1] > 1:  # one free intercept is balanced at the end
            # once by the inequality of Fenchel and Young, once as the certificate's charge
            gap += 2.0 * float(np.sum(np.abs(g * here.theta)[~penalized]))
        return gap <= part * self.tol * abs(here.value)

    def _separation(self, here: Point) -> Separation | None:
        if here.margin > 0.0:
            return separation_along(self.problem, here.theta)
        if len(self.history) == self.check:
            return separating_column(self.problem)
        return None

    def _step(self, here: Point, direction: Floats, at: Callable[[Floats], Point]) -> Point | None:
        """The next point along a direction; None where rounding hides any decrease."""
        slope = float(np.vdot(here.gradient, direction))
        if not slope < 0.0 or not np.isfinite(slope):
            return None
        if direction.shape[1] > 1:
            return self._backtracked(here, direction, slope, at)
        if self.problem.is_sparse:
            move = self.problem.times(direction[:, 0])
            t = self._line_minimum(here, direction, move)
            new = self.problem.at_scores(
                here.theta + t * direction, here.scores + t * move[:, None]
            )
        else:
            new = at(here.theta + direction)
            there = float(np.vdot(new.gradient, direction))
            if new.value > here.value + 1e-4 * slope or abs(there) > WOLFE * abs(slope):
                move = (new.scores - here.scores)[:, 0]
                t = self._line_minimum(here, direction, move)
                new = at(here.theta + t * direction)
        return new if self._acceptable(here, new) else None

    def _backtracked(
        self, here: Point, direction: Floats, slope: float, at: Callable[[Floats], Point]
    ) -> Point | None:
        for t in 0.5 ** np.arange(12):
            new = at(here.theta + t * direction)
            if new.value <= here.value + 1e-4 * t * slope:
                return new
            if -t * slope <= self.rounding * abs(here.value):
                return new if self._acceptable(here, new) else None
        return None

    def _acceptable(self, here: Point, new: Point) -> bool:
        """Whether F is finite and not larger, but for rounding errors."""
        if not (np.isfinite(new.value) and np.isfinite(new.gradient).all()):
            return False
        return new.value <= here.value + self.rounding * abs(here.value)

    def _line_minimum(self, here: Point, direction: Floats, move: Floats) -> float:
        """The t of the smallest F along a direction, by Newton's method between bounds."""
        problem = self.problem
        q = problem.ridge[:, None]
        linear = float(np.sum(q * here.theta * direction))
        square = float(np.sum(q * direction**2))
        scores = np.ascontiguousarray(here.scores[:, 0])
        t, low, high = 1.0, 0.0, np.inf
        for _ in range(30):
            first, second = slopes_along(scores, move, t, problem.sign, problem.w)
            first, second = first + linear + t * square, second + square
            low, high = (t, high) if first < 0.0 else (low, t)
            new = t - first / second if second > 0.0 else np.inf
            ceiling = min(4.0 * t, 0.5 * (t + high))
            new = min(max(new, 0.5 * (low + t) if first > 0.0 else t), ceiling)
            if abs(new - t) <= 0.01 * t:
                return float(new)
            t = new
        return float(t)


def _balanced(problem: WideLogistic, found: Point) -> Floats:
    """θ with the free intercept at its minimum given the rest: the dual point is then feasible."""
    if not problem.design.intercept or problem.ridge[-1] > 0.0 or not len(found.scores):
        return found.theta
    theta, one = found.theta.copy(), np.ones(len(found.scores))
    if theta.shape[1] > 1:
        return theta
    scores, shift = np.ascontiguousarray(found.scores[:, 0]), 0.0
    for _ in range(5):
        first, second = slopes_along(scores, one, shift, problem.sign, problem.w)
        if not second > 0.0:
            return found.theta
        shift -= first / second
    theta[-1] += shift
    return theta if np.isfinite(shift) and abs(shift) < 1e-3 else found.theta
