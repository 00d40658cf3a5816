"""Fit one binary SVM: choose the solver, solve, certify.

- linear, few columns: active sets in the primal, with interior-point steps and an exact finish;
- linear, fewer rows than columns: the same in the space that the rows span;
- linear, many rows and columns: dual coordinate descent;
- any kernel: sequential minimal optimization in the dual. The linear kernel of few columns is first
  tried in the primal, where thousands of rows share a handful of unknowns.

A hard margin (C = ∞) is solved with a bound that no coefficient reaches, and refused with a proof
where the classes are not separable.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from separatrix.geometry.separation_proof import CommonPoint, separation_proof
from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats, Ints, Matrix
from separatrix.svm.certificate import certify_kernel_svm, certify_linear_svm
from separatrix.svm.dual.gram_matrix import GramMatrix
from separatrix.svm.dual.smo import DualSolution, solve_dual
from separatrix.svm.primal.active_set import LinearSolution, solve_primal
from separatrix.svm.primal.dual_coordinate_descent import solve_coordinate_descent
from separatrix.svm.problem import (
    Budget,
    LinearProblem,
    SolverOptions,
    Status,
    SVMProblem,
    linear_problem,
)

#: Columns up to which the primal is solved; rows up to which it is in the space that they span.
COLUMNS, SPAN = 700, 1_200
#: Least margin of a separable table, relative to the largest ‖φ(x)‖.
_NARROW = 1e-5
#: Limit of steps in the primal, and its relative gap, where the problem is one of a kernel.
_STEPS, _GAP = 2_000, 1e-9
#: Names of the groups of rows, by number.
GROUPS = np.array(["non-support", "free", "bound"], dtype="<U11")


@dataclass(frozen=True)
class BinarySVM:
    """One fitted SVM: what its solver found for each of its training ``rows``.

    The score of x is Σ β κ(xᵢ, x) + b (w·x + b with ``coef``), and ``squared_norm`` is ‖w‖² = βᵀKβ.
    ``C`` is the bound of |β| for each row, ``slack`` its loss ξ.
    """

    rows: Ints
    beta: Floats
    C: Floats
    slack: Floats
    intercept: float
    squared_norm: float
    certificate: Certificate
    n_iter: int
    status: str
    coef: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def support(self) -> Ints:
        """Row numbers of the support vectors."""
        return np.asarray(self.rows[self.beta != 0.0])

    @property
    def group(self) -> NDArray[np.int64]:
        """0 for β = 0, 1 for free support vectors (on the margin), 2 for bound ones (|β| = C)."""
        size = np.abs(self.beta)
        return (size > 0.0).astype(np.int64) + ((size > 0.0) & (size >= self.C))

    @property
    def margin(self) -> float:
        """1/‖w‖; infinite for w = 0."""
        return float(1.0 / np.sqrt(self.squared_norm)) if self.squared_norm > 0.0 else np.inf


def few_columns(x: Matrix) -> bool:
    """Whether the primal is solved over all columns at once."""
    return bool(x.shape[1] <= COLUMNS)


# -- linear ----------------------------------------------------------------------------------------


def fit_linear_svm(
    problem: LinearProblem,
    rows: Ints,
    options: SolverOptions,
    *,
    claim: str,
    classes: tuple[str, str] = ("one class", "the other"),
) -> BinarySVM:
    """The hyperplane w·x + b with the least objective."""
    bounded = problem.capped(_separable_bound(problem, classes)) if problem.hard else problem
    budget = options.budget(problem.n)
    found = solve_linear(bounded, options.tol, budget)
    beta = bounded.snapped(bounded.combine(found.alpha))
    certificate = certify_linear_svm(
        problem, found.w, found.b, beta, tolerance=max(options.tol, 1e-9), claim=claim
    )
    return BinarySVM(
        rows,
        beta,
        problem.cost,
        problem.slack(problem.scores(found.w, found.b)),
        found.b,
        float(problem.ridge @ found.w**2),
        certificate,
        budget.n_iter,
        str(found.status),
        found.w,
    )


def solve_linear(problem: LinearProblem, tol: float, budget: Budget) -> LinearSolution:
    """The minimum over w and b; of several optimal b the middle one, α feasible up to rounding."""
    scaled, center, unit = _standard_target(problem)
    found = _solve_scaled(scaled, tol, budget)
    w, b = unit * found.w, unit * found.b + center
    alpha = problem.balanced(unit * found.alpha)
    if found.status != Status.SOLVED:
        alpha = _scaled_down(problem, alpha)
    if problem.intercept:
        low, high = problem.intercept_interval(problem.scores(w, 0.0), b)
        b = min(max(b, low), high) if high - low <= 1e-9 * (1.0 + abs(b)) else 0.5 * (low + high)
    return LinearSolution(w, b, alpha, found.status)


def _standard_target(problem: LinearProblem) -> tuple[LinearProblem, float, float]:
    """Targets of regression about zero and of size one; labels ±1 are so already.

    With t = m + u·t' and w = u·w' the objective is u² times that of t' at cost c/u.
    """
    if not problem.regression:
        return problem, 0.0, 1.0
    center = float(np.average(problem.t, weights=problem.cost)) if problem.intercept else 0.0
    unit = float(np.abs(problem.t - center).mean()) or 1.0
    return problem.rescaled(center, unit), center, unit


def _solve_scaled(problem: LinearProblem, tol: float, budget: Budget) -> LinearSolution:
    n, d = problem.x.shape
    if d <= COLUMNS and (d <= 2 * n or n > SPAN):
        return solve_primal(problem, budget)
    if n <= SPAN:
        return _solve_in_span(problem, budget)
    return solve_coordinate_descent(problem, tol, budget)


def _solve_in_span(problem: LinearProblem, budget: Budget) -> LinearSolution:
    """Rows as coordinates in the space that they span: X ρ^−½ = E √Λ Vᵀ, w = ρ^−½ V v.

    w is a combination of the rows at the optimum, so nothing is lost and n columns are left.
    """
    root = np.sqrt(problem.ridge)
    scaled = _divided(problem.x, root)
    gram: Any = scaled @ scaled.T
    values, vectors = linalg.eigh(
        np.asarray(gram.toarray() if sparse.issparse(gram) else gram), check_finite=False
    )
    positive = values > 1e-13 * max(float(values[-1]), np.finfo(float).tiny)
    if not positive.any():
        positive[-1] = True
    size = np.sqrt(np.maximum(values[positive], np.finfo(float).tiny))
    inner = replace(problem, x=vectors[:, positive] * size, ridge=np.ones(int(positive.sum())))
    found = solve_primal(inner, budget)
    w = np.asarray(scaled.T @ problem.combine(found.alpha))
    return replace(found, w=w / root)


def _scaled_down(problem: LinearProblem, alpha: Floats) -> Floats:
    """α times the factor up to one of largest dual value: α of an early stop are too large."""
    linear = float(np.vdot(problem.offset, alpha))
    square = float(np.sum(problem.gradient(problem.combine(alpha)) ** 2 / problem.ridge))
    return alpha * max(linear / square, 0.0) if square > linear else alpha


def _divided(x: Matrix, root: Floats) -> Any:
    return sparse.csr_array(x) / root if sparse.issparse(x) else np.asarray(x) / root


# -- kernels ---------------------------------------------------------------------------------------


def fit_kernel_svm(
    gram: GramMatrix,
    problem: SVMProblem,
    rows: Ints,
    options: SolverOptions,
    *,
    classes: tuple[str, str] = ("one class", "the other"),
) -> BinarySVM:
    """The kernel expansion with the least objective."""
    budget = options.budget(problem.n)
    found = None
    if gram.linear and options.max_iter < 1 and few_columns(gram.x):
        found = _solve_by_columns(gram, problem, options, budget, classes)
    if found is None:
        found = _solve_by_smo(gram, problem, options, budget, classes)
    b = problem.best_intercept(found.beta, found.f)
    certificate = certify_kernel_svm(
        problem, found.beta, found.f, b, tolerance=options.tol, mercer=gram.mercer
    )
    return BinarySVM(
        rows,
        found.beta,
        problem.cost,
        problem.slack(found.f + b),
        b,
        float(found.beta @ found.f),
        certificate,
        budget.n_iter,
        str(Status.SOLVED if found.violation <= options.tol * problem.unit else budget.status),
    )


def _solve_by_columns(
    gram: GramMatrix,
    problem: SVMProblem,
    options: SolverOptions,
    budget: Budget,
    classes: tuple[str, str],
) -> DualSolution | None:
    """The linear kernel in the primal; None where that did not reach the tolerance in time."""
    linear = linear_problem(problem, gram.x)
    if problem.hard:
        linear = linear.capped(_separable_bound(linear, classes))
    steps = Budget(_STEPS, options.deadline)
    found = solve_linear(linear, _GAP, steps)
    budget.n_iter += steps.n_iter
    beta = linear.snapped(linear.combine(found.alpha))
    f = np.asarray(gram.x @ linear.gradient(beta))
    violation = problem.violation(beta, f)
    if violation > options.tol * problem.unit and not budget.out_of_time:
        return None
    return DualSolution(beta, f, violation)


def _solve_by_smo(
    gram: GramMatrix,
    problem: SVMProblem,
    options: SolverOptions,
    budget: Budget,
    classes: tuple[str, str],
) -> DualSolution:
    bounded = problem
    if problem.hard:
        bounded = problem.capped(1.0 / (_NARROW**2 * max(float(gram.diagonal.max()), 1e-300)))
    found = solve_dual(
        gram,
        bounded,
        tol=options.tol,
        budget=budget,
        cache_size=options.cache_size,
    )
    if problem.hard and (np.abs(found.beta) >= 0.999 * bounded.cost).any():
        raise _not_separable(gram, problem, found, classes)
    return found


# -- hard margins ----------------------------------------------------------------------------------


def _separable_bound(problem: LinearProblem, classes: tuple[str, str]) -> float:
    """A bound of α for the hard margin: any margin γ implies Σα ≤ 1/γ². Refuses overlap."""
    if not problem.intercept:
        raise InputError(
            "A hard margin (C=inf) needs the intercept.",
            remedy="Set fit_intercept=True, or a large finite C.",
        )
    x = _divided(problem.x, np.sqrt(problem.ridge))
    proof = separation_proof(x[problem.t > 0], x[problem.t < 0])
    if isinstance(proof, CommonPoint):
        raise _overlap(proof, classes)
    return 2.0 / proof.margin**2


def _overlap(proof: CommonPoint, classes: tuple[str, str]) -> InputError:
    return InputError(
        f"The classes are not separable, so there is no hard margin (C=inf): a weighted mean of "
        f"{len(proof.rows_a)} rows of {classes[0]} and one of {len(proof.rows_b)} rows of "
        f"{classes[1]} are the same point (to {proof.disagreement:.0e} of the columns' ranges).",
        remedy="Use a finite C; linear_separability(X, y) shows the rows and weights.",
    )


def _not_separable(
    gram: GramMatrix, problem: SVMProblem, found: DualSolution, classes: tuple[str, str]
) -> InputError:
    """No hyperplane in the feature space separates the classes, with the proof."""
    positive, negative = problem.t > 0, problem.t < 0
    if gram.linear:
        proof = separation_proof(gram.x[positive], gram.x[negative])
        if isinstance(proof, CommonPoint):
            return _overlap(proof, classes)
    distance = np.sqrt(max(float(found.beta @ found.f), 0.0)) / found.beta[positive].sum()
    size = np.sqrt(float(gram.diagonal.max()))
    return InputError(
        "There is no hard margin (C=inf): no hyperplane in the feature space of the kernel has a "
        f"margin above {distance / size:.0e} of the longest row, because weighted means of "
        f"{int((found.beta[positive] > 0).sum())} rows of {classes[0]} and of "
        f"{int((found.beta[negative] < 0).sum())} of {classes[1]} are this close.",
        remedy="Use a finite C, or a narrower kernel.",
    )
