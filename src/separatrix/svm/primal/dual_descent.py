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

from separatrix.matrices.cholesky import cholesky_factor, cholesky_solve
from separatrix.optimize.solution import Status
from separatrix.rows.block import Floats, Ints
from separatrix.svm.loops.dual_coordinate_descent import CHUNK, shuffle
from separatrix.svm.primal.dual_problem import DualProblem
from separatrix.svm.primal.preconditioner import Preconditioner
from separatrix.svm.problem import Budget

#: Epochs before the first system, before the next ones (half of both where rows have little in
#: common), and at most where a step was refused.
FIRST, NEXT, MOST = 8, 4, 128
#: The reduction of the residual by conjugate gradients: at first, and once bounds are nearly right.
REDUCTION, BETTER = 0.3, 0.05
#: Systems one after the other as long as a step cuts many rows at their bounds.
CUTS = 4
#: Curvature along a step that counts as none, relative to that of single rows.
FLAT = 1e-8
#: Shares of the free rows cut at their bounds by a step that are few, and that are next to none.
FEW, LEAST = 1e-2, 2e-4
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
    preconditioner: Preconditioner
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
        Preconditioner(problem.rows, problem.diagonal, problem.inverse_shared),
    )
    best = DualPoint(state.beta, state.w, 0.0)
    first, later = (FIRST, NEXT) if problem.rows.alike else (FIRST // 2, NEXT // 2)
    epochs, stalled, settled = first, 0, False
    while stalled < STALLED and not budget.exhausted:
        if stalled == STALLED // 2 and problem.rows.in_double():
            stalled = 0
        _descend(problem, state, rows, epochs)
        budget.n_iter += epochs
        if epochs and best.gap < EXACT * best.size:
            state.w = _weights(problem, state.beta)
        accuracy = _accuracy(best, tol) if settled else REDUCTION if state.cut > LEAST else BETTER
        solved = _solve_face(problem, state, accuracy, budget)
        if not solved:
            _factor_free(problem, state)
        point = _point(problem, state)
        stalled = 0 if point.excess(tol) < 0.9 * best.excess(tol) else stalled + 1
        if point.excess(tol) < best.excess(tol):
            best = point
        if best.excess(tol) <= 1.0:
            return replace(best, w=problem.rows.restored(best.w))
        rows = problem.unsettled(state.beta, point.scores)
        settled = state.cut == 0.0 and len(rows) == len(problem.free(state.beta))
        refused = state.cut == 1.0  # the free rows are far from those of the solution
        epochs = 0 if settled else min(4 * max(epochs, 1), MOST) if refused else later
    status = budget.status if budget.exhausted else Status.ROUNDING
    return replace(best, w=problem.rows.restored(best.w), status=status)


def _descend(problem: DualProblem, state: _State, rows: Ints, epochs: int) -> None:
    """Epochs of coordinate descent over some rows, without those that stay at a bound."""
    state.scores = state.scores if epochs == 0 else None
    for turn in range(1, epochs + 1):
        before = state.beta[rows]
        chunks = np.arange(-(-len(rows) // CHUNK))
        state.seed = shuffle(chunks, len(chunks), state.seed)
        problem.rows.epoch(problem.numbers, rows, chunks, problem.epsilon, problem.step, state)
        if turn > 1:
            own, low, high = state.beta[rows], problem.low[rows], problem.high[rows]
            rows = rows[(own != before) | ((own > low) & (own < high))]
        if problem.balances and turn % 2 == 0:
            state.b += problem.step * float(state.beta.sum())


def _accuracy(best: DualPoint, tol: float) -> float:
    """The reduction of the residual that is worth it once all bounds are right."""
    by_gap, by_kkt = np.sqrt(tol * best.size / best.gap), tol / max(best.kkt, tol)
    return float(np.clip(0.3 * min(by_gap, by_kkt), 1e-4, REDUCTION))


# -- the free rows -------------------------------------------------------------------------------


def _residual(problem: DualProblem, state: _State, rows: Ints) -> Floats:
    """Minus the derivative of the free rows."""
    own = state.beta[rows]
    if state.scores is not None:
        scores = state.scores[rows]
    else:
        b = state.b if problem.balances else problem.shared * float(state.beta.sum())
        scores = problem.rows.times(rows, state.w.astype(float, copy=False)) + b
    kink = problem.epsilon * np.sign(own)
    return np.asarray(problem.t[rows] - kink - problem.diagonal[rows] * own - scores)


def _solve_face(problem: DualProblem, state: _State, accuracy: float, budget: Budget) -> bool:
    """Steps on the free rows, on those that are not cut at a bound by the last, and so on.

    What a cut leaves is far off along columns that many rows have, which a few steps mend, and
    epochs do not.
    """
    solved = _solve_free(problem, state, accuracy, budget)
    for _ in range(CUTS if problem.rows.alike else 0):
        if not solved or state.cut <= FEW or state.cut == 1.0 or budget.exhausted:
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
        if not curved > FLAT * float(p @ (p / inverse.own)):
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
