"""The logistic likelihood over wide or sparse rows, by products with its design.

    s = Zθ,      ∇f(θ) = Zᵀ w (p − y),      Z = ((X − center) / scale, 1)

Z is never formed: columns are centered and scaled within the products, and no d x d matrix is
needed. Memory is a small multiple of the data and of n x scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from separatrix.logistic.problem import (
    Evaluation,
    LogisticOptions,
    LogisticProblem,
    assemble_problem,
)
from separatrix.logistic.wide.loops import entropy_of_scores, residuals_of_scores
from separatrix.logistic.wide.passes import DenseRows, SinglePrecision, single_precision
from separatrix.logistic.wide.softmax import ClassRows, residuals_of_classes
from separatrix.matrices.products import Products, products
from separatrix.matrices.scales import column_scales
from separatrix.matrices.standardized import Standardized
from separatrix.probability.likelihood.derivatives import LogisticDesign, LogisticDual
from separatrix.rows.block import Block, Floats, Ints
from separatrix.rows.rows import ArrayRows
from separatrix.rows.schema import Terms
from separatrix.statistics.preconditioner import Preconditioner
from separatrix.statistics.standardizer import zero_if_constant

#: Values of dense rows from which a copy in single precision pays.
MIN_SINGLE = 4_000_000


@dataclass(frozen=True)
class Point:
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
    def dense_rows(self) -> DenseRows | ClassRows:
        """Dense rows, for passes that read them once."""
        x, d = self._array_rows.block.x, len(self.design.center)
        if self.shape[1] > 1:
            return ClassRows(x, self.design.center, self.scale[:d], self.codes, self.w)
        return DenseRows(x, self.design.center, self.scale[:d], self.sign, self.w)

    @cached_property
    def single_rows(self) -> DenseRows | ClassRows | None:
        """The same in single precision; None where such a copy does not pay."""
        if self.is_sparse:
            return None
        if isinstance(self.dense_rows, ClassRows):
            return self.dense_rows.single()
        if self.copy is None:
            return None
        z, shift, factor, _, _ = self.copy
        center, scale = self.design.center, self.scale[: len(shift)]
        return DenseRows(z, (center - shift) * factor, scale * factor, self.sign, self.w)

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

    def at_scores(self, theta: Floats, scores: Floats) -> Point:
        """F and its gradient where the scores are known."""
        residual = np.empty_like(scores)
        if scores.shape[1] > 1:
            value, _, margin = residuals_of_classes(scores, self.codes, self.w, residual)
            sums = self.transposed_times(residual)
        else:
            flat = residual[:, 0]
            value, margin = residuals_of_scores(scores[:, 0], self.sign, self.w, flat)
            sums = self.transposed_times(flat)
        return self._point(theta, scores, value, sums.reshape(theta.shape), margin)

    def at(self, theta: Floats) -> Point:
        """F and its gradient; dense rows are read once."""
        if not self.is_sparse:
            return self.at_rows(theta, self.dense_rows)
        if theta.shape[1] > 1:
            return self.at_scores(theta, self.times(theta))
        return self.at_scores(theta, self.times(theta[:, 0])[:, None])

    def at_rows(self, theta: Floats, rows: DenseRows | ClassRows) -> Point:
        """F and its gradient in one pass over dense rows, in their precision."""
        if isinstance(rows, ClassRows):
            return self._at_classes(theta, rows)[0]
        d, flat = len(self.design.center), theta[:, 0]
        value, gradient, scores = rows(flat[:d], float(flat[d:].sum()))
        signed = np.where(self.w > 0.0, self.sign * scores, np.inf)
        sums = gradient[: len(theta), None]
        return self._point(theta, scores[:, None], value, sums, float(signed.min(initial=np.inf)))

    def _at_classes(self, theta: Floats, rows: ClassRows) -> tuple[Point, float]:
        """The same for several classes, whose scores are not stored, and Σ w Σ p log p."""
        d = len(self.design.center)
        constant = theta[d] if self.design.intercept else np.zeros(theta.shape[1])
        found = rows(theta[:d], constant)
        none, sums = np.zeros((0, theta.shape[1])), found.gradient[: len(theta)]
        return self._point(theta, none, found.value, sums, found.margin), found.entropy

    def _point(
        self, theta: Floats, scores: Floats, value: float, sums: Floats, margin: float
    ) -> Point:
        ridge = self.ridge[:, None] * theta
        value += 0.5 * float(np.sum(theta * ridge))
        return Point(theta, scores, value, sums + ridge, margin)

    def gradient(self, theta: Floats) -> Evaluation:
        """Value and gradient."""
        found = self.at(theta)
        return Evaluation(found.value, found.gradient, found.margin)

    def dual(self, theta: Floats, step: Floats) -> LogisticDual:
        """The sums of a certificate at θ − step; the dual point has the probabilities there."""
        theta = theta - step
        if not self.is_sparse and isinstance(self.dense_rows, ClassRows):
            found, entropy = self._at_classes(theta, self.dense_rows)
        else:
            found = self.at(theta)
            entropy = self._entropy(found.scores)
        sums = LogisticDual(self.design, theta, step)
        ridge = self.ridge[:, None] * theta
        sums.value = found.value - 0.5 * float(np.sum(theta * ridge))
        sums.margin, sums.gradient = found.margin, found.gradient - ridge
        sums.dual_gradient, sums.entropy = sums.gradient, entropy
        return sums

    def _entropy(self, scores: Floats) -> float:
        """Σ w Σ p log p."""
        if scores.shape[1] > 1:
            nothing = np.empty_like(scores)
            return residuals_of_classes(scores, self.codes, self.w, nothing)[1]
        return float(entropy_of_scores(np.ascontiguousarray(scores[:, 0]), self.w))


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
