"""Newton's method for squared hinges and squared ε-insensitive errors with an ℓ₂ penalty.

    min over θ of ½ θᵀPθ + Σ c e(θ)²

is quadratic as long as no row begins or ceases to cost something. A Newton step solves the least
squares problem of the rows that cost something now; a line search along it, exact because its
derivative is piecewise linear, makes every step a descent. When the set of rows repeats itself the
minimum is found, up to rounding: about ten steps, however many rows there are. Between two steps
only rows that changed sides enter or leave the Hessian.

- few columns: Cholesky factors of the Hessian;
- fewer rows than columns: the same in the space that the rows span;
- many rows and columns: the dual, by coordinate descent and conjugate gradients; with far more rows
  than columns, conjugate gradients on products with the rows.

References
----------
S. S. Keerthi and D. DeCoste, A modified finite Newton method for fast solution of large scale
linear SVMs, Journal of Machine Learning Research 6, 2005.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, cg

from separatrix.arrays import Floats, Ints, Matrix, NDArray
from separatrix.matrices.cholesky import cholesky_factor, cholesky_solve
from separatrix.matrices.loops import add_centered_squares
from separatrix.optimize.convex import ElasticNetPenalty, Status
from separatrix.optimize.linear_paths import RidgeRows
from separatrix.optimize.loops import sweep
from separatrix.optimize.newton import LinearSolver, backtrack, cholesky_solver
from separatrix.svm.linear_dual import dual_of_squares, solve_dual
from separatrix.svm.loops import minimize_squares, step_of_squares
from separatrix.svm.problem import SMALL, STEPS, Budget, SquaredProblem
from separatrix.svm.solver import DIRECT, divide_rows

#: Coefficients up to which the Hessian is a matrix, of dense and of sparse rows.
DENSE, SPARSE = 1_500, 500


@dataclass(frozen=True)
class SquaredSolution:
    """The coefficients θ (the last is the intercept, for centered rows) and how they were found."""

    theta: Floats
    status: Status
    beta: Floats | None = None  # dual coefficients, where the dual was solved


class Direction(Protocol):
    """Solves (P + Σ 2c z zᵀ) δ = r, the sum being over the active rows."""

    def __call__(self, active: NDArray[np.bool_], right: Floats, accuracy: float) -> Floats:
        """Delta."""


def solve_squared(problem: SquaredProblem, tol: float, budget: Budget) -> SquaredSolution:
    """The minimum, with a relative gap of at most ``tol`` where it is not exact up to rounding."""
    unit = 1.0
    if problem.epsilon is not None:
        unit = float(np.sqrt(np.average(problem.t**2, weights=problem.cost))) or 1.0
    scaled = problem.rescale(unit)
    if problem.size > problem.n and problem.n <= DIRECT:
        squared_solution = _solve_in_span(scaled, tol, budget)
    else:
        squared_solution = _solve_columns(scaled, tol, budget)
    beta = None if squared_solution.beta is None else unit * squared_solution.beta
    return replace(squared_solution, theta=unit * squared_solution.theta, beta=beta)


def _solve_columns(problem: SquaredProblem, tol: float, budget: Budget) -> SquaredSolution:
    if sparse.issparse(problem.x):
        small = problem.size <= SPARSE
    else:
        small = problem.size <= DENSE or (problem.size <= 2 * DENSE and problem.n <= 20_000)
    # Rows for each coefficient up to which the dual of many coefficients is solved.
    if not small and problem.n <= 2 * problem.size:
        return _solve_by_rows(problem, tol, budget)
    dense, small_work = not sparse.issparse(problem.x), problem.n * problem.size**2 <= SMALL
    if dense and small_work and not budget.exhausted:
        theta, most = np.zeros(problem.size), min(budget.remaining, 1000)
        epsilon = -1.0 if problem.epsilon is None else problem.epsilon
        z = problem.x - problem.center
        z = np.column_stack([z, np.ones(len(z))]) if problem.intercept else z
        rows = (np.ascontiguousarray(z), np.asarray(problem.t, float), problem.cost)
        count = minimize_squares(*rows, problem.penalty.l2, epsilon, theta, most)
        if count >= 0:
            budget.n_iter += count
            return SquaredSolution(theta, Status.SOLVED)
    direction: Direction = Hessian(problem) if small else ConjugateGradients(problem)
    return _iterate(problem, direction, tol, budget)


def _solve_by_rows(problem: SquaredProblem, tol: float, budget: Budget) -> SquaredSolution:
    """The dual of all rows, with w = Xᵀβ; every one of its steps is a fraction of a Newton step."""
    d = problem.x.shape[1]
    root = np.sqrt(problem.penalty.l2[:d])
    steps = Budget(STEPS * budget.remaining, budget.deadline)
    solution = solve_dual(dual_of_squares(problem, root), tol, steps)
    budget.n_iter += -(-steps.n_iter // STEPS)
    w = solution.w / root
    b = [solution.b + float(problem.center @ w)] if problem.intercept else []
    return SquaredSolution(np.append(w, b), solution.status, solution.beta)


def _iterate(
    problem: SquaredProblem, direction: Direction, tol: float, budget: Budget
) -> SquaredSolution:
    """Newton steps until a full step leaves the active rows as they are, or nothing improves."""
    theta, penalty = np.zeros(problem.size), problem.penalty
    scores = problem.scores(theta)
    excess = problem.excess(scores)
    before, settled, repeated = np.inf, False, False
    while True:
        value = problem.value(theta, excess)
        gradient = penalty.l2 * theta - problem.pull(2.0 * problem.cost * excess)
        if settled or value == 0.0:
            status = Status.SOLVED
            break
        if budget.exhausted:
            status = budget.status
            break
        active = excess != 0.0
        gap = _gap(penalty, gradient)
        size = float(np.sqrt(gap / value)) if np.isfinite(gap) else 1.0
        delta = direction(active, -gradient, size)
        budget.n_iter += 1
        along = problem.scores(delta)
        step = _line_search(problem, scores, along, theta, delta)
        theta = theta + step * delta
        scores = problem.scores(theta)
        excess = problem.excess(scores)
        same = bool(np.array_equal(active, excess != 0.0))
        if isinstance(direction, ConjugateGradients):
            settled = gap <= 1e-3 * tol * value
        else:
            settled = same and repeated
            repeated = same
        now = problem.value(theta, excess)
        if not now < value and before <= value:
            settled = True  # rounding prevents more
        before = value
    return SquaredSolution(theta, status)


def _gap(penalty: ElasticNetPenalty, gradient: Floats) -> float:
    """½ Σ g²/ρ, the duality gap at β = 2ce; infinite where a free intercept is out of balance."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(gradient == 0.0, 0.0, 0.5 * gradient**2 / penalty.l2)
    return float(terms.sum())


