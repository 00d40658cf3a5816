"""Newton's method and preconditioned L-BFGS for logistic regression without an ℓ₁ penalty.

    θ ← θ − t H⁻¹ ∇F(θ),      t by backtracking

Newton's method is used where the Hessian is cheap compared with reading the rows: a handful of
passes suffice, and the first steps are taken on a sample of rows, so that full passes start near
the optimum. Otherwise (many classes, many columns) the Hessian of a sample preconditions L-BFGS.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats
from separatrix.logistic.problem import (
    LogisticOptions,
    LogisticProblem,
    LossEvaluation,
    Separation,
    quasi_separation,
    separation_by_linear_program,
    verified_separation,
)
from separatrix.optimize.convex import Status
from separatrix.optimize.newton import LimitedMemory, LinearSolver, backtrack, cholesky_solver
from separatrix.rows.rows import ArrayRows, InMemory

#: Parameters up to which Newton's method is used, for one score and for several.
NEWTON_BINARY, NEWTON_MULTICLASS = 600, 120
#: Parameters up to which the Hessian of a sample is a full matrix; beyond, block diagonal.
MAX_FULL = 2500


@dataclass(frozen=True)
class DescentResult:
    """Where a descent ended: ``theta``, and the last ``step`` still to be subtracted from it.

    ``passes`` counts passes over the rows; ``history`` is F after each.
    """

    theta: Floats
    step: Floats
    status: Status
    passes: int
    history: Floats
    hessian: Floats | None = None
    separation: Separation | None = None


def minimize_smooth(
    problem: LogisticProblem, start: Floats, options: LogisticOptions
) -> DescentResult:
    """Minimize F (without ℓ₁ part) from ``start``."""
    width, k = problem.shape
    exact = width * k <= (NEWTON_BINARY if k == 1 else NEWTON_MULTICLASS) or _few_rows(problem)
    if not exact:
        return _descend(problem, start, options, _LBFGS(problem, start))
    return newton(problem, _sample_steps(problem, start), options)


def newton(problem: LogisticProblem, start: Floats, options: LogisticOptions) -> DescentResult:
    """Newton's method with the Hessian of all rows."""
    return _descend(problem, start, options, _Newton(problem))


def has_costly_hessian(problem: LogisticProblem) -> bool:
    """Whether a Hessian costs so much that many cheaper passes before it pay.

    Only of dense rows in memory, and without penalty: with one few steps suffice.
    """
    if problem.ridge.any() or not isinstance(problem.rows, ArrayRows):
        return False
    x, parameters = problem.rows.block.x, problem.shape[0] * problem.shape[1]
    if problem.design.rotation is not None or sparse.issparse(x) or parameters > MAX_FULL:
        return False
    # Multiplications of a Hessian from which a point near the minimum is sought first.
    return bool(x.shape[0] * parameters**2 >= 1e8)


def _few_rows(problem: LogisticProblem) -> bool:
    """Whether all rows together cost no more than a sample would."""
    parameters, rows = problem.shape[0] * problem.shape[1], problem.rows
    if parameters > MAX_FULL or not isinstance(rows, InMemory):
        return False
    return len(rows) <= sample_size(parameters)


def _sample_steps(problem: LogisticProblem, start: Floats) -> Floats:
    """A few Newton steps on a sample, with a proximal term ½ρ‖θ − start‖² for what it lacks."""
    sample = problem.subsample(max(20_000, 40 * start.size), times=3.0)
    if sample is None:
        return start
    rho = 1e-4 * sample.weight
    sample = replace(sample, ridge=sample.ridge + rho)
    theta = start
    best = np.inf
    for _ in range(8):
        at = sample.hessian(theta)
        value = at.value - rho * float(np.sum(theta * start))
        if not value < best:
            break
        best = value
        assert at.hessian is not None
        step = hessian_solver(at.hessian, sample)(at.gradient - rho * start)
        theta = theta - step
        if float(np.abs(step).max(initial=0.0)) < 1e-3:
            break
    return theta if np.isfinite(theta).all() else start


# -- solvers with the Hessian, exact or of a sample of rows ------------------------------------


def sample_size(parameters: int) -> int:
    """Rows whose Hessian is cheap enough."""
    # Multiplications that the Hessian of a sample may cost.
    return int(max(2e9 / max(parameters, 1) ** 2, 2000))


def hessian_solver(hessian: Floats, problem: LogisticProblem) -> LinearSolver:
    """g ↦ H⁻¹g. A common shift of all scores, which changes nothing, is given a curvature."""
    width, k = problem.shape
    solve = flat_solver(hessian, problem)
    return lambda g: np.asarray(solve(g.T.ravel()).reshape(k, width).T)


