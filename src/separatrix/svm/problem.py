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
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats, Ints, Matrix, NDArray
from separatrix.matrices.gram import column_gram
from separatrix.messages import InputError
from separatrix.optimize import convex

#: Multiplications of a Gram matrix of dense rows up to which calls of library functions take longer
#: than it does, so that Newton's steps are one loop.
SMALL = 200_000


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

    def extrapolate(
        self, beta: Floats, fraction: float, before: Floats, last: float, to: float = 1.0
    ) -> Floats:
        """β at the fraction ``to`` of the costs, from β at a smaller and at the ``last`` fraction.

        β is piecewise linear in the costs: beyond the last breakpoint rows at their bound grow
        with it, and the others as far as they balance.
        """
        growth = (to - fraction) / (fraction - last)
        return np.asarray(np.clip(beta + growth * (beta - before), to * self.low, to * self.high))

    def with_cap(self, cap: float) -> Self:
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

    def balance(self, alpha: Floats) -> Floats:
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

    def snap(self, beta: Floats) -> Floats:
        """β with coefficients within rounding of a bound set to it, and Σβ = 0 restored."""
        # β this close to a bound, relative to the largest β, is set to the bound.
        near = 1e-10 * np.minimum(self.cost, np.abs(beta).max(initial=0.0))
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
        # Breakpoints of the loss in b that are sorted without narrowing them down first.
        if near is not None and len(kinks) > 50_000:
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

    def rescale(self, center: float, unit: float) -> Self:
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
        # Rows are near their margin, in units of the scores, where rounding may put them across it.
        near = np.flatnonzero((short <= 1e-6 * self.unit).any(axis=0))
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
    # Costs C κ(x, x), in units of the scores, that leave all digits to a solver: sums of β κ are
    # then at most so many times the margin. Larger ones are reached in steps of a thousand.
    fraction = 1e5 / (largest or 1.0)
    stages, step = [], 10.0  # the first two are close: what follows is extrapolated from them
    while fraction < 1.0:
        stages.append(fraction)
        fraction, step = fraction * step, 1e3
    return [*stages, 1.0]


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
    # How far inside the margin rows may be that moving it is to clear.
    for reach in (1e-12, 1e-9, 1e-6):
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
    def status(self) -> convex.Status:
        """Why a solver stopped before it was done."""
        if self.out_of_time:
            return convex.Status.TIME
        return convex.Status.LIMIT if self.n_iter >= self.max_iter else convex.Status.ROUNDING


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
        # Default limit of SMO iterations: so many, and so many more for each row.
        default = 1_000_000 + 1_000 * n
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


# -------------------------------------------------------------------------------------------------
# Linear models with a squared hinge or a squared ε-insensitive loss.
#
#     min over w, b of  p(w, b) + Σ c e²,      p = Σ ℓⱼ|wⱼ| + ½ Σ ρⱼ wⱼ²
#
# e is how far a score u = w·x + b is from where it costs nothing, with sign: t max(0, 1 − t u) of a
# label t = ±1, or the part of t − u beyond ±ε. The dual coefficients are β = 2 c e, and at the
# optimum Xᵀβ ∈ ∂p(w). The intercept is the coefficient of a column of ones; it has the last element
# of ℓ and ρ, zero where it is free.


