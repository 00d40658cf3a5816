"""Interior point for a small dense problem of hinges, finished by an exact vertex solution.

    min over β of ½ βᵀPβ − h·β + Σ c max(0, q − zβ)

Near the optimum every α is close to 0, close to c, or between them with its row on the margin.
Rows on the margin are equations, zβ = q; with Pβ = h + zᵀα they make a small linear system whose
solution is exact up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from separatrix.optimize.interior_point import (
    HingeProblem,
    PrimalDualPoint,
    predictor_corrector_step,
)
from separatrix.rows.block import Floats
from separatrix.svm.problem import Budget

#: Relative gaps at which a vertex is tried, one after the other until one is optimal.
TARGETS = (1e-7, 1e-10, 1e-13)
#: Relative gap of an approximate solution.
APPROXIMATE = 1e-4
#: Equations up to which a singular system is solved by singular values, and the diagonal of more.
SINGULAR, REGULAR = 600, 1e-10
#: Changes of the set of rows on the margin before the central path is followed further.
EXCHANGES = 6


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
    for target in TARGETS:
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
    at = _follow(problem, problem.start(start), APPROXIMATE * scale, budget)
    return SmallSolution(at.beta, at.v[0], False)


def _follow(
    problem: HingeProblem, at: PrimalDualPoint, target: float, budget: Budget
) -> PrimalDualPoint:
    """Steps until gap and imbalance are within the target, or rounding prevents more."""
    best, stalled = np.inf, 0
    while not budget.exhausted:
        merit = at.complementarity() + abs(float(problem.dual_residual(at) @ at.beta))
        if merit <= target:
            break
        stalled = 0 if merit < 0.9 * best else stalled + 1
        best = min(best, merit)
        if stalled > 6:
            break
        try:
            new = predictor_corrector_step(problem, at)
        except (linalg.LinAlgError, ValueError):
            break  # singular up to rounding
        if not np.isfinite(new.complementarity()) or new.v.min() <= 0.0 or new.s.min() <= 0.0:
            break
        at = new
        budget.n_iter += 1
    return at


def optimal_vertex(problem: HingeProblem, at: PrimalDualPoint) -> tuple[Floats, Floats] | None:
    """β and α of the vertex near the interior point; None where it is not optimal.

    A row that violates optimality is moved from one set to the other, a few times.
    """
    v, s, q, c = at.v[0], at.s[0], problem.y, problem.upper[0]
    free = np.minimum(v, s) / c > np.maximum(at.p[0], at.q[0])
    top = v > s
    penalized = problem.ridge > 0.0
    spread = float(np.std(problem.z[:, penalized] @ at.beta[penalized]))
    noise = spread_noise(spread, 1e-9) * (1.0 + np.abs(q))
    for _ in range(EXCHANGES):
        if free.sum() > 4 * len(at.beta) + 200:
            return None
        alpha = np.where(free, v, np.where(top, c, 0.0))
        beta, alpha[free] = _on_margin(problem, free, at.beta, alpha)
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
    z, q, own = problem.z[free], problem.y[free], alpha[free]
    fixed = problem.linear + problem.z[~free].T @ alpha[~free]
    d, m = len(beta), len(own)
    size = 1.0 / np.sqrt(problem.ridge + (z**2).sum(axis=0) + np.finfo(float).tiny)
    weight = np.sqrt(float(problem.upper.mean()))
    system = np.zeros((d + m, d + m))
    system[:d, :d] = np.diag(problem.ridge * size**2)
    scaled = z * size * weight
    system[:d, d:], system[d:, :d] = -scaled.T, scaled
    solve = _solver(system, d)
    for _ in range(3):
        left = fixed + z.T @ own - problem.ridge * beta
        step = solve(np.concatenate([left * size, (q - z @ beta) * weight]))
        beta = beta + size * step[:d]
        own = own + weight * step[d:]
    return beta, own


def _solver(system: Floats, d: int) -> Callable[[Floats], Floats]:
    """Solve by LU where the system is well conditioned, else of least norm.

    A large one is solved with a small diagonal below its first ``d`` equations: singular values
    would take minutes, and refinement mends what the diagonal changes.
    """
    lu, pivot, info = linalg.lapack.dgetrf(system)
    sizes = np.abs(np.diag(lu))
    if info != 0 or sizes.min() <= 1e-11 * sizes.max():
        if len(system) <= SINGULAR:
            inverse = np.linalg.pinv(system, rcond=1e-12)
            return lambda right: inverse @ right
        system.flat[d * (len(system) + 1) :: len(system) + 1] += REGULAR
        lu, pivot, _ = linalg.lapack.dgetrf(system)
    return lambda right: np.asarray(linalg.lapack.dgetrs(lu, pivot, right)[0])
