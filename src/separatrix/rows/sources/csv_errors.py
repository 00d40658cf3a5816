"""Diagnosis of a CSV file that cannot be parsed: a second, slower pass finds row and value."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from separatrix.messages import InputError
from separatrix.rows.sources.columns import is_number, text_in_numbers
from separatrix.rows.sources.csv import opened_bytes


def explain(
    path: str, shown: str, delimiter: str, types: dict[str, Any], reason: Exception
) -> InputError:
    """The first row that is ragged, is not UTF-8, or holds a value its column cannot hold."""
    return (
        _not_utf8(path, shown, delimiter)
        or _ragged(path, shown, delimiter)
        or _unreadable(path, shown, delimiter, types)
        or InputError(
            f"cannot be read as CSV ({str(reason).splitlines()[0]}).",
            file=shown,
            remedy="Check the header line and the separators.",
        )
    )


def _not_utf8(path: str, shown: str, delimiter: str) -> InputError | None:
    before = 0
    with opened_bytes(path) as file:
        for line in file:
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as fault:
                text = line[: fault.start].decode("utf-8")
                names = next(_records(path, delimiter))
                at = len(next(csv.reader([text], delimiter=delimiter), [""])) - 1
                return InputError(
                    f"byte {before + fault.start + 1} of the file is not UTF-8 text.",
                    file=shown,
                    row=_row_at(path, delimiter, before),
                    column=names[at] if 0 <= at < len(names) else None,
                    remedy="Save the file as UTF-8.",
                )
            before += len(line)
    return None


def _row_at(path: str, delimiter: str, stop: int) -> int:
    """Number of the data row that begins at byte ``stop``, counting the first one as 1."""

    def lines() -> Iterator[str]:
        read = 0
        with opened_bytes(path) as file:
            while read < stop:
                line = file.readline()
                read += len(line)
                yield line.decode("utf-8")

    return sum(1 for record in csv.reader(lines(), delimiter=delimiter) if record)


def _records(path: str, delimiter: str) -> Iterator[list[str]]:
    """Header and data records; blank lines are skipped, as Arrow does."""
    with opened_bytes(path) as raw:
        text = io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace", newline="")
        for record in csv.reader(text, delimiter=delimiter):
            if record:
                yield record


def _ragged(path: str, shown: str, delimiter: str) -> InputError | None:
    records = _records(path, delimiter)
    width = len(next(records))
    for row, record in enumerate(records, start=1):
        if len(record) != width:
            return InputError(
                f"has {len(record)} values where the header names {width} columns.",
                file=shown,
                row=row,
                remedy="Add or remove values, or quote those that contain the separator.",
            )
    return None


def _unreadable(path: str, shown: str, delimiter: str, types: dict[str, Any]) -> InputError | None:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    nulls = set(arrow_csv.ConvertOptions().null_values)
    records = _records(path, delimiter)
    names = next(records)
    checked = [(j, name, types[name]) for j, name in enumerate(names) if name in types]
    for row, record in enumerate(records, start=1):
        for j, name, type_ in checked:
            text = record[j].strip()
            if text in nulls or pa.types.is_string(type_):
                continue
            try:
                pa.array([text]).cast(type_)
            except pa.ArrowInvalid:
                if is_number(type_):
                    return text_in_numbers(record[j], name, shown, row)
                return InputError(
                    f"{record[j]!r} is not of the type that the column began with ({type_}).",
                    file=shown,
                    row=row,
                    column=name,
                    remedy="Correct the value, or read the column as levels with "
                    f"kinds={{{name!r}: 'discrete'}}.",
                )
    return None
