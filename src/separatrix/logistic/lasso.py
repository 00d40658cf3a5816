"""Logistic regression with an ℓ₁ penalty by working sets of columns.

A few columns are fitted first; then the gradient of *all* columns is computed, and those that
violate their optimality condition most join, until none does and the duality gap over all columns
is closed. Along a path the columns that the sequential strong rule does not discard start the set:

    |∂f/∂θⱼ| ≥ 2 ℓⱼ′ − ℓⱼ        at the solution with the thresholds ℓ, for the next ones ℓ′
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from separatrix.arrays import Floats, Ints
from separatrix.logistic import loops
from separatrix.logistic.newton import DescentResult, size_of
from separatrix.logistic.problem import LogisticOptions, LogisticProblem, LossEvaluation, gap_at
from separatrix.logistic.wide import WideLogistic
from separatrix.matrices.products import SparseProducts, Standardized, products
from separatrix.optimize.convex import ElasticNetPenalty, Status
from separatrix.optimize.loops import sweep
from separatrix.optimize.newton import backtrack, cholesky_solver
from separatrix.probability.likelihood import class_variances
from separatrix.probability.loops import softmax_by_class
from separatrix.threads import parallel_map, pieces


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
        passes, history, status = 0, [point.value], None
        while status is None:
            outside = self._largest_outside(known)
            if self._solved(known, point, options.tol, problem.weight):
                status = Status.SOLVED
            elif passes >= options.max_iter:
                status = Status.LIMIT
            elif target < 1e-17 * size_of(problem, point.value):
                status = Status.ROUNDING
            else:
                theta = self._theta(point)
                if not self._enlarge(known, point) and passes:
                    target = min(
                        target, self._required_gap(known, point, options.tol, problem.weight)
                    )
                # What a working set is solved to while others violate more: a fraction of the
                # largest violation.
                point, count = descend(
                    self.rows,
                    self.columns,
                    self._set_penalty(l1, l2),
                    self._point(theta, l1, l2),
                    free=self.free,
                    target=max(0.3 * outside, target),
                    steps=options.max_iter - passes,
                )
                passes += count
                history.append(point.value)
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
        # The least number of coefficients that may join a working set at once.
        most = max(1000 // k, 10, 2 * support)
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
        penalty = ElasticNetPenalty(
            np.broadcast_to(l1[:, None], shape), np.broadcast_to(l2[:, None], shape)
        )
        violation = penalty.distance(theta, -gradient).max(axis=1)
        gap = gap_at(penalty, theta, gradient, point.at.value, self.weight)
        return AllColumns(gradient[:d], violation[:d], float(violation.max(initial=0.0)), gap)

    def _required_gap(self, known: AllColumns, point: SetPoint, tol: float, weight: float) -> float:
        """The violation that would close the gap, which is about proportional to it."""
        gap = 0.5 * tol * point.value / max(known.gap, 1e-300)
        kkt = 0.5 * tol * weight / max(known.largest, 1e-300)
        return 0.3 * known.largest * min(gap, kkt, 0.3)

    def _solved(self, known: AllColumns, point: SetPoint, tol: float, weight: float) -> bool:
        return known.largest <= 0.5 * tol * weight and known.gap <= 0.5 * tol * point.value


# -------------------------------------------------------------------------------------------------
# Rows of a logistic fit with an ℓ₁ part, and its loss at scores of any number of classes.


@dataclass(frozen=True)
class LassoRows:
    """Columns ``z``, centered and scaled without filling in; codes and weights of the rows."""

    z: Standardized
    codes: Ints
    w: Floats
    n_scores: int

    @classmethod
    def of(cls, problem: LogisticProblem) -> LassoRows:
        """The rows of a problem in memory."""
        if isinstance(problem, WideLogistic):
            assert isinstance(problem.x, Standardized)
            return cls(problem.x, problem.codes, problem.w, problem.design.n_scores)
        block, design = problem.rows.collect(), problem.design
        columns = len(design.center)
        z = Standardized(products(block.x), design.center, problem.scale[:columns])
        return cls(z, block.codes(design.targets), block.weights, design.n_scores)

    @cached_property
    def positive(self) -> Floats:
        """1 for rows of the second class."""
        return self.codes.astype(np.float64)

    def loss(self, scores: Floats, move: Floats, t: float, floor: float) -> ModelRows:
        """Loss and derivatives at scores + t·move (scores x n)."""
        k, n = scores.shape
        residual, h = np.empty((k, n)), np.empty((k, n))
        p = np.empty((k, n)) if k > 1 else h

        def part(rows: slice) -> float:
            if k == 1:
                return float(
                    loops.two_class_model(
                        scores[0, rows],
                        move[0, rows],
                        t,
                        self.positive[rows],
                        self.w[rows],
                        floor,
                        residual[0, rows],
                        h[0, rows],
                    )
                )
            there = scores[:, rows] + t * move[:, rows]
            piece = np.empty_like(there)
            value = softmax_by_class(there, self.codes[rows], self.w[rows], piece)
            residual[:, rows], p[:, rows] = piece, there
            h[:, rows] = np.maximum(class_variances(there, piece), self.w[rows] * floor)
            return float(value)

        value = sum(parallel_map(part, pieces(n, 1000)))  # rows whose loss is worth another thread
        return ModelRows(value, residual, h, p, self.w)


@dataclass(frozen=True)
class ModelRows:
    """The loss, w (p − y), curvatures w p(1 − p), and p of several classes, by score and row."""

    value: float
    residual: Floats
    h: Floats
    p: Floats
    w: Floats


# -------------------------------------------------------------------------------------------------
# Columns of a working set, dense or sparse, in units of one: moments, sweeps, scores.
#
# Sparse columns are scaled and not centered, dense ones are centered; with a free intercept, which
# coordinate descent eliminates, that makes no difference to the model.


#: Multiplications that are worth another thread.
MIN_WORK = 50_000


@dataclass(frozen=True)
class QuadraticModel:
    """A quadratic model of one score: slopes ``u``, curvatures ``h`` by row, and penalties.

    ``first`` and ``second`` are Σ h x and the curvature of each column; ``state`` is that of
    :func:`sparse_sweep`.
    """

    u: Floats
    h: Floats
    first: Floats
    second: Floats
    state: Floats


class WorkingColumns(Protocol):
    """The columns of a working set.

    ``center`` is what centering would still subtract from each column, in its unit.
    """

    count: int
    center: Floats

    def grow(self, new: Ints) -> None:
        """Add columns."""
        ...

    def moments(self, h: Floats, total: float) -> tuple[Floats, Floats]:
        """Σ h x, and the curvature with the intercept eliminated if ``total`` = Σ h is not 0."""
        ...

    def sweep(
        self,
        order: Ints,
        model: QuadraticModel,
        l1: Floats,
        l2: Floats,
        theta: Floats,
        move: Floats,
    ) -> float:
        """Minimize the model over each column in turn; the largest violation met."""
        ...

    def times(self, theta: Floats) -> Floats:
        """Σ θⱼ xⱼ (scores x n); θ has a column for every score."""
        ...


def columns_of(z: Standardized, *, ones: bool) -> WorkingColumns:
    """A working set without columns of ``z`` yet, or with a column of ones."""
    if isinstance(z.x, SparseProducts):
        return _SparseColumns(z, z.x, ones=ones)
    return _DenseColumns(z, ones=ones)


def _in_parts(count: int, work: int, part: Any) -> None:
    """Run ``part(start, stop)`` over ``count`` columns of ``work`` each, on threads."""
    cuts = pieces(count, max(1, MIN_WORK // max(work, 1)))
    parallel_map(lambda cut: part(cut.start, cut.stop), cuts)


class _DenseColumns:
    """Dense columns, one in each row of a buffer that doubles."""

    def __init__(self, z: Standardized, *, ones: bool) -> None:
        self.z, self.buffer = z, np.ones((64, z.shape[0]))
        self.count = int(ones)
        self.center = np.zeros(self.count)

    @property
    def columns(self) -> Floats:
        return self.buffer[: self.count]

    def grow(self, new: Ints) -> None:
        first, self.count = self.count, self.count + len(new)
        if self.count > len(self.buffer):
            buffer = np.empty((2 * self.count, self.buffer.shape[1]))
            buffer[:first] = self.buffer[:first]
            self.buffer = buffer
        out = self.buffer[first : self.count]

        def part(cut: slice) -> None:
            out[cut] = self.z.columns(new[cut]).T

        parallel_map(part, pieces(len(new), max(8, MIN_WORK // max(out.shape[1], 1))))
        self.center = np.zeros(self.count)

    def moments(self, h: Floats, total: float) -> tuple[Floats, Floats]:
        count, n = self.columns.shape
        first, second = np.empty(count), np.empty(count)
        _in_parts(
            count, n, lambda i, j: loops.dense_moments(i, j, self.columns, h, total, first, second)
        )
        return first, second

    def sweep(
        self,
        order: Ints,
        model: QuadraticModel,
        l1: Floats,
        l2: Floats,
        theta: Floats,
        move: Floats,
    ) -> float:
        m = model
        return float(
            loops.dense_sweep(
                order, self.columns, m.first, m.second, l1, l2, m.h, m.u, theta, move, m.state
            )
        )

    def times(self, theta: Floats) -> Floats:
        out = np.empty((theta.shape[1], self.buffer.shape[1]))
        used = np.flatnonzero(theta.any(axis=1))
        weights = np.ascontiguousarray(theta[used].T)

        def part(rows: slice) -> None:
            out[:, rows] = weights @ self.buffer[used, rows]

        parallel_map(part, pieces(out.shape[1], max(1, MIN_WORK // max(len(used), 1))))
        return out


class _SparseColumns:
    """Compressed columns, divided by their units."""

    def __init__(self, z: Standardized, x: SparseProducts, *, ones: bool) -> None:
        n = z.shape[0]
        self.z, self.x, self.n, self.count = z, x, n, int(ones)
        self.data = np.ones(n * self.count)
        self.indices = np.arange(n * self.count, dtype=np.int32)
        self.indptr = np.arange(self.count + 1, dtype=np.int64) * n
        self.center = np.zeros(self.count)

    def grow(self, new: Ints) -> None:
        some, unit = self.x.by_column[:, new], self.z.scale[new]
        data = some.data / np.repeat(unit, np.diff(some.indptr))
        self.data = np.concatenate([self.data, data])
        self.indices = np.concatenate([self.indices, some.indices.astype(np.int32)])
        self.indptr = np.concatenate([self.indptr, self.indptr[-1] + some.indptr[1:]])
        self.center = np.concatenate([self.center, self.z.center[new] / unit])
        self.count += len(new)

    def moments(self, h: Floats, total: float) -> tuple[Floats, Floats]:
        first, second = np.empty(self.count), np.empty(self.count)
        entries = len(self.data) // max(self.count, 1)
        _in_parts(
            self.count,
            4 * entries,
            lambda i, j: loops.sparse_moments(
                i, j, self.indptr, self.indices, self.data, h, total, first, second
            ),
        )
        return first, second

    def sweep(
        self,
        order: Ints,
        model: QuadraticModel,
        l1: Floats,
        l2: Floats,
        theta: Floats,
        move: Floats,
    ) -> float:
        m, here = model, (self.indptr, self.indices, self.data)
        return float(
            loops.sparse_sweep(
                order, *here, m.first, m.second, l1, l2, m.h, m.u, theta, move, m.state
            )
        )

    def times(self, theta: Floats) -> Floats:
        lengths = np.diff(self.indptr)
        used = np.repeat(theta.any(axis=1), lengths)
        at = np.repeat(np.arange(self.count, dtype=np.int32), lengths)[used]
        data, indices = self.data[used], self.indices[used]
        return np.array(
            [np.bincount(indices, data * theta[at, k], self.n) for k in range(theta.shape[1])]
        )


# -------------------------------------------------------------------------------------------------
# Proximal Newton on a working set: quadratic models, solved by coordinate descent.
#
#     θ ← θ + t·δ,   δ = argmin  Σ (uᵢ + ½ hᵢ Δᵢ) Δᵢ + Σ ℓ|θ + δ| + ½ Σ q (θ + δ)²,   Δ = Z δ + a
#
# Classes take turns within one model: the curvature between two scores enters the slopes of the
# second, so that the model is the true one for any number of classes.


@dataclass(frozen=True)
class SetPenalty:
    """Thresholds ℓ and ridge penalties q of the columns of a working set."""

    l1: Floats
    l2: Floats

    def value(self, theta: Floats) -> float:
        """Σ ℓ|θ| + ½ Σ q θ² over all scores."""
        return float(self.l1 @ np.abs(theta).sum(axis=1) + 0.5 * self.l2 @ (theta**2).sum(axis=1))


@dataclass(frozen=True)
class SetPoint:
    """θ (columns x scores) and intercepts, where scores are Σ θⱼ xⱼ + intercept; loss there."""

    theta: Floats
    intercept: Floats
    scores: Floats
    at: ModelRows
    value: float


def point_of(
    rows: LassoRows, columns: WorkingColumns, penalty: SetPenalty, theta: Floats, intercept: Floats
) -> SetPoint:
    """The point with its scores computed anew."""
    scores = columns.times(theta) + intercept[:, None]
    at = rows.loss(scores, scores, 0.0, 0.0)
    return SetPoint(theta, intercept, scores, at, at.value + penalty.value(theta))


def descend(
    rows: LassoRows,
    columns: WorkingColumns,
    penalty: SetPenalty,
    point: SetPoint,
    *,
    free: bool,
    target: float,
    steps: int,
) -> tuple[SetPoint, int]:
    """Newton steps until no coordinate violates by more than ``target``, and how many."""
    for count in range(1, steps + 1):
        new, move, violation = _minimize_model(columns, penalty, point, free, target)
        there = _backtrack(rows, penalty, point, new, move)
        if there is None:
            return point, count
        point = there
        if violation <= target:
            return point, count
    return point, steps


def _minimize_model(
    columns: WorkingColumns, penalty: SetPenalty, point: SetPoint, free: bool, target: float
) -> tuple[tuple[Floats, Floats], Floats, float]:
    """θ and intercepts at the minimum of the model, the change of scores, the first violation."""
    turns = _Turns(columns, penalty, point, free)
    everything = np.arange(len(point.theta))
    first = worst = turns.cycle(everything)
    # Fraction of the violation at its start that is left of a model.
    accuracy = max(0.05 * first, 0.3 * target)
    for _ in range(5):  # sweeps over a quadratic model at most
        if worst <= accuracy:
            break
        active = np.flatnonzero(turns.by_score.any(axis=0))
        for _ in range(8):  # sweeps over its nonzero columns between full ones
            if turns.cycle(active) <= 0.5 * accuracy:
                break
        worst = turns.cycle(everything)
    turns.finish()
    return (turns.by_score.T, turns.intercept), turns.move, first


class _Turns:
    """The minimum so far of one model: a sweep for each score in turn."""

    def __init__(
        self, columns: WorkingColumns, penalty: SetPenalty, point: SetPoint, free: bool
    ) -> None:
        self.columns, self.penalty, self.at = columns, penalty, point.at
        self.by_score = point.theta.T.copy()
        self.intercept = point.intercept.copy()
        self.move = np.zeros_like(point.scores)
        self.mean_move = np.zeros(point.scores.shape[1])  # Σₖ w pₖ Δₖ / w
        self.mass = [float(h.sum()) if free else 0.0 for h in self.at.h]
        self.moments = [
            columns.moments(h, mass) for h, mass in zip(self.at.h, self.mass, strict=True)
        ]
        self.several = len(self.by_score) > 1
        self.model = self._model_of(0)

    def cycle(self, order: Ints) -> float:
        """A sweep over these columns for every score; the largest violation met."""
        return max(self._turn(k, order) for k in range(len(self.by_score)))

    def finish(self) -> None:
        """Count the intercept of the only score in."""
        if not self.several:
            self._count_intercept(0)

    def _turn(self, k: int, order: Ints) -> float:
        before = np.zeros(0)
        if self.several:
            before, self.model = self.move[k].copy(), self._model_of(k)
        l1, l2 = self.penalty.l1, self.penalty.l2
        worst = self.columns.sweep(order, self.model, l1, l2, self.by_score[k], self.move[k])
        if self.several:
            self._count_intercept(k)
            self.mean_move += self.at.p[k] * (self.move[k] - before)
        return worst

    def _model_of(self, k: int) -> QuadraticModel:
        """The model of score k, given the changes of all."""
        u, h = self.at.residual[k].copy(), self.at.h[k]
        if self.several:
            p, w = self.at.p[k], self.at.w
            u += h * self.move[k] - w * p * (self.mean_move - p * self.move[k])
        total, mass = float(u.sum()), self.mass[k]
        state = np.array([-total / mass if mass > 0.0 else 0.0, total, mass])
        return QuadraticModel(u, h, *self.moments[k], state)

    def _count_intercept(self, k: int) -> None:
        self.move[k] += self.model.state[0]
        self.intercept[k] += self.model.state[0]


def _backtrack(
    rows: LassoRows,
    penalty: SetPenalty,
    point: SetPoint,
    new: tuple[Floats, Floats],
    move: Floats,
) -> SetPoint | None:
    """Part of the way, halved until F decreases enough; None where rounding hides a decrease."""
    slope = float(np.sum(point.at.residual * move))
    slope += penalty.value(new[0]) - penalty.value(point.theta)

    def at(t: float) -> SetPoint:
        theta = new[0] if t == 1.0 else point.theta + t * (new[0] - point.theta)
        found = rows.loss(point.scores, move, t, 0.0)
        intercept = point.intercept + t * (new[1] - point.intercept)
        value = found.value + penalty.value(theta)
        return SetPoint(theta, intercept, point.scores + t * move, found, value)

    found = backtrack(at, point.value, slope, most=30, equal=lambda t, _: t == 1.0)
    return None if found is None else found[1]


# -------------------------------------------------------------------------------------------------
# Proximal Newton for logistic regression with an ℓ₁ penalty.
#
#     θ ← θ + t·δ,   δ = argmin  gᵀδ + ½ δᵀHδ + Σ ℓ|θ + δ|      by coordinate descent
#
# Rows are read once for each quadratic model; the sweeps over coordinates use H and g only. With
# more columns than a Hessian should have, working sets of them are solved (``lasso/``).


#: Parameters up to which the working set has all columns.
MAX_WITHOUT_WORKING_SET = 400
EPS, TINY = float(np.finfo(float).eps), float(np.finfo(float).tiny)
Solver = Callable[[LogisticProblem, Floats, LogisticOptions], DescentResult]


def minimize_l1(problem: LogisticProblem, start: Floats, options: LogisticOptions) -> DescentResult:
    """Minimize F with its ℓ₁ part from ``start``.

    Intercepts of several scores are determined up to a common shift; those with sum zero are
    returned.
    """
    return l1_solver(problem)(problem, start, options)


def l1_solver(problem: LogisticProblem) -> Solver:
    """The method for these rows, which may be called with one penalty after the other."""
    width, k = problem.shape
    if width * k > MAX_WITHOUT_WORKING_SET:
        return WorkingSets(LassoRows.of(problem), problem).solve
    return _with_hessian


def _with_hessian(
    problem: LogisticProblem, start: Floats, options: LogisticOptions
) -> DescentResult:
    iterate = _descend(problem, start, options)
    theta = iterate.theta
    if problem.design.intercept and theta.shape[1] > 1:
        theta[-1] -= theta[-1].mean()
    return iterate


def _descend(problem: LogisticProblem, theta: Floats, options: LogisticOptions) -> DescentResult:
    penalty, ridge, tol = problem.penalty, problem.ridge[:, None], options.tol
    at, theta = problem.hessian(theta), np.array(theta)
    history = [at.value + float(np.sum(penalty.l1 * np.abs(theta)))]
    status: Status | None = None
    while status is None:
        gradient = at.gradient - ridge * theta
        size = size_of(problem, at.value)
        kkt = violation(problem, theta, at) / size
        loss = at.value - 0.5 * float(np.sum(ridge * theta**2))
        gap = gap_at(penalty, theta, gradient, loss, problem.weight) / max(history[-1], TINY)
        if kkt <= 1e-4 * tol and gap <= 0.1 * tol:
            status = Status.SOLVED
        elif len(history) > options.max_iter:
            status = Status.LIMIT
        else:
            damping = 0.1 * min(kkt, 1.0) * size  # H nearly vanishes at large scores
            accuracy = max(kkt * min(0.1, kkt), EPS) * size
            new = _minimize_full_model(problem, at, theta, damping, accuracy)
            accepted = _backtrack_all(problem, theta, new, at, penalty.l1)
            if accepted is None:
                status = Status.SOLVED if kkt <= tol and gap <= tol else Status.ROUNDING
            else:
                theta, at = accepted
                history.append(at.value + float(np.sum(penalty.l1 * np.abs(theta))))
    return DescentResult(theta, np.zeros_like(theta), status, len(history), np.array(history))


def _minimize_full_model(
    problem: LogisticProblem,
    loss_evaluation: LossEvaluation,
    theta: Floats,
    damping: float,
    accuracy: float,
) -> Floats:
    """The minimum of the quadratic model with the ℓ₁ penalty, by coordinate descent.

    A common shift of the coefficients of a column changes no probability: neither has the model a
    curvature there but that of the penalty, and coordinates alone would take for ever. So the best
    shift is taken after every sweep.
    """
    assert loss_evaluation.hessian is not None
    (width, k), l1 = problem.shape, problem.penalty.l1
    beta = theta.T.ravel().copy()
    grad = -loss_evaluation.gradient.T.ravel()
    thresholds, none = l1.T.ravel().copy(), np.zeros(len(beta))
    gram = loss_evaluation.hessian + damping * np.eye(len(beta))
    if k > 1:
        columns = np.arange(width)
        gram.reshape(k, width, k, width)[:, columns, :, columns] -= damping / k
    penalized = np.flatnonzero(problem.penalty.l1[:, 0] > 0.0)
    for count in range(1, 2000 + 1):  # sweeps at most
        # Sweeps after which the coordinates that are not zero take a Newton step together.
        if not count % 10:
            _newton_step(gram, grad, beta, thresholds)
        worst = sweep(gram, grad, beta, thresholds, none, False)
        if k > 1:
            by_score = beta.reshape(k, width)
            shift = best_shift(by_score[:, penalized], l1[penalized, 0], problem.ridge[penalized])
            by_score[:, penalized] -= shift
            grad.reshape(k, width)[:, penalized] += problem.ridge[penalized] * shift
            if np.abs(problem.ridge[penalized] * shift).max(initial=0.0) > accuracy:
                worst = np.inf
        if worst <= accuracy:
            break
    return np.asarray(beta.reshape(theta.T.shape).T)


def _newton_step(gram: Floats, grad: Floats, beta: Floats, l1: Floats) -> None:
    """A step on the coordinates that are not zero, as far as none changes its sign, in place.

    Few rows matter where classes are nearly separable: coordinates alone would be slow.
    """
    used = np.flatnonzero(beta)
    old = beta[used]
    step = cholesky_solver(gram[np.ix_(used, used)])(grad[used] - l1[used] * np.sign(old))
    reach = np.divide(-old, step, out=np.full(len(used), np.inf), where=old * step < 0.0)
    t = min(1.0, float(reach.min(initial=1.0)))
    beta[used] = np.where(reach <= t, 0.0, old + t * step)
    grad -= gram[:, used] @ (beta[used] - old)


def best_shift(beta: Floats, l1: Floats, l2: Floats) -> Floats:
    """The s that minimizes Σₖ ℓ|βₖ − s| + ½ q (βₖ − s)² in every column of ``beta`` (k x columns).

    It is the median of all βₖ and of the k + 1 numbers mean β + (ℓ/q)(k − 2i)/k.
    """
    k = len(beta)
    slopes = np.arange(k, -k - 1, -2)[:, None] / k
    with np.errstate(divide="ignore", invalid="ignore"):
        away = np.where(slopes == 0.0, 0.0, slopes * l1 / l2)
    return np.asarray(np.median(np.vstack([beta, beta.mean(axis=0) + away]), axis=0))


def _backtrack_all(
    problem: LogisticProblem,
    theta: Floats,
    new: Floats,
    loss_evaluation: LossEvaluation,
    l1: Floats,
) -> tuple[Floats, LossEvaluation] | None:
    """Part of the way to ``new``, halved until F decreases enough; None if rounding hides it.

    Where F cannot show it any more, the optimality conditions may. Where F decreases by more than
    its model says, as it does far from the optimum of nearly separable classes, the step doubles.
    """
    move, before = new - theta, float(np.sum(l1 * np.abs(theta)))
    slope = float(np.sum(loss_evaluation.gradient * move) + np.sum(l1 * np.abs(new))) - before

    def go(t: float) -> _Trial:
        there = new if t == 1.0 else theta + t * move
        hessian_there = problem.hessian(there)
        return _Trial(there, hessian_there, hessian_there.value + float(np.sum(l1 * np.abs(there))))

    limit = 0.9 * violation(problem, theta, loss_evaluation)
    found = backtrack(
        go,
        loss_evaluation.value + before,
        slope,
        most=30,
        equal=lambda _, there: violation(problem, there.theta, there.at) <= limit,
        longer=True,
    )
    return None if found is None else (found[1].theta, found[1].at)


class _Trial(NamedTuple):
    theta: Floats
    at: LossEvaluation
    value: float


def violation(problem: LogisticProblem, theta: Floats, loss_evaluation: LossEvaluation) -> float:
    """The largest distance of −∇f to the subdifferential of the penalty."""
    gradient = loss_evaluation.gradient - problem.ridge[:, None] * theta
    return float(problem.penalty.distance(theta, -gradient).max(initial=0.0))
