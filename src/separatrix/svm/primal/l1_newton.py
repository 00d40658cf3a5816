"""Newton's method for squared hinges and squared ε-insensitive errors with an ℓ₁ penalty.

    min over θ of Σ ℓⱼ|θⱼ| + Σ c e(θ)²

A step minimizes the second-order model of the loss plus the penalty, over the coefficients that are
not zero and those whose gradient exceeds its threshold: coordinate descent on their Gram matrix
finds the signs, and one linear system the values. When neither the rows that cost something nor the
signs change any more, the minimum is found up to rounding.

References
----------
G.-X. Yuan, C.-H. Ho and C.-J. Lin, An improved GLMNET for L1-regularized logistic regression,
Journal of Machine Learning Research 13, 2012.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.optimize.loops import sweep
from separatrix.optimize.solution import Status
from separatrix.rows.block import Floats, Ints
from separatrix.svm.primal.newton import SquaredSolution, solve_scaled
from separatrix.svm.primal.squared_problem import SquaredProblem
from separatrix.svm.problem import Budget

#: Columns that may join those already in the model in one step, and as a multiple of these.
_JOIN, _MULTIPLE = 200, 2
#: Sweeps between two attempts to solve for the coefficients of the present signs, and attempts.
_SWEEPS, _ATTEMPTS = 20, 60
#: Relative violation that counts as rounding.
_ROUNDING = 1e-13


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
        for _ in range(_ATTEMPTS):
            for _ in range(_SWEEPS):
                worst = sweep(self.matrix, slope, theta, self.l1, none, False)
                if worst <= _ROUNDING * float(self.l1.max(initial=0.0) + np.abs(slope).max()):
                    return theta
            exact = self._with_present_signs(theta, slope)
            if exact is not None:
                return exact
        return theta

    def _with_present_signs(self, theta: Floats, slope: Floats) -> Floats | None:
        """The stationary point of the present signs; None where it is not optimal."""
        on = np.flatnonzero((theta != 0.0) | (self.l1 == 0.0))
        sign = np.sign(theta[on])
        right = slope[on] - self.l1[on] * sign
        found = np.zeros(len(theta))
        found[on] = theta[on] + solve_scaled(self.matrix[np.ix_(on, on)], right)
        after = self.gradient - self.matrix @ (found - self.start)
        same = (np.sign(found[on]) == sign) | (self.l1[on] == 0.0)
        within = np.abs(after) <= self.l1 * (1.0 + 1e-9) + 1e-9 * np.abs(self.gradient).max()
        return found if same.all() and within.all() else None


def solve_sparse(problem: SquaredProblem, tol: float, budget: Budget) -> SquaredSolution:
    """The minimum up to rounding, or with a relative gap of at most ``tol`` where steps end."""
    unit = 1.0
    if problem.epsilon is not None:
        unit = float(np.sqrt(np.average(problem.t**2, weights=problem.cost))) or 1.0
    scaled = problem.rescaled(unit)
    found = _iterate(scaled, tol, budget)
    return SquaredSolution(unit * found.theta, found.status)


def _iterate(problem: SquaredProblem, tol: float, budget: Budget) -> SquaredSolution:
    theta = np.zeros(problem.size)
    scores = problem.scores(theta)
    excess = problem.excess(scores)
    stalls = 0
    while True:
        value = problem.value(theta, excess)
        gradient = problem.pull(2.0 * problem.cost * excess)
        columns = _working_set(problem, theta, gradient)
        if value == 0.0 or _solved(problem, theta, gradient, value, tol) or stalls > 2:
            return SquaredSolution(theta, Status.SOLVED)
        if budget.exhausted:
            return SquaredSolution(theta, budget.status)
        budget.n_iter += 1
        new = _model_minimum(problem, excess, theta, gradient, columns)
        theta = theta + _step(problem, scores, theta, new - theta) * (new - theta)
        scores = problem.scores(theta)
        excess = problem.excess(scores)
        stalls = 0 if problem.value(theta, excess) < value * (1.0 - 1e-14) else stalls + 1


def _solved(
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
    most = max(_JOIN, _MULTIPLE * int(inside.sum()))
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
