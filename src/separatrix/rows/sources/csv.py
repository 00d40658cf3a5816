"""CSV files as a stream of batches; types are inferred from the first block unless given.

Arrow infers types from the first block alone. Integers are read as floats from the start, so a
decimal point in a later block is not an error; text among numbers is a :class:`Contradiction`,
after which the column is read as text from the start, or refused with its row.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.notations import AMONG_NUMBERS, DELIMITERS, SILENT, TextOptions
from separatrix.rows.schema import Kind
from separatrix.rows.sources import places
from separatrix.rows.sources.columns import Location, is_number, text_in_numbers
from separatrix.rows.sources.source import (
    Contradiction,
    FileSource,
    LocatedBatch,
    refuse_difference,
    refuse_duplicates,
)

if TYPE_CHECKING:
    import pyarrow as pa


BLOCK_BYTES = 4 << 20

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
    #: The part of its one file that is read; None for all of every file.
    span: TextSpan | None = None

    def __init__(
        self,
        paths: list[str],
        kinds: Mapping[str, Kind],
        names: list[str] | None = None,
        options: TextOptions | None = None,
        expected: Iterable[str] = (),
        partitions: places.Partitions | None = None,
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
        # Text grows and shrinks when it becomes numbers; compressed text only grows.
        growth = ((p, 6.0 if places.is_packed(p) else 2.0) for p in self.paths)
        return sum(places.file_size(path) * factor for path, factor in growth)

    @cached_property
    def dialects(self) -> tuple[CSVDialect, ...]:
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
            start = 0 if self.span is None else self.span.records
            try:
                with self._opened(i, types, columns) as reader:
                    for batch in reader:
                        for offset in range(0, batch.num_rows, rows):
                            yield LocatedBatch(
                                batch.slice(offset, rows), Location(shown, start + offset)
                            )
                        start += batch.num_rows
            except (pa.ArrowInvalid, pa.ArrowKeyError, OSError) as reason:
                raise self._explain(i, types, reason) from reason

    def cut(self, least: int) -> list[CsvSource]:
        """Parts of its one file, each of at least so many bytes; the file itself if there is one.

        They begin with a record: ends of lines within quotes are none of the table.
        """
        path, dialect = self.paths[0], self.dialects[0]
        wide = dialect.encoding.startswith("utf-16")
        if self.span or wide or not places.is_plain(path) or places.file_size(path) < 2 * least:
            return [self]
        spans, sources = find_spans(path, dialect, least), []
        for span in spans:
            part = copy(self)
            part.span = span
            sources.append(part)
        return sources

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
        names, skip, span = dialect.names, dialect.skip, self.span
        if span is not None and span.begin:
            names, skip = dialect.columns, 0
        reading = arrow_csv.ReadOptions(
            block_size=BLOCK_BYTES,
            encoding="utf8" if dialect.encoding == "utf-8" else dialect.encoding,
            skip_rows=skip,
            column_names=None if names is None else list(names),
        )
        parsing = arrow_csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True)
        try:
            path = self.paths[i]
            file: Any = path if places.is_plain(path) else places.opened_bytes(path)
            if span is not None:
                file = pa.PythonFile(SpanOfFile(path, span), mode="r")
            return arrow_csv.open_csv(file, reading, parsing, convert)
        except (pa.ArrowInvalid, pa.ArrowKeyError, OSError, UnicodeError) as reason:
            raise self._explain(i, types, reason) from reason

    def _explain(self, i: int, types: dict[str, Any], reason: Exception) -> InputError:

        match = _CONVERSION.search(str(reason))
        column = self.dialects[i].columns[int(match[1])] if match else None
        try:
            if match and column is not None and column in types:
                problem = first_unreadable(self, i, column, types[column], match[2])
                if problem is not None:
                    return Contradiction.of(problem)
            return explain(self.paths[i], self.shown[i], self.dialects[i], reason)
        except READ_ERRORS as damage:  # the search for the error cannot read the file either
            return not_a_table(self.shown[i], damage)


# -------------------------------------------------------------------------------------------------
# Parts of one large file, cut at ends of records, for machines that read it together.


@dataclass(frozen=True)
class TextSpan:
    """Bytes ``begin`` to ``end`` of a file, before which there are so many records of the table."""

    begin: int
    end: int
    records: int


class SpanOfFile(io.RawIOBase):
    """A span of a local file as a file of its own."""

    def __init__(self, path: str, span: TextSpan) -> None:
        super().__init__()
        self._file, self._left = Path(path).open("rb"), span.end - span.begin  # noqa: SIM115
        self._file.seek(span.begin)

    def readable(self) -> bool:
        """It is."""
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes of the span."""
        some = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(some)
        return some

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def find_spans(path: str, dialect: CSVDialect, least: int) -> list[TextSpan]:
    """Where a file can be cut, in one reading of its bytes."""
    from separatrix.rows.loops import find_records

    state = np.array([0, 0, 0, 0, 1], dtype=np.int64)
    cuts, counts = np.empty((2, 64), dtype=np.int64)
    delimiter, begins = ord(dialect.delimiter), [(0, 0)]
    header = int(dialect.names is None)
    with Path(path).open("rb") as file:
        skipped = sum(len(file.readline()) for _ in range(dialect.skip))
        state[1] = state[3] = skipped
        while chunk := file.read(min(16 << 20, 32 * least)):
            text = np.frombuffer(chunk, dtype=np.uint8)
            found = find_records(text, delimiter, state, least, cuts, counts)
            pairs = zip(cuts[:found].tolist(), counts[:found].tolist(), strict=True)
            begins += [(cut, count - header) for cut, count in pairs if count > header]
        size = file.tell()
    begins = [(begin, records) for begin, records in begins if begin < size]
    ends = [begin for begin, _ in begins[1:]] + [size]
    return [TextSpan(b, e, records) for (b, records), e in zip(begins, ends, strict=True)]


