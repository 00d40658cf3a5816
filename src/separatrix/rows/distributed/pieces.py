"""A table in files as pieces that different machines can read, in the order of its rows.

Pieces are files, and groups of rows within large Parquet files; they follow from the files alone,
never from the number of workers, so that sums are the same bits on every cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from separatrix.messages import InputError
from separatrix.rows.sources.columns import Location
from separatrix.rows.sources.file_source import FileSource
from separatrix.rows.sources.parquet import ParquetSource
from separatrix.rows.sources.places.files import is_there
from separatrix.rows.sources.places.remote import is_remote
from separatrix.rows.sources.source import LocatedBatch, Source

#: Rows of a Parquet file that make a piece: more where its row groups are larger.
PIECE_ROWS = 500_000


def pieces_of(source: Source) -> list[Source]:
    """The pieces of a table, in the order of its rows; one if it cannot be divided."""
    if not isinstance(source, FileSource):
        return [source]
    found: list[Source] = []
    for i, shown in enumerate(source.shown):
        one = source.piece(i)
        found += _row_groups(one, shown) if type(one) is ParquetSource else [one]
    return found


def _row_groups(one: ParquetSource, shown: str) -> list[Source]:
    """Groups of rows of a Parquet file, each of at least so many rows."""
    import pyarrow.parquet as pq

    if is_remote(one.paths[0]) or one.partitions.names:
        return [one]
    counts = []
    with pq.ParquetFile(one.paths[0]) as file:
        metadata = file.metadata
        counts = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    found: list[Source] = []
    start, groups, rows = 0, [], 0
    for i, n in enumerate(counts):
        groups.append(i)
        rows += n
        if rows >= PIECE_ROWS or i == len(counts) - 1:
            found.append(RowGroups(one, shown, groups, start))
            start, groups, rows = start + rows, [], 0
    return found or [one]


class RowGroups:
    """Some row groups of a Parquet file, of which the first row is row ``start`` + 1."""

    def __init__(self, source: ParquetSource, name: str, groups: list[int], start: int) -> None:
        self.source, self.name, self.groups, self.start = source, name, groups, start
        self.paths = source.paths

    @property
    def arrow(self) -> Any:
        """Names and types of the columns."""
        return self.source.arrow

    def batches(self, columns: list[str], rows: int) -> Iterator[LocatedBatch]:
        """Yield batches of these row groups in order."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path, start = self.paths[0], self.start
        try:
            with pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
                for batch in file.iter_batches(rows, row_groups=self.groups, columns=columns):
                    yield LocatedBatch(batch, Location(self.name, start))
                    start += batch.num_rows
        except (pa.ArrowException, OSError) as reason:
            detail = str(reason).splitlines()[0].rstrip(".")
            raise InputError(
                f"cannot be read as Parquet; it is cut short or damaged ({detail}).",
                file=self.name,
                row=start + 1,
                remedy="Write or download the file again.",
            ) from reason


def refuse_unseen_file(source: Any) -> None:
    """Refuse, on a worker, a local file that only the machine of the caller has."""
    for path in getattr(source, "paths", ()):
        if not is_there(path):
            raise InputError(
                "a worker of the cluster does not see this file.",
                file=path,
                remedy="Put the table where all workers see it under the same path: a shared "
                "folder, or a store such as s3://.",
            )