def _line_search(
    problem: SquaredProblem, scores: Floats, along: Floats, theta: Floats, delta: Floats
) -> float:
    """The step of least objective."""
    ridge, epsilon = problem.penalty.l2, -1.0 if problem.epsilon is None else problem.epsilon
    linear, square = float((ridge * theta) @ delta), float(ridge @ delta**2)
    rows = (np.ascontiguousarray(values) for values in (scores, along, problem.t, problem.cost))
    return float(step_of_squares(*rows, epsilon, linear, square))


def column_squares(x: Matrix, weight: Floats) -> Floats:
    """Σ weight x² of every column."""
    if not sparse.issparse(x):
        return np.asarray(weight @ x**2)
    squares, none = np.zeros(x.shape[1]), np.zeros(x.shape[1])
    add_centered_squares(x.indptr, x.indices, x.data, weight, none, squares, np.zeros(len(none)))
    return squares


def squared_entries(x: Matrix) -> Any:
    """x² entry by entry; of sparse rows the stored ones."""
    return type(x)((x.data**2, x.indices, x.indptr), x.shape) if sparse.issparse(x) else x**2


class Hessian:
    """P + Σ 2c z zᵀ as a matrix, kept up to date with the active rows."""

    def __init__(self, problem: SquaredProblem) -> None:
        self.problem = problem
        self.active = np.zeros(problem.n, dtype=bool)
        self.matrix = np.zeros((problem.size, problem.size))

    def __call__(self, active: NDArray[np.bool_], right: Floats, accuracy: float) -> Floats:  # noqa: ARG002
        """The solution by Cholesky factors, columns scaled to the same size."""
        come, gone = np.flatnonzero(active & ~self.active), np.flatnonzero(self.active & ~active)
        if len(come) + len(gone) < int(active.sum()):
            self.matrix += self.problem.gram(come)
            self.matrix -= self.problem.gram(gone)
        else:
            self.matrix = self.problem.gram(np.flatnonzero(active))
        self.active = active.copy()
        return solve_scaled(self.matrix + np.diag(self.problem.penalty.l2), right)


