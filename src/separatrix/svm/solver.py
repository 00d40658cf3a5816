"""Fit one binary SVM: choose the solver, solve, certify.

- linear: :mod:`separatrix.svm.primal`;
- any kernel: the dual, by SMO and Newton steps on the whole Gram matrix, or for many rows by SMO
  with working sets and shrinking. The linear kernel of few columns is first tried in the primal,
  where thousands of rows share a handful of unknowns.

A hard margin (C = ∞) is solved with a bound that no coefficient reaches, and refused with a proof
where the classes are not separable.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from separatrix.geometry.common_point import CommonPoint
from separatrix.geometry.separation_proof import Undecided, separation_proof
from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate, Status
from separatrix.rows.block import Floats, Ints
from separatrix.svm.certificate import KERNEL_CLAIM, certify_kernel_svm, certify_linear_svm
from separatrix.svm.dual.active_set import DualSolution, solve_active_set
from separatrix.svm.dual.gram_matrix import GramMatrix
from separatrix.svm.dual.smo import ShrinkingSMO
from separatrix.svm.primal.solver import divided, few_columns, solve_linear
from separatrix.svm.problem import (
    Budget,
    LinearProblem,
    SolverOptions,
    SVMProblem,
    linear_problem,
)

#: Rows up to which the whole Gram matrix is computed, and the solution is exact up to rounding.
DIRECT = 1200
#: Violation that rounding leaves, relative to the terms of the gradients.
_ROUNDING = 1e-12
#: Least margin of a separable table, relative to the largest ‖φ(x)‖.
_NARROW = 1e-5
#: C κ(x, x), in units of the scores, from which on the linear kernel is solved in the primal.
_RESOLVED = 1e8
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
    if gram.linear and options.max_iter < 1 and (few_columns(gram.x) or _large(gram, problem)):
        by_columns = _fit_by_columns(gram, problem, rows, options, budget, classes)
        if by_columns is not None:
            return by_columns
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


def _large(gram: GramMatrix, problem: SVMProblem) -> bool:
    """Whether terms C κ(x, x) of the scores are so large that sums of them lose the scores."""
    cost = float(problem.cost.max(initial=0.0))
    return bool(cost * float(gram.diagonal.max()) > _RESOLVED * problem.unit)


def _fit_by_columns(
    gram: GramMatrix,
    problem: SVMProblem,
    rows: Ints,
    options: SolverOptions,
    budget: Budget,
    classes: tuple[str, str],
) -> BinarySVM | None:
    """The linear kernel in the primal; None where that did not reach the tolerance in time.

    Scores are w·x: as Σ β κ(x, ·) they would lose all digits where rows are of size 10⁶.
    """
    linear = linear_problem(problem, gram.x)
    bounded = linear.capped(_separable_bound(linear, classes)) if problem.hard else linear
    steps = Budget(_STEPS, options.deadline)
    found = solve_linear(bounded, _GAP, steps)
    budget.n_iter += steps.n_iter
    beta = bounded.snapped(bounded.combine(found.alpha))
    f = linear.scores(found.w, 0.0)
    b = problem.best_intercept(beta, f)
    certificate = certify_linear_svm(
        linear, found.w, b, beta, tolerance=options.tol, claim=KERNEL_CLAIM
    )
    if not certificate.holds and not budget.out_of_time:
        return None
    return BinarySVM(
        rows,
        beta,
        problem.cost,
        problem.slack(f + b),
        b,
        float(found.w @ found.w),
        certificate,
        budget.n_iter,
        str(Status.SOLVED if certificate.holds else budget.status),
        found.w,
    )


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
    found = solve_dual(gram, bounded, options, budget)
    if problem.hard and (np.abs(found.beta) >= 0.999 * bounded.cost).any():
        raise _not_separable(gram, problem, found, classes)
    return found


def solve_dual(
    gram: GramMatrix, problem: SVMProblem, options: SolverOptions, budget: Budget
) -> DualSolution:
    """β with a violation of at most ``tol`` units, or the best when the budget is exhausted."""
    tol = options.tol * problem.unit
    if problem.n > DIRECT:
        return ShrinkingSMO(gram, problem, tol, budget, options.cache_size).run()
    whole = np.ascontiguousarray(gram.square(np.arange(problem.n)), dtype=float)
    beta, f = np.zeros(problem.n), np.zeros(problem.n)
    size = problem.unit + float(np.abs(problem.t).max(initial=0.0))
    violation = solve_active_set(whole, problem, beta, f, tol, _ROUNDING * size, budget)
    return DualSolution(beta, f, violation)


# -- hard margins ----------------------------------------------------------------------------------


def _separable_bound(problem: LinearProblem, classes: tuple[str, str]) -> float:
    """A bound of α for the hard margin: any margin γ implies Σα ≤ 1/γ². Refuses overlap."""
    if not problem.intercept:
        raise InputError(
            "A hard margin (C=inf) needs the intercept.",
            remedy="Set fit_intercept=True, or a large finite C.",
        )
    x = divided(problem.x, np.sqrt(problem.ridge))
    proof = separation_proof(x[problem.t > 0], x[problem.t < 0])
    if isinstance(proof, CommonPoint):
        raise _overlap(proof, classes)
    if isinstance(proof, Undecided):
        raise proof.refusal()
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
