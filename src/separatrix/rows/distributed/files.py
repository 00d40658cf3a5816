"""Tables in files that the workers of a Dask cluster read, piece by piece.

The schema is inferred here from the first rows, and decided anew here where a later row contradicts
them, exactly as for files that are read on one machine; everything else is read by the workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from separatrix.messages import InputError
from separatrix.rows.distributed.passes import Passes
from separatrix.rows.distributed.pieces import pieces_of
from separatrix.rows.distributed.scheduler import connected
from separatrix.rows.distributed.travel import Travel
from separatrix.rows.rows import Rows, S
from separatrix.rows.schema import Schema
from separatrix.rows.sources.reader import BatchReader, DecodedBatch
from separatrix.rows.sources.source import Contradiction, TableSource
from separatrix.rows.sources.stream import TableRows, refuse_other_values
from separatrix.rows.sources.unseen import Counts, added, warn_unseen

T = TypeVar("T")


def read_by_workers(rows: Rows, cluster: Any) -> FilesOnDask:
    """The same table, read by the workers of the Dask scheduler at an address."""
    if not isinstance(rows, TableRows) or isinstance(rows.source, TableSource):
        raise InputError(
            "A table in memory is not read by the workers of a cluster.",
            remedy="Give a path to files that the workers see, or leave out `cluster`.",
        )
    if "standard input" in getattr(rows.source, "shown", ()):
        raise InputError(
            "Standard input is not seen by the workers of a cluster.",
            remedy="Store the table in a file that the workers see, or leave out `cluster`.",
        )
    return FilesOnDask(rows, _Shared(connected(cluster)))


class _Shared:
    """The passes over a source, shared by all views of the same table."""

    def __init__(self, client: Any) -> None:
        self.client, self.source = client, None
        self._passes: Passes | None = None
        self.travel = Travel(where=str(client.scheduler.address))

    def passes(self, source: Any, block_rows: int) -> Passes:
        """Passes over the pieces of a source; another source begins anew."""
        if self._passes is None or self.source is not source:
            pieces = pieces_of(source)
            self._passes, self.source = Passes(pieces, block_rows, self.client), source
            self.travel.pieces, self.travel.cached = len(pieces), 0
            self._passes.travel = self.travel
        return self._passes


class FilesOnDask(TableRows):
    """Rows in files, of which only statistics come here."""

    def __init__(self, rows: TableRows, shared: _Shared) -> None:
        self.__dict__.update(rows.__dict__)
        self._shared = shared

    @property
    def travel(self) -> Travel:
        """What traveled so far."""
        return self._shared.travel

    @property
    def _passes(self) -> Passes:
        return self._shared.passes(self.source, self.block_rows)

    def under(self, schema: Schema, notes: tuple[str, ...]) -> FilesOnDask:
        """The same table under another schema."""
        return FilesOnDask(super().under(schema, notes), self._shared)

    def _reader(self) -> BatchReader:
        return BatchReader(self.schema, self.parts, ranges=self.reading.ranges)

    def _reduced(self, statistic: S) -> S:
        total = self._passes.reduce(self._reader(), statistic)
        if total.failure is not None:
            raise total.failure
        self.dropped = total.dropped
        warn_unseen(total.unseen, self.schema.unseen)
        return total.statistic

    def each(self, function: Callable[[DecodedBatch], T]) -> Iterator[T]:
        """What a function makes of every batch on the workers, in order."""
        done, dropped, unseen = 0, 0, Counts()
        while True:
            try:
                for found in self._passes.each(self._reader(), function, done):
                    if found.failure is not None:
                        raise found.failure
                    yield from found.values
                    done, dropped = done + 1, dropped + found.dropped
                    unseen = added(unseen, found.unseen)
                break
            except Contradiction as problem:
                before = self.schema
                self._reconsider(problem)
                if done and problem.column is not None:
                    refuse_other_values(before, self.schema, problem)
        self.dropped = dropped
        warn_unseen(unseen, self.schema.unseen)
