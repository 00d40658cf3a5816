"""Streaming of a table: batches in order, reduced on threads, with a reproducible result."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from functools import reduce
from typing import Self

from separatrix.rows.block import Block
from separatrix.rows.parts import Parts
from separatrix.rows.rows import InMemory, Rows, S
from separatrix.rows.schema import Schema
from separatrix.rows.sources.reader import BatchReader, DecodedBatch, join
from separatrix.rows.sources.source import LocatedBatch, Source, batch_rows
from separatrix.rows.sources.unseen import Counts, added, warn_unseen
from separatrix.threads import one_blas_thread

BLOCK_ROWS = 65_536


class BatchedRows(Rows):
    """Rows that are decoded batch by batch; ``dropped`` is counted anew at every pass."""

    parts: Parts | None = None

    @property
    def name(self) -> str | None:
        """The name of the table in messages."""
        return None

    @abstractmethod
    def _decoded(self, reader: BatchReader) -> Iterator[DecodedBatch]:
        """Yield the decoded batches in order."""

    def blocks(self) -> Iterator[Block]:
        """Yield raw blocks in order."""
        dropped, unseen = 0, Counts()
        for decoded in self._decoded(BatchReader(self.schema, self.parts)):
            dropped, unseen = dropped + decoded.dropped, added(unseen, decoded.unseen)
            yield decoded.block
        self.dropped = dropped
        warn_unseen(unseen, self.schema.unseen)

    def read(self) -> InMemory:
        """Read the whole table into memory."""
        batches = list(self._decoded(BatchReader(self.schema, with_hashes=True)))
        rows = join(self.schema, batches, self.name)
        self.dropped = rows.dropped
        unseen = reduce(added, (batch.unseen for batch in batches), Counts())
        warn_unseen(unseen, self.schema.unseen)
        rows.notes, rows.ignored = self.notes, self.ignored
        return rows if self.parts is None else rows.with_parts(self.parts)

    def with_parts(self, parts: Parts) -> Self:
        """Label each row with its part."""
        labeled = copy(self)
        labeled.parts = parts
        return labeled


class TableRows(BatchedRows):
    """A source read under a schema; only a few batches are in memory at any time."""

    def __init__(
        self,
        source: Source,
        schema: Schema,
        *,
        block_rows: int = BLOCK_ROWS,
        notes: tuple[str, ...] = (),
        ignored: tuple[str, ...] = (),
    ) -> None:
        self.source, self.schema, self.block_rows = source, schema, block_rows
        self.notes, self.ignored = notes, ignored

    @property
    def name(self) -> str | None:
        """The name of the source in messages."""
        return self.source.name

    def reduce(self, statistic: S) -> S:
        """Compute a statistic in one pass: batches are reduced on threads, and added in order."""
        import pyarrow as pa

        reader = BatchReader(self.schema, self.parts)

        def one(located: LocatedBatch) -> tuple[S, int, Counts]:
            decoded = reader.read(located.batch, located.location)
            part = statistic.fresh()
            if decoded.block.n:
                part.update(decoded.block)
            return part, decoded.dropped, decoded.unseen

        total, dropped, unseen = statistic.fresh(), 0, Counts()
        workers = os.cpu_count() or 1
        waiting: deque[Future[tuple[S, int, Counts]]] = deque()
        with one_blas_thread(), ThreadPoolExecutor(workers) as pool:
            for located in self._batches(reader):
                waiting.append(pool.submit(one, located))
                if len(waiting) > workers:  # a bound on what is in memory
                    part, left_out, others = waiting.popleft().result()
                    total, dropped = total + part, dropped + left_out
                    unseen = added(unseen, others)
            for future in waiting:
                part, left_out, others = future.result()
                total, dropped = total + part, dropped + left_out
                unseen = added(unseen, others)
        self.dropped = dropped
        warn_unseen(unseen, self.schema.unseen)
        pa.default_memory_pool().release_unused()  # the pool would retain what Arrow has freed
        return total

    def _batches(self, reader: BatchReader) -> Iterator[LocatedBatch]:
        columns = reader.columns
        return self.source.batches(columns, batch_rows(self.block_rows, len(columns)))

    def _decoded(self, reader: BatchReader) -> Iterator[DecodedBatch]:
        for located in self._batches(reader):
            yield reader.read(located.batch, located.location)
