"""The last digits: with everyone's side known, the margin is a linear system.

    [K_FF  1] [d]   [t − ε sign β − f]
    [1ᵀ    0] [b] = [       0        ]        F: rows between their bounds

A pair at a time converges slowly where rows are nearly dependent; this step goes straight to the
point where all rows of F lie on the margin, or to the first bound on the way there, which takes a
row out of F. Both lower the objective, so the two kinds of steps can alternate without cycling.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from separatrix.rows.block import Floats
from separatrix.svm.dual.blocks import Effort
from separatrix.svm.dual.problem import DualProblem
from separatrix.svm.loops.smo import descend

#: Added to the diagonal, as a share of it: directions without curvature lead to a bound.
_RIDGE = 1e-9
#: Rows up to which the system is solved.
MOST = 4000
#: Steps to a margin that no bound obstructs, and what counts as no gain.
_REPEATS, _NOTHING = 3, 1e-18
#: Turns spent on digits beyond those asked for.
_TURNS = 10
#: Turns without a clear gain after which no more systems are solved.
_VAIN = 4
#: Multiplications that the systems of one turn may take, and the most steps.
_WORK, _STEPS = 1e9, 150


def settle(
    gram: Floats,
    problem: DualProblem,
    beta: Floats,
    f: Floats,
    tol: float,
    fine: float,
    effort: Effort,
) -> float:
    """Pairs and linear systems in turn, until the violation is at most ``tol``, better ``fine``.

    β and f change in place; f may have a part that comes from other rows, which stays. The
    violation that is left is returned.
    """
    others = f - gram @ beta
    p, diagonal = problem, np.ascontiguousarray(np.diag(gram), dtype=float)
    violation, spare, vain = problem.violation(beta, f), _TURNS, 0
    while violation > fine and spare and not effort.exhausted:
        some = min(5 * problem.n + 1000, effort.pairs - effort.done)
        goal = fine if violation <= tol else max(fine, 0.1 * tol)
        count, _ = descend(gram, diagonal, p.t, p.low, p.high, p.eps, beta, f, goal, some)
        effort.done += max(count, 1)
        moved = vain < _VAIN and _to_the_margin(gram, problem, beta, others, effort)
        f[:] = gram @ beta + others
        before, violation = violation, problem.violation(beta, f)
        vain = vain + 1 if violation > 0.5 * before else 0
        if violation <= tol:
            spare = 0 if vain >= _VAIN else spare - 1
        if not moved and count == 0 and violation >= before:
            break
    return violation


def _to_the_margin(
    gram: Floats, problem: DualProblem, beta: Floats, others: Floats, effort: Effort
) -> bool:
    """Steps to the solution of the system, each of which may fix rows at bounds; whether any."""
    moved, repeated = False, 0
    size = max(int(problem.free(beta).sum()), 1)
    for _ in range(int(np.clip(_WORK / size**3, 2, _STEPS))):
        free = np.flatnonzero(problem.free(beta))
        if not 2 <= len(free) <= MOST or effort.exhausted:
            return moved
        step = _newton(gram, problem, beta, others, free)
        if step is None:
            return moved
        moved = True
        if not _walk(problem, beta, free, step):
            repeated += 1
            if repeated == _REPEATS:  # the ridge holds back a little of each step
                break
    return moved


def _newton(
    gram: Floats, problem: DualProblem, beta: Floats, others: Floats, free: np.ndarray
) -> Floats | None:
    """d of the system above; None where it gains nothing, or K is not made of inner products."""
    matrix = gram[np.ix_(free, free)].astype(float)
    matrix[np.diag_indices_from(matrix)] *= 1.0 + _RIDGE
    matrix[np.diag_indices_from(matrix)] += np.finfo(float).tiny
    wanted = problem.t[free] - problem.eps * np.sign(beta[free])
    wanted -= gram[free] @ beta + others[free]
    try:
        factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    both = linalg.cho_solve(factor, np.column_stack([wanted, np.ones(len(free))]))
    total = both[:, 1].sum()
    if not np.isfinite(both).all() or not total > 0.0:
        return None
    step = both[:, 0] - both[:, 0].sum() / total * both[:, 1]
    step -= step.mean()  # rounding must not move the sum
    gain = float(step @ wanted)
    return step if gain > _NOTHING * float(np.abs(problem.t) @ np.abs(beta)) else None


def _walk(problem: DualProblem, beta: Floats, free: np.ndarray, step: Floats) -> bool:
    """β + s d with the largest s ≤ 1 that no bound forbids; whether a bound was met."""
    here, low, high = beta[free], problem.low[free], problem.high[free]
    if problem.eps > 0.0:  # the slope changes at zero
        low, high = np.where(here > 0, 0.0, low), np.where(here < 0, 0.0, high)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(
            step > 0, (high - here) / step, np.where(step < 0, (low - here) / step, np.inf)
        )
    share = float(min(1.0, room.min()))
    there = np.clip(here + share * step, low, high)
    met = room <= share
    if met.any():
        there[met] = np.where(step > 0, high, low)[met]
    beta[free] = there
    return bool(met.any())
