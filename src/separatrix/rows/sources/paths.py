"""Paths, globs, folders, addresses, lists of them and standard input as sources of batches."""

from __future__ import annotations

import glob
import itertools
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path

from separatrix.messages import InputError, did_you_mean
from separatrix.rows.notations import TextOptions
from separatrix.rows.schema import Kind
from separatrix.rows.sources.csv import CsvSource
from separatrix.rows.sources.formats import ArrowSource, JsonLinesSource, ParquetSource
from separatrix.rows.sources.places import (
    ARCHIVES,
    PACKED,
    Partitions,
    chosen_member,
    is_plain,
    is_remote,
    join_place,
    layout_name,
    list_archive,
    local_path,
    members,
    missing_remote,
    partitions_of,
    split_place,
    stored_bytes,
)
from separatrix.rows.sources.postgres import check_address, is_postgres
from separatrix.rows.sources.source import FileSource
from separatrix.rows.sources.spooled import open_standard_input


def is_path(source: object) -> bool:
    """Whether the source names files."""
    if isinstance(source, (str, Path)):
        return True
    return (
        isinstance(source, (list, tuple))
        and bool(source)
        and all(isinstance(item, (str, Path)) for item in source)
    )


def open_paths(
    source: str | Path | Sequence[str | Path],
    kinds: Mapping[str, Kind],
    options: TextOptions | None = None,
    expected: Iterable[str] = (),
) -> FileSource:
    """The source behind a path, a glob, a list of either, or ``"-"`` (standard input, CSV).

    ``expected`` are names of columns that the caller mentioned.
    """
    if source == "-":
        return open_standard_input(kinds, options, expected)
    listed = [source] if isinstance(source, (str, Path)) else list(source)
    expected = frozenset(expected)
    found = [(place, root) for item in listed for place, root in _places(str(item))]
    places = [place for place, _ in found]
    formats = {format_of(place) for place in places}
    if len(formats) > 1:
        names = " and ".join(sorted(formats))
        raise InputError(
            f"{places[0]} and the other files are of different formats ({names}).",
            remedy="Give files of one format.",
        )
    texts = [name for name, kind in kinds.items() if kind is Kind.DISCRETE]
    partitions = partitions_of(places, [root for _, root in found], expected, texts)
    opened = source_of(formats.pop(), places, kinds, options, expected, partitions)
    opened.announced = _announce(places, [str(item) for item in listed])
    return opened


def _places(text: str) -> list[tuple[str, str]]:
    """Every table that a text names, with the folder below which it was found."""
    if is_postgres(text):
        return [(check_address(text), "")]
    file, inside = split_place(local_path(text))
    if is_remote(file):
        paths, root = _addresses(file)
    else:
        paths, root = _expand(file)
    return [(_within(path, inside), root) for path in paths]


def _within(path: str, inside: str | None) -> str:
    """The place of a table; in an archive with one file, that file."""
    if not path.lower().endswith(ARCHIVES):
        return join_place(path, inside)
    with stored_bytes(path) as raw:
        return join_place(path, chosen_member(members(raw, path), inside, path))


def _announce(places: list[str], typed: list[str]) -> tuple[str, ...]:
    """The members of archives that were taken without being named."""
    split = [split_place(place) for place in places]
    archives = [(f, inside) for f, inside in split if f.lower().endswith(ARCHIVES)]
    unnamed = [inside for f, inside in archives if join_place(f, inside) not in typed]
    return (f"The only file of the archive is read: {unnamed[0]!r}.",) if len(unnamed) == 1 else ()


def _expand(path: str) -> tuple[list[str], str]:
    """The files that a path names, and the folder that all of them are in."""
    full = Path(path).expanduser()
    if full.is_dir():
        paths = _in_folder(full)
        if not paths:
            raise InputError("The folder holds no table.", file=path, remedy=_KNOWN)
        return paths, str(full)
    if full.exists():
        return [str(full)], str(full.parent)
    if glob.has_magic(path):
        matches, root = _matches(full)
        if matches:
            return sorted(map(str, matches)), root
        raise InputError(f"No file matches {path!r}.", remedy="Check the folder and the pattern.")
    raise _not_found(path, full)


_KNOWN = "Give a folder with files such as rows.csv or year=2024/part.parquet."


def _in_folder(folder: Path) -> list[str]:
    """Tables in a folder, and in those below it that are named like ``year=2024``."""
    paths = [p for p in sorted(folder.iterdir()) if p.is_file() and is_known(p.name)]
    for below in sorted(folder.iterdir()):
        if below.is_dir() and "=" in below.name:
            paths += map(Path, _in_folder(below))
    return [str(path) for path in paths]


def _matches(pattern: Path) -> tuple[list[Path], str]:
    """Files that a pattern matches, below its first part without a wildcard."""
    fixed = list(itertools.takewhile(lambda part: not glob.has_magic(part), pattern.parts))
    rest = pattern.parts[len(fixed) :]
    return [p for p in Path(*fixed).glob(str(Path(*rest))) if p.is_file()], str(Path(*fixed))


def _addresses(address: str) -> tuple[list[str], str]:
    """The files that an address names in storage, and the folder that all of them are in."""
    pattern = glob.has_magic(address)
    addresses = list_archive(address, pattern=pattern)
    if addresses is None:
        return [address], address.rpartition("/")[0]
    tables = [name for name in addresses if is_known(name)]
    if not addresses or not tables:
        raise missing_remote(address)
    stem = address[: min(address.index(c) for c in "*?[" if c in address)] if pattern else address
    return tables, stem.rpartition("/")[0] if pattern else stem


def _not_found(path: str, full: Path) -> InputError:
    folder = full.parent
    names = [p.name for p in folder.iterdir() if is_known(p.name)] if folder.is_dir() else []
    remedy = did_you_mean(full.name, sorted(names)) if names else "Check the path."
    return InputError("There is no such file.", file=path, remedy=remedy)


# -------------------------------------------------------------------------------------------------
# Which format a file has, by its name, and the source that reads it.


TEXT, JSON, PARQUET, ARROW = "text", "JSON lines", "Parquet", "Arrow"
WORKBOOK, SQLITE, DUCKDB, POSTGRES = "workbook", "SQLite", "DuckDB", "PostgreSQL"

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
    if is_postgres(place):
        return POSTGRES
    file_format = _by_name(place)
    file, _ = split_place(place)
    if file_format is None:
        raise _unknown(place)
    packed = not is_plain(file) and file.lower().endswith((*PACKED, *ARCHIVES))
    if packed and file_format not in _STREAMS:
        raise InputError(
            f"{file_format} is not read from a compressed file: it is read here and there, not "
            "in order.",
            file=place,
            remedy="Unpack it first.",
        )
    if file_format not in (SQLITE, DUCKDB):
        return file_format
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
        from separatrix.rows.sources.workbooks import WorkbookSource

        return WorkbookSource(places, options, expected | frozenset(kinds), partitions)
    if format_ == SQLITE:
        from separatrix.rows.sources.databases import SqliteSource

        return SqliteSource(places, options, partitions)
    if format_ == POSTGRES:
        from separatrix.rows.sources.postgres import PostgresSource

        return PostgresSource(places, options, partitions)
    from separatrix.rows.sources.databases import DuckdbSource

    return DuckdbSource(places, options, partitions)
