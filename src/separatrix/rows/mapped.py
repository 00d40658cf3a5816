"""Rows whose blocks are transformed as they are read: encoded columns, new columns, new targets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self

import numpy as np

from separatrix.rows.block import Block
from separatrix.rows.encoding import Encoding
from separatrix.rows.rows import Rows, S


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
            for one in self.maps:
                chunk = one.apply(chunk)
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
        self.notes, self.ignored = rows.notes, rows.ignored

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
