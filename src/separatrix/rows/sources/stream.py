"""A table read as a stream: batches in order, arithmetic on threads, numbers that do not depend
on which thread was faster."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from separatrix.rows.block import Block
from separatrix.rows.memory import MemoryRows, from_readings
from separatrix.rows.parts import Parts
from separatrix.rows.rows import Rows, S
from separatrix.rows.schema import Schema
from separatrix.rows.sources.reader import Reader, Reading
from separatrix.rows.sources.source import Piece, Source, batch_rows
from separatrix.threads import one_blas_thread

BLOCK_ROWS = 65_536


class TableRows(Rows):
    """A source read by a schema; nothing but a few batches is in memory at any time.

    ``dropped`` counts, after a pass, the rows whose target or weight was missing.
    """

    def __init__(
        self,
        source: Source,
        schema: Schema,
        *,
        block_rows: int = BLOCK_ROWS,
        parts: Parts | None = None,
        notes: tuple[str, ...] = (),
        ignored: tuple[str, ...] = (),
    ) -> None:
        self.source, self.schema, self.block_rows = source, schema, block_rows
        self.parts, self.notes, self.ignored = parts, notes, ignored

    @property
    def name(self) -> str | None:
        """How messages call the source."""
        return self.source.name

    def blocks(self) -> Iterator[Block]:
        """Raw blocks in order."""
        dropped = 0
        for reading in self._readings(Reader(self.schema, self.parts)):
            dropped += reading.dropped
            yield reading.block
        self.dropped = dropped

    def reduce(self, statistic: S) -> S:
        """One pass: each batch is reduced on a thread of its own, and added in order."""
        reader = Reader(self.schema, self.parts)

        def one(piece: Piece) -> tuple[S, int]:
            reading = reader.read(piece.batch, piece.place)
            part = statistic.fresh()
            if reading.block.n:
                part.update(reading.block)
            return part, reading.dropped

        total, dropped = statistic.fresh(), 0
        workers = os.cpu_count() or 1
        waiting: deque[Future[tuple[S, int]]] = deque()
        with one_blas_thread(), ThreadPoolExecutor(workers) as pool:
            for piece in self._pieces(reader):
                waiting.append(pool.submit(one, piece))
                if len(waiting) > workers:  # a bound on what is in memory
                    part, lost = waiting.popleft().result()
                    total, dropped = total + part, dropped + lost
            for future in waiting:
                part, lost = future.result()
                total, dropped = total + part, dropped + lost
        self.dropped = dropped
        _give_back()
        return total

    def with_parts(self, parts: Parts) -> TableRows:
        """The same rows, each labelled with its part."""
        return TableRows(
            self.source,
            self.schema,
            block_rows=self.block_rows,
            parts=parts,
            notes=self.notes,
            ignored=self.ignored,
        )

    def read(self) -> MemoryRows:
        """The whole table in memory."""
        readings = list(self._readings(Reader(self.schema, fingerprint=True)))
        rows = from_readings(self.schema, readings, self.source.name)
        self.dropped = rows.dropped
        rows.notes, rows.ignored = self.notes, self.ignored
        return rows if self.parts is None else rows.with_parts(self.parts)

    def _pieces(self, reader: Reader) -> Iterator[Piece]:
        columns = reader.columns
        return self.source.batches(columns, batch_rows(self.block_rows, len(columns)))

    def _readings(self, reader: Reader) -> Iterator[Reading]:
        for piece in self._pieces(reader):
            yield reader.read(piece.batch, piece.place)


def _give_back() -> None:
    """Return what Arrow has freed to the system: its pool would keep it for later."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
