"""Arrow files (Feather) and Arrow streams as batches; every batch is validated before use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from separatrix.messages import InputError
from separatrix.rows.sources.columns import Location
from separatrix.rows.sources.file_source import FileSource
from separatrix.rows.sources.places.files import file_size, is_plain, opened_bytes
from separatrix.rows.sources.source import LocatedBatch, refuse_difference, refuse_duplicates

if TYPE_CHECKING:
    import pyarrow as pa

#: First bytes of an Arrow file, and of a table of the first Feather.
_FILE, _FEATHER_1 = b"ARROW1", b"FEA1"
#: Buffers may be compressed in the file, numbers hardly grow.
_GROWTH = 3.0


class ArrowSource(FileSource):
    """One table in one or more files of Arrow's format for files or for streams."""

    @cached_property
    def own(self) -> pa.Schema:  # type: ignore[override]
        """Names and types of the columns; the files are checked to agree."""
        schemas = []
        for path in self.paths:
            with _opened(path, None) as (schema, _):
                schemas.append(schema)
            refuse_difference(schemas[0].names, self.paths[0], schema.names, path)
        return schemas[0]

    def size(self, columns: int) -> float:
        """About the bytes of this many columns in memory, judged by the files."""
        part = columns / max(len(self.own.names), 1)
        return sum(_GROWTH * part * file_size(path) for path in self.paths)

    def file_batches(self, columns: list[str], rows: int) -> Iterator[LocatedBatch]:
        """Yield batches in the order of the files."""
        for path, shown in self.files:
            start = 0
            with _opened(path, columns) as (_, batches):
                for batch in batches:
                    for offset in range(0, batch.num_rows, rows):
                        piece = batch.slice(offset, rows).select(columns)
                        yield LocatedBatch(piece, Location(shown, start + offset))
                    start += batch.num_rows


@contextmanager
def _opened(
    path: str, columns: list[str] | None
) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    """The schema of a file, and its batches with only some columns read."""
    import pyarrow as pa

    try:
        with _source(path) as file:
            magic = file.read(len(_FILE))
            file.seek(0)
            if magic[: len(_FEATHER_1)] == _FEATHER_1:
                raise InputError(
                    "is of the first version of Feather, which is no longer written.",
                    file=path,
                    remedy="Write it again: pyarrow.feather.write_feather(table, path).",
                )
            whole = magic == _FILE
            reader = pa.ipc.open_file(file) if whole else pa.ipc.open_stream(file)
            schema = reader.schema
            refuse_duplicates(schema.names, path)
            if columns is not None:
                fields = [schema.get_field_index(name) for name in columns]
                options = pa.ipc.IpcReadOptions(included_fields=sorted(fields))
                file.seek(0)
                open_ = pa.ipc.open_file if whole else pa.ipc.open_stream
                reader = open_(file, options=options)
            yield schema, _valid(reader, whole)
    except (pa.ArrowException, OSError, EOFError, MemoryError, UnicodeDecodeError) as reason:
        raise _damaged(path, reason) from reason


def _source(path: str) -> Any:
    """The bytes of a file; those of a local one are mapped, so that few are in memory."""
    import pyarrow as pa

    if is_plain(path):
        return pa.memory_map(path, "r")
    file = opened_bytes(path)
    return pa.PythonFile(file, mode="r") if file.seekable() else pa.BufferReader(file.read())


def _valid(reader: Any, whole: bool) -> Iterator[pa.RecordBatch]:
    """The batches, none of which points outside of itself."""
    batches = (reader.get_batch(i) for i in range(reader.num_record_batches)) if whole else reader
    for batch in batches:
        batch.validate(full=True)
        yield batch


def _damaged(path: str, reason: BaseException) -> InputError:
    detail = str(reason).splitlines()[0].rstrip(".") if str(reason) else type(reason).__name__
    return InputError(
        f"cannot be read as an Arrow file; it is cut short or damaged ({detail}).",
        file=path,
        remedy="Write or download the file again.",
    )
