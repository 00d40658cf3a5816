"""Rows that pass once, standard input and streams of Arrow, kept in a temporary file.

A table is read more than once: its schema first, then pass by pass. What cannot be read again is
written to a temporary file that nobody else may read, and that goes with its source.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from separatrix.messages import InputError
from separatrix.rows.notations import TextOptions
from separatrix.rows.schema import Kind, is_frame
from separatrix.rows.sources.columns import Location
from separatrix.rows.sources.csv import CsvSource
from separatrix.rows.sources.formats import ArrowSource
from separatrix.rows.sources.source import LocatedBatch, Source, refuse_duplicates
from separatrix.temporary import lock, remove_leftovers, temporary

if TYPE_CHECKING:
    import pyarrow as pa


def _spool(name: str, write: Callable[[Path], object]) -> tuple[Path, Callable[[], None]]:
    """A temporary file with what was written, and what removes it."""
    place = Path(tempfile.gettempdir()) / name
    remove_leftovers(place)
    spool = temporary(place)
    stack = ExitStack()
    stack.callback(spool.unlink, missing_ok=True)
    try:
        spool.touch(0o600, exist_ok=False)  # nobody else may read it
        stack.enter_context(lock(spool))
        write(spool)
    except BaseException:  # interrupted, or the disk is full: nothing stays behind
        stack.close()
        raise
    return spool, stack.close


def open_standard_input(
    kinds: Mapping[str, Kind], options: TextOptions | None, expected: Iterable[str]
) -> CsvSource:
    """Standard input as a text table."""

    def write(spool: Path) -> None:
        with spool.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)

    spool, remove = _spool("separatrix-input.csv", write)
    source = CsvSource([str(spool)], kinds, ["standard input"], options, expected)
    weakref.finalize(source, remove)
    return source


# -------------------------------------------------------------------------------------------------
# Streams of Arrow: readers of batches, relations of DuckDB, cursors of ADBC, lazy frames of polars.


def is_arrow_stream(source: Any) -> bool:
    """Whether a table is handed over batch by batch, and is not in memory as a whole."""
    if _is_dataset(source) or _is_lazy(source):
        return True
    if is_frame(source) or not hasattr(source, "__arrow_c_stream__"):
        return False
    import narwhals as nw

    return not isinstance(nw.from_native(source, pass_through=True), nw.DataFrame)


def _is_dataset(source: Any) -> bool:
    """Whether this is a dataset of PyArrow; whoever holds one has imported its module."""
    module = sys.modules.get("pyarrow.dataset")
    return module is not None and isinstance(source, module.Dataset)


def _is_lazy(source: Any) -> bool:
    return hasattr(source, "sink_ipc") and hasattr(source, "collect_schema")


def open_arrow_stream(source: Any) -> Source:
    """The source behind a stream of Arrow; a dataset is read again in every pass."""
    if _is_dataset(source):
        return DatasetSource(source)
    write = _write_lazy if _is_lazy(source) else _write_batches
    spool, remove = _spool("separatrix-stream.arrow", lambda place: write(source, place))
    spooled = ArrowSource([str(spool)], ["the stream"])
    weakref.finalize(spooled, remove)
    return spooled


_ANEW = "A stream is read once: make it anew, or give its table or file."


def _write_lazy(frame: Any, place: Path) -> None:
    """A lazy frame of polars, computed in pieces by its own engine."""
    import polars as pl

    oldest = pl.CompatLevel.oldest()
    try:
        frame.sink_ipc(place, compression="lz4", compat_level=oldest)
    except pl.exceptions.PolarsError as reason:
        raise _ended_early(reason) from reason


def _write_batches(source: Any, place: Path) -> None:
    import pyarrow as pa

    try:
        with pa.RecordBatchReader.from_stream(source) as reader:
            refuse_duplicates(reader.schema.names, "the stream")
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            with (
                pa.OSFile(str(place), "wb") as file,
                pa.ipc.new_file(file, reader.schema, options=options) as writer,
            ):
                rows = 0
                for batch in reader:
                    writer.write_batch(batch)
                    rows += batch.num_rows
        if not rows:
            raise InputError("has no rows left.", file="the stream", remedy=_ANEW)
    except InputError:
        raise
    except Exception as reason:  # the stream's owner may raise errors of its own
        raise _ended_early(reason) from reason


def _ended_early(reason: Exception) -> InputError:
    detail = str(reason).splitlines()[0].rstrip(".") if str(reason) else type(reason).__name__
    return InputError(
        f"ended before its last row ({detail[:200]}).",
        file="the stream",
        remedy=_ANEW,
    )


class DatasetSource:
    """A dataset of PyArrow: files or tables, filtered or not, that are read in every pass."""

    name = "the dataset"

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        refuse_duplicates(dataset.schema.names, self.name)

    @property
    def arrow(self) -> pa.Schema:
        """Names and types of the columns."""
        return self.dataset.schema

    def batches(self, columns: list[str], rows: int) -> Iterator[LocatedBatch]:
        """Yield batches in the order of the dataset, few of them read ahead."""
        import pyarrow as pa

        start = 0
        try:
            for batch in self.dataset.to_batches(
                columns=columns, batch_size=rows, batch_readahead=2, fragment_readahead=1
            ):
                yield LocatedBatch(batch, Location(self.name, start))
                start += batch.num_rows
        except (pa.ArrowException, OSError) as reason:
            detail = str(reason).splitlines()[0].rstrip(".")
            raise InputError(
                f"cannot be read ({detail[:200]}).",
                file=self.name,
                row=start + 1,
                remedy="Check that its files are whole and have the columns of its schema.",
            ) from reason
