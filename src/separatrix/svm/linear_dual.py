"""Many columns: coordinate descent in the dual finds the bounds, conjugate gradients the rest.

An epoch of coordinate descent settles which β are at a bound long before it settles the others.
These solve a linear system, K β = t over the free rows, and conjugate gradients take a dozen
products with the rows for what takes hundreds of epochs. So epochs over the rows that may still
change alternate with conjugate gradients on the free ones, whose step is cut at the bounds. Where
conjugate gradients do not converge and the free rows are few, their system is factored.

A free intercept constrains Σβ = 0, so that no single β could change. In the epochs it follows Σβ
(the method of multipliers), in conjugate gradients it is the multiplier of the constraint.

References
----------
C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi and S. Sundararajan, A dual coordinate descent
method for large-scale linear SVM, 2008.
J. J. Moré and G. Toraldo, On the solution of large quadratic programming problems with bound
constraints, SIAM Journal on Optimization 1, 1991.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy import linalg, sparse

from separatrix.arrays import Floats, Ints, Matrix
from separatrix.matrices.cholesky import cholesky_factor, cholesky_solve
from separatrix.matrices.gram import column_gram
from separatrix.matrices.products import DenseProducts
from separatrix.optimize.convex import Status
from separatrix.svm import loops
from separatrix.svm.problem import Budget, LinearProblem, SquaredProblem, SVMProblem
from separatrix.threads import parallel_map, pieces

#: The reduction of the residual by conjugate gradients, until bounds are nearly right.
REDUCTION = 0.3


@dataclass
class _State:
    """β, w = Xᵀβ and the intercept b."""

    beta: Floats
    w: Floats
    preconditioner: DualPreconditioner
    b: float = 0.0
    seed: int = 1
    cut: float = 1.0  # share of the free rows that the last step cut at their bounds
    scores: Floats | None = None  # w·x + b of all rows, where β is still the same


@dataclass(frozen=True)
class DualPoint:
    """A feasible β, the w that follows from it, an intercept b, their gap and KKT residual."""

    beta: Floats
    w: Floats
    b: float
    gap: float = np.inf
    size: float = 1.0
    kkt: float = np.inf
    scores: Floats = field(default_factory=lambda: np.zeros(0))
    status: Status = Status.SOLVED

    def excess(self, tol: float) -> float:
        """How many times the relative gap, or the KKT residual, exceeds its tolerance."""
        return max(self.gap / (tol * self.size), 1.1 * self.kkt / tol)


def solve_dual(problem: DualProblem, tol: float, budget: Budget) -> DualPoint:
    """Rounds until the relative gap is at most ``tol``, or the budget is used up."""
    rows = np.arange(problem.n)
    state = _State(
        np.zeros(problem.n),
        problem.rows.weighted_sum(rows[:1], np.zeros(1)),
        DualPreconditioner(problem.rows, problem.diagonal, problem.inverse_shared),
    )
    best = DualPoint(state.beta, state.w, 0.0)
    # Epochs between systems: the more rows for each column, the slower are conjugate gradients
    # beside coordinate descent. Twice as many come before the first system.
    later, most = int(np.clip(8 * (problem.n // len(state.w)), 8, 64)), 128
    later = later if problem.rows.alike else later // 4
    epochs, stalled, settled = 2 * later, 0, False
    patience = 40  # rounds without a smaller gap after which rounding prevents more
    while stalled < patience and not budget.exhausted:
        if stalled == patience // 2 and problem.rows.in_double():
            stalled = 0
        _descend(problem, state, rows, epochs)
        budget.n_iter += epochs
        # Relative gap below which w is summed anew after an epoch, in double precision.
        if epochs and best.gap < 1e-3 * best.size:
            state.w = _weights(problem, state.beta)
        # Share of the free rows cut at their bounds by a step that is negligible.
        accuracy = _accuracy(best, tol) if settled else REDUCTION if state.cut > 2e-4 else 0.05
        solved = _solve_face(problem, state, accuracy, budget)
        if not solved:
            _factor_free(problem, state)
        point = _point(problem, state)
        stalled = 0 if point.excess(tol) < 0.9 * best.excess(tol) else stalled + 1
        if point.excess(tol) < best.excess(tol):
            best = point
        if best.excess(tol) <= 1.0:
            return replace(best, w=problem.rows.restore(best.w))
        rows = problem.find_unsettled(state.beta, point.scores)
        settled = state.cut == 0.0 and len(rows) == len(problem.free(state.beta))
        refused = state.cut == 1.0  # the free rows are far from those of the solution
        epochs = 0 if settled else min(4 * max(epochs, 1), most) if refused else later
    status = budget.status if budget.exhausted else Status.ROUNDING
    return replace(best, w=problem.rows.restore(best.w), status=status)


def _descend(problem: DualProblem, state: _State, rows: Ints, epochs: int) -> None:
    """Epochs of coordinate descent over some rows, without those that stay at a bound."""
    state.scores = state.scores if epochs == 0 else None
    for turn in range(1, epochs + 1):
        before = state.beta[rows]
        chunks = np.arange(-(-len(rows) // loops.CHUNK))
        state.seed = loops.shuffle(chunks, len(chunks), state.seed)
        problem.rows.epoch(problem.numbers, rows, chunks, problem.epsilon, problem.step, state)
        if turn > 1:
            beta_here, low, high = state.beta[rows], problem.low[rows], problem.high[rows]
            rows = rows[(beta_here != before) | ((beta_here > low) & (beta_here < high))]
        if problem.balances and turn % 2 == 0:
            state.b += problem.step * float(state.beta.sum())


def _accuracy(best: DualPoint, tol: float) -> float:
    """The reduction of the residual that is worth it once all bounds are right."""
    by_gap, by_kkt = np.sqrt(tol * best.size / best.gap), tol / max(best.kkt, tol)
    return float(np.clip(0.3 * min(by_gap, by_kkt), 1e-4, REDUCTION))


# -- the free rows -------------------------------------------------------------------------------


def _residual(problem: DualProblem, state: _State, rows: Ints) -> Floats:
    """Minus the derivative of the free rows."""
    beta_here = state.beta[rows]
    if state.scores is not None:
        scores = state.scores[rows]
    else:
        b = state.b if problem.balances else problem.shared * float(state.beta.sum())
        scores = problem.rows.times(rows, state.w.astype(float, copy=False)) + b
    kink = problem.epsilon * np.sign(beta_here)
    return np.asarray(problem.t[rows] - kink - problem.diagonal[rows] * beta_here - scores)


def _solve_face(problem: DualProblem, state: _State, accuracy: float, budget: Budget) -> bool:
    """Steps on the free rows, on those that are not cut at a bound by the last, and so on.

    What a cut leaves is far off along columns that many rows have, which a few steps mend, and
    epochs do not.
    """
    solved = _solve_free(problem, state, accuracy, budget)
    # Systems one after the other as long as a step cuts many rows at their bounds.
    for _ in range(4 if problem.rows.alike else 0):
        # Share of the free rows cut at their bounds by a step that is small.
        if not solved or state.cut <= 1e-2 or state.cut == 1.0 or budget.exhausted:
            break
        solved = _solve_free(problem, state, accuracy, budget)
    return solved


def _solve_free(problem: DualProblem, state: _State, accuracy: float, budget: Budget) -> bool:
    """Preconditioned conjugate gradients on the free rows; whether they converged."""
    rows = problem.free(state.beta)
    if not len(rows):
        _move(problem, state, rows, np.zeros(0), state.b)
        return True
    part, diagonal, shared = problem.rows.part(rows), problem.diagonal[rows], problem.shared
    inverse = state.preconditioner
    inverse.set_rows(rows, part)
    residual, delta = _residual(problem, state, rows), np.zeros(len(rows))
    most = problem.rows.most_steps(len(rows))
    if problem.balances:  # Σ(β + δ) = 0 first, and Σp = 0 ever after
        delta = (-float(state.beta.sum()) / inverse.total) * inverse.ones
        residual -= part.times(part.weighted_sum(delta)) + diagonal * delta
    p, b = inverse(residual)
    size, steps = float(residual @ p), 0
    goal = accuracy**2 * size
    while size > goal and steps < most and not budget.out_of_time:
        v, total = part.weighted_sum(p), shared * float(p.sum())
        curved = float(v @ v) + float(diagonal @ p**2) + total * float(p.sum())
        # Curvature along a step that counts as none, relative to that of single rows.
        if not curved > 1e-8 * float(p @ (p / inverse.own)):
            break  # more free rows than columns: the epochs bring some of them to a bound
        step = size / curved
        delta += step * p
        residual -= step * (part.times(v) + diagonal * p + total)
        z, b = inverse(residual)
        before, size = size, float(residual @ z)
        p = z + (size / before) * p
        steps += 1
    budget.n_iter += steps
    _move(problem, state, rows, delta, state.b + b)
    return steps < most


def _move(problem: DualProblem, state: _State, rows: Ints, delta: Floats, b: float) -> None:
    """Β + δ cut at the bounds, or half of it and so on, as long as the dual does not improve."""

    def value(beta: Floats, w: Floats) -> float:
        total = float(beta.sum())
        shared = b * total if problem.balances else 0.5 * problem.shared * total**2
        return 0.5 * float(w @ w) + problem.linear(beta) + shared

    old, (low, high) = state.beta, problem.bounds(state.beta, rows)
    w = state.w.astype(float, copy=False)
    # Increase of the dual objective that counts as rounding, relative to ‖w‖².
    before = value(old, w) + 1e-7 * float(w @ w)
    for halvings in range(8):
        beta = old.copy()
        beta[rows] = np.clip(old[rows] + 0.5**halvings * delta, low, high)
        cut = (beta[rows] == low) | (beta[rows] == high)
        balanced = problem.balance(beta)
        w = _weights(problem, balanced)
        if value(balanced, w) <= before or not len(rows):
            state.beta, state.w, state.cut = balanced, w, float(cut.mean()) if len(rows) else 0.0
            break
    else:
        state.beta, state.cut = problem.balance(old), 1.0
        state.w = _weights(problem, state.beta)
    state.b = b if problem.balances else problem.shared * float(state.beta.sum())
    state.scores = None


def _weights(problem: DualProblem, beta: Floats) -> Floats:
    """W = Xᵀβ, summed anew."""
    support = np.flatnonzero(beta)
    return problem.rows.weighted_sum(support, beta[support])


def _factor_free(problem: DualProblem, state: _State) -> None:
    """The step to the solution on the free rows by Cholesky factors, where they are few."""
    rows = problem.free(state.beta)
    m = len(rows)
    if not 0 < m <= problem.rows.most_in_system:
        return
    gram = problem.rows.gram(rows)
    gram += problem.shared
    gram.flat[:: m + 1] += problem.diagonal[rows]
    gram.flat[:: m + 1] += 1e-13 * max(float(np.trace(gram)) / m, np.finfo(float).tiny)
    factor = cholesky_factor(gram)
    if factor is None:
        return
    residual = _residual(problem, state, rows)
    step, b = cholesky_solve(factor, residual), state.b
    if problem.balances:
        along = cholesky_solve(factor, np.ones(m))
        change = float((step.sum() + state.beta.sum()) / along.sum())
        step, b = step - change * along, b + change
    _move(problem, state, rows, step, b)


def _point(problem: DualProblem, state: _State) -> DualPoint:
    """The duality gap and the KKT residual at β."""
    beta, w, total = state.beta, state.w, float(state.beta.sum())
    scores = problem.rows.times(np.arange(problem.n), w)
    if problem.balances:
        state.b = problem.best_intercept(scores, state.b)
    scores += state.b
    state.scores = scores
    square = float(w @ w) + (0.0 if problem.balances else problem.shared * total**2)
    loss = problem.loss(scores)
    gap = square + loss + problem.linear(beta)
    kkt = problem.kkt(beta, scores)
    return DualPoint(beta, w, state.b, max(gap, 0.0), 0.5 * square + loss, kkt, scores)


# -------------------------------------------------------------------------------------------------
# The dual of a linear SVM with many columns, for hinges, ε-insensitive errors and their squares.
#
#     min over β of ½ ‖Xᵀβ‖² + ½ g (Σβ)² + ½ Σ δβ² − tᵀβ + ε Σ|β|,      low ≤ β ≤ high
#
# Columns are divided by √ρ, so that all penalties are one. δ is 0, or 1/(2c) of a squared loss,
# whose β has no bound. g is 1/ρ₀ of a penalized intercept b = gΣβ; a free one constrains Σβ = 0.


@dataclass(frozen=True)
class DualProblem:
    """Rows, targets t, bounds of β, δ and ε; ``shared`` is g, and ``balances`` that Σβ = 0."""

    rows: SomeRows
    t: Floats
    low: Floats
    high: Floats
    diagonal: Floats
    epsilon: float
    shared: float
    balances: bool

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.t)

    @cached_property
    def numbers(self) -> Floats:
        """What coordinate descent reads of every row."""
        return np.stack([self.t, self.low, self.high, self.diagonal, self.rows.square], axis=1)

    @cached_property
    def step(self) -> float:
        """How much b changes with Σβ in coordinate descent: g, or the size of the rows."""
        return (float(self.rows.square.mean()) or 1.0) if self.balances else self.shared

    @cached_property
    def squared(self) -> bool:
        """Whether the losses are squared."""
        return bool(self.diagonal.any())

    @cached_property
    def hinges(self) -> SVMProblem:
        """The same losses where they are not squared."""
        return SVMProblem(self.t, self.low, self.high, self.epsilon, self.balances)

    @property
    def inverse_shared(self) -> float:
        """1/g: zero for a free intercept, infinity without one."""
        if self.balances:
            return 0.0
        return 1.0 / self.shared if self.shared > 0.0 else np.inf

    def free(self, beta: Floats) -> Ints:
        """Rows whose β is at no bound, and not at the kink of ε|β|."""
        inside = (beta > self.low) & (beta < self.high)
        return np.flatnonzero(inside & (beta != 0.0) if self.epsilon > 0.0 else inside)

    def bounds(self, beta: Floats, rows: Ints) -> tuple[Floats, Floats]:
        """Between which β of free rows stays on its side of the kink."""
        low, high, beta_here = self.low[rows], self.high[rows], beta[rows]
        if self.epsilon > 0.0:
            low, high = np.where(beta_here > 0.0, 0.0, low), np.where(beta_here < 0.0, 0.0, high)
        return low, high

    def slopes(self, beta: Floats, scores: Floats) -> tuple[Floats, Floats]:
        """How fast the dual falls as β increases, and as it decreases; 0 where it does not."""
        slope, epsilon = scores - self.t + self.diagonal * beta, self.epsilon
        up = np.where(beta < self.high, -slope - np.where(beta >= 0.0, epsilon, -epsilon), 0.0)
        down = np.where(beta > self.low, slope + np.where(beta > 0.0, epsilon, -epsilon), 0.0)
        return np.maximum(up, 0.0), np.maximum(down, 0.0)

    def find_unsettled(self, beta: Floats, scores: Floats) -> Ints:
        """Rows that are free, or whose β would change if it could alone."""
        up, down = self.slopes(beta, scores)
        moving = (up > 0.0) | (down > 0.0)
        moving[self.free(beta)] = True
        return np.flatnonzero(moving)

    def kkt(self, beta: Floats, scores: Floats) -> float:
        """The largest distance of a score and β to where they fit, β in units of its bound."""
        up, down = self.slopes(beta, scores)
        if self.squared:
            return 2.0 * float(np.maximum(up, down).max(initial=0.0))
        cost = np.maximum(self.high, -self.low)
        unit = np.where(cost > 0.0, cost, 1.0)
        kinked = self.epsilon > 0.0
        rise = np.where(kinked & (beta < 0.0), -beta, self.high - beta) / unit
        fall = np.where(kinked & (beta > 0.0), beta, beta - self.low) / unit
        return float(np.maximum(np.minimum(up, rise), np.minimum(down, fall)).max(initial=0.0))

    def linear(self, beta: Floats) -> float:
        """½ Σ δβ² − tᵀβ + ε Σ|β|."""
        linear_part = float(self.t @ beta) - self.epsilon * float(np.abs(beta).sum())
        return 0.5 * float(self.diagonal @ beta**2) - linear_part

    def loss(self, scores: Floats) -> float:
        """Σ c ξ, or Σ c ξ²."""
        over = np.maximum(self.t - scores - self.epsilon, 0.0)
        under = np.maximum(scores - self.t - self.epsilon, 0.0)
        if not self.squared:
            return float(self.high @ over - self.low @ under)
        each = np.where(self.high > 0.0, over, 0.0) ** 2 + np.where(self.low < 0.0, under, 0.0) ** 2
        return float(np.sum(each / (2.0 * self.diagonal)))

    def best_intercept(self, scores: Floats, near: float) -> float:
        """The free b of least loss beside ``scores``."""
        if not self.squared:
            low, high = self.hinges.intercept_interval(scores)
            return min(max(near, low), high)
        b = near
        for _ in range(50):  # steps to the best free intercept of a squared loss
            z = self.t - scores - b
            over = np.where(self.high > 0.0, np.maximum(z - self.epsilon, 0.0), 0.0)
            under = np.where(self.low < 0.0, np.maximum(-z - self.epsilon, 0.0), 0.0)
            pull = float(np.sum((over - under) / self.diagonal))
            weight = float(np.sum(((over > 0.0) | (under > 0.0)) / self.diagonal))
            if weight <= 0.0 or b + pull / weight == b:
                break
            b += pull / weight
        return b

    def balance(self, beta: Floats) -> Floats:
        """β with Σβ = 0: free rows give way as far as their bounds let them, then all of a side."""
        total = float(beta.sum())
        if not self.balances or total == 0.0:
            return beta
        rows = self.free(beta)
        low, high = self.bounds(beta, rows)
        room = np.minimum(beta[rows] - low if total > 0.0 else high - beta[rows], self._reach(beta))
        if float(room.sum()) > 2.0 * abs(total):
            beta = beta.copy()
            beta[rows] -= total * (room / float(room.sum()))
            return beta
        plus, minus = float(beta[beta > 0.0].sum()), -float(beta[beta < 0.0].sum())
        least = min(plus, minus)
        factor = np.where(beta > 0.0, least / (plus or 1.0), least / (minus or 1.0))
        return np.asarray(beta * factor)

    @staticmethod
    def _reach(beta: Floats) -> float:
        return float(np.abs(beta).max(initial=0.0)) or 1.0


def dual_of_hinges(problem: LinearProblem, root: Floats) -> DualProblem:
    """The dual of hinges or ε-insensitive errors."""
    penalized = problem.intercept and not problem.balances
    return DualProblem(
        some_rows(problem.x, root),
        problem.t,
        problem.low,
        problem.high,
        np.zeros(problem.n),
        problem.epsilon if problem.regression else 0.0,
        1.0 / problem.intercept_ridge if penalized else 0.0,
        problem.balances,
    )


def dual_of_squares(problem: SquaredProblem, root: Floats) -> DualProblem:
    """The dual of squared hinges or squared ε-insensitive errors with an ℓ₂ penalty."""
    label = problem.epsilon is None
    infinite = np.full(problem.n, np.inf)
    penalized = problem.intercept and not problem.free_intercept
    return DualProblem(
        some_rows(problem.x, root),
        problem.t,
        np.where(problem.t > 0.0, 0.0, -infinite) if label else -infinite,
        np.where(problem.t > 0.0, infinite, 0.0) if label else infinite,
        1.0 / (2.0 * problem.cost),
        problem.epsilon or 0.0,
        1.0 / float(problem.penalty.l2[-1]) if penalized else 0.0,
        problem.free_intercept,
    )


# -------------------------------------------------------------------------------------------------
# An approximate inverse of K + D on some rows, K = XXᵀ + g 11ᵀ, for conjugate gradients.
#
# Frequent words make the rows of a text resemble each other: a few hundred columns have nearly all
# of what K is off its diagonal. With U these columns and Δ the diagonal of the rest,
#
#     M = UUᵀ + Δ + g 11ᵀ
#
# is inverted by a matrix as large as there are such columns (Woodbury). In their absence M is the
# diagonal. A free intercept, which constrains the sum to zero, is g → ∞.


class DualPreconditioner:
    """M⁻¹ on some of the rows; which ones may change, and changes the inner matrix by them alone.

    ``inverse_shared`` is 1/g: zero for a free intercept, infinity without one.
    """

    def __init__(self, rows: SomeRows, diagonal: Floats, inverse_shared: float) -> None:
        self.source: Any = rows
        whole = rows.square + diagonal
        # Least share of the diagonal that counts as the rest.
        delta = np.maximum(rows.light + diagonal, 0.05 * whole)
        self.inverse = 1.0 / np.where(delta > 0.0, delta, 1.0)
        self.inverse_shared = inverse_shared
        self.inside = np.zeros(len(self.inverse), dtype=bool)
        self.inner = np.eye(rows.heavy)

    def set_rows(self, rows: Ints, part: RowsPart) -> None:
        """The rows from now on, and products with them."""
        self.part: Any = part
        self.own = self.inverse[rows]
        if part.heavy:
            inside = np.zeros_like(self.inside)
            inside[rows] = True
            changed = np.flatnonzero(inside != self.inside)
            if 2 * len(changed) > len(rows):
                self.inner, changed = np.eye(part.heavy), rows
            sign = np.where(inside[changed], 1.0, -1.0)
            self.inner += self.source.heavy_gram(changed, sign * self.inverse[changed])
            self.inside = inside
            self.factor = linalg.cho_factor(self.inner, lower=True, check_finite=False)
        self.ones = self._without_intercept(np.ones(len(rows)))
        self.total = float(self.ones.sum())

    def __call__(self, residual: Floats) -> tuple[Floats, float]:
        """M⁻¹ residual, and what it lets the intercept be."""
        result = self._without_intercept(residual)
        if np.isinf(self.inverse_shared):
            return result, 0.0
        b = float(result.sum()) / (self.inverse_shared + self.total)
        return result - b * self.ones, b

    def _without_intercept(self, residual: Floats) -> Floats:
        result = self.own * residual
        if self.part.heavy:
            inner = linalg.cho_solve(self.factor, self.part.heavy_sum(result), check_finite=False)
            result -= self.own * self.part.heavy_times(inner)
        return result


# -------------------------------------------------------------------------------------------------
# What dual coordinate descent needs of the rows, sparse or dense.


class RowsPart(Protocol):
    """Some rows for many products; sparse ones in single precision and in columns of their own."""

    heavy: int

    def times(self, v: Floats) -> Floats:
        """x·v of the rows."""
        ...

    def weighted_sum(self, r: Floats) -> Floats:
        """Σ r x over the rows."""
        ...


class SomeRows(Protocol):
    """Rows x; ``square`` is ‖x‖² of each, ``light`` without the first ``heavy`` columns.

    Rows are ``alike`` where columns that many of them have make K far from its diagonal. The system
    of up to ``most_in_system`` rows is factored where conjugate gradients are slow.
    """

    most_in_system: int
    square: Floats
    light: Floats
    heavy: int
    alike: bool

    def times(self, rows: Ints, v: Floats) -> Floats:
        """x·v of some rows."""
        ...

    def weighted_sum(self, rows: Ints, r: Floats) -> Floats:
        """Σ r x over some rows."""
        ...

    def part(self, rows: Ints) -> RowsPart:
        """Some rows for many products."""
        ...

    def epoch(
        self, numbers: Floats, rows: Ints, chunks: Ints, epsilon: float, step: float, state: Any
    ) -> None:
        """One epoch of coordinate descent over some rows, which changes β, w and b of ``state``."""
        ...

    def in_double(self) -> bool:
        """Take double precision from now on; whether that was not so before."""
        ...

    def most_steps(self, count: int) -> int:
        """Steps of conjugate gradients that take as long as factors of a system of ``count``."""
        ...

    def gram(self, rows: Ints) -> Floats:
        """x·x' of all pairs of some rows, which may be written to."""
        ...

    def restore(self, w: Floats) -> Floats:
        """W in the order of the columns of the matrix."""
        ...


