"""Moments in double-double precision, for nearly dependent columns.

The sums of :class:`~separatrix.statistics.moments.Moments`, each stored as hi + lo: 32 decimal
digits. Forming XᵀX squares the condition number κ; with errors of 10⁻³²·κ² instead of 10⁻¹⁶·κ²
even κ = 10¹² leaves the coefficients right to the last digit that a float can hold.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from separatrix.linear.least_squares import loops as dd
from separatrix.rows.block import Block, Floats


class ExtendedMoments:
    """Σw, Σwz and Σwzzᵀ about the fixed point ``shift``, in double-double, for z = (x, y).

    All blocks of one pass have the same ``shift`` (near the means, from an earlier pass), so that
    merging is plain addition.
    """

    def __init__(self, shift: Floats, count: int = 0) -> None:
        p = len(shift)
        self.shift, self.count = shift, count
        self.weight = 0.0
        self.total = np.zeros((2, p))
        self.gram = np.zeros((2, p, p))

    def fresh(self) -> Self:
        """An empty one about the same point."""
        return type(self)(self.shift)

    def update(self, block: Block) -> None:
        """Add the rows of a block, made dense in chunks."""
        w = block.weights
        step = max(1, 4_000_000 // len(self.shift))
        for start in range(0, block.n, step):
            rows = slice(start, start + step)
            z = np.concatenate([block.dense(start, start + step), block.y[rows]], axis=1)
            dd.accumulate(z, w[rows], self.shift, self.total, self.gram)
        self.count += int(np.count_nonzero(w))
        self.weight += float(w.sum())

    def __add__(self, other: Self) -> Self:
        merged = type(self)(self.shift, self.count + other.count)
        merged.weight = self.weight + other.weight
        merged.total = _sum(self.total, other.total)
        merged.gram = _sum(self.gram, other.gram)
        return merged

    def mean(self) -> Floats:
        """shift + Σwz/Σw, as hi and lo (2 x p)."""
        offset = (self.total[0] + self.total[1]) / self.weight
        hi = self.shift + offset
        return np.stack([hi, offset - (hi - self.shift)])

    def scatter(self) -> Floats:
        """Σw(z−μ)(z−μ)ᵀ as hi and lo (2 x p x p), upper triangle."""
        t = self.total[0] + self.total[1]
        # Σwz is tiny about a point near the mean: its square needs no more than a float's digits
        correction = -np.outer(t, t / self.weight)
        return _sum(self.gram, np.stack([correction, np.zeros_like(correction)]))


def _sum(a: Floats, b: Floats) -> Floats:
    s = a[0] + b[0]
    v = s - a[0]
    error = (a[0] - (s - v)) + (b[0] - v) + a[1] + b[1]
    hi = s + error
    return np.stack([hi, error - (hi - s)])
