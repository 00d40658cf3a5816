"""Copies in a stream: the rows of the smallest hashes, and how often each occurs.

    rows that are copies ≈ rows · Σ (count − 1) / Σ count        over the sampled rows

The sample merges with ``+``. It does not depend on the order of the rows, and is all of them where
there are few distinct ones: then the number is exact.
"""

from __future__ import annotations

from typing import Generic, Self, TypeVar

import numpy as np

from separatrix.rows.block import Block, Ints
from separatrix.rows.parts import Hashes, hash_block
from separatrix.rows.rows import S, Statistic

T = TypeVar("T", bound=Statistic)

#: Distinct rows in the sample.
SIZE = 4_096


class RowSample:
    """The smallest hashes of rows with their counts, and the number of all rows."""

    def __init__(self, hashes: Hashes | None = None, counts: Ints | None = None, rows: int = 0):
        self.hashes = np.zeros(0, dtype=np.uint64) if hashes is None else hashes
        self.counts = np.zeros(0, dtype=np.int64) if counts is None else counts
        self.rows = rows

    def fresh(self) -> Self:
        """An empty sample."""
        return type(self)()

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        found, counts = np.unique(hash_block(block), return_counts=True)
        whole = self + type(self)(found, counts.astype(np.int64), block.n)
        self.hashes, self.counts, self.rows = whole.hashes, whole.counts, whole.rows

    def __add__(self, other: Self) -> Self:
        both = np.concatenate([self.hashes, other.hashes])
        hashes, at = np.unique(both, return_inverse=True)
        counts = np.bincount(at, np.concatenate([self.counts, other.counts]), len(hashes))
        whole = counts[:SIZE].astype(np.int64)
        return type(self)(hashes[:SIZE], whole, self.rows + other.rows)

    @property
    def exact(self) -> bool:
        """Whether every distinct row is in the sample."""
        return len(self.hashes) < SIZE

    @property
    def copies(self) -> int:
        """Rows that are copies of another one: counted, or estimated from the sample."""
        n = int(self.counts.sum())
        return round(self.rows * (n - len(self.hashes)) / n) if n else 0


class Both(Generic[S, T]):
    """Two statistics of the same rows in one pass."""

    def __init__(self, first: S, second: T) -> None:
        self.first, self.second = first, second

    def fresh(self) -> Self:
        """Both of them empty."""
        return type(self)(self.first.fresh(), self.second.fresh())

    def update(self, block: Block) -> None:
        """Add the rows of a block to both."""
        self.first.update(block)
        self.second.update(block)

    def __add__(self, other: Self) -> Self:
        return type(self)(self.first + other.first, self.second + other.second)
