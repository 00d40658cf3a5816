"""Rows: a table that can be read block by block, and reduced to a statistic."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Block, concatenate
from separatrix.rows.schema import Schema
from separatrix.threads import one_blas_thread


class Statistic(Protocol):
    """What a pass over blocks becomes. Two of them add up to that of both sets of rows."""

    def fresh(self) -> Self:
        """An empty one of the same make."""

    def update(self, block: Block) -> None:
        """Take in the rows of a block."""

    def __add__(self, other: Self) -> Self: ...


S = TypeVar("S", bound=Statistic)

#: Rows of a piece that is worth a thread's while, and the most pieces that a table is cut into.
ROWS_PER_PIECE, MOST_PIECES = 20_000, 64


class Rows(ABC):
    """A table as a stream of blocks. The same statistic runs in memory, over files, or on Dask."""

    schema: Schema

    #: Rows left out of the last pass because their target or weight was missing.
    dropped: int = 0
    #: What was inferred or left out, a sentence each.
    notes: tuple[str, ...] = ()
    #: Columns that were there but not asked for.
    ignored: tuple[str, ...] = ()

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

    def with_parts(self, parts: Any) -> Rows:
        """The same rows, each labelled with its part (:class:`~separatrix.rows.parts.Parts`)."""
        return self.read().with_parts(parts)

    def read(self) -> InMemory:
        """The table in memory, where rows can be counted and taken."""
        from separatrix.rows.memory import of_block

        return of_block(self.schema, self.collect())


class InMemory(Rows):
    """Rows in memory. ``row_ids`` are the numbers of the rows in their source, from 1."""

    block: Block

    def __len__(self) -> int:
        return self.block.n

    def blocks(self) -> Iterator[Block]:
        """The one block."""
        yield self.block

    def read(self) -> Self:
        """Itself."""
        return self

    @property
    @abstractmethod
    def row_ids(self) -> NDArray[np.int64]:
        """The number that each row has in the source."""

    @abstractmethod
    def take(self, index: NDArray[Any] | slice) -> Self:
        """Some of the rows, by position or mask."""

    @abstractmethod
    def with_parts(self, parts: Any) -> Self:
        """The same rows, each labelled with its part: as given, or by content and seed."""

    def reduce(self, statistic: S) -> S:
        """One pass over the rows, on threads when there are many."""
        n = self.block.n
        pieces = int(np.clip(n // ROWS_PER_PIECE, 1, MOST_PIECES))
        cuts = [n * i // pieces for i in range(pieces + 1)]
        return reduce_on_threads(
            statistic,
            [
                lambda a=a, b=b: iter([self.block.take(slice(a, b))])  # type: ignore[misc]
                for a, b in pairwise(cuts)
            ],
        )


def reduce_on_threads(statistic: S, pieces: list[Callable[[], Iterator[Block]]]) -> S:
    """Reduce the pieces on as many threads as there are cores; add up in the order of the pieces.

    Neither the pieces nor the order depend on the machine, so the numbers do not either. BLAS is
    held to one thread meanwhile: two levels of threads would wait for each other.
    """

    def one(piece: Callable[[], Iterator[Block]]) -> S:
        part = statistic.fresh()
        for block in piece():
            part.update(block)
        return part

    if len(pieces) == 1:
        return one(pieces[0])
    with one_blas_thread(), ThreadPoolExecutor(os.cpu_count()) as pool:
        parts = list(pool.map(one, pieces))
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
