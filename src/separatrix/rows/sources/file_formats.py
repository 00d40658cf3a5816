"""Which format a file has, by its name, and the source that reads it."""

from __future__ import annotations

from collections.abc import Mapping, Set
from pathlib import Path

from separatrix.messages import InputError
from separatrix.rows.notations.options import TextOptions
from separatrix.rows.schema import Kind
from separatrix.rows.sources.csv import CsvSource
from separatrix.rows.sources.file_source import FileSource
from separatrix.rows.sources.formats.arrow_ipc import ArrowSource
from separatrix.rows.sources.formats.json_lines import JsonLinesSource
from separatrix.rows.sources.parquet import ParquetSource
from separatrix.rows.sources.places.compression import PACKED
from separatrix.rows.sources.places.files import ARCHIVES, is_plain, layout_name, split_place
from separatrix.rows.sources.places.partitions import Partitions
from separatrix.rows.sources.places.remote import is_remote

TEXT, JSON, PARQUET, ARROW = "text", "JSON lines", "Parquet", "Arrow"
WORKBOOK, SQLITE, DUCKDB = "workbook", "SQLite", "DuckDB"

#: File formats by the end of the name.
ENDS = {
    TEXT: (".csv", ".tsv", ".txt"),
    JSON: (".jsonl", ".ndjson"),
    PARQUET: (".parquet", ".pq"),
    ARROW: (".arrow", ".feather", ".ipc", ".arrows"),
    WORKBOOK: (".xlsx", ".xlsm", ".xls", ".ods"),
    SQLITE: (".sqlite", ".sqlite3", ".db3", ".db"),
    DUCKDB: (".duckdb", ".ddb"),
}
#: Formats that may be compressed as a whole.
_STREAMS = (TEXT, JSON)
#: First bytes of databases, and where they are.
_MAGIC = ((b"SQLite format 3\0", 0, SQLITE), (b"DUCK", 8, DUCKDB))


def is_known(name: str) -> bool:
    """Whether the name of a file tells a format of tables."""
    return _by_name(name) is not None or name.lower().endswith(ARCHIVES)


def _by_name(place: str) -> str | None:
    name = layout_name(place)
    return next((format_ for format_, ends in ENDS.items() if name.endswith(ends)), None)


def format_of(place: str) -> str:
    """The format of a table; that of a database by its first bytes."""
    found = _by_name(place)
    file, _ = split_place(place)
    if found is None:
        raise _unknown(place)
    packed = not is_plain(file) and file.lower().endswith((*PACKED, *ARCHIVES))
    if packed and found not in _STREAMS:
        raise InputError(
            f"{found} is not read from a compressed file: it is read here and there, not in order.",
            file=place,
            remedy="Unpack it first.",
        )
    if found not in (SQLITE, DUCKDB):
        return found
    if is_remote(file):
        raise InputError(
            "databases are read from local files only.", file=place, remedy="Download it first."
        )
    with Path(file).open("rb") as raw:
        head = raw.read(32)
    for magic, at, format_ in _MAGIC:
        if head[at : at + len(magic)] == magic:
            return format_
    raise InputError(
        "is not a database of SQLite or DuckDB.", file=file, remedy="Check the name of the file."
    )


def _unknown(place: str) -> InputError:
    name = layout_name(place)
    if name.endswith(".json"):
        remedy = "Write it as JSON lines: jq -c '.[]' table.json > table.jsonl."
    else:
        ends = ", ".join(end for some in ENDS.values() for end in some)
        packed = ", ".join((*PACKED, *ARCHIVES))
        remedy = f"Tables are read from names that end in {ends}; text also with {packed}."
    return InputError(
        "The format of the file is not known from its name.", file=place, remedy=remedy
    )


def source_of(
    format_: str,
    places: list[str],
    kinds: Mapping[str, Kind],
    options: TextOptions | None,
    expected: Set[str],
    partitions: Partitions,
) -> FileSource:
    """The source that reads files of a format; libraries are loaded where they are needed."""
    if format_ == TEXT:
        return CsvSource(places, kinds, None, options, expected, partitions)
    if format_ == JSON:
        return JsonLinesSource(places, options, partitions)
    if format_ == PARQUET:
        return ParquetSource(places, None, partitions)
    if format_ == ARROW:
        return ArrowSource(places, None, partitions)
    if format_ == WORKBOOK:
        from separatrix.rows.sources.formats.workbooks import WorkbookSource

        return WorkbookSource(places, options, expected | frozenset(kinds), partitions)
    if format_ == SQLITE:
        from separatrix.rows.sources.databases.sqlite import SqliteSource

        return SqliteSource(places, options, partitions)
    from separatrix.rows.sources.databases.duckdb import DuckdbSource

    return DuckdbSource(places, options, partitions)
