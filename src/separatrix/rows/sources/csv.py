"""CSV files as a stream of batches; types are inferred from the first block unless given.

Arrow infers types from the first block alone. Integers are read as floats from the start, so a
decimal point in a later block is no error; text among numbers is refused with its row.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from separatrix.messages import InputError
from separatrix.rows.schema import Kind
from separatrix.rows.sources.columns import Location, is_number
from separatrix.rows.sources.source import LocatedBatch, refuse_difference, refuse_duplicates

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_BYTES = 4 << 20
_DELIMITERS = ",;\t|"


class CsvSource:
    """One table in one or more files of delimited text with a header line."""

    def __init__(
        self, paths: list[str], kinds: Mapping[str, Kind], names: list[str] | None = None
    ) -> None:
        self.paths = paths
        self.shown = names or paths
        self.kinds = dict(kinds)
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        self.name = f"{self.shown[0]}{more}"

    @cached_property
    def delimiter(self) -> str:
        """The separator that occurs most often in the header of the first file."""
        line = header_line(self.paths[0], self.shown[0])
        return max(_DELIMITERS, key=line.count)

    @cached_property
    def arrow(self) -> pa.Schema:
        """Names of the columns, and the types that they are read as in every file."""
        import pyarrow as pa

        first = self._names(self.paths[0], self.shown[0])
        for path, shown in zip(self.paths[1:], self.shown[1:], strict=True):
            refuse_difference(first, self.shown[0], self._names(path, shown), shown)
        with self._opened(self.paths[0], self.shown[0], {}, first) as reader:
            fields = list(reader.schema)
        return pa.schema([(f.name, self._type(f.name, f.type)) for f in fields])

    def batches(self, columns: list[str], rows: int) -> Iterator[LocatedBatch]:
        """Yield batches in the order of the files."""
        import pyarrow as pa

        types = {name: self.arrow.field(name).type for name in columns}
        for path, shown in zip(self.paths, self.shown, strict=True):
            start = 0
            try:
                with self._opened(path, shown, types, columns) as reader:
                    for batch in reader:
                        for offset in range(0, batch.num_rows, rows):
                            yield LocatedBatch(
                                batch.slice(offset, rows), Location(shown, start + offset)
                            )
                        start += batch.num_rows
            except (pa.ArrowInvalid, pa.ArrowKeyError, OSError) as reason:
                raise self._explained(path, shown, types, reason) from reason

    def _names(self, path: str, shown: str) -> list[str]:
        line = header_line(path, shown)
        try:
            names = next(csv.reader([line], delimiter=self.delimiter), [])
        except csv.Error as reason:
            raise not_a_table(shown, reason) from reason
        refuse_duplicates(names, shown)
        return names

    def _type(self, name: str, type_: pa.DataType) -> pa.DataType:
        """The type that a column is read as: by its given kind, else by the first block."""
        import pyarrow as pa

        kind = self.kinds.get(name)
        if kind is Kind.DISCRETE:  # text, so that leading zeros are part of the level
            return type_ if pa.types.is_boolean(type_) else pa.string()
        if is_number(type_) or pa.types.is_null(type_):
            return pa.float64()
        if kind is Kind.NUMERIC and pa.types.is_string(type_):
            return pa.float64()
        return pa.string() if pa.types.is_binary(type_) else type_

    def _opened(self, path: str, shown: str, types: dict[str, Any], columns: list[str]) -> Any:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        convert = arrow_csv.ConvertOptions(
            column_types=types, include_columns=columns, strings_can_be_null=True
        )
        try:
            return arrow_csv.open_csv(
                path,
                arrow_csv.ReadOptions(block_size=BLOCK_BYTES),
                arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
                convert,
            )
        except (pa.ArrowInvalid, pa.ArrowKeyError, OSError) as reason:
            raise self._explained(path, shown, types, reason) from reason

    def _explained(
        self, path: str, shown: str, types: dict[str, Any], reason: Exception
    ) -> InputError:
        from separatrix.rows.sources.csv_errors import explain

        try:
            return explain(path, shown, self.delimiter, types, reason)
        except READ_ERRORS as damage:  # the search for the error cannot read the file either
            return not_a_table(shown, damage)


#: Errors from reading a file that is not a text table.
READ_ERRORS = (csv.Error, StopIteration, EOFError, OSError, zlib.error, UnicodeDecodeError)


def not_a_table(shown: str, reason: BaseException) -> InputError:
    """The refusal of a file that is not a text table, or is truncated."""
    detail = str(reason).splitlines()[0].rstrip(".") if str(reason) else type(reason).__name__
    return InputError(
        f"cannot be read as a text table ({detail}).",
        file=shown,
        remedy="Save it as CSV with a header line and \\n or \\r\\n at the end of lines.",
    )


def opened_bytes(path: str) -> IO[bytes]:
    """The bytes of a file, decompressed where its name ends in .gz."""
    return gzip.open(path, "rb") if path.endswith(".gz") else Path(path).open("rb")  # type: ignore[return-value]


def header_line(path: str, shown: str) -> str:
    """The first line of a text file."""
    try:
        with opened_bytes(path) as file:
            line = file.readline().removeprefix(b"\xef\xbb\xbf")
    except (EOFError, zlib.error, gzip.BadGzipFile) as reason:
        raise not_a_table(shown, reason) from reason
    if not line.strip():
        raise InputError(
            "The file is empty.", file=shown, remedy="Give a table with a header and some rows."
        )
    try:
        return line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as fault:
        raise InputError(
            f"the header is not UTF-8 (byte {fault.start + 1} of the line).",
            file=shown,
            remedy="Save the file as UTF-8.",
        ) from None
