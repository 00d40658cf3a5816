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

from separatrix.logistic.derivatives import LogisticDesign, LogisticDual
from separatrix.logistic.problem import (
    Evaluation,
    LogisticOptions,
    LogisticProblem,
    assemble_problem,
)
from separatrix.logistic.wide.loops import entropy_of_scores, residuals_of_scores
from separatrix.logistic.wide.passes import DenseRows
from separatrix.logistic.wide.softmax import entropy_of_classes, residuals_of_classes
from separatrix.matrices.products import Products, products
from separatrix.matrices.scales import column_scales
from separatrix.matrices.standardized import Standardized
from separatrix.rows.block import Floats, Ints
from separatrix.rows.rows import ArrayRows
from separatrix.rows.schema import Terms
from separatrix.statistics.preconditioner import Preconditioner
from separatrix.statistics.standardizer import zero_if_constant


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

    ``x`` multiplies with the columns of z but the constant, in units of θ.
    """

    x: Products = None  # type: ignore[assignment]

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are sparse."""
        return sparse.issparse(self._array_rows.block.x)

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
    def dense_rows(self) -> DenseRows:
        """Dense rows of two classes, for passes that read them once."""
        x, d = self._array_rows.block.x, len(self.design.center)
        return DenseRows(x, self.design.center, self.scale[:d], self.sign, self.w)

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

    def residuals(self, scores: Floats) -> tuple[float, float, Floats]:
        """Σ w ℓ, the smallest margin, and the derivatives of the loss by score."""
        residual = np.empty_like(scores)
        if scores.ndim == 2 and scores.shape[1] > 1:
            value, margin = residuals_of_classes(scores, self.codes, self.w, residual)
        else:
            value, margin = residuals_of_scores(
                scores.ravel(), self.sign, self.w, residual.reshape(-1)
            )
        return value, margin, residual

    def at_scores(self, theta: Floats, scores: Floats) -> Point:
        """F and its gradient where the scores are known."""
        value, margin, residual = self.residuals(scores)
        sums = self.transposed_times(residual[:, 0] if residual.shape[1] == 1 else residual)
        return self._point(theta, scores, value, sums.reshape(theta.shape), margin)

    def at(self, theta: Floats) -> Point:
        """F and its gradient; dense rows of two classes are read once."""
        if theta.shape[1] > 1:
            if self.is_sparse:
                return self.at_scores(theta, self.times(theta))
            found = super().gradient(theta)
            none = np.zeros((0, theta.shape[1]))
            return Point(theta, none, found.value, found.gradient, found.margin)
        if self.is_sparse:
            return self.at_scores(theta, self.times(theta[:, 0])[:, None])
        return self.at_rows(theta, self.dense_rows)

    def at_rows(self, theta: Floats, rows: DenseRows) -> Point:
        """F and its gradient in one pass over dense rows, in their precision."""
        d, flat = len(self.design.center), theta[:, 0]
        value, gradient, scores = rows(flat[:d], float(flat[d:].sum()))
        signed = np.where(self.w > 0.0, self.sign * scores, np.inf)
        sums = gradient[: len(theta), None]
        return self._point(theta, scores[:, None], value, sums, float(signed.min(initial=np.inf)))

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
        if theta.shape[1] > 1 and not self.is_sparse:
            return super().dual(theta, step)
        found = self.at(theta - step)
        sums = LogisticDual(self.design, theta, step)
        ridge = self.ridge[:, None] * found.theta
        sums.value = found.value - 0.5 * float(np.sum(found.theta * ridge))
        sums.margin, sums.gradient = found.margin, found.gradient - ridge
        sums.dual_gradient = sums.gradient
        if theta.shape[1] > 1:
            sums.entropy = entropy_of_classes(found.scores, self.w)
        else:
            sums.entropy = entropy_of_scores(found.scores[:, 0], self.w)
        return sums


def wide_problem(
    rows: ArrayRows, targets: Terms, options: LogisticOptions, x: Products | None = None
) -> tuple[WideLogistic, Floats]:
    """The problem of wide or sparse rows, and the class proportions; each column has its scale.

    ``x`` are the products with the columns of the rows where they are known.
    """
    block = rows.block
    w, x = block.weights, products(block.x) if x is None else x
    mean, deviation = column_scales(x, w)
    deviation = zero_if_constant(deviation, mean)
    center, scale = mean, deviation
    if not options.centered:
        center = np.zeros_like(mean)
        scale = zero_if_constant(np.sqrt(deviation**2 + mean**2), mean)
    unit = np.where(scale > 0.0, scale, 1.0)
    priors = w @ block.indicators(targets) / w.sum()
    preconditioner = Preconditioner(center, unit, None, priors, options.centered)
    penalty_scale = (deviation if options.standardize else 1.0) / unit
    design = LogisticDesign(targets, center, None, options.fit_intercept)
    weight = float(w.sum())
    plain = assemble_problem(rows, design, preconditioner, penalty_scale, weight, options)
    fields = {name: getattr(plain, name) for name in LogisticProblem.__dataclass_fields__}
    return WideLogistic(**fields, x=Standardized(x, center, unit)), priors
