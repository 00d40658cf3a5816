"""The exact split of a table in memory: a test part of the size requested, and equal folds.

    order rows by hash(content, seed);   of every class the first share is the test part

The units that are dealt are rows, copies of a row together, or the rows of a group. A table in
order of time is cut where its last share begins, and its folds follow one another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.rows.parts import (
    Hashes,
    Parts,
    column_of,
    distinguish_copies,
    hash_block,
    salted_words,
)
from separatrix.rows.schema import Block, Terms, to_array, unit_weights
from separatrix.rows.sources.columns import Levels, NumericValues

#: The part of the test rows.
TEST = -1


@dataclass(frozen=True)
class Keys:
    """What binds rows together: the hash of each row's group, or its time."""

    groups: Hashes | None = None
    times: Floats | None = None

    def take(self, index: NDArray[Any] | slice) -> Keys:
        """Select rows by position or mask."""
        return Keys(
            None if self.groups is None else self.groups[index],
            None if self.times is None else self.times[index],
        )


def join_keys(batches: Sequence[Keys]) -> Keys:
    """The keys of several batches of one table."""
    groups = [keys.groups for keys in batches if keys.groups is not None]
    times = [keys.times for keys in batches if keys.times is not None]
    return Keys(
        np.concatenate(groups) if groups else None, np.concatenate(times) if times else None
    )


def split_rows(parts: Parts, block: Block, hashes: Hashes, keys: Keys) -> Ints:
    """The part of every row: exact in size, stratified by class, the same in any order of rows."""
    if not block.n:
        return np.zeros(0, dtype=np.int64)
    if keys.times is not None:
        return _by_time(parts, keys.times)
    return _by_units(parts, unit_keys(block, hashes, keys), class_codes(block))


def unit_keys(block: Block, hashes: Hashes, keys: Keys) -> Hashes:
    """The hash of what each row belongs to: its group, or itself with its copies."""
    if keys.groups is not None:
        return keys.groups
    hashes = varying_content(block, hashes)
    copies = Copies(block, hashes)
    return distinguish_copies(hashes, copies.times) if copies.are_counts else hashes


def varying_content(block: Block, hashes: Hashes) -> Hashes:
    """The hashes without the columns that are constant: these do not move the split."""
    names = set(constant_columns(block))
    if not names:
        return hashes
    at = [j for j, term in enumerate(block.terms) if term.column in names]
    first = block.take(slice(0, 1))
    terms = type(block.terms)(tuple(block.terms.items[j] for j in at))
    none = type(block.terms)(())
    constant = hash_block(Block(first.x[:, at], first.y[:, :0], None, terms, none))
    return np.asarray(hashes - constant[0])


def deal_again(parts: Parts, draw: str, units: Hashes, classes: Ints | None) -> Ints:
    """Other folds of rows with these unit keys, without a test part; each ``draw`` has its own."""
    again = _Drawn(parts.folds, 0.0, f"{parts.seed}, {draw}")
    return _by_units(again, units, classes)


def cut_again(parts: Parts, times: Floats, shift: float = 0.0) -> Ints:
    """Folds in order of time, cut ``shift`` of a fold later; the test part stays what it is."""
    return _by_time(parts, times, shift)


@dataclass(frozen=True)
class _Drawn:
    """Sizes of the parts, and what the order of the units is drawn by."""

    folds: int
    test: float
    seed: int | str


def _by_units(parts: Parts | _Drawn, keys: Hashes, classes: Ints | None) -> Ints:
    """Deal the units, the rows of one key, to the test part and to one fold after the other."""
    from separatrix.rows.loops import deal

    unit_keys, unit_of, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    stratum = _strata(unit_of, classes, len(unit_keys))
    order = np.lexsort((salted_words(unit_keys, parts.seed), stratum))
    k = int(stratum.max()) + 1
    starts = np.searchsorted(stratum[order], np.arange(k + 1))
    last = parts.folds - 1
    labels = np.full(len(unit_keys), last, dtype=np.int64)
    for label in (TEST, *range(last)) if parts.test > 0 else range(last):
        rows = np.bincount(stratum, sizes * (labels == last), minlength=k).astype(np.int64)
        share = parts.test if label == TEST else 1 / (parts.folds - label)
        deal(order, starts, sizes, _quotas(rows, share), label, last, labels)
    return np.asarray(labels[unit_of])


