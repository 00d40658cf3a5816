"""Sequential minimal optimization with working sets and shrinking, for any number of rows.

A round of SMO takes a working set of the rows with the largest violation, half of them by their up
gradient and half by their down gradient, optimizes their coefficients with all others fixed, and
updates all gradients by one product with the kernel rows of the coefficients that changed.

Most rows end at a bound, β = 0 or |β| = C, and can be recognized early. Shrinking leaves them out
while rows near the margin are optimized; unshrinking computes all gradients again before a solution
is accepted. Kernel values are of single precision during the search; the gradients of the accepted
solution are of double precision.
"""

from __future__ import annotations

import numpy as np

from separatrix.rows.block import Floats, Ints
from separatrix.svm.dual.active_set import MOST, DualSolution, solve_active_set
from separatrix.svm.dual.gram_matrix import Buffers, GramMatrix, RowCache
from separatrix.svm.loops.smo import smo
from separatrix.svm.problem import Budget, SVMProblem

#: Rows up to which the Gram matrix is computed at once in single precision.
WHOLE = 2500
#: Rows of a working set.
WORKING_SET = 2032
#: Iterations on a working set, per row in it; the same where all rows are one.
_ITERATIONS = 40
#: A working set is optimized to this fraction of the violation it starts from.
_REDUCTION = 0.3
#: Iterations that are worth the Gram matrix of a working set.
MIN_ITERATIONS = 300
#: Rows of the first active set, as a fraction of all, and at least.
_FIRST, _LEAST = 0.2, 2000
#: Violation to which the first active sets are optimized, and the distance to the margin within
#: which rows belong to them.
_STAGES = ((0.1, 0.5), (0.3, 0.3), (0.03, 0.15))
_WIDTH = 0.03
#: Rounds of shrinking without a decrease after which the search ends.
_STALLED = 12
#: Tolerance (in units of the scores) from which on the last digits are found by Newton steps.
_FINE = 1e-6


class ShrinkingSMO:
    """Rounds of shrinking, optimizing and unshrinking, with the state that they share."""

    def __init__(
        self,
        gram: GramMatrix,
        problem: SVMProblem,
        tol: float,
        budget: Budget,
        cache_size: float,
        beta: Floats,
    ) -> None:
        """``beta`` is the feasible start."""
        self.gram, self.problem = gram, problem
        self.tol, self.unit, self.budget = tol, problem.unit, budget
        self.buffers = Buffers(gram, cache_size)
        self.single = gram.single
        self.beta, self.f = beta, gram.times(beta)

    def run(self) -> DualSolution:
        """Optimize growing active sets; a solution is accepted by gradients of double precision."""
        if self.single and self.problem.n <= WHOLE:
            found = self._whole()
            if found.violation <= self.tol or self.budget.exhausted:
                return found
        active, stage = self._first_active_set(), 0
        least, stalled, last = np.inf, 0, np.inf
        while True:
            target = _STAGES[stage][0] * self.unit if stage < len(_STAGES) else 0.0
            self._optimize(active, max(target, 0.9 * self.tol))
            violation = self.problem.violation(self.beta, self.f)
            stalled = stalled + 1 if violation > 0.7 * least else 0
            least = min(least, violation)
            over = self.budget.exhausted or stalled >= _STALLED
            if violation <= self.tol or over:
                self.f = self.gram.times(self.beta)
                violation = self.problem.violation(self.beta, self.f)
                if violation <= self.tol or over:
                    break
                self.single = self.single and violation < 0.5 * last
                last = violation
            stage += 1
            width = _STAGES[stage][1] if stage < len(_STAGES) else _WIDTH
            active = self._shrunk(width * self.unit)
        return DualSolution(self.beta, self.f, violation)

    def _whole(self) -> DualSolution:
        """SMO on all rows; where single precision is not enough, a start for the search."""
        p = self.problem
        self._at_once(np.arange(p.n), p, self.beta, self.f, 0.9 * self.tol)
        self.f = self.gram.times(self.beta)
        return DualSolution(self.beta, self.f, p.violation(self.beta, self.f))

    def _optimize(self, active: Ints, tol: float) -> None:
        """Optimize the active rows, then update the gradients of the others."""
        before = self.beta.copy()
        part = self.problem.take(active)
        beta, f = self.beta[active], self.f[active]
        if tol < _FINE * self.unit and len(active) <= MOST:
            solve_active_set(self.gram.square(active), part, beta, f, tol, tol, self.budget)
        else:
            violation = np.inf
            if self.single and len(active) <= WHOLE:
                violation = self._at_once(active, part, beta, f, tol)
            if violation > tol:
                cache = RowCache(self.gram, active, self.buffers, self.single)
                smo_working_sets(cache, part, beta, f, tol, self.budget)
        self.beta[active], self.f[active] = beta, f
        change = self.beta - before
        changed = np.flatnonzero(change)
        shrunk = np.ones(self.problem.n, dtype=bool)
        shrunk[active] = False
        rest = np.flatnonzero(shrunk)
        self.f[rest] += self.gram.product(rest, changed, change[changed], self.single)

    def _at_once(
        self, active: Ints, part: SVMProblem, beta: Floats, f: Floats, tol: float
    ) -> float:
        """SMO on all active rows; the violation that is left."""
        gram = self.buffers.block("rows", len(active), len(active), np.float32)
        self.gram.prepare(active, single=True).gram(gram)
        limit = min(_ITERATIONS * len(active), self.budget.remaining)
        data = (gram, self.gram.diagonal[active], part.t, part.low, part.high, part.epsilon)
        count, least, most = smo(*data, beta, f, tol, limit)
        self.budget.n_iter += count
        return most - least

    def _first_active_set(self) -> Ints:
        """Some rows in random order, and all support vectors of the start."""
        n = self.problem.n
        count = max(_LEAST, int(_FIRST * n))
        if count >= n // 2:
            return np.arange(n)
        chosen = self.beta != 0.0
        chosen[np.random.default_rng(0).permutation(n)[:count]] = True
        return np.flatnonzero(chosen)

    def _shrunk(self, width: float) -> Ints:
        """The active set: rows that violate optimality, or would within ``width`` of b."""
        middle = -self.problem.best_intercept(self.beta, self.f)
        up = self.problem.up_gradient(self.beta, self.f)
        down = self.problem.down_gradient(self.beta, self.f)
        active = (up < middle + width) | (down > middle - width)
        active[[int(up.argmin()), int(down.argmax())]] = True  # the worst pair in any case
        return np.flatnonzero(active)


