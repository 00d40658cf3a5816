"""The linear SVM with few columns: an active set of rows near the margin, by interior points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass

import numpy as np
from scipy import linalg, sparse

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.optimize.convex import Status
from separatrix.optimize.interior_point import (
    HingeProblem,
    PrimalDualPoint,
    predictor_corrector_step,
)
from separatrix.optimize.loops import follow_path_of_hinges
from separatrix.svm.problem import SMALL, Budget, LinearProblem

# -------------------------------------------------------------------------------------------------
# Active-set solver of the linear SVM in the primal: many rows, few columns.
#
# A row well beyond its margin has α = 0 and one well short of it has α = c, whatever the last
# digits of the hyperplane. Solutions of growing subsamples approximate the hyperplane; only rows
# near their margin are active, and all others enter a smaller problem as one vector. Then all rows
# are checked, those that violate optimality become active, and so on until none does: the solution
# is exact for all rows, though most of them take part in two or three products only.


#: Size of a subsample relative to the next one; rows that are solved without subsamples.
FRACTION, WHOLE = 0.2, 6_000
#: Half-width of the band of active rows, in units of the change of scores to be expected.
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
        scaled_ridge = self.problem.ridge / self.scale**2
        return (
            np.append(scaled_ridge, self.problem.intercept_ridge)
            if self.problem.intercept
            else scaled_ridge
        )

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
        scaled_gradient = (self.problem.gradient(beta) - self.center * total) / self.scale
        return np.append(scaled_gradient, total) if self.problem.intercept else scaled_gradient

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
        solution = solve(small, coef, scale, budget)
        coef = solution.beta
        alpha[side, row] = solution.alpha
        short = problem.shortfall(problem.scores(*columns.restore(coef)))
        noise = 1e-3 * width if approximate else _noise(columns, coef)
        wrong = (state * short < -noise) & (state != 0)
        if budget.exhausted or not wrong.any() or (approximate and wrong.sum() < 0.01 * problem.n):
            break
        width = max(0.5 * width, 2.0 * float(np.abs(short[wrong]).max()))
        state = np.where((state == 0) | wrong, 0, _states(short, width))
    solved = solution.exact and not wrong.any()
    return coef, alpha, Status.SOLVED if solved else budget.status


def _noise(columns: StandardizedColumns, coef: Floats) -> Floats:
    """Shortfall that may be a rounding error: less where scores hardly differ between rows."""
    spread = float(np.linalg.norm(coef[: len(columns.scale)]))
    return spread_noise(spread, 1e-10) * (1.0 + np.abs(columns.problem.offset))


def _states(short: Floats, width: float) -> NDArray[np.int8]:
    """+1: clearly short of the margin (α = c), −1: clearly beyond it (α = 0), 0: active."""
    return (short > width).astype(np.int8) - (short < -width).astype(np.int8)


# -------------------------------------------------------------------------------------------------
# Interior point for a small dense problem of hinges, finished by an exact vertex solution.
#
#     min over β of ½ βᵀPβ − h·β + Σ c max(0, q − zβ)
#
# Near the optimum every α is close to 0, close to c, or between them with its row on the margin.
# Rows on the margin are equations, zβ = q; with Pβ = h + zᵀα they make a small linear system whose
# solution is exact up to rounding.


@dataclass(frozen=True)
class SmallSolution:
    """β and α; ``exact`` where an optimal vertex was found."""

    beta: Floats
    alpha: Floats
    exact: bool


def solve_exactly(
    problem: HingeProblem, start: Floats, scale: float, budget: Budget
) -> SmallSolution:
    """Follow the central path until a vertex is optimal; gaps are relative to ``scale``."""
    at = problem.start(start)
    # Relative gaps at which a vertex is tried, one after the other until one is optimal.
    for target in (1e-7, 1e-10, 1e-13):
        at = _follow(problem, at, target * scale, budget)
        vertex = optimal_vertex(problem, at)
        if vertex is not None:
            return SmallSolution(*vertex, True)
        if budget.exhausted:
            break
    return SmallSolution(at.beta, at.v[0], False)


def solve_approximately(
    problem: HingeProblem, start: Floats, scale: float, budget: Budget
) -> SmallSolution:
    """As :func:`solve_exactly`, to a few digits and without a vertex."""
    # Relative gap of an approximate solution.
    at = _follow(problem, problem.start(start), 1e-4 * scale, budget)
    return SmallSolution(at.beta, at.v[0], False)


def _follow(
    problem: HingeProblem, primal_dual_point: PrimalDualPoint, target: float, budget: Budget
) -> PrimalDualPoint:
    """Steps until gap and imbalance are within the target, or rounding prevents more."""
    if problem.z.size * problem.z.shape[1] <= SMALL and not budget.exhausted:
        v, s, p, q = (values[0].copy() for values in astuple(primal_dual_point)[:4])
        beta, most = primal_dual_point.beta.copy(), min(budget.remaining, 1000)
        hinges = (problem.z, problem.y, problem.ridge, problem.linear)
        budget.n_iter += follow_path_of_hinges(*hinges, v, s, p, q, beta, target, most)
        return PrimalDualPoint(v[None], s[None], p[None], q[None], beta)
    best, stalled = np.inf, 0
    while not budget.exhausted:
        merit = primal_dual_point.complementarity() + abs(
            float(problem.dual_residual(primal_dual_point) @ primal_dual_point.beta)
        )
        if merit <= target:
            break
        stalled = 0 if merit < 0.9 * best else stalled + 1
        best = min(best, merit)
        if stalled > 6:
            break
        try:
            new = predictor_corrector_step(problem, primal_dual_point)
        except (linalg.LinAlgError, ValueError):
            break  # singular up to rounding
        if not np.isfinite(new.complementarity()) or new.v.min() <= 0.0 or new.s.min() <= 0.0:
            break
        primal_dual_point = new
        budget.n_iter += 1
    return primal_dual_point


def optimal_vertex(
    problem: HingeProblem, primal_dual_point: PrimalDualPoint
) -> tuple[Floats, Floats] | None:
    """β and α of the vertex near the interior point; None where it is not optimal.

    A row that violates optimality is moved from one set to the other, a few times.
    """
    v, s, q, c = primal_dual_point.v[0], primal_dual_point.s[0], problem.y, problem.upper[0]
    free = np.minimum(v, s) / c > np.maximum(primal_dual_point.p[0], primal_dual_point.q[0])
    top = v > s
    penalized = problem.ridge > 0.0
    spread = float(np.std(problem.z[:, penalized] @ primal_dual_point.beta[penalized]))
    noise = spread_noise(spread, 1e-9) * (1.0 + np.abs(q))
    # Changes of the set of rows on the margin before the central path is followed further.
    for _ in range(6):
        if free.sum() > 4 * len(primal_dual_point.beta) + 200:
            return None
        alpha = np.where(free, v, np.where(top, c, 0.0))
        beta, alpha[free] = _on_margin(problem, free, primal_dual_point.beta, alpha)
        if not np.isfinite(beta).all():
            return None
        short = q - problem.z @ beta
        violating = ~free & np.where(top, short < -noise, short > noise)
        beyond = free & ((alpha < -1e-9 * c) | (alpha > (1.0 + 1e-9) * c))
        if not (violating | beyond).any():
            fits = not (free & (np.abs(short) > noise)).any()
            return (beta, np.clip(alpha, 0.0, c)) if fits else None
        top = np.where(beyond, alpha > c, top)
        free = (free & ~beyond) | violating
    return None


def spread_noise(spread: float, most: float) -> float:
    """A rounding error of scores: ``most``, or less where they spread little between rows."""
    return min(most, max(1e-3 * spread, 4.0 * float(np.finfo(float).eps)))


def _on_margin(
    problem: HingeProblem, free: NDArray[np.bool_], beta: Floats, alpha: Floats
) -> tuple[Floats, Floats]:
    """Solve Pβ − zᵀα = h and zβ = q over the free rows, with iterative refinement.

    Rows that depend on others (ties) leave α undetermined: the correction of least norm is taken.
    """
    z, q, alpha_free = problem.z[free], problem.y[free], alpha[free]
    fixed = problem.linear + problem.z[~free].T @ alpha[~free]
    d, m = len(beta), len(alpha_free)
    size = 1.0 / np.sqrt(problem.ridge + (z**2).sum(axis=0) + np.finfo(float).tiny)
    weight = np.sqrt(float(problem.upper.mean()))
    system = np.zeros((d + m, d + m))
    system[:d, :d] = np.diag(problem.ridge * size**2)
    scaled = z * size * weight
    system[:d, d:], system[d:, :d] = -scaled.T, scaled
    solve = _solver(system, d)
    for _ in range(3):
        left = fixed + z.T @ alpha_free - problem.ridge * beta
        step = solve(np.concatenate([left * size, (q - z @ beta) * weight]))
        beta = beta + size * step[:d]
        alpha_free = alpha_free + weight * step[d:]
    return beta, alpha_free


def _solver(system: Floats, d: int) -> Callable[[Floats], Floats]:
    """Solve by LU where the system is well conditioned, else of least norm.

    A large one is solved with a small diagonal below its first ``d`` equations: singular values
    would take minutes, and refinement mends what the diagonal changes.
    """
    lu, pivot, info = linalg.lapack.dgetrf(system)
    sizes = np.abs(np.diag(lu))
    if info != 0 or sizes.min() <= 1e-11 * sizes.max():
        # Equations up to which a singular system is solved by singular values.
        if len(system) <= 600:
            inverse = np.linalg.pinv(system, rcond=1e-12)
            return lambda right: inverse @ right
        # Added to the diagonal of larger systems, relative to it.
        system.flat[d * (len(system) + 1) :: len(system) + 1] += 1e-10
        lu, pivot, _ = linalg.lapack.dgetrf(system)
    return lambda right: np.asarray(linalg.lapack.dgetrs(lu, pivot, right)[0])
