"""Mean and scatter of every column: what K-means needs of a table before it starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse

from separatrix.cluster.lloyd.table import power_of_two
from separatrix.messages import InputError
from separatrix.rows.block import Block, Floats
from separatrix.statistics.moments import Moments, not_finite
from separatrix.statistics.standardizer import Standardizer, zero_if_constant
from separatrix.threads import parallel_map, pieces

#: Numbers that are worth a piece of their own.
MIN_WORK = 100_000
#: Least weight of a row, relative to the mean weight, with which scatter bounds distances.
MIN_WEIGHT = 1e-3


@dataclass(frozen=True)
class ColumnSpread:
    """Rows of positive weight, their weight, and Σ w (x − μ)² about the mean μ of each column."""

    count: int
    weight: float
    mean: Floats
    squares: Floats

    @classmethod
    def from_moments(cls, moments: Moments) -> Self:
        """Of a table whose moments are known."""
        return cls(moments.count, moments.weight, moments.x_mean, np.diag(moments.xx))

    @classmethod
    def from_block(cls, block: Block) -> Self:
        """Of a matrix in memory, dense or CSR, without its products of columns."""
        w = block.weights
        count, weight = int((w > 0).sum()), float(w.sum())
        with np.errstate(over="ignore", invalid="ignore"):
            if sparse.issparse(block.x):
                mean = np.asarray(block.x.T @ w) / weight
                squares = np.asarray(block.x.multiply(block.x).T @ w) - weight * mean**2
            else:
                mean, squares = _dense(block.x, w, weight)
        if not np.isfinite(mean).all():
            raise not_finite(block, mean)
        if not np.isfinite(squares).all():
            raise InputError(
                "holds numbers so large that their squares overflow (beyond about 1e150).",
                column=block.terms.items[int(np.flatnonzero(~np.isfinite(squares))[0])].column,
                remedy="Divide the column by a power of ten.",
            )
        return cls(count, weight, mean, np.maximum(squares, 0.0))

    @property
    def standardizer(self) -> Standardizer:
        """Means and standard deviations."""
        scale = np.sqrt(np.maximum(self.squares, 0.0) / self.weight)
        return Standardizer(self.mean.copy(), zero_if_constant(scale, self.mean))

    def origin_and_unit(
        self, standardizer: Standardizer | None, w: Floats | None
    ) -> tuple[Floats, float] | None:
        """The mean, and a power of two near a bound of the distance from it in any column.

        None where weights are so different that the bound would be far too large.
        """
        least = 1.0 if w is None else float(w.min())
        if not least * self.count >= MIN_WEIGHT * self.weight:
            return None
        mean, squares = self.mean, self.squares
        if standardizer is not None:
            mean = standardizer.transform(mean[None])[0]
            squares = squares * standardizer.inverse_scale**2
        return mean, power_of_two(float(np.sqrt(squares.max() / least)))

    def variance(self, standardizer: Standardizer | None) -> float:
        """The mean variance of the columns, standardized if so."""
        squares = self.squares
        if standardizer is not None:
            squares = squares * standardizer.inverse_scale**2
        return float(squares.mean()) / self.weight


def _dense(x: Floats, w: Floats, weight: float) -> tuple[Floats, Floats]:
    """Mean and scatter of the columns of a dense matrix, rows on threads."""
    cuts = pieces(len(x), MIN_WORK // max(x.shape[1], 1))
    mean = np.sum(parallel_map(lambda rows: w[rows] @ x[rows], cuts), axis=0) / weight

    def about_mean(rows: slice) -> tuple[Floats, Floats]:
        z = x[rows] - mean
        error = w[rows] @ z
        z *= z
        return error, w[rows] @ z

    found = parallel_map(about_mean, cuts)
    # A long sum rounds: the mean of the differences is its error.
    error = np.sum([one[0] for one in found], axis=0) / weight
    squares = np.sum([one[1] for one in found], axis=0) - weight * error**2
    return np.asarray(mean + error), np.asarray(squares)
