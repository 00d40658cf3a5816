"""Leave-one-out errors of a ridge path in closed form, from one pass over the rows.

    e₍ᵢ₎ = (yᵢ − ŷᵢ) / (1 − wᵢ hᵢ),      hᵢ = 1/Σw + Σⱼ uᵢⱼ² λⱼ/(λⱼ + α)

with uᵢⱼ the coordinate of row i along the j-th principal direction, in units of √λⱼ, and wᵢ hᵢ the
leverage: the prediction error of row i by the model fitted to the other rows (PRESS). A row of
weight w stands for w equal rows, all of which are left out: a copy left in would give the target
away.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from separatrix.rows.block import Block, Floats
from separatrix.statistics.fields import FieldStatistic


class LeaveOneOut(FieldStatistic):
    """Σ w e₍ᵢ₎² for each of k targets and m penalties, and the least 1 − w h.

    ``rotation`` (d x r) takes centred rows to coordinates u, ``shrink`` (r x m) holds λ/(λ + α),
    ``cross`` (r x k) the products of u with the targets; ``base`` is 1/Σw with an intercept, else
    0. In float32 (``precision``) the sums are good to about six digits where 1 − h is not small.
    """

    sums, minima = ("total",), ("least",)

    def __init__(
        self,
        rotation: Floats,
        shrink: Floats,
        cross: Floats,
        x_mean: Floats,
        y_mean: Floats,
        base: float,
        precision: Any = np.float64,
    ) -> None:
        self.rotation, self.shrink, self.cross = rotation, shrink, cross
        self.x_mean, self.y_mean, self.base = x_mean, y_mean, base
        self.precision = precision
        self.total = np.zeros((cross.shape[1], shrink.shape[1]))
        self.least = 1.0

    def update(self, block: Block) -> None:
        """Add the rows of a block, in chunks whose working arrays stay in cache."""
        for rows, k, error in self.errors(block):
            error *= error
            w = np.ones(len(error), self.precision) if block.w is None else block.w[rows]
            self.total[k] += w @ error

    def errors(self, block: Block) -> Iterator[tuple[slice, int, Floats]]:
        """Chunk by chunk (rows, target, errors (n x m)), in a buffer that the next one reuses."""
        (d, r), m, dtype = self.rotation.shape, self.shrink.shape[1], self.precision
        rotation, leverage = self.rotation.astype(dtype), self._low_rank(self.shrink)
        models = [
            self._low_rank(self.shrink * self.cross[:, [k]]) for k in range(self.cross.shape[1])
        ]
        chunk = int(np.clip(100_000 // max(d, m), 64, 2048))
        z, u, square = (np.empty((chunk, size), dtype) for size in (d, r, r))
        residual_factor, error = np.empty((chunk, m), dtype), np.empty((chunk, m), dtype)
        for start in range(0, block.n, chunk):
            n = min(chunk, block.n - start)
            rows = slice(start, start + n)
            w = None if block.w is None else block.w[rows]
            np.subtract(block.dense(start, start + n), self.x_mean, z[:n], casting="same_kind")
            np.matmul(z[:n], rotation, out=u[:n])
            np.multiply(u[:n], u[:n], out=square[:n])
            np.matmul(square[:n] @ leverage[0], leverage[1], out=residual_factor[:n])
            residual_factor[:n] += self.base
            if w is not None:
                residual_factor[:n] *= w[:, None]
            np.subtract(1.0, residual_factor[:n], out=residual_factor[:n])
            least = float(residual_factor[:n].min(initial=1.0))
            self.least = min(self.least, least)
            if least < 1e-12:  # a leverage of 1: rounding must not divide by zero
                np.maximum(residual_factor[:n], 1e-12, out=residual_factor[:n])
            for k, (left, right) in enumerate(models):
                y = (block.y[rows, k] - self.y_mean[k]).astype(dtype, copy=False)
                np.matmul(u[:n] @ left, right, out=error[:n])
                np.subtract(y[:, None], error[:n], out=error[:n])
                error[:n] /= residual_factor[:n]
                yield rows, k, error[:n]

    def _low_rank(self, matrix: Floats) -> tuple[Floats, Floats]:
        """The matrix as a product of two thin ones, by singular values.

        λ/(λ + α) is so smooth in both that a rank of about twelve represents it up to rounding.
        """
        u, s, vt = np.linalg.svd(matrix, full_matrices=False)
        smallest = 0.1 * np.finfo(self.precision).eps
        rank = int(np.count_nonzero(s > smallest * s.max(initial=0.0)))
        left, right = u[:, :rank] * s[:rank], vt[:rank]
        return left.astype(self.precision), right.astype(self.precision)
