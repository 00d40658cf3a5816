"""What all files of tables have in common: several make one table, folders may name columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Self

from separatrix.rows.sources.places.files import absolute
from separatrix.rows.sources.places.partitions import Partitions
from separatrix.rows.sources.source import LocatedBatch

if TYPE_CHECKING:
    import pyarrow as pa


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
        one = copy(self)
        one.__dict__ |= {"own": self.own, "arrow": self.arrow}
        for name in self.by_file:
            one.__dict__[name] = getattr(self, name)[i : i + 1]
        for name in self.of_this_process:
            one.__dict__.pop(name, None)
        one.paths, one.shown = [absolute(self.paths[i])], [self.shown[i]]
        one.name = self.shown[i]
        return one

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
