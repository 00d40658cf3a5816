"""Tables and queries of DuckDB, as a stream of batches.

The connection is read-only, without access to other files, without extensions, and its
configuration is locked: a view that is stored in the file can do no more than the query.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from separatrix.messages import InputError
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
from separatrix.rows.sources.source import LocatedBatch, refuse_difference, refuse_duplicates

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
    "memory_limit": "256MB",
    "preserve_insertion_order": "true",
    "lock_configuration": "true",
}
_TABLES = (
    "SELECT table_name, table_schema FROM information_schema.tables "
    "WHERE table_catalog = current_database() ORDER BY table_schema, table_name"
)


class DuckdbSource(FileSource):
    """One table or query of DuckDB, of one file or of several alike."""

    by_file = ("selections",)

    @cached_property
    def selections(self) -> tuple[Selection, ...]:
        """The table or query of every file."""
        return tuple(_selected(path) for path in self.paths)

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Which table was taken."""
        return tuple(dict.fromkeys(s.note for s in self.selections if s.note))

    @cached_property
    def own(self) -> pa.Schema:  # type: ignore[override]
        """Names and types of the columns; the files are checked to agree."""
        schemas = []
        for path, selected in zip(self.paths, self.selections, strict=True):
            with _answer(path, f"SELECT * FROM {selected.relation} LIMIT 0", 1) as reader:
                schemas.append(reader.schema)
            refuse_duplicates(schemas[-1].names, path)
            refuse_difference(schemas[0].names, self.paths[0], schemas[-1].names, path)
        return schemas[0]

    def size(self, columns: int) -> float:
        """The bytes of this many columns of numbers in memory."""
        rows = 0
        for path, selected in zip(self.paths, self.selections, strict=True):
            with _answer(path, f"SELECT count(*) FROM {selected.relation}", 1) as reader:
                rows += int(reader.read_all().column(0)[0].as_py())
        return 8.0 * rows * columns

    def file_batches(self, columns: list[str], rows: int) -> Iterator[LocatedBatch]:
        """Yield batches in the order of the files."""
        wanted = ", ".join(map(quoted, columns))
        for (path, shown), selected in zip(self.files, self.selections, strict=True):
            start = 0
            with _answer(path, f"SELECT {wanted} FROM {selected.relation}", rows) as reader:
                for batch in reader:
                    for offset in range(0, batch.num_rows, rows):
                        piece = batch.slice(offset, rows)
                        yield LocatedBatch(piece, Location(shown, start + offset))
                    start += batch.num_rows


@contextmanager
def _connected(path: str) -> Iterator[Any]:
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
        connection = duckdb.connect(file, read_only=True, config=_CLOSED)
    except duckdb.Error as reason:
        detail = str(reason).splitlines()[0].rstrip(".")
        raise InputError(
            f"cannot be opened as a database of DuckDB ({detail}).",
            file=path,
            remedy="Check that the file is whole, and that no other program has it open.",
        ) from reason
    try:
        yield connection
    except duckdb.Error as reason:
        raise _refused(reason, path, duckdb) from reason
    finally:
        connection.close()


def _refused(reason: Exception, path: str, duckdb: Any) -> InputError:
    if isinstance(reason, duckdb.PermissionException) or "disabled" in str(reason):
        return InputError(
            "the query, or a view in the database, reaches out of the file, which is not done "
            f"({str(reason).splitlines()[0].rstrip('.')}).",
            file=path,
            remedy="Give a query that only reads its tables.",
        )
    if isinstance(reason, duckdb.OutOfMemoryException):
        return InputError(
            "the query needs more memory than a stream may take.",
            file=path,
            remedy="Write its result to a table first, and give that.",
        )
    return failed_query(reason, path)


@contextmanager
def _answer(path: str, query: str, rows: int) -> Iterator[pa.RecordBatchReader]:
    """The result of a query as a reader of batches."""
    with _connected(path) as connection:
        answer = connection.sql(query)
        read = getattr(answer, "to_arrow_reader", None) or answer.fetch_arrow_reader
        with read(rows) as reader:
            yield reader


def _selected(path: str) -> Selection:
    file, inside = split_place(path)
    with _connected(path) as connection:
        found = connection.execute(_TABLES).fetchall()
        plain = [name for name, schema in found if schema == "main"]
        others = {f"{schema}.{name}": (schema, name) for name, schema in found if schema != "main"}
        if inside in others:
            return Selection(".".join(map(quoted, others[inside])))
        selected = selection(inside, plain or list(others), file)
        if selected.query is not None:
            _refuse_others(connection, selected.query, file)
        elif not plain:
            (name,) = others
            return Selection(".".join(map(quoted, others[name])), note=selected.note)
        return selected


def _refuse_others(connection: Any, query: str, file: str) -> None:
    """Refuse several statements, and those that are no SELECT; nothing is executed for it."""
    import duckdb

    statements = connection.extract_statements(query)
    if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
        raise not_a_query(file)
