"""The least and greatest value of every feature, from one pass."""

from __future__ import annotations

from typing import Self

import numpy as np

from separatrix.rows.block import Block, Floats


class Extent:
    """``low`` and ``high`` per term; rows of weight zero do not count. Merges with ``+``."""

    def __init__(self, low: Floats | None = None, high: Floats | None = None) -> None:
        self.low, self.high = low, high

    def fresh(self) -> Self:
        """An empty one."""
        return type(self)()

    def update(self, block: Block) -> None:
        """Take in the rows of a block."""
        kept = block if block.w is None else block.take(np.flatnonzero(block.w > 0))
        step = max(64, 1_000_000 // max(len(block.terms), 1))
        for start in range(0, kept.n, step):
            x = kept.dense(start, start + step)
            self.__dict__.update((self + Extent(x.min(axis=0), x.max(axis=0))).__dict__)

    def __add__(self, other: Extent) -> Self:
        if self.low is None or self.high is None:
            return type(self)(other.low, other.high)
        if other.low is None or other.high is None:
            return self
        return type(self)(np.minimum(self.low, other.low), np.maximum(self.high, other.high))
