"""Random samples of the rows of a stream, by hash."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from separatrix.arrays import Ints
from separatrix.rows.parts import Hashes, distinguish_copies, hash_block, salted_words
from separatrix.rows.schema import Block, concatenate

# -------------------------------------------------------------------------------------------------
# A random sample of the rows of a stream, by hash: it merges with ``+`` and has a seed.
#
#     the rows of smallest hash(content, ordinal among equal rows of the block, seed)


#: Rows, each with the hash that decides whether it is drawn.
Drawn = tuple[Block, Hashes]


def draw(block: Block, seed: int) -> Hashes:
    """The hash of every row of a block."""
    # another salt than that of the parts: theirs are ranges of words
    return salted_words(distinguish_copies(hash_block(block)), -1 - seed)


def keep_smallest(drawn: Drawn | None, block: Block, words: Hashes, size: int) -> Drawn:
    """The ``size`` rows of the smallest hashes among those drawn and further ones."""
    if drawn is not None:
        block = concatenate([drawn[0], block])
        words = np.concatenate([drawn[1], words])
    order = np.argsort(words, kind="stable")[:size]
    return block.take(order), words[order]


def draw_fraction(block: Block, fraction: float) -> Block:
    """A random fraction of the rows, by the hash of their content."""
    if fraction >= 1.0:
        return block
    # the bound of hashes; those of numbers near 2⁶⁴ do not fit, where all rows are taken
    return block.take(np.flatnonzero(draw(block, 0) < np.uint64(fraction * 2.0**64)))


class RandomSample:
    """``size`` rows of a stream, which depend neither on their order nor on the blocks."""

    def __init__(self, size: int, seed: int = 0, drawn: Drawn | None = None) -> None:
        self.size, self.seed, self.drawn = size, seed, drawn

    def fresh(self) -> Self:
        """An empty sample with the same seed."""
        return type(self)(self.size, self.seed)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        if block.n:
            self.drawn = keep_smallest(self.drawn, block, draw(block, self.seed), self.size)

    def __add__(self, other: Self) -> Self:
        if other.drawn is None:
            return self
        drawn = keep_smallest(self.drawn, *other.drawn, self.size)
        return type(self)(self.size, self.seed, drawn)


# Rows of the test part and those of the folds are sampled apart, so that neither depends on how
# many of the other there are. A table of no more rows than the sample is in it whole.


#: Rows of each of the two samples, and numbers in them.
ROWS, NUMBERS = 20_000, 2_000_000


class Reservoir:
    """The rows of smallest hash of the test part (``test``) and of all other parts.

    ``samples`` holds both, each with the hashes of its rows, by whether it is of the test part;
    ``count`` is the number of rows that they were drawn from.
    """

    def __init__(
        self,
        seed: int = 0,
        test: int = -1,
        samples: dict[bool, Drawn] | None = None,
        count: dict[bool, int] | None = None,
    ) -> None:
        self.seed, self.test = seed, test
        self.samples = {} if samples is None else samples
        self.count = {False: 0, True: 0} if count is None else count

    def fresh(self) -> Self:
        """An empty sample with the same seed."""
        return type(self)(self.seed, self.test)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        assert block.parts is not None, "the rows have no parts"
        words = draw(block, self.seed)
        for is_test in (False, True):
            indices = np.flatnonzero((block.parts == self.test) == is_test)
            if not len(indices):
                continue
            size = self._size(block)
            self.count[is_test] += len(indices)
            indices = indices[np.argsort(words[indices], kind="stable")[:size]]
            self.samples[is_test] = self._join(is_test, block.take(indices), words[indices])

    def _join(self, is_test: bool, block: Block, words: Hashes) -> Drawn:
        """The sample with further rows, in the order of their hashes."""
        return keep_smallest(self.samples.get(is_test), block, words, self._size(block))

    def _size(self, block: Block) -> int:
        return max(100, min(ROWS, NUMBERS // max(1, len(block.terms))))

    def __add__(self, other: Self) -> Self:
        count = {is_test: self.count[is_test] + other.count[is_test] for is_test in (False, True)}
        total = type(self)(self.seed, self.test, dict(self.samples), count)
        for is_test, (block, words) in other.samples.items():
            total.samples[is_test] = total._join(is_test, block, words)
        return total

    def rows(self, *, test: bool) -> Block | None:
        """The sample of the test part, or that of all others; None without rows."""
        return self.samples[test][0] if test in self.samples else None


# -------------------------------------------------------------------------------------------------
# Copies in a stream: the rows of the smallest hashes, and how often each occurs.
#
#     rows that are copies ≈ rows · Σ (count − 1) / Σ count        over the sampled rows
#
# The sample merges with ``+``. It does not depend on the order of the rows, and is all of them
# where there are few distinct ones: then the number is exact.


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
        hashes, counts = np.unique(hash_block(block), return_counts=True)
        whole = self + type(self)(hashes, counts.astype(np.int64), block.n)
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


class Together:
    """Several statistics of the same rows in one pass."""

    def __init__(self, *statistics: Any) -> None:
        self.statistics = statistics

    def fresh(self) -> Self:
        """All of them empty."""
        return type(self)(*(statistic.fresh() for statistic in self.statistics))

    def update(self, block: Block) -> None:
        """Add the rows of a block to each."""
        for statistic in self.statistics:
            statistic.update(block)

    def __add__(self, other: Self) -> Self:
        pairs = zip(self.statistics, other.statistics, strict=True)
        return type(self)(*(a + b for a, b in pairs))