@dataclass(frozen=True)
class SquaredProblem:
    """Rows ``x``, targets ``t``, costs ``c``, and the penalty of every coefficient.

    ``epsilon`` is None for labels ±1. Rows are measured from ``center``, which is zero unless the
    intercept is free.
    """

    x: Matrix
    t: Floats
    cost: Floats
    penalty: convex.ElasticNetPenalty
    center: Floats
    epsilon: float | None = None
    intercept: bool = True

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.t)

    @property
    def size(self) -> int:
        """Number of coefficients, the intercept among them."""
        return len(self.penalty.l1)

    @property
    def free_intercept(self) -> bool:
        """Whether the intercept has no penalty."""
        return bool(self.intercept and not self.penalty.l1[-1] and not self.penalty.l2[-1])

    @cached_property
    def loss(self) -> convex.SquaredHinge | convex.SquaredEpsilonInsensitive:
        """The loss by row."""
        return (
            convex.SquaredHinge()
            if self.epsilon is None
            else convex.SquaredEpsilonInsensitive(self.epsilon)
        )

    def argument(self, scores: Floats) -> Floats:
        """The argument z of the loss: a margin, or a residual."""
        return self.t * scores if self.epsilon is None else self.t - scores

    def excess(self, scores: Floats) -> Floats:
        """e of every row."""
        half = 0.5 * self.loss.gradient(self.argument(scores))
        return -self.t * half if self.epsilon is None else half

    def scores(self, theta: Floats) -> Floats:
        """w·(x − center) + b for every row."""
        d = self.x.shape[1]
        shift = float(theta[d]) if self.intercept else 0.0
        return np.asarray(self.x @ theta[:d]) + (shift - float(self.center @ theta[:d]))

    def pull(self, beta: Floats) -> Floats:
        """Σ β (x − center), and Σ β for the intercept."""
        total = float(beta.sum())
        pulled = np.asarray(self.x.T @ beta) - self.center * total
        return np.append(pulled, total) if self.intercept else pulled

    def value(self, theta: Floats, excess: Floats) -> float:
        """The objective, with the e of the scores at ``theta``."""
        return self.penalty.value(theta) + float(self.cost @ excess**2)

    def gram(self, rows: Ints, columns: Ints | None = None) -> Floats:
        """Σ 2c z zᵀ over some rows, z = (x − center, 1), for some of the coefficients."""
        size = self.size if columns is None else len(columns)
        total = np.zeros((size, size))
        for z in self._design(rows, columns):
            total += (z.T @ z).toarray() if sparse.issparse(z) else column_gram(z)
        return total

    def _design(self, rows: Ints, columns: Ints | None) -> Iterator[Matrix]:
        """√(2c) z of some rows and coefficients, some rows at a time."""
        root, d = np.sqrt(2.0 * self.cost), self.x.shape[1]
        column = None if columns is None else columns[columns < d]
        ones = self.intercept and (columns is None or len(columns) > len(column))  # type: ignore[arg-type]
        block = 4096  # rows that are multiplied at a time
        for start in range(0, len(rows), block):
            part = rows[start : start + block]
            z = self.x[part] if column is None else self.x[part][:, column]
            by_row = root[part][:, None]
            if sparse.issparse(z):
                z = sparse.csr_array(z).multiply(by_row)
                yield sparse.csr_array(sparse.hstack([z, by_row]) if ones else z)
                continue
            z = (z - (self.center if column is None else self.center[column])) * by_row
            yield np.hstack([z, by_row]) if ones else z

    def restore(self, theta: Floats) -> tuple[Floats, float]:
        """w and b for rows measured from zero."""
        d = self.x.shape[1]
        w = theta[:d].copy()
        return w, float(theta[d] - self.center @ w) if self.intercept else 0.0

    def rescale(self, unit: float) -> SquaredProblem:
        """The problem of targets t/unit, whose coefficients are those of t divided by ``unit``.

        Its objective is that of t divided by unit², with ℓ/unit for the ℓ₁ part.
        """
        if self.epsilon is None:
            return self
        penalty = replace(self.penalty, l1=self.penalty.l1 / unit)
        return replace(self, t=self.t / unit, epsilon=self.epsilon / unit, penalty=penalty)


def squared_problem(
    x: Matrix,
    t: Floats,
    cost: Floats,
    *,
    epsilon: float | None = None,
    ridge: Floats,
    l1: bool = False,
    intercept_scaling: float | None = 1.0,
) -> SquaredProblem:
    """Penalty ½ Σ ρ w², or Σ √ρ |w| with ``l1``; ``ridge`` is ρ of every column.

    As in liblinear the intercept is s times the coefficient of a column of s, the
    ``intercept_scaling``, whose penalty is then ½ (b/s)² or |b|/s. Infinity leaves it free, None
    leaves it out.
    """
    intercept = intercept_scaling is not None
    if intercept_scaling is not None:
        ridge = np.append(ridge, 1.0 / float(intercept_scaling) ** 2)
    zero = np.zeros(len(ridge))
    penalty = (
        convex.ElasticNetPenalty(np.sqrt(ridge), zero)
        if l1
        else convex.ElasticNetPenalty(zero, ridge)
    )
    problem = SquaredProblem(x, t, cost, penalty, np.zeros(x.shape[1]), epsilon, intercept)
    if problem.free_intercept and not sparse.issparse(x):
        mean = np.asarray(cost @ x) / float(cost.sum())
        return replace(problem, center=mean)
    return problem


