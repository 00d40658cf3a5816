"""Some rows of a table in memory: those of the smallest hashes of their content.

Which rows they are depends neither on the order of the rows nor on how they are stored, and copies
of a row are one row with the sum of their weights. A table of fewer rows is in the sample whole; of
a larger one other units give another sample.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from separatrix.rows.block import Block, Floats, to_array
from separatrix.rows.parts import Hashes, hash_block
from separatrix.rows.rows import InMemory, Rows


class HashedSample:
    """At most ``size`` distinct rows with their targets and weights, and how many there are."""

    def __init__(self, size: int) -> None:
        self.size, self.weight = size, 0.0
        self.hashes: Hashes = np.zeros(0, dtype=np.uint64)
        self.x: Floats | None = None
        self.y: Floats = np.zeros((0, 0))
        self.w: Floats = np.zeros(0)

    def fresh(self) -> Self:
        """A sample of no rows."""
        return type(self)(self.size)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        hashes, w = hash_block(block), block.weights
        self.weight += float(w.sum())
        here = w > 0.0
        if len(self.hashes) >= self.size:  # rows beyond the largest hash are not looked at
            here &= hashes <= self.hashes[-1]
        index = np.flatnonzero(here)
        if len(index) > 4 * self.size:
            nearest = np.unique(hashes[index])[: self.size]
            index = index[hashes[index] <= nearest[-1]]
        if len(index):
            self._take(hashes[index], to_array(block.x[index]), block.y[index], w[index])

    def _take(self, hashes: Hashes, x: Floats, y: Floats, w: Floats) -> None:
        if self.x is not None:
            hashes = np.concatenate([self.hashes, hashes])
            x, y, w = np.concatenate([self.x, x]), np.concatenate([self.y, y]), np.append(self.w, w)
        self.hashes, first, at = np.unique(hashes, return_index=True, return_inverse=True)
        total = np.bincount(at, w, len(self.hashes)).astype(float)
        stay = slice(0, self.size)
        self.hashes, self.w = self.hashes[stay], total[stay]
        self.x, self.y = x[first[stay]], y[first[stay]]

    def __add__(self, other: Self) -> Self:
        total = self.fresh()
        total.weight = self.weight + other.weight
        for one in (self, other):
            if one.x is not None:
                total._take(one.hashes, one.x, one.y, one.w)
        return total

    @property
    def whole(self) -> bool:
        """Whether every row is in the sample."""
        return bool(np.isclose(self.w.sum(), self.weight, rtol=1e-12))


def sampled(rows: Rows, size: int) -> HashedSample:
    """The sample of all rows, in one pass."""
    if not isinstance(rows, InMemory):
        return rows.reduce(HashedSample(size))
    sample = HashedSample(size)
    sample.update(rows.block)
    return sample
