"""Sources of tables: each has an Arrow schema and yields Arrow batches in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

from separatrix.messages import InputError
from separatrix.rows.sources.columns import Location

if TYPE_CHECKING:
    import pyarrow as pa

#: Values per batch: many enough to amortize overhead, few enough that every thread may have some.
BATCH_CELLS = 800_000

#: Rows from which the schema is inferred.
SAMPLE_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class LocatedBatch:
    """A batch and its position in the source."""

    batch: pa.RecordBatch
    location: Location


class Contradiction(InputError):
    """A value that its column, as inferred from earlier rows, cannot hold: it is decided anew."""

    @classmethod
    def of(cls, problem: InputError) -> Self:
        """The same refusal, as a contradiction."""
        place: dict[str, Any] = {"file": problem.file, "row": problem.row, "column": problem.column}
        return cls(problem.what, **place, remedy=problem.remedy)


class SuspectedMissing(Contradiction):
    """A number, far from those before it, that may stand for missing values."""


class Source(Protocol):
    """A table that can be read any number of times."""

    @property
    def name(self) -> str | None:
        """Its name in messages."""

    @property
    def arrow(self) -> pa.Schema:
        """Names and types of the columns."""

    def batches(self, columns: list[str], rows: int) -> Iterator[LocatedBatch]:
        """Yield these columns in order, at most ``rows`` rows at a time."""


class TableSource:
    """An Arrow table in memory."""

    def __init__(self, table: pa.Table, name: str | None = None) -> None:
        self.table, self.name = table, name

    @property
    def arrow(self) -> pa.Schema:
        """Names and types of the columns."""
        return self.table.schema

    def batches(self, columns: list[str], rows: int) -> Iterator[LocatedBatch]:
        """Yield slices of the table; nothing is copied."""
        start = 0
        for batch in self.table.select(columns).to_batches(max_chunksize=rows):
            yield LocatedBatch(batch, Location(self.name, start))
            start += batch.num_rows


def batch_rows(most: int, columns: int) -> int:
    """Rows per batch: at most ``most``, fewer for wide tables."""
    return max(256, min(most, BATCH_CELLS // max(columns, 1)))


def head(source: Source, columns: list[str]) -> LocatedBatch:
    """The first rows of a source, however they are cut; a table without rows is refused."""
    import pyarrow as pa

    wanted = batch_rows(SAMPLE_ROWS, len(columns))
    batches: list[pa.RecordBatch] = []
    location: Location | None = None
    for located in source.batches(columns, wanted):
        if not located.batch.num_rows:
            continue
        location = location or located.location
        if located.location.file != location.file:  # rows are counted anew in every file
            break
        batches.append(located.batch)
        wanted -= located.batch.num_rows
        if wanted <= 0:
            break
    if location is not None:
        table = pa.Table.from_batches(batches).combine_chunks()
        return LocatedBatch(table.to_batches()[0], location)
    raise InputError(
        "The table has no rows.", file=source.name, remedy="Give a table with at least one row."
    )


def refuse_duplicates(names: list[str], file: str | None) -> None:
    """Refuse a table in which two columns have the same name."""
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
    """Refuse files of one table that do not have the same columns (in any order)."""
    here, there = set(names), set(first)
    lacking = [name for name in first if name not in here]
    extra = [name for name in names if name not in there]
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
