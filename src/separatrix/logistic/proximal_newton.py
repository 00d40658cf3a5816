"""Proximal Newton for logistic regression with an ℓ₁ penalty.

    θ ← θ + t·δ,   δ = argmin  gᵀδ + ½ δᵀHδ + Σ ℓ|θ + δ|      by coordinate descent

Rows are read once for each quadratic model; the sweeps over coordinates use H and g only. With more
columns than a Hessian should have, working sets of them are solved (``lasso/``).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from separatrix.logistic.certificate import gap_at
from separatrix.logistic.lasso.rows import LassoRows
from separatrix.logistic.lasso.working_sets import WorkingSets
from separatrix.logistic.newton import FAR, SUFFICIENT_DECREASE, DescentResult, size_of
from separatrix.logistic.problem import Evaluation, LogisticOptions, LogisticProblem
from separatrix.optimize.loops import sweep
from separatrix.optimize.newton import cholesky_solver
from separatrix.optimize.solution import Status
from separatrix.rows.block import Floats

#: Parameters up to which the working set has all columns.
MAX_WITHOUT_WORKING_SET = 400
MAX_SWEEPS = 2000
#: Sweeps after which the coordinates that are not zero take a Newton step together.
NEWTON_EVERY = 10
EPS, TINY = float(np.finfo(float).eps), float(np.finfo(float).tiny)
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
    penalty, ridge, tol = problem.penalty, problem.ridge[:, None], options.tol
    at, theta = problem.hessian(theta), np.array(theta)
    history = [at.value + float(np.sum(penalty.l1 * np.abs(theta)))]
    status: Status | None = None
    while status is None:
        gradient = at.gradient - ridge * theta
        size = size_of(problem, at.value)
        kkt = violation(problem, theta, at) / size
        loss = at.value - 0.5 * float(np.sum(ridge * theta**2))
        gap = gap_at(penalty, theta, gradient, loss, problem.weight) / max(history[-1], TINY)
        if kkt <= 1e-4 * tol and gap <= 0.1 * tol:
            status = Status.SOLVED
        elif len(history) > options.max_iter:
            status = Status.LIMIT
        else:
            damping = 0.1 * min(kkt, 1.0) * size  # H nearly vanishes at large scores
            accuracy = max(kkt * min(0.1, kkt), EPS) * size
            new = _minimize_model(problem, at, theta, damping, accuracy)
            found = _backtrack(problem, theta, new, at, penalty.l1)
            if found is None:
                status = Status.SOLVED if kkt <= tol and gap <= tol else Status.ROUNDING
            else:
                theta, at = found
                history.append(at.value + float(np.sum(penalty.l1 * np.abs(theta))))
    return DescentResult(theta, np.zeros_like(theta), status, len(history), np.array(history))


def _minimize_model(
    problem: LogisticProblem, at: Evaluation, theta: Floats, damping: float, accuracy: float
) -> Floats:
    """The minimum of the quadratic model with the ℓ₁ penalty, by coordinate descent.

    A common shift of the coefficients of a column changes no probability: neither has the model a
    curvature there but that of the penalty, and coordinates alone would take for ever. So the best
    shift is taken after every sweep.
    """
    assert at.hessian is not None
    (width, k), l1 = problem.shape, problem.penalty.l1
    beta = theta.T.ravel().copy()
    grad = -at.gradient.T.ravel()
    thresholds, none = l1.T.ravel().copy(), np.zeros(len(beta))
    gram = at.hessian + damping * np.eye(len(beta))
    if k > 1:
        columns = np.arange(width)
        gram.reshape(k, width, k, width)[:, columns, :, columns] -= damping / k
    penalized = np.flatnonzero(problem.penalty.l1[:, 0] > 0.0)
    for count in range(1, MAX_SWEEPS + 1):
        if not count % NEWTON_EVERY:
            _newton_step(gram, grad, beta, thresholds)
        worst = sweep(gram, grad, beta, thresholds, none, False)
        if k > 1:
            by_score = beta.reshape(k, width)
            shift = best_shift(by_score[:, penalized], l1[penalized, 0], problem.ridge[penalized])
            by_score[:, penalized] -= shift
            grad.reshape(k, width)[:, penalized] += problem.ridge[penalized] * shift
            if np.abs(problem.ridge[penalized] * shift).max(initial=0.0) > accuracy:
                worst = np.inf
        if worst <= accuracy:
            break
    return np.asarray(beta.reshape(theta.T.shape).T)


def _newton_step(gram: Floats, grad: Floats, beta: Floats, l1: Floats) -> None:
    """A step on the coordinates that are not zero, as far as none changes its sign, in place.

    Few rows matter where classes are nearly separable: coordinates alone would be slow.
    """
    used = np.flatnonzero(beta)
    old = beta[used]
    step = cholesky_solver(gram[np.ix_(used, used)])(grad[used] - l1[used] * np.sign(old))
    reach = np.divide(-old, step, out=np.full(len(used), np.inf), where=old * step < 0.0)
    t = min(1.0, float(reach.min(initial=1.0)))
    beta[used] = np.where(reach <= t, 0.0, old + t * step)
    grad -= gram[:, used] @ (beta[used] - old)


def best_shift(beta: Floats, l1: Floats, l2: Floats) -> Floats:
    """The s that minimizes Σₖ ℓ|βₖ − s| + ½ q (βₖ − s)² in every column of ``beta`` (k x columns).

    It is the median of all βₖ and of the k + 1 numbers mean β + (ℓ/q)(k − 2i)/k.
    """
    k = len(beta)
    slopes = np.arange(k, -k - 1, -2)[:, None] / k
    with np.errstate(divide="ignore", invalid="ignore"):
        away = np.where(slopes == 0.0, 0.0, slopes * l1 / l2)
    return np.asarray(np.median(np.vstack([beta, beta.mean(axis=0) + away]), axis=0))


def _backtrack(
    problem: LogisticProblem, theta: Floats, new: Floats, at: Evaluation, l1: Floats
) -> tuple[Floats, Evaluation] | None:
    """Part of the way to ``new``, halved until F decreases enough; None if rounding hides it.

    Where F cannot show it any more, the optimality conditions may. Where F decreases by more than
    its model says, as it does far from the optimum of nearly separable classes, the step doubles.
    """
    move, before = new - theta, float(np.sum(l1 * np.abs(theta)))
    predicted = float(np.sum(at.gradient * move) + np.sum(l1 * np.abs(new))) - before

    def go(t: float) -> tuple[Floats, Evaluation, float]:
        there = new if t == 1.0 else theta + t * move
        found = problem.hessian(there)
        change = found.value - at.value + float(np.sum(l1 * np.abs(there))) - before
        return there, found, change

    for t in 0.5 ** np.arange(30):
        there, found, change = go(float(t))
        if t == 1.0 and abs(change) <= 1e-13 * abs(at.value):
            worse = violation(problem, there, found) > 0.9 * violation(problem, theta, at)
            return None if worse else (there, found)
        if change <= SUFFICIENT_DECREASE * t * predicted:
            while change < FAR * t * predicted:
                further = go(2.0 * float(t))
                if not further[2] < change:
                    break
                t, (there, found, change) = 2.0 * t, further
            return there, found
        if -t * predicted <= 1e-16 * abs(at.value):
            return None
    return None


def violation(problem: LogisticProblem, theta: Floats, at: Evaluation) -> float:
    """The largest distance of −∇f to the subdifferential of the penalty."""
    gradient = at.gradient - problem.ridge[:, None] * theta
    return float(problem.penalty.distance(theta, -gradient).max(initial=0.0))
