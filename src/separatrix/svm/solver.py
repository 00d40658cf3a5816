"""Fit one binary SVM: choose the solver, solve, certify.

- linear: :mod:`separatrix.svm.primal`;
- any kernel: the dual, by SMO and Newton steps on the whole Gram matrix, or for many rows by SMO
  with working sets and shrinking. The linear kernel of few columns is first tried in the primal,
  where thousands of rows share a handful of unknowns.

A hard margin (C = ∞) is solved with a bound that no coefficient reaches, and refused with a proof
where the classes are not separable.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from separatrix.geometry.common_point import CommonPoint
from separatrix.geometry.separation_proof import Undecided, separation_proof
from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate, Status
from separatrix.rows.block import Floats, Ints
from separatrix.svm.certificate import (
    KERNEL_CLAIM,
    badness,
    certify_kernel_svm,
    certify_linear_svm,
    is_better,
)
from separatrix.svm.dual.active_set import DualSolution, solve_active_set
from separatrix.svm.dual.gram_matrix import GramMatrix
from separatrix.svm.dual.smo import ShrinkingSMO
from separatrix.svm.primal.active_set import LinearSolution
from separatrix.svm.primal.solver import divided, few_columns, solve_linear
from separatrix.svm.problem import (
    Budget,
    LinearProblem,
    SolverOptions,
    SVMProblem,
    clearing_factor,
    linear_problem,
    score_rounding,
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
#: Fraction of the costs that is moderate down to which interior points are tried with all at once.
_STEEP = 1e-5
#: C κ(x, x), in units of the scores, from which on sums of β κ have lost the scores.
_LOST = 2e10
#: What rounding of the scores may cost, relative to the objective, before the margin moves.
_NEGLIGIBLE = 1e-9
#: Relative gap of a problem of so few rows, where rounding allows it.
_EXACT = 1e-6
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
    tolerance = max(options.tol, 1e-9)
    found = _best_hyperplane(problem, bounded, options.tol, budget, tolerance, claim)
    return _linear_record(problem, found, rows, budget.n_iter, str(found.status))


@dataclass(frozen=True)
class _Hyperplane:
    """w, b and β of a linear problem, with their certificate."""

    w: Floats
    b: float
    beta: Floats
    certificate: Certificate
    status: Status


def _linear_record(
    problem: LinearProblem, found: _Hyperplane, rows: Ints, n_iter: int, status: str
) -> BinarySVM:
    return BinarySVM(
        rows,
        found.beta,
        problem.cost,
        problem.slack(problem.scores(found.w, found.b)),
        found.b,
        float(problem.ridge @ found.w**2),
        found.certificate,
        n_iter,
        status,
        found.w,
    )


def _best_hyperplane(
    problem: LinearProblem,
    bounded: LinearProblem,
    tol: float,
    budget: Budget,
    tolerance: float,
    claim: str,
) -> _Hyperplane:
    """The hyperplane of least gap; ``bounded`` is the problem with finite costs.

    Costs of one fraction after the other are tried until the relative gap is at most ``tol``.
    """
    best, before, last = None, None, 0.0
    fractions = bounded.cost_stages(_largest_square(bounded))
    if fractions[0] > _STEEP:
        fractions = [1.0, *fractions[:-1]]
    for fraction in fractions:
        part = bounded.with_cost(fraction) if fraction < 1.0 else bounded
        found = _solve_inside(bounded, part, tol, budget)
        beta = part.snapped(part.combine(found.alpha))
        duals = [beta]
        if before is not None:
            duals.append(bounded.extrapolated(beta, fraction, before, last))
        for dual in duals:
            proof = certify_linear_svm(
                problem, found.w, found.b, dual, tolerance=tolerance, claim=claim
            )
            if best is None or is_better(proof, best.certificate):
                best = _Hyperplane(found.w, found.b, dual, proof, found.status)
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
    found = solve_linear(part, tol, budget)
    noise = problem.score_rounding(found.w, found.b)
    risk, value = float(problem.cost @ noise), problem.objective(found.w, found.b)
    if risk <= _NEGLIGIBLE * value:
        return found
    if problem.regression:
        epsilon = max(problem.epsilon - 2.0 * float(noise.max()), 0.0)
        return solve_linear(replace(part, epsilon=epsilon), tol, budget)
    factor = clearing_factor(problem.t * problem.scores(found.w, found.b), problem.cost, noise)
    moved = problem.objective(factor * found.w, factor * found.b)
    return replace(found, w=factor * found.w, b=factor * found.b) if moved < value + risk else found


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
    found = _best_expansion(gram, problem, options, budget, classes)
    return BinarySVM(
        rows,
        found.beta,
        problem.cost,
        problem.slack(found.f + found.b),
        found.b,
        float(found.beta @ found.f),
        found.certificate,
        budget.n_iter,
        str(Status.SOLVED if found.solved else budget.status),
    )


def _clear_expansion(
    gram: GramMatrix,
    problem: LinearProblem,
    bounded: LinearProblem,
    found: _Hyperplane,
    tolerance: float,
) -> _Hyperplane:
    """w = Xᵀβ with β clear of rounding, where that has the same objective.

    Predictions by Σ β κ(x, ·) are then as good as those by w·x + b.
    """
    if problem.regression:
        return found
    beta, w = found.beta, problem.gradient(found.beta)
    noise = score_rounding(gram.diagonal, beta, found.b)
    z = problem.t * problem.scores(w, found.b)
    risk = float(bounded.cost @ np.maximum(1.0 + noise - z, 0.0))
    risk -= float(bounded.cost @ np.maximum(1.0 - z, 0.0))
    factor = clearing_factor(z, bounded.cost, noise)
    negligible = risk <= _NEGLIGIBLE * found.certificate.primal
    if negligible or not (factor * np.abs(beta) <= problem.cost).all():
        return found
    w, b, beta = factor * w, factor * found.b, factor * beta
    proof = certify_linear_svm(problem, w, b, beta, tolerance=tolerance, claim=KERNEL_CLAIM)
    if proof.primal > found.certificate.primal * (1.0 + _NEGLIGIBLE) or not proof.holds:
        return found
    return _Hyperplane(w, b, beta, proof, found.status)


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
    found = _best_hyperplane(linear, bounded, _GAP, steps, options.tol, KERNEL_CLAIM)
    found = _clear_expansion(gram, linear, bounded, found, options.tol)
    budget.n_iter += steps.n_iter
    if not found.certificate.holds and not budget.out_of_time:
        return None
    status = Status.SOLVED if found.certificate.holds else budget.status
    return _linear_record(linear, found, rows, budget.n_iter, str(status))


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
        bounded = problem.capped(1.0 / (_NARROW**2 * max(largest, 1e-300)))
    tol = options.tol if problem.n > DIRECT else min(options.tol, _EXACT)
    best, before, last, start = None, None, 0.0, None
    fractions = bounded.cost_stages(largest) if gram.mercer else [1.0]
    steepest = _LOST * problem.unit / (largest * float(bounded.cost.max(initial=0.0)) or 1.0)
    fractions = [fraction for fraction in fractions if fraction <= steepest] or fractions[:1]
    for fraction, following in zip(fractions, [*fractions[1:], 1.0], strict=True):
        part = bounded.with_cost(fraction) if fraction < 1.0 else bounded
        steps = replace(budget, max_iter=budget.n_iter + -(-budget.remaining // 2))
        steps = steps if fraction < 1.0 else budget
        found = _solve_clear_of_epsilon(gram, bounded, part, options, steps, start)
        budget.n_iter = max(budget.n_iter, steps.n_iter)
        solved = found.violation <= options.tol * problem.unit
        points = [(found.beta, found.f)]
        if before is not None:
            beta = bounded.extrapolated(found.beta, fraction, before, last)
            points.append((beta, gram.times(beta)))
        for beta, f in points:
            new = _clear_of_rounding(gram, problem, bounded, beta, f, options.tol, solved)
            if best is None or new.better_than(best):
                best = new
        assert best is not None
        proof = best.certificate
        if gram.mercer and np.isfinite(proof.gap) and proof.gap <= tol * proof.primal:
            break
        if problem.hard and fraction == 1.0 and (np.abs(found.beta) >= 0.999 * bounded.cost).any():
            raise _not_separable(gram, problem, found, classes)
        if budget.exhausted:
            break
        start = found.beta
        if before is not None:
            start = bounded.extrapolated(found.beta, fraction, before, last, following)
        before, last = found.beta, fraction
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
    found = solve_dual(gram, part, options, budget, start)
    if not problem.regression or not gram.mercer:
        return found
    b = part.best_intercept(found.beta, found.f)
    noise = score_rounding(gram.diagonal, found.beta, b) + np.finfo(float).eps * np.abs(problem.t)
    value, risk = _value(problem, found.beta, found.f, b, noise)
    if risk <= _NEGLIGIBLE * value or not problem.epsilon:
        return found
    size = problem.unit + float(np.abs(problem.t).max(initial=0.0))
    clear = 2.0 * (float(noise.max()) + max(found.violation, _ROUNDING * size))
    narrow = replace(part, epsilon=max(problem.epsilon - clear, 0.0))
    inside = solve_dual(gram, narrow, options, budget, found.beta)
    b = part.best_intercept(inside.beta, inside.f)
    lower = sum(_value(problem, inside.beta, inside.f, b, noise)) < value + risk
    return inside if lower else found


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