def smo_working_sets(
    cache: RowCache,
    problem: SVMProblem,
    beta: Floats,
    f: Floats,
    tol: float,
    budget: Budget,
) -> float:
    """SMO on working sets until the violation is at most ``tol``; returns what is left.

    β and f change in place.
    """
    violation, stuck = np.inf, 0
    while not budget.exhausted:
        up, down = problem.up_gradient(beta, f), problem.down_gradient(beta, f)
        before, violation = violation, max(float(down.max() - up.min()), 0.0)
        if violation <= tol:
            break
        stuck = stuck + 1 if violation >= before else 0
        chosen = widest(up, down, WORKING_SET)
        gram = cache.square(chosen)
        part = problem.take(chosen)
        own, gradient = beta[chosen], f[chosen]
        target = max(0.5 * tol, _REDUCTION * violation / (1 + stuck))
        limit = min(_ITERATIONS * len(chosen), budget.remaining)
        diagonal = cache.gram.diagonal[cache.columns[chosen]]
        data = (gram, diagonal, part.t, part.low, part.high, part.epsilon, own, gradient)
        count, *_ = smo(*data, target, limit)
        while count < MIN_ITERATIONS and target > tol:  # few rows stand out: the next ones, too
            target = max(0.5 * tol, _REDUCTION * target)
            more, *_ = smo(*data, target, limit - count)
            count += more
        change = own - beta[chosen]
        changed = change != 0.0
        if not changed.any():
            break
        cache.add_to(f, chosen[changed], change[changed])
        beta[chosen] = own
        budget.n_iter += count
    return violation


def widest(up: Floats, down: Floats, size: int) -> Ints:
    """The rows of least up and of greatest down gradient, in equal number; a row may be both."""
    half = size // 2
    if len(up) <= size:
        return np.arange(len(up))
    chosen = np.zeros(len(up), dtype=bool)
    chosen[np.argpartition(up, half)[:half]] = True
    chosen[np.argpartition(down, len(down) - half)[len(down) - half :]] = True
    return np.flatnonzero(chosen)
