"""Rows whose blocks are turned into others as they are read: new columns, new targets."""

from __future__ import annotations

from collections.abc import Iterator

from separatrix.rows.block import Block
from separatrix.rows.encoded import BlockMap, Through
from separatrix.rows.rows import Rows, S


class MappedRows(Rows):
    """Rows seen through a map. A pass runs where the rows are: on threads, files or Dask."""

    def __init__(self, rows: Rows, through: BlockMap) -> None:
        self.rows, self.through = rows, through
        self.schema = rows.schema
        self.notes, self.ignored = rows.notes, rows.ignored

    def blocks(self) -> Iterator[Block]:
        """Mapped blocks in order."""
        for block in self.rows.blocks():
            yield self.through.apply(block)

    def reduce(self, statistic: S) -> S:
        """One pass over the mapped rows."""
        return self.rows.reduce(Through(statistic.fresh(), self.through)).inner
