"""Logistic regression on wide and sparse rows, by products with the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import linalg, sparse

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.logistic import loops
from separatrix.logistic.newton import DescentResult
from separatrix.logistic.problem import (
    ROUNDING,
    LogisticOptions,
    LogisticProblem,
    LossEvaluation,
    Separation,
    assemble_problem,
)
from separatrix.matrices.gram import row_gram
from separatrix.matrices.products import Products, Standardized, column_scales, products
from separatrix.optimize.convex import Status
from separatrix.optimize.newton import LimitedMemory, LinearSolver, backtrack, cholesky_solver
from separatrix.probability.likelihood import LogisticDesign, LogisticDual
from separatrix.rows.rows import ArrayRows
from separatrix.rows.schema import Block, Terms
from separatrix.statistics.moments import Preconditioner, Standardizer, zero_if_constant
from separatrix.threads import parallel_map, pieces

# -------------------------------------------------------------------------------------------------
# The logistic likelihood over wide or sparse rows, by products with its design.
#
#     s = Zθ,      ∇f(θ) = Zᵀ w (p − y),      Z = ((X − center) / scale, 1)
#
# Z is never formed: columns are centered and scaled within the products, and no d x d matrix is
# needed. Memory is a small multiple of the data and of n x scores.


@dataclass(frozen=True)
class DescentPoint:
    """A point θ with its scores (n x scores), the value of F there and its gradient."""

    theta: Floats
    scores: Floats
    value: float
    gradient: Floats
    margin: float


@dataclass(frozen=True)
class WideLogistic(LogisticProblem):
    """A problem whose rows are in memory and whose design is used by products alone.

    ``x`` multiplies with the columns of z but the constant, in units of θ; ``copy`` holds large
    dense rows of two classes in single precision.
    """

    x: Products = None  # type: ignore[assignment]
    copy: SinglePrecision | None = None

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are sparse."""
        return bool(sparse.issparse(self._array_rows.block.x))

    @property
    def _array_rows(self) -> ArrayRows:
        assert isinstance(self.rows, ArrayRows)
        return self.rows

    @cached_property
    def codes(self) -> Ints:
        """The class of each row."""
        return self._array_rows.block.codes(self.design.targets)

    @cached_property
    def sign(self) -> Floats:
        """1 for rows of the second of two classes, −1 for those of the first."""
        return np.where(self.codes == 1, 1.0, -1.0)

    @cached_property
    def w(self) -> Floats:
        """The weight of each row."""
        return np.ascontiguousarray(self._array_rows.block.weights)

    @cached_property
    def dense_rows(self) -> StandardizedRows | ClassRows:
        """Dense rows, for passes that read them once."""
        x, d = self._array_rows.block.x, len(self.design.center)
        if self.shape[1] > 1:
            return ClassRows(x, self.design.center, self.scale[:d], self.codes, self.w)
        return StandardizedRows(x, self.design.center, self.scale[:d], self.sign, self.w)

    @cached_property
    def single_rows(self) -> StandardizedRows | ClassRows | None:
        """The same in single precision; None where such a copy does not pay."""
        if self.is_sparse:
            return None
        if isinstance(self.dense_rows, ClassRows):
            return self.dense_rows.single()
        if self.copy is None:
            return None
        z, shift, factor, _, _ = self.copy
        center, scale = self.design.center, self.scale[: len(shift)]
        return StandardizedRows(z, (center - shift) * factor, scale * factor, self.sign, self.w)

    # -- products ------------------------------------------------------------------------------

    def times(self, theta: Floats) -> Floats:
        """Zθ (n, or n x scores for several)."""
        d = len(self.design.center)
        scores = self.x.times(theta[:d])
        return scores + theta[d] if self.design.intercept else scores

    def transposed_times(self, r: Floats) -> Floats:
        """Zᵀr."""
        sums = self.x.transposed_times(r)
        if not self.design.intercept:
            return sums
        return np.concatenate([sums, r.sum(axis=0, keepdims=True)])

    def curvature(self, scores: Floats) -> Floats:
        """The second derivative w p (1 − p) of every loss, by row (and score)."""
        if scores.ndim == 1:
            e = np.exp(-np.abs(scores))
            return np.asarray(self.w * e / (1.0 + e) ** 2)
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        return np.asarray(self.w[:, None] * p * (1.0 - p))

    # -- F and its dual ------------------------------------------------------------------------

    def at_scores(self, theta: Floats, scores: Floats) -> DescentPoint:
        """F and its gradient where the scores are known."""
        residual = np.empty_like(scores)
        if scores.shape[1] > 1:
            value, _, margin = residuals_of_classes(scores, self.codes, self.w, residual)
            sums = self.transposed_times(residual)
        else:
            flat = residual[:, 0]
            value, margin = loops.residuals_of_scores(scores[:, 0], self.sign, self.w, flat)
            sums = self.transposed_times(flat)
        return self._point(theta, scores, value, sums.reshape(theta.shape), margin)

    def at(self, theta: Floats) -> DescentPoint:
        """F and its gradient; dense rows are read once."""
        if not self.is_sparse:
            return self.at_rows(theta, self.dense_rows)
        if theta.shape[1] > 1:
            return self.at_scores(theta, self.times(theta))
        return self.at_scores(theta, self.times(theta[:, 0])[:, None])

    def at_rows(self, theta: Floats, rows: StandardizedRows | ClassRows) -> DescentPoint:
        """F and its gradient in one pass over dense rows, in their precision."""
        if isinstance(rows, ClassRows):
            return self._at_classes(theta, rows)[0]
        d, flat = len(self.design.center), theta[:, 0]
        value, gradient, scores = rows(flat[:d], float(flat[d:].sum()))
        signed = np.where(self.w > 0.0, self.sign * scores, np.inf)
        sums = gradient[: len(theta), None]
        return self._point(theta, scores[:, None], value, sums, float(signed.min(initial=np.inf)))

    def _at_classes(self, theta: Floats, rows: ClassRows) -> tuple[DescentPoint, float]:
        """The same for several classes, whose scores are not stored, and Σ w Σ p log p."""
        d = len(self.design.center)
        constant = theta[d] if self.design.intercept else np.zeros(theta.shape[1])
        evaluation = rows(theta[:d], constant)
        none, sums = np.zeros((0, theta.shape[1])), evaluation.gradient[: len(theta)]
        return self._point(
            theta, none, evaluation.value, sums, evaluation.margin
        ), evaluation.entropy

    def _point(
        self, theta: Floats, scores: Floats, value: float, sums: Floats, margin: float
    ) -> DescentPoint:
        ridge = self.ridge[:, None] * theta
        value += 0.5 * float(np.sum(theta * ridge))
        return DescentPoint(theta, scores, value, sums + ridge, margin)

    def gradient(self, theta: Floats) -> LossEvaluation:
        """Value and gradient."""
        evaluation = self.at(theta)
        return LossEvaluation(evaluation.value, evaluation.gradient, evaluation.margin)

    def dual(self, theta: Floats, step: Floats) -> LogisticDual:
        """The sums of a certificate at θ − step; the dual point has the probabilities there."""
        theta = theta - step
        if not self.is_sparse and isinstance(self.dense_rows, ClassRows):
            evaluation, entropy = self._at_classes(theta, self.dense_rows)
        else:
            evaluation = self.at(theta)
            entropy = self._entropy(evaluation.scores)
        sums = LogisticDual(self.design, theta, step)
        ridge = self.ridge[:, None] * theta
        sums.value = evaluation.value - 0.5 * float(np.sum(theta * ridge))
        sums.margin, sums.gradient = evaluation.margin, evaluation.gradient - ridge
        sums.dual_gradient, sums.entropy = sums.gradient, entropy
        return sums

    def _entropy(self, scores: Floats) -> float:
        """Σ w Σ p log p."""
        if scores.shape[1] > 1:
            nothing = np.empty_like(scores)
            return residuals_of_classes(scores, self.codes, self.w, nothing)[1]
        return float(loops.entropy_of_scores(np.ascontiguousarray(scores[:, 0]), self.w))