def solve_scaled(matrix: Floats, right: Floats) -> Floats:
    """Solve with a positive semi-definite matrix whose diagonal is scaled to one.

    Where it is singular up to rounding, the solution of least norm.
    """
    diagonal = np.diag(matrix)
    size = np.where(diagonal > 0.0, 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)), 0.0)
    scaled = matrix * size[:, None] * size
    scaled.flat[:: len(size) + 1] += np.where(size > 0.0, 1e-15, 1.0)
    factor = cholesky_factor(scaled.copy())
    if factor is None:
        return np.asarray(size * _least_norm(scaled)(size * right))
    solution = cholesky_solve(factor, size * right)
    solution += cholesky_solve(factor, size * right - scaled @ solution)
    return np.asarray(size * solution)


def _least_norm(matrix: Floats) -> Callable[[Floats], Floats]:
    values, vectors = linalg.eigh(matrix, check_finite=False)
    inverse = np.where(values > 1e-14 * values[-1], 1.0 / np.maximum(values, 1e-300), 0.0)
    return lambda right: np.asarray(vectors @ (inverse * (vectors.T @ right)))


class ConjugateGradients:
    """The same system by products with the rows, preconditioned by its diagonal."""

    def __init__(self, problem: SquaredProblem) -> None:
        self.problem = problem

    def __call__(self, active: NDArray[np.bool_], right: Floats, accuracy: float) -> Floats:
        """The solution to an accuracy that tightens as the minimum comes near."""
        p, ridge = self.problem, self.problem.penalty.l2
        rows = np.flatnonzero(active)
        part = replace(p, x=p.x[rows], t=p.t[rows], cost=p.cost[rows])
        weight = 2.0 * part.cost
        diagonal = column_squares(part.x, weight)
        diagonal = ridge + (np.append(diagonal, weight.sum()) if p.intercept else diagonal)
        inverse = 1.0 / np.where(diagonal > 0.0, diagonal, 1.0)

        def product(v: Floats) -> Floats:
            return ridge * v + part.pull(weight * part.scores(v))

        shape = (p.size, p.size)
        solution, _ = cg(
            LinearOperator(shape, matvec=product, dtype=np.float64),
            right,
            rtol=min(0.1, 0.1 * accuracy),
            maxiter=10 * p.size,
            M=LinearOperator(shape, matvec=lambda v: inverse * v, dtype=np.float64),
        )
        return np.asarray(solution)


def _solve_in_span(problem: SquaredProblem, tol: float, budget: Budget) -> SquaredSolution:
    """Rows as coordinates in the space that they span: (X − center) ρ^−½ = E √Λ Vᵀ.

    w is a combination of the rows at the optimum, so nothing is lost and n columns are left.
    """
    d = problem.x.shape[1]
    root = np.sqrt(problem.penalty.l2[:d])
    x: Any = problem.x if sparse.issparse(problem.x) else problem.x - problem.center
    scaled = divide_rows(x, root)
    gram: Any = scaled @ scaled.T
    values, vectors = linalg.eigh(
        np.asarray(gram.toarray() if sparse.issparse(gram) else gram), check_finite=False
    )
    used: Ints = np.flatnonzero(values > 1e-14 * max(float(values[-1]), np.finfo(float).tiny))
    rank = len(used)
    ridge = np.append(np.ones(rank), problem.penalty.l2[d:])
    inner = replace(
        problem,
        x=vectors[:, used] * np.sqrt(values[used]),
        center=np.zeros(rank),
        penalty=ElasticNetPenalty(np.zeros(len(ridge)), ridge),
    )
    squared_solution = _solve_columns(inner, tol, budget)
    combination = vectors[:, used] @ (squared_solution.theta[:rank] / np.sqrt(values[used]))
    w = np.asarray(scaled.T @ combination) / root
    return replace(squared_solution, theta=np.append(w, squared_solution.theta[rank:]))


