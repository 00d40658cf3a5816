"""Dual coordinate descent for many columns: one α at a time, with w = Xᵀβ/ρ updated along.

The intercept constrains all α, Σ s α = 0, so that no single one could change. Its multiplier b is
found by the method of multipliers: b = b₀ + g Σ s α, and b₀ is updated until the sum vanishes.
With a penalty ½ ρ₀ b² there is no constraint, and b = Σ s α / ρ₀.
Epochs shrink hinges whose gradient points into their bound. At the end the free support vectors
are solved for exactly, as one linear system.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from separatrix.rows.block import Floats
from separatrix.svm.loops.dual_coordinate_descent import epoch, shuffle
from separatrix.svm.primal.active_set import LinearSolution
from separatrix.svm.problem import Budget, LinearProblem, Status

#: Epochs between two checks of the gap at least and at most, and the reduction of the violation.
LEAST, EPOCHS, REDUCTION = 8, 100, 0.3
#: Free support vectors up to which the exact solution is computed.
SYSTEM = 2_500


@dataclass
class _Descent:
    """The state of a descent over rows divided by √ρ, so that all penalties are one."""

    problem: LinearProblem
    x: sparse.csr_array
    alpha: Floats
    w: Floats
    b: float = 0.0
    threshold: float = np.inf
    seed: int = 1

    def __post_init__(self) -> None:
        self.square = np.asarray(self.x.multiply(self.x).sum(axis=1)).ravel()
        self.order = np.arange(self.alpha.size)
        self.active = len(self.order)
        p = self.problem
        step = float(self.square.mean()) if p.intercept else 0.0
        self.intercept_step = step if step > 0.0 or not p.intercept else 1.0
        if p.intercept and not p.balances:
            self.intercept_step = 1.0 / p.intercept_ridge

    def run(self, budget: Budget) -> None:
        """Epochs until the violation of the active hinges is reduced by ``REDUCTION``.

        The threshold of shrinking is the worst violation of the epoch before.
        """
        p, first = self.problem, 0.0
        for turn in range(1, min(EPOCHS, budget.remaining) + 1):
            self.seed = shuffle(self.order, self.active, self.seed)
            self.b, worst, self.active = epoch(
                self.x.indptr,
                self.x.indices,
                self.x.data,
                self.square,
                p.sign.ravel(),
                p.offset.ravel(),
                p.cost,
                self.order,
                self.active,
                self.alpha.reshape(-1),
                self.w,
                self.b,
                self.intercept_step,
                self.threshold,
            )
            budget.n_iter += 1
            if p.balances and not turn % 2:
                self.b += self.intercept_step * float(p.combine(self.alpha).sum())
            self.threshold = max(worst, 1e-12)
            first = max(first, worst)
            if (worst <= REDUCTION * first and turn >= LEAST) or budget.out_of_time:
                break

    def unshrink(self) -> None:
        """All hinges become active again; w is summed anew."""
        self.active, self.threshold = len(self.order), max(2.0 * self.threshold, 1e-12)
        beta = self.problem.combine(self.alpha)
        self.w = np.asarray(self.x.T @ beta)
        if self.problem.intercept and not self.problem.balances:
            self.b = float(beta.sum()) / self.problem.intercept_ridge


def solve_coordinate_descent(problem: LinearProblem, tol: float, budget: Budget) -> LinearSolution:
    """Epochs until the relative gap is at most ``tol``, or the budget is used up."""
    root = np.sqrt(problem.ridge)
    x = sparse.csr_array(problem.x)
    x = sparse.csr_array((x.data / root[x.indices], x.indices, x.indptr), x.shape)
    state = _Descent(problem, x, np.zeros(problem.offset.shape), np.zeros(x.shape[1]))
    best, status, tried = None, Status.MAX_ITER, np.inf
    while budget.remaining > 0:
        state.run(budget)
        state.unshrink()
        found = _candidate(problem, x, state.alpha, state.b)
        if best is None or found.gap < best.gap:
            best = found
        if found.gap < 1e-4 * found.size and found.gap < 0.1 * tried:
            tried = found.gap
            exact = _exact_on_free(problem, x, found)
            best = exact if exact is not None and exact.gap < best.gap else best
        if best.gap <= tol * best.size:
            status = Status.SOLVED
            break
        if budget.out_of_time:
            status = Status.TIME
            break
    assert best is not None
    return LinearSolution(best.w / root, best.b, best.alpha, status)


@dataclass(frozen=True)
class _Candidate:
    """A feasible α, the w that follows from it, and the best b for this w."""

    w: Floats
    b: float
    alpha: Floats
    short: Floats
    gap: float
    size: float


def _candidate(
    problem: LinearProblem, x: sparse.csr_array, alpha: Floats, near: float
) -> _Candidate:
    alpha = problem.balanced(alpha)
    beta = problem.combine(alpha)
    w = np.asarray(x.T @ beta)
    scores = np.asarray(x @ w)
    b, square = 0.0, float(w @ w)
    if problem.intercept and not problem.balances:
        b = float(beta.sum()) / problem.intercept_ridge
        square += problem.intercept_ridge * b**2
    elif problem.intercept:
        low, high = problem.intercept_interval(scores)
        b = min(max(near, low), high)
    short = problem.shortfall(scores + b)
    loss = float(problem.cost @ np.maximum(short, 0.0).sum(axis=0))
    gap = square + loss - float(np.vdot(problem.offset, alpha))
    return _Candidate(w, b, alpha, short, gap, 0.5 * square + loss)


def _exact_on_free(
    problem: LinearProblem, x: sparse.csr_array, near: _Candidate
) -> _Candidate | None:
    """The exact solution on the free support vectors: s(w·x + b) = q and Σ s α = 0 as equations."""
    c = np.broadcast_to(problem.cost, near.alpha.shape)
    free = (near.alpha > 1e-9 * c) & (near.alpha < (1.0 - 1e-9) * c)
    side, row = np.nonzero(free)
    m = len(row)
    if not 0 < m <= SYSTEM:
        return None
    z = x[row].multiply(problem.sign[side, row][:, None]).tocsr()
    s = problem.sign[side, row]
    gram = np.asarray((z @ z.T).toarray())
    if problem.intercept and not problem.balances:
        gram += s[:, None] * s / problem.intercept_ridge
    solve = _bordered(gram, s, problem.balances)
    if solve is None:
        return None
    alpha, b = np.where(free, near.alpha, np.where(near.short > 0.0, c, 0.0)), near.b
    for _ in range(3):
        u = problem.combine(alpha)
        if problem.intercept and not problem.balances:
            b = float(u.sum()) / problem.intercept_ridge
        right = problem.offset[free] - np.asarray(z @ (x.T @ u)) - s * b
        step, shift = solve(right, -float(u.sum()))
        alpha[free] += step
        b += shift
    return _candidate(problem, x, alpha, b) if np.isfinite(alpha).all() else None


def _bordered(
    gram: Floats, s: Floats, intercept: bool
) -> Callable[[Floats, float], tuple[Floats, float]] | None:
    """Solve G a + s b = right, s·a = total, by elimination of b; None if G is singular."""
    m = len(s)
    gram.flat[:: m + 1] += 1e-13 * max(float(np.trace(gram)) / m, np.finfo(float).tiny)
    try:
        factor = linalg.cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    along = linalg.cho_solve(factor, s, check_finite=False)

    def solve(right: Floats, total: float) -> tuple[Floats, float]:
        a = linalg.cho_solve(factor, right, check_finite=False)
        b = float((s @ a - total) / (s @ along)) if intercept else 0.0
        return a - b * along, b

    return solve
