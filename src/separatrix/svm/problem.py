"""The support vector problem, for classification and for regression, with any kernel.

    primal  min over f, b of  ½‖f‖² + Σ c ℓ(t, u),         u = f(x) + b
    dual    max over β of     tᵀβ − ε Σ|β| − ½ βᵀKβ        with Σβ = 0, low ≤ β ≤ high

Classification has the hinge loss ℓ = max(0, 1 − t u) with t = ±1, so that 0 ≤ tβ ≤ c. Regression
has the ε-insensitive loss ℓ = max(0, |t − u| − ε), so that −c ≤ β ≤ c. Without intercept b = 0 and
Σβ is free. Both are sums of hinges c max(0, q − s u), one a row or two, with dual variables α:

    classification  s = t, q = 1          regression  s = ±1, q = ±t − ε          β = Σ s α
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.optimize.solution import Status
from separatrix.rows.block import Floats, Ints, Matrix

#: Default limit of SMO iterations: so many, and so many more for each row.
_MAX_ITER, _MAX_ITER_PER_ROW = 1_000_000, 1_000
#: Breakpoints of the loss in b that are sorted without narrowing them down first.
_SORTED = 50_000
#: β this close to a bound, relative to the largest β, is set to the bound.
_AT_BOUND = 1e-10
#: Costs C κ(x, x), in units of the scores, that leave all digits to a solver: sums of β κ are then
#: at most 10⁵ times the margin. Larger ones are reached in steps of this factor.
_MODERATE, _COST_STEP = 1e5, 1e3
#: How far inside the margin rows may be that moving it is to clear.
_REACHES = (1e-12, 1e-9, 1e-6)
#: Rows are near their margin, in units of the scores, where rounding may put them across it.
_NEAR = 1e-6


@dataclass(frozen=True)
class SVMProblem:
    """Targets ``t``, bounds of the dual coefficients β, and the half-width ε of the loss."""

    t: Floats
    low: Floats
    high: Floats
    epsilon: float = 0.0
    intercept: bool = True

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.t)

    @cached_property
    def cost(self) -> Floats:
        """The weight c of every row's loss."""
        return np.maximum(self.high, -self.low)

    @property
    def balances(self) -> bool:
        """Whether Σβ = 0: there is an intercept, and it has no penalty."""
        return self.intercept

    @property
    def hard(self) -> bool:
        """Whether the margin is hard: a coefficient has no finite bound."""
        return bool(np.isinf(self.cost).any())

    @cached_property
    def regression(self) -> bool:
        """Whether β may have either sign."""
        return bool(((self.low < 0.0) & (self.high > 0.0)).any())

    @cached_property
    def unit(self) -> float:
        """The unit of scores: 1 for labels, the standard deviation of the targets of regression."""
        if not self.regression:
            return 1.0
        mean = np.average(self.t, weights=self.cost)
        return float(np.sqrt(np.average((self.t - mean) ** 2, weights=self.cost))) or 1.0

    @cached_property
    def sign(self) -> Floats:
        """The sign s of every hinge, (1 x n) or (2 x n)."""
        if not self.regression:
            return self.t[None, :]
        return np.repeat(np.array([[1.0], [-1.0]]), self.n, axis=1)

    @cached_property
    def offset(self) -> Floats:
        """The kink q of every hinge, (1 x n) or (2 x n)."""
        if not self.regression:
            return np.ones((1, self.n))
        return np.stack([self.t - self.epsilon, -self.t - self.epsilon])

    def take(self, rows: Ints, fraction: float = 1.0) -> Self:
        """The problem of some of the rows, with costs divided by ``fraction``."""
        low, high = self.low[rows] / fraction, self.high[rows] / fraction
        return replace(self, t=self.t[rows], low=low, high=high)

    def with_cost(self, factor: float) -> Self:
        """The problem with all costs multiplied by ``factor``."""
        return replace(self, low=self.low * factor, high=self.high * factor)

    def cost_stages(self, size: float) -> list[float]:
        """Fractions of all costs to solve with; ``size`` is the largest κ(x, x)."""
        return cost_stages(size * float(self.cost.max(initial=0.0)) / self.unit)

    def extrapolated(
        self, beta: Floats, fraction: float, before: Floats, last: float, to: float = 1.0
    ) -> Floats:
        """β at the fraction ``to`` of the costs, from β at a smaller and at the ``last`` fraction.

        β is piecewise linear in the costs: beyond the last breakpoint rows at their bound grow
        with it, and the others as far as they balance.
        """
        growth = (to - fraction) / (fraction - last)
        return np.asarray(np.clip(beta + growth * (beta - before), to * self.low, to * self.high))

    def capped(self, cap: float) -> Self:
        """The problem with costs of at most ``cap``."""
        return replace(self, low=np.maximum(self.low, -cap), high=np.minimum(self.high, cap))

    # -- hinges ----------------------------------------------------------------------------------

    def shortfall(self, scores: Floats) -> Floats:
        """q − s u of every hinge: positive where its loss is."""
        return self.offset - self.sign * scores

    def slack(self, scores: Floats) -> Floats:
        """The loss ξ of every row."""
        return np.asarray(np.maximum(self.shortfall(scores), 0.0).max(axis=0))

    def combine(self, alpha: Floats) -> Floats:
        """β = Σ s α."""
        return np.asarray((self.sign * alpha).sum(axis=0))

    def balanced(self, alpha: Floats) -> Floats:
        """α within its bounds with Σ s α = 0: the side of larger sum is scaled down."""
        alpha = np.clip(alpha, 0.0, self.cost)
        if not self.balances:
            return alpha
        up = self.sign > 0.0
        plus, minus = float(alpha[up].sum()), float(alpha[~up].sum())
        if plus > minus:
            return np.where(up, alpha * (minus / plus), alpha)
        return np.where(up, alpha, alpha * (plus / minus)) if minus > plus else alpha

    # -- optimality of β, with f = Kβ --------------------------------------------------------------

    def up_gradient(self, beta: Floats, f: Floats) -> Floats:
        """Derivative of the dual objective as βᵢ increases; ∞ where β is at its upper bound."""
        gradient = f - self.t + np.where(beta >= 0.0, self.epsilon, -self.epsilon)
        return np.where(beta < self.high, gradient, np.inf)

    def down_gradient(self, beta: Floats, f: Floats) -> Floats:
        """The same derivative as βᵢ decreases; −∞ where β is at its lower bound."""
        gradient = f - self.t + np.where(beta > 0.0, self.epsilon, -self.epsilon)
        return np.where(beta > self.low, gradient, -np.inf)

    def violation(self, beta: Floats, f: Floats) -> float:
        """Of the worst pair: max down gradient − min up gradient, zero at the optimum."""
        most = self.down_gradient(beta, f).max(initial=-np.inf)
        return max(float(most - self.up_gradient(beta, f).min(initial=np.inf)), 0.0)

    def free(self, beta: Floats) -> NDArray[np.bool_]:
        """Free support vectors: coefficients neither at a bound nor at zero."""
        return np.asarray((beta > self.low) & (beta < self.high) & (beta != 0.0))

    def snapped(self, beta: Floats) -> Floats:
        """β with coefficients within rounding of a bound set to it, and Σβ = 0 restored."""
        near = _AT_BOUND * np.minimum(self.cost, np.abs(beta).max(initial=0.0))
        beta = np.where(beta >= self.high - near, self.high, beta)
        beta = np.where(beta <= self.low + near, self.low, beta)
        beta = np.where(np.abs(beta) <= near, 0.0, beta)
        room = np.where(self.free(beta), np.minimum(beta - self.low, self.high - beta), 0.0)
        roomiest = int(np.argmax(room))
        if self.balances and room[roomiest] > 0.0:
            beta[roomiest] -= beta.sum()
        return np.asarray(np.clip(beta, self.low, self.high))

    def best_intercept(self, beta: Floats, f: Floats) -> float:
        """The b of least loss beside f, the middle of the interval of such b.

        With a hard margin, the middle between the largest down and the smallest up gradient.
        """
        if not self.hard:
            return 0.5 * sum(self.intercept_interval(f))
        ends = [self.down_gradient(beta, f).max(), self.up_gradient(beta, f).min()]
        ends = [end for end in ends if np.isfinite(end)]
        return -float(np.mean(ends)) if ends else 0.0

    def intercept_interval(self, f: Floats, near: float | None = None) -> tuple[float, float]:
        """The ends of the interval of all b of least loss beside f.

        The derivative in b is Σ c over the kinks s q − f below b, minus Σ c over hinges of s = +1.
        Where b is known to be ``near``, only kinks about it are sorted.
        """
        kinks = (self.sign * self.offset - f).ravel()
        c = np.broadcast_to(self.cost, self.offset.shape).ravel()
        goal = float(c[self.sign.ravel() > 0].sum())
        noise = 1e-12 * float(c.sum())
        if near is not None and len(kinks) > _SORTED:
            window = np.abs(kinks - near) <= 0.01 * (1.0 + abs(near))
            before = float(c[(kinks < near) & ~window].sum())
            if before < goal - noise and goal + noise < before + float(c[window].sum()):
                return _where_reached(kinks[window], c[window], goal - before, noise)
        return _where_reached(kinks, c, goal, noise)


