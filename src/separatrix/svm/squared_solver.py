"""Fit linear SVMs with squared losses, and those of all classes at once: solve, certify.

The squared hinge and the squared ε-insensitive loss are smooth, so that Newton's method in the
primal solves them (:mod:`separatrix.svm.primal.newton`, :mod:`separatrix.svm.primal.l1_newton`).
"""

from __future__ import annotations

import numpy as np

from separatrix.optimize.duality import certify_primal_dual
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats, Ints
from separatrix.svm.certificate import term_sizes
from separatrix.svm.primal.crammer_singer import (
    MulticlassProblem,
    certify_multiclass,
    solve_multiclass,
)
from separatrix.svm.primal.l1_newton import solve_sparse
from separatrix.svm.primal.newton import solve_squared
from separatrix.svm.primal.squared_problem import SquaredProblem
from separatrix.svm.problem import SolverOptions
from separatrix.svm.solver import BinarySVM


def fit_squared_svm(
    problem: SquaredProblem, rows: Ints, options: SolverOptions, *, claim: str
) -> BinarySVM:
    """The hyperplane w·x + b with the least objective."""
    budget = options.budget(problem.n)
    solve = solve_sparse if problem.penalty.l1.any() else solve_squared
    found = solve(problem, options.tol, budget)
    w, b = problem.restore(found.theta)
    scores = np.asarray(problem.x @ w) + b
    excess = problem.excess(scores)
    beta = 2.0 * problem.cost * excess
    certificate = certify_squared(
        problem, w, b, tolerance=max(options.tol, 1e-9), claim=claim, beta=found.beta
    )
    penalty = problem.penalty
    weight = np.where(penalty.l2 > 0.0, penalty.l2, penalty.l1**2)[: len(w)]
    return BinarySVM(
        rows,
        beta,
        np.full(problem.n, np.inf),
        np.abs(excess),
        b,
        float(weight @ w**2),
        certificate,
        budget.n_iter,
        str(found.status),
        w,
    )


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
