"""Leave-one-out errors of a whole ridge path, in closed form, from one pass over the rows.

    e₍ᵢ₎ = (yᵢ − ŷᵢ) / (1 − hᵢ),      hᵢ = 1/Σw + zᵢᵀ V diag(1/(λ + α)) Vᵀ zᵢ,   z = (x − x̄)/s

The error that row i would meet had it been left out, without leaving it out. A row of weight w
stands for w equal rows: one of them is left out, the others stay.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from separatrix.rows.block import Block, Floats


class LeaveOneOut:
    """Σ w e₍ᵢ₎² for each of m penalties (summed over targets).

    ``rotation`` (d x r) takes centred rows to principal directions, ``shrink`` (r x m) holds
    1/(λ + α), ``cross`` (r x k) the products of the directions with the targets; ``base`` is 1/Σw
    with an intercept, else 0.
    """

    def __init__(
        self,
        rotation: Floats,
        shrink: Floats,
        cross: Floats,
        x_mean: Floats,
        y_mean: Floats,
        base: float,
    ) -> None:
        self.rotation, self.shrink, self.cross = rotation, shrink, cross
        self.x_mean, self.y_mean, self.base = x_mean, y_mean, base
        self.total = np.zeros(shrink.shape[1])

    def fresh(self) -> Self:
        """An empty one for the same path."""
        return type(self)(
            self.rotation, self.shrink, self.cross, self.x_mean, self.y_mean, self.base
        )

    def update(self, block: Block) -> None:
        """Take in the rows of a block, in chunks that stay in cache."""
        d, m = self.rotation.shape[0], self.shrink.shape[1]
        chunk = int(np.clip(400_000 // max(d, m), 64, 4096))
        models = [self.shrink * self.cross[:, [k]] for k in range(self.cross.shape[1])]
        offset = self.x_mean @ self.rotation
        for start in range(0, block.n, chunk):
            rows = slice(start, start + chunk)
            z = block.dense(start, start + chunk) @ self.rotation - offset
            keep = np.maximum(1.0 - self.base - (z * z) @ self.shrink, 1e-12)
            for k, model in enumerate(models):
                error = (block.y[rows, k] - self.y_mean[k])[:, None] - z @ model
                error /= keep
                error *= error
                w = None if block.w is None else block.w[rows]
                self.total += error.sum(axis=0) if w is None else w @ error

    def __add__(self, other: Self) -> Self:
        merged = self.fresh()
        merged.total = self.total + other.total
        return merged
