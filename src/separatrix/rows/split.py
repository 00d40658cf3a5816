"""The exact split of a table in memory: a test part of the size requested, and equal folds.

    order rows by hash(content, seed);   of every class the first share is the test part

The units that are dealt are rows, copies of a row together, or the rows of a group. A table in
order of time is cut where its last share begins, and its folds follow one another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Block, Floats, Ints
from separatrix.rows.copies import Copies, class_codes, constant_columns
from separatrix.rows.parts import Hashes, Parts, distinguished, hash_block, salted_words

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


def joined(batches: Sequence[Keys]) -> Keys:
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
    return distinguished(hashes, copies.times) if copies.are_counts else hashes


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
    from separatrix.rows.loops.dealing import deal

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
