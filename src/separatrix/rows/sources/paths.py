"""Paths, globs, folders, addresses, lists of them and standard input as sources of batches."""

from __future__ import annotations

import glob
import itertools
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from separatrix.messages import InputError, did_you_mean
from separatrix.rows.notations.options import TextOptions
from separatrix.rows.schema import Kind
from separatrix.rows.sources.csv import CsvSource
from separatrix.rows.sources.file_formats import format_of, is_known, source_of
from separatrix.rows.sources.file_source import FileSource
from separatrix.rows.sources.places.archives import chosen_member, members
from separatrix.rows.sources.places.files import ARCHIVES, join_place, split_place, stored_bytes
from separatrix.rows.sources.places.partitions import partitions_of
from separatrix.rows.sources.places.remote import is_remote, listed, local_path, missing_remote
from separatrix.temporary import locked, remove_leftovers, temporary


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
        return _standard_input(kinds, options, expected)
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
    opened.announced = _announced(places, [str(item) for item in listed])
    return opened


def _places(text: str) -> list[tuple[str, str]]:
    """Every table that a text names, with the folder below which it was found."""
    file, inside = split_place(local_path(text))
    if is_remote(file):
        paths, root = _addresses(file)
    else:
        paths, root = _expanded(file)
    return [(_within(path, inside), root) for path in paths]


def _within(path: str, inside: str | None) -> str:
    """The place of a table; in an archive with one file, that file."""
    if not path.lower().endswith(ARCHIVES):
        return join_place(path, inside)
    with stored_bytes(path) as raw:
        return join_place(path, chosen_member(members(raw, path), inside, path))


def _announced(places: list[str], typed: list[str]) -> tuple[str, ...]:
    """The members of archives that were taken without being named."""
    split = [split_place(place) for place in places]
    archives = [(f, inside) for f, inside in split if f.lower().endswith(ARCHIVES)]
    unnamed = [inside for f, inside in archives if join_place(f, inside) not in typed]
    return (f"The only file of the archive is read: {unnamed[0]!r}.",) if len(unnamed) == 1 else ()


def _expanded(path: str) -> tuple[list[str], str]:
    """The files that a path names, and the folder that all of them are in."""
    full = Path(path).expanduser()
    if full.is_dir():
        found = _in_folder(full)
        if not found:
            raise InputError("The folder holds no table.", file=path, remedy=_KNOWN)
        return found, str(full)
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
    found = [p for p in sorted(folder.iterdir()) if p.is_file() and is_known(p.name)]
    for below in sorted(folder.iterdir()):
        if below.is_dir() and "=" in below.name:
            found += map(Path, _in_folder(below))
    return [str(path) for path in found]


def _matches(pattern: Path) -> tuple[list[Path], str]:
    """Files that a pattern matches, below its first part without a wildcard."""
    fixed = list(itertools.takewhile(lambda part: not glob.has_magic(part), pattern.parts))
    rest = pattern.parts[len(fixed) :]
    return [p for p in Path(*fixed).glob(str(Path(*rest))) if p.is_file()], str(Path(*fixed))


def _addresses(address: str) -> tuple[list[str], str]:
    """The files that an address names in storage, and the folder that all of them are in."""
    pattern = glob.has_magic(address)
    found = listed(address, pattern=pattern)
    if found is None:
        return [address], address.rpartition("/")[0]
    tables = [name for name in found if is_known(name)]
    if not found or not tables:
        raise missing_remote(address)
    stem = address[: min(address.index(c) for c in "*?[" if c in address)] if pattern else address
    return tables, stem.rpartition("/")[0] if pattern else stem


def _not_found(path: str, full: Path) -> InputError:
    folder = full.parent
    names = [p.name for p in folder.iterdir() if is_known(p.name)] if folder.is_dir() else []
    remedy = did_you_mean(full.name, sorted(names)) if names else "Check the path."
    return InputError("There is no such file.", file=path, remedy=remedy)


def _standard_input(
    kinds: Mapping[str, Kind], options: TextOptions | None, expected: Iterable[str]
) -> CsvSource:
    """Spooled to a temporary file, since a table may be read more than once."""
    place = Path(tempfile.gettempdir()) / "separatrix-input.csv"
    remove_leftovers(place)
    spool = temporary(place)
    stack = ExitStack()
    stack.callback(spool.unlink, missing_ok=True)
    try:
        spool.touch(0o600, exist_ok=False)  # nobody else may read it
        with spool.open("wb") as file:
            stack.enter_context(locked(spool))
            shutil.copyfileobj(sys.stdin.buffer, file)
    except BaseException:  # interrupted, or the disk is full: nothing stays behind
        stack.close()
        raise
    source = CsvSource([str(spool)], kinds, ["standard input"], options, expected)
    weakref.finalize(source, stack.close)
    return source
