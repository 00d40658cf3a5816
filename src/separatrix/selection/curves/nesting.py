"""Nested training sets: folds, and within each fold ranks that add up to growing sets.

    part of a row = rank · folds + fold,      train(f, s) = rows of the other folds with rank < s

A larger training set contains the smaller ones, and every size is tested on the same rows, so that
differences along a curve are differences of the models. Moments by part add up to all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints
from separatrix.rows.parts import Hashes, Parts
from separatrix.rows.rows import InMemory
from separatrix.selection.folds import deal_copies
from separatrix.statistics.moments import Moments

#: Ranks at most, and the numbers of them that training sets have.
MOST_RANKS = 16
LEVELS = (1, 2, 3, 4, 6, 8, 11, 16)
#: Added to the seed of the folds for that of the ranks.
RANK_SEED = 7_919
#: Rows of each part at least, on average.
ROWS_A_PART = 2


@dataclass(frozen=True)
class Nesting:
    """``folds`` times ``ranks`` parts."""

    folds: int
    ranks: int

    @classmethod
    def of(cls, n: int, folds: int) -> Nesting:
        """As many ranks as rows allow; refuses tables with too few."""
        if folds < 2:
            raise InputError(f"{folds} folds are too few.", remedy="Choose at least 2.")
        ranks = min(MOST_RANKS, n // (ROWS_A_PART * folds))
        if ranks < 4:
            raise InputError(
                f"{n} rows are too few for a learning curve of {folds} folds.",
                remedy=f"Give at least {4 * ROWS_A_PART * folds} rows, or use fewer folds.",
            )
        return cls(folds, ranks)

    def parts(self, seed: int) -> Parts:
        """The split of a stream by a hash of the content of its rows."""
        return Parts(seed, 0.0, self.folds * self.ranks)

    def labels(self, rows: InMemory, seed: int) -> Ints:
        """The part of every row in memory: folds and ranks of exact size, class by class.

        They come from two independent hashes: parts of a few rows could not each have all classes.
        """
        fold = rows.with_parts(Parts(seed, 0.0, self.folds)).block.parts
        rank = rows.with_parts(Parts(seed + RANK_SEED, 0.0, self.ranks)).block.parts
        return np.asarray(np.asarray(rank) * self.folds + np.asarray(fold), dtype=np.int64)

    def dealt(self, n: int, codes: Ints | None, seed: int, copied: Hashes | None = None) -> Ints:
        """A part for each of n rows at random, class by class where ``codes`` are given.

        Rows of one key of ``copied`` are in one part.
        """
        if copied is not None:
            fold = deal_copies(copied, self.folds, codes, seed)
            return deal_copies(copied, self.ranks, codes, seed + RANK_SEED) * self.folds + fold
        chance = np.random.default_rng(seed).random(n)
        order = np.lexsort((chance, np.zeros(n) if codes is None else codes))
        labels = np.empty(n, dtype=np.int64)
        labels[order] = np.arange(n) % (self.folds * self.ranks)
        return labels

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """Numbers of ranks of the training sets, smallest first."""
        return (*(level for level in LEVELS if level < self.ranks), self.ranks)

    def train(self, labels: Ints, fold: int, level: int) -> Ints:
        """Positions of the training rows."""
        fold_of, rank = labels % self.folds, labels // self.folds
        return np.flatnonzero((fold_of != fold) & (rank < level))

    def test(self, labels: Ints, fold: int) -> Ints:
        """Positions of the test rows of a fold."""
        return np.flatnonzero(labels % self.folds == fold)

    def growing(self, parts: Mapping[int, Moments], fold: int) -> list[Moments]:
        """Moments of the training sets of a fold, smallest first: each part is added once."""
        found, total, upto = [], Moments(), 0
        for level in self.levels:
            for rank in range(upto, level):
                for other in range(self.folds):
                    part = parts.get(rank * self.folds + other)
                    if other != fold and part is not None:
                        total = total + part
            found.append(total)
            upto = level
        return found

    def left_out(self, parts: Mapping[int, Moments], fold: int) -> Moments:
        """Moments of the test rows of a fold."""
        total = Moments()
        for rank in range(self.ranks):
            part = parts.get(rank * self.folds + fold)
            total = total if part is None else total + part
        return total


def some_terms(m: Moments, at: Ints) -> Moments:
    """The moments of some of the terms, with all targets."""
    places = np.concatenate([at, m.d + np.arange(len(m.targets))])
    terms = type(m.terms)(tuple(m.terms.items[j] for j in at))
    scatter: Floats = m.scatter[np.ix_(places, places)]
    return Moments(terms, m.targets, m.count, m.weight, m.mean[places], scatter)