def _strata(unit_of: Ints, classes: Ints | None, n_units: int) -> Ints:
    """The most frequent class of every unit; of equals the first."""
    if classes is None:
        return np.zeros(n_units, dtype=np.int64)
    k = int(classes.max(initial=0)) + 1
    cells, counts = np.unique(unit_of * k + classes, return_counts=True)
    ranked = np.lexsort((cells % k, -counts, cells // k))
    first = np.searchsorted(cells[ranked] // k, np.arange(n_units))
    return np.asarray(cells[ranked][first] % k, dtype=np.int64)


def _quotas(rows: Ints, share: float) -> Ints:
    """This share of the rows of each stratum, in whole rows that sum to the share of all.

    The largest remainders are rounded up, those of large strata first, and those of strata that
    would have no row left last of all: a class needs training rows before it needs test rows.
    """
    exact = rows * share
    quotas = np.floor(exact + 1e-9).astype(np.int64)
    remainder = np.maximum(exact - quotas, 0.0) * np.where(quotas + 1 < rows, 1.0, 1e-6)
    quotas[
        np.lexsort((-rows, -remainder))[: round(share * int(rows.sum())) - int(quotas.sum())]
    ] += 1
    return np.asarray(quotas)


def _by_time(parts: Parts, times: Floats, shift: float = 0.0) -> Ints:
    """The last rows are the test part; the others are cut into folds + 1 blocks in order of time.

    The first block is training rows of every fold. Rows of the same time are not parted. All cuts
    but the last may be ``shift`` of a block later.
    """
    _, at, counts = np.unique(times, return_inverse=True, return_counts=True)
    before = np.concatenate([[0], np.cumsum(counts)])
    training = len(times) - round(parts.test * len(times))
    cuts = [training * (block + shift) / (parts.folds + 1) for block in range(1, parts.folds + 1)]
    cuts.append(training)
    labels = np.searchsorted([_nearest(before, cut) for cut in cuts], before[:-1], side="right")
    labels[labels > parts.folds] = TEST
    return np.asarray(labels[at], dtype=np.int64)


def _nearest(before: Ints, cut: float) -> int:
    """The possible cut that is nearest to this one; of two the earlier."""
    return int(before[np.abs(before - cut).argmin()])


# -------------------------------------------------------------------------------------------------
# Copies: rows that are equal in every column and the target, and whether chance explains them.
#
#     expected pairs of copies = Σ_classes C(n_c, 2) · Π_columns P(two rows of the class agree)
#
# if columns are independent within a class (within the table, where the target is a number).


TOGETHER = (
    "Copies stay in one part, so that no model is tested on rows that it was fitted to; remove "
    "them if they are there by mistake."
)


@dataclass(frozen=True)
class Copies:
    """How often each distinct row of a block occurs; each row stands for ``weights`` equal ones."""

    block: Block
    hashes: Hashes
    weights: Floats | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @cached_property
    def counts(self) -> Ints:
        """Number of rows for each distinct row."""
        which = np.unique(self.hashes, return_inverse=True)[1]
        return np.asarray(np.bincount(which, self.weights), dtype=np.int64)

    @property
    def distinct(self) -> int:
        """Number of distinct rows."""
        return len(self.counts)

    @property
    def rows(self) -> int:
        """Number of rows that are copies of another, earlier one."""
        return self.n - self.distinct

    @property
    def times(self) -> int:
        """How many times the whole table is repeated: the divisor of all counts."""
        return int(np.gcd.reduce(self.counts)) if len(self.counts) else 1

    @property
    def pairs(self) -> float:
        """Number of pairs of equal rows in the table, written once."""
        once = (self.counts // self.times).astype(np.float64)
        return float((once * (once - 1.0) / 2.0).sum())

    @cached_property
    def by_chance(self) -> bool:
        """Whether there would be about as many copies if the columns were independent.

        A table that is repeated as a whole is not; ``are_counts`` looks at one of its repetitions.
        """
        return self.times == 1 and self._as_expected

    @cached_property
    def _as_expected(self) -> bool:
        if not self.pairs:
            return True
        columns = _columns(self.block.terms) + (0 if _is_classes(self.block.targets) else 1)
        # A single column explains its own copies only if it has no more values than this.
        if columns < 2 and self.distinct > 50:
            return False
        # Columns depend on each other, so that chance gives more copies than if they did not.
        return self.pairs <= 15.0 * self._expected_pairs()

    @property
    def are_counts(self) -> bool:
        """Whether the rows are repeated observations of a few cells: then copies say nothing."""
        return 2 * self.distinct < self.n / self.times and self._as_expected

    @property
    def suspicion(self) -> str:
        """What there is to say of more copies than chance explains; nothing of others."""
        if not self.rows or self.by_chance or (self.are_counts and self.times == 1):
            return ""
        every = f", the whole table {self.times} times" if self.times > 1 else ""
        copied = count_copies(self.rows, self.n)
        return f"{copied} ({self.distinct} distinct rows{every})."

    def _expected_pairs(self) -> float:
        order = np.argsort(self.hashes, kind="stable")
        reached = np.cumsum(unit_weights(self.weights, len(order))[order])
        # Rows from which the agreement of columns is estimated.
        sample = np.arange(0, self.n, max(1, self.n // 4_000))
        some = order[np.searchsorted(reached, sample, side="right")]
        block = self.block.take(some)
        codes = class_codes(self.block)
        classes = np.zeros(len(some), dtype=np.int64) if codes is None else codes[some]
        agree = np.ones(int(classes.max()) + 1)
        sides = [(block.x, block.terms)]
        if codes is None:
            sides.append((block.y, block.targets))
        for matrix, terms in sides:
            for column_position in column_positions(terms).values():
                values = column_of(to_array(matrix[:, column_position]), terms, column_position)
                agree *= _agreement(values, classes, len(agree))
        once = self.n / self.times
        whole = np.bincount(classes, minlength=len(agree)) * (once / len(some))
        return float((whole * np.maximum(whole - 1, 0) / 2 * agree).sum())


def merge_copies(block: Block) -> tuple[Block, Ints | None]:
    """The distinct rows, each with the weight of all its copies, and which of them each row is.

    The block itself and None if no two rows are equal.
    """
    target = np.sort(block.y[:, 0])
    if not (target[1:] == target[:-1]).any():  # as always with a continuous target
        return block, None
    _, first, which = np.unique(hash_block(block), return_index=True, return_inverse=True)
    if len(first) == block.n:
        return block, None
    weight = np.bincount(which, block.weights).astype(np.float64)
    return replace(block.take(first), w=weight), which.astype(np.int64)


def count_copies(copies: int, n: int) -> str:
    """How many of n rows are copies, in words."""
    verb = "is an exact copy of another" if copies == 1 else "are exact copies of others"
    return f"{copies} of {n} rows {verb}"


def column_positions(terms: Terms) -> dict[str, list[int]]:
    """The positions of the terms of each column."""
    positions: dict[str, list[int]] = {}
    for j, term in enumerate(terms):
        positions.setdefault(term.column, []).append(j)
    return positions


def class_codes(block: Block) -> Ints | None:
    """The class of each row; None where the target is a number, or there is not one target."""
    return np.asarray(block.y.argmax(axis=1)) if _is_classes(block.targets) else None


def _is_classes(targets: Terms) -> bool:
    return len(column_positions(targets)) == 1 and all(t.level is not None for t in targets)


def _columns(terms: Terms) -> int:
    return len(column_positions(terms))


def _agreement(values: NumericValues | Levels, classes: Ints, k: int) -> Floats:
    """The fraction of the pairs of rows in each class that agree in one column."""
    raw = values.codes if isinstance(values, Levels) else values.values
    codes = np.unique(raw, return_inverse=True)[1]
    cells, counts = np.unique(codes * k + classes, return_counts=True)
    equal = np.bincount(cells % k, counts * (counts - 1) / 2, minlength=k)
    n = np.bincount(classes, minlength=k)
    pairs = n * (n - 1) / 2
    return np.divide(equal, pairs, out=np.zeros(k), where=pairs > 0)


def constant_columns(block: Block) -> list[str]:
    """The feature columns that have one value, or none, in all rows."""
    if not block.n:
        return []
    x = block.x
    if sparse.issparse(x):
        if not x.has_canonical_format:
            x = sparse.csr_array(x, copy=True)
            x.sum_duplicates()
        first = x[[0]].toarray().ravel()
        other = np.bincount(x.indices, x.data != first[x.indices], x.shape[1])
        present = np.bincount(x.indices, minlength=x.shape[1])
        same = (other == 0.0) & ((first == 0.0) | (present == x.shape[0]))
    else:
        same = (x == x[0]).all(axis=0)
    return [name for name, at in column_positions(block.terms).items() if same[at].all()]