def wide_problem(
    rows: ArrayRows, targets: Terms, options: LogisticOptions, x: Products | None = None
) -> tuple[WideLogistic, Floats]:
    """The problem of wide or sparse rows, and the class proportions; each column has its scale.

    ``x`` are the products with the columns of the rows where they are known.
    """
    block = rows.block
    w, copy = block.weights, None
    x = products(block.x) if x is None else x
    if not options.has_l1:
        copy = _copy(block, len(targets))
    mean, deviation = (copy.mean, copy.deviation) if copy else column_scales(x, w)
    deviation = zero_if_constant(deviation, mean)
    center, scale = mean, deviation
    if not options.centered:
        center = np.zeros_like(mean)
        scale = zero_if_constant(np.sqrt(deviation**2 + mean**2), mean)
    unit = np.where(scale > 0.0, scale, 1.0)
    priors = np.bincount(block.codes(targets), w, len(targets)) / w.sum()
    preconditioner = Preconditioner(center, unit, None, priors, options.centered)
    penalty_scale = (deviation if options.standardize else 1.0) / unit
    design = LogisticDesign(targets, center, None, options.fit_intercept)
    weight = float(w.sum())
    problem = assemble_problem(rows, design, preconditioner, penalty_scale, weight, options)
    return _with_products(problem, x, copy), priors


def with_products(problem: LogisticProblem) -> WideLogistic:
    """The same problem of rows in memory, whose columns are not rotated, by products."""
    block = problem.rows.collect()
    return _with_products(problem, products(block.x), _copy(block, len(problem.design.targets)))


def _with_products(
    problem: LogisticProblem, x: Products, copy: SinglePrecision | None
) -> WideLogistic:
    fields = {name: getattr(problem, name) for name in LogisticProblem.__dataclass_fields__}
    center = problem.design.center
    z = Standardized(x, center, problem.scale[: len(center)])
    return WideLogistic(**fields, x=z, copy=copy)


def _copy(block: Block, n_classes: int) -> SinglePrecision | None:
    """A copy of large dense rows of two classes in single precision."""
    if n_classes > 2 or sparse.issparse(block.x) or block.x.size < MIN_SINGLE:
        return None
    return single_precision(block.x, block.weights)


# -------------------------------------------------------------------------------------------------
# One pass over wide dense rows: scores and gradient while a row is in the cache.
#
# In single precision the columns are standardized first and copied: half the memory to read in
# every pass, and units of any size. In double precision the rows are read where they are.