# -------------------------------------------------------------------------------------------------
# Newton's method for squared hinges and squared ε-insensitive errors with an ℓ₁ penalty.
#
#     min over θ of Σ ℓⱼ|θⱼ| + Σ c e(θ)²
#
# A step minimizes the second-order model of the loss plus the penalty, over the coefficients that
# are not zero and those whose gradient exceeds its threshold: coordinate descent on their Gram
# matrix finds the signs, and one linear system the values. When neither the rows that cost
# something nor the signs change any more, the minimum is found up to rounding.
#
# References
# ----------
# G.-X. Yuan, C.-H. Ho and C.-J. Lin, An improved GLMNET for L1-regularized logistic regression,
# Journal of Machine Learning Research 13, 2012.


@dataclass(frozen=True)
class _Model:
    """½ δᵀHδ − g·δ + Σ ℓ|θ + δ| over a few coefficients scaled so that the diagonal of H is one."""

    matrix: Floats
    gradient: Floats
    start: Floats
    l1: Floats

    def minimum(self) -> Floats:
        """θ + δ."""
        theta, slope = self.start.copy(), self.gradient.copy()
        none = np.zeros(len(theta))
        # The fewest sweeps of coordinate descent before the signs are followed exactly.
        for _ in range(20 + len(theta)):  # as much work as a few linear systems
            worst = sweep(self.matrix, slope, theta, self.l1, none, False)
            if worst <= self._rounding(slope):
                return theta
        return self._by_signs(theta)

    def _rounding(self, slope: Floats) -> float:
        # Relative violation that counts as rounding.
        return 1e-13 * float(self.l1.max(initial=0.0) + np.abs(slope).max(initial=0.0))

    def _by_signs(self, theta: Floats) -> Floats:
        """The minimum from θ on, by the stationary points of its signs (an active set).

        Coordinate descent alone would take thousands of sweeps where columns are nearly dependent,
        as those far from zero are. On the way to the point of the present signs, the coefficient
        that is zero first leaves; there, the one whose condition is violated most joins.
        """
        sign, free = np.sign(theta), self.l1 == 0.0
        on, joined = (sign != 0.0) | free, -1
        # Changes of the signs for each coefficient: each lowers the model, so that few are needed.
        changes = 10
        for _ in range(changes + changes * len(theta)):
            slope = self.gradient - self.matrix @ (theta - self.start)
            at = np.flatnonzero(on)
            move = np.zeros(len(theta))
            right = slope[at] - self.l1[at] * sign[at]
            move[at] = solve_scaled(self.matrix[np.ix_(at, at)], right)
            back = np.flatnonzero(on & ~free & (move * sign < 0.0))
            ratio = -theta[back] / move[back]
            if len(back) and ratio.min() < 1.0:
                leaving = int(back[np.argmin(ratio)])
                if leaving == joined and theta[leaving] == 0.0:
                    return theta  # within rounding errors nothing more is gained
                theta = theta + float(ratio.min()) * move
                theta[leaving], sign[leaving], on[leaving] = 0.0, 0.0, False
                continue
            theta = theta + move
            slope = self.gradient - self.matrix @ (theta - self.start)
            violation = np.where(on, 0.0, np.abs(slope) - self.l1)
            joined = int(np.argmax(violation))
            if violation[joined] <= self._rounding(slope):
                return theta
            sign[joined], on[joined] = np.sign(slope[joined]), True
        return theta