def flat_solver(hessian: Floats, problem: LogisticProblem) -> LinearSolver:
    """The same for vectors over (score, column), or several of them as columns."""
    return cholesky_solver(with_shift(hessian, problem))


def with_shift(hessian: Floats, problem: LogisticProblem) -> Floats:
    """The Hessian, with a curvature along common shifts of all scores."""
    width, k = problem.shape
    full = hessian.copy()
    if k > 1:
        by_column, shift = full.reshape(k, width, k, width), np.arange(width)
        diagonal = np.diag(full).reshape(k, width).mean(axis=0)
        by_column[:, shift, :, shift] += diagonal[:, None, None] / k
    return full


def sampled_solver(problem: LogisticProblem, theta: Floats) -> LinearSolver:
    """g ↦ H⁻¹g with H at θ from a sample of rows: full, block diagonal, or an upper bound."""
    width, k = problem.shape
    small = width * k <= MAX_FULL
    size = sample_size(width * k if small else width)
    sample = problem.subsample(size) or problem.head(size)
    ratio = problem.weight / sample.weight
    if small:
        hessian = sample.hessian(theta).hessian
        assert hessian is not None
        return hessian_solver(hessian * ratio, problem)
    if width > MAX_FULL:
        bound = 0.25 * problem.weight + problem.ridge
        return lambda g: g / bound[:, None]
    solvers = [cholesky_solver(block * ratio) for block in sample.hessian_blocks(theta)]
    return lambda g: np.column_stack([solve(g[:, j]) for j, solve in enumerate(solvers)])


# -- two methods for the direction -------------------------------------------------------------


class _Newton:
    """Directions H⁻¹∇F with the Hessian of all rows, computed anew in every pass."""

    step_tolerance = 1e-6  # convergence is quadratic: after such a step the error is negligible
    gradient_tolerance = 0.5

    def __init__(self, problem: LogisticProblem) -> None:
        self.problem = problem
        self.hessian: Floats | None = None

    def evaluate(self, theta: Floats) -> LossEvaluation:
        return self.problem.hessian(theta)

    def direction(self, loss_evaluation: LossEvaluation) -> Floats:
        assert loss_evaluation.hessian is not None
        self.hessian = loss_evaluation.hessian
        return hessian_solver(loss_evaluation.hessian, self.problem)(loss_evaluation.gradient)

    def damped_direction(self, loss_evaluation: LossEvaluation, damping: float) -> Floats:
        """(H + δI)⁻¹∇F, for points where the Hessian nearly vanishes (Levenberg)."""
        assert loss_evaluation.hessian is not None
        ridge = (
            damping
            * size_of(self.problem, loss_evaluation.value)
            * np.eye(len(loss_evaluation.hessian))
        )
        return hessian_solver(loss_evaluation.hessian + ridge, self.problem)(
            loss_evaluation.gradient
        )

    def update(self, theta: Floats, step: Floats, change: Floats) -> None:
        """Nothing is stored: the next pass computes the Hessian."""


class _LBFGS:
    """L-BFGS directions, preconditioned by the Hessian of a sample at an earlier point."""

    step_tolerance = 0.0
    gradient_tolerance = 0.05  # the last step leaves a part of the gradient, and of the gap
    hessian: Floats | None = None

    def __init__(self, problem: LogisticProblem, theta: Floats) -> None:
        self.problem = problem
        self.solve = sampled_solver(problem, theta)
        self.memory, self.age = LimitedMemory(), 0

    def evaluate(self, theta: Floats) -> LossEvaluation:
        return self.problem.gradient(theta)

    def direction(self, loss_evaluation: LossEvaluation) -> Floats:
        return self.memory.direction(loss_evaluation.gradient, self.solve)

    def damped_direction(self, loss_evaluation: LossEvaluation, damping: float) -> Floats:
        """A direction by an upper bound of the Hessian; the stored pairs are dropped."""
        size = size_of(self.problem, loss_evaluation.value)
        bound = 0.25 * size + self.problem.ridge[:, None]
        self.solve = lambda g: g / bound
        self.memory.clear()
        return np.asarray(loss_evaluation.gradient / (bound + damping * size))

    def update(self, theta: Floats, step: Floats, change: Floats) -> None:
        """Store a step; a preconditioner that took many is computed anew where it got to."""
        self.age += 1
        # Steps of L-BFGS after which the Hessian of the sample is computed again.
        if self.age >= 12 and theta.size <= MAX_FULL:
            self.solve, self.age = sampled_solver(self.problem, theta), 0
            self.memory.clear()
            return
        self.memory.add(step, change)


