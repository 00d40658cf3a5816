"""Parquet files as a stream of batches."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from separatrix.messages import InputError
from separatrix.rows.sources.columns import Location
from separatrix.rows.sources.file_source import FileSource
from separatrix.rows.sources.places.files import is_plain, stored_bytes
from separatrix.rows.sources.source import LocatedBatch, refuse_difference, refuse_duplicates

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


class ParquetSource(FileSource):
    """One table in one or more Parquet files."""

    @cached_property
    def own(self) -> pa.Schema:  # type: ignore[override]
        """Names and types of the columns; the files are checked to agree."""
        schemas = []
        for path in self.paths:
            with _opened(path) as file:
                schemas.append(file.schema_arrow)
            refuse_duplicates(schemas[-1].names, path)
            refuse_difference(schemas[0].names, self.paths[0], schemas[-1].names, path)
        return schemas[0]

    def size(self, columns: int) -> float:
        """The bytes of this many columns of numbers in memory."""
        rows = 0
        for path in self.paths:
            with _opened(path) as file:
                rows += file.metadata.num_rows
        return 8.0 * rows * columns

    def file_batches(self, columns: list[str], rows: int) -> Iterator[LocatedBatch]:
        """Yield batches in the order of the files."""
        import pyarrow as pa

        for path, shown in self.files:
            start = 0
            try:
                with _opened(path) as file:
                    for batch in file.iter_batches(rows, columns=columns):
                        yield LocatedBatch(batch, Location(shown, start))
                        start += batch.num_rows
            except (pa.ArrowException, OSError) as reason:
                raise _damaged(shown, reason, start) from reason


def _opened(path: str) -> pq.ParquetFile:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = path if is_plain(path) else stored_bytes(path)
        return pq.ParquetFile(file, buffer_size=1 << 20, pre_buffer=False)
    except (pa.ArrowException, OSError) as reason:
        raise _damaged(path, reason, None) from reason


def _damaged(path: str, reason: Exception, row: int | None) -> InputError:
    detail = str(reason).splitlines()[0].rstrip(".")
    return InputError(
        f"cannot be read as Parquet; it is cut short or damaged ({detail}).",
        file=path,
        row=None if row is None else row + 1,
        remedy="Write or download the file again.",
    )
