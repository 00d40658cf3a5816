"""Standardization: z = (x − μ)/σ, with one rule for constant columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from separatrix.rows.block import Floats, Matrix

if TYPE_CHECKING:
    from separatrix.statistics.moments import Moments

#: Standard deviation of a 0/1 column of equal halves.
HALF = 0.5
EPS, TINY = float(np.finfo(float).eps), float(np.finfo(float).tiny)


def zero_if_constant(scale: Floats, mean: Floats) -> Floats:
    """Standard deviations, exactly 0 where they are no more than rounding errors of the mean.

    This is the one rule for "this column is constant"; subnormal deviations count as 0 too, since
    1/σ would overflow.
    """
    return np.where(scale > np.maximum(4 * EPS * np.abs(mean), TINY), scale, 0.0)


@dataclass(frozen=True)
class Standardizer:
    """z = (x − μ)/σ by column, weights counted as repeated rows; a constant column becomes 0.

    ``scale`` holds σ (1/N), exactly 0 for a constant column. CSR matrices are divided and not
    centered, so that they stay sparse: their ``mean`` is 0.
    """

    mean: Floats
    scale: Floats

    @classmethod
    def from_moments(cls, moments: Moments) -> Standardizer:
        """Means and standard deviations of the features."""
        scale = np.sqrt(np.maximum(np.diag(moments.xx), 0.0) / moments.weight)
        return cls(moments.x_mean.copy(), zero_if_constant(scale, moments.x_mean))

    @classmethod
    def from_rows(cls, x: Matrix, w: Floats, *, keep_mean: bool = False) -> Standardizer:
        """Means and standard deviations of rows in memory, dense or CSR.

        ``keep_mean`` is for callers that center sparse rows implicitly: the mean of a CSR matrix
        is then the true one.
        """
        total = w.sum()
        mean = np.asarray(x.T @ w) / total
        if not sparse.issparse(x):
            centered = x - mean
            # A long sum rounds: the mean of the differences is its error.
            error = w @ centered / total
            variance = w @ centered**2 / total - error**2
            mean = mean + error
            return cls(mean, zero_if_constant(np.sqrt(np.maximum(variance, 0.0)), mean))
        square = np.asarray(x.multiply(x).T @ w) / total - mean**2
        scale = zero_if_constant(np.sqrt(np.maximum(square, 0.0)), mean)
        return cls(mean if keep_mean else np.zeros_like(mean), scale)

    def with_pooled_scales(self, groups: Iterable[list[int]]) -> Standardizer:
        """One scale for the 0/1 columns of each discrete column: σ = √Σσⱼ², but at least ½.

        Together they then have variance 1, as a numeric column has, however many levels there are;
        and ½, the σ of a 0/1 column of equal halves, keeps a rare level from counting for more.
        """
        scale = self.scale.copy()
        for columns in groups:
            pooled = np.sqrt((self.scale[columns] ** 2).sum())
            scale[columns] = max(pooled, HALF) if pooled > 0 else 0.0
        return Standardizer(self.mean, scale)

    @property
    def inverse_scale(self) -> Floats:
        """1/σ, and 0 for a constant column."""
        return np.divide(1.0, self.scale, out=np.zeros_like(self.scale), where=self.scale > 0)

    def transform(self, x: Matrix) -> Any:
        """(x − μ)/σ; CSR stays CSR."""
        if sparse.issparse(x):
            return sparse.csr_array(x.multiply(self.inverse_scale))
        return np.ascontiguousarray((x - self.mean) * self.inverse_scale)

    def inverse_transform(self, z: Matrix) -> Any:
        """σz + μ: rows in the units of the table."""
        if sparse.issparse(z):
            return sparse.csr_array(z.multiply(self.scale))
        return z * self.scale + self.mean

    def unscale(self, coef: Floats, intercept: Any) -> tuple[Floats, Any]:
        """(coefficients of x, intercepts) from those of z; the last axis of ``coef`` is columns.

        b·z + a = (b/σ)·x + a − (b/σ)·μ; a constant column has the coefficient 0.
        """
        unscaled = coef * self.inverse_scale
        return unscaled, intercept - unscaled @ self.mean
