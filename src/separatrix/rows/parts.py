"""Which part of the data a row belongs to, from its content and a seed alone.

    u = hash(row, seed) / 2⁶⁴
    u < test → −1, the test part;   else fold ⌊folds · (u − test) / (1 − test)⌋

A row keeps its part when rows are added, reordered, or stored in other files; nothing needs to be
remembered to find the same split again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from separatrix.messages import InputError
from separatrix.rows.block import Block, Floats, Matrix
from separatrix.rows.schema import Terms
from separatrix.rows.sources.columns import GAP, Levels, Numbers

Words = NDArray[np.uint64]
Labels = NDArray[np.int64]

_NO_ORDINALS: Words = np.zeros(0, dtype=np.uint64)

#: Clears one bit of the exponent, so that the word of a level never looks like a NaN.
_FINITE = np.uint64(0xBFFFFFFFFFFFFFFF)


@dataclass(frozen=True, slots=True)
class Parts:
    """A split into a test part (−1) and ``folds`` folds (0, 1, …)."""

    seed: int = 0
    test: float = 0.2
    folds: int = 5

    def __post_init__(self) -> None:
        if not 0 <= self.test < 1:
            raise InputError(
                f"The test part cannot be {self.test} of the rows.",
                remedy="Choose a fraction from 0 up to, but not including, 1.",
            )
        if self.folds < 1:
            raise InputError(f"{self.folds} folds are too few.", remedy="Choose at least 1.")

    def assign(self, content: Words, ordinal: Words = _NO_ORDINALS) -> Labels:
        """The part of every row, given the hashes of their content."""
        from separatrix.rows.loops.hashing import assign_parts

        labels = np.empty(len(content), dtype=np.int64)
        salt = word_of(f"seed {self.seed}")
        assign_parts(content, ordinal, salt, float(self.test), int(self.folds), labels)
        return labels

    def assign_in_memory(self, content: Words) -> Labels:
        """As ``assign``, but copies of one row may part: the k-th copy is hashed with its k.

        A small table with few distinct rows still splits evenly, and which part receives how many
        copies does not depend on the order of the rows.
        """
        return self.assign(content, ordinals(content))


def ordinals(content: Words) -> Words:
    """For each row, how many equal rows stand before it."""
    order = np.argsort(content, kind="stable")
    ranked = content[order]
    fresh = np.ones(len(content), dtype=bool)
    fresh[1:] = ranked[1:] != ranked[:-1]
    position = np.arange(len(content))
    first = np.maximum.accumulate(np.where(fresh, position, 0))
    count = np.empty(len(content), dtype=np.uint64)
    count[order] = (position - first).astype(np.uint64)
    return count


@lru_cache(maxsize=65536)
def word_of(text: str) -> np.uint64:
    """64 bits of the BLAKE2b digest of a text."""
    digest = hashlib.blake2b(text.encode("utf-8", errors="surrogatepass"), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def content_of(columns: dict[str, Numbers | Levels], n: int) -> Words:
    """The content hash of n rows; a level counts by its text, a number by its float64 bits."""
    from separatrix.rows.loops.hashing import MISSING, add_column

    total = np.zeros(n, dtype=np.uint64)
    for name, column in columns.items():
        if isinstance(column, Levels):
            words = [word_of(level) & _FINITE for level in column.names]
            bits = np.array([*words, MISSING], dtype=np.uint64)[column.codes]
        else:
            bits = np.ascontiguousarray(column.values).view(np.uint64)
        add_column(bits, word_of(name), total)
    return total


def block_content(block: Block) -> Words:
    """The content hash of the rows of a raw block: the same as of the table it was read from."""
    total = np.zeros(block.n, dtype=np.uint64)
    for matrix, terms in ((block.x, block.terms), (block.y, block.targets)):
        groups: dict[str, list[int]] = {}
        for j, term in enumerate(terms):
            groups.setdefault(term.column, []).append(j)
        if sparse.issparse(matrix):
            total += _sparse_content(sparse.csc_array(matrix), terms, groups)
            continue
        for name, at in groups.items():
            total += content_of({name: _column(matrix[:, at], terms, at)}, block.n)
    return total


def _column(x: Floats, terms: Terms, at: list[int]) -> Numbers | Levels:
    """The terms of one column as the column that they came from."""
    group = [terms.items[j] for j in at]
    gap = next((k for k, term in enumerate(group) if term.missing), None)
    levels = [k for k, term in enumerate(group) if term.level is not None]
    if levels:
        codes = np.full(len(x), GAP, dtype=np.int64)
        for code, k in enumerate(levels):
            codes[x[:, k] != 0] = code
        return Levels(codes, tuple(str(group[k].level) for k in levels))
    values = x[:, 0].copy()
    if gap is not None:
        values[x[:, gap] != 0] = np.nan
    return Numbers(values, None)


def _sparse_content(x: Matrix, terms: Terms, groups: dict[str, list[int]]) -> Words:
    """Every row counts as all zeros first; then the columns that are not zero make it differ."""
    total = np.zeros(x.shape[0], dtype=np.uint64)
    for name, at in groups.items():
        rows = np.unique(np.concatenate([x.indices[x.indptr[j] : x.indptr[j + 1]] for j in at]))
        zero = content_of({name: _column(np.zeros((1, len(at))), terms, at)}, 1)[0]
        some = content_of({name: _column(x[rows][:, at].toarray(), terms, at)}, len(rows))
        total += zero
        total[rows] += some - zero
    return total
