"""Rows seen through a map of their blocks: the design of a table, or some of its parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self

import numpy as np

from separatrix.rows.block import Block
from separatrix.rows.encoding import Encoding
from separatrix.rows.rows import Rows, S


class BlockMap(Protocol):
    """Turns blocks into other blocks."""

    def apply(self, block: Block) -> Block:
        """The block seen through the map."""


class Through(Generic[S]):
    """A statistic of mapped blocks, which runs wherever its rows are (threads, files, Dask)."""

    def __init__(self, inner: S, *maps: BlockMap) -> None:
        self.inner, self.maps = inner, maps

    def fresh(self) -> Self:
        """An empty one over the same maps."""
        return type(self)(self.inner.fresh(), *self.maps)

    def update(self, block: Block) -> None:
        """Take in a block after it went through the maps."""
        for one in self.maps:
            block = one.apply(block)
        if block.n:
            self.inner.update(block)

    def __add__(self, other: Self) -> Self:
        return type(self)(self.inner + other.inner, *self.maps)


@dataclass(frozen=True)
class OnlyParts:
    """The rows of some parts."""

    parts: frozenset[int]

    def apply(self, block: Block) -> Block:
        """The rows of the block that belong to these parts."""
        assert block.parts is not None, "the rows carry no parts"
        return block.take(np.flatnonzero(np.isin(block.parts, list(self.parts))))


class EncodedRows(Rows):
    """The design rows of a table: dummies in place, gaps filled, read again at every pass."""

    def __init__(self, rows: Rows, encoding: Encoding) -> None:
        self.rows, self.encoding = rows, encoding
        self.schema = encoding.schema
        self.notes, self.ignored = rows.notes, rows.ignored

    def blocks(self) -> Iterator[Block]:
        """Design blocks in order."""
        for block in self.rows.blocks():
            yield self.encoding.apply(block)

    def reduce(self, statistic: S) -> S:
        """One pass over the design."""
        return self.rows.reduce(Through(statistic.fresh(), self.encoding)).inner

    def with_parts(self, parts: Any) -> EncodedRows:
        """The same rows, each labelled with its part."""
        return EncodedRows(self.rows.with_parts(parts), self.encoding)
