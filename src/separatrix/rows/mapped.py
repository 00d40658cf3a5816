"""Rows whose blocks are turned into others as they are read: new columns, new targets."""

from __future__ import annotations

from collections.abc import Iterator

from separatrix.rows.block import Block
from separatrix.rows.encoded import BlockMap, Through
from separatrix.rows.rows import Rows, S


class MappedRows(Rows):
    """Rows seen through a map. A pass runs where the rows are: on threads, files or Dask.

    ``piece`` bounds the rows that are mapped at once, where the map makes them much wider.
    """

    def __init__(self, rows: Rows, through: BlockMap, piece: int | None = None) -> None:
        self.rows, self.through, self.piece = rows, through, piece
        self.schema = rows.schema
        self.notes, self.ignored = rows.notes, rows.ignored

    def blocks(self) -> Iterator[Block]:
        """Mapped blocks in order."""
        for block in self.rows.blocks():
            for part in pieces(block, self.piece):
                yield self.through.apply(part)

    def reduce(self, statistic: S) -> S:
        """One pass over the mapped rows."""
        inner = Through(statistic.fresh(), self.through)
        return self.rows.reduce(_InPieces(inner, self.piece)).inner.inner


class _InPieces(Through[Through[S]]):
    """Hands a block on a few rows at a time."""

    def __init__(self, inner: Through[S], piece: int | None) -> None:
        super().__init__(inner)
        self.piece = piece

    def fresh(self) -> _InPieces[S]:  # type: ignore[override]
        """An empty one with the same pieces."""
        return _InPieces(self.inner.fresh(), self.piece)

    def update(self, block: Block) -> None:
        """Take in a block, piece by piece."""
        for part in pieces(block, self.piece):
            self.inner.update(part)

    def __add__(self, other: _InPieces[S]) -> _InPieces[S]:  # type: ignore[override]
        return _InPieces(self.inner + other.inner, self.piece)


def pieces(block: Block, rows: int | None) -> Iterator[Block]:
    """The block in pieces of at most ``rows`` rows (None: whole)."""
    if rows is None or block.n <= rows:
        yield block
        return
    for start in range(0, block.n, rows):
        yield block.take(slice(start, start + rows))
