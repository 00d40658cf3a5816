"""Logistic regression with an ℓ₁ penalty by working sets of columns.

A few columns are fitted first; then the gradient of *all* columns is computed, and those that
violate their optimality condition most join, until none does and the duality gap over all columns
is closed. Along a path the columns that the sequential strong rule does not discard start the set:

    |∂f/∂θⱼ| ≥ 2 ℓⱼ′ − ℓⱼ        at the solution with the thresholds ℓ, for the next ones ℓ′
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.logistic.certificate import gap_at
from separatrix.logistic.lasso.columns import columns_of
from separatrix.logistic.lasso.descent import SetPenalty, SetPoint, descend, point_of
from separatrix.logistic.lasso.rows import LassoRows
from separatrix.logistic.newton import DescentResult, size_of
from separatrix.logistic.problem import LogisticOptions, LogisticProblem
from separatrix.optimize.penalties import ElasticNet
from separatrix.optimize.solution import Status
from separatrix.rows.block import Floats, Ints

#: The least number of coefficients that may join a working set at once.
GROWTH = 1000
#: What a working set is solved to while others violate more: a fraction of the largest violation.
SET_ACCURACY = 0.3


@dataclass(frozen=True)
class AllColumns:
    """∂f/∂θ of all columns (d x scores), the violations, their largest, and the duality gap."""

    gradient: Floats
    violation: Floats
    largest: float
    gap: float


class WorkingSets:
    """Fits of one table with one penalty after the other, each from the last."""

    def __init__(self, rows: LassoRows, problem: LogisticProblem) -> None:
        self.rows, self.d = rows, rows.z.shape[1]
        self.intercept = problem.design.intercept
        self.free = self.intercept and not problem.penalty_scale[-1] > 0.0
        self.penalized = self.intercept and not self.free
        self.weight = problem.weight
        self.columns = columns_of(rows.z, ones=self.penalized)
        self.at = np.zeros(0, dtype=np.int64)
        self.before: tuple[Floats, Floats] | None = None  # gradient and thresholds of the last

    def solve(
        self, problem: LogisticProblem, start: Floats, options: LogisticOptions
    ) -> DescentResult:
        """Minimize F of ``problem``, which has these rows, from ``start``."""
        return self._solve(problem, start, options)

    def _solve(
        self, problem: LogisticProblem, start: Floats, options: LogisticOptions
    ) -> DescentResult:
        l1, l2 = problem.lasso, problem.ridge
        target = 0.3 * options.tol * problem.weight
        self._start_set(start, l1)
        point = self._point(start, l1, l2)
        known = self._all_columns(point, l1, l2)
        passes, history, status = 0, [point.objective], None
        while status is None:
            outside = self._largest_outside(known)
            if self._solved(known, point, options.tol, problem.weight):
                status = Status.SOLVED
            elif passes >= options.max_iter:
                status = Status.LIMIT
            elif target < 1e-17 * size_of(problem, point.objective):
                status = Status.ROUNDING
            else:
                theta = self._theta(point)
                if not self._enlarge(known, point) and passes:
                    target = min(target, self._needed(known, point, options.tol, problem.weight))
                point, count = descend(
                    self.rows,
                    self.columns,
                    self._set_penalty(l1, l2),
                    self._point(theta, l1, l2),
                    free=self.free,
                    target=max(SET_ACCURACY * outside, target),
                    steps=options.max_iter - passes,
                )
                passes += count
                history.append(point.objective)
                known = self._all_columns(point, l1, l2)
        self.before = known.gradient, l1
        theta = self._theta(point)
        if self.free and theta.shape[1] > 1:
            theta[-1] -= theta[-1].mean()
        return DescentResult(theta, np.zeros_like(theta), status, passes + 1, np.array(history))

    # -- the set ---------------------------------------------------------------------------------

    def _start_set(self, start: Floats, l1: Floats) -> None:
        """The columns in use, and those that the strong rule does not discard."""
        wanted = np.asarray(start[: self.d].any(axis=1))
        if self.before is not None:
            gradient, last = self.before
            size = np.abs(gradient).max(axis=1)
            wanted |= (size >= (2.0 * l1 - last)[: self.d]) & (size > 0.0)
        if np.count_nonzero(wanted) < len(self.at) // 2:
            self.columns = columns_of(self.rows.z, ones=self.penalized)
            self.at = self.at[:0]
        wanted[self.at] = False
        self._grow(np.flatnonzero(wanted))

    def _grow(self, new: Ints) -> None:
        if len(new):
            self.columns.grow(new)
            self.at = np.concatenate([self.at, new])

    def _enlarge(self, known: AllColumns, point: SetPoint) -> bool:
        """Add the columns that violate most; False if none does."""
        violation = known.violation.copy()
        violation[self.at] = 0.0
        outside = np.flatnonzero(violation)
        support, k = np.count_nonzero(point.theta.any(axis=1)), point.theta.shape[1]
        most = max(GROWTH // k, 10, 2 * support)
        if len(outside) > most:
            outside = outside[np.argpartition(-violation[outside], most)[:most]]
        self._grow(np.sort(outside))
        return len(outside) > 0

    def _largest_outside(self, known: AllColumns) -> float:
        inside = np.zeros(self.d, dtype=bool)
        inside[self.at] = True
        return float(np.max(known.violation, where=~inside, initial=0.0))

    # -- points ----------------------------------------------------------------------------------

    def _set_penalty(self, l1: Floats, l2: Floats) -> SetPenalty:
        index = np.append(np.full(int(self.penalized), self.d), self.at).astype(np.int64)
        return SetPenalty(l1[index], l2[index])

    def _point(self, theta: Floats, l1: Floats, l2: Floats) -> SetPoint:
        """The point on the working set, its scores computed anew."""
        inside, intercept = theta[self.at], np.zeros(theta.shape[1])
        if self.penalized:
            inside = np.vstack([theta[-1:], inside])
        if self.free:
            intercept = theta[-1] - self.columns.center @ inside
        penalty = self._set_penalty(l1, l2)
        return point_of(self.rows, self.columns, penalty, inside, intercept)

    def _theta(self, point: SetPoint) -> Floats:
        """Coefficients of all centered columns, and the intercept."""
        lead, k = int(self.penalized), point.theta.shape[1]
        theta = np.zeros((self.d + int(self.intercept), k))
        theta[self.at] = point.theta[lead:]
        if self.penalized:
            theta[-1] = point.theta[0]
        if self.free:
            theta[-1] = point.intercept + self.columns.center[: len(point.theta)] @ point.theta
        return theta

    def _all_columns(self, point: SetPoint, l1: Floats, l2: Floats) -> AllColumns:
        """One pass over all columns."""
        residual, d = point.at.residual, self.d
        several = len(residual) > 1
        gradient = self.rows.z.transposed_times(residual.T if several else residual[0])
        gradient = gradient.reshape(d, -1)
        if self.intercept:
            gradient = np.vstack([gradient, residual.sum(axis=1)])
        theta = self._theta(point)
        shape = theta.shape
        penalty = ElasticNet(
            np.broadcast_to(l1[:, None], shape), np.broadcast_to(l2[:, None], shape)
        )
        violation = penalty.distance(theta, -gradient).max(axis=1)
        gap = gap_at(penalty, theta, gradient, point.at.value, self.weight)
        return AllColumns(gradient[:d], violation[:d], float(violation.max(initial=0.0)), gap)

    def _needed(self, known: AllColumns, point: SetPoint, tol: float, weight: float) -> float:
        """The violation that would close the gap, which is about proportional to it."""
        gap = 0.5 * tol * point.objective / max(known.gap, 1e-300)
        kkt = 0.5 * tol * weight / max(known.largest, 1e-300)
        return 0.3 * known.largest * min(gap, kkt, 0.3)

    def _solved(self, known: AllColumns, point: SetPoint, tol: float, weight: float) -> bool:
        return known.largest <= 0.5 * tol * weight and known.gap <= 0.5 * tol * point.objective
