"""Solve the linear SVM by the method that fits its shape.

- few columns: active sets in the primal, with interior-point steps and an exact finish;
- fewer rows than columns: the same in the space that the rows span;
- many rows and columns: the dual, by coordinate descent and conjugate gradients; where these are
  slow on full rows, one of the two above.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg, sparse

from separatrix.optimize.solution import Status
from separatrix.rows.block import Floats, Matrix
from separatrix.svm.primal.active_set import LinearSolution, solve_primal
from separatrix.svm.primal.dual_descent import solve_dual
from separatrix.svm.primal.dual_problem import dual_of_hinges
from separatrix.svm.problem import Budget, LinearProblem

#: Columns up to which the primal is solved; rows up to which it is in the space that they span.
COLUMNS, SPAN = 700, 1_200
#: Multiplications of a step in the primal that are still fewer than the dual of full rows takes;
#: those of the largest step that is worth it where the dual converges slowly, and steps of the dual
#: that show whether it does: with far more rows than columns it rarely does.
WORK, MOST, TRIAL, TALL_TRIAL = 7e9, 2e11, 400, 40


def few_columns(x: Matrix) -> bool:
    """Whether the primal is solved over all columns at once."""
    return bool(x.shape[1] <= COLUMNS)


def solve_linear(problem: LinearProblem, tol: float, budget: Budget) -> LinearSolution:
    """The minimum over w and b; of several optimal b the middle one, α feasible up to rounding."""
    scaled, center, unit = _standard_target(problem)
    found = _solve_scaled(scaled, tol, budget)
    w, b = unit * found.w, unit * found.b + center
    alpha = problem.balanced(unit * found.alpha)
    if found.status != Status.SOLVED:
        alpha = _scaled_down(problem, alpha)
    if problem.balances:
        low, high = problem.intercept_interval(problem.scores(w, 0.0), b)
        b = min(max(b, low), high) if high - low <= 1e-9 * (1.0 + abs(b)) else 0.5 * (low + high)
    return LinearSolution(w, b, alpha, found.status)


def _standard_target(problem: LinearProblem) -> tuple[LinearProblem, float, float]:
    """Targets of regression about zero and of size one; labels ±1 are so already.

    With t = m + u·t' and w = u·w' the objective is u² times that of t' at cost c/u.
    """
    if not problem.regression:
        return problem, 0.0, 1.0
    center = float(np.average(problem.t, weights=problem.cost)) if problem.balances else 0.0
    unit = float(np.abs(problem.t - center).mean()) or 1.0
    return problem.rescaled(center, unit), center, unit


def _solve_scaled(problem: LinearProblem, tol: float, budget: Budget) -> LinearSolution:
    n, d = problem.x.shape
    if d <= COLUMNS and (d <= 2 * n or n > SPAN):
        return solve_primal(problem, budget)
    if n <= SPAN:
        return _solve_in_span(problem, budget)
    work = n * min(n, d) ** 2
    if sparse.issparse(problem.x) or work > MOST:
        return _solve_by_rows(problem, tol, budget)
    if work > WORK:
        steps = TALL_TRIAL if n > 2 * d else TRIAL
        trial = Budget(min(steps, budget.remaining), budget.deadline)
        found = _solve_by_rows(problem, tol, trial)
        budget.n_iter += trial.n_iter
        if found.status == Status.SOLVED or budget.exhausted:
            return found
    return solve_primal(problem, budget) if d <= n else _solve_in_span(problem, budget)


def _solve_by_rows(problem: LinearProblem, tol: float, budget: Budget) -> LinearSolution:
    """The dual of all rows, with w = Xᵀβ."""
    root = np.sqrt(problem.ridge)
    found = solve_dual(dual_of_hinges(problem, root), tol, budget)
    alpha = np.maximum(problem.sign * found.beta, 0.0)
    return LinearSolution(found.w / root, found.b, alpha, found.status)


def _solve_in_span(problem: LinearProblem, budget: Budget) -> LinearSolution:
    """Rows as coordinates in the space that they span, w = ρ^−½ V v.

    w is a combination of the rows at the optimum, so nothing is lost and n columns are left.
    """
    root = np.sqrt(problem.ridge)
    scaled = divided(problem.x, root)
    inner = _span_of_sparse(scaled) if sparse.issparse(scaled) else _span_of_dense(scaled)
    found = solve_primal(replace(problem, x=inner, ridge=np.ones(inner.shape[1])), budget)
    w = np.asarray(scaled.T @ problem.combine(found.alpha))
    return replace(found, w=w / root)


def _span_of_dense(x: Floats) -> Floats:
    """Coordinates of the rows by orthogonal factors of their transpose, X = RᵀQᵀ."""
    return np.ascontiguousarray(linalg.qr(x.T, mode="r", check_finite=False)[0][: len(x)].T)


def _span_of_sparse(x: Any) -> Floats:
    """Coordinates of the rows by eigenvectors of their Gram matrix, which is all that is filled."""
    values, vectors = linalg.eigh((x @ x.T).toarray(), check_finite=False)
    positive = values > 1e-13 * max(float(values[-1]), np.finfo(float).tiny)
    if not positive.any():
        positive[-1] = True
    size = np.sqrt(np.maximum(values[positive], np.finfo(float).tiny))
    return np.asarray(vectors[:, positive] * size)


def _scaled_down(problem: LinearProblem, alpha: Floats) -> Floats:
    """α times the factor up to one of largest dual value: α of an early stop are too large."""
    linear = float(np.vdot(problem.offset, alpha))
    beta = problem.combine(alpha)
    square = float(np.sum(problem.gradient(beta) ** 2 / problem.ridge))
    if problem.intercept and not problem.balances:
        square += float(beta.sum()) ** 2 / problem.intercept_ridge
    return alpha * max(linear / square, 0.0) if square > linear else alpha


def divided(x: Matrix, root: Floats) -> Any:
    """The columns of x, each divided by its element of ``root``."""
    return sparse.csr_array(x) / root if sparse.issparse(x) else np.asarray(x) / root