def solve_sparse(problem: SquaredProblem, tol: float, budget: Budget) -> SquaredSolution:
    """The minimum up to rounding, or with a relative gap of at most ``tol`` where steps end."""
    unit = 1.0
    if problem.epsilon is not None:
        unit = float(np.sqrt(np.average(problem.t**2, weights=problem.cost))) or 1.0
    scaled = problem.rescale(unit)
    squared_solution = _iterate_l1(scaled, tol, budget)
    return SquaredSolution(unit * squared_solution.theta, squared_solution.status)


def _iterate_l1(problem: SquaredProblem, tol: float, budget: Budget) -> SquaredSolution:
    theta = np.zeros(problem.size)
    scores = problem.scores(theta)
    excess = problem.excess(scores)
    stalls = 0
    while True:
        value = problem.value(theta, excess)
        gradient = problem.pull(2.0 * problem.cost * excess)
        columns = _working_set(problem, theta, gradient)
        if value == 0.0 or _is_solved(problem, theta, gradient, value, tol) or stalls > 2:
            return SquaredSolution(theta, Status.SOLVED)
        if budget.exhausted:
            return SquaredSolution(theta, budget.status)
        budget.n_iter += 1
        new = _model_minimum(problem, excess, theta, gradient, columns)
        theta = theta + _step(problem, scores, theta, new - theta) * (new - theta)
        scores = problem.scores(theta)
        excess = problem.excess(scores)
        stalls = 0 if problem.value(theta, excess) < value * (1.0 - 1e-14) else stalls + 1


def _is_solved(
    problem: SquaredProblem, theta: Floats, gradient: Floats, value: float, tol: float
) -> bool:
    """Whether the conditions hold up to rounding: those of Σ ℓ|θ| at the gradient of the loss."""
    l1 = problem.penalty.l1
    violation = problem.penalty.distance(theta, gradient)
    size = np.maximum(l1, np.abs(gradient))
    return bool((violation <= min(1e-3 * tol, 1e-9) * np.where(size > 0.0, size, 1.0)).all()) and (
        float(np.abs(theta) @ violation) <= min(1e-3 * tol, 1e-9) * value
    )


def _working_set(problem: SquaredProblem, theta: Floats, gradient: Floats) -> Ints:
    """Coefficients that are not zero, have no penalty, or violate their threshold most."""
    l1 = problem.penalty.l1
    inside = (theta != 0.0) | (l1 == 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(inside, 0.0, np.abs(gradient) / l1)
    # Columns that may join those already in the model in one step, and as a multiple of these.
    most = max(200, 2 * int(inside.sum()))
    order = np.argsort(-ratio, kind="stable")[:most]
    joining = order[ratio[order] > 1.0]
    return np.sort(np.concatenate([np.flatnonzero(inside), joining]))


def _model_minimum(
    problem: SquaredProblem, excess: Floats, theta: Floats, gradient: Floats, columns: Ints
) -> Floats:
    """θ that minimizes the second-order model over ``columns``."""
    matrix = problem.gram(np.flatnonzero(excess != 0.0), columns)
    diagonal = np.diag(matrix)
    usable = diagonal > 0.0
    size = 1.0 / np.sqrt(np.where(usable, diagonal, 1.0))
    matrix = matrix * size[:, None] * size
    matrix.flat[:: len(columns) + 1] = 1.0
    model = _Model(
        matrix,
        np.where(usable, size * gradient[columns], 0.0),
        theta[columns] / size,
        size * problem.penalty.l1[columns],
    )
    new = theta.copy()
    new[columns] = size * model.minimum()
    return new


def _step(problem: SquaredProblem, scores: Floats, theta: Floats, delta: Floats) -> float:
    """One where the objective still falls there, else where it is least before."""
    along, c, l1 = problem.scores(delta), problem.cost, problem.penalty.l1

    def slope(step: float) -> float:
        excess = problem.excess(scores + step * along)
        # towards the step: at one, coefficients that have just become zero do not resist yet
        side = np.sign(theta + (1.0 - 1e-9) * step * delta)
        return float((l1 * side) @ delta) - 2.0 * float((c * excess) @ along)

    if slope(1.0) <= 0.0:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) < 0.0 else (low, middle)
    whole = problem.value(theta + delta, problem.excess(scores + along))
    part = problem.value(theta + low * delta, problem.excess(scores + low * along))
    return low if part < whole * (1.0 - 1e-13) else 1.0