def _where_reached(kinks: Floats, c: Floats, goal: float, noise: float) -> tuple[float, float]:
    """Between which two of the sorted kinks Σ c reaches the goal; the same one if it passes it."""
    order = np.argsort(kinks)
    kinks, reached = kinks[order], np.cumsum(c[order])
    first = min(int(np.searchsorted(reached, goal - noise)), len(kinks) - 1)
    last = first + 1 if reached[first] <= goal + noise else first
    return float(kinks[first]), float(kinks[min(last, len(kinks) - 1)])


@dataclass(frozen=True, kw_only=True)
class LinearProblem(SVMProblem):
    """The problem with f(x) = w·x and ‖f‖² = Σ ρ w², so that K = X ρ⁻¹ Xᵀ.

    Rows ``x`` (n x d), and the weight ρ of each column in ``ridge``. ``intercept_ridge`` ρ₀ adds
    ½ ρ₀ b² to the objective: Σβ is then free, and b = Σβ/ρ₀.
    """

    x: Matrix
    ridge: Floats
    intercept_ridge: float = 0.0

    @property
    def balances(self) -> bool:
        """Whether Σβ = 0: there is an intercept, and it has no penalty."""
        return self.intercept and self.intercept_ridge == 0.0

    def take(self, rows: Ints, fraction: float = 1.0) -> Self:
        """The problem of some of the rows, with costs divided by ``fraction``."""
        return replace(super().take(rows, fraction), x=self.x[rows])

    def rescaled(self, center: float, unit: float) -> Self:
        """The problem of the targets (t − center)/unit."""
        part = self.with_cost(1.0 / unit)
        return replace(part, t=(self.t - center) / unit, epsilon=self.epsilon / unit)

    def scores(self, w: Floats, b: float) -> Floats:
        """w·x + b for every row."""
        return np.asarray(self.x @ w) + b

    def score_rounding(self, w: Floats, b: float) -> Floats:
        """What rounding may change in the score of a row near its margin; zero for others.

        A sum of d products is known to d roundings of the sum of their sizes, in any order.
        """
        short = np.abs(self.shortfall(self.scores(w, b)))
        near = np.flatnonzero((short <= _NEAR * self.unit).any(axis=0))
        size = abs(b) + np.abs(self.x[near]) @ np.abs(w)
        if self.regression:
            size = size + np.abs(self.t[near])
        noise = np.zeros(self.n)
        noise[near] = (len(w) + 4) * np.finfo(float).eps * size
        return noise

    def gradient(self, beta: Floats) -> Floats:
        """Xᵀβ, which is ρw at the optimum."""
        return np.asarray(self.x.T @ beta)

    def objective(self, w: Floats, b: float) -> float:
        """½ Σ ρ w² + ½ ρ₀ b² + Σ c ξ."""
        norm = 0.5 * (float(self.ridge @ w**2) + self.intercept_ridge * b**2)
        return norm + float(self.cost @ self.slack(self.scores(w, b)))


