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

import numpy as np
from scipy import linalg, sparse

from separatrix.rows.block import Floats, Ints
from separatrix.svm.primal.dual_problem import DualProblem
from separatrix.svm.problem import Budget, Status
from separatrix.threads import one_blas_thread

#: Epochs before the first system, before the next ones, and once the bounds are nearly right.
FIRST, NEXT, LAST = 4, 4, 1
#: Steps of conjugate gradients in a round at most, and the reduction of the residual in one.
STEPS, REDUCTION = 150, 0.1
#: Curvature along a step that counts as none, relative to that of single rows.
FLAT = 1e-8
#: Free rows up to which their system is factored where conjugate gradients do not converge.
SYSTEM = 2_500
#: Shares of the free rows cut at their bounds by a step that are few, and that are next to none.
FEW, LEAST = 5e-2, 2e-4
#: Increase of the dual objective that counts as rounding, relative to ‖w‖².
NOISE = 1e-7
#: Relative gap below which w is summed anew after an epoch, in double precision.
EXACT = 1e-3
#: Rounds without a smaller gap after which rounding prevents more.
STALLED = 40


@dataclass
class _State:
    """β, w = Xᵀβ and the intercept b."""

    beta: Floats
    w: Floats
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
    state = _State(np.zeros(problem.n), problem.rows.weighted_sum(np.arange(1), np.zeros(1)))
    best, rows = DualPoint(state.beta, state.w, 0.0), np.arange(problem.n)
    epochs, stalled = FIRST, 0
    with one_blas_thread():
        while stalled < STALLED and not budget.exhausted:
            if stalled == STALLED // 2 and problem.rows.in_double():
                stalled = 0
            _descend(problem, state, rows, epochs)
            budget.n_iter += epochs
            if epochs and best.gap < EXACT * best.size:
                state.w = _weights(problem, state.beta)
            solved = _solve_free(problem, state, _accuracy(best, state, tol), budget)
            if not solved:
                _factor_free(problem, state)
            point = _point(problem, state)
            stalled = 0 if point.excess(tol) < 0.9 * best.excess(tol) else stalled + 1
            if point.excess(tol) < best.excess(tol):
                best = point
            if best.excess(tol) <= 1.0:
                return best
            rows = problem.unsettled(state.beta, point.scores)
            settled = state.cut == 0.0 and len(rows) == len(problem.free(state.beta))
            epochs = 0 if settled else NEXT if state.cut > FEW else LAST
    status = budget.status if budget.exhausted else Status.INACCURATE
    return replace(best, status=status)


def _descend(problem: DualProblem, state: _State, rows: Ints, epochs: int) -> None:
    """Epochs of coordinate descent over some rows."""
    state.scores = state.scores if epochs == 0 else None
    for turn in range(1, epochs + 1):
        problem.rows.epoch(problem.numbers, rows, state, problem.epsilon, problem.step)
        if problem.balances and turn % 2 == 0:
            state.b += problem.step * float(state.beta.sum())


def _accuracy(best: DualPoint, state: _State, tol: float) -> float:
    """The reduction of the residual that this round is worth: to the end once bounds are right."""
    if state.cut > LEAST or not np.isfinite(best.gap):
        return REDUCTION
    by_gap, by_kkt = np.sqrt(tol * best.size / best.gap), tol / max(best.kkt, tol)
    return float(np.clip(0.3 * min(by_gap, by_kkt), 1e-4, REDUCTION))


# -- the free rows -------------------------------------------------------------------------------


def _residual(problem: DualProblem, state: _State, rows: Ints) -> Floats:
    """Minus the derivative of the free rows, without a free intercept."""
    own = state.beta[rows]
    b = 0.0 if problem.balances else problem.shared * float(state.beta.sum())
    if state.scores is not None:
        scores = state.scores[rows] - (state.b if problem.balances else 0.0)
    else:
        scores = problem.rows.times(rows, state.w.astype(float, copy=False)) + b
    kink = problem.epsilon * np.sign(own)
    return np.asarray(problem.t[rows] - kink - problem.diagonal[rows] * own - scores)