def some_rows(x: Matrix, root: Floats) -> SomeRows:
    """The rows of x, their columns divided by ``root``."""
    return SparseDualRows(x, root) if sparse.issparse(x) else DenseDualRows(np.asarray(x), root)


# -------------------------------------------------------------------------------------------------
# Products with some rows of a dense matrix, and epochs of coordinate descent over them.


class DensePart:
    """Some rows: copied where they are few, else all with zeros for the others."""

    heavy = 0

    def __init__(self, x: Floats, rows: Ints) -> None:
        self.rows, self.n = rows, len(x)
        self.whole = 2 * len(rows) > self.n
        self.products = DenseProducts(x if self.whole else x[rows])

    def times(self, v: Floats) -> Floats:
        """x·v of the rows."""
        out = self.products.times(v)
        return out[self.rows] if self.whole else out

    def weighted_sum(self, r: Floats) -> Floats:
        """Σ r x over the rows."""
        if self.whole:
            every = np.zeros(self.n)
            every[self.rows] = r
            r = every
        return self.products.transposed_times(r)


class DenseDualRows:
    """Rows of a dense matrix, their columns divided by ``root``."""

    heavy, alike = 0, True
    most_in_system = 4_000

    def __init__(self, x: Floats, root: Floats) -> None:
        if not (root == 1.0).all():
            x = x / root
        self.x = np.ascontiguousarray(x, dtype=np.float64)
        self.square = self.light = np.einsum("ij,ij->i", self.x, self.x)

    def times(self, rows: Ints, v: Floats) -> Floats:
        """x·v of some rows."""
        return self.part(rows).times(v)

    def weighted_sum(self, rows: Ints, r: Floats) -> Floats:
        """Σ r x over some rows."""
        return self.part(rows).weighted_sum(r)

    def part(self, rows: Ints) -> DensePart:
        """Some rows for many products."""
        return DensePart(self.x, rows)

    def epoch(
        self, numbers: Floats, rows: Ints, chunks: Ints, epsilon: float, step: float, state: Any
    ) -> None:
        """One epoch of coordinate descent over some rows, which changes β, w and b of ``state``."""
        state.b = loops.dense_epoch(
            self.x, numbers, rows, chunks, epsilon, state.beta, state.w, state.b, step
        )

    def in_double(self) -> bool:
        """Dense rows are in double precision always."""
        return False

    def most_steps(self, count: int) -> int:
        """Steps of conjugate gradients that take as long as factors of a system of ``count``."""
        return 25 if count <= self.most_in_system else 150

    def gram(self, rows: Ints) -> Floats:
        """x·x' of all pairs of some rows; of all rows once, where these are not many."""
        if len(self.x) > self.most_in_system:
            return column_gram(self.x[rows].T)
        return self._whole_gram[np.ix_(rows, rows)]

    @cached_property
    def _whole_gram(self) -> Floats:
        return column_gram(self.x.T)

    def restore(self, w: Floats) -> Floats:
        """W as it is."""
        return w