# -------------------------------------------------------------------------------------------------
# Certificates of support vector machines, from the rows, β and b (and w) alone.
#
# The dual coefficients β give the dual point u = −tβ/c of the hinge loss, or u = β/c of the
# ε-insensitive loss; both are handed to :mod:`separatrix.optimize.convex`. Without a Mercer kernel
# the dual value is not a bound, and only the KKT conditions can be shown.


KERNEL_CLAIM = (
    "Support vectors: no other hyperplane in the kernel's feature space has a lower objective"
)
INDEFINITE_CLAIM = (
    "Support vectors of a kernel that is not Mercer: a KKT point, which need not have the lowest "
    "objective"
)


@dataclass(frozen=True)
class KernelNorm:
    """p(f) = ½‖f‖² = ½ βᵀKβ of a function f = Σ βᵢ k(xᵢ, ·) in the space of a kernel.

    The gradient of p at f is f itself: with v = f, as the coefficients β of a support vector
    machine have it, there is no excess, and every v has a finite conjugate.
    """

    squared_norm: float

    def value(self, b: Floats) -> float:  # noqa: ARG002
        """½‖f‖²."""
        return 0.5 * self.squared_norm

    def excess(self, b: Floats, v: Floats) -> Floats:
        """Zero for v = f; no other v is offered."""
        return np.zeros(1) if np.array_equal(b, v) else np.full(1, np.inf)

    def distance(self, b: Floats, v: Floats) -> Floats:
        """Zero for v = f."""
        return self.excess(b, v)

    def offset(self, b: Floats, v: Floats) -> Floats:
        """Zero for v = f."""
        return self.excess(b, v)

    def feasible_scale(self, v: Floats) -> float:  # noqa: ARG002
        """One: nothing has to be scaled."""
        return 1.0


def certify_kernel_svm(
    problem: SVMProblem,
    beta: Floats,
    f: Floats,
    b: float,
    *,
    tolerance: float,
    mercer: bool = True,
    claim: str = KERNEL_CLAIM,
) -> convex.Certificate:
    """Certificate of the expansion Σ β κ(x, ·) + b with f = Kβ."""
    square = float(beta @ f)
    certificate = _certify(
        problem, KernelNorm(square), beta, f + b, b, beta, beta, tolerance, claim
    )
    if mercer:
        return certificate
    return convex.Certificate(
        INDEFINITE_CLAIM,
        primal=0.5 * square + _loss(problem, f + b),
        kkt=certificate.kkt,
        tolerance=tolerance,
        promised=("kkt",),
    )


def certify_linear_svm(
    problem: LinearProblem,
    w: Floats,
    b: float,
    beta: Floats,
    *,
    tolerance: float,
    claim: str,
) -> convex.Certificate:
    """Certificate of the hyperplane w·x + b with the dual coefficients β; ρw = Xᵀβ at the optimum.

    Each column of that condition is measured against the size of its terms.
    """
    size = term_sizes(problem.x, np.abs(beta))
    size += problem.ridge * np.abs(w)
    scores, v, ridge = problem.scores(w, b), problem.gradient(beta), problem.ridge
    if problem.intercept and not problem.balances:
        w, v = np.append(w, b), np.append(v, beta.sum())
        ridge = np.append(ridge, problem.intercept_ridge)
        size = np.append(size, np.abs(beta).sum() + problem.intercept_ridge * abs(b))
    penalty = convex.ElasticNetPenalty(np.zeros_like(ridge), ridge)
    return _certify(problem, penalty, beta, scores, b, w, v, tolerance, claim, size)


