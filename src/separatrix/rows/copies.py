"""Copies: rows that are equal in every column and the target, and whether chance explains them.

    expected pairs of copies = Σ_classes C(n_c, 2) · Π_columns P(two rows of the class agree)

if columns are independent within a class (within the table, where the target is a number).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from separatrix.rows.block import Block, Floats, Ints, to_array
from separatrix.rows.parts import Hashes, column_of, hash_block
from separatrix.rows.schema import Terms
from separatrix.rows.sources.columns import Levels, Numbers

#: Columns depend on each other, so that chance gives more copies than if they did not.
DEPENDENCE = 15.0
#: Rows from which the agreement of columns is estimated.
SAMPLE = 4_000
TOGETHER = (
    "Copies stay in one part, so that no model is tested on rows that it was fitted to; remove "
    "them if they are there by mistake."
)
#: A single column explains its own copies only if it has no more values than this.
FEW_VALUES = 50


@dataclass(frozen=True)
class Copies:
    """How often each distinct row of a block occurs."""

    block: Block
    hashes: Hashes

    @cached_property
    def counts(self) -> Ints:
        """Number of rows for each distinct row."""
        return np.unique(self.hashes, return_counts=True)[1].astype(np.int64)

    @property
    def distinct(self) -> int:
        """Number of distinct rows."""
        return len(self.counts)

    @property
    def rows(self) -> int:
        """Number of rows that are copies of another, earlier one."""
        return len(self.hashes) - self.distinct

    @property
    def times(self) -> int:
        """How many times the whole table is repeated: the divisor of all counts."""
        return int(np.gcd.reduce(self.counts)) if len(self.counts) else 1

    @property
    def pairs(self) -> float:
        """Number of pairs of equal rows in the table, written once."""
        once = self.counts // self.times
        return float((once * (once - 1) // 2).sum())

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
        if columns < 2 and self.distinct > FEW_VALUES:
            return False
        return self.pairs <= DEPENDENCE * self._expected_pairs()

    @property
    def are_counts(self) -> bool:
        """Whether the rows are repeated observations of a few cells: then copies say nothing."""
        return 2 * self.distinct < len(self.hashes) / self.times and self._as_expected

    @property
    def suspicion(self) -> str:
        """What there is to say of more copies than chance explains; nothing of others."""
        if not self.rows or self.by_chance or (self.are_counts and self.times == 1):
            return ""
        every = f", the whole table {self.times} times" if self.times > 1 else ""
        copied = count_copies(self.rows, len(self.hashes))
        return f"{copied} ({self.distinct} distinct rows{every})."

    def _expected_pairs(self) -> float:
        some = np.argsort(self.hashes, kind="stable")[:: max(1, len(self.hashes) // SAMPLE)]
        block = self.block.take(some)
        codes = class_codes(self.block)
        classes = np.zeros(len(some), dtype=np.int64) if codes is None else codes[some]
        agree = np.ones(int(classes.max()) + 1)
        sides = [(block.x, block.terms)]
        if codes is None:
            sides.append((block.y, block.targets))
        for matrix, terms in sides:
            for at in column_positions(terms).values():
                values = column_of(to_array(matrix[:, at]), terms, at)
                agree *= _agreement(values, classes, len(agree))
        once = len(self.hashes) / self.times
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
    found: dict[str, list[int]] = {}
    for j, term in enumerate(terms):
        found.setdefault(term.column, []).append(j)
    return found


def class_codes(block: Block) -> Ints | None:
    """The class of each row; None where the target is a number, or there is not one target."""
    return np.asarray(block.y.argmax(axis=1)) if _is_classes(block.targets) else None


def _is_classes(targets: Terms) -> bool:
    return len(column_positions(targets)) == 1 and all(t.level is not None for t in targets)


def _columns(terms: Terms) -> int:
    return len(column_positions(terms))


def _agreement(values: Numbers | Levels, classes: Ints, k: int) -> Floats:
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
