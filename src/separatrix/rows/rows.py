"""Rows: a table that can be read block by block, and reduced to a statistic."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, Self, TypeVar

from separatrix.rows.block import Block, concatenate
from separatrix.rows.schema import Schema


class Statistic(Protocol):
    """What a pass over blocks becomes. Two of them add up to that of both sets of rows."""

    def fresh(self) -> Self:
        """An empty one of the same make."""

    def update(self, block: Block) -> None:
        """Take in the rows of a block."""

    def __add__(self, other: Self) -> Self: ...


S = TypeVar("S", bound=Statistic)


class Rows(ABC):
    """A table as a stream of blocks. The same statistic runs in memory, over files, or on Dask."""

    schema: Schema

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """The blocks in order; every call starts from the first row again."""

    def reduce(self, statistic: S) -> S:
        """One pass over the rows: the statistic of all of them."""
        total = statistic.fresh()
        for block in self.blocks():
            total.update(block)
        return total

    def collect(self) -> Block:
        """All rows as one block in memory."""
        return concatenate(list(self.blocks()))


def reduce_on_threads(
    statistic: S, pieces: list[Callable[[], Iterator[Block]]]
) -> S:
    """Reduce each piece on a thread of its own; add up in the order of the pieces.

    The order is fixed, so the numbers do not depend on which thread was faster.
    """

    def one(piece: Callable[[], Iterator[Block]]) -> S:
        part = statistic.fresh()
        for block in piece():
            part.update(block)
        return part

    if len(pieces) == 1:
        return one(pieces[0])
    with ThreadPoolExecutor(len(pieces)) as pool:
        parts = list(pool.map(one, pieces))
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
