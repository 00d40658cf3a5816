"""Active-set Newton steps for the dual: the exact solution on the free support vectors.

    [K_FF  1] [d]   [t − ε sign β − f]
    [1ᵀ    0] [b] = [       0        ]        F: free support vectors, low < β < high

SMO converges slowly where rows are nearly dependent. A Newton step goes straight to the point where
all rows of F lie on the margin, or to the first bound on the way there, which takes a row out of F.
Both kinds of steps lower the objective, so that they alternate without cycling.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from separatrix.rows.block import Floats, Ints
from separatrix.svm.loops.smo import smo
from separatrix.svm.problem import Budget, SVMProblem

#: Added to the diagonal, relative to it: directions of zero curvature lead to a bound.
_RIDGE = 1e-9
#: Free support vectors up to which the system is solved.
MOST = 4000
#: Full Newton steps in a row, and the relative decrease that counts as none.
_REPEATS, _NO_DECREASE = 3, 1e-18
#: Rounds spent on digits beyond the tolerance.
_EXTRA_ROUNDS = 10
#: Rounds without a clear decrease of the violation after which no more systems are solved.
_STALLED = 4
#: Kernel values between which SMO reads them in single precision.
_SINGLE = (1e-20, 1e20)
#: Multiplications for the systems of one round, and the most steps.
_WORK, _STEPS = 1e9, 150


@dataclass
class DualSolution:
    """Coefficients β, f = Kβ in double precision, and the violation that is left."""

    beta: Floats
    f: Floats
    violation: float


def solve_active_set(
    gram: Floats,
    problem: SVMProblem,
    beta: Floats,
    f: Floats,
    tol: float,
    fine: float,
    budget: Budget,
) -> float:
    """SMO and Newton steps in turn until the violation is at most ``tol``, if possible ``fine``.

    β and f change in place; f may include a constant part from other rows. The violation that is
    left is returned.
    """
    constant = f - gram @ beta
    p, diagonal = problem, np.ascontiguousarray(np.diag(gram), dtype=float)
    # f is of double precision and computed again after every round: SMO may round K until it stalls
    rounded = gram.astype(np.float32) if _is_of_single_range(diagonal) else gram
    violation, extra, stalled = problem.violation(beta, f), _EXTRA_ROUNDS, 0
    while violation > fine and extra and not budget.exhausted:
        limit = min(5 * problem.n + 1000, budget.remaining)
        goal = fine if violation <= tol else max(fine, 0.1 * tol)
        count, *_ = smo(rounded, diagonal, p.t, p.low, p.high, p.epsilon, beta, f, goal, limit)
        budget.n_iter += max(count, 1)
        moved = stalled < _STALLED and _newton_steps(gram, problem, beta, constant, budget)
        f[:] = gram @ beta + constant
        before, violation = violation, problem.violation(beta, f)
        stalled = stalled + 1 if violation > 0.5 * before else 0
        if violation <= tol:
            extra = 0 if stalled >= _STALLED else extra - 1
        stuck = not moved and count == 0 and violation >= before
        if rounded is not gram and violation > tol and (stuck or stalled):
            rounded, stalled = gram, 0
        elif stuck:
            break
    return violation


def _is_of_single_range(diagonal: Floats) -> bool:
    """Whether kernel values of this size have their digits in single precision, too."""
    size = float(np.abs(diagonal).max(initial=0.0))
    return _SINGLE[0] < size < _SINGLE[1]


def newton_rounds(size: int) -> int:
    """How many systems of this size one round may solve."""
    return int(np.clip(_WORK / size**3, 2, _STEPS))


def _newton_steps(
    gram: Floats, problem: SVMProblem, beta: Floats, constant: Floats, budget: Budget
) -> bool:
    """Newton steps, each of which may put coefficients on bounds; whether any was taken."""
    moved, full = False, 0
    size = max(int(problem.free(beta).sum()), 1)
    for _ in range(newton_rounds(size)):
        free = np.flatnonzero(problem.free(beta))
        if not 2 <= len(free) <= MOST or budget.exhausted:
            return moved
        step = _newton(gram, problem, beta, constant, free)
        if step is None:
            return moved
        moved = True
        if not step_to_bound(problem, beta, free, step):
            full += 1
            if full == _REPEATS:  # the ridge shortens each step a little
                break
    return moved


def _newton(
    gram: Floats, problem: SVMProblem, beta: Floats, constant: Floats, free: Ints
) -> Floats | None:
    """d of the system above; None where nothing decreases, or K_FF is not positive definite."""
    matrix = gram[np.ix_(free, free)].astype(float)
    matrix[np.diag_indices_from(matrix)] *= 1.0 + _RIDGE
    matrix[np.diag_indices_from(matrix)] += np.finfo(float).tiny
    residual = problem.t[free] - problem.epsilon * np.sign(beta[free])
    residual -= gram[free] @ beta + constant[free]
    try:
        factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    both = linalg.cho_solve(factor, np.column_stack([residual, np.ones(len(free))]))
    total = both[:, 1].sum()
    if not np.isfinite(both).all() or not total > 0.0:
        return None
    step = both[:, 0] - both[:, 0].sum() / total * both[:, 1]
    step -= step.mean()  # rounding must not change the sum
    decrease = float(step @ residual)
    return step if decrease > _NO_DECREASE * float(np.abs(problem.t) @ np.abs(beta)) else None


def step_to_bound(problem: SVMProblem, beta: Floats, free: Ints, step: Floats) -> bool:
    """β + s d with the largest feasible s ≤ 1; whether a bound was reached."""
    here, low, high = beta[free], problem.low[free], problem.high[free]
    if problem.epsilon > 0.0:  # the derivative jumps at zero
        low, high = np.where(here > 0, 0.0, low), np.where(here < 0, 0.0, high)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(
            step > 0, (high - here) / step, np.where(step < 0, (low - here) / step, np.inf)
        )
    length = float(min(1.0, room.min()))
    there = np.clip(here + length * step, low, high)
    reached = room <= length
    if reached.any():
        there[reached] = np.where(step > 0, high, low)[reached]
    beta[free] = there
    return bool(reached.any())