# -------------------------------------------------------------------------------------------------
# Squared hinges of each class against the rest, as a loss of paths over a stream
# (:mod:`separatrix.optimize.linear_paths`).
#
#     Σ w Σₖ max(0, 1 ∓ sₖ)²


@dataclass(frozen=True)
class SquaredHingeLoss:
    """Squared slacks of the margins of each class against the rest."""

    n_classes: int

    def signs(self, codes: Ints) -> Floats:
        """±1 for every score and row."""
        own = np.array([1]) if self.n_classes == 2 else np.arange(self.n_classes)
        return np.where(codes == own[:, None], 1.0, -1.0)

    def evaluate(self, scores: Floats, codes: Ints, w: Floats) -> tuple[float, Floats]:
        """Σ w loss, and its derivative by every score."""
        signs = self.signs(codes)
        slack = np.maximum(1.0 - signs * scores, 0.0)
        return float(np.sum((slack * slack) @ w)), -2.0 * w * signs * slack

    def validate(self, scores: Floats, codes: Ints) -> tuple[Floats, Floats]:
        """The squared slacks of every row, and whether another class has the largest score."""
        slack = np.maximum(1.0 - self.signs(codes) * scores, 0.0)
        predicted = (scores[0] > 0).astype(int) if len(scores) == 1 else scores.argmax(axis=0)
        return np.sum(slack * slack, axis=0), (predicted != codes).astype(float)

    def warm_starts(self, sample: RidgeRows, penalties: Floats) -> list[Floats]:
        """θ for penalties in decreasing order, from the sample alone, by Newton's method."""
        theta, found = np.zeros((sample.z.shape[1], sample.n_scores)), []
        for penalty in penalties:
            theta = self._newton(sample, theta, float(penalty))
            found.append(theta)
        return found

    def curvature(self, rows: RidgeRows, theta: Floats) -> Floats:
        """2 Σ w z zᵀ over the rows of positive slack, score by score."""
        scores, signs = theta.T @ rows.z.T, self.signs(rows.codes)
        blocks = []
        for own, sign in zip(scores, signs, strict=True):
            root = rows.z * np.sqrt(2.0 * rows.w * (sign * own < 1.0))[:, None]
            blocks.append(root.T @ root)
        return np.array(blocks)

    def solver(self, curvature: Floats, weight: float, ridge: Floats) -> LinearSolver:
        """g ↦ H⁻¹g, score by score, with the penalty."""
        diagonal = np.diag(ridge[:, 0] + 1e-9 * weight)
        solvers = [cholesky_solver(block + diagonal) for block in curvature]
        return lambda g: np.column_stack([solve(g[:, j]) for j, solve in enumerate(solvers)])

    def _newton(self, sample: RidgeRows, theta: Floats, penalty: float) -> Floats:
        """Full steps while they decrease the objective: it is piecewise quadratic."""
        ridge = sample.add_penalty(penalty)

        def at(point: Floats) -> _HingePoint:
            value, residual = self.evaluate(point.T @ sample.z.T, sample.codes, sample.w)
            shrunk = ridge * point
            value += 0.5 * float(np.sum(point * shrunk))
            return _HingePoint(value, (residual @ sample.z).T + shrunk)

        here = at(theta)
        for _ in range(40):  # Newton steps on the sample, at most
            step = self.solver(self.curvature(sample, theta), sample.weight, ridge)(here.gradient)
            promised = float(np.sum(step * here.gradient))
            # Decrease of the mean loss of the sample that a step towards a warm start must promise.
            if promised <= 1e-8 * sample.weight:
                break

            def along(size: float, theta: Floats = theta, step: Floats = step) -> _HingePoint:
                return at(theta - size * step)

            found = backtrack(along, here.value, -promised)
            if found is None:
                break
            theta, here = theta - found[0] * step, found[1]
        return theta


class _HingePoint(NamedTuple):
    value: float
    gradient: Floats
