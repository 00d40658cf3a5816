"""A random sample of the rows of a stream, by hash: it merges with ``+`` and has a seed.

    the rows of smallest hash(content, ordinal among equal rows of the block, seed)

Rows of the test part and those of the folds are sampled apart, so that neither depends on how many
of the other there are. A table of no more rows than the sample is in it whole.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from separatrix.rows.block import Block, concatenate
from separatrix.rows.parts import Hashes, distinguished, hash_block, salted_words

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
        samples: dict[bool, tuple[Block, Hashes]] | None = None,
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
        # another salt than that of the parts: theirs are ranges of words
        words = salted_words(distinguished(hash_block(block)), -1 - self.seed)
        for own in (False, True):
            at = np.flatnonzero((block.parts == self.test) == own)
            if not len(at):
                continue
            size = self._size(block)
            self.count[own] += len(at)
            at = at[np.argsort(words[at], kind="stable")[:size]]
            self.samples[own] = self._joined(own, block.take(at), words[at])

    def _joined(self, own: bool, block: Block, words: Hashes) -> tuple[Block, Hashes]:
        """The sample with further rows, in the order of their hashes."""
        if own not in self.samples:
            return block, words
        first, known = self.samples[own]
        both, all_words = concatenate([first, block]), np.concatenate([known, words])
        order = np.argsort(all_words, kind="stable")[: self._size(both)]
        return both.take(order), all_words[order]

    def _size(self, block: Block) -> int:
        return max(100, min(ROWS, NUMBERS // max(1, len(block.terms))))

    def __add__(self, other: Self) -> Self:
        count = {own: self.count[own] + other.count[own] for own in (False, True)}
        total = type(self)(self.seed, self.test, dict(self.samples), count)
        for own, (block, words) in other.samples.items():
            total.samples[own] = total._joined(own, block, words)
        return total

    def rows(self, *, test: bool) -> Block | None:
        """The sample of the test part, or that of all others; None without rows."""
        return self.samples[test][0] if test in self.samples else None

    def is_whole(self, *, test: bool) -> bool:
        """Whether every row is in the sample."""
        found = self.rows(test=test)
        return found is None or found.n == self.count[test]
