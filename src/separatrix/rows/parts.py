"""Random split into a test part and folds, by a hash of each row's content and a seed.

    u = hash(row, seed) / 2⁶⁴
    u < test → −1, the test part;   else fold ⌊folds · (u − test) / (1 − test)⌋

This is the split of a stream: a row stays in its part when rows are added, reordered, or stored in
other files. In memory, rows are ordered by the same u and cut where the sizes are exact
(:mod:`separatrix.rows.split`).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats, Ints, Matrix, NDArray
from separatrix.messages import InputError
from separatrix.rows.schema import Block, Terms
from separatrix.rows.sources.columns import MISSING_CODE, Levels, NumericValues

Hashes = NDArray[np.uint64]

#: Clears one bit of the exponent, so that the hash of a level never has the bits of a NaN.
_FINITE = np.uint64(0xBFFFFFFFFFFFFFFF)


@dataclass(frozen=True, slots=True)
class Parts:
    """Random split of rows into a test part and folds, by a hash of their content.

        u = hash(row, seed) / 2⁶⁴,    u < test → −1,    else ⌊folds · (u − test) / (1 − test)⌋

    is the part of a row in a stream: it does not depend on the order of the rows, on how they are
    stored, or on which other rows there are. In memory, rows are ordered by u and cut into parts of
    exact size, class by class: round(test · n) test rows and folds that differ by one row at most.
    That neither depends on order or storage, nor on columns that are constant. Equal rows share a
    part, except in memory where columns have so few values that rows must repeat.

    Parameters
    ----------
    seed : int, default=0
        Another seed gives another, independent split.
    test : float, default=0.2
        The fraction of rows in the test part, labeled −1; 0 for none. It is the expected fraction
        in a stream.
    folds : int, default=5
        Number of folds, labeled 0, 1, …, of equal size (in a stream: about).

    Attributes
    ----------
    seed : int
        As given.
    test : float
        As given.
    folds : int
        As given.

    See Also
    --------
    scan : Read a table as rows, which take parts by ``rows.with_parts``.
    Rows : A table that can be read block by block.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rows = sx.scan({"x": np.arange(1000.0)}).read()
    >>> labels = rows.with_parts(sx.Parts(seed=1, test=0.2, folds=4)).block.parts
    >>> (labels == -1).sum().item(), [(labels == fold).sum().item() for fold in range(4)]
    (200, [200, 200, 200, 200])
    >>> reverse = rows.take(slice(None, None, -1)).with_parts(sx.Parts(seed=1, test=0.2, folds=4))
    >>> bool((reverse.block.parts[::-1] == labels).all())
    True
    """

    seed: int = 0
    test: float = 0.2
    folds: int = 5

    def __post_init__(self) -> None:
        if not 0 <= self.test < 1:
            raise InputError(
                f"The test fraction cannot be {self.test}.",
                remedy="Choose a fraction from 0 up to, but not including, 1.",
            )
        if self.folds < 1:
            raise InputError(f"{self.folds} folds are too few.", remedy="Choose at least 1.")

    def assign(self, hashes: Hashes) -> Ints:
        """Compute the part of every row of a stream from the hashes of their content."""
        from separatrix.rows.loops import assign_parts

        labels = np.empty(len(hashes), dtype=np.int64)
        words = salted_words(hashes, self.seed)
        assign_parts(words, float(self.test), int(self.folds), labels)
        return labels


def salted_words(hashes: Hashes, seed: int | str) -> Hashes:
    """A random word for each hash, another one for every seed."""
    from separatrix.rows.loops import salt_hashes

    words = np.empty(len(hashes), dtype=np.uint64)
    salt_hashes(hashes, hash_text(f"seed {seed}"), words)
    return words


def distinguish_copies(hashes: Hashes, together: int = 1) -> Hashes:
    """A hash of its own for every row, from its content and the number of equal rows before it.

    ``together`` equal rows share one: as often as the whole table is repeated.
    """
    from separatrix.rows.loops import number_copies

    words = np.empty(len(hashes), dtype=np.uint64)
    number_copies(hashes, duplicate_ordinals(hashes) // together, words)
    return words


def duplicate_ordinals(hashes: Hashes) -> Ints:
    """For each row, the number of equal rows before it."""
    order = np.argsort(hashes, kind="stable")
    ranked = hashes[order]
    new = np.ones(len(hashes), dtype=bool)
    new[1:] = ranked[1:] != ranked[:-1]
    position = np.arange(len(hashes))
    first = np.maximum.accumulate(np.where(new, position, 0))
    count = np.empty(len(hashes), dtype=np.int64)
    count[order] = position - first
    return count


@lru_cache(maxsize=65536)
def hash_text(text: str) -> np.uint64:
    """64 bits of the BLAKE2b digest of a text."""
    digest = hashlib.blake2b(text.encode("utf-8", errors="surrogatepass"), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def hash_rows(columns: dict[str, NumericValues | Levels], n: int) -> Hashes:
    """The content hash of n rows: a level by its text, a number by its float64 bits."""
    from separatrix.rows.loops import MISSING_BITS, add_column

    total = np.zeros(n, dtype=np.uint64)
    for name, column in columns.items():
        if isinstance(column, Levels):
            words = [hash_text(level) & _FINITE for level in column.names]
            bits = np.array([*words, MISSING_BITS], dtype=np.uint64)[column.codes]
        else:
            bits = np.ascontiguousarray(column.values).view(np.uint64)
        add_column(bits, hash_text(name), total)
    return total


def hash_block(block: Block) -> Hashes:
    """The content hash of the rows of a raw block, equal to that of the table it was read from."""
    total = np.zeros(block.n, dtype=np.uint64)
    for matrix, terms in ((block.x, block.terms), (block.y, block.targets)):
        groups: dict[str, list[int]] = {}
        for j, term in enumerate(terms):
            groups.setdefault(term.column, []).append(j)
        if sparse.issparse(matrix):
            total += _sparse_content(sparse.csc_array(matrix), terms, groups)
            continue
        for name, at in groups.items():
            total += hash_rows({name: column_of(matrix[:, at], terms, at)}, block.n)
    return total


def column_of(x: Floats, terms: Terms, at: list[int]) -> NumericValues | Levels:
    """Rebuild a column from its terms."""
    group = [terms.items[j] for j in at]
    missing = next((k for k, term in enumerate(group) if term.missing), None)
    levels = [k for k, term in enumerate(group) if term.level is not None]
    if levels:
        codes = np.full(len(x), MISSING_CODE, dtype=np.int64)
        for code, k in enumerate(levels):
            codes[x[:, k] != 0] = code
        return Levels(codes, tuple(str(group[k].level) for k in levels))
    values = x[:, 0].copy()
    if missing is not None:
        values[x[:, missing] != 0] = np.nan
    return NumericValues(values, None)


def _sparse_content(x: Matrix, terms: Terms, groups: dict[str, list[int]]) -> Hashes:
    """Hash every row as all zeros, then correct it for the entries that are not zero."""
    from separatrix.rows.loops import add_entries

    total = np.zeros(x.shape[0], dtype=np.uint64)
    if not x.has_canonical_format:
        x = x.copy()
        x.sum_duplicates()
    plain = [at[0] for at in groups.values() if len(at) == 1 and terms.items[at[0]].level is None]
    keys = np.array([hash_text(terms.items[j].column) for j in plain], dtype=np.uint64)
    add_entries(np.array(plain, np.int64), keys, x.indptr, x.indices, x.data.view(np.uint64), total)
    done = set(plain)
    for name, at in groups.items():
        if at[0] in done:
            continue
        rows = np.unique(np.concatenate([x.indices[x.indptr[j] : x.indptr[j + 1]] for j in at]))
        zero = hash_rows({name: column_of(np.zeros((1, len(at))), terms, at)}, 1)[0]
        other = hash_rows({name: column_of(x[rows][:, at].toarray(), terms, at)}, len(rows))
        total += zero
        total[rows] += other - zero
    return total
