"""Where batches come from: every source names its columns and yields Arrow batches in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from separatrix.messages import InputError
from separatrix.rows.sources.columns import Place

if TYPE_CHECKING:
    import pyarrow as pa

#: Numbers in a batch: enough to keep arithmetic busy, few enough to stay near the processor.
BATCH_CELLS = 500_000

#: Rows looked at before reading: for levels, and for the middle of each column.
SAMPLE_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class Piece:
    """A batch and where it stood."""

    batch: pa.RecordBatch
    place: Place


class Source(Protocol):
    """A table that can be read again and again."""

    @property
    def name(self) -> str | None:
        """How messages call it."""

    @property
    def arrow(self) -> pa.Schema:
        """Names and types of the columns."""

    def batches(self, columns: list[str], rows: int) -> Iterator[Piece]:
        """These columns, in batches of at most ``rows`` rows, in order."""


class TableSource:
    """An Arrow table in memory."""

    def __init__(self, table: pa.Table, name: str | None = None) -> None:
        self.table, self.name = table, name

    @property
    def arrow(self) -> pa.Schema:
        """Names and types of the columns."""
        return self.table.schema

    def batches(self, columns: list[str], rows: int) -> Iterator[Piece]:
        """Slices of the table; nothing is copied."""
        start = 0
        for batch in self.table.select(columns).to_batches(max_chunksize=rows):
            yield Piece(batch, Place(self.name, start))
            start += batch.num_rows


def batch_rows(asked: int, columns: int) -> int:
    """Rows of a batch: as asked, fewer where the table is wide."""
    return max(256, min(asked, BATCH_CELLS // max(columns, 1)))


def head(source: Source, columns: list[str]) -> Piece:
    """The first rows of a source; a table without rows is refused."""
    for piece in source.batches(columns, batch_rows(SAMPLE_ROWS, len(columns))):
        if piece.batch.num_rows:
            return piece
    raise InputError(
        "The table has no rows.", file=source.name, remedy="Give a table with at least one row."
    )


def refuse_duplicates(names: list[str], file: str | None) -> None:
    """Two columns of one name cannot be told apart."""
    seen: set[str] = set()
    for position, name in enumerate(names, start=1):
        if name in seen:
            raise InputError(
                f"two columns have this name (the second is column {position}).",
                file=file,
                column=name,
                remedy="Rename one of them.",
            )
        seen.add(name)


def refuse_difference(first: list[str], first_file: str, names: list[str], file: str) -> None:
    """All files of one table must have the same columns, in whatever order."""
    lacking = [name for name in first if name not in set(names)]
    extra = [name for name in names if name not in set(first)]
    if not lacking and not extra:
        return
    parts = []
    if lacking:
        parts.append(f"lacks {', '.join(map(repr, lacking[:5]))}")
    if extra:
        parts.append(f"has {', '.join(map(repr, extra[:5]))} besides")
    raise InputError(
        f"{' and '.join(parts)}, compared with {first_file}.",
        file=file,
        remedy="Give files with the same columns.",
    )
