"""Solve the dual of a ν-SVM: SMO and Newton steps on the whole Gram matrix, or on working sets.

A Newton step goes to where the gradients of the free coefficients of each group are equal,

    [K_FF  A] [d]   [t − f]
    [Aᵀ    0] [λ] = [  0  ]        F: free coefficients, A: which group each belongs to

or to the first bound on the way there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import linalg

from separatrix.rows.block import Floats, Ints
from separatrix.svm.dual.active_set import MOST, newton_rounds, step_to_bound
from separatrix.svm.dual.gram_matrix import Buffers, GramMatrix, RowCache
from separatrix.svm.dual.smo import WORKING_SET, widest
from separatrix.svm.loops.nu_smo import nu_smo
from separatrix.svm.nu.problem import NuProblem
from separatrix.svm.problem import Budget, SolverOptions

#: Rows up to which the whole Gram matrix is computed, and the solution is exact up to rounding.
DIRECT = 1200
#: Violation that rounding leaves, relative to the scores, and to the terms of the gradients.
_ROUNDING, _NOISE = 1e-12, 1e-15
#: Added to the diagonal, relative to it.
_RIDGE = 1e-9
#: Rounds of SMO and Newton steps, and how many without a clear decrease end them.
_ROUNDS, _STALLED = 200, 6
#: Rounds of working sets without a clear decrease that end the search.
_STALLED_SETS = 40
#: A working set is optimized to this fraction of the violation it starts from.
_REDUCTION = 0.3


def solve_nu(
    gram: GramMatrix, problem: NuProblem, options: SolverOptions, budget: Budget
) -> tuple[Floats, Floats, bool]:
    """γ, f = Kβ in double precision, and whether the tolerance was reached."""
    gamma = problem.start.copy()
    if gram.n <= DIRECT:
        f = _solve_whole(gram, problem, gamma, options.tol, budget)
    else:
        f = _solve_working_sets(gram, problem, gamma, options, budget)
    gamma = problem.snapped(gamma)
    return gamma, f, problem.violation(gamma, f) <= options.tol * problem.scale(gamma, f)


# -- all rows at once ------------------------------------------------------------------------------


def _solve_whole(
    gram: GramMatrix, problem: NuProblem, gamma: Floats, tol: float, budget: Budget
) -> Floats:
    """SMO and Newton steps in turn, to rounding if possible."""
    whole = np.ascontiguousarray(gram.square(np.arange(gram.n)), dtype=float)
    p = problem.part
    f = whole @ problem.beta(gamma, gram.n)
    noise = _NOISE * float(np.abs(gamma).sum()) * float(np.abs(gram.diagonal).max())
    violation, stalled = problem.violation(gamma, f), 0
    for _ in range(_ROUNDS):
        unit = problem.scale(gamma, f)
        fine = max(_ROUNDING * unit, noise)
        if violation <= fine or stalled >= _STALLED or budget.exhausted:
            break
        goal = fine if violation <= tol * unit else max(0.1 * tol * unit, fine)
        limit = min(5 * len(gamma) + 1000, budget.remaining)
        data = (whole, problem.row, problem.group, p.t, p.low, p.high)
        budget.n_iter += max(1, int(nu_smo(*data, gamma, f, goal, limit)))
        _newton_steps(whole, problem, gamma, budget)
        f = whole @ problem.beta(gamma, gram.n)
        before, violation = violation, problem.violation(gamma, f)
        stalled = stalled + 1 if violation > 0.5 * before else 0
    return f


def _newton_steps(gram: Floats, problem: NuProblem, gamma: Floats, budget: Budget) -> None:
    """Newton steps, each of which may put coefficients on bounds."""
    size = max(int(problem.part.free(gamma).sum()), 1)
    full = 0
    for _ in range(newton_rounds(size)):
        free = np.flatnonzero(problem.part.free(gamma))
        if not 2 <= len(free) <= MOST or budget.exhausted:
            return
        step = _newton(gram, problem, gamma, free)
        if step is None:
            return
        if not step_to_bound(problem.part, gamma, free, step):
            full += 1
            if full == 3:  # the ridge shortens each step a little
                return


def _newton(gram: Floats, problem: NuProblem, gamma: Floats, free: Ints) -> Floats | None:
    """d of the system above; None where nothing decreases, or K_FF is not positive definite."""
    rows = problem.row[free]
    matrix = gram[np.ix_(rows, rows)]
    matrix[np.diag_indices_from(matrix)] *= 1.0 + _RIDGE
    matrix[np.diag_indices_from(matrix)] += np.finfo(float).tiny
    f = gram[rows] @ problem.beta(gamma, len(gram))
    residual = problem.part.t[free] - f
    groups = np.unique(problem.group[free])
    member = (problem.group[free][:, None] == groups).astype(float)
    residual = residual - member @ ((member.T @ residual) / member.sum(axis=0))
    try:
        factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        solved = linalg.cho_solve(factor, np.column_stack([residual, member]))
        level = np.linalg.solve(member.T @ solved[:, 1:], member.T @ solved[:, 0])
    except np.linalg.LinAlgError:
        return None
    step = solved[:, 0] - solved[:, 1:] @ level
    step -= member @ ((member.T @ step) / member.sum(axis=0))  # rounding must not change the sums
    if not np.isfinite(step).all():
        return None
    return np.asarray(step) if float(step @ residual) > 0.0 else None


# -- many rows -------------------------------------------------------------------------------------


def _solve_working_sets(
    gram: GramMatrix, problem: NuProblem, gamma: Floats, options: SolverOptions, budget: Budget
) -> Floats:
    """SMO on the coefficients of largest violation, kernel values in single precision at first."""
    every, buffers, single = np.arange(gram.n), Buffers(gram, options.cache_size), gram.single
    cache = RowCache(gram, every, buffers, single)
    f, p = gram.times(problem.beta(gamma, gram.n)), problem.part
    exact, least, stalled = True, np.inf, 0
    while True:
        up, down = p.up_gradient(gamma, f[problem.row]), p.down_gradient(gamma, f[problem.row])
        violation = problem.violation(gamma, f)
        stalled = stalled + 1 if violation > 0.9 * least else 0
        least = min(least, violation)
        tol = options.tol * problem.scale(gamma, f)
        over = budget.exhausted or stalled >= _STALLED_SETS
        if violation <= 0.9 * tol or over:
            if exact:
                return f
            f, exact = gram.times(problem.beta(gamma, gram.n)), True
            if problem.violation(gamma, f) > tol and single and not over:
                single, least, stalled = False, np.inf, 0
                cache = RowCache(gram, every, buffers, single)
            continue
        _optimize(cache, problem, _working_set(problem, up, down), gamma, f, violation, budget)
        exact = False


def _working_set(problem: NuProblem, up: Floats, down: Floats) -> Ints:
    """The coefficients of least up and greatest down gradient of every group."""
    chosen = [
        own[widest(up[own], down[own], WORKING_SET // problem.n_groups)]
        for own in (np.flatnonzero(problem.group == g) for g in range(problem.n_groups))
    ]
    return np.concatenate(chosen)


def _optimize(
    cache: RowCache,
    problem: NuProblem,
    chosen: Ints,
    gamma: Floats,
    f: Floats,
    violation: float,
    budget: Budget,
) -> None:
    """Optimize the chosen coefficients with all others fixed; γ and f change in place."""
    rows, where = np.unique(problem.row[chosen], return_inverse=True)
    square = np.ascontiguousarray(cache.square(rows), dtype=float)
    part = replace(
        problem.part,
        t=problem.part.t[chosen],
        low=problem.part.low[chosen],
        high=problem.part.high[chosen],
    )
    own, gradient = gamma[chosen], f[rows]
    data = (square, where.astype(np.int64), problem.group[chosen], part.t, part.low, part.high)
    limit = min(40 * len(chosen), budget.remaining)
    count = int(nu_smo(*data, own, gradient, _REDUCTION * violation, limit))
    budget.n_iter += max(1, count)
    change = np.asarray(np.bincount(where, own - gamma[chosen], len(rows)), dtype=float)
    gamma[chosen] = own
    changed = np.flatnonzero(change)
    if len(changed):
        cache.add_to(f, rows[changed], change[changed])
