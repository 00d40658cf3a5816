"""CSV files as a stream of batches; types are inferred from the first block unless given.

Arrow infers types from the first block alone. Integers are read as floats from the start, so a
decimal point in a later block is no error; text among numbers is a :class:`Contradiction`, after
which the column is read as text from the start, or refused with its row.
"""

from __future__ import annotations

import csv
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any

from separatrix.messages import InputError
from separatrix.rows.notations.missing import SILENT
from separatrix.rows.notations.options import TextOptions
from separatrix.rows.schema import Kind
from separatrix.rows.sources.columns import Location, is_number
from separatrix.rows.sources.dialect import Dialect, dialect_of, not_a_table
from separatrix.rows.sources.file_source import FileSource
from separatrix.rows.sources.places.files import file_size, is_packed, is_plain, opened_bytes
from separatrix.rows.sources.places.partitions import Partitions
from separatrix.rows.sources.source import (
    Contradiction,
    LocatedBatch,
    refuse_difference,
    refuse_duplicates,
)

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_BYTES = 4 << 20
#: Text grows and shrinks when it becomes numbers; compressed text only grows.
GROWTH, PACKED_GROWTH = 2.0, 6.0

_CONVERSION = re.compile(
    r"In CSV column #(\d+): (?:Row #\d+: )?CSV conversion error to (?!string).*?: "
    r"invalid value '(.*)'"
)

#: Errors from reading a file that is not a text table.
READ_ERRORS = (csv.Error, StopIteration, EOFError, OSError, zlib.error, UnicodeDecodeError)


class CsvSource(FileSource):
    """One table in one or more files of delimited text.

    ``expected`` are names of columns that the caller mentioned: a line with one is a header.
    """

    by_file, of_this_process = ("dialects",), ("original",)
    original: CsvSource | None = None

    def __init__(
        self,
        paths: list[str],
        kinds: Mapping[str, Kind],
        names: list[str] | None = None,
        options: TextOptions | None = None,
        expected: Iterable[str] = (),
        partitions: Partitions | None = None,
    ) -> None:
        super().__init__(paths, names, partitions)
        self.kinds = dict(kinds)
        self.options = options or TextOptions()
        self.expected = frozenset(expected) | frozenset(self.kinds)

    def as_text(self, columns: Iterable[str]) -> CsvSource:
        """The same table with these columns as they are written."""
        source = copy(self)
        source.texts = self.texts | frozenset(columns)
        source.original = self  # a spooled file is removed with its first source
        for typed in ("own", "arrow"):
            source.__dict__.pop(typed, None)
        return source

    def is_written(self, name: str) -> bool:  # noqa: ARG002
        """Nothing in a text file is text by type."""
        return True

    def size(self, columns: int) -> float:  # noqa: ARG002
        """About the bytes of the table in memory, judged by the files."""
        growth = ((p, PACKED_GROWTH if is_packed(p) else GROWTH) for p in self.paths)
        return sum(file_size(path) * factor for path, factor in growth)

    @cached_property
    def dialects(self) -> tuple[Dialect, ...]:
        """The layout of every file."""
        pairs = zip(self.paths, self.shown, strict=True)
        return tuple(dialect_of(p, shown, self.options, self.expected) for p, shown in pairs)

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """What was recognized about the layout of the files."""
        return tuple(dict.fromkeys(note for d in self.dialects for note in d.notes))

    @property
    def delimiter(self) -> str:  # type: ignore[override]
        """The separator of values in the first file."""
        return self.dialects[0].delimiter

    @property
    def has_header(self) -> bool:  # type: ignore[override]
        """Whether the first file names its columns."""
        return self.dialects[0].has_header

    @cached_property
    def inferred(self) -> pa.Schema:
        """Names of the columns, and the types of the first block."""
        import pyarrow as pa

        first = list(self.dialects[0].columns)
        for dialect, shown in zip(self.dialects, self.shown, strict=True):
            refuse_duplicates(list(dialect.columns), shown)
            refuse_difference(first, self.shown[0], list(dialect.columns), shown)
        with self._opened(0, {}, first) as reader:
            return pa.schema(list(reader.schema))

    @cached_property
    def own(self) -> pa.Schema:  # type: ignore[override]
        """Names of the columns, and the types that they are read as in every file."""
        import pyarrow as pa

        return pa.schema([(f.name, self._type(f.name, f.type)) for f in self.inferred])

    def file_batches(self, columns: list[str], rows: int) -> Iterator[LocatedBatch]:
        """Yield batches in the order of the files."""
        import pyarrow as pa

        types = {name: self.own.field(name).type for name in columns}
        for i, shown in enumerate(self.shown):
            start = 0
            try:
                with self._opened(i, types, columns) as reader:
                    for batch in reader:
                        for offset in range(0, batch.num_rows, rows):
                            yield LocatedBatch(
                                batch.slice(offset, rows), Location(shown, start + offset)
                            )
                        start += batch.num_rows
            except (pa.ArrowInvalid, pa.ArrowKeyError, OSError) as reason:
                raise self._explained(i, types, reason) from reason

    def _type(self, name: str, type_: pa.DataType) -> pa.DataType:
        """The type that a column is read as: by its given kind, else by the first block."""
        import pyarrow as pa

        if name in self.texts:
            return pa.string()
        if self.kinds.get(name) is Kind.DISCRETE:  # text: leading zeros are part of the level
            return type_ if pa.types.is_boolean(type_) else pa.string()
        if is_number(type_) or pa.types.is_null(type_):
            return pa.float64()
        return pa.string() if pa.types.is_binary(type_) else type_

    def _opened(self, i: int, types: dict[str, Any], columns: list[str]) -> Any:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        dialect, na = self.dialects[i], self.options.na
        convert = arrow_csv.ConvertOptions(
            column_types=types,
            include_columns=columns,
            strings_can_be_null=True,
            null_values=sorted(SILENT) if na is None else sorted({"", *na}),
        )
        names = None if dialect.names is None else list(dialect.names)
        reading = arrow_csv.ReadOptions(
            block_size=BLOCK_BYTES,
            encoding="utf8" if dialect.encoding == "utf-8" else dialect.encoding,
            skip_rows=dialect.skip,
            column_names=names,
        )
        parsing = arrow_csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True)
        try:
            path = self.paths[i]
            file = path if is_plain(path) else opened_bytes(path)
            return arrow_csv.open_csv(file, reading, parsing, convert)
        except (pa.ArrowInvalid, pa.ArrowKeyError, OSError, UnicodeError) as reason:
            raise self._explained(i, types, reason) from reason

    def _explained(self, i: int, types: dict[str, Any], reason: Exception) -> InputError:
        from separatrix.rows.sources.csv_errors import explain, first_unreadable

        found = _CONVERSION.search(str(reason))
        column = self.dialects[i].columns[int(found[1])] if found else None
        try:
            if found and column is not None and column in types:
                problem = first_unreadable(self, i, column, types[column], found[2])
                if problem is not None:
                    return Contradiction.of(problem)
            return explain(self.paths[i], self.shown[i], self.dialects[i], reason)
        except READ_ERRORS as damage:  # the search for the error cannot read the file either
            return not_a_table(self.shown[i], damage)
