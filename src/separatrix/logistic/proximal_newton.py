"""Proximal Newton for logistic regression with an ℓ₁ penalty.

    θ ← θ + t·δ,   δ = argmin  gᵀδ + ½ δᵀHδ + Σ ℓ|θ + δ|      by coordinate descent

Rows are read once for each quadratic model; the sweeps over coordinates use H and g only. With more
columns than a Hessian should have, a working set of columns is solved first and grows by those that
violate the optimality conditions, until none does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from separatrix.logistic.newton import SUFFICIENT_DECREASE, DescentResult
from separatrix.logistic.problem import Evaluation, LogisticOptions, LogisticProblem
from separatrix.optimize.loops import sweep
from separatrix.optimize.solution import Status
from separatrix.rows.block import Block, Floats, Ints
from separatrix.rows.rows import ArrayRows

#: Parameters up to which the working set has all columns.
MAX_WITHOUT_WORKING_SET = 400
MAX_SWEEPS = 2000


def minimize_l1(problem: LogisticProblem, start: Floats, options: LogisticOptions) -> DescentResult:
    """Minimize F with its ℓ₁ part from ``start``.

    Intercepts of several scores are determined up to a common shift; those with sum zero are
    returned.
    """
    small = start.size <= MAX_WITHOUT_WORKING_SET
    found = (_descend if small else _by_working_sets)(problem, start, options)
    theta = found.theta
    if problem.design.intercept and theta.shape[1] > 1:
        theta[-1] -= theta[-1].mean()
    return found


def _by_working_sets(
    problem: LogisticProblem, start: Floats, options: LogisticOptions
) -> DescentResult:
    block = problem.rows.collect()
    block = block.aligned(block.terms, problem.design.targets)
    theta, passes, history = start, 0, [np.inf]
    penalty = problem.penalty
    columns = len(theta) - int(problem.design.intercept)
    working = np.zeros(columns, dtype=bool)
    while True:
        gradient = problem.gradient(theta).gradient - problem.ridge[:, None] * theta
        violation = penalty.distance(theta, -gradient).max(axis=1)
        violation = violation[:columns]
        violated = violation > options.tol * problem.weight
        violated |= theta[:columns].any(axis=1)
        if not (violated & ~working).any() or passes > options.max_iter:
            status = Status.SOLVED if passes <= options.max_iter else Status.LIMIT
            none = np.zeros_like(theta)
            return DescentResult(theta, none, status, passes, np.array(history[1:]))
        room = max(2 * int(working.sum()), 100 // theta.shape[1], 10)
        worst = np.argsort(-np.where(violated & ~working, violation, -1.0), kind="stable")
        working[worst[: min(room, int((violated & ~working).sum()))]] = True
        working |= theta[:columns].any(axis=1)
        at = np.flatnonzero(working)
        index = np.append(at, [columns]) if problem.design.intercept else at
        part = _restricted(problem, block, at, index)
        found = _descend(part, theta[index], options)
        theta = np.zeros_like(theta)
        theta[index] = found.theta
        passes += found.passes
        history += found.history.tolist()


def _restricted(problem: LogisticProblem, block: Block, at: Ints, index: Ints) -> LogisticProblem:
    """The problem over some of the columns, taken out of the rows once; ``index`` has the 1 too."""
    x = block.x[:, at]
    x = x if isinstance(x, np.ndarray) else x.toarray()
    return replace(
        problem,
        rows=ArrayRows(np.ascontiguousarray(x), block.y, block.w, targets=block.targets.items),
        design=replace(problem.design, center=problem.design.center[at]),
        scale=problem.scale[index],
        penalty_scale=problem.penalty_scale[index],
        ridge=problem.ridge[index],
        lasso=problem.lasso[index],
    )


def _descend(problem: LogisticProblem, theta: Floats, options: LogisticOptions) -> DescentResult:
    penalty = problem.penalty
    at, theta = problem.hessian(theta), np.array(theta)
    history = [at.value + float(np.sum(penalty.l1 * np.abs(theta)))]
    status: Status | None = None
    while status is None:
        v = -(at.gradient - problem.ridge[:, None] * theta)
        kkt = float(penalty.distance(theta, v).max(initial=0.0)) / problem.weight
        if kkt <= 1e-4 * options.tol:
            status = Status.SOLVED
        elif len(history) > options.max_iter:
            status = Status.LIMIT
        else:
            damping = 0.1 * min(kkt, 1.0) * problem.weight  # H nearly vanishes at large scores
            accuracy = kkt * min(0.1, kkt) * problem.weight
            new = _minimize_model(at, theta, penalty.l1, damping, accuracy)
            found = _backtrack(problem, theta, new, at, penalty.l1)
            if found is None:
                status = Status.SOLVED if kkt <= options.tol else Status.ROUNDING
            else:
                theta, at = found
                history.append(at.value + float(np.sum(penalty.l1 * np.abs(theta))))
    return DescentResult(theta, np.zeros_like(theta), status, len(history), np.array(history))


def _minimize_model(
    at: Evaluation, theta: Floats, l1: Floats, damping: float, accuracy: float
) -> Floats:
    """The minimum of the quadratic model with the ℓ₁ penalty, by coordinate descent."""
    assert at.hessian is not None
    beta = theta.T.ravel().copy()
    grad = -at.gradient.T.ravel()
    thresholds, none = l1.T.ravel().copy(), np.zeros(len(beta))
    gram = at.hessian + damping * np.eye(len(beta))
    for _ in range(MAX_SWEEPS):
        worst = sweep(gram, grad, beta, thresholds, none, False)
        if worst <= accuracy:
            break
    return np.asarray(beta.reshape(theta.T.shape).T)


def _backtrack(
    problem: LogisticProblem, theta: Floats, new: Floats, at: Evaluation, l1: Floats
) -> tuple[Floats, Evaluation] | None:
    """Part of the way to ``new``, halved until F decreases enough; None if rounding hides it."""
    before = float(np.sum(l1 * np.abs(theta)))
    predicted = float(np.sum(at.gradient * (new - theta)) + np.sum(l1 * np.abs(new)) - before)
    for t in 0.5 ** np.arange(30):
        there = new if t == 1.0 else theta + t * (new - theta)
        found = problem.hessian(there)
        change = found.value - at.value + float(np.sum(l1 * np.abs(there))) - before
        if change <= SUFFICIENT_DECREASE * t * predicted or (
            t == 1.0 and abs(change) <= 1e-13 * abs(at.value) and -predicted > 0.0
        ):
            return there, found
        if -t * predicted <= 1e-16 * abs(at.value):
            return None
    return None
