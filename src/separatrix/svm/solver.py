"""Fit one binary SVM: choose the solver, solve, certify.

- linear: :mod:`separatrix.svm.primal`;
- any kernel: the dual, by SMO and Newton steps on the whole Gram matrix, or for many rows by SMO
  with working sets and shrinking. The linear kernel of few columns is first tried in the primal,
  where thousands of rows share a handful of unknowns.

A hard margin (C = ∞) is solved with a bound that no coefficient reaches, and refused with a proof
where the classes are not separable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints, Matrix, NDArray
from separatrix.geometry.convex_hulls import CommonPoint
from separatrix.geometry.separability import Undecided, separation_proof
from separatrix.kernels import Custom, Kernel, Linear, Precomputed, PreparedKernel
from separatrix.kernels.base import finite_diagonal
from separatrix.kernels.stationary import RadialKernel
from separatrix.matrices.cholesky import cholesky_factor
from separatrix.messages import InputError, warn
from separatrix.optimize.convex import Certificate, Status
from separatrix.rows.schema import n_items, take_items
from separatrix.svm.linear_dual import dual_of_hinges
from separatrix.svm.linear_dual import solve_dual as solve_linear_dual
from separatrix.svm.loops import add_rows, smo
from separatrix.svm.primal import LinearSolution, solve_primal
from separatrix.svm.problem import (
    KERNEL_CLAIM,
    Budget,
    LinearProblem,
    SolverOptions,
    SVMProblem,
    badness,
    certify_kernel_svm,
    certify_linear_svm,
    clearing_factor,
    is_better,
    linear_problem,
    score_rounding,
)
from separatrix.threads import parallel_map, pieces

#: Rows up to which the whole Gram matrix is computed, and the solution is exact up to rounding; of
#: linear SVMs with more columns it is that of the space which the rows span.
DIRECT = 1200
#: Violation that rounding leaves, relative to the terms of the gradients.
_ROUNDING = 1e-12
#: What rounding of the scores may cost, relative to the objective, before the margin moves.
_NEGLIGIBLE = 1e-9
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


# -------------------------------------------------------------------------------------------------
# What an estimator made of binary SVMs ``svms_`` says of them: a number for each, or for each row.
#
# Each is (n_samples,) for one binary SVM, else (n_samples, number of SVMs); rows that took no part,
# and rows without weight, have zeros.


def alpha_of(model: Any) -> Floats:
    """α of every training row, from 0 to C; in regression α⁺ − α⁻, from −C to C."""
    signed = is_regressor(model)
    return _of_rows(model, lambda svm: svm.beta if signed else np.abs(svm.beta))


def slack_of(model: Any) -> Floats:
    """ξ of every training row: the loss that it has, zero beyond its margin or within ε."""
    return _of_rows(model, lambda svm: svm.slack)


def group_of(model: Any) -> NDArray[np.str_]:
    """ "non-support" (α = 0), "free" (0 < |α| < C, on the margin) or "bound" (|α| = C)."""
    return GROUPS[_of_rows(model, lambda svm: svm.group).astype(np.int64)]


def margin_of(model: Any) -> Any:
    """1/‖w‖ in the feature space (of standardized columns if so fitted); infinite for w = 0."""
    return _only([svm.margin for svm in records(model)])


def threshold_of(model: Any) -> Any:
    """The threshold t of the score w·x − t: the intercept with the other sign."""
    check_is_fitted(model)
    return _only((-np.ravel(model.intercept_)).tolist())


def records(model: Any) -> list[BinarySVM]:
    """``svms_`` of a fitted model."""
    check_is_fitted(model)
    svms: list[BinarySVM] = model.svms_
    return svms


def _of_rows(model: Any, value: Callable[[BinarySVM], Any]) -> Floats:
    """One number per training row and binary SVM."""
    svms = records(model)
    whole = by_row(svms, [value(svm) for svm in svms], model.n_samples_fit_)
    return whole[:, 0] if len(svms) == 1 else whole


def certify(model: Any, svms: list[BinarySVM], cause: Callable[[], str]) -> None:
    """Expose the worst certificate, and warn where it does not hold."""
    worst = max(svms, key=lambda svm: badness(svm.certificate))
    model.certificate_ = worst.certificate
    if len(svms) > 1:
        claim = f"{len(svms)} binary SVMs; this is the worst of their certificates: "
        model.certificate_ = replace(worst.certificate, claim=claim + worst.certificate.claim)
    if not worst.certificate.holds:
        text = f"support vector machine, {worst.status}: {worst.certificate} {cause()}"
        warn("SEP003", text.strip())


def by_row(svms: list[BinarySVM], values: list[Any], n: int) -> Floats:
    """(n x number of SVMs) values of the rows of each SVM, and zeros for the others."""
    whole = np.zeros((n, len(svms)))
    for j, svm in enumerate(svms):
        whole[svm.rows, j] = values[j]
    return whole


def _only(values: Sequence[float]) -> Any:
    """The one value, or an array of several."""
    return float(values[0]) if len(values) == 1 else np.array(values)


# -------------------------------------------------------------------------------------------------
# Fit one binary SVM: linear, or with a kernel.


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
    bounded = problem.with_cap(_separable_bound(problem, classes)) if problem.hard else problem
    budget = options.budget(problem.n)
    tolerance = max(options.tol, 1e-9)
    dual_hyperplane = _best_hyperplane(problem, bounded, options.tol, budget, tolerance, claim)
    return _linear_record(
        problem, dual_hyperplane, rows, budget.n_iter, str(dual_hyperplane.status)
    )


@dataclass(frozen=True)
class _DualHyperplane:
    """w, b and β of a linear problem, with their certificate."""

    w: Floats
    b: float
    beta: Floats
    certificate: Certificate
    status: Status


def _linear_record(
    problem: LinearProblem, dual_hyperplane: _DualHyperplane, rows: Ints, n_iter: int, status: str
) -> BinarySVM:
    return BinarySVM(
        rows,
        dual_hyperplane.beta,
        problem.cost,
        problem.slack(problem.scores(dual_hyperplane.w, dual_hyperplane.b)),
        dual_hyperplane.b,
        float(problem.ridge @ dual_hyperplane.w**2),
        dual_hyperplane.certificate,
        n_iter,
        status,
        dual_hyperplane.w,
    )


def _best_hyperplane(
    problem: LinearProblem,
    bounded: LinearProblem,
    tol: float,
    budget: Budget,
    tolerance: float,
    claim: str,
) -> _DualHyperplane:
    """The hyperplane of least gap; ``bounded`` is the problem with finite costs.

    Costs of one fraction after the other are tried until the relative gap is at most ``tol``.
    """
    best, before, last = None, None, 0.0
    fractions = bounded.cost_stages(_largest_square(bounded))
    # Fraction of the costs that is moderate down to which interior points are tried with all at
    # once.
    if fractions[0] > 1e-5:
        fractions = [1.0, *fractions[:-1]]
    for fraction in fractions:
        part = bounded.with_cost(fraction) if fraction < 1.0 else bounded
        linear_solution = _solve_inside(bounded, part, tol, budget)
        beta = part.snap(part.combine(linear_solution.alpha))
        duals = [beta]
        if before is not None:
            duals.append(bounded.extrapolate(beta, fraction, before, last))
        for dual in duals:
            proof = certify_linear_svm(
                problem,
                linear_solution.w,
                linear_solution.b,
                dual,
                tolerance=tolerance,
                claim=claim,
            )
            if best is None or is_better(proof, best.certificate):
                best = _DualHyperplane(
                    linear_solution.w, linear_solution.b, dual, proof, linear_solution.status
                )
        assert best is not None
        proof = best.certificate
        if (proof.holds and proof.gap <= tol * proof.primal) or budget.exhausted:
            break
        before, last = (beta, fraction) if fraction < 1.0 else (None, 0.0)
    assert best is not None
    return best


def _largest_square(problem: LinearProblem) -> float:
    """The largest ‖x‖² in units of the penalty; of centered columns where the intercept is free."""
    x, scale = problem.x, 1.0 / problem.ridge
    if sparse.issparse(x):
        return float((x.multiply(x) @ scale).max(initial=0.0))
    center = x.mean(axis=0) if problem.balances else 0.0
    parts = (x[i : i + 20_000] for i in range(0, problem.n, 20_000))
    return max(float(((part - center) ** 2 @ scale).max()) for part in parts)


def _solve_inside(
    problem: LinearProblem, part: LinearProblem, tol: float, budget: Budget
) -> LinearSolution:
    """The solution of ``part``, the ``problem`` at a fraction of its costs, clear of rounding.

    Where rounding of the scores of rows on the margin would cost more than it should, the margin
    is moved away from the rows by as much: w and b grow, or ε of regression is smaller.
    """
    linear_solution = solve_linear(part, tol, budget)
    noise = problem.score_rounding(linear_solution.w, linear_solution.b)
    risk, value = (
        float(problem.cost @ noise),
        problem.objective(linear_solution.w, linear_solution.b),
    )
    if risk <= _NEGLIGIBLE * value or (problem.regression and not problem.epsilon):
        return linear_solution
    if problem.regression:
        epsilon = max(problem.epsilon - 2.0 * float(noise.max()), 0.0)
        return solve_linear(replace(part, epsilon=epsilon), tol, budget)
    factor = clearing_factor(
        problem.t * problem.scores(linear_solution.w, linear_solution.b), problem.cost, noise
    )
    moved = problem.objective(factor * linear_solution.w, factor * linear_solution.b)
    return (
        replace(linear_solution, w=factor * linear_solution.w, b=factor * linear_solution.b)
        if moved < value + risk
        else linear_solution
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
    expansion = _best_expansion(gram, problem, options, budget, classes)
    return BinarySVM(
        rows,
        expansion.beta,
        problem.cost,
        problem.slack(expansion.f + expansion.b),
        expansion.b,
        float(expansion.beta @ expansion.f),
        expansion.certificate,
        budget.n_iter,
        str(Status.SOLVED if expansion.solved else budget.status),
    )


def _clear_expansion(
    gram: GramMatrix,
    problem: LinearProblem,
    bounded: LinearProblem,
    dual_hyperplane: _DualHyperplane,
    tolerance: float,
) -> _DualHyperplane:
    """w = Xᵀβ with β clear of rounding, where that has the same objective.

    Predictions by Σ β κ(x, ·) are then as good as those by w·x + b.
    """
    if problem.regression:
        return dual_hyperplane
    beta, w = dual_hyperplane.beta, problem.gradient(dual_hyperplane.beta)
    noise = score_rounding(gram.diagonal, beta, dual_hyperplane.b)
    z = problem.t * problem.scores(w, dual_hyperplane.b)
    risk = float(bounded.cost @ np.maximum(1.0 + noise - z, 0.0))
    risk -= float(bounded.cost @ np.maximum(1.0 - z, 0.0))
    factor = clearing_factor(z, bounded.cost, noise)
    negligible = risk <= _NEGLIGIBLE * dual_hyperplane.certificate.primal
    if negligible or not (factor * np.abs(beta) <= problem.cost).all():
        return dual_hyperplane
    w, b, beta = factor * w, factor * dual_hyperplane.b, factor * beta
    proof = certify_linear_svm(problem, w, b, beta, tolerance=tolerance, claim=KERNEL_CLAIM)
    if proof.primal > dual_hyperplane.certificate.primal * (1.0 + _NEGLIGIBLE) or not proof.holds:
        return dual_hyperplane
    return _DualHyperplane(w, b, beta, proof, dual_hyperplane.status)


def _large(gram: GramMatrix, problem: SVMProblem) -> bool:
    """Whether terms C κ(x, x) of the scores are so large that sums of them lose the scores."""
    cost = float(problem.cost.max(initial=0.0))
    # C κ(x, x), in units of the scores, from which on the linear kernel is solved in the primal.
    return bool(cost * float(gram.diagonal.max()) > 1e8 * problem.unit)


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
    bounded = linear.with_cap(_separable_bound(linear, classes)) if problem.hard else linear
    steps = Budget(2_000, options.deadline)  # steps in the primal at most
    # Relative gap in the primal, where the problem is one of a kernel.
    dual_hyperplane = _best_hyperplane(linear, bounded, 1e-9, steps, options.tol, KERNEL_CLAIM)
    dual_hyperplane = _clear_expansion(gram, linear, bounded, dual_hyperplane, options.tol)
    budget.n_iter += steps.n_iter
    if not dual_hyperplane.certificate.holds and not budget.out_of_time:
        return None
    status = Status.SOLVED if dual_hyperplane.certificate.holds else budget.status
    return _linear_record(linear, dual_hyperplane, rows, budget.n_iter, str(status))


@dataclass(frozen=True)
class _Expansion:
    """β, f = Kβ and b of a kernel problem, with their certificate."""

    beta: Floats
    f: Floats
    b: float
    certificate: Certificate
    solved: bool
    #: The objective, and what rounding of the scores may add to it.
    value: float

    def better_than(self, other: _Expansion) -> bool:
        """Whether its objective is clearly lower, or as low with a better certificate."""
        if abs(self.value - other.value) > self.certificate.tolerance * min(
            self.value, other.value
        ):
            return self.value < other.value
        return badness(self.certificate) < badness(other.certificate)


def _best_expansion(
    gram: GramMatrix,
    problem: SVMProblem,
    options: SolverOptions,
    budget: Budget,
    classes: tuple[str, str],
) -> _Expansion:
    """The kernel expansion of least gap, by one fraction of the costs after the other."""
    bounded, largest = problem, float(np.abs(gram.diagonal).max(initial=0.0))
    if problem.hard:
        # Least margin of a separable table, relative to the largest ‖φ(x)‖.
        bounded = problem.with_cap(1.0 / (1e-5**2 * max(largest, 1e-300)))
    # Relative gap of a problem of so few rows, where rounding allows it.
    tol = options.tol if problem.n > DIRECT else min(options.tol, 1e-6)
    best, before, last, start = None, None, 0.0, None
    fractions = bounded.cost_stages(largest) if gram.mercer else [1.0]
    # C κ(x, x), in units of the scores, from which on sums of β κ have lost the scores.
    steepest = 2e10 * problem.unit / (largest * float(bounded.cost.max(initial=0.0)) or 1.0)
    fractions = [fraction for fraction in fractions if fraction <= steepest] or fractions[:1]
    for fraction, following in zip(fractions, [*fractions[1:], 1.0], strict=True):
        part = bounded.with_cost(fraction) if fraction < 1.0 else bounded
        steps = replace(budget, max_iter=budget.n_iter + -(-budget.remaining // 2))
        steps = steps if fraction < 1.0 else budget
        dual_solution = _solve_clear_of_epsilon(gram, bounded, part, options, steps, start)
        budget.n_iter = max(budget.n_iter, steps.n_iter)
        solved = dual_solution.violation <= options.tol * problem.unit
        points = [(dual_solution.beta, dual_solution.f)]
        if before is not None:
            beta = bounded.extrapolate(dual_solution.beta, fraction, before, last)
            points.append((beta, gram.times(beta)))
        for beta, f in points:
            new = _clear_of_rounding(gram, problem, bounded, beta, f, options.tol, solved)
            if best is None or new.better_than(best):
                best = new
        assert best is not None
        proof = best.certificate
        if gram.mercer and np.isfinite(proof.gap) and proof.gap <= tol * proof.primal:
            break
        if (
            problem.hard
            and fraction == 1.0
            and (np.abs(dual_solution.beta) >= 0.999 * bounded.cost).any()
        ):
            raise _not_separable(gram, problem, dual_solution, classes)
        if budget.exhausted:
            break
        start = dual_solution.beta
        if before is not None:
            start = bounded.extrapolate(dual_solution.beta, fraction, before, last, following)
        before, last = dual_solution.beta, fraction
    assert best is not None
    return best


def _solve_clear_of_epsilon(
    gram: GramMatrix,
    problem: SVMProblem,
    part: SVMProblem,
    options: SolverOptions,
    budget: Budget,
    start: Floats | None,
) -> DualSolution:
    """The dual of ``part``; of regression with an ε smaller by what rounding may cost much."""
    solution = solve_dual(gram, part, options, budget, start)
    if not problem.regression or not gram.mercer:
        return solution
    b = part.best_intercept(solution.beta, solution.f)
    noise = score_rounding(gram.diagonal, solution.beta, b) + np.finfo(float).eps * np.abs(
        problem.t
    )
    value, risk = _value(problem, solution.beta, solution.f, b, noise)
    small = risk <= _NEGLIGIBLE * value or float(noise.max()) <= solution.violation
    if small or not problem.epsilon:  # the search itself may leave more than rounding does
        return solution
    size = problem.unit + float(np.abs(problem.t).max(initial=0.0))
    clear = 2.0 * (float(noise.max()) + max(solution.violation, _ROUNDING * size))
    narrow = replace(part, epsilon=max(problem.epsilon - clear, 0.0))
    inside = solve_dual(gram, narrow, options, budget, solution.beta)
    b = part.best_intercept(inside.beta, inside.f)
    lower = sum(_value(problem, inside.beta, inside.f, b, noise)) < value + risk
    return inside if lower else solution


def _clear_of_rounding(
    gram: GramMatrix,
    problem: SVMProblem,
    bounded: SVMProblem,
    beta: Floats,
    f: Floats,
    tolerance: float,
    solved: bool,
) -> _Expansion:
    """β and b with their certificate, both grown where rounding of the scores would cost much.

    No β may grow beyond its bound.
    """
    b = bounded.best_intercept(beta, f)
    noise = score_rounding(gram.diagonal, beta, b)
    value, risk = _value(bounded, beta, f, b, noise)
    if not problem.regression and risk > _NEGLIGIBLE * value:
        factor = clearing_factor(problem.t * (f + b), bounded.cost, noise)
        if (factor * np.abs(beta) <= problem.cost).all():
            beta, f, b = factor * beta, factor * f, factor * b
            value, risk = _value(bounded, beta, f, b, noise)
    proof = certify_kernel_svm(problem, beta, f, b, tolerance=tolerance, mercer=gram.mercer)
    return _Expansion(beta, f, b, proof, solved, value + risk)


def _value(
    problem: SVMProblem, beta: Floats, f: Floats, b: float, noise: Floats
) -> tuple[float, float]:
    """The objective, and what rounding of the scores may add to it."""
    losses = float(problem.cost @ problem.slack(f + b))
    short = problem.shortfall(f + b).max(axis=0)
    more = float(problem.cost @ np.maximum(short + noise, 0.0)) - losses
    return 0.5 * float(beta @ f) + losses, more


def solve_dual(
    gram: GramMatrix,
    problem: SVMProblem,
    options: SolverOptions,
    budget: Budget,
    start: Floats | None = None,
) -> DualSolution:
    """β with a violation of at most ``tol`` units, or the best when the budget is exhausted.

    The search begins at the feasible ``start``, or at zero.
    """
    tol = options.tol * problem.unit
    beta = np.zeros(problem.n) if start is None else start.copy()
    if problem.n > DIRECT:
        return ShrinkingSMO(gram, problem, tol, budget, options.cache_size, beta).run()
    whole = np.ascontiguousarray(gram.square(np.arange(problem.n)), dtype=float)
    f = whole @ beta
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
    x = divide_rows(problem.x, np.sqrt(problem.ridge))
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
    gram: GramMatrix, problem: SVMProblem, dual_solution: DualSolution, classes: tuple[str, str]
) -> InputError:
    """No hyperplane in the feature space separates the classes, with the proof."""
    positive, negative = problem.t > 0, problem.t < 0
    if gram.linear:
        proof = separation_proof(gram.x[positive], gram.x[negative])
        if isinstance(proof, CommonPoint):
            return _overlap(proof, classes)
    distance = (
        np.sqrt(max(float(dual_solution.beta @ dual_solution.f), 0.0))
        / dual_solution.beta[positive].sum()
    )
    size = np.sqrt(float(gram.diagonal.max()))
    return InputError(
        "There is no hard margin (C=inf): no hyperplane in the feature space of the kernel has a "
        f"margin above {distance / size:.0e} of the longest row, because weighted means of "
        f"{int((dual_solution.beta[positive] > 0).sum())} rows of {classes[0]} and of "
        f"{int((dual_solution.beta[negative] < 0).sum())} of {classes[1]} are this close.",
        remedy="Use a finite C, or a narrower kernel.",
    )


# -------------------------------------------------------------------------------------------------
# Solve the linear SVM by the method that fits its shape.
#
# - few columns: active sets in the primal, with interior-point steps and an exact finish;
# - fewer rows than columns: the same in the space that the rows span;
# - many rows and columns: the dual, by coordinate descent and conjugate gradients; where these are
#   slow on full rows, one of the two above.


#: Columns up to which the primal is solved.
COLUMNS = 700


def few_columns(x: Matrix) -> bool:
    """Whether the primal is solved over all columns at once."""
    return bool(x.shape[1] <= COLUMNS)


def solve_linear(problem: LinearProblem, tol: float, budget: Budget) -> LinearSolution:
    """The minimum over w and b; of several optimal b the middle one, α feasible up to rounding."""
    scaled, center, unit = _standard_target(problem)
    linear_solution = _solve_scaled(scaled, tol, budget)
    w, b = unit * linear_solution.w, unit * linear_solution.b + center
    alpha = problem.balance(unit * linear_solution.alpha)
    if linear_solution.status != Status.SOLVED:
        alpha = _scaled_down(problem, alpha)
    if problem.balances:
        low, high = problem.intercept_interval(problem.scores(w, 0.0), b)
        b = min(max(b, low), high) if high - low <= 1e-9 * (1.0 + abs(b)) else 0.5 * (low + high)
    return LinearSolution(w, b, alpha, linear_solution.status)


def _standard_target(problem: LinearProblem) -> tuple[LinearProblem, float, float]:
    """Targets of regression about zero and of size one; labels ±1 are so already.

    With t = m + u·t' and w = u·w' the objective is u² times that of t' at cost c/u.
    """
    if not problem.regression:
        return problem, 0.0, 1.0
    center = float(np.average(problem.t, weights=problem.cost)) if problem.balances else 0.0
    unit = float(np.abs(problem.t - center).mean()) or 1.0
    return problem.rescale(center, unit), center, unit


def _solve_scaled(problem: LinearProblem, tol: float, budget: Budget) -> LinearSolution:
    n, d = problem.x.shape
    if d <= COLUMNS and (d <= 2 * n or n > DIRECT):
        return solve_primal(problem, budget)
    if n <= DIRECT:
        return _solve_in_span(problem, budget)
    # Multiplications of the largest step in the primal that is worth it where the dual is slow.
    if sparse.issparse(problem.x) or n * min(n, d) ** 2 > 2e11:
        return _solve_by_rows(problem, tol, budget)
    # Steps of the dual that show whether it is: few with far more rows than columns, where it
    # mostly is. Else as many as there are rows or columns: a multiplication of theirs takes ten
    # times as long as one of a Gram matrix, of which the primal makes some fifteen.
    trial = Budget(min(40 if n > 2 * d else min(n, d), budget.remaining), budget.deadline)
    solution = _solve_by_rows(problem, tol, trial)
    budget.n_iter += trial.n_iter
    if solution.status == Status.SOLVED or budget.exhausted:
        return solution
    return solve_primal(problem, budget) if d <= n else _solve_in_span(problem, budget)


def _solve_by_rows(problem: LinearProblem, tol: float, budget: Budget) -> LinearSolution:
    """The dual of all rows, with w = Xᵀβ."""
    root = np.sqrt(problem.ridge)
    solution = solve_linear_dual(dual_of_hinges(problem, root), tol, budget)
    alpha = np.maximum(problem.sign * solution.beta, 0.0)
    return LinearSolution(solution.w / root, solution.b, alpha, solution.status)


def _solve_in_span(problem: LinearProblem, budget: Budget) -> LinearSolution:
    """Rows as coordinates in the space that they span, w = ρ^−½ V v.

    w is a combination of the rows at the optimum, so nothing is lost and n columns are left.
    """
    root = np.sqrt(problem.ridge)
    scaled = divide_rows(problem.x, root)
    inner = _span_of_sparse(scaled) if sparse.issparse(scaled) else _span_of_dense(scaled)
    linear_solution = solve_primal(replace(problem, x=inner, ridge=np.ones(inner.shape[1])), budget)
    w = np.asarray(scaled.T @ problem.combine(linear_solution.alpha))
    return replace(linear_solution, w=w / root)


def _span_of_dense(x: Floats) -> Floats:
    """Coordinates of the rows by a triangular factor: X = L Qᵀ, XXᵀ = L Lᵀ.

    The factor comes from the products of the rows where these keep half of its digits, and else
    from orthogonal factors of the rows, which take several times as long.
    """
    factor = cholesky_factor(np.asarray(x @ x.T))
    if factor is not None:
        size = np.abs(np.diag(factor))
        # Of the smallest to the largest pivot: the square is what rounding leaves of products.
        if size.min() > 1e-4 * size.max():
            return np.tril(factor)
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


def divide_rows(x: Matrix, root: Floats) -> Any:
    """The columns of x, each divided by its element of ``root``."""
    return sparse.csr_array(x) / root if sparse.issparse(x) else np.asarray(x) / root


# -------------------------------------------------------------------------------------------------
# The Gram matrix of the rows under a kernel, block by block, and a cache of its rows.
#
# Blocks are of single precision where that is enough. The cache is as large as a given memory, and
# evicts the rows that were used least recently.


#: Largest kernel value for which single precision is used.
LARGE = 1e30


class GramMatrix:
    """κ(xᵢ, xⱼ) of the rows ``x``; ``single`` says whether blocks may be of float32.

    ``mercer`` is False where a negative eigenvalue was found: then κ is not an inner product.
    """

    def __init__(self, kernel: Kernel, x: Any, *, mercer: bool = True) -> None:
        self.kernel, self.x, self.mercer = kernel, x, mercer
        self.n = n_items(x)
        self.precomputed = isinstance(kernel, Precomputed)
        self.linear = isinstance(kernel, Linear)
        self.diagonal: Floats = finite_diagonal(kernel, x)
        self.single = self._allows_single()
        self._x32: Any = None
        # sparse rows of few columns are as fast, and equal to the last bit, as the same dense ones
        # Columns up to which sparse rows are filled in.
        narrow = sparse.issparse(x) and x.shape[1] <= 64 and self._is_ours()
        self._rows: Any = x.toarray() if narrow else x

    def _allows_single(self) -> bool:
        """Only kernels of this library on dense rows; others may not expect float32."""
        if not isinstance(self.x, np.ndarray) or not self.kernel.of_vectors:
            return False
        return bool(self._is_ours() and np.abs(self.diagonal).max(initial=0.0) < LARGE)

    def _is_ours(self) -> bool:
        return not any(isinstance(leaf, Custom | Precomputed) for leaf in _leaves(self.kernel))

    def items(self, index: NDArray[Any] | slice, single: bool = False) -> Any:
        """Some of the rows of x, as float32 if wanted and allowed."""
        if not (single and self.single):
            return take_items(self.x, index)
        if self._x32 is None:
            # a radial kernel depends on differences alone: near the origin few digits are lost
            center = self.x.mean(axis=0) if isinstance(self.kernel, RadialKernel) else 0.0
            self._x32 = np.ascontiguousarray(self.x - center, dtype=np.float32)
        return self._x32[index]

    def _items(self, index: NDArray[Any] | slice, single: bool = False) -> Any:
        """Some of the rows as the kernel takes them here, sparse ones of few columns as dense."""
        return self.items(index, single) if self._rows is self.x else self._rows[index]

    def prepare(self, index: Ints, single: bool = False) -> PreparedKernel:
        """The kernel with its second argument fixed to the rows of ``index``."""
        if self.precomputed:
            return self.kernel.prepare(np.ascontiguousarray(self.x[np.ix_(index, index)]))
        return self.kernel.prepare(self._items(index, single))

    def square(self, index: Ints, single: bool = False) -> NDArray[Any]:
        """All pairs of some rows, exactly symmetric."""
        gram = self.prepare(index, single).gram()
        return np.ascontiguousarray(gram) if self.single else np.asarray(gram, dtype=float)

    def between(self, at: Any, of: Any, memory: Floats) -> Floats:
        """κ of the rows ``at`` (rows of the result) with the rows ``of``, written to ``memory``."""
        if self.precomputed:
            return np.ascontiguousarray(self.x[np.ix_(at, of)], dtype=float)
        x, prepared = self._items(at), self.kernel.prepare(self._items(of))
        n = n_items(x)
        return prepared.rows(x, memory[: n * len(prepared)].reshape(n, -1))

    def product(self, indices: Ints, of: Ints, beta: Floats, single: bool = False) -> Floats:
        """Σ κ(x, z) β over the rows z of ``of``, for every row x of ``at``; block by block."""
        if not len(of) or not len(indices):
            return np.zeros(len(indices))
        if self.precomputed:
            return np.asarray(self.x[np.ix_(indices, of)] @ beta)
        weights = beta.astype(np.float32 if single and self.single else np.float64)[:, None]
        prepared = self.kernel.prepare(self._items(of, single))
        return np.asarray(prepared.dot(self._items(indices, single), weights)[:, 0], dtype=float)

    def times(self, beta: Floats) -> Floats:
        """Kβ in double precision."""
        support = np.flatnonzero(beta)
        return self.product(np.arange(self.n), support, beta[support])

    def subset(self, rows: Ints) -> GramMatrix:
        """The Gram matrix of some of the rows."""
        x = self.x[np.ix_(rows, rows)] if self.precomputed else self.items(rows)
        return GramMatrix(self.kernel, x, mercer=self.mercer)

    def compute(self, megabytes: float) -> GramMatrix:
        """The matrix computed once for several problems, where it fits into memory.

        Vector kernels of many rows are computed as fast as they are looked up, others are not.
        """
        fits = 8e-6 * self.n**2 <= megabytes
        if self.precomputed or not fits or (self.single and self.n > 2000):
            return self
        gram = self.square(np.arange(self.n)).astype(float)
        return GramMatrix(Precomputed(), gram, mercer=self.mercer)


def _leaves(kernel: Kernel) -> list[Kernel]:
    """The kernels that an expression is made of."""
    below = kernel._children()
    return [leaf for child in below for leaf in _leaves(child)] if below else [kernel]


class Buffers:
    """Named blocks of memory, used by one cache of rows after the other."""

    def __init__(self, gram: GramMatrix, megabytes: float) -> None:
        # Megabytes beyond which allocating memory for vector kernels costs more than computing rows
        # again.
        self.bytes = int((min(megabytes, 48.0) if gram.single else megabytes) * 2**20)
        self.blocks: dict[str, NDArray[np.uint8]] = {}

    def rows(self, width: int, dtype: Any) -> NDArray[Any]:
        """Room for rows of this width, as many as there are columns at most."""
        count = self.bytes // (width * np.dtype(dtype).itemsize)
        # Rows that the cache holds in any case.
        return self.block("rows", min(width, max(64, count)), width, dtype)

    def block(self, name: str, count: int, width: int, dtype: Any) -> NDArray[Any]:
        """An uninitialized block; the next of the same name takes its memory."""
        size = count * width * np.dtype(dtype).itemsize
        if size > len(self.blocks.get(name, ())):
            self.blocks[name] = np.empty(size, dtype=np.uint8)
        return np.asarray(self.blocks[name][:size].view(dtype).reshape(count, width))


class RowCache:
    """Rows of the Gram matrix of the ``columns`` (row numbers), by position among them."""

    def __init__(self, gram: GramMatrix, columns: Ints, buffers: Buffers, single: bool) -> None:
        self.gram, self.columns, self.single = gram, columns, single
        self.prepared = gram.prepare(columns, single)
        self.buffers, self.dtype = buffers, np.float32 if single and gram.single else np.float64
        self.store = buffers.rows(len(columns), self.dtype)
        self.slot = np.full(len(columns), -1, dtype=np.int64)
        self.row_in = np.full(len(self.store), -1, dtype=np.int64)
        self.last_use = np.zeros(len(self.store), dtype=np.int64)
        self.clock = self.filled = self.computed = 0

    def square(self, chosen: Ints) -> NDArray[Any]:
        """The block of the Gram matrix of some columns."""
        block = self.buffers.block("square", len(chosen), len(chosen), self.dtype)
        return self.gram.prepare(self.columns[chosen], self.single).gram(block)

    def add_to(self, f: Floats, changed: Ints, change: Floats) -> None:
        """f += Σ change · rows of what changed, pieces of the columns on each processor."""
        step = len(self.store)
        for start in range(0, len(changed), step):
            slots = self._slots(changed[start : start + step])
            self._accumulate(f, slots, change[start : start + step])

    def _slots(self, wanted: Ints) -> Ints:
        """Where in ``store`` the rows of these columns are; missing ones are computed."""
        self.clock += 1
        slots = self.slot[wanted]
        self.last_use[slots[slots >= 0]] = self.clock
        missing = wanted[slots < 0]
        if len(missing):
            places = self._evict(len(missing))
            self._compute(missing, places)
            self.slot[missing], self.row_in[places] = places, missing
            self.last_use[places] = self.clock
            self.computed += len(missing)
        return self.slot[wanted]

    def _compute(self, missing: Ints, places: Ints) -> None:
        """Compute rows, straight into their slots where these are contiguous."""
        first, count = int(places[0]), len(places)
        if (np.diff(places) == 1).all():
            self.prepared.take(missing, self.store[first : first + count])
        else:
            spare = self.buffers.block("new rows", count, len(self.columns), self.dtype)
            self.store[places] = self.prepared.take(missing, spare)

    def _evict(self, count: int) -> Ints:
        """Slots that are empty; then those that were used least recently."""
        size = len(self.store)
        if self.filled + count <= size:
            places = np.arange(self.filled, self.filled + count)
            self.filled += count
            return places
        self.filled = size
        places = np.sort(np.argpartition(self.last_use, count - 1)[:count])
        old = self.row_in[places]
        self.slot[old[old >= 0]] = -1
        return places

    def _accumulate(self, f: Floats, slots: Ints, change: Floats) -> None:
        if len(f) * len(slots) < 200_000:  # numbers that are added up on one thread
            add_rows(self.store, slots, change, f, 0, len(f))
            return

        def add(part: slice) -> None:
            add_rows(self.store, slots, change, f, part.start, part.stop)

        parallel_map(add, pieces(len(f), 128))  # the fewest columns of a piece


# -------------------------------------------------------------------------------------------------
# Sequential minimal optimization with working sets and shrinking, for any number of rows.
#
# A round of SMO takes a working set of the rows with the largest violation, half of them by their
# up gradient and half by their down gradient, optimizes their coefficients with all others fixed,
# and updates all gradients by one product with the kernel rows of the coefficients that changed.
#
# Most rows end at a bound, β = 0 or |β| = C, and can be recognized early. Shrinking leaves them out
# while rows near the margin are optimized; unshrinking computes all gradients again before a
# solution is accepted. Kernel values are of single precision during the search; the gradients of
# the accepted solution are of double precision.


#: Rows up to which the Gram matrix is computed at once in single precision.
WHOLE = 2500
#: Rows of a working set.
WORKING_SET = 2032
#: Iterations on a working set, per row in it; the same where all rows are one.
_ITERATIONS = 40
#: The fewest rows of the first active set.
FIRST_ROWS = 2000
#: Violation to which active sets are optimized one after the other, and the distance to the margin
#: within which rows belong to them; the last is for all that follow.
_STAGES = ((0.1, 0.5), (0.3, 0.3), (0.03, 0.15), (0.0, 0.03))


class ShrinkingSMO:
    """Rounds of shrinking, optimizing and unshrinking, with the state that they share."""

    def __init__(
        self,
        gram: GramMatrix,
        problem: SVMProblem,
        tol: float,
        budget: Budget,
        cache_size: float,
        beta: Floats,
    ) -> None:
        """``beta`` is the feasible start."""
        self.gram, self.problem = gram, problem
        self.tol, self.unit, self.budget = tol, problem.unit, budget
        self.buffers = Buffers(gram, cache_size)
        self.single = gram.single
        self.beta, self.f = beta, gram.times(beta)

    def run(self) -> DualSolution:
        """Optimize growing active sets; a solution is accepted by gradients of double precision."""
        if self.single and self.problem.n <= WHOLE:
            result = self._whole()
            if result.violation <= self.tol or self.budget.exhausted:
                return result
        active, stage = self._first_active_set(), 0
        least, stalled, last = np.inf, 0, np.inf
        while True:
            self._optimize(active, max(_STAGES[stage][0] * self.unit, 0.9 * self.tol))
            violation = self.problem.violation(self.beta, self.f)
            stalled = stalled + 1 if violation > 0.7 * least else 0
            least = min(least, violation)
            # Rounds of shrinking without a decrease after which the search ends.
            over = self.budget.exhausted or stalled >= 12
            if violation <= self.tol or over:
                self.f = self.gram.times(self.beta)
                violation = self.problem.violation(self.beta, self.f)
                if violation <= self.tol or over:
                    break
                self.single = self.single and violation < 0.5 * last
                last = violation
            stage = min(stage + 1, len(_STAGES) - 1)
            active = self._shrunk(_STAGES[stage][1] * self.unit)
        return DualSolution(self.beta, self.f, violation)

    def _whole(self) -> DualSolution:
        """SMO on all rows; where single precision is not enough, a start for the search."""
        p = self.problem
        self._at_once(np.arange(p.n), p, self.beta, self.f, 0.9 * self.tol)
        self.f = self.gram.times(self.beta)
        return DualSolution(self.beta, self.f, p.violation(self.beta, self.f))

    def _optimize(self, active: Ints, tol: float) -> None:
        """Optimize the active rows, then update the gradients of the others."""
        before = self.beta.copy()
        part = self.problem.take(active)
        beta, f = self.beta[active], self.f[active]
        # Tolerance (in units of the scores) from which on the last digits are found by Newton
        # steps.
        if tol < 1e-6 * self.unit and len(active) <= MOST_FREE:
            solve_active_set(self.gram.square(active), part, beta, f, tol, tol, self.budget)
        else:
            violation = np.inf
            if self.single and len(active) <= WHOLE:
                violation = self._at_once(active, part, beta, f, tol)
            if violation > tol:
                cache = RowCache(self.gram, active, self.buffers, self.single)
                smo_working_sets(cache, part, beta, f, tol, self.budget)
        self.beta[active], self.f[active] = beta, f
        change = self.beta - before
        changed = np.flatnonzero(change)
        shrunk = np.ones(self.problem.n, dtype=bool)
        shrunk[active] = False
        rest = np.flatnonzero(shrunk)
        self.f[rest] += self.gram.product(rest, changed, change[changed], self.single)

    def _at_once(
        self, active: Ints, part: SVMProblem, beta: Floats, f: Floats, tol: float
    ) -> float:
        """SMO on all active rows; the violation that is left."""
        gram = self.buffers.block("rows", len(active), len(active), np.float32)
        self.gram.prepare(active, single=True).gram(gram)
        limit = min(_ITERATIONS * len(active), self.budget.remaining)
        data = (gram, self.gram.diagonal[active], part.t, part.low, part.high, part.epsilon)
        count, least, most = smo(*data, beta, f, tol, limit)
        self.budget.n_iter += count
        return most - least

    def _first_active_set(self) -> Ints:
        """Some rows in random order, and all support vectors of the start."""
        n = self.problem.n
        count = max(FIRST_ROWS, int(0.2 * n))
        if count >= n // 2:
            return np.arange(n)
        chosen = self.beta != 0.0
        chosen[np.random.default_rng(0).permutation(n)[:count]] = True
        return np.flatnonzero(chosen)

    def _shrunk(self, width: float) -> Ints:
        """The active set: rows that violate optimality, or would within ``width`` of b."""
        middle = -self.problem.best_intercept(self.beta, self.f)
        up = self.problem.up_gradient(self.beta, self.f)
        down = self.problem.down_gradient(self.beta, self.f)
        active = (up < middle + width) | (down > middle - width)
        active[[int(up.argmin()), int(down.argmax())]] = True  # the worst pair in any case
        return np.flatnonzero(active)


def smo_working_sets(
    cache: RowCache,
    problem: SVMProblem,
    beta: Floats,
    f: Floats,
    tol: float,
    budget: Budget,
) -> float:
    """SMO on working sets until the violation is at most ``tol``; returns what is left.

    β and f change in place.
    """
    violation, stuck = np.inf, 0
    reduction = 0.3  # a working set is optimized to this fraction of the violation it starts from
    while not budget.exhausted:
        up, down = problem.up_gradient(beta, f), problem.down_gradient(beta, f)
        before, violation = violation, max(float(down.max() - up.min()), 0.0)
        if violation <= tol:
            break
        stuck = stuck + 1 if violation >= before else 0
        chosen = widest(up, down, WORKING_SET)
        gram = cache.square(chosen)
        part = problem.take(chosen)
        beta_here, gradient = beta[chosen], f[chosen]
        target = max(0.5 * tol, reduction * violation / (1 + stuck))
        limit = min(_ITERATIONS * len(chosen), budget.remaining)
        diagonal = cache.gram.diagonal[cache.columns[chosen]]
        data = (gram, diagonal, part.t, part.low, part.high, part.epsilon, beta_here, gradient)
        count, *_ = smo(*data, target, limit)
        # Iterations that are worth the Gram matrix of a working set.
        while count < 300 and target > tol:  # few rows stand out: the next ones, too
            target = max(0.5 * tol, reduction * target)
            more, *_ = smo(*data, target, limit - count)
            count += more
        change = beta_here - beta[chosen]
        changed = change != 0.0
        if not changed.any():
            break
        cache.add_to(f, chosen[changed], change[changed])
        beta[chosen] = beta_here
        budget.n_iter += count
    return violation


def widest(up: Floats, down: Floats, size: int) -> Ints:
    """The rows of least up and of greatest down gradient, in equal number; a row may be both."""
    half = size // 2
    if len(up) <= size:
        return np.arange(len(up))
    chosen = np.zeros(len(up), dtype=bool)
    chosen[np.argpartition(up, half)[:half]] = True
    chosen[np.argpartition(down, len(down) - half)[len(down) - half :]] = True
    return np.flatnonzero(chosen)


# -------------------------------------------------------------------------------------------------
# Active-set Newton steps for the dual: the exact solution on the free support vectors.
#
#     [K_FF  1] [d]   [t − ε sign β − f]
#     [1ᵀ    0] [b] = [       0        ]        F: free support vectors, low < β < high
#
# SMO converges slowly where rows are nearly dependent. A Newton step goes straight to the point
# where all rows of F lie on the margin, or to the first bound on the way there, which takes a row
# out of F. Both kinds of steps lower the objective, so that they alternate without cycling.


#: Free support vectors up to which the system is solved.
MOST_FREE = 4000


@dataclass
class DualSolution:
    """Coefficients β, f = Kβ in double precision, and the violation that is left."""

    beta: Floats
    f: Floats
    violation: float


def solve_active_set(
    gram: Floats,
    problem: SVMProblem,
    beta: Floats,
    f: Floats,
    tol: float,
    fine: float,
    budget: Budget,
) -> float:
    """SMO and Newton steps in turn until the violation is at most ``tol``, if possible ``fine``.

    β and f change in place; f may include a constant part from other rows. The violation that is
    left is returned.
    """
    constant = f - gram @ beta
    p, diagonal = problem, np.ascontiguousarray(np.diag(gram), dtype=float)
    # f is of double precision and computed again after every round: SMO may round K until it stalls
    rounded = gram.astype(np.float32) if _is_of_single_range(diagonal) else gram
    # Rounds spent on digits beyond the tolerance.
    violation, extra, stalled = problem.violation(beta, f), 10, 0
    # Rounds without a clear decrease of the violation after which no more systems are solved.
    stalled_steps = 4
    while violation > fine and extra and not budget.exhausted:
        limit = min(5 * problem.n + 1000, budget.remaining)
        goal = fine if violation <= tol else max(fine, 0.1 * tol)
        count, *_ = smo(rounded, diagonal, p.t, p.low, p.high, p.epsilon, beta, f, goal, limit)
        budget.n_iter += max(count, 1)
        moved = stalled < stalled_steps and _newton_steps(gram, problem, beta, constant, budget)
        f[:] = gram @ beta + constant
        before, violation = violation, problem.violation(beta, f)
        stalled = stalled + 1 if violation > 0.5 * before else 0
        if violation <= tol:
            extra = 0 if stalled >= stalled_steps else extra - 1
        stuck = not moved and count == 0 and violation >= before
        if rounded is not gram and violation > tol and (stuck or stalled):
            rounded, stalled = gram, 0
        elif stuck:
            break
    return violation


def _is_of_single_range(diagonal: Floats) -> bool:
    """Whether kernel values of this size have their digits in single precision, too."""
    size = float(np.abs(diagonal).max(initial=0.0))
    # Kernel values between which SMO reads them in single precision.
    return 1e-20 < size < 1e20


def newton_rounds(size: int) -> int:
    """How many systems of this size one round may solve."""
    # Multiplications for the systems of one round, and the most steps.
    return int(np.clip(1e9 / size**3, 2, 150))


def _newton_steps(
    gram: Floats, problem: SVMProblem, beta: Floats, constant: Floats, budget: Budget
) -> bool:
    """Newton steps, each of which may put coefficients on bounds; whether any was taken."""
    moved, full = False, 0
    size = max(int(problem.free(beta).sum()), 1)
    for _ in range(newton_rounds(size)):
        free = np.flatnonzero(problem.free(beta))
        if not 2 <= len(free) <= MOST_FREE or budget.exhausted:
            return moved
        step = _newton(gram, problem, beta, constant, free)
        if step is None:
            return moved
        moved = True
        if not step_to_bound(problem, beta, free, step):
            full += 1
            # Full Newton steps in a row.
            if full == 3:  # the ridge shortens each step a little
                break
    return moved


def _newton(
    gram: Floats, problem: SVMProblem, beta: Floats, constant: Floats, free: Ints
) -> Floats | None:
    """d of the system above; None where nothing decreases, or K_FF is not positive definite."""
    matrix = gram[np.ix_(free, free)].astype(float)
    # Added to the diagonal, relative to it: directions of zero curvature lead to a bound.
    matrix[np.diag_indices_from(matrix)] *= 1.0 + 1e-9
    matrix[np.diag_indices_from(matrix)] += np.finfo(float).tiny
    residual = problem.t[free] - problem.epsilon * np.sign(beta[free])
    residual -= gram[free] @ beta + constant[free]
    try:
        factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    both = linalg.cho_solve(factor, np.column_stack([residual, np.ones(len(free))]))
    total = both[:, 1].sum()
    if not np.isfinite(both).all() or not total > 0.0:
        return None
    step = both[:, 0] - both[:, 0].sum() / total * both[:, 1]
    step -= step.mean()  # rounding must not change the sum
    decrease = float(step @ residual)
    # The relative decrease that counts as none.
    return step if decrease > 1e-18 * float(np.abs(problem.t) @ np.abs(beta)) else None


def step_to_bound(problem: SVMProblem, beta: Floats, free: Ints, step: Floats) -> bool:
    """β + s d with the largest feasible s ≤ 1; whether a bound was reached."""
    here, low, high = beta[free], problem.low[free], problem.high[free]
    if problem.epsilon > 0.0:  # the derivative jumps at zero
        low, high = np.where(here > 0, 0.0, low), np.where(here < 0, 0.0, high)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(
            step > 0, (high - here) / step, np.where(step < 0, (low - here) / step, np.inf)
        )
    length = float(min(1.0, room.min()))
    there = np.clip(here + length * step, low, high)
    reached = room <= length
    if reached.any():
        there[reached] = np.where(step > 0, high, low)[reached]
    beta[free] = there
    return bool(reached.any())