#: Values of dense rows from which a copy in single precision pays.
MIN_SINGLE = 4_000_000
#: Values of a piece of rows that is worth a thread.
MIN_VALUES = 100_000


class SinglePrecision(NamedTuple):
    """A copy z = (x − shift)·factor in single precision, mean and standard deviation of columns."""

    z: NDArray[np.float32]
    shift: Floats
    factor: Floats
    mean: Floats
    deviation: Floats


def single_precision(x: Floats, w: Floats) -> SinglePrecision:
    """Read the rows once for their copy and for means and deviations of the columns.

    The copy is near standard units by the mean and scale of a few rows, so that neither a mean far
    from zero nor large units cost it digits; the sums are in double precision.
    """
    n, d = x.shape
    counted = np.flatnonzero(w > 0.0)
    sample = 64  # rows that the units of a copy in single precision are estimated from
    some = x[counted[:: max(1, len(counted) // sample)][:sample]]
    shift, spread = some.mean(axis=0), some.std(axis=0)
    known = np.isfinite(spread) & (spread > 0.0)
    factor = 1.0 / np.where(known, spread, np.maximum(np.abs(shift), 1.0))
    z = np.empty((n, d), np.float32)

    def part(rows: slice) -> tuple[Floats, Floats]:
        sums, squares = np.zeros(d), np.zeros(d)
        part = np.ascontiguousarray(x[rows])
        loops.standard_copy(part, shift, factor, w[rows], z[rows], sums, squares)
        return sums, squares

    copied = parallel_map(part, pieces(n, max(1, MIN_VALUES // max(d, 1))))
    total = float(w.sum())
    offset = sum(piece[0] for piece in copied) / total
    square = sum(piece[1] for piece in copied) / total
    deviation = np.sqrt(np.maximum(square - offset**2, 0.0)) / factor
    return SinglePrecision(z, shift, factor, shift + offset / factor, deviation)


class RowsPass(NamedTuple):
    """Value, gradient (by column, then by the constant) and scores of one pass."""

    value: float
    gradient: Floats
    scores: Floats


class StandardizedRows:
    """Rows z = (x − center) / scale that are read once a pass, of two classes."""

    def __init__(self, x: Any, center: Floats, scale: Floats, sign: Floats, w: Floats) -> None:
        self.x, self.center, self.scale, self.sign, self.w = x, center, scale, sign, w
        self.cuts = pieces(len(x), max(1, MIN_VALUES // max(x.shape[1], 1)))

    def rows(self, here: Any, number: Any = np.float64) -> NDArray[Any]:
        """Some rows of z."""
        return np.asarray((self.x[here] - self.center) / self.scale, dtype=number)

    def __call__(self, theta: Floats, constant: float) -> RowsPass:
        """The pass at a point of coefficients and intercept."""
        n, d = self.x.shape
        number = self.x.dtype.type
        point = (theta / self.scale).astype(number)
        center = self.center.astype(number)
        scores = np.empty(n)

        def part(rows: slice) -> tuple[float, float, Floats]:
            gradient = np.zeros(d, number)
            x = np.ascontiguousarray(self.x[rows])
            loss = loops.fused_rows(
                x, center, point, constant, self.sign[rows], self.w[rows], scores[rows], gradient
            )
            return loss[0], loss[1], gradient

        sums = parallel_map(part, self.cuts)
        gradient = np.zeros(d + 1)
        for _, residuals, one in sums:
            gradient[:d] += one
            gradient[d] += residuals
        gradient[:d] /= self.scale
        return RowsPass(float(sum(value for value, _, _ in sums)), gradient, scores)


# -------------------------------------------------------------------------------------------------
# Passes over rows of several classes: product, softmax, product, by chunks that stay in cache.
#
#     s = Zθ,   p = softmax(s),   ∇f = Zᵀ w (p − y)
#
# Scores are never stored for all rows: memory is that of the rows and of θ. In single precision the
# standardized rows are copied once.


#: Scores that are worth a thread.
MIN_SCORES = 50_000


class ClassPass(NamedTuple):
    """Σ w ℓ, Σ w Σ p log p, the gradient (by column, then by the constant) and smallest margin."""

    value: float
    entropy: float
    gradient: Floats
    margin: float


class ClassRows:
    """Dense rows z = (x − center) / scale of several classes."""

    def __init__(self, x: Any, center: Floats, scale: Floats, codes: Ints, w: Floats) -> None:
        self.x, self.center, self.scale, self.codes, self.w = x, center, scale, codes, w

    def single(self) -> ClassRows:
        """A standardized copy in single precision."""
        z = np.empty(self.x.shape, np.float32)

        def part(rows: slice) -> None:
            z[rows] = (self.x[rows] - self.center) / self.scale

        d = max(z.shape[1], 1)
        parallel_map(part, pieces(len(z), max(1, MIN_SCORES // d)))
        return ClassRows(z, np.zeros(0), np.ones(d), self.codes, self.w)

    def rows(self, here: Any, number: Any = np.float64) -> NDArray[Any]:
        """Some rows of z."""
        if not len(self.center):
            return np.asarray(self.x[here], dtype=number)
        return np.asarray((self.x[here] - self.center) / self.scale, dtype=number)

    def __call__(self, theta: Floats, constant: Floats) -> ClassPass:
        """The pass at coefficients (d x classes) and intercepts."""
        n, (d, k) = len(self.x), theta.shape
        number = np.float64 if len(self.center) else self.x.dtype
        point, shift = theta.astype(number), constant.astype(number)
        chunk = max(8, 40_000 // max(d, k))  # whose scores and values stay in cache

        def part(rows: slice) -> tuple[float, float, float, Floats, Floats]:
            gradient, sums = np.zeros((d, k), number), np.zeros(k)
            scores, residual = np.empty((chunk, k), number), np.empty((chunk, k), number)
            value, entropy, margin = 0.0, 0.0, np.inf
            for start in range(rows.start, rows.stop, chunk):
                here = slice(start, min(start + chunk, rows.stop))
                z, m = self.rows(here, number), here.stop - start
                s, r = scores[:m], residual[:m]
                np.matmul(z, point, out=s)
                s += shift
                loss = loops.softmax_rows(s, self.codes[here], self.w[here], r)
                value, entropy = value + loss[0], entropy + loss[1]
                margin = min(margin, loss[2])
                gradient += z.T @ r
                sums += r.sum(axis=0)
            return value, entropy, margin, gradient, sums

        found = parallel_map(part, pieces(n, max(1, MIN_SCORES // max(d, k))))
        gradient = np.zeros((d + 1, k))
        for *_, one, sums in found:
            gradient[:d] += one
            gradient[d] += sums
        return ClassPass(
            float(sum(one[0] for one in found)),
            float(sum(one[1] for one in found)),
            gradient,
            float(min(one[2] for one in found)),
        )


def residuals_of_classes(
    scores: Floats, codes: Ints, w: Floats, residual: Floats
) -> tuple[float, float, float]:
    """Σ w (log Σ e^score − score of the true class), Σ w Σ p log p and the smallest margin.

    ``residual`` becomes w (p − indicators).
    """

    def part(rows: slice) -> tuple[float, float, float]:
        loss = loops.softmax_rows(scores[rows], codes[rows], w[rows], residual[rows])
        return loss[0], loss[1], loss[2]

    n, k = scores.shape
    losses = parallel_map(part, pieces(n, max(1, MIN_SCORES // k)))
    value, entropy = sum(one[0] for one in losses), sum(one[1] for one in losses)
    return float(value), float(entropy), float(min(one[2] for one in losses))


# -------------------------------------------------------------------------------------------------
# L-BFGS for logistic regression on wide and sparse rows, preconditioned by scales and curvature.
#
#     θ ← θ − t H⁻¹ ∇F(θ)
#
# Sparse rows: products with the direction give the scores along the whole line, so that t is the
# minimum and costs no further pass. Dense rows are read once a step, at t = 1: the scores there
# give the line too, and where another t is clearly better it is taken. Dense passes are in single
# precision, on standardized columns, until the tolerance is near; the rest is in double.


#: Relative rounding error of sums over rows, in double precision.
DOUBLE = 1e-13


def minimize_wide(problem: WideLogistic, start: Floats, options: LogisticOptions) -> DescentResult:
    """Minimize F (without ℓ₁ part) from ``start``."""
    return _minimize(_QuasiNewtonDescent(problem, options), start)


def near_minimum(
    problem: LogisticProblem, start: Floats, options: LogisticOptions
) -> Floats | None:
    """A point so near the maximum likelihood estimate that one Hessian is enough to finish.

    None where no maximum was found.
    """
    # Part of the tolerance to which a point near the minimum is sought.
    descent = _QuasiNewtonDescent(with_products(problem), replace(options, tol=0.3 * options.tol))
    descent.limit, descent.check = 80, 0  # passes that it may take
    minimum = _minimize(descent, start)
    return minimum.theta if minimum.status is Status.SOLVED else None


def _minimize(descent: _QuasiNewtonDescent, start: Floats) -> DescentResult:
    problem, minimum = descent.problem, None
    single = problem.single_rows
    if not problem.is_sparse and problem.shape[0] <= 600:  # columns up to which there are blocks
        descent.sampled = single or problem.dense_rows
    # Tolerance down to which sums in single precision decide; the certificate is in double.
    single_accuracy = 1e-6
    if single is not None:
        descent.rounding, part = 1e-7, max(0.7, single_accuracy / max(descent.tol, 1e-300))
        minimum = descent.run(start, lambda theta: problem.at_rows(theta, single), part)
        start, descent.rounding = minimum.theta, DOUBLE
    if minimum is None or not descent.converged or descent.tol < single_accuracy:
        minimum = descent.run(start, problem.at, 1.0)
    theta = minimum.theta
    if descent.converged and descent.separation is None:
        theta = _balance_intercepts(problem, minimum)
    status = Status.SOLVED if descent.converged else descent.stopped
    return DescentResult(
        theta,
        np.zeros_like(theta),
        status if descent.separation is None else Status.SEPARABLE,
        len(descent.history),
        np.array(descent.history),
        None,
        descent.separation,
    )


class _QuasiNewtonDescent:
    """The state that single and double precision share: steps, history, verdicts."""

    def __init__(self, problem: WideLogistic, options: LogisticOptions) -> None:
        self.problem, self.tol = problem, options.tol
        # Passes without penalty after which separation by a single column is looked for.
        # Passes for each step that ``max_iter`` allows: these steps are cheaper than Newton's.
        self.limit, self.check = 10 * options.max_iter, 4
        self.memory, self.rounding = LimitedMemory(), DOUBLE
        self.history: list[float] = []
        self.stopped, self.converged = Status.LIMIT, False
        self.separation: Separation | None = None
        self.sampled: SampledRows | None = None
        self.solve: LinearSolver = lambda g: g / self.bound
        self.bound = (0.25 * problem.weight + problem.ridge)[:, None]
        self.unpenalized = not problem.ridge.any()

    def run(self, theta: Floats, at: Callable[[Floats], DescentPoint], part: float) -> DescentPoint:
        """Descend from θ until the conditions hold with ``part`` of the tolerance."""
        here = at(theta)
        self.history.append(here.value)
        best, lowest, stale = np.inf, np.inf, 0
        while True:
            size = float(np.linalg.norm(here.gradient / np.sqrt(self.bound)))
            if size < 0.9 * best or here.value < lowest - 1e-9 * abs(lowest):
                best, lowest, stale = min(size, best), here.value, 0
            stale += 1
            self.converged = self._optimal(here, part)
            if self.unpenalized and not self.converged:
                self.separation = self._separation(here)
            if self.converged or self.separation is not None or len(self.history) > self.limit:
                return here
            self._precondition(here)
            direction = -self.memory.direction(here.gradient, self.solve, scaled=True)
            new = self._step(here, direction, at)
            if new is None:
                self.memory.clear()
                self.solve = lambda g: g / self.bound
                new = self._step(here, -here.gradient / self.bound, at)
            # Steps without a smaller gradient or value after which rounding errors are all that is
            # left.
            if new is None or stale > 12:
                self.stopped = Status.ROUNDING
                return here
            self.memory.add(new.theta - here.theta, new.gradient - here.gradient)
            here = new
            self.history.append(here.value)

    def _precondition(self, here: DescentPoint) -> None:
        """Approximate the Hessian anew: by that of a sample of rows, or by mean curvatures.

        Near separable classes curvatures are a small part of their bound, so that the penalty
        decides in more columns; stored steps remain valid for any approximation.
        """
        passes, several, problem = len(self.history), here.theta.shape[1] > 1, self.problem
        # Passes at which that Hessian is computed first; of two classes the scales and the mean
        # curvature often suffice.
        first = (1, 6, 16) if several else (14,)
        if self.sampled is not None and passes >= first[0]:
            again = 32  # passes after which it is computed again, of more rows
            if passes in first or passes % again == 0:
                more = 1.0 + passes / again
                self.solve = sampled_hessian(
                    self.sampled, here.theta, here.scores, problem.ridge, problem.weight, more
                )
        elif len(here.scores) and passes & (passes - 1) == 0:  # 1, 2, 4, 8 ...
            flat = here.scores[:, 0] if here.scores.shape[1] == 1 else here.scores
            least = LEAST_CURVATURE * self.problem.weight
            curvature = np.maximum(self.problem.curvature(flat).sum(axis=0), least)
            diagonal = curvature + self.problem.ridge[:, None]
            self.solve = lambda g: g / diagonal

    def _optimal(self, here: DescentPoint, part: float) -> bool:
        """The duality gap of the probabilities, Σ g²/(2q), and the gradient, per row."""
        g, q = here.gradient, self.problem.ridge[:, None]
        largest = float(np.abs(g).max(initial=0.0))
        if largest > part * self.tol * self.problem.weight:
            return False
        if self.unpenalized:
            slack = float(np.sum(np.abs(g * here.theta)))
            return slack <= part * self.tol * abs(here.value)
        penalized = self.problem.ridge > 0.0
        gap = float(np.sum(g[penalized] ** 2 / (2.0 * q[penalized])))
        if g.shape[1] > 1:  # one free intercept is balanced at the end
            # once by the inequality of Fenchel and Young, once as the certificate's charge
            gap += 2.0 * float(np.sum(np.abs(g * here.theta)[~penalized]))
        return gap <= part * self.tol * abs(here.value)

    def _separation(self, here: DescentPoint) -> Separation | None:
        if here.margin > 0.0:
            return separation_along(self.problem, here.theta)
        if len(self.history) == self.check:
            return separating_column(self.problem)
        return None

    def _step(
        self, here: DescentPoint, direction: Floats, at: Callable[[Floats], DescentPoint]
    ) -> DescentPoint | None:
        """The next point along a direction; None where rounding hides any decrease."""
        slope = float(np.vdot(here.gradient, direction))
        if not slope < 0.0 or not np.isfinite(slope):
            return None
        if direction.shape[1] > 1:
            return self._backtrack(here, direction, slope, at)
        if self.problem.is_sparse:
            move = self.problem.times(direction[:, 0])
            t = self._line_minimum(here, direction, move)
            new = self.problem.at_scores(
                here.theta + t * direction, here.scores + t * move[:, None]
            )
        else:
            new = at(here.theta + direction)
            there = float(np.vdot(new.gradient, direction))
            # A step of t = 1 is taken unless the slope there exceeds this part of the slope at 0.
            if new.value > here.value + 1e-4 * slope or abs(there) > 0.9 * abs(slope):
                move = (new.scores - here.scores)[:, 0]
                t = self._line_minimum(here, direction, move)
                new = at(here.theta + t * direction)
        return new if self._acceptable(here, new) else None

    def _backtrack(
        self,
        here: DescentPoint,
        direction: Floats,
        slope: float,
        at: Callable[[Floats], DescentPoint],
    ) -> DescentPoint | None:
        found = backtrack(
            lambda t: at(here.theta + t * direction),
            here.value,
            slope,
            equal=lambda t, new: (
                -t * slope <= self.rounding * abs(here.value) and self._acceptable(here, new)
            ),
            rounding=self.rounding,
            hidden=self.rounding,
        )
        return None if found is None else found[1]

    def _acceptable(self, here: DescentPoint, new: DescentPoint) -> bool:
        """Whether F is finite and not larger, but for rounding errors."""
        if not (np.isfinite(new.value) and np.isfinite(new.gradient).all()):
            return False
        return new.value <= here.value + self.rounding * abs(here.value)

    def _line_minimum(self, here: DescentPoint, direction: Floats, move: Floats) -> float:
        """The t of the smallest F along a direction, by Newton's method between bounds."""
        problem = self.problem
        q = problem.ridge[:, None]
        linear = float(np.sum(q * here.theta * direction))
        square = float(np.sum(q * direction**2))
        scores = np.ascontiguousarray(here.scores[:, 0])
        t, low, high = 1.0, 0.0, np.inf
        for _ in range(30):
            first, second = loops.slopes_along(scores, move, t, problem.sign, problem.w)
            first, second = first + linear + t * square, second + square
            low, high = (t, high) if first < 0.0 else (low, t)
            new = t - first / second if second > 0.0 else np.inf
            ceiling = min(4.0 * t, 0.5 * (t + high))
            new = min(max(new, 0.5 * (low + t) if first > 0.0 else t), ceiling)
            if abs(new - t) <= 0.01 * t:
                return float(new)
            t = new
        return float(t)


def _balance_intercepts(problem: WideLogistic, descent_point: DescentPoint) -> Floats:
    """θ with the free intercept at its minimum given the rest: the dual point is then feasible."""
    if not problem.design.intercept or problem.ridge[-1] > 0.0 or not len(descent_point.scores):
        return descent_point.theta
    theta, ones = descent_point.theta.copy(), np.ones(len(descent_point.scores))
    if theta.shape[1] > 1:
        return theta
    scores, shift = np.ascontiguousarray(descent_point.scores[:, 0]), 0.0
    for _ in range(5):
        first, second = loops.slopes_along(scores, ones, shift, problem.sign, problem.w)
        if not second > 0.0:
            return descent_point.theta
        shift -= first / second
    theta[-1] += shift
    return theta if np.isfinite(shift) and abs(shift) < 1e-3 else descent_point.theta


# -------------------------------------------------------------------------------------------------
# Preconditioners from a sample of rows: the Hessian, or its diagonal blocks for many scores.
#
#     H = Σ w (diag p − p pᵀ) ⊗ z zᵀ + Q
#
# Where also the blocks would cost more than some passes, all are the Gram matrix of the sample
# times the mean of pₖ (1 − pₖ).


#: Parameters up to which the Hessian is a full matrix.
MAX_FULL = 700
#: Part of the curvature that is added to blocks: what a sample lacks.
DAMPING = 0.02
#: Mean curvature of a row that is assumed at least.
LEAST_CURVATURE = 1e-4


class SampledRows(Protocol):
    """Standardized rows of which some may be taken."""

    x: Any
    w: Floats

    def rows(self, here: Any, number: Any = np.float64) -> Floats:
        """Some rows of z."""
        ...


def sampled_hessian(
    rows: SampledRows,
    theta: Floats,
    scores: Floats,
    ridge: Floats,
    weight: float,
    more: float,
) -> LinearSolver:
    """g ↦ H⁻¹g at θ; its last row belongs to the constant if it is longer than z.

    ``scores`` (n x scores) are empty where they are not known; ``more`` times the usual rows of a
    full matrix are sampled.
    """
    width, k = theta.shape
    parameters = width * k
    if parameters <= MAX_FULL:
        # Rows of a sample for each column of a full Hessian: with fewer it would not resemble that
        # of all.
        # of all. A sample may cost 4e8 multiplications at least.
        size = int(more * max(4e8 / parameters**2, 6 * width))
        z, p, w = _sample(rows, size, theta, scores, weight)
        return _full(z, p, w, ridge, weight)
    max_work = 1e9  # multiplications that blocks may cost
    exact = k * width**2 * max(4 * width, 500) <= max_work
    size = max(int(max_work / (k * width**2)), 500) if exact else max(4 * width, 2000)
    z, p, w = _sample(rows, size, theta, scores, weight)
    curvature = w[:, None] * p * (1.0 - p)
    if exact:
        inverses = np.array(
            parallel_map(lambda j: _inverse((z.T * curvature[:, j]) @ z, ridge), range(k))
        )
        return lambda g: np.asarray(np.matmul(inverses, g.T[:, :, None])[:, :, 0].T)
    means = curvature.sum(axis=0) / weight
    means += DAMPING * means.mean() + 1e-6
    inverse = _inverse(means.mean() * ((z.T * w) @ z), ridge)
    return lambda g: np.asarray((inverse @ g) * (means.mean() / means))


def _sample(
    rows: SampledRows, size: int, theta: Floats, scores: Floats, weight: float
) -> tuple[Floats, Floats, Floats]:
    """z with its constant, probabilities at θ, and weights with the sum of all rows'.

    Rows are drawn evenly along the sum of their curvatures and weighted inversely: near separable
    classes few rows have any.
    """
    n, w, at = len(rows.w), rows.w, np.arange(len(rows.w))
    if size < n:
        curvature = w * _curvatures(rows, theta, scores)
        # The part of the mean curvature that rows are drawn by at least.
        curvature += 0.1 * curvature.mean() * (w > 0.0)
        total = np.cumsum(curvature)
        at = np.searchsorted(total, (np.arange(size) + 0.5) * (total[-1] / size))
        at = np.minimum(at, n - 1)
        w = w[at] / np.maximum(curvature[at], np.finfo(float).tiny)
    z = rows.rows(at)
    z = np.column_stack([z, np.ones(len(z))])[:, : len(theta)]
    p = _probabilities(z @ theta)
    return z, p, w * (weight / max(float(w.sum()), np.finfo(float).tiny))


def _curvatures(rows: SampledRows, theta: Floats, scores: Floats) -> Floats:
    """Σ pₖ(1 − pₖ) of every row; few digits suffice."""
    n, d = len(rows.w), rows.x.shape[1]
    if not theta[:d].any():
        return np.ones(n)
    point, constant = theta[:d].astype(np.float32), theta[d:].sum(axis=0)

    def part(here: slice) -> Floats:
        known = scores[here] if len(scores) else rows.rows(here, np.float32) @ point + constant
        p = _probabilities(known)
        return np.asarray((p * (1.0 - p)).sum(axis=1))

    return np.concatenate(parallel_map(part, pieces(n, 1000)))  # rows that are worth a thread


def _probabilities(scores: Floats) -> Floats:
    """Those of the classes, or of the second of two."""
    if scores.shape[1] == 1:
        return np.asarray(0.5 * (1.0 + np.tanh(0.5 * scores)))
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def _full(z: Floats, p: Floats, w: Floats, ridge: Floats, weight: float) -> LinearSolver:
    """By the Cholesky factor of the whole Hessian; a common shift of all scores has a curvature."""
    width, k = z.shape[1], p.shape[1]

    def part(here: slice) -> Floats:
        weights, q, v = z[here], p[here], w[here]
        if k == 1:
            root = weights * np.sqrt(v[:, None] * q * (1.0 - q))
            return np.asarray(root.T @ root)
        flat = ((np.sqrt(v)[:, None] * q)[:, :, None] * weights[:, None, :]).reshape(
            len(weights), -1
        )
        sums = -(flat.T @ flat)
        for j in range(k):
            at = slice(j * width, (j + 1) * width)
            root = weights * np.sqrt(v * q[:, j])[:, None]
            sums[at, at] += root.T @ root
        return np.asarray(sums)

    parts = parallel_map(part, pieces(len(z), 500, most=8))
    hessian = parts[0]
    for tail in parts[1:]:
        hessian += tail
    if k > 1:
        shift = np.arange(width)
        hessian.reshape(k, width, k, width)[:, shift, :, shift] += weight / k**2
    mean = np.maximum(w @ (p * (1.0 - p)), LEAST_CURVATURE * weight)
    diagonal = np.einsum("ii->i", hessian)
    # Least part of the mean curvature in a column: a sample may lack the rows where it varies.
    np.maximum(diagonal, 0.2 * np.repeat(mean, width), out=diagonal)
    diagonal += np.tile(ridge, k) + 1e-8 * diagonal  # a factor exists beyond rounding
    solve = cholesky_solver(hessian)
    return lambda g: np.asarray(solve(g.T.ravel()).reshape(k, width).T)


def _inverse(block: Floats, ridge: Floats) -> Floats:
    diagonal = np.einsum("ii->i", block)
    diagonal += ridge + DAMPING * diagonal + 1e-6 * diagonal.mean() + np.finfo(float).tiny
    return np.asarray(linalg.inv(block, check_finite=False))


# -------------------------------------------------------------------------------------------------
# Separation on wide and sparse rows: by a point that classifies all rows, or by one column.
#
# Text is often separable by a word that one class alone has: its coefficient then has no finite
# maximum likelihood estimate, whatever the other words.


def separation_along(problem: WideLogistic, theta: Floats) -> Separation | None:
    """θ as a direction of recession, if the margins of all rows agree."""
    theta = theta / max(float(np.linalg.norm(theta)), np.finfo(float).tiny)
    scores = problem.times(theta)
    counted = problem.w > 0.0
    if theta.shape[1] == 1:
        margins = (problem.sign * scores[:, 0])[counted]
    else:
        of_true_class = np.take_along_axis(scores, problem.codes[:, None], axis=1)
        margins = of_true_class - scores
        np.put_along_axis(margins, problem.codes[:, None], np.inf, axis=1)
        margins = margins[counted]
    smallest = float(margins.min())
    largest = float(margins[np.isfinite(margins)].max())
    if not largest > 1e-6 or smallest < -ROUNDING * largest:
        return None
    coef, intercept = problem.unscale(theta)
    return Separation(coef, intercept, smallest, largest, complete=smallest > ROUNDING * largest)


def separating_column(problem: WideLogistic) -> Separation | None:
    """A column whose values in the classes overlap in one point at most; two classes only."""
    if problem.shape[1] > 1:
        return None
    low, high = _ranges(problem)
    origin = 0.0 if problem.design.intercept else np.nan
    for sign in (1.0, -1.0):
        lower, upper = (high[0], low[1]) if sign > 0 else (high[1], low[0])
        threshold = lower if np.isfinite(origin) else np.zeros_like(lower)
        apart = (lower <= threshold) & (threshold <= upper)
        apart &= np.maximum(high[0], high[1]) > np.minimum(low[0], low[1])
        if apart.any():
            j = int(np.argmax(np.where(apart, (upper - lower) / problem.preconditioner.scale, -1)))
            return _by_column(problem, j, sign, float(threshold[j]))
    return None


def _ranges(problem: WideLogistic) -> tuple[list[Floats], list[Floats]]:
    """Smallest and largest value of every column in each class."""
    x, low, high = problem.rows.collect().x, [], []
    for code in (0, 1):
        part = x[(problem.codes == code) & (problem.w > 0.0)]
        smallest, largest = part.min(axis=0), part.max(axis=0)
        low.append(np.asarray(smallest.toarray() if problem.is_sparse else smallest).ravel())
        high.append(np.asarray(largest.toarray() if problem.is_sparse else largest).ravel())
    return low, high


def _by_column(problem: WideLogistic, j: int, sign: float, threshold: float) -> Separation | None:
    """The direction ±(xⱼ − threshold), checked on all rows."""
    theta = np.zeros(problem.shape)
    theta[j] = sign * problem.preconditioner.scale[j]
    if problem.design.intercept:
        theta[-1] = sign * (problem.preconditioner.center[j] - threshold)
    coef, intercept = problem.unscale(theta)
    x = problem.rows.collect().x[:, [j]]
    values = np.asarray(x.toarray() if problem.is_sparse else x).ravel()
    margins = (problem.sign * sign * (values - threshold))[problem.w > 0.0]
    smallest, largest = float(margins.min()), float(margins.max())
    if smallest < 0.0 or not largest > 0.0:
        return None
    return Separation(coef, intercept, smallest, largest, complete=smallest > 0.0)


# -------------------------------------------------------------------------------------------------
# More columns than rows: coordinates within the span of the rows.


class SpanOfRows(Preconditioner):
    """Z = U diag(s) Vᵀ with Vᵀ = diag(1/s) UᵀZ, which products with the rows stand for.

    ``rotation`` is as large as the table, and most fits need no more of it than P β.
    """

    def __init__(
        self, z: Standardized, u: Floats, s: Floats, y_center: Floats, *, centered: bool
    ) -> None:
        scale = s / np.sqrt(len(u))
        self.__dict__.update(z=z, u=u, s=s, center=z.center, scale=scale, y_center=y_center)
        self.__dict__.update(centered=centered, dependent=())

    z: Standardized
    u: Floats
    s: Floats

    rotated = True

    @cached_property
    def rotation(self) -> Floats:  # type: ignore[override]
        """V in the units of the table."""
        return self._columns(self.u / self.s)

    def coef(self, beta: Floats) -> Floats:
        """P β by one product with the rows."""
        return self._columns(self.u @ (beta / (self.s * self.scale)[:, None]))

    def _columns(self, c: Floats) -> Floats:
        """S⁻¹Zᵀ c."""
        return self.z.transposed_times(c) / self.z.scale[:, None]


def span_of_rows(
    rows: ArrayRows, targets: Terms, options: LogisticOptions
) -> tuple[LogisticProblem, Floats]:
    """Coordinates within the span of the rows, where the coefficients of smallest norm lie."""
    w = rows.block.weights
    standardizer = Standardizer.from_rows(rows.block.x, w, keep_mean=True)
    priors = w @ rows.block.y / w.sum()
    block = rows.take(w > 0).block
    scaled = options.standardize or options.penalty == 0.0
    unit = np.ones(block.x.shape[1])
    if scaled:  # a constant column becomes 0
        unit = np.where(standardizer.scale > 0.0, standardizer.scale, np.inf)
    center = standardizer.mean if options.centered else np.zeros_like(standardizer.mean)
    values, vectors = linalg.eigh(row_gram(block.x, center, unit, np.ones(block.n)))
    nonzero = values > 1e-13 * max(float(values[-1]), np.finfo(float).tiny) * len(values)
    singular, vectors = np.sqrt(values[nonzero]), vectors[:, nonzero]
    scale = singular / np.sqrt(block.n)
    z = Standardized(products(block.x), center, unit)
    preconditioner = SpanOfRows(z, vectors, singular, priors, centered=options.centered)
    projected = ArrayRows(vectors * singular, block.y, block.w, targets=block.targets.items)
    design = LogisticDesign(targets, np.zeros(len(scale)), None, options.fit_intercept)
    weight = float(w.sum())
    problem = assemble_problem(projected, design, preconditioner, 1.0 / scale, weight, options)
    return problem, priors
