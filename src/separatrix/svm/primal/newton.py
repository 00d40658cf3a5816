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
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, cg

from separatrix.matrices.cholesky import cholesky_factor, cholesky_solve
from separatrix.optimize.penalties import ElasticNet
from separatrix.optimize.solution import Status
from separatrix.rows.block import Floats, Ints
from separatrix.svm.primal.dual_descent import solve_dual
from separatrix.svm.primal.dual_problem import dual_of_squares
from separatrix.svm.primal.options import STEPS
from separatrix.svm.primal.solver import divided
from separatrix.svm.primal.squared_problem import SquaredProblem
from separatrix.svm.problem import Budget

#: Coefficients up to which the Hessian is a matrix, of dense and of sparse rows; rows up to which
#: their span is used.
DENSE, SPARSE, SPAN = 1_500, 500, 1_200
#: Rows for each coefficient up to which the dual of many coefficients is solved.
TALL = 2
#: Derivative along a step that counts as zero, relative to the one at its beginning.
_FLAT = 1e-10
#: Steps of a line search at most.
_SEARCH = 60


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
    scaled = problem.rescaled(unit)
    if problem.size > problem.n and problem.n <= SPAN:
        found = _solve_in_span(scaled, tol, budget)
    else:
        found = _solve_columns(scaled, tol, budget)
    beta = None if found.beta is None else unit * found.beta
    return replace(found, theta=unit * found.theta, beta=beta)


def _solve_columns(problem: SquaredProblem, tol: float, budget: Budget) -> SquaredSolution:
    if sparse.issparse(problem.x):
        small = problem.size <= SPARSE
    else:
        small = problem.size <= DENSE or (problem.size <= 2 * DENSE and problem.n <= 20_000)
    if not small and problem.n <= TALL * problem.size:
        return _solve_by_rows(problem, tol, budget)
    direction: Direction = Hessian(problem) if small else ConjugateGradients(problem)
    return _iterate(problem, direction, tol, budget)


def _solve_by_rows(problem: SquaredProblem, tol: float, budget: Budget) -> SquaredSolution:
    """The dual of all rows, with w = Xᵀβ; every one of its steps is a fraction of a Newton step."""
    d = problem.x.shape[1]
    root = np.sqrt(problem.penalty.l2[:d])
    steps = Budget(STEPS * budget.remaining, budget.deadline)
    found = solve_dual(dual_of_squares(problem, root), tol, steps)
    budget.n_iter += -(-steps.n_iter // STEPS)
    w = found.w / root
    b = [found.b + float(problem.center @ w)] if problem.intercept else []
    return SquaredSolution(np.append(w, b), found.status, found.beta)


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


def _gap(penalty: ElasticNet, gradient: Floats) -> float:
    """½ Σ g²/ρ, the duality gap at β = 2ce; infinite where a free intercept is out of balance."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(gradient == 0.0, 0.0, 0.5 * gradient**2 / penalty.l2)
    return float(terms.sum())


def _line_search(
    problem: SquaredProblem, scores: Floats, along: Floats, theta: Floats, delta: Floats
) -> float:
    """The step of least objective: the root of a derivative that increases piecewise linearly."""
    c, ridge = problem.cost, problem.penalty.l2
    linear, square = float((ridge * theta) @ delta), float(ridge @ delta**2)

    def slope(step: float) -> tuple[float, float]:
        excess = problem.excess(scores + step * along)
        first = linear + step * square - 2.0 * float((c * excess) @ along)
        return first, square + 2.0 * float(c[excess != 0.0] @ along[excess != 0.0] ** 2)

    begin = slope(0.0)[0]
    if not begin < 0.0:
        return 1.0
    low, high, step = 0.0, np.inf, 1.0
    for _ in range(_SEARCH):
        first, second = slope(step)
        if abs(first) <= _FLAT * -begin:
            break
        low, high = (step, high) if first < 0.0 else (low, step)
        step = step - first / second if second > 0.0 else np.inf
        if not low < step < high:
            step = 0.5 * (low + high) if np.isfinite(high) else 2.0 * low
    return step


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
    found = cholesky_solve(factor, size * right)
    found += cholesky_solve(factor, size * right - scaled @ found)
    return np.asarray(size * found)


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
        squares: Any = part.x.multiply(part.x) if sparse.issparse(part.x) else part.x**2
        diagonal = np.asarray(squares.T @ weight).ravel()
        diagonal = ridge + (np.append(diagonal, weight.sum()) if p.intercept else diagonal)
        inverse = 1.0 / np.where(diagonal > 0.0, diagonal, 1.0)

        def product(v: Floats) -> Floats:
            return ridge * v + part.pull(weight * part.scores(v))

        shape = (p.size, p.size)
        found, _ = cg(
            LinearOperator(shape, matvec=product, dtype=np.float64),
            right,
            rtol=min(0.1, 0.1 * accuracy),
            maxiter=10 * p.size,
            M=LinearOperator(shape, matvec=lambda v: inverse * v, dtype=np.float64),
        )
        return np.asarray(found)


def _solve_in_span(problem: SquaredProblem, tol: float, budget: Budget) -> SquaredSolution:
    """Rows as coordinates in the space that they span: (X − center) ρ^−½ = E √Λ Vᵀ.

    w is a combination of the rows at the optimum, so nothing is lost and n columns are left.
    """
    d = problem.x.shape[1]
    root = np.sqrt(problem.penalty.l2[:d])
    x: Any = problem.x if sparse.issparse(problem.x) else problem.x - problem.center
    scaled = divided(x, root)
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
        penalty=ElasticNet(np.zeros(len(ridge)), ridge),
    )
    found = _solve_columns(inner, tol, budget)
    combination = vectors[:, used] @ (found.theta[:rank] / np.sqrt(values[used]))
    w = np.asarray(scaled.T @ combination) / root
    return replace(found, theta=np.append(w, found.theta[rank:]))