def classification_problem(y: Floats, C: Floats) -> SVMProblem:
    """Hinge loss of labels ±1 with cost C for each row."""
    return SVMProblem(y, np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0))


def regression_problem(y: Floats, C: Floats, epsilon: float) -> SVMProblem:
    """ε-insensitive loss of numbers with cost C for each row."""
    return SVMProblem(y, -C, C.copy(), float(epsilon))


def linear_problem(
    problem: SVMProblem,
    x: Matrix,
    ridge: Floats | None = None,
    *,
    intercept: bool = True,
    intercept_ridge: float = 0.0,
) -> LinearProblem:
    """The problem over the columns of x; ``ridge`` is 1 by default."""
    rho = np.ones(x.shape[1]) if ridge is None else ridge
    bounds = (problem.low, problem.high, problem.epsilon)
    return LinearProblem(
        problem.t, *bounds, intercept, x=x, ridge=rho, intercept_ridge=intercept_ridge
    )


# -- large costs ---------------------------------------------------------------------------------


def cost_stages(largest: float) -> list[float]:
    """Fractions of all costs to solve with, one after the other until one solves all.

    ``largest`` is the largest C κ(x, x), in units of the scores. A cost so large that rounding of
    the scores counts for more than ‖f‖² rarely matters: where the classes are separable no α
    reaches it, and else only the α of rows that have reached a smaller cost go on growing.
    """
    fraction = _MODERATE / (largest or 1.0)
    found, step = [], 10.0  # the first two are close: what follows is extrapolated from them
    while fraction < 1.0:
        found.append(fraction)
        fraction, step = fraction * step, _COST_STEP
    return [*found, 1.0]