def _certify(
    problem: SVMProblem,
    penalty: convex.Penalty,
    beta: Floats,
    scores: Floats,
    b: float,
    coef: Floats,
    v: Floats,
    tolerance: float,
    claim: str,
    v_scale: Floats | float = 1.0,
) -> convex.Certificate:
    c = _finite_cost(problem, beta)
    loss: convex.Loss = (
        convex.EpsilonInsensitive(problem.epsilon) if problem.regression else convex.Hinge()
    )
    z = problem.t - scores if problem.regression else problem.t * scores
    with np.errstate(divide="ignore", invalid="ignore"):
        u = np.where(c > 0.0, (beta if problem.regression else -problem.t * beta) / c, 0.0)
    certificate = convex.certify_primal_dual(
        loss,
        penalty,
        c,
        z,
        u,
        coef,
        v,
        claim=claim,
        tolerance=tolerance,
        intercept=b,
        imbalance=float(beta.sum()) if problem.balances else 0.0,
        v_scale=v_scale,
        z_scale=problem.unit,
    )
    if not problem.hard:
        return certificate
    # the hyperplane scaled until no row is inside the margin is feasible, as is any α ≥ 0
    margin, dual = float(z.min()), certificate.dual
    primal = penalty.value(coef) / margin**2 if margin > 0.0 else np.inf
    return replace(certificate, primal=primal, dual=dual, gap=max(primal - dual, 0.0))


def is_better(proof: convex.Certificate, other: convex.Certificate) -> bool:
    """Whether a point is better than another: certified, or of lower objective, or of less gap."""
    if proof.holds != other.holds:
        return proof.holds
    # Relative difference of two objectives that counts as none.
    if abs(proof.primal - other.primal) > 1e-9 * min(proof.primal, other.primal):
        return proof.primal < other.primal
    return badness(proof) < badness(other)


def badness(proof: convex.Certificate) -> tuple[bool, float, float]:
    """A key that sorts certificates, the worst last."""
    gap = proof.relative_gap
    return not proof.holds, gap if np.isfinite(gap) else 0.0, proof.kkt


def _finite_cost(problem: SVMProblem, beta: Floats) -> Floats:
    """c; with a hard margin a bound that no coefficient reaches."""
    if not problem.hard:
        return problem.cost
    return problem.with_cap(2.0 * float(np.abs(beta).max(initial=0.0)) or 1.0).cost


def _loss(problem: SVMProblem, scores: Floats) -> float:
    return float(problem.cost @ problem.slack(scores))


def term_sizes(x: Matrix, weight: Floats) -> Floats:
    """|X|ᵀ weight, some rows at a time."""
    if sparse.issparse(x):
        rows: Any = sparse.csr_array(x)
        rows = sparse.csr_array((np.abs(rows.data), rows.indices, rows.indptr), rows.shape)
        return np.asarray(rows.T @ weight)
    total = np.zeros(x.shape[1])
    for start in range(0, len(weight), 2_000):
        part = slice(start, start + 2_000)
        total += weight[part] @ np.abs(x[part])
    return total


# -------------------------------------------------------------------------------------------------
# Options that the linear SVMs take from scikit-learn, checked.


#: Interior-point steps, and epochs of coordinate descent, for each of ``max_iter``.
STEPS = 20
#: Relative gap of every fit, whatever larger ``tol`` is given; and that of sparse rows, where a
#: tenth of ``tol`` is enough: liblinear at the same ``tol`` ends above that.
ACCURACY, SPARSE_ACCURACY = 1e-6, 1e-5


def linear_options(model: Any) -> SolverOptions:
    """Tolerance and limits of an estimator."""
    options = SolverOptions.of(model)
    return replace(options, tol=min(options.tol, model._accuracy))


def options_for(model: Any, x: Matrix, options: SolverOptions) -> SolverOptions:
    """The options of an estimator for its rows x."""
    if not sparse.issparse(x):
        return options
    return replace(options, tol=max(options.tol, min(0.1 * float(model.tol), SPARSE_ACCURACY)))


def intercept_scaling(model: Any) -> float | None:
    """The scale of the column whose coefficient is the intercept; None without intercept.

    Infinity leaves the intercept free, as it is where columns are standardized: a penalty would
    depend on the origins of the columns.
    """
    scaling = model.intercept_scaling
    if not isinstance(scaling, Real) or not float(scaling) > 0.0:
        raise InputError(
            f"intercept_scaling={scaling!r} must be greater than 0.",
            remedy="To have no intercept, set fit_intercept=False.",
        )
    if not model.fit_intercept:
        return None
    return np.inf if model.standardize else float(scaling)


def check_dual(dual: Any) -> None:
    """Refuse what is neither "auto" nor a bool."""
    if not isinstance(dual, bool | np.bool_) and dual != "auto":
        raise InputError(f"dual={dual!r} is none of True, False and 'auto'.")