# -------------------------------------------------------------------------------------------------
# Products with some rows of a sparse matrix, and epochs of coordinate descent over them.
#
# Sums over rows are cut at places that depend on the shape alone and added in order, so that
# results are the same bits on any number of threads. Epochs and conjugate gradients take the
# numbers in single precision, which is half of the memory to read; their beginnings and results are
# in double.
#
# Columns of heavy weight are numbered first, and come first in every row: they are what makes rows
# of text depend on each other, and what the preconditioner takes together
# (:mod:`separatrix.svm.linear_dual`).


#: Entries that are worth a piece of their own; parts that a sum over rows has at most.
_WORK, _PARTS = 250_000, 16


@dataclass(frozen=True)
class Entries:
    """Compressed rows whose first entries are those of heavy columns."""

    begins: Ints
    heavy_ends: Ints
    ends: Ints
    indices: Ints
    data: Any
    width: int

    @property
    def rows(self) -> tuple[Any, ...]:
        """What loops over whole rows take."""
        return self.begins, self.ends, self.indices, self.data

    @property
    def heavy(self) -> tuple[Any, ...]:
        """What loops over the heavy columns of rows take."""
        return self.begins, self.heavy_ends, self.indices, self.data


class SparsePart:
    """Some rows, in single precision: few of them are copied, with columns of their own."""

    def __init__(self, entries: Entries, rows: Ints, mean: int, heavy: int) -> None:
        self.entries, self.rows, self.mean, self.heavy = entries, rows, mean, heavy

    def times(self, v: Floats) -> Floats:
        """x·v of the rows."""
        return _times(self.entries.rows, self.rows, v, self.mean)

    def weighted_sum(self, r: Floats) -> Floats:
        """Σ r x over the rows, in the columns that they have."""
        entries = self.entries
        return _sum(entries.rows, self.rows, r, self.mean, entries.width)

    def heavy_times(self, v: Floats) -> Floats:
        """x·v of the rows over heavy columns alone."""
        return _times(self.entries.heavy, self.rows, v, self.mean)

    def heavy_sum(self, r: Floats) -> Floats:
        """Σ r x over the rows in heavy columns alone."""
        return _sum(self.entries.heavy, self.rows, r, self.mean, self.heavy)