def score_rounding(diagonal: Floats, beta: Floats, b: float) -> Floats:
    """What rounding may change in Σ β κ(x, ·) + b of every row.

    ``diagonal`` holds κ(x, x): |κ(x, z)| ≤ √(κ(x, x) κ(z, z)).
    """
    root, count = np.sqrt(np.abs(diagonal)), np.count_nonzero(beta) + 4
    return np.asarray(count * np.finfo(float).eps * (abs(b) + root * float(root @ np.abs(beta))))


def clearing_factor(z: Floats, cost: Floats, noise: Floats) -> float:
    """The factor of all scores that clears rows near the margin of rounding at the least cost.

    z are the margins, one on the margin; a factor 1 + δ adds at most 2δ of the objective to that
    of the optimum.
    """
    factors = [1.0]
    for reach in _REACHES:
        near = (z >= 1.0 - reach) & (z < 1.0 + noise)
        factors.append(float(np.max((1.0 + noise[near]) / z[near], initial=1.0)))
    losses = [float(cost @ np.maximum(1.0 + noise - factor * z, 0.0)) for factor in factors]
    return factors[int(np.argmin(losses))]


# -- when to stop --------------------------------------------------------------------------------


@dataclass
class Budget:
    """Iterations and time that a solver may use; ``n_iter`` counts the iterations used."""

    max_iter: int = int(np.iinfo(np.int64).max)
    deadline: float = np.inf
    n_iter: int = 0

    @property
    def remaining(self) -> int:
        """Iterations that are left."""
        return self.max_iter - self.n_iter

    @property
    def out_of_time(self) -> bool:
        """Whether the deadline, one of ``time.perf_counter``, has passed."""
        return time.perf_counter() >= self.deadline

    @property
    def exhausted(self) -> bool:
        """Whether the limit of iterations or of time has been reached."""
        return self.n_iter >= self.max_iter or self.out_of_time

    @property
    def status(self) -> Status:
        """Why a solver stopped before it was done."""
        if self.out_of_time:
            return Status.TIME
        return Status.LIMIT if self.n_iter >= self.max_iter else Status.ROUNDING


@dataclass(frozen=True)
class SolverOptions:
    """Tolerance, limits (``max_iter`` −1: a default one), and megabytes for kernel rows."""

    tol: float = 1e-3
    max_iter: int = -1
    deadline: float = np.inf
    cache_size: float = 500.0

    @classmethod
    def of(cls, model: Any, cache_size: float = 500.0) -> SolverOptions:
        """The options of an estimator, checked; its C, if it has one, is checked as well."""
        cost = getattr(model, "C", 1.0)  # a ν-SVM has none
        if not isinstance(cost, Real) or not float(cost) > 0.0:
            raise InputError(f"C={cost!r} must be a number greater than 0.")
        if not model.tol > 0.0:
            raise InputError(f"tol={model.tol!r} must be greater than 0.")
        if not (model.max_iter >= 1 or model.max_iter == -1):
            raise InputError(f"max_iter={model.max_iter!r} must be at least 1, or -1.")
        if not cache_size > 0.0:
            raise InputError(f"cache_size={cache_size!r} must be greater than 0 megabytes.")
        deadline = deadline_after(model.time_budget)
        return cls(float(model.tol), int(model.max_iter), deadline, float(cache_size))

    def budget(self, n: int) -> Budget:
        """A fresh budget for a problem of n rows."""
        default = _MAX_ITER + _MAX_ITER_PER_ROW * n
        return Budget(default if self.max_iter < 1 else self.max_iter, self.deadline)


def deadline_after(seconds: float | None, fraction: float = 1.0) -> float:
    """The ``time.perf_counter`` at which a fraction of a time budget is used up."""
    if seconds is None:
        return np.inf
    if not seconds > 0.0:
        raise InputError(
            f"time_budget={seconds!r} must be greater than 0 seconds.", remedy="None sets no limit."
        )
    return time.perf_counter() + fraction * float(seconds)
