"""Diagnosis of a CSV file that cannot be parsed: a second, slower pass finds row and value."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from separatrix.messages import InputError
from separatrix.rows.sources.columns import Location, is_number, text_in_numbers
from separatrix.rows.sources.dialect import Dialect
from separatrix.rows.sources.places.files import opened_bytes

if TYPE_CHECKING:
    from separatrix.rows.sources.csv import CsvSource

#: Longest line that is looked into, in bytes; the parser takes less.
_LONGEST_LINE = 16 << 20


def explain(path: str, shown: str, dialect: Dialect, reason: Exception) -> InputError:
    """The first row that is ragged or is not in the encoding of the file."""
    return (
        _undecodable(path, shown, dialect)
        or _ragged(path, shown, dialect)
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


def _undecodable(path: str, shown: str, dialect: Dialect) -> InputError | None:
    if dialect.encoding.startswith("utf-16"):
        return None
    before = 0
    with opened_bytes(path) as file:
        while line := file.readline(_LONGEST_LINE):
            if len(line) == _LONGEST_LINE:
                return InputError(
                    f"has a line of more than {_LONGEST_LINE >> 20} MB.",
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


def _row_at(path: str, dialect: Dialect, stop: int) -> int:
    """Number of the data row that begins at byte ``stop``, counting the first one as 1."""

    def lines() -> Iterator[str]:
        with opened_bytes(path) as file:
            read = sum(len(file.readline()) for _ in range(dialect.skip))
            while read < stop:
                line = file.readline()
                read += len(line)
                yield line.decode(dialect.encoding)

    found = sum(1 for record in csv.reader(lines(), delimiter=dialect.delimiter) if record)
    return found + (dialect.names is not None)


def _records(path: str, dialect: Dialect) -> Iterator[list[str]]:
    """Header and data records; blank lines are skipped, as Arrow does."""
    encoding = "utf-8-sig" if dialect.encoding == "utf-8" else dialect.encoding
    with opened_bytes(path) as raw:
        text = io.TextIOWrapper(raw, encoding=encoding, errors="replace", newline="")
        for _ in range(dialect.skip):
            text.readline()
        for record in csv.reader(text, delimiter=dialect.delimiter):
            if record:
                yield record


def _ragged(path: str, shown: str, dialect: Dialect) -> InputError | None:
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