def size_of(problem: LogisticProblem, value: float) -> float:
    """What gradients and curvatures are compared with where F is ``value``.

    In standardized columns both are about Σ w at the start, and vanish with F where the classes
    are nearly separable.
    """
    return min(problem.weight, max(value, float(np.finfo(float).tiny)))


# -- the descent -------------------------------------------------------------------------------


def _descend(
    problem: LogisticProblem, theta: Floats, options: LogisticOptions, method: _Newton | _LBFGS
) -> DescentResult:
    """Steps with backtracking until the gradient vanishes, or the classes prove separable."""
    at = method.evaluate(theta)
    history = [at.value]
    unpenalized = not problem.ridge.any()
    while True:
        step = method.direction(at)
        tolerance = options.tol * size_of(problem, at.value)
        converged = _has_converged(at, step, theta, tolerance, method)
        new, separation = None, None
        if unpenalized:
            if at.margin > 0.0:
                separation = verified_separation(problem, theta)
            elif not converged and len(history) in (12, 16, 24, 40, 80, 160):
                # Passes after which a fit without penalty that has not converged is checked for
                # separation.
                separation = quasi_separation(problem, theta, step)
        if separation is None and not converged and len(history) <= options.max_iter:
            new = _next(method, theta, step, at, tolerance)
        if new is None:
            if unpenalized and separation is None and (not converged or _flat(problem, method)):
                separation = separation_by_linear_program(problem)
            stopped = Status.LIMIT if len(history) > options.max_iter else Status.ROUNDING
            status = Status.SOLVED if converged else stopped
            return DescentResult(
                theta,
                step if converged else np.zeros_like(step),
                status if separation is None else Status.SEPARABLE,
                len(history),
                np.array(history),
                method.hessian,
                separation,
            )
        there, evaluation = new
        method.update(there, there - theta, evaluation.gradient - at.gradient)
        theta, at = there, evaluation
        history.append(at.value)


def _flat(problem: LogisticProblem, method: _Newton | _LBFGS) -> bool:
    """Whether the Hessian shows no curvature in some direction, as where probabilities are 0 or 1.

    Columns are independent where there is no penalty: nothing else leaves it singular.
    """
    if method.hessian is None:
        return False
    hessian = with_shift(method.hessian, problem)
    unit = np.sqrt(np.maximum(np.diag(hessian), float(np.finfo(float).tiny)))
    # Eigenvalue of a Hessian of unit diagonal below which a direction may have no curvature.
    return float(np.linalg.eigvalsh(hessian / np.outer(unit, unit))[0]) < 1e-10


def _has_converged(
    loss_evaluation: LossEvaluation,
    step: Floats,
    theta: Floats,
    tolerance: float,
    method: _Newton | _LBFGS,
) -> bool:
    length = float(np.abs(step).max(initial=0.0))
    size = 1.0 + float(np.abs(theta).max(initial=0))
    largest = float(np.abs(loss_evaluation.gradient).max(initial=0.0))
    stationary = largest <= method.gradient_tolerance * tolerance
    return length <= method.step_tolerance * size or (stationary and length <= 1e-5 * size)


def _next(
    method: _Newton | _LBFGS,
    theta: Floats,
    step: Floats,
    loss_evaluation: LossEvaluation,
    tolerance: float,
) -> tuple[Floats, LossEvaluation] | None:
    """A step by backtracking, or a damped one where scores are so large that H nearly vanishes."""
    new = _backtrack(method, theta, step, loss_evaluation)
    for damping in (1e-6, 1e-4, 1e-2, 1.0, 100.0):
        if new is not None or float(np.abs(loss_evaluation.gradient).max(initial=0.0)) <= tolerance:
            break
        new = _backtrack(
            method, theta, method.damped_direction(loss_evaluation, damping), loss_evaluation
        )
    return new


def _backtrack(
    method: _Newton | _LBFGS, theta: Floats, step: Floats, loss_evaluation: LossEvaluation
) -> tuple[Floats, LossEvaluation] | None:
    """The step, halved until F decreases enough; None where rounding hides any decrease.

    Far from a minimum it is doubled; without penalty that far is where separable classes have none,
    which shows at once.
    """
    steepest = 0.9 * np.abs(loss_evaluation.gradient).max(initial=0.0)
    found = backtrack(
        lambda t: method.evaluate(theta - t * step),
        loss_evaluation.value,
        -float(np.sum(loss_evaluation.gradient * step)),
        equal=lambda _, there: float(np.abs(there.gradient).max(initial=0.0)) < steepest,
        longer=bool(method.problem.ridge.any()),
    )
    return None if found is None else (theta - found[0] * step, found[1])