class SparseDualRows:
    """Compressed rows, their columns divided by ``root``."""

    most_in_system = 2_500

    def __init__(self, x: Any, root: Floats) -> None:
        x = sparse.csr_array(x)
        x.sum_duplicates()
        data = x.data if (root == 1.0).all() else x.data / root[x.indices]
        small = x.shape[1] < np.iinfo(np.int32).max
        indices = x.indices.astype(np.int32 if small else np.int64, copy=False)
        indptr, data = x.indptr.astype(np.int64), np.asarray(data, dtype=np.float64)
        self.x = sparse.csr_array((data, x.indices, x.indptr), x.shape)
        self.d, self.mean = x.shape[1], max(1, x.nnz // max(x.shape[0], 1))
        single, self.square = _in_single(indptr, data, self.mean)
        self.order, self.heavy = self._heavy_columns()
        self.alike = self.heavy > 0
        self.light = self.square
        ends = indptr[:-1]
        if self.heavy:
            indices, data, ends, self.light = self._heavy_first(indptr, indices, data)
            single = data.astype(single.dtype, copy=False)
        self.double = Entries(indptr[:-1], ends, indptr[1:], indices, data, self.d)
        self.single = Entries(indptr[:-1], ends, indptr[1:], indices, single, self.d)

    def _heavy_columns(self) -> tuple[Ints, int]:
        """The columns in order, the heavy ones first, and how many these are."""
        n = len(self.square)
        every = max(1, n // 2_000)  # rows from whose sums heavy columns are told
        sample = self.x[::every]
        square = np.where(self.square > 0.0, self.square, 1.0)[::every]
        share = sample.data**2 / np.repeat(square, np.diff(sample.indptr))
        weight = every * np.bincount(sample.indices, share, self.d)
        # A heavy column has an entry in at least so many of these rows.
        often = np.bincount(sample.indices, minlength=self.d) >= 30
        # Columns are heavy from this sum of x²/‖x‖² over the rows on.
        heavy = np.flatnonzero(often & (weight > 1.0))
        heavy = heavy[np.argsort(-weight[heavy], kind="stable")[:256]]  # heavy columns at most
        rest = np.ones(self.d, dtype=bool)
        rest[heavy] = False
        return np.concatenate([heavy, np.flatnonzero(rest)]), len(heavy)

    def _heavy_first(
        self, indptr: Ints, indices: Ints, data: Floats
    ) -> tuple[Ints, Floats, Ints, Floats]:
        """Indices and data with heavy columns first, where these end, and Σ x² of the others."""
        label = np.empty(self.d, dtype=indices.dtype)
        label[self.order] = np.arange(self.d)
        labels, values = np.empty_like(indices), np.empty_like(data)
        ends, light = np.empty_like(indptr[:-1]), np.empty(len(self.square))

        def part(rows: slice) -> None:
            loops.heavy_first(
                rows.start, rows.stop, indptr, indices, data, label, self.heavy,
                labels, values, ends, light,
            )  # fmt: skip

        parallel_map(part, pieces(len(light), -(-_WORK // self.mean)))
        return labels, values, ends, light

    def times(self, rows: Ints, v: Floats) -> Floats:
        """x·v of some rows."""
        return _times(self.double.rows, rows, v, self.mean)

    def weighted_sum(self, rows: Ints, r: Floats) -> Floats:
        """Σ r x over some rows."""
        return _sum(self.double.rows, rows, r, self.mean, self.d)

    def heavy_gram(self, rows: Ints, r: Floats) -> Floats:
        """Σ r x xᵀ over some rows in heavy columns alone."""
        most = int(np.clip(len(rows) * self.mean // self.heavy, 1, _PARTS))
        cuts = pieces(len(rows), -(-_WORK // self.mean**2), most)

        def part(at: slice) -> Floats:
            out = np.zeros((self.heavy, self.heavy))
            loops.some_rows_gram(at.start, at.stop, rows, *self.double.heavy, r, out)
            return out

        return np.asarray(sum(parallel_map(part, cuts)))

    def part(self, rows: Ints) -> SparsePart:
        """Some rows for many products, in single precision."""
        entries, mean = self.single, self.mean
        # Rows are copied with their own columns where they are fewer than this share of all.
        if len(rows) > 0.2 * len(self.square):
            return SparsePart(entries, rows, mean, self.heavy)
        begins = np.append(0, np.cumsum(entries.ends[rows] - entries.begins[rows]))
        label = np.full(self.d, -1, dtype=np.int64)
        label[: self.heavy] = np.arange(self.heavy)
        labels = np.empty(begins[-1], dtype=entries.indices.dtype)
        values = np.empty(begins[-1], dtype=entries.data.dtype)
        width = loops.with_own_columns(rows, *entries.rows, label, self.heavy, labels, values)
        heavy_ends = begins[:-1] + entries.heavy_ends[rows] - entries.begins[rows]
        light_entries = Entries(
            begins[:-1], heavy_ends, begins[1:], labels, values, max(int(width), 1)
        )
        return SparsePart(light_entries, np.arange(len(rows)), mean, self.heavy)

    def epoch(
        self, numbers: Floats, rows: Ints, chunks: Ints, epsilon: float, step: float, state: Any
    ) -> None:
        """One epoch of coordinate descent over some rows, which changes β, w and b of ``state``."""
        state.w = state.w.astype(self.single.data.dtype, copy=False)
        state.b = loops.sparse_epoch(
            *self.single.rows, numbers, rows, chunks, epsilon, state.beta, state.w, state.b, step
        )

    def in_double(self) -> bool:
        """Take double precision from now on; whether that was not so before."""
        changed = bool(self.single.data.dtype == np.float32)
        self.single = self.double
        return changed

    def most_steps(self, count: int) -> int:
        """Steps of conjugate gradients that take as long as factors of a system of ``count``."""
        steps = 150  # steps of conjugate gradients at most
        if count > self.most_in_system:
            return steps
        factors = count**3 / 3 + 10 * count**2 * self.mean
        # Multiplications that take as long as one step begins with.
        return int(np.clip(factors / (3_000_000 + 40 * count * self.mean), 10, steps))

    def gram(self, rows: Ints) -> Floats:
        """x·x' of all pairs of some rows."""
        part = self.x[rows]
        return np.asarray((part @ part.T).toarray())

    def restore(self, w: Floats) -> Floats:
        """W in the order of the columns of x."""
        out = np.empty_like(w)
        out[self.order] = w
        return out


def _in_single(indptr: Ints, data: Floats, mean: int) -> tuple[Any, Floats]:
    """The numbers in single precision, unless some would overflow or vanish; ‖x‖² of rows."""
    # Entries from which on single precision saves more time than its loops take to compile.
    if len(data) < 500_000:
        square = np.add.reduceat(np.append(data**2, 0.0), indptr[:-1])
        return data, np.where(np.diff(indptr) > 0, square, 0.0)
    single, square = np.empty(len(data), dtype=np.float32), np.empty(len(indptr) - 1)

    def part(rows: slice) -> tuple[float, float]:
        return loops.in_single(rows.start, rows.stop, indptr, data, single, square)  # type: ignore[no-any-return]

    sizes = parallel_map(part, pieces(len(square), -(-_WORK // mean)))
    least, most = min(size[0] for size in sizes), max(size[1] for size in sizes)
    return single if least > 1e-30 and most < 1e30 else data, square


def _times(entries: tuple[Any, ...], rows: Ints, v: Floats, mean: int) -> Floats:
    """x·v of some rows, in pieces."""
    v, out = v.astype(entries[-1].dtype, copy=False), np.empty(len(rows))
    if len(rows) * mean < 2 * _WORK:  # conjugate gradients on few rows: no thread is worth asking
        loops.some_rows_times(0, len(rows), rows, *entries, v, out)
        return out

    def part(at: slice) -> None:
        loops.some_rows_times(at.start, at.stop, rows, *entries, v, out)

    parallel_map(part, pieces(len(rows), -(-_WORK // mean)))
    return out


def _sum(entries: tuple[Any, ...], rows: Ints, r: Floats, mean: int, width: int) -> Floats:
    """Σ r x over some rows: a sum for every piece, then their sum in order."""
    r = r.astype(entries[-1].dtype, copy=False)
    if len(rows) * mean < 2 * _WORK:
        out = np.zeros(width, dtype=r.dtype)
        loops.some_rows_sum(0, len(rows), rows, *entries, r, out)
        return out
    most = int(np.clip(len(rows) * mean // (4 * width), 1, _PARTS))
    cuts = pieces(len(rows), -(-_WORK // mean), most)
    sums = np.empty((len(cuts), width), dtype=r.dtype)

    def part(index: int) -> None:
        sums[index] = 0.0
        loops.some_rows_sum(cuts[index].start, cuts[index].stop, rows, *entries, r, sums[index])

    parallel_map(part, range(len(cuts)))
    return _total(sums)


def _total(sums: Floats) -> Floats:
    """The sum of a few long rows, in order."""
    if len(sums) == 1:
        return np.asarray(sums[0])
    out = np.empty_like(sums[0])

    def part(rows: slice) -> None:
        np.add(sums[0][rows], sums[1][rows], out=out[rows])
        for other in sums[2:]:
            out[rows] += other[rows]

    parallel_map(part, pieces(len(out), 16_384, 4))
    return np.asarray(out)
