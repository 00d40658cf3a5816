"""Logistic models with an ℓ₁ penalty: Newton's parabola, minimised coordinate by coordinate.

    θ ← θ + t·δ,   δ the minimum of  gᵀδ + ½ δᵀHδ + Σ ℓ|θ + δ|

Rows are read once for each parabola; the sweeps over coordinates see H and g only. With more
columns than a curvature should hold, a working set of columns is solved first and grows by those
that violate optimality, until none does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from separatrix.logistic.newton import Descent
from separatrix.logistic.problem import At, LogisticProblem, LogisticSettings
from separatrix.optimize.loops.coordinate_descent import sweep
from separatrix.optimize.penalties import ElasticNet
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Block, Floats

#: Parameters up to which all columns are in the working set.
ALL = 400
SUFFICIENT = 1e-4
SWEEPS = 2000


def select(problem: LogisticProblem, start: Floats, settings: LogisticSettings) -> Descent:
    """Minimise F with its ℓ₁ part from ``start``.

    Constants of several scores may all be raised alike; those that add up to zero are returned.
    """
    small = start.size <= ALL
    found = (_descend if small else _by_working_sets)(problem, start, settings)
    theta = found.theta
    if problem.view.constant and theta.shape[1] > 1:
        theta[-1] -= theta[-1].mean()
    return found


def _by_working_sets(
    problem: LogisticProblem, start: Floats, settings: LogisticSettings
) -> Descent:
    block = problem.rows.collect()
    block = block.aligned(block.terms, problem.view.targets)
    theta, passes, history = start, 0, [np.inf]
    penalty = penalty_of(problem)
    columns = len(theta) - int(problem.view.constant)
    chosen = np.zeros(columns, dtype=bool)
    while True:
        violated = penalty.distance(theta, -_likelihood_slope(problem, theta)).max(axis=1)
        wrong = violated[:columns] > settings.tol * problem.weight
        wrong |= theta[:columns].any(axis=1)
        if not (wrong & ~chosen).any() or passes > settings.max_iter:
            status = "solved" if passes <= settings.max_iter else "limit reached"
            return Descent(theta, np.zeros_like(theta), status, passes, np.array(history[1:]))
        room = max(2 * int(chosen.sum()), 100 // theta.shape[1], 10)
        worst = np.argsort(-np.where(wrong & ~chosen, violated[:columns], -1.0), kind="stable")
        chosen[worst[: min(room, int((wrong & ~chosen).sum()))]] = True
        chosen |= theta[:columns].any(axis=1)
        at = np.flatnonzero(chosen)
        part = _restricted(problem, block, at)
        index = np.append(at, [columns]) if problem.view.constant else at
        found = _descend(part, theta[index], settings)
        theta = np.zeros_like(theta)
        theta[index] = found.theta
        passes += found.passes
        history += found.history.tolist()


def penalty_of(problem: LogisticProblem) -> ElasticNet:
    """The penalty by coefficient, for every score alike."""
    k = problem.shape[1]
    l1 = np.repeat(problem.lasso[:, None], k, axis=1)
    return ElasticNet(l1, np.repeat(problem.ridge[:, None], k, axis=1))


def _likelihood_slope(problem: LogisticProblem, theta: Floats) -> Floats:
    return problem.slope(theta).gradient - problem.ridge[:, None] * theta


def _restricted(problem: LogisticProblem, block: Block, at: NDArray[np.intp]) -> LogisticProblem:
    """The problem over some of the columns, taken out of the rows once."""
    index = np.append(at, [len(problem.scale) - 1]) if problem.view.constant else at
    x = block.dense() if isinstance(block.x, np.ndarray) else block.x
    x = x[:, at]
    x = x if isinstance(x, np.ndarray) else x.toarray()
    return replace(
        problem,
        rows=ArrayRows(np.ascontiguousarray(x), block.y, block.w, targets=block.targets.items),
        view=replace(problem.view, centre=problem.view.centre[at]),
        scale=problem.scale[index],
        size=problem.size[index],
        ridge=problem.ridge[index],
        lasso=problem.lasso[index],
    )


def _descend(problem: LogisticProblem, theta: Floats, settings: LogisticSettings) -> Descent:
    penalty = penalty_of(problem)
    at, theta = problem.curved(theta), np.array(theta)
    history = [at.value + float(np.sum(penalty.l1 * np.abs(theta)))]
    status = ""
    while not status:
        pull = -(at.gradient - problem.ridge[:, None] * theta)
        kkt = float(penalty.distance(theta, pull).max(initial=0.0)) / problem.weight
        if kkt <= 1e-4 * settings.tol:
            status = "solved"
        elif len(history) > settings.max_iter:
            status = "limit reached"
        else:
            lift = 0.1 * min(kkt, 1.0) * problem.weight  # where scores are large H is all but zero
            wanted = kkt * min(0.1, kkt) * problem.weight
            new = _parabola(at, theta, penalty.l1, lift, wanted)
            found = _shorter(problem, theta, new, at, penalty.l1)
            if found is None:
                status = "solved" if kkt <= settings.tol else "rounding"
            else:
                theta, at = found
                history.append(at.value + float(np.sum(penalty.l1 * np.abs(theta))))
    return Descent(theta, np.zeros_like(theta), status, len(history), np.array(history))


def _parabola(at: At, theta: Floats, l1: Floats, lift: float, wanted: float) -> Floats:
    """The minimum of Newton's parabola with the ℓ₁ penalty, by coordinate descent."""
    assert at.hessian is not None
    beta = theta.T.ravel().copy()
    grad = -at.gradient.T.ravel()
    thresholds, none = l1.T.ravel().copy(), np.zeros(len(beta))
    gram = at.hessian + lift * np.eye(len(beta))
    for _ in range(SWEEPS):
        worst = sweep(gram, grad, beta, thresholds, none, False)
        if worst <= wanted:
            break
    return np.asarray(beta.reshape(theta.T.shape).T)


def _shorter(
    problem: LogisticProblem, theta: Floats, new: Floats, at: At, l1: Floats
) -> tuple[Floats, At] | None:
    """Part of the way to ``new``, halved until F falls enough; None where rounding hides it."""
    before = float(np.sum(l1 * np.abs(theta)))
    slope = float(np.sum(at.gradient * (new - theta)) + np.sum(l1 * np.abs(new)) - before)
    for t in 0.5 ** np.arange(30):
        there = new if t == 1.0 else theta + t * (new - theta)
        found = problem.curved(there)
        change = found.value - at.value + float(np.sum(l1 * np.abs(there))) - before
        if change <= SUFFICIENT * t * slope or (
            t == 1.0 and abs(change) <= 1e-13 * abs(at.value) and -slope > 0.0
        ):
            return there, found
        if -t * slope <= 1e-16 * abs(at.value):
            return None
    return None
