"""Support vectors of any number of rows: guess who matters, solve for these, ask everyone again.

Most rows end at a bound: far on their own side (β = 0) or deep on the other one (β = C). What they
want is known long before the rest is settled, so they are left alone while rows near the margin are
solved for, and are heard again before the answer is accepted. Similarities are of single precision
while searching; slopes are kept in double precision and are computed afresh, in double precision,
before an answer is accepted, so that rounding never enters it unseen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.rows.block import Floats, Ints
from separatrix.svm.dual.active_set import MOST, settle
from separatrix.svm.dual.blocks import Effort, descend_blocks
from separatrix.svm.dual.certificate import scores_by_support
from separatrix.svm.dual.kernel_rows import KernelRows, RowMemory
from separatrix.svm.dual.points import Points
from separatrix.svm.dual.problem import DualProblem
from separatrix.svm.loops.smo import descend
from separatrix.threads import one_blas_thread

#: Rows up to which the whole Gram matrix is computed, and the answer is exact up to rounding.
DIRECT = 1200
#: Rows up to which all similarities are computed at once, in single precision.
WHOLE = 2500
#: Rows of the first guess, as a share of all, and at least.
_FIRST, _LEAST = 0.2, 2000
#: Violation down to which guesses are solved, and how near the margin a row must be to take part.
_STAGES = ((0.1, 0.5), (0.3, 0.3), (0.03, 0.15))
_WIDTH = 0.03
#: Pairs per row, where all rows are changed together.
_PAIRS = 40
#: Rounds of asking without a gain after which the search ends.
_VAIN = 12
#: Tolerance (in units of the slopes) from which on the last digits are found by linear systems.
_FINE = 1e-6
#: Violation that rounding leaves, relative to the terms of the slopes.
_ROUNDING = 1e-12


@dataclass
class Support:
    """Coefficients β, f = Kβ in double precision, and the violation that is left."""

    beta: Floats
    f: Floats
    violation: float


def solve_support(
    points: Points,
    problem: DualProblem,
    *,
    tol: float,
    unit: float = 1.0,
    effort: Effort,
    megabytes: float = 500.0,
    start: Floats | None = None,
) -> Support:
    """β with a violation of at most ``tol`` units, or the best when the effort is exhausted.

    ``start`` is a β to begin with, clipped to the bounds; its sum must be zero.
    """
    beta = np.zeros(problem.n) if start is None else _within(problem, start)
    with one_blas_thread():
        if problem.n <= DIRECT:
            return _direct(points, problem, beta, tol * unit, unit, effort)
        return _Search(points, problem, beta, tol * unit, unit, effort, megabytes).run()


def _direct(
    points: Points, problem: DualProblem, beta: Floats, tol: float, unit: float, effort: Effort
) -> Support:
    gram = np.ascontiguousarray(points.gram(np.arange(problem.n)), dtype=float)
    f = gram @ beta
    size = unit + float(np.abs(problem.t).max(initial=0.0))
    violation = settle(gram, problem, beta, f, tol, _ROUNDING * size, effort)
    return Support(beta, f, violation)


class _Search:
    """Rounds of guessing, solving and asking, with what they share."""

    def __init__(
        self,
        points: Points,
        problem: DualProblem,
        beta: Floats,
        tol: float,
        unit: float,
        effort: Effort,
        megabytes: float,
    ) -> None:
        self.points, self.problem, self.beta = points, problem, beta
        self.tol, self.unit, self.effort = tol, unit, effort
        self.memory = RowMemory(points, megabytes)
        self.single = points.single
        self.f = scores_by_support(points, beta) if beta.any() else np.zeros(problem.n)

    def run(self) -> Support:
        """Guess, solve, ask; every answer is judged by slopes of double precision."""
        if self.single and self.problem.n <= WHOLE:
            found = self._all_at_once()
            if found.violation <= self.tol or self.effort.exhausted:
                return found
        active, stage = self._first_guess(), 0
        least, vain, last = np.inf, 0, np.inf
        while True:
            target = _STAGES[stage][0] * self.unit if stage < len(_STAGES) else 0.0
            self._solve(active, max(target, 0.9 * self.tol))
            violation = self.problem.violation(self.beta, self.f)
            vain = vain + 1 if violation > 0.7 * least else 0
            least = min(least, violation)
            over = self.effort.exhausted or vain >= _VAIN
            if violation <= self.tol or over:
                self.f = scores_by_support(self.points, self.beta)
                violation = self.problem.violation(self.beta, self.f)
                if violation <= self.tol or over:
                    break
                self.single = self.single and violation < 0.5 * last
                last = violation
            stage += 1
            width = _STAGES[stage][1] if stage < len(_STAGES) else _WIDTH
            active = self._restless(width * self.unit)
        return Support(self.beta, self.f, violation)

    def _all_at_once(self) -> Support:
        """Pairs among all rows; where single precision is not enough, a start for the search."""
        p = self.problem
        gram = self.points.gram(np.arange(p.n), single=True)
        limit = min(_PAIRS * p.n, self.effort.pairs - self.effort.done)
        table = (gram, self.points.diagonal, p.t, p.low, p.high, p.eps)
        count, _ = descend(*table, self.beta, self.f, 0.9 * self.tol, limit)
        self.effort.done += count
        self.effort.rounds += 1
        self.f = scores_by_support(self.points, self.beta)
        return Support(self.beta, self.f, p.violation(self.beta, self.f))

    def _solve(self, active: Ints, tol: float) -> None:
        """Settle the active rows, then tell the others what has changed."""
        before = self.beta.copy()
        part = self.problem.take(active)
        beta, f = self.beta[active], self.f[active]
        if tol < _FINE * self.unit and len(active) <= MOST:
            settle(self.points.gram(active), part, beta, f, tol, tol, self.effort)
        else:
            rows = KernelRows(self.points, active, self.memory, self.single)
            descend_blocks(rows, part, beta, f, tol, self.effort)
        self.beta[active], self.f[active] = beta, f
        change = self.beta - before
        moved = np.flatnonzero(change)
        waiting = np.ones(self.problem.n, dtype=bool)
        waiting[active] = False
        rest = np.flatnonzero(waiting)
        self.f[rest] += self.points.products(rest, moved, change[moved], self.single)

    def _first_guess(self) -> Ints:
        """Some rows in an order of no meaning, and all that have a coefficient already."""
        n = self.problem.n
        count = max(_LEAST, int(_FIRST * n))
        if count >= n // 2:
            return np.arange(n)
        chosen = self.beta != 0.0
        chosen[np.random.default_rng(0).permutation(n)[:count]] = True
        return np.flatnonzero(chosen)

    def _restless(self, width: float) -> Ints:
        """Rows that would move, or nearly: within ``width`` of the slope at which all rest."""
        rest = -self.problem.offset(self.beta, self.f)
        up = self.problem.rises(self.beta, self.f)
        down = self.problem.falls(self.beta, self.f)
        near = (up < rest + width) | (down > rest - width)
        near[[int(up.argmin()), int(down.argmax())]] = True  # the worst pair always takes part
        return np.flatnonzero(near)


def _within(problem: DualProblem, start: Floats) -> Floats:
    """A start inside the bounds whose sum is zero: the heavier side is scaled down."""
    beta = np.clip(np.asarray(start, dtype=float), problem.low, problem.high)
    above, below = beta[beta > 0].sum(), -beta[beta < 0].sum()
    if above > below:
        beta[beta > 0] *= below / above
    elif below > above:
        beta[beta < 0] *= above / below
    return np.asarray(beta)
