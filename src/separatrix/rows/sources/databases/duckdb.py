"""Tables and queries of DuckDB, as a stream of batches.

The connection is read-only, without access to other files, without extensions, and its
configuration is locked: a view that is stored in the file can do no more than the query.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from separatrix.messages import InputError
from separatrix.rows.notations.options import Limits, TextOptions
from separatrix.rows.sources.columns import Location
from separatrix.rows.sources.databases.queries import (
    Selection,
    failed_query,
    not_a_query,
    quoted,
    selection,
)
from separatrix.rows.sources.file_source import FileSource
from separatrix.rows.sources.places.files import split_place
from separatrix.rows.sources.places.partitions import Partitions
from separatrix.rows.sources.source import LocatedBatch, refuse_difference, refuse_duplicates
from separatrix.rows.sources.watch import Watch, raised

if TYPE_CHECKING:
    import pyarrow as pa

#: Nothing but the file: no other files, no extensions, no variables of Python, no spilling to disk.
_CLOSED = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_unsigned_extensions": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",
    "preserve_insertion_order": "true",
    "lock_configuration": "true",
}
#: Part of the limit of memory that DuckDB may plan with (256 MB): long texts count beside it.
_PART = 8
#: Bytes that are as good as no limit.
_MOST = 2.0**50
_TABLES = (
    "SELECT table_name, table_schema, table_type FROM information_schema.tables "
    "WHERE table_catalog = current_database() ORDER BY table_schema, table_name"
)


class DuckdbSource(FileSource):
    """One table or query of DuckDB, of one file or of several alike."""

    by_file = ("selections",)

    def __init__(
        self,
        paths: list[str],
        options: TextOptions | None = None,
        partitions: Partitions | None = None,
    ) -> None:
        super().__init__(paths, None, partitions)
        self.limits = (options or TextOptions()).limits

    @cached_property
    def selections(self) -> tuple[Selection, ...]:
        """The table or query of every file."""
        return tuple(_selected(path, self.limits) for path in self.paths)

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Which table was taken."""
        return tuple(dict.fromkeys(s.note for s in self.selections if s.note))

    @cached_property
    def own(self) -> pa.Schema:  # type: ignore[override]
        """Names and types of the columns; the files are checked to agree."""
        schemas = []
        for path, selected in zip(self.paths, self.selections, strict=True):
            query = f"SELECT * FROM {selected.relation} LIMIT 0"
            with _answer(path, query, 1, self.limits, selected) as (reader, _):
                schemas.append(reader.schema)
            refuse_duplicates(schemas[-1].names, path)
            refuse_difference(schemas[0].names, self.paths[0], schemas[-1].names, path)
        return schemas[0]

    def size(self, columns: int) -> float:
        """The bytes of this many columns of numbers in memory."""
        rows = 0
        for path, selected in zip(self.paths, self.selections, strict=True):
            query = f"SELECT count(*) FROM {selected.relation}"
            with _answer(path, query, 1, self.limits, selected) as (reader, watched):
                rows += int(watched(reader.read_all).column(0)[0].as_py())
        return 8.0 * rows * columns

    def file_batches(self, columns: list[str], rows: int) -> Iterator[LocatedBatch]:
        """Yield batches in the order of the files."""
        wanted = ", ".join(map(quoted, columns))
        for (path, shown), selected in zip(self.files, self.selections, strict=True):
            start = 0
            query = f"SELECT {wanted} FROM {selected.relation}"
            with _answer(path, query, rows, self.limits, selected) as (reader, watched):
                while (batch := watched(partial(next, reader, None))) is not None:
                    watched.count(batch.num_rows)
                    for offset in range(0, batch.num_rows, rows):
                        piece = batch.slice(offset, rows)
                        yield LocatedBatch(piece, Location(shown, start + offset))
                    start += batch.num_rows


@contextmanager
def _connected(
    path: str, limits: Limits, selected: Selection | None = None
) -> Iterator[tuple[Any, Watch]]:
    file, _ = split_place(path)
    try:
        import duckdb
    except ImportError:
        raise InputError(
            "Databases of DuckDB are read by a library that is not installed.",
            file=path,
            remedy="Install it: pip install 'separatrix[duckdb]'.",
        ) from None
    try:
        config = {**_CLOSED, "memory_limit": f"{_planned(limits)}MiB"}
        connection = duckdb.connect(file, read_only=True, config=config)
    except duckdb.Error as reason:
        detail = str(reason).splitlines()[0].rstrip(".")
        raise InputError(
            f"cannot be opened as a database of DuckDB ({detail}).",
            file=path,
            remedy="Check that the file is whole, and that no other program has it open.",
        ) from reason
    computed = selected is not None and selected.computed
    watched = Watch(limits, path, "the query", connection.interrupt, computed=computed)
    try:
        yield connection, watched
    except duckdb.Error as reason:
        raise _refused(reason, path, duckdb, limits) from reason
    finally:
        if not watched.lost:
            connection.close()


def _planned(limits: Limits) -> int:
    """MiB; connections to one file must agree on it, so it is only ever raised."""
    return int(min(max(limits.bytes, Limits().bytes), _MOST) / _PART / 2**20)


def _refused(reason: Exception, path: str, duckdb: Any, limits: Limits) -> InputError:
    if isinstance(reason, duckdb.PermissionException) or "disabled" in str(reason):
        return InputError(
            "the query, or a view in the database, reaches out of the file, which is not done "
            f"({str(reason).splitlines()[0].rstrip('.')}).",
            file=path,
            remedy="Give a query that only reads its tables.",
        )
    if isinstance(reason, duckdb.OutOfMemoryException):
        return InputError(
            f"the query needs more memory than a stream may take ({_planned(limits)} MB).",
            file=path,
            remedy="Write its result to a table first and give that, or raise the limit: "
            f"{raised(limits, 'bytes')}.",
        )
    return failed_query(reason, path)


@contextmanager
def _answer(
    path: str, query: str, rows: int, limits: Limits, selected: Selection
) -> Iterator[tuple[pa.RecordBatchReader, Watch]]:
    """The result of a query as a reader of batches, and what watches over its work."""

    def begun() -> pa.RecordBatchReader:
        answer = connection.sql(query)
        read = getattr(answer, "to_arrow_reader", None) or answer.fetch_arrow_reader
        return read(rows)

    with _connected(path, limits, selected) as (connection, watched):
        reader = watched(begun)
        try:
            yield reader, watched
        finally:
            if not watched.lost:
                reader.close()


def _selected(path: str, limits: Limits) -> Selection:
    file, inside = split_place(path)
    with _connected(path, limits) as (connection, _):
        found = {
            (name if schema == "main" else f"{schema}.{name}"): (schema, name, kind == "VIEW")
            for name, schema, kind in connection.execute(_TABLES).fetchall()
        }
        plain = [shown for shown, (schema, *_) in found.items() if schema == "main"]
        if inside is not None and inside in found and inside not in plain:
            selected = Selection(quoted(inside))
        else:
            selected = selection(inside, plain or list(found), file)
        if selected.query is not None:
            _refuse_others(connection, selected.query, file)
            return selected
    shown = next(shown for shown in found if quoted(shown) == selected.relation)
    schema, name, view = found[shown]
    relation = selected.relation if shown in plain else f"{quoted(schema)}.{quoted(name)}"
    return replace(selected, relation=relation, computed=view)


def _refuse_others(connection: Any, query: str, file: str) -> None:
    """Refuse several statements, and those that are no SELECT; nothing is executed for it."""
    import duckdb

    statements = connection.extract_statements(query)
    if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
        raise not_a_query(file)
