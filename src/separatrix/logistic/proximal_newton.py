"""Proximal Newton for logistic regression with an ℓ₁ penalty.

    θ ← θ + t·δ,   δ = argmin  gᵀδ + ½ δᵀHδ + Σ ℓ|θ + δ|      by coordinate descent

Rows are read once for each quadratic model; the sweeps over coordinates use H and g only. With more
columns than a Hessian should have, working sets of them are solved (``lasso/``).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from separatrix.logistic.lasso.rows import LassoRows
from separatrix.logistic.lasso.working_sets import WorkingSets
from separatrix.logistic.newton import SUFFICIENT_DECREASE, DescentResult
from separatrix.logistic.problem import Evaluation, LogisticOptions, LogisticProblem
from separatrix.optimize.loops import sweep
from separatrix.optimize.solution import Status
from separatrix.rows.block import Floats

#: Parameters up to which the working set has all columns.
MAX_WITHOUT_WORKING_SET = 400
MAX_SWEEPS = 2000
Solver = Callable[[LogisticProblem, Floats, LogisticOptions], DescentResult]


def minimize_l1(problem: LogisticProblem, start: Floats, options: LogisticOptions) -> DescentResult:
    """Minimize F with its ℓ₁ part from ``start``.

    Intercepts of several scores are determined up to a common shift; those with sum zero are
    returned.
    """
    return l1_solver(problem)(problem, start, options)


def l1_solver(problem: LogisticProblem) -> Solver:
    """The method for these rows, which may be called with one penalty after the other."""
    width, k = problem.shape
    if width * k > MAX_WITHOUT_WORKING_SET:
        return WorkingSets(LassoRows.of(problem), problem).solve
    return _with_hessian


def _with_hessian(
    problem: LogisticProblem, start: Floats, options: LogisticOptions
) -> DescentResult:
    found = _descend(problem, start, options)
    theta = found.theta
    if problem.design.intercept and theta.shape[1] > 1:
        theta[-1] -= theta[-1].mean()
    return found


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
