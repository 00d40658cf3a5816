"""Paths, globs, lists of them and standard input as sources of batches."""

from __future__ import annotations

import glob
import itertools
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from separatrix.messages import InputError, did_you_mean
from separatrix.rows.notations.options import TextOptions
from separatrix.rows.schema import Kind
from separatrix.rows.sources.csv import CsvSource
from separatrix.rows.sources.parquet import ParquetSource

#: File formats by the end of the name.
_TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
_PARQUET = (".parquet", ".pq")


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
) -> CsvSource | ParquetSource:
    """The source behind a path, a glob, a list of either, or ``"-"`` (standard input, CSV).

    ``expected`` are names of columns that the caller mentioned.
    """
    if source == "-":
        return _standard_input(kinds, options, expected)
    listed = [source] if isinstance(source, (str, Path)) else list(source)
    paths = [path for item in listed for path in _expanded(str(item))]
    formats = {_format(path) for path in paths}
    if len(formats) > 1:
        raise InputError(
            f"{paths[0]} and the other files are of different formats.",
            remedy="Give CSV files or Parquet files, not both.",
        )
    if formats == {"parquet"}:
        return ParquetSource(paths)
    return CsvSource(paths, kinds, options=options, expected=expected)


def _expanded(path: str) -> list[str]:
    full = Path(path).expanduser()
    if full.is_dir():
        found = [str(p) for p in sorted(full.iterdir()) if _known(p.name)]
        if not found:
            raise InputError("The folder holds no CSV or Parquet file.", file=path)
        return found
    if full.exists():
        return [str(full)]
    if glob.has_magic(path):
        found = sorted(map(str, _matches(full)))
        if found:
            return found
        raise InputError(f"No file matches {path!r}.", remedy="Check the folder and the pattern.")
    raise _not_found(path, full)


def _matches(pattern: Path) -> list[Path]:
    """Files that a pattern matches, below its first part without a wildcard."""
    fixed = list(itertools.takewhile(lambda part: not glob.has_magic(part), pattern.parts))
    rest = pattern.parts[len(fixed) :]
    return [p for p in Path(*fixed).glob(str(Path(*rest))) if p.is_file()]


def _not_found(path: str, full: Path) -> InputError:
    folder = full.parent
    names = [p.name for p in folder.iterdir() if _known(p.name)] if folder.is_dir() else []
    remedy = did_you_mean(full.name, sorted(names)) if names else "Check the path."
    return InputError("There is no such file.", file=path, remedy=remedy)


def _known(name: str) -> bool:
    return name.lower().endswith(_TEXT + _PARQUET)


def _format(path: str) -> str:
    if path.lower().endswith(_PARQUET):
        return "parquet"
    if path.lower().endswith(_TEXT):
        return "text"
    raise InputError(
        "The format of the file is not known from its name.",
        file=path,
        remedy=f"Tables are read from names that end in {', '.join(_TEXT + _PARQUET)}.",
    )


def _standard_input(
    kinds: Mapping[str, Kind], options: TextOptions | None, expected: Iterable[str]
) -> CsvSource:
    """Spooled to a temporary file, since a table may be read more than once."""
    with tempfile.NamedTemporaryFile(suffix=".csv", delete=False) as spool:
        try:
            shutil.copyfileobj(sys.stdin.buffer, spool)
        except BaseException:  # interrupted, or the disk is full: nothing stays behind
            Path(spool.name).unlink(missing_ok=True)
            raise
    source = CsvSource([spool.name], kinds, ["standard input"], options, expected)
    weakref.finalize(source, Path(spool.name).unlink, missing_ok=True)
    return source
