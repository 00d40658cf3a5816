"""Active-set solver of the linear SVM in the primal: many rows, few columns.

A row well beyond its margin has α = 0 and one well short of it has α = c, whatever the last digits
of the hyperplane. Solutions of growing subsamples approximate the hyperplane; only rows near
their margin are active, and all others enter a smaller problem as one vector. Then all rows are
checked, those that violate optimality become active, and so on until none does: the solution is
exact for all rows, though most of them take part in two or three products only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from separatrix.optimize.interior_point import HingeProblem
from separatrix.optimize.solution import Status
from separatrix.rows.block import Floats, Ints
from separatrix.svm.primal.interior_point import (
    solve_approximately,
    solve_exactly,
    spread_noise,
)
from separatrix.svm.problem import Budget, LinearProblem

#: Size of a subsample relative to the next one; rows that are solved without subsamples.
FRACTION, WHOLE = 0.2, 6_000
#: Half-width of the band of active rows, in units of the expected change of scores.
BAND = 3.5


@dataclass(frozen=True)
class LinearSolution:
    """w, b, and α of every hinge (m x n)."""

    w: Floats
    b: float
    alpha: Floats
    status: Status


@dataclass(frozen=True)
class StandardizedColumns:
    """The problem in coordinates z = (x − μ)/σ, with a column of ones for the intercept.

    Where the intercept is free, centering changes nothing else; otherwise μ = 0. ρ/σ² keeps the
    penalty the same.
    """

    problem: LinearProblem
    center: Floats
    scale: Floats

    @property
    def ridge(self) -> Floats:
        """The penalty of each coefficient of z, and of the intercept."""
        own = self.problem.ridge / self.scale**2
        return np.append(own, self.problem.intercept_ridge) if self.problem.intercept else own

    def signed_rows(self, side: Ints, row: Ints) -> Floats:
        """s·z of the hinges (side, row), dense."""
        x = self.problem.x[row]
        z = np.ones((len(row), len(self.ridge)))
        d = len(self.scale)
        np.subtract(x.toarray() if sparse.issparse(x) else x, self.center, out=z[:, :d])
        z[:, :d] /= self.scale
        z *= self.problem.sign[side, row][:, None]
        return z

    def gradient(self, beta: Floats) -> Floats:
        """Zᵀβ."""
        total = float(beta.sum())
        own = (self.problem.gradient(beta) - self.center * total) / self.scale
        return np.append(own, total) if self.problem.intercept else own

    def restore(self, coef: Floats) -> tuple[Floats, float]:
        """(w, b) for x from the coefficients of z."""
        w = coef[: len(self.scale)] / self.scale
        return w, float(coef[-1] - self.center @ w) if self.problem.intercept else 0.0


def standardized_columns(problem: LinearProblem, sample: Ints) -> StandardizedColumns:
    """Center and scale from some of the rows; columns that are constant there from all rows."""
    x, d = problem.x[sample], len(problem.ridge)
    dense = np.asarray(x.toarray() if sparse.issparse(x) else x)
    center, scale = dense.mean(axis=0), dense.std(axis=0)
    for j in np.flatnonzero(scale <= 1e-10 * np.abs(center)):
        whole = problem.x[:, [j]]
        column = np.ravel(whole.toarray() if sparse.issparse(whole) else whole)
        center[j], scale[j] = column.mean(), column.std()
    if not problem.balances:
        scale, center = np.hypot(scale, center), np.zeros(d)
    constant = scale <= 1e-13 * np.abs(center)
    scale = np.where(constant, np.where(center == 0, 1, np.abs(center)), scale)
    return StandardizedColumns(problem, center, scale)


def solve_primal(problem: LinearProblem, budget: Budget) -> LinearSolution:
    """Subsamples of growing size, then all rows."""
    order = np.random.default_rng(0).permutation(problem.n)
    whole = max(WHOLE, 40 * len(problem.ridge))
    columns = standardized_columns(problem, np.sort(order[:whole]))
    coef, width = np.zeros(len(columns.ridge)), np.inf
    for rows in _subsamples(order, whole):
        fraction = float(problem.cost[rows].sum() / problem.cost.sum())
        part = StandardizedColumns(problem.take(rows, fraction), columns.center, columns.scale)
        before = coef
        coef = _solve_active_set(part, coef, width, budget, approximate=True)[0]
        if budget.exhausted:
            break
        if before.any():
            change = part.problem.x @ (part.restore(coef)[0] - part.restore(before)[0])
            width = BAND * np.sqrt(FRACTION) * float(np.std(change))
    coef, alpha, status = _solve_active_set(columns, coef, width, budget, approximate=False)
    return LinearSolution(*columns.restore(coef), alpha, status)


def _subsamples(order: Ints, whole: int) -> list[Ints]:
    """Growing parts of the shuffled rows, all but the last (which is all of them)."""
    sizes = []
    size = FRACTION * len(order)
    while size > 0.5 * whole and len(order) > 2 * whole:
        sizes.append(int(size))
        size *= FRACTION
    if sizes:
        sizes.append(max(int(sizes[-1] * FRACTION), whole // 3))
    return [np.sort(order[:size]) for size in sizes[::-1] if size < len(order)]


def _solve_active_set(
    columns: StandardizedColumns, coef: Floats, width: float, budget: Budget, *, approximate: bool
) -> tuple[Floats, Floats, Status]:
    """Solve for the rows near their margin, check all rows, until none violates optimality.

    Returns the coefficients of z, α of every hinge, and the status.
    """
    problem = columns.problem
    short = problem.shortfall(problem.scores(*columns.restore(coef)))
    state = _states(short, width)
    scale = float(problem.cost.sum())
    solve = solve_approximately if approximate else solve_exactly
    while True:
        side, row = np.nonzero(state == 0)
        alpha = np.where(state > 0, problem.cost, 0.0)
        small = HingeProblem(
            columns.signed_rows(side, row),
            problem.offset[side, row],
            problem.cost[row],
            columns.ridge,
            columns.gradient(problem.combine(alpha)),
        )
        found = solve(small, coef, scale, budget)
        coef = found.beta
        alpha[side, row] = found.alpha
        short = problem.shortfall(problem.scores(*columns.restore(coef)))
        noise = 1e-3 * width if approximate else _noise(columns, coef)
        wrong = (state * short < -noise) & (state != 0)
        if budget.exhausted or not wrong.any() or (approximate and wrong.sum() < 0.01 * problem.n):
            break
        width = max(0.5 * width, 2.0 * float(np.abs(short[wrong]).max()))
        state = np.where((state == 0) | wrong, 0, _states(short, width))
    solved = found.exact and not wrong.any()
    return coef, alpha, Status.SOLVED if solved else budget.status


def _noise(columns: StandardizedColumns, coef: Floats) -> Floats:
    """Shortfall that may be a rounding error: less where scores hardly differ between rows."""
    spread = float(np.linalg.norm(coef[: len(columns.scale)]))
    return spread_noise(spread, 1e-10) * (1.0 + np.abs(columns.problem.offset))


def _states(short: Floats, width: float) -> NDArray[np.int8]:
    """+1: clearly short of the margin (α = c), −1: clearly beyond it (α = 0), 0: active."""
    return (short > width).astype(np.int8) - (short < -width).astype(np.int8)
