"""Fit linear SVMs with squared losses, and those of all classes at once: solve, certify.

The squared hinge and the squared ε-insensitive loss are smooth, so that Newton's method in the
primal solves them (:mod:`separatrix.svm.primal.newton`, :mod:`separatrix.svm.primal.l1_newton`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import nnls

from separatrix.optimize.duality import certify_primal_dual
from separatrix.optimize.solution import Certificate, Status
from separatrix.rows.block import Floats, Ints
from separatrix.svm.certificate import is_better, term_sizes
from separatrix.svm.primal.crammer_singer import (
    MulticlassProblem,
    certify_multiclass,
    solve_multiclass,
)
from separatrix.svm.primal.l1_newton import solve_sparse
from separatrix.svm.primal.newton import SquaredSolution, solve_squared
from separatrix.svm.primal.squared_problem import SquaredProblem
from separatrix.svm.problem import Budget, SolverOptions
from separatrix.svm.solver import BinarySVM

#: C κ(x, x) at which slacks are about 1e-8, known to eight digits, and cost 1e-8 of the objective.
_MODERATE = 1e8
#: An excess below this, in units of the scores, may be more rounding than excess; rows with one.
_NEAR, _MOST_NEAR = 1e-6, 1000
#: How far a hyperplane is moved beyond the nearest rows.
_CLEAR = 1e-14


def fit_squared_svm(
    problem: SquaredProblem, rows: Ints, options: SolverOptions, *, claim: str
) -> BinarySVM:
    """The hyperplane w·x + b with the least objective."""
    budget = options.budget(problem.n)
    tolerance = max(options.tol, 1e-9)
    certified = {"tolerance": tolerance, "claim": claim}
    candidates = _candidates(problem, options.tol, budget, certified)
    found = next(candidates)
    for other in candidates:
        if found.certificate.holds or budget.exhausted:
            break
        found = other if is_better(other.certificate, found.certificate) else found
    w, b, penalty = found.w, found.b, problem.penalty
    excess = problem.excess(np.asarray(problem.x @ w) + b)
    weight = np.where(penalty.l2 > 0.0, penalty.l2, penalty.l1**2)[: len(w)]
    return BinarySVM(
        rows,
        2.0 * problem.cost * excess if found.beta is None else found.beta,
        np.full(problem.n, np.inf),
        np.abs(excess),
        b,
        float(weight @ w**2),
        found.certificate,
        budget.n_iter,
        str(found.status),
        w,
    )


@dataclass(frozen=True)
class _Hyperplane:
    """w, b, and β (None where it follows from the excesses), with their certificate."""

    w: Floats
    b: float
    beta: Floats | None
    certificate: Certificate
    status: Status


def _candidates(
    problem: SquaredProblem, tol: float, budget: Budget, certified: dict[str, Any]
) -> Iterator[_Hyperplane]:
    """Solutions, one after the other until the certificate of one holds.

    Where C is very large, small excesses, and β = 2 c e with them, are lost to rounding. Then the
    hyperplane of a smaller C is moved until no row has a small excess; next, β of rows with hardly
    any excess is the one ≥ 0 for which Xᵀβ is nearest to ρw.
    """
    fraction = _MODERATE / (_largest_slope(problem) * float(problem.cost.max()) or 1.0)
    if fraction < 1.0:
        yield _at_smaller_cost(problem, fraction, tol, budget, certified)
    found = _solve(problem, tol, budget)
    w, b = problem.restore(found.theta)
    proof = certify_squared(problem, w, b, beta=found.beta, **certified)
    yield _Hyperplane(w, b, found.beta, proof, found.status)
    beta = _beta_of_near_rows(problem, w, b)
    if beta is not None:
        proof = certify_squared(problem, w, b, beta=beta, **certified)
        yield _Hyperplane(w, b, beta, proof, found.status)


def _solve(problem: SquaredProblem, tol: float, budget: Budget) -> SquaredSolution:
    solve = solve_sparse if problem.penalty.l1.any() else solve_squared
    return solve(problem, tol, budget)


def _largest_slope(problem: SquaredProblem) -> float:
    """The largest ‖x‖², or Σ|x| with an ℓ₁ penalty, in units of the penalty."""
    d, penalty, x = problem.x.shape[1], problem.penalty, problem.x
    if penalty.l1.any():
        return float((abs(x) @ (1.0 / penalty.l1[:d])).max())
    squares = x.multiply(x) if sparse.issparse(x) else x**2
    return float((squares @ (1.0 / penalty.l2[:d])).max())


def _at_smaller_cost(
    problem: SquaredProblem, fraction: float, tol: float, budget: Budget, certified: dict[str, Any]
) -> _Hyperplane:
    """The solution at a fraction of all costs, moved until no row has an excess of nearly zero."""
    part = replace(problem, cost=fraction * problem.cost)
    found = _solve(part, tol, budget)
    w, b = part.restore(found.theta)
    z = problem.argument(np.asarray(problem.x @ w) + b)
    if problem.epsilon is None:
        near = (z < 1.0) & (z > 1.0 - _NEAR)
        factor = (1.0 + _CLEAR) / float(z[near].min()) if near.any() else 1.0
    else:
        unit = float(np.abs(problem.t).max(initial=0.0)) or 1.0
        over = np.abs(z) - problem.epsilon
        short = float(over[over < _NEAR * unit].max(initial=0.0)) + _CLEAR * unit
        part, factor = replace(part, epsilon=max(problem.epsilon - 2.0 * short, 0.0)), 1.0
        found = _solve(part, tol, budget)
        w, b = part.restore(found.theta)
    excess = part.excess(np.asarray(problem.x @ w) + b)
    beta = 2.0 * part.cost * excess if found.beta is None else found.beta
    w, b = factor * w, factor * b
    proof = certify_squared(problem, w, b, beta=beta, **certified)
    return _Hyperplane(w, b, beta, proof, found.status)


def _beta_of_near_rows(problem: SquaredProblem, w: Floats, b: float) -> Floats | None:
    """β = 2 c e, and of rows with an excess of nearly zero by least squares; None of too many."""
    scores = np.asarray(problem.x @ w) + b
    z, unit = problem.argument(scores), 1.0
    kink = np.abs(z) - problem.epsilon if problem.epsilon is not None else 1.0 - z
    sign = problem.t if problem.epsilon is None else np.sign(z)
    if problem.epsilon is not None:
        unit = float(np.abs(problem.t).max(initial=0.0)) or 1.0
    near = np.flatnonzero(np.abs(kink) <= _NEAR * unit)
    if problem.penalty.l1.any() or not 0 < len(near) <= _MOST_NEAR:
        return None
    beta = 2.0 * problem.cost * problem.excess(scores)
    beta[near] = 0.0
    x = problem.x[near]
    columns = (x.toarray() if sparse.issparse(x) else np.asarray(x)).T * sign[near]
    ridge, coef = problem.penalty.l2, w
    aim, size = -np.asarray(problem.x.T @ beta), term_sizes(problem.x, np.abs(beta))
    if problem.intercept:
        columns, coef = np.vstack([columns, sign[near]]), np.append(w, b)
        aim, size = np.append(aim, -beta.sum()), np.append(size, np.abs(beta).sum())
    aim, size = aim + ridge * coef, size + ridge * np.abs(coef)
    used = size > 0.0
    columns, aim = columns[used] / size[used, None], aim[used] / size[used]
    largest = float(np.abs(columns).max(initial=0.0)) or 1.0
    beta[near] = sign[near] / largest * nnls(columns / largest, aim)[0]
    return beta


def certify_squared(
    problem: SquaredProblem,
    w: Floats,
    b: float,
    *,
    tolerance: float,
    claim: str,
    beta: Floats | None = None,
) -> Certificate:
    """Certificate of w·x + b from the rows: the dual point is u = ℓ′(z), unless β is given.

    Each condition on a coefficient is measured against the size of its terms.
    """
    d, c, penalty = len(w), problem.cost, problem.penalty
    z = problem.argument(np.asarray(problem.x @ w) + b)
    sign = -problem.t if problem.epsilon is None else np.ones(problem.n)
    u = problem.loss.gradient(z) if beta is None else sign * beta / c
    beta = c * sign * u
    v, coef = np.asarray(problem.x.T @ beta), w
    size = term_sizes(problem.x, np.abs(beta))
    total = float(beta.sum())
    penalized = problem.intercept and not problem.free_intercept
    if problem.intercept:
        v, coef = np.append(v, total), np.append(w, b)
        size = np.append(size, np.abs(beta).sum())
    if problem.free_intercept:
        v[d] = 0.0  # out of balance at most by ``imbalance``
    size += penalty.l1 + penalty.l2 * np.abs(coef)
    return certify_primal_dual(
        problem.loss,
        penalty,
        c,
        z,
        u,
        coef,
        v,
        claim=claim,
        tolerance=tolerance,
        intercept=0.0 if penalized else b,
        imbalance=total if problem.free_intercept else 0.0,
        v_scale=size,
    )


def fit_all_classes(
    problem: MulticlassProblem, rows: Ints, options: SolverOptions
) -> tuple[list[BinarySVM], Floats]:
    """One record for each class, with the joint certificate, and the coefficients (d x K)."""
    budget = options.budget(len(problem.codes))
    found = solve_multiclass(problem, options.tol, budget)
    certificate = certify_multiclass(
        problem, found.w, found.alpha, tolerance=max(options.tol, 1e-9)
    )
    g = problem.shifted_scores(found.w)
    slack = g.max(axis=1) - g[np.arange(len(g)), problem.codes]
    records = [
        BinarySVM(
            rows,
            found.alpha[:, k],
            problem.cost,
            slack,
            0.0,
            float(found.w[:, k] @ found.w[:, k]),
            certificate,
            budget.n_iter,
            str(found.status),
            found.w[:, k],
        )
        for k in range(problem.classes)
    ]
    return records, found.w
