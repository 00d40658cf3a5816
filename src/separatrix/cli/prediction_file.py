"""Where predictions go: standard output, a CSV file, or a Parquet file, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from separatrix.cli.places import PREDICTIONS, RESULT, ready_file
from separatrix.messages import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from separatrix.cli.ids import Ids

INFINITY = float("inf")
PARQUET = (".parquet", ".pq")
#: Ends of names that promise a format other than CSV and Parquet.
OTHERS = (
    *(".xlsx", ".xls", ".ods", ".json", ".jsonl", ".feather", ".arrow", ".orc"),
    *(".gz", ".zip", ".zst", ".sx", ".html"),
)

#: Writes some rows: the columns before the copied ones, those after, and the number of rows.
Write = Callable[[list[Any], list[Any], int], None]


def file_at(out: str | None) -> Path | None:
    """The file behind ``--out``, which can be a directory; refused now if it cannot be written."""
    if out is None:
        return None
    path = Path(out)
    if path.is_dir() or out.endswith("/"):
        if (path / RESULT).exists():
            raise InputError(
                f"holds a study with the {PREDICTIONS} of its test set.",
                file=str(path),
                remedy=f"Name a file, as --out {path / 'new.csv'}.",
            )
        path = path / PREDICTIONS
    if path.suffix.lower() in OTHERS:
        raise InputError(
            f"predictions are written as CSV or Parquet, not as {path.suffix}.",
            file=str(path),
            remedy="Let the name end in .csv or .parquet.",
        )
    return ready_file(path)


@contextmanager
def rows_to(out: Path | None, before: list[str], ids: Ids, after: list[str]) -> Iterator[Write]:
    """A function that writes rows; a file appears when all of them are written."""
    if out is None:
        yield _text(lambda text: click.echo(text, nl=False), before, ids, after)
        return
    from separatrix.storage.files import atomic_file

    with atomic_file(out) as file:
        if out.suffix.lower() not in PARQUET:
            yield _text(lambda text: file.write(text.encode()), before, ids, after)
            return
        with _parquet(file, before, ids, after) as write:
            yield write


def _text(
    print_: Callable[[str], Any], before: Sequence[str], ids: Ids, after: Sequence[str]
) -> Write:
    from separatrix.cli.results import as_csv

    header: list[str] | None = [*before, *ids.columns, *after]

    def write(first: list[Any], last: list[Any], n: int) -> None:
        nonlocal header
        columns = [*map(_cells, first), *ids.take(n), *map(_cells, last)]
        print_(as_csv(columns, header=header))
        header = None

    return write


def _cells(values: Any) -> list[Any]:
    """Values as text can hold them: an end of an interval may be infinite."""
    from separatrix.study.document import plain

    found: list[Any] = list(values)
    return [float(v) if v in (INFINITY, -INFINITY) else plain(v) for v in found]


@contextmanager
def _parquet(file: Any, before: list[str], ids: Ids, after: list[str]) -> Iterator[Write]:
    """Copied columns have the types of their table; those of a text file are recognized."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [*before, *ids.columns, *after]
    writer: pq.ParquetWriter | None = None

    def write(first: list[Any], last: list[Any], n: int) -> None:
        nonlocal writer
        columns = [*map(_array, first), *ids.take_arrow(n), *map(_array, last)]
        table = pa.table(columns, names=names)
        if writer is None:
            writer = pq.ParquetWriter(file, table.schema)
        writer.write_table(table)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()


def _array(values: Any) -> pa.Array:
    """Classes as text; a number that is not finite is null."""
    import numpy as np
    import pyarrow as pa

    found = np.asarray(values)
    if found.dtype.kind in "OUS":
        return pa.array([None if v is None else str(v) for v in found.tolist()], pa.string())
    return pa.array(found, from_pandas=True)