# -------------------------------------------------------------------------------------------------
# Diagnosis of a CSV file that cannot be parsed: a second, slower pass finds row and value.


def explain(path: str, shown: str, dialect: CSVDialect, reason: Exception) -> InputError:
    """The first row that is ragged or is not in the encoding of the file."""
    return (
        _undecodable(path, shown, dialect)
        or _explain_ragged(path, shown, dialect)
        or InputError(
            f"cannot be read as CSV ({str(reason).splitlines()[0]}).",
            file=shown,
            remedy="Check the header line and the separators.",
        )
    )


def first_unreadable(
    source: CsvSource, i: int, column: str, type_: Any, value: str
) -> InputError | None:
    """The first value of a column, of one file, that is not of the type it was taken for.

    ``value`` is the one that the parser gave up at.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = source.as_text([column])
    plain.paths, plain.shown = source.paths[i : i + 1], source.shown[i : i + 1]
    plain.__dict__["dialects"] = source.dialects[i : i + 1]
    for located in plain.batches([column], 65_536):
        texts = located.batch[column]
        if not is_number(type_):  # only numbers are cast as the parser reads them
            row = pc.index(pc.utf8_trim_whitespace(texts), value.strip()).as_py()
            if row >= 0:
                return _refusal(value, column, located.location, row, type_)
            continue
        try:
            texts.cast(type_)
        except pa.ArrowInvalid:
            for row, text in enumerate(texts.to_pylist()):
                if text is not None and not _is(text.strip(), type_):
                    return _refusal(text, column, located.location, row, type_)
    return None


def _is(text: str, type_: Any) -> bool:
    import pyarrow as pa

    try:
        pa.scalar(text).cast(type_)
    except pa.ArrowInvalid:
        return False
    return True


def _refusal(text: str, column: str, location: Location, row: int, type_: Any) -> InputError:
    if is_number(type_):
        return text_in_numbers(text, column, location.file, location.row(row))
    return location.error(
        f"{text!r} is not of the type that the column began with ({type_}).",
        row,
        column,
        f"Correct the value, or read the column as levels with kinds={{{column!r}: 'discrete'}}.",
    )


def _undecodable(path: str, shown: str, dialect: CSVDialect) -> InputError | None:
    if dialect.encoding.startswith("utf-16"):
        return None
    before = 0
    longest_line = 16 << 20  # longest line that is looked into, in bytes; the parser takes less
    with places.opened_bytes(path) as file:
        while line := file.readline(longest_line):
            if len(line) == longest_line:
                return InputError(
                    f"has a line of more than {longest_line >> 20} MB.",
                    file=shown,
                    remedy="Check the ends of lines, and quotes that are not closed.",
                )
            try:
                line.decode(dialect.encoding)
            except UnicodeDecodeError as fault:
                text = line[: fault.start].decode(dialect.encoding)
                at = len(next(csv.reader([text], delimiter=dialect.delimiter), [""])) - 1
                names = dialect.columns
                row = _row_at(path, dialect, before)
                name = dialect.encoding.upper()
                return InputError(
                    f"byte {before + fault.start + 1} of the file is not {name} text.",
                    file=shown,
                    row=row or None,
                    column=names[at] if row and 0 <= at < len(names) else None,
                    remedy="Save the file as UTF-8, or give its `encoding`.",
                )
            before += len(line)
    return None


def _row_at(path: str, dialect: CSVDialect, stop: int) -> int:
    """Number of the data row that begins at byte ``stop``, counting the first one as 1."""

    def lines() -> Iterator[str]:
        with places.opened_bytes(path) as file:
            read = sum(len(file.readline()) for _ in range(dialect.skip))
            while read < stop:
                line = file.readline()
                read += len(line)
                yield line.decode(dialect.encoding)

    value = sum(1 for record in csv.reader(lines(), delimiter=dialect.delimiter) if record)
    return value + (dialect.names is not None)


def _records(path: str, dialect: CSVDialect) -> Iterator[list[str]]:
    """Header and data records; blank lines are skipped, as Arrow does."""
    encoding = "utf-8-sig" if dialect.encoding == "utf-8" else dialect.encoding
    with places.opened_bytes(path) as raw:
        text = io.TextIOWrapper(raw, encoding=encoding, errors="replace", newline="")
        for _ in range(dialect.skip):
            text.readline()
        for record in csv.reader(text, delimiter=dialect.delimiter):
            if record:
                yield record


def _explain_ragged(path: str, shown: str, dialect: CSVDialect) -> InputError | None:
    records = _records(path, dialect)
    if dialect.names is None:
        next(records)
    width = len(dialect.columns)
    named = "the header names" if dialect.has_header else "the first line has"
    for row, record in enumerate(records, start=1):
        if len(record) != width:
            return InputError(
                f"has {len(record)} values where {named} {width} columns.",
                file=shown,
                row=row,
                remedy="Add or remove values, or quote those that contain the separator.",
            )
    return None


# -------------------------------------------------------------------------------------------------
# The layout of a text file: encoding, lines before the table, separator, header.
#
# Encodings are checked over the whole file, the rest is decided from its first lines.


#: Bytes from which the layout is decided, and lines of them.
HEAD_BYTES, HEAD_LINES = 1 << 18, 200
_COMMENT = re.compile(r"\s*(#|//|%)")
_VALUE = re.compile(r"^[(+-]?\s*[$€£¥]?\s*[-+]?[\d.,' ]*\d[\d.,' ]*([eE][+-]?\d+)?\s*[%$€£¥]?\)?$")
_DATE = re.compile(r"^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ]\S+)*$")
_NA = AMONG_NUMBERS | SILENT


@dataclass(frozen=True)
class CSVDialect:
    """How one file is laid out; ``names`` are given where no header line has them."""

    encoding: str
    delimiter: str
    skip: int
    columns: tuple[str, ...]
    names: tuple[str, ...] | None
    notes: tuple[str, ...] = ()

    @property
    def has_header(self) -> bool:
        """Whether the columns are named in the file."""
        return self.names is None or self.names[:1] != (column_name(0),)


def column_name(position: int) -> str:
    """The name of a column without one."""
    return f"column_{position + 1}"


def not_a_table(shown: str, reason: BaseException) -> InputError:
    """The refusal of a file that is not a text table, or is truncated."""
    detail = str(reason).splitlines()[0].rstrip(".") if str(reason) else type(reason).__name__
    return InputError(
        f"cannot be read as a text table ({detail}).",
        file=shown,
        remedy="Save it as CSV with a header line and \\n or \\r\\n at the end of lines.",
    )


def dialect_of(path: str, shown: str, options: TextOptions, expected: frozenset[str]) -> CSVDialect:
    """The layout of a file; ``expected`` are names of columns that the caller mentioned."""
    with places.opened_bytes(path) as file:
        head = file.read(HEAD_BYTES)
    if options.encoding is None:
        _refuse_binary(head, shown)
    encoding = options.encoding or _encoding(path, head)
    notes = []
    if options.encoding is None and not encoding.startswith("utf-8"):
        name = {"cp1252": "Windows-1252"}.get(encoding, encoding.upper())
        notes.append(f"The file is not UTF-8: read as {name} (override: `encoding`).")
    lines = _lines(head, encoding, shown)
    skip, separator, comments = _before(lines)
    if comments:
        s = "" if comments == 1 else "s"
        notes.append(f"{comments} comment line{s} before the table skipped.")
    body = lines[skip : skip + HEAD_LINES]
    if not body or not "".join(body).strip():
        raise InputError(
            "The file is empty.", file=shown, remedy="Give a table with a header and some rows."
        )
    try:
        delimiter = options.delimiter or separator or _delimiter(body)
        return _with_names(lines, skip, delimiter, encoding, options, expected, notes)
    except csv.Error as reason:
        raise not_a_table(shown, reason) from reason


def _with_names(
    lines: list[str],
    skip: int,
    delimiter: str,
    encoding: str,
    options: TextOptions,
    expected: frozenset[str],
    notes: list[str],
) -> CSVDialect:
    records = _count_records(lines[skip : skip + HEAD_LINES], delimiter)
    first, rest = records[0], records[1:]
    header = options.header
    if header is None:
        commented = _commented_header(lines[:skip], first, delimiter)
        if commented is not None and not expected & set(first):
            notes.append("The names of the columns are those in the last comment line.")
            return CSVDialect(encoding, delimiter, skip, commented, commented, tuple(notes))
        header = has_header(first, rest, expected)
    if header:
        names = tuple(name.strip() for name in first)
        if names != tuple(first):  # "x, y": the spaces are not a part of the names
            height = 1 + sum(name.count("\n") for name in first)  # lines of the header
            return CSVDialect(encoding, delimiter, skip + height, names, names, tuple(notes))
        return CSVDialect(encoding, delimiter, skip, names, None, tuple(notes))
    names = tuple(column_name(j) for j in range(len(first)))
    if options.header is None:
        notes.append(
            f"The first line holds values, no names: columns are called {names[0]} to {names[-1]} "
            "(override: `header=True`)."
        )
    return CSVDialect(encoding, delimiter, skip, names, names, tuple(notes))


# -- encoding --------------------------------------------------------------------------------------


#: First bytes of files that are no text, and what they are.
_BINARY = {
    b"PK\3\4": "a zip archive or a workbook (.zip, .xlsx)",
    b"PK\5\6": "an empty zip archive",
    b"\x1f\x8b": "compressed by gzip (.gz)",
    b"BZh": "compressed by bzip2 (.bz2)",
    b"\xfd7zXZ\0": "compressed by xz (.xz)",
    b"\x28\xb5\x2f\xfd": "compressed by zstd (.zst)",
    b"PAR1": "a Parquet file (.parquet)",
    b"ARROW1": "an Arrow file (.arrow)",
    b"SQLite format 3\0": "a database of SQLite (.sqlite)",
    b"\xd0\xcf\x11\xe0": "a workbook of old Excel (.xls)",
    b"%PDF-": "a PDF document",
    b"\x89PNG": "a picture",
}
#: Bytes that text has no use for: control characters without tab, ends of lines and of files.
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\v\f\r\x1a\x1b"))


def _refuse_binary(head: bytes, shown: str) -> None:
    """Refuse a file whose first bytes are those of another format, or of no text."""
    kind = next((what for magic, what in _BINARY.items() if head.startswith(magic)), "")
    zeros = b"\0" in head[:4096] and _of_two_bytes(head) is None
    controls = len(head) - len(head.translate(None, _CONTROLS))
    # one damaged byte is reported by its row; an eighth of random bytes are control characters
    if not kind and not zeros and (controls <= len(head) / 50 or _of_two_bytes(head)):
        return
    remedy = "Save it as CSV, or give it the ending of its format."
    raise InputError(f"is not a text table: it is {kind or 'binary'}.", file=shown, remedy=remedy)


def _of_two_bytes(head: bytes) -> str | None:
    """UTF-16, by its mark or because every other byte is zero; None for other encodings."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\x00" in head[:4096]:
        even, odd = head[0:4096:2].count(0), head[1:4096:2].count(0)
        if max(even, odd) > len(head[:4096]) // 8 and min(even, odd) * 8 < max(even, odd):
            return "utf-16-le" if odd > even else "utf-16-be"
    return None