def _solve_free(problem: DualProblem, state: _State, accuracy: float, budget: Budget) -> bool:
    """Conjugate gradients on the free rows, scaled by the diagonal; whether they converged.

    ``v`` = Xᵀp follows from that of the residuals, so that a step reads every row once.
    """
    rows = problem.free(state.beta)
    if not len(rows):
        _move(problem, state, rows, np.zeros(0), state.b)
        return True
    diagonal, x, shared = problem.diagonal[rows], problem.rows, problem.shared
    curvature = x.square[rows] + diagonal + shared
    inverse = 1.0 / np.where(curvature > 0.0, curvature, 1.0)
    residual, delta = _residual(problem, state, rows), np.zeros(len(rows))
    center = np.zeros_like(state.w, dtype=float)
    if problem.balances:  # Σ(β + δ) = 0 first, and Σp = 0 ever after
        center = x.residual_pass(rows, center, 0.0, inverse, np.ones(len(rows)))
        shift = -float(state.beta.sum()) / float(inverse.sum())
        delta = shift * inverse
        residual -= shift * diagonal * inverse
        pulled = x.residual_pass(rows, center, shift, inverse, residual)
    else:
        pulled = x.residual_pass(rows, center, 0.0, inverse, residual)

    def multiplier() -> float:
        return float(inverse @ residual) / float(inverse.sum()) if problem.balances else 0.0

    b = multiplier()
    p = inverse * (residual - b)
    v, size, steps = pulled - b * center, float(residual @ p), 0
    goal = accuracy**2 * size
    while size > goal and steps < STEPS and not budget.out_of_time:
        total = shared * float(p.sum())
        curved = float(v @ v) + float(diagonal @ p**2) + total * float(p.sum())
        if not curved > FLAT * float(p @ (p / inverse)):
            break  # more free rows than columns: the epochs bring some of them to a bound
        step = size / curved
        delta += step * p
        residual -= step * (diagonal * p + total)
        pulled = x.residual_pass(rows, v, step, inverse, residual)
        b = multiplier()
        z = inverse * (residual - b)
        before, size = size, float(residual @ z)
        p = z + (size / before) * p
        v = pulled - b * center + (size / before) * v
        steps += 1
    budget.n_iter += steps
    _move(problem, state, rows, delta, b if problem.balances else state.b)
    return steps < STEPS


def _move(problem: DualProblem, state: _State, rows: Ints, delta: Floats, b: float) -> None:
    """Β + δ cut at the bounds, or half of it and so on, as long as the dual does not improve."""

    def value(beta: Floats, w: Floats) -> float:
        total = float(beta.sum())
        shared = b * total if problem.balances else 0.5 * problem.shared * total**2
        return 0.5 * float(w @ w) + problem.linear(beta) + shared

    old, (low, high) = state.beta, problem.bounds(state.beta, rows)
    w = state.w.astype(float, copy=False)
    before = value(old, w) + NOISE * float(w @ w)
    for halvings in range(8):
        beta = old.copy()
        beta[rows] = np.clip(old[rows] + 0.5**halvings * delta, low, high)
        cut = (beta[rows] == low) | (beta[rows] == high)
        balanced = problem.balanced(beta)
        w = _weights(problem, balanced)
        if value(balanced, w) <= before or not len(rows):
            state.beta, state.w, state.cut = balanced, w, float(cut.mean()) if len(rows) else 0.0
            break
    else:
        state.beta, state.cut = problem.balanced(old), 1.0
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
    if not 0 < m <= SYSTEM:
        return
    part = problem.rows.take(rows)
    product = part @ part.T
    gram = np.asarray(product.toarray() if sparse.issparse(product) else product)
    gram += problem.shared
    gram.flat[:: m + 1] += problem.diagonal[rows]
    gram.flat[:: m + 1] += 1e-13 * max(float(np.trace(gram)) / m, np.finfo(float).tiny)
    try:
        factor = linalg.cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return
    residual = _residual(problem, state, rows)
    step, b = linalg.cho_solve(factor, residual, check_finite=False), state.b
    if problem.balances:
        along = linalg.cho_solve(factor, np.ones(m), check_finite=False)
        b = float((step.sum() + state.beta.sum()) / along.sum())
        step -= b * along
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
