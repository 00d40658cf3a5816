"""Leave-one-out errors of a whole ridge path, in closed form, from one pass over the rows.

    e₍ᵢ₎ = (yᵢ − ŷᵢ) / (1 − hᵢ),      hᵢ = 1/Σw + Σⱼ uᵢⱼ² λⱼ/(λⱼ + α)

with uᵢⱼ the coordinate of row i along the j-th principal direction, in units of its length √λⱼ: the
error that row i would meet had it been left out, without leaving it out. A row of weight w stands
for w equal rows: one of them is left out, the others stay.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from separatrix.rows.block import Block, Floats


class LeaveOneOut:
    """Σ w e₍ᵢ₎² for each of m penalties (summed over targets), and the least 1 − h met.

    ``rotation`` (d x r) takes centred rows to coordinates u, ``shrink`` (r x m) holds λ/(λ + α),
    ``cross`` (r x k) the products of u with the targets; ``base`` is 1/Σw with an intercept, else
    0. In float32 (``precision``) the sums are good to about six digits where 1 − h is not small.
    """

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
        self.total = np.zeros(shrink.shape[1])
        self.least = 1.0

    def fresh(self) -> Self:
        """An empty one for the same path."""
        return type(self)(
            self.rotation,
            self.shrink,
            self.cross,
            self.x_mean,
            self.y_mean,
            self.base,
            self.precision,
        )

    def update(self, block: Block) -> None:
        """Take in the rows of a block, in chunks whose working arrays stay in cache."""
        (d, r), m, kind = self.rotation.shape, self.shrink.shape[1], self.precision
        rotation, pull = self.rotation.astype(kind), self._thin(self.shrink)
        models = [self._thin(self.shrink * self.cross[:, [k]]) for k in range(self.cross.shape[1])]
        chunk = int(np.clip(100_000 // max(d, m), 64, 2048))
        z, u, square = (np.empty((chunk, size), kind) for size in (d, r, r))
        keep, error = np.empty((chunk, m), kind), np.empty((chunk, m), kind)
        for start in range(0, block.n, chunk):
            n = min(chunk, block.n - start)
            rows = slice(start, start + n)
            w = None if block.w is None else block.w[rows]
            np.subtract(block.dense(start, start + n), self.x_mean, z[:n], casting="same_kind")
            np.matmul(z[:n], rotation, out=u[:n])
            np.multiply(u[:n], u[:n], out=square[:n])
            np.matmul(square[:n] @ pull[0], pull[1], out=keep[:n])
            np.subtract(1.0 - self.base, keep[:n], out=keep[:n])
            counted = keep[:n] if w is None else keep[:n][w > 0]
            least = float(counted.min(initial=1.0))
            self.least = min(self.least, least)
            if least < 1e-12:  # a row that decides its own fit: rounding must not divide by zero
                np.maximum(keep[:n], 1e-12, out=keep[:n])
            for k, (left, right) in enumerate(models):
                y = (block.y[rows, k] - self.y_mean[k]).astype(kind, copy=False)
                np.matmul(u[:n] @ left, right, out=error[:n])
                np.subtract(y[:, None], error[:n], out=error[:n])
                error[:n] /= keep[:n]
                error[:n] *= error[:n]
                self.total += (np.ones(n, kind) if w is None else w) @ error[:n]

    def _thin(self, matrix: Floats) -> tuple[Floats, Floats]:
        """The matrix as a product of two thin ones.

        λ/(λ + α) varies so smoothly with both that a dozen products hold all of it to rounding.
        """
        u, s, vt = np.linalg.svd(matrix, full_matrices=False)
        smallest = 0.1 * np.finfo(self.precision).eps
        rank = int(np.count_nonzero(s > smallest * s.max(initial=0.0)))
        left, right = u[:, :rank] * s[:rank], vt[:rank]
        return left.astype(self.precision), right.astype(self.precision)

    def __add__(self, other: Self) -> Self:
        merged = self.fresh()
        merged.total = self.total + other.total
        merged.least = min(self.least, other.least)
        return merged