def _encoding(path: str, head: bytes) -> str:
    wide = _of_two_bytes(head)
    if wide is not None:
        return wide
    valid, invalid, controls = _beyond_ascii(path, head)
    if invalid <= valid:  # UTF-8, perhaps with damage, which is reported by its row
        return "utf-8"
    return "iso8859-1" if controls else "cp1252"


def _beyond_ascii(path: str, head: bytes) -> tuple[int, int, bool]:
    """Characters of UTF-8, bytes that are not, and whether some are not of Windows-1252."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    valid, invalid, controls = 0, 0, False
    cut = False  # whether a character may continue in the next chunk
    for chunk in places.chunks(path) if places.is_plain(path) else [head]:
        if chunk.isascii() and not cut:
            continue
        text = decoder.decode(chunk)
        bad = text.count("\ufffd")
        invalid += bad
        valid += len(re.findall(r"[^\x00-\x7f]", text)) - bad
        controls |= any(byte in chunk for byte in (b"\x81", b"\x8d", b"\x8f", b"\x90", b"\x9d"))
        cut = bool(decoder.getstate()[0])
    return valid, invalid, controls


def _lines(head: bytes, encoding: str, shown: str) -> list[str]:
    """The first lines; the last one, which may be cut, is left out of many."""
    try:
        text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(head)
    except (UnicodeError, TypeError) as reason:
        raise not_a_table(shown, reason) from reason
    lines = list(io.StringIO(text.removeprefix("\ufeff"), newline=None))
    if len(head) == HEAD_BYTES and len(lines) > 1:
        lines.pop()
    return [line.rstrip("\r\n") for line in lines]


# -- lines before the table ------------------------------------------------------------------------


def _before(lines: list[str]) -> tuple[int, str | None, int]:
    """Lines to skip, a separator named by ``sep=;``, and the number of comments among them."""
    skip, comments, separator = 0, 0, None
    for line in lines:
        named = re.fullmatch(r"sep=(.)", line.strip('\ufeff" '))
        if named and skip == 0:
            separator = named[1]
        elif _COMMENT.match(line):
            comments += 1
        elif line.strip():
            break
        skip += 1
    return skip, separator, comments


def _commented_header(
    before: list[str], first: list[str], delimiter: str
) -> tuple[str, ...] | None:
    """The names in the last comment, if they fit a table of values below it."""
    if not before or not _COMMENT.match(before[-1]):
        return None
    text = _COMMENT.sub("", before[-1], count=1)
    names = [name.strip() for name in next(csv.reader([text], delimiter=delimiter), [])]
    fits = len(names) == len(first) > 1 and all(names) and len(set(names)) == len(names)
    if not fits or any(is_value(name) for name in names) or not any(map(is_value, first)):
        return None
    return tuple(names)


# -- separator and header --------------------------------------------------------------------------


def _count_records(lines: list[str], delimiter: str) -> list[list[str]]:
    """The records of some lines; a name or value in quotes may break a line."""
    whole = (line + "\n" for line in lines)
    return [record for record in csv.reader(whole, delimiter=delimiter) if record]


def _delimiter(lines: list[str]) -> str:
    """The separator that cuts every line into equally many values; else that of the header."""
    best, most = "", 1
    for delimiter in DELIMITERS:
        try:
            widths = {len(record) for record in _count_records(lines[:50], delimiter)}
        except csv.Error:
            continue
        if len(widths) == 1 and max(widths) > most:
            best, most = delimiter, max(widths)
    return best or max(DELIMITERS, key=lines[0].count)


def is_value(text: str) -> bool:
    """Whether a text is a number or a date, not a name."""
    text = text.strip()
    return bool(_VALUE.match(text) or _DATE.match(text))


def has_header(first: list[str], rest: list[list[str]], expected: frozenset[str]) -> bool:
    """Whether the first record names columns: a column of numbers under a word shows it."""
    counted = [[str(j + k) for j in range(len(first))] for k in (0, 1)]
    if expected & set(first) or not rest or first in counted:
        return True
    named = valued = unlike = recurring = 0
    for j, cell in enumerate(first):
        below = [record[j].strip() for record in rest if j < len(record)]
        below = [text for text in below if text not in _NA]
        cell = cell.strip()
        if below and all(map(is_value, below)):
            named += not is_value(cell) and cell not in _NA
            valued += is_value(cell)
        else:
            distinct = set(below)
            recurring += cell in distinct
            unlike += cell not in distinct and 2 * len(distinct) <= len(below)
    if named or (valued and unlike and _increasing(first)):
        return True
    if valued:
        return False
    return 3 * recurring < 2 * len(first) or len(first) < 2 or len(rest) < 5


def _increasing(cells: list[str]) -> bool:
    """Whether the numbers among cells increase, as wavelengths and years in a header do."""
    numbers = [float(cell) for cell in cells if re.fullmatch(r"\d+\.?\d*", cell.strip())]
    return len(numbers) > 1 and all(a < b for a, b in pairwise(numbers))
