"""Sources of tables: each has an Arrow schema and yields Arrow batches in order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self

from separatrix.messages import InputError
from separatrix.rows.sources.columns import Location
from separatrix.rows.sources.places import Partitions, absolute

if TYPE_CHECKING:
    import pyarrow as pa


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
    # Values per batch: many enough to amortize overhead, few enough that every thread may have
    # some.
    return max(256, min(most, 800_000 // max(columns, 1)))


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


# -------------------------------------------------------------------------------------------------
# What all files of tables have in common: several make one table, folders may name columns.


class FileSource(ABC):
    """One table in one or more files; ``shown`` are their names in messages."""

    #: Columns that are read as they are written, whatever they look like.
    texts: frozenset[str] = frozenset()
    #: What was recognized about the files, a sentence each.
    notes: tuple[str, ...] = ()
    #: What was taken where nothing was named, a sentence each.
    announced: tuple[str, ...] = ()
    #: Attributes that have an entry for each file, and those that do not travel.
    by_file: tuple[str, ...] = ()
    of_this_process: tuple[str, ...] = ()
    #: Whether the columns have names in the files.
    has_header: bool = True
    #: The separator of values, in text files.
    delimiter: str | None = None

    def __init__(
        self,
        paths: list[str],
        shown: list[str] | None = None,
        partitions: Partitions | None = None,
    ) -> None:
        self.paths, self.shown = paths, shown or paths
        self.partitions = partitions or Partitions()
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        self.name = f"{self.shown[0]}{more}"

    @property
    def files(self) -> Iterator[tuple[str, str]]:
        """The files, each with its name in messages."""
        return zip(self.paths, self.shown, strict=True)

    def piece(self, i: int) -> Self:
        """One of the files, read with what was found out about all of them."""
        source = copy(self)
        source.__dict__ |= {"own": self.own, "arrow": self.arrow}
        for name in self.by_file:
            source.__dict__[name] = getattr(self, name)[i : i + 1]
        for name in self.of_this_process:
            source.__dict__.pop(name, None)
        source.paths, source.shown = [absolute(self.paths[i])], [self.shown[i]]
        source.name = self.shown[i]
        return source

    @property
    @abstractmethod
    def own(self) -> pa.Schema:
        """Names and types of the columns in the files; the files are checked to agree."""

    @abstractmethod
    def file_batches(self, columns: list[str], rows: int) -> Iterator[LocatedBatch]:
        """Yield columns of the files, in the order of the files."""

    @abstractmethod
    def size(self, columns: int) -> float:
        """About the bytes of this many columns in memory."""

    def is_written(self, name: str) -> bool:
        """Whether the texts of a column may be numbers, as in a text file, or are texts by type."""
        return name in self.texts

    @cached_property
    def arrow(self) -> pa.Schema:
        """Names and types of the columns: those in the files, then those of their folders."""
        schema = self.own
        for name in self.partitions.names:
            if name not in schema.names:  # a file that has the column itself is right
                type_ = self.partitions.type_of(name, text=name in self.texts)
                schema = schema.append(_field(name, type_))
        return schema

    def batches(self, columns: list[str], rows: int) -> Iterator[LocatedBatch]:
        """Yield batches in the order of the files."""
        import pyarrow as pa

        constant = [n for n in columns if n in self.partitions.names and n not in self.own.names]
        if not constant:
            yield from self.file_batches(columns, rows)
            return
        read = [name for name in columns if name not in constant]
        types = {name: self.arrow.field(name).type for name in constant}
        for located in self.file_batches(read or self.own.names[:1], rows):
            n, batch = located.batch.num_rows, located.batch
            arrays = self.partitions.arrays(constant, located.location, n, types)
            arrays |= {name: batch.column(name) for name in read}
            whole = pa.RecordBatch.from_arrays([arrays[c] for c in columns], names=columns)
            yield LocatedBatch(whole, located.location)


def _field(name: str, type_: pa.DataType) -> pa.Field:
    import pyarrow as pa

    return pa.field(name, type_)
