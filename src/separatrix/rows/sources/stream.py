"""Streaming of a table: batches in order, reduced on threads, with a reproducible result."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import reduce
from threading import Lock
from typing import Generic, Self, TypeVar

from separatrix.messages import InputError
from separatrix.rows.parts import Parts
from separatrix.rows.rows import InMemory, Rows, S
from separatrix.rows.schema import Block, Schema
from separatrix.rows.sources.columns import Counts, add_counts, warn_unseen
from separatrix.rows.sources.reader import BatchReader, DecodedBatch, join
from separatrix.rows.sources.source import (
    Contradiction,
    FileSource,
    LocatedBatch,
    Source,
    TableSource,
    batch_rows,
)
from separatrix.rows.travel import Travel
from separatrix.threads import on_threads

T = TypeVar("T")

BLOCK_ROWS = 65_536


class BatchedRows(Rows):
    """Rows that are decoded batch by batch; ``dropped`` is counted anew at every pass."""

    parts: Parts | None = None

    @property
    def name(self) -> str | None:
        """The name of the table in messages."""
        return None

    @property
    def travel(self) -> Travel | None:
        """What came from other machines; None where there are none."""
        return None

    def about_rows(self) -> float | None:
        """About how many rows a pass reads, 0 where they are in memory; None if nothing tells."""
        return None

    @abstractmethod
    def under(self, schema: Schema, notes: tuple[str, ...]) -> Rows:
        """The same table under another schema."""

    @abstractmethod
    def _decode_batches(self, reader: BatchReader) -> Iterator[DecodedBatch]:
        """Yield the decoded batches in order."""

    def blocks(self) -> Iterator[Block]:
        """Yield raw blocks in order."""
        yield from BatchedRows.each(self, _block_of)

    def each(self, function: Callable[[DecodedBatch], T]) -> Iterator[T]:
        """What a function makes of every batch, in order; where the rows are."""
        dropped, unseen = 0, Counts()
        for decoded in self._decode_batches(BatchReader(self.schema, self.parts)):
            dropped, unseen = dropped + decoded.dropped, add_counts(unseen, decoded.unseen)
            yield function(decoded)
        self.dropped = dropped
        warn_unseen(unseen, self.schema.unseen)

    def _gather(self) -> list[DecodedBatch]:
        """All batches, with the hashes of their rows."""
        return list(self._decode_batches(BatchReader(self.schema, with_hashes=True)))

    def read(self) -> InMemory:
        """Read the whole table into memory."""
        import pyarrow as pa

        batches = self._gather()
        pa.default_memory_pool().release_unused()
        rows = join(self.schema, batches, self.name)
        self.dropped = rows.dropped
        unseen = reduce(add_counts, (batch.unseen for batch in batches), Counts())
        warn_unseen(unseen, self.schema.unseen)
        rows.notes, rows.left_out, rows.ignored = self.notes, self.left_out, self.ignored
        return rows if self.parts is None else rows.with_parts(self.parts)

    def with_parts(self, parts: Parts) -> Self:
        """Label each row with its part."""
        labeled = copy(self)
        labeled.parts = parts
        return labeled


def _block_of(decoded: DecodedBatch) -> Block:
    return decoded.block


@dataclass
class SourceReading:
    """How a source is read; a later row may change it, for all views of the same table.

    ``ranges`` are those of the first rows of numeric columns: numbers outside them that may stand
    for missing values are looked into.
    """

    source: Source
    schema: Schema
    notes: tuple[str, ...] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)


#: Decides anew how a table is read after a contradiction, or raises it.
Revise = Callable[[SourceReading, Contradiction], None]


class _Total(Generic[S]):
    """The sum of the batches in their order, whichever is done first."""

    def __init__(self, statistic: S) -> None:
        self.statistic, self.dropped, self.unseen = statistic.fresh(), 0, Counts()
        self.failures: dict[int, Exception] = {}
        self.count = 0
        self._waiting: dict[int, tuple[S, int, Counts]] = {}
        self._lock = Lock()

    def add(self, number: int, part: S, decoded: DecodedBatch) -> None:
        """Add a batch, and those that waited for it."""
        with self._lock:
            self._waiting[number] = (part, decoded.dropped, decoded.unseen)
            while self.count in self._waiting:
                part, dropped, unseen = self._waiting.pop(self.count)
                self.statistic = self.statistic + part
                self.dropped += dropped
                self.unseen = add_counts(self.unseen, unseen)
                self.count += 1


class TableRows(BatchedRows):
    """A source read under a schema; only a few batches are in memory at any time.

    Where a later row contradicts what the first rows showed, ``revise`` decides from the whole
    column, and the pass starts again.
    """

    def __init__(
        self,
        source: Source,
        schema: Schema,
        *,
        block_rows: int = BLOCK_ROWS,
        notes: tuple[str, ...] = (),
        left_out: tuple[str, ...] = (),
        ignored: tuple[str, ...] = (),
        ranges: Mapping[str, tuple[float, float]] | None = None,
        revise: Revise | None = None,
        named_by: str | None = None,
    ) -> None:
        self.reading = SourceReading(source, schema, notes, ranges or {})
        self.named_by = named_by
        self.block_rows, self.revise = block_rows, revise
        self.left_out, self.ignored = left_out, ignored

    @property
    def source(self) -> Source:
        """The table."""
        return self.reading.source

    @property
    def schema(self) -> Schema:  # type: ignore[override]
        """The schema under which it is read."""
        return self.reading.schema

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """What was inferred or left out, a sentence each."""
        return self.reading.notes

    @property
    def name(self) -> str | None:
        """The name of the source in messages."""
        return self.source.name

    def row_names(self) -> dict[int, str]:
        """What identifies each row, by its number; nothing where there are no such texts."""
        if self.named_by is None or self.named_by not in self.source.arrow.names:
            return {}
        names: dict[int, str] = {}
        for piece in self.source.batches([self.named_by], self.block_rows):
            start = piece.location.start + 1
            named = enumerate(piece.batch.column(0).to_pylist(), start)
            names |= {row: str(name) for row, name in named if name is not None}
        return {} if all(name.isdecimal() for name in names.values()) else names

    def here(self) -> TableRows:
        """The same table, read by this process."""
        return self

    def about_rows(self) -> float | None:
        """About how many rows a pass reads, 0 where they are in memory; None if nothing tells."""
        if isinstance(self.source, TableSource):
            return 0.0
        if not isinstance(self.source, FileSource):
            return None
        columns = len(self.schema.by_name)
        return self.source.size(columns) / (8.0 * columns)

    def under(self, schema: Schema, notes: tuple[str, ...]) -> TableRows:
        """The same table under another schema."""
        return TableRows(
            self.source,
            schema,
            block_rows=self.block_rows,
            notes=notes,
            left_out=self.left_out,
            ranges=self.reading.ranges,
            named_by=self.named_by,
            revise=self.revise,
        )

    def reduce(self, statistic: S) -> S:
        """Compute a statistic in one pass: batches are reduced on threads, and added in order."""
        while True:
            try:
                return self._reduce(statistic)
            except Contradiction as problem:
                self._reconsider(problem)

    def _reduce(self, statistic: S) -> S:
        import pyarrow as pa

        reader = BatchReader(self.schema, self.parts, ranges=self.reading.ranges)
        total = _Total(statistic)
        batches, reading = enumerate(self._batches(reader)), Lock()

        def work() -> None:
            """Read a batch while others decode theirs: only as many as threads are in memory."""
            while not total.failures:
                number = sys.maxsize  # a batch that cannot be read comes after all others
                try:
                    with reading:
                        number, located = next(batches, (number, None))
                    if located is None:
                        return
                    decoded = reader.read(located.batch, located.location)
                    part = statistic.fresh()
                    if decoded.block.n:
                        part.update(decoded.block)
                    total.add(number, part, decoded)
                except Exception as problem:
                    total.failures[number] = problem

        on_threads(work, sys.maxsize)
        if total.failures:  # the first in the order of the rows, as one thread would meet it
            raise total.failures[min(total.failures)]
        self.dropped = total.dropped
        warn_unseen(total.unseen, self.schema.unseen)
        pa.default_memory_pool().release_unused()  # the pool would retain what Arrow has freed
        return total.statistic

    def _reconsider(self, problem: Contradiction) -> None:
        if self.revise is None:
            raise problem
        self.revise(self.reading, problem)

    def _gather(self) -> list[DecodedBatch]:
        while True:
            reader = BatchReader(self.schema, with_hashes=True, ranges=self.reading.ranges)
            try:
                return [reader.read(b.batch, b.location) for b in self._batches(reader)]
            except Contradiction as problem:
                self._reconsider(problem)

    def _decode_batches(self, reader: BatchReader) -> Iterator[DecodedBatch]:
        """Decoded batches; after a contradiction, from the row on that it concerns.

        That is only right if the rows before it keep their values, which ``revise`` is asked.
        """
        n_done = 0
        while True:
            reader = replace(reader, schema=self.schema, ranges=self.reading.ranges)
            try:
                for located in _after(n_done, self._batches(reader)):
                    decoded = reader.read(located.batch, located.location)
                    n_done += located.batch.num_rows
                    yield decoded
                return
            except Contradiction as problem:
                before = self.schema
                self._reconsider(problem)
                if n_done and problem.column is not None:
                    refuse_other_values(before, self.schema, problem)

    def _batches(self, reader: BatchReader) -> Iterator[LocatedBatch]:
        columns = reader.columns
        return self.source.batches(columns, batch_rows(self.block_rows, len(columns)))


def _after(value: int, batches: Iterator[LocatedBatch]) -> Iterator[LocatedBatch]:
    """The batches without the rows that were read before."""
    for located in batches:
        n = located.batch.num_rows
        if value < n:
            place = replace(located.location, start=located.location.start + value)
            yield located if not value else LocatedBatch(located.batch.slice(value), place)
        value = max(value - n, 0)


def refuse_other_values(before: Schema, now: Schema, problem: Contradiction) -> None:
    """Refuse a change of separators after rows were given out under the old ones."""
    old, new = before.by_name.get(problem.column or ""), now.by_name.get(problem.column or "")
    if old is None or new is None or new.notation.decimal == old.notation.decimal:
        return
    raise InputError(
        problem.what,
        file=problem.file,
        row=problem.row,
        column=problem.column,
        remedy=f"Read the table with `decimal={new.notation.decimal!r}`.",
    )
