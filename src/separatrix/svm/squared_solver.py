"""Fit linear SVMs with squared losses, and those of all classes at once: solve, certify.

The squared hinge and the squared ε-insensitive loss are smooth, so that Newton's method in the
primal solves them (:mod:`separatrix.svm.primal.newton`, :mod:`separatrix.svm.primal.l1_newton`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.optimize import nnls

from separatrix.optimize.duality import certify_primal_dual
from separatrix.optimize.solution import Certificate, Status
from separatrix.rows.block import Floats, Ints
from separatrix.svm.certificate import badness, term_sizes
from separatrix.svm.primal.crammer_singer import (
    MulticlassProblem,
    certify_multiclass,
    solve_multiclass,
)
from separatrix.svm.primal.l1_newton import solve_sparse
from separatrix.svm.primal.newton import solve_squared
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
    found = _candidate(problem, problem, options.tol, budget, tolerance, claim)
    if not found.certificate.holds and not budget.exhausted:
        found = min(
            (found, *_accurate(problem, found, options.tol, budget, tolerance, claim)),
            key=lambda candidate: badness(candidate.certificate),
        )
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


def _candidate(
    problem: SquaredProblem,
    part: SquaredProblem,
    tol: float,
    budget: Budget,
    tolerance: float,
    claim: str,
) -> _Hyperplane:
    """The solution of ``part``, certified as one of the ``problem``."""
    solve = solve_sparse if problem.penalty.l1.any() else solve_squared
    found = solve(part, tol, budget)
    w, b = part.restore(found.theta)
    beta = found.beta
    if part is not problem:
        scores = np.asarray(problem.x @ w) + b
        beta = 2.0 * part.cost * part.excess(scores)
        if problem.epsilon is None:  # no row is short of its margin by less than this
            z = problem.argument(scores)
            near = (z < 1.0) & (z > 1.0 - _NEAR)
            factor = (1.0 + _CLEAR) / float(z[near].min()) if near.any() else 1.0
            w, b = factor * w, factor * b
    proof = certify_squared(problem, w, b, tolerance=tolerance, claim=claim, beta=beta)
    return _Hyperplane(w, b, beta, proof, found.status)


def _accurate(
    problem: SquaredProblem,
    found: _Hyperplane,
    tol: float,
    budget: Budget,
    tolerance: float,
    claim: str,
) -> Iterator[_Hyperplane]:
    """Solutions where C is so large that the small excesses, and β = 2 c e with them, are rounding.

    β of rows with hardly any excess is the one ≥ 0 for which Xᵀβ is nearest to ρw; where the
    hyperplane itself is lost, that of a smaller C is moved until no row has a small excess.
    """
    beta = _beta_of_near_rows(problem, found.w, found.b)
    if beta is not None:
        proof = certify_squared(
            problem, found.w, found.b, tolerance=tolerance, claim=claim, beta=beta
        )
        yield replace(found, beta=beta, certificate=proof)
    squares = problem.x.multiply(problem.x) if sparse.issparse(problem.x) else problem.x**2
    size = problem.penalty.l2 + problem.penalty.l1**2
    largest = float((squares @ (1.0 / size[: problem.x.shape[1]])).max())
    fraction = _MODERATE / (largest * float(problem.cost.max()))
    if fraction < 1.0:
        part = replace(problem, cost=fraction * problem.cost)
        yield _candidate(problem, part, tol, budget, tolerance, claim)


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
