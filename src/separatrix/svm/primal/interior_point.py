"""A few hinges to the last digit: an interior point, then the corner that it points at.

    min over β of ½ βᵀPβ − h·β + Σ c max(0, q − zβ)

Near the optimum every hinge shows where it belongs: α at 0, at c, or between them on its margin.
Rows on their margin are equations, zβ = q; with Pβ = h + zᵀα they make a small linear system whose
solution has no error but rounding's.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from separatrix.optimize.interior_point import HingeBoxes, Point, advance
from separatrix.rows.block import Floats

#: Share of the objective at which the corner is looked for: first, and if it was none, again.
TARGETS = (1e-7, 1e-10, 1e-13)
#: Share of the objective at which a part of the rows has told enough.
ROUGH = 1e-4
#: Looks at a corner before the central path is followed further.
EXCHANGES = 6


@dataclass(frozen=True)
class SmallProblem:
    """Dense signed rows ``z``, offsets ``q``, costs ``c``, and the quadratic beside them."""

    z: Floats
    q: Floats
    c: Floats
    ridge: Floats
    linear: Floats


@dataclass(frozen=True)
class SmallSolution:
    """β and α; ``exact`` where the corner was found and checked."""

    beta: Floats
    alpha: Floats
    exact: bool
    steps: int


def solve_small(
    problem: SmallProblem,
    start: Floats,
    *,
    scale: float,
    max_steps: int,
    deadline: float,
) -> SmallSolution:
    """Follow the central path until it points at a corner; gaps are judged against ``scale``."""
    boxes = HingeBoxes(problem.z, problem.q, problem.c, problem.ridge, problem.linear)
    at, steps = boxes.start(start), 0
    for target in TARGETS:
        at, used = _follow(boxes, at, target * scale, max_steps - steps, deadline)
        steps += used
        corner = corner_of(problem, at)
        if corner is not None:
            return SmallSolution(*corner, True, steps)
        if steps >= max_steps or time.monotonic() > deadline:
            break
    return SmallSolution(at.beta, at.v[0], False, steps)


def solve_roughly(
    problem: SmallProblem, start: Floats, *, scale: float, max_steps: int, deadline: float
) -> SmallSolution:
    """As :func:`solve_small`, to a few digits and without looking for a corner."""
    boxes = HingeBoxes(problem.z, problem.q, problem.c, problem.ridge, problem.linear)
    at, steps = _follow(boxes, boxes.start(start), ROUGH * scale, max_steps, deadline)
    return SmallSolution(at.beta, at.v[0], False, steps)


def _follow(
    boxes: HingeBoxes, at: Point, target: float, max_steps: int, deadline: float
) -> tuple[Point, int]:
    """Steps until gap and imbalance are within the target, or no step helps any more."""
    best, stalled, steps = np.inf, 0, 0
    while steps < max_steps and time.monotonic() < deadline:
        merit = at.gap() + abs(float(boxes.imbalance(at) @ at.beta))
        if merit <= target:
            break
        stalled = 0 if merit < 0.9 * best else stalled + 1
        best = min(best, merit)
        if stalled > 6:
            break
        try:
            new = advance(boxes, at)
        except (linalg.LinAlgError, ValueError):
            break  # rounding has taken over
        if not np.isfinite(new.gap()) or new.v.min() <= 0.0 or new.s.min() <= 0.0:
            break
        at, steps = new, steps + 1
    return at, steps


def corner_of(problem: SmallProblem, at: Point) -> tuple[Floats, Floats] | None:
    """β and α of the corner that the interior point is near; None where it is none.

    A row that was taken for the wrong kind shows it, and is taken for the other one.
    """
    v, s, c = at.v[0], at.s[0], problem.c
    free = np.minimum(v, s) / c > np.maximum(at.p[0], at.q[0])
    top = v > s
    noise = 1e-9 * (1.0 + np.abs(problem.q))
    for _ in range(EXCHANGES):
        if free.sum() > 4 * len(at.beta) + 200:
            return None
        alpha = np.where(free, v, np.where(top, c, 0.0))
        beta, alpha[free] = _on_margin(problem, free, at.beta, alpha)
        if not np.isfinite(beta).all():
            return None
        short = problem.q - problem.z @ beta
        stray = ~free & np.where(top, short < -noise, short > noise)
        beyond = free & ((alpha < -1e-9 * c) | (alpha > (1.0 + 1e-9) * c))
        if not (stray | beyond).any():
            fits = not (free & (np.abs(short) > noise)).any()
            return (beta, np.clip(alpha, 0.0, c)) if fits else None
        top = np.where(beyond, alpha > c, top)
        free = (free & ~beyond) | stray
    return None


def _on_margin(
    problem: SmallProblem, free: NDArray[np.bool_], beta: Floats, alpha: Floats
) -> tuple[Floats, Floats]:
    """Solve Pβ − zᵀα = h and zβ = q over the free rows, by corrections of what is near already.

    Rows that depend on others (ties) leave α open: the correction is the shortest one.
    """
    z, own = problem.z[free], alpha[free]
    fixed = problem.linear + problem.z[~free].T @ alpha[~free]
    d, m = len(beta), len(own)
    size = 1.0 / np.sqrt(problem.ridge + (z**2).sum(axis=0) + np.finfo(float).tiny)
    weight = np.sqrt(float(np.mean(problem.c)))
    system = np.zeros((d + m, d + m))
    system[:d, :d] = np.diag(problem.ridge * size**2)
    scaled = z * size * weight
    system[:d, d:], system[d:, :d] = -scaled.T, scaled
    solve = _solver(system)
    for _ in range(3):
        left = fixed + z.T @ own - problem.ridge * beta
        step = solve(np.concatenate([left * size, (problem.q[free] - z @ beta) * weight]))
        beta = beta + size * step[:d]
        own = own + weight * step[d:]
    return beta, own


def _solver(system: Floats) -> Callable[[Floats], Floats]:
    """A solution by LU where the system is sound, else the shortest least-squares one."""
    lu, pivot, info = linalg.lapack.dgetrf(system)
    sizes = np.abs(np.diag(lu))
    if info == 0 and sizes.min() > 1e-11 * sizes.max():
        return lambda right: np.asarray(linalg.lapack.dgetrs(lu, pivot, right)[0])
    inverse = np.linalg.pinv(system, rcond=1e-12)
    return lambda right: inverse @ right
