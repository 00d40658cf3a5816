"""Rows: a table, in blocks or in memory, that can be reduced to a mergeable statistic."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats, Ints, Matrix, NDArray
from separatrix.messages import InputError
from separatrix.notebook import Item, Shown
from separatrix.rows.parts import Hashes, Parts, hash_block
from separatrix.rows.schema import (
    Block,
    Column,
    Encoding,
    Kind,
    Schema,
    Term,
    Terms,
    column_names,
    column_ranges,
    concatenate,
    matrix_columns,
    to_array,
    value_terms,
)
from separatrix.rows.split import Keys, split_rows
from separatrix.threads import parallel_map, pieces


class Addable(Protocol):
    """Anything that merges with ``+``."""

    def __add__(self, other: Self, /) -> Self: ...


class Statistic(Protocol):
    """A mergeable statistic: the sum of two is the statistic of both sets of rows."""

    def fresh(self) -> Self:
        """An empty statistic with the same settings."""

    def update(self, block: Block) -> None:
        """Add the rows of a block."""

    def __add__(self, other: Self) -> Self: ...


S = TypeVar("S", bound=Statistic)
K = TypeVar("K")
V = TypeVar("V", bound=Addable)


def merge(a: dict[K, V], b: dict[K, V]) -> dict[K, V]:
    """The values of both by key, added where both have one."""
    return a | {key: a[key] + value if key in a else value for key, value in b.items()}


NO_KEYS = Keys()


class Rows(Shown, ABC):
    """A table as a stream of blocks: in memory, in files, or on a Dask cluster.

    A statistic is computed in one pass and merges with ``+``,

        statistic(rows) = Σ_blocks statistic(block)

    so that the same code runs wherever the rows are. :func:`separatrix.scan` makes ``Rows``; every
    estimator takes them in place of ``X, y``.

    Attributes
    ----------
    schema : Schema
        Feature columns, target columns, the weight column and the policies for missing values and
        unseen levels.
    dropped : int
        Rows left out of the last pass because their target or weight was missing.
    notes : tuple of str
        One sentence for everything that was inferred, and for each column that was left out.
    left_out : tuple of str
        Those of the notes that are on columns left out.
    ignored : tuple of str
        Columns of the table that the schema does not use.

    See Also
    --------
    scan : Read a table as ``Rows``.
    Parts : Split the rows into a test part and folds.
    Moments : The statistic behind least squares.

    Examples
    --------
    >>> import separatrix as sx
    >>> rows = sx.scan({"x": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 6.0]}, target="y")
    >>> rows.schema.names
    ('x',)
    >>> rows.reduce(sx.Moments()).mean.tolist()
    [2.0, 4.0]
    >>> len(rows.read())
    3
    """

    schema: Schema
    dropped: int = 0
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    def _display(self) -> list[Item]:
        from separatrix.rows.profile import preview

        return preview(self)

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """Yield the blocks in order; every call starts from the first row again."""

    def reduce(self, statistic: S) -> S:
        """Compute a statistic of all rows in one pass."""
        total = statistic.fresh()
        for block in self.blocks():
            total.update(block)
        return total

    def collect(self) -> Block:
        """Return all rows as one block in memory."""
        return concatenate(list(self.blocks()))

    def with_parts(self, parts: Any) -> Rows:
        """Label each row with its part (:class:`~separatrix.rows.parts.Parts`, or an array)."""
        return self.read().with_parts(parts)

    def read(self) -> InMemory:
        """Read the table into memory, where rows can be counted and taken by position."""
        return InMemory(self.schema, self.collect())

    def sample(self, n: int, seed: int = 0) -> InMemory:
        """Read ``n`` rows into memory, drawn at random in one pass.

        Which rows are drawn depends on their content and the seed, and not on their order.
        """
        from separatrix.rows.sampling import RandomSample

        if n < 1:
            raise InputError(f"A sample of {n} rows was asked for.", remedy="Draw at least one.")
        if self.schema.group or self.schema.time:
            raise InputError(
                "A sample does not know the groups and times of its rows.",
                remedy="Scan the table without `group` and `time`, or draw from it yourself.",
            )
        drawn = self.reduce(RandomSample(n, seed)).drawn
        if drawn is None:
            raise InputError("The table has no rows.", remedy="Give at least one row.")
        return InMemory(self.schema, drawn[0])

    def count_rows(self) -> int:
        """The number of rows, in one pass."""
        return self.reduce(RowCount()).n


class RowCount:
    """The number of rows."""

    def __init__(self, n: int = 0) -> None:
        self.n = n

    def fresh(self) -> Self:
        """No rows."""
        return type(self)()

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        self.n += block.n

    def __add__(self, other: Self) -> Self:
        return type(self)(self.n + other.n)


class InMemory(Rows):
    """Rows in memory, as one block.

    ``row_ids`` are the numbers of the rows in their source (1, 2, … by default); ``hashes`` those
    of their content (computed from the block by default); ``keys`` their groups or times.
    """

    def __init__(
        self,
        schema: Schema,
        block: Block,
        row_ids: Ints | None = None,
        hashes: Hashes | None = None,
        keys: Keys = NO_KEYS,
    ) -> None:
        self.schema, self.block, self.keys = schema, block, keys
        self._row_ids, self._hashes = row_ids, hashes

    def __len__(self) -> int:
        return self.block.n

    @property
    def row_ids(self) -> Ints:
        """The number of each row in the source, from 1."""
        return np.arange(1, self.block.n + 1) if self._row_ids is None else self._row_ids

    @property
    def hashes(self) -> Hashes:
        """The hash of each row's content, by which it is assigned to a part."""
        return hash_block(self.block) if self._hashes is None else self._hashes

    def with_hashes(self) -> Self:
        """The same rows, which keep the hashes of their content however they are encoded later."""
        return self._with(self.block, row_ids=self._row_ids, hashes=self.hashes, keys=self.keys)

    def blocks(self) -> Iterator[Block]:
        """Yield the one block."""
        yield self.block

    def read(self) -> Self:
        """Return the rows themselves."""
        return self

    def truth(self) -> NDArray[Any]:
        """The target as a column of numbers, or of class names."""
        if self.schema.targets[0].kind is Kind.NUMERIC:
            return np.asarray(self.block.y[:, 0])
        names = np.array([str(term.level) for term in self.block.targets])
        return np.asarray(names[np.argmax(self.block.y, axis=1)])

    def arrays(self) -> tuple[Floats, NDArray[Any]]:
        """``X, y``: the columns of numbers as a matrix, and the target as numbers or class names.

        Examples
        --------
        >>> import separatrix as sx
        >>> rows = sx.scan({"a": [1.0, 2.5], "b": ["u", "v"]}, target="b").read()
        >>> rows.arrays()
        (array([[1. ],
               [2.5]]), array(['u', 'v'], dtype='<U1'))
        """
        other = [c.name for c in self.schema.columns if c.kind is not Kind.NUMERIC]
        if other:
            raise InputError(
                f"columns of levels are not numbers: {', '.join(other)}.",
                remedy="Choose columns=[…] of numbers in scan; estimators encode all columns.",
            )
        values = [Term(column.name) for column in self.schema.columns]
        at = [self.block.terms.position[term] for term in values]
        return np.ascontiguousarray(to_array(self.block.x[:, at])), self.truth()

    def take(self, index: NDArray[Any] | slice) -> Self:
        """Select rows by position or mask."""
        hashes = None if self._hashes is None else self._hashes[index]
        keys = self.keys.take(index)
        return self._with(
            self.block.take(index), row_ids=self.row_ids[index], keys=keys, hashes=hashes
        )

    def with_parts(self, parts: Parts | Ints) -> Self:
        """Label each row with its part: those of :class:`~separatrix.rows.parts.Parts` are exact.

        Rows of one group, and copies of a row, share a part.
        """
        if isinstance(parts, Parts):
            parts = split_rows(parts, self.block, self.hashes, self.keys)
        return self._with(
            replace(self.block, parts=parts),
            row_ids=self._row_ids,
            keys=self.keys,
            hashes=self._hashes,
        )

    def _with(
        self, block: Block, *, row_ids: Ints | None, hashes: Hashes | None, keys: Keys
    ) -> Self:
        """The same table with another block."""
        other = object.__new__(type(self))
        fields = {"block": block, "keys": keys, "_row_ids": row_ids, "_hashes": hashes}
        other.__dict__.update(self.__dict__ | fields)
        return other

    def reduce(self, statistic: S) -> S:
        """Compute a statistic in one pass, on threads when there are many rows."""
        d = self.block.x.shape[1]
        # of wide rows fewer are as much work, but d x d sums of each piece are to need less memory
        # Rows, or numbers of wider rows, that make a thread worthwhile.
        smallest = max(2 * d, min(20_000, 400_000 // max(d, 1)))
        if sparse.issparse(self.block.x):  # all these sums together than the stored entries, too
            smallest = max(smallest, 4 * self.block.n * d * d // max(self.block.x.nnz, 1))
        return reduce_on_threads(
            statistic,
            [
                lambda here=here: iter([self.block.take(here)])  # type: ignore[misc]
                for here in pieces(self.block.n, smallest)
            ],
        )


class ArrayRows(InMemory):
    """Numeric rows in memory that are a design already: no level to encode, no value missing.

    ``has_names`` says whether the columns were given names; ``placeholders`` stand for missing
    values of new rows.
    """

    def __init__(
        self,
        x: Matrix,
        y: Floats | None = None,
        w: Floats | None = None,
        *,
        names: Sequence[str] | None = None,
        targets: Sequence[Term] | None = None,
        parts: Ints | None = None,
        placeholders: Floats | None = None,
    ) -> None:
        n, d = x.shape
        y = np.empty((n, 0)) if y is None else y[:, None] if y.ndim == 1 else y
        self.has_names = names is not None
        if targets is None:
            targets = [Term(name) for name in target_names(y.shape[1])]
        columns, terms = matrix_columns(d)
        if names is not None or placeholders is not None:
            columns = _numeric_columns(column_names(d) if names is None else names, placeholders)
            terms = value_terms(columns)
        super().__init__(
            Schema(columns, _target_columns(targets)),
            Block(x, y, w, terms, Terms(tuple(targets)), parts),
        )


def reduce_on_threads(statistic: S, chunks: list[Callable[[], Iterator[Block]]]) -> S:
    """Reduce the chunks on threads; add up in the order of the chunks.

    Neither the chunks nor the order depend on the number of threads: the result does not either.
    """

    def one(chunk: Callable[[], Iterator[Block]]) -> S:
        part = statistic.fresh()
        for block in chunk():
            part.update(block)
        return part

    if len(chunks) == 1:
        return one(chunks[0])
    parts = parallel_map(one, chunks)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def target_names(k: int) -> tuple[str, ...]:
    """Names for targets without any: y, or y0, y1, …"""
    return ("y",) if k == 1 else tuple(f"y{j}" for j in range(k))


def column_means(x: Matrix, w: Floats | None) -> Floats | None:
    """The (weighted) means of dense columns, which stand for missing values of new rows."""
    if not isinstance(x, np.ndarray):
        return None
    with np.errstate(all="ignore"):  # values that are not finite are refused later
        return np.asarray(x.mean(axis=0) if w is None else w @ x / w.sum())


def _numeric_columns(names: Sequence[str], placeholders: Floats | None) -> tuple[Column, ...]:
    if placeholders is None or not np.isfinite(placeholders).all():
        return tuple(Column(name) for name in names)
    pairs = zip(names, placeholders.tolist(), strict=True)
    return tuple(Column(name, placeholder=value) for name, value in pairs)


def _target_columns(targets: Sequence[Term]) -> tuple[Column, ...]:
    """One column for each name; those given as level indicators are discrete."""
    levels: dict[str, tuple[str, ...]] = {}
    for term in targets:
        known = levels.setdefault(term.column, ())
        levels[term.column] = known if term.level is None else (*known, term.level)
    return tuple(
        Column(name, Kind.DISCRETE if known else Kind.NUMERIC, known)
        for name, known in levels.items()
    )


# -------------------------------------------------------------------------------------------------
# Rows whose blocks are transformed as they are read: encoded columns, new columns, new targets.


class BlockMap(Protocol):
    """A map from blocks to blocks."""

    def apply(self, block: Block) -> Block:
        """Transform a block."""


class MappedStatistic(Generic[S]):
    """The statistic ``inner`` of mapped blocks, computed where the rows are (threads, files, Dask).

    ``chunk_rows`` limits the rows that are mapped at once, for maps that make them much wider.
    """

    def __init__(self, inner: S, *maps: BlockMap, chunk_rows: int | None = None) -> None:
        self.inner, self.maps, self.chunk_rows = inner, maps, chunk_rows

    def fresh(self) -> Self:
        """An empty statistic over the same maps."""
        return self._like(self.inner.fresh())

    def update(self, block: Block) -> None:
        """Add the rows of a block after the maps."""
        for chunk in chunks(block, self.chunk_rows):
            for mapped in self.maps:
                chunk = mapped.apply(chunk)
            if chunk.n:
                self.inner.update(chunk)

    def __add__(self, other: Self) -> Self:
        return self._like(self.inner + other.inner)

    def _like(self, inner: S) -> Self:
        return type(self)(inner, *self.maps, chunk_rows=self.chunk_rows)


@dataclass(frozen=True)
class SelectedParts:
    """The rows of some parts."""

    parts: frozenset[int]

    def apply(self, block: Block) -> Block:
        """Select the rows of the block that belong to these parts."""
        assert block.parts is not None, "the rows have no parts"
        return block.take(np.flatnonzero(np.isin(block.parts, list(self.parts))))


class MappedRows(Rows):
    """Rows whose blocks are mapped at every pass, at most ``chunk_rows`` rows at a time."""

    def __init__(self, rows: Rows, block_map: BlockMap, chunk_rows: int | None = None) -> None:
        self.rows, self.block_map, self.chunk_rows = rows, block_map, chunk_rows
        self.schema = rows.schema
        self.notes, self.left_out, self.ignored = rows.notes, rows.left_out, rows.ignored

    def blocks(self) -> Iterator[Block]:
        """Yield the mapped blocks in order."""
        for block in self.rows.blocks():
            for chunk in chunks(block, self.chunk_rows):
                yield self.block_map.apply(chunk)

    def reduce(self, statistic: S) -> S:
        """Compute a statistic of the mapped rows in one pass."""
        mapped = MappedStatistic(statistic.fresh(), self.block_map, chunk_rows=self.chunk_rows)
        return self.rows.reduce(mapped).inner


class EncodedRows(MappedRows):
    """The design rows of a table: discrete columns dummy coded, missing values imputed."""

    def __init__(self, rows: Rows, encoding: Encoding) -> None:
        super().__init__(rows, encoding)
        self.encoding, self.schema = encoding, encoding.schema

    def with_parts(self, parts: Any) -> EncodedRows:
        """Label each row with its part, by its raw content."""
        return EncodedRows(self.rows.with_parts(parts), self.encoding)


def chunks(block: Block, rows: int | None) -> Iterator[Block]:
    """Cut a block into chunks of at most ``rows`` rows (None: the whole block)."""
    if rows is None or block.n <= rows:
        yield block
        return
    for start in range(0, block.n, rows):
        yield block.take(slice(start, start + rows))


# -------------------------------------------------------------------------------------------------
# Ranges of training rows.


def training_range(rows: Rows) -> Floats | None:
    """The least and the greatest value of every column of rows in memory; None for others."""
    if not isinstance(rows, InMemory):
        return None
    block = rows.block
    if block.w is not None and not (block.w > 0.0).all():
        block = block.take(block.w > 0.0)
    return ranges_of(block.x if isinstance(rows, ArrayRows) else column_values(block, rows.schema))


def ranges_of(values: Matrix) -> Floats:
    """Two rows: the least and the greatest value of every column; NaN if it has none."""
    if not values.shape[0]:
        return np.full((2, values.shape[1]), np.nan)
    return np.vstack(column_ranges(values))


def column_values(block: Block, schema: Schema) -> Floats:
    """One number a column: its value (NaN if missing), or whether it has no known level."""
    values = np.empty((block.n, len(schema.names)))
    at = block.terms.position
    for j, column in enumerate(schema.columns):
        if column.kind is Kind.DISCRETE:
            levels = [at[t] for t in (Term(column.name, v) for v in column.levels) if t in at]
            values[:, j] = 1.0 - np.ravel(block.x[:, levels].sum(axis=1))
            continue
        values[:, j] = np.ravel(to_array(block.x[:, [at[Term(column.name)]]]))
        missing = at.get(Term(column.name, missing=True))
        if missing is not None:
            values[np.ravel(to_array(block.x[:, [missing]])) != 0.0, j] = np.nan
    return values
