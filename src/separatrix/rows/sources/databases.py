"""Tables and queries of SQLite and DuckDB, as streams of batches."""

from __future__ import annotations

import re
import sqlite3
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from separatrix.messages import InputError, did_you_mean
from separatrix.rows.notations import Limits, TextOptions
from separatrix.rows.sources import formats, source
from separatrix.rows.sources.columns import Location
from separatrix.rows.sources.places import Partitions, split_place
from separatrix.rows.sources.watch import Watch, describe_limit

if TYPE_CHECKING:
    import pyarrow as pa


# -------------------------------------------------------------------------------------------------
# What to read from a database: a table by name, or one query.


_QUERY = re.compile(r"\s*(?:\(\s*)*(select|with|values|from)\b", re.IGNORECASE)
_COMMENT = re.compile(r"\s*(--|/\*)")
#: Statements that are not a query.
_OTHER = re.compile(
    r"\s*(insert|update|delete|replace|drop|create|alter|attach|detach|pragma|copy|install|load"
    r"|set|reset|call|export|import|vacuum|analyze|reindex|begin|commit|rollback|savepoint"
    r"|explain|describe|show|use|checkpoint|execute|prepare|truncate|merge|grant)\s",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Selection:
    """A table of a database, or a query; ``relation`` stands after FROM.

    ``computed`` says that its rows are not stored: a query or a view.
    """

    relation: str
    query: str | None = None
    note: str | None = None
    computed: bool = False


def quote_name(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def selection(inside: str | None, tables: list[str], file: str) -> Selection:
    """What is meant: a table, a query, or the only table there is."""
    if inside is None or not inside:
        return _only(tables, file)
    if inside in tables:
        return Selection(quote_name(inside))
    folded = [name for name in tables if name.casefold() == inside.casefold()]
    if len(folded) == 1:  # SQL does not tell capitals from small letters
        return Selection(quote_name(folded[0]))
    if _QUERY.match(inside):
        query = inside.strip().rstrip(";").rstrip()
        return Selection(f"(\n{query}\n)", query, computed=True)
    if _OTHER.match(inside) or _COMMENT.match(inside) or ";" in inside:
        raise not_a_query(file)
    raise InputError(
        f"there is no table {inside!r}.",
        file=file,
        remedy=did_you_mean(inside, tables) if tables else "The database has no tables.",
    )


def not_a_query(file: str) -> InputError:
    """The refusal of statements that are not one SELECT."""
    return InputError(
        "a database is read by one query that begins with SELECT or WITH, and nothing else.",
        file=file,
        remedy=f"Give a table, {file}::name, or a query, '{file}::SELECT * FROM name'.",
    )


def failed_query(reason: BaseException, file: str) -> InputError:
    """The refusal of a query that the database does not answer."""
    detail = str(reason).splitlines()[0].rstrip(".") if str(reason) else type(reason).__name__
    return InputError(
        f"the database does not answer ({detail}).",
        file=file,
        remedy="Check the names in the query; it can read this one file and nothing else.",
    )


def _only(tables: list[str], file: str) -> Selection:
    if not tables:
        raise InputError("The database has no tables.", file=file, remedy="Check the file.")
    if len(tables) > 1:
        raise InputError(
            f"The database has {len(tables)} tables, and one is read.",
            file=file,
            remedy=f"Name one: {file}::{tables[0]}. {did_you_mean('', tables)}",
        )
    return Selection(
        quote_name(tables[0]), note=f"The only table of the database is read: {tables[0]!r}."
    )


# -------------------------------------------------------------------------------------------------
# Tables and queries of SQLite, as a stream of batches.
#
# SQLite has types of cells, not of columns: one query finds those of every column.


_TABLES = (
    "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') "
    "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
)
_TYPES = {
    "integer": formats.CellTypes.INTEGER,
    "real": formats.CellTypes.NUMBER,
    "text": formats.CellTypes.TEXT,
    "blob": formats.CellTypes.BYTES,
}


class SqliteSource(formats.CellSource):
    """One table or query of SQLite, of one file or of several alike."""

    by_file = ("selections",)

    def __init__(
        self,
        paths: list[str],
        options: TextOptions | None = None,
        partitions: Partitions | None = None,
    ) -> None:
        super().__init__(paths, None, partitions)
        options = options or TextOptions()
        self.na, self.limits = formats.missing_texts(options), options.limits

    @cached_property
    def selections(self) -> tuple[Selection, ...]:
        """The table or query of every file."""
        return tuple(_select(path, self.limits) for path in self.paths)

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Which table was taken."""
        return tuple(dict.fromkeys(s.note for s in self.selections if s.note))

    @cached_property
    def cells(self) -> dict[str, formats.CellTypes]:
        """The columns, with the types of their cells."""
        found: dict[str, formats.CellTypes] = {}
        at_once = 200  # columns whose types one query finds
        for path, selected in zip(self.paths, self.selections, strict=True):
            with closing(guard(path, self.limits, selected.computed)) as database:
                names = _columns(database, selected, path)
                source.refuse_duplicates(names, path)
                source.refuse_difference(list(found) or names, self.paths[0], names, path)
                for start in range(0, len(names), at_once):
                    few = names[start : start + at_once]
                    for name, cells in zip(few, _cells(database, selected, few), strict=True):
                        found[name] = found.get(name, formats.CellTypes.NONE) | cells
        return found

    def size(self, columns: int) -> float:
        """The bytes of this many columns of numbers in memory."""
        rows = 0
        for path, selected in zip(self.paths, self.selections, strict=True):
            with closing(guard(path, self.limits, selected.computed)) as database:
                rows += int(database.all(f"SELECT count(*) FROM {selected.relation}")[0][0])
        return 8.0 * rows * columns

    def file_batches(self, columns: list[str], rows: int) -> Iterator[source.LocatedBatch]:
        """Yield batches in the order of the files."""
        import pyarrow as pa

        types = [self.own.field(name).type for name in columns]
        wanted = ", ".join(map(quote_name, columns))
        for (path, shown), selected in zip(self.files, self.selections, strict=True):
            start = 0
            with closing(guard(path, self.limits, selected.computed)) as database:
                for cells in database.batches(f"SELECT {wanted} FROM {selected.relation}", rows):
                    values = list(zip(*cells, strict=True))
                    arrays = [
                        formats.array_of(v, t, self.na) for v, t in zip(values, types, strict=True)
                    ]
                    batch = pa.RecordBatch.from_arrays(arrays, names=columns)
                    yield source.LocatedBatch(batch, Location(shown, start))
                    start += len(cells)


def _select(path: str, limits: Limits) -> Selection:
    file, inside = split_place(path)
    with closing(guard(path, limits)) as database:
        tables = {str(name): kind == "view" for name, kind in database.all(_TABLES)}
    selected = selection(inside, list(tables), file)
    views = {quote_name(name) for name, view in tables.items() if view}
    return replace(selected, computed=selected.computed or selected.relation in views)


def _columns(database: Guarded, selected: Selection, path: str) -> list[str]:
    """Names of the columns; a query is compiled as it was typed, by itself."""
    if selected.query is None:
        return database.columns(f"SELECT * FROM {selected.relation}")
    try:
        return database.columns(selected.query)
    except (sqlite3.ProgrammingError, sqlite3.Warning) as reason:  # several statements
        if "one statement" in str(reason):
            raise not_a_query(split_place(path)[0]) from None
        raise failed_query(reason, path) from reason


def _cells(database: Guarded, selected: Selection, names: list[str]) -> list[formats.CellTypes]:
    def mask(name: str) -> str:
        type_ = f"typeof({quote_name(name)})"
        marks = (f"{int(cells)}*max({type_}='{word}')" for word, cells in _TYPES.items())
        return "+".join(marks)

    sums = ", ".join(map(mask, names))
    ((*counts,),) = database.all(f"SELECT {sums} FROM {selected.relation}")
    return [formats.CellTypes(int(mask or 0)) for mask in counts]


# -------------------------------------------------------------------------------------------------
# A connection to SQLite that can read one file and do nothing else.
#
# The file is opened read-only. What a statement would do is decided before it runs: reading tables
# and calling functions that compute is allowed, the rest is not, whether the query asks for it or a
# view that is stored in the file.


_ALLOWED = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_RECURSIVE,
}
#: Functions that reach out of the database, or differ from pass to pass.
_DENIED = frozenset(
    {
        *("load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"),
        *("random", "randomblob"),
    }
)


class Guarded:
    """A connection that only reads."""

    def __init__(self, path: str, limits: Limits, computed: bool) -> None:
        self.path, self.limits = path, limits
        # Part of the limit of memory that one cell may take (64 MB), and the most that SQLite
        # knows.
        self._cell = int(min(limits.bytes / 32, 1_000_000_000))
        self._denied: list[str] = []
        file, _ = split_place(path)
        try:
            self._connection = sqlite3.connect(_address(file), uri=True, check_same_thread=False)
            self._protect()
        except sqlite3.Error as reason:
            raise _unreadable(path, reason) from reason
        stop = self._connection.interrupt
        self._watched = Watch(limits, path, "the query", stop, computed=computed)

    def _protect(self) -> None:
        connection = self._connection
        for pragma in ("query_only=ON", "trusted_schema=OFF", "cell_size_check=ON"):
            connection.execute(f"PRAGMA {pragma}").close()
        # Longest statement.
        for limit, value in (
            (sqlite3.SQLITE_LIMIT_LENGTH, self._cell),
            (sqlite3.SQLITE_LIMIT_SQL_LENGTH, 1 << 20),
            (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
            (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
        ):
            connection.setlimit(limit, value)
        connection.set_authorizer(self._decide)

    def _decide(self, action: int, first: Any, name: Any, *_: Any) -> int:
        if action == sqlite3.SQLITE_FUNCTION:
            if str(name).casefold() not in _DENIED:
                return sqlite3.SQLITE_OK
            self._denied.append(f"the function {name}")
        elif action in _ALLOWED:
            return sqlite3.SQLITE_OK
        elif str(first).startswith("sqlite_"):  # written to while a virtual table is set up
            self._denied.append("a virtual table")
        else:
            self._denied.append(_ACTIONS.get(action, "a statement that does more than read"))
        return sqlite3.SQLITE_DENY

    def columns(self, query: str) -> list[str]:
        """Names of the columns of a query."""
        cursor = self._run(query)
        names = [str(entry[0]) for entry in cursor.description or ()]
        cursor.close()
        return names

    def all(self, query: str) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        return [row for rows in self.batches(query, 1 << 16) for row in rows]

    def batches(self, query: str, rows: int) -> Iterator[list[tuple[Any, ...]]]:
        """The rows of a query, some at a time."""
        cursor = self._run(query)
        while True:
            try:
                rows_read = self._watched(lambda: cursor.fetchmany(rows))
            except sqlite3.Error as reason:
                raise self._explain(reason) from reason
            if not rows_read:
                return
            self._watched.count(len(rows_read))
            yield rows_read

    def _run(self, query: str) -> sqlite3.Cursor:
        self._denied = []
        try:
            return self._watched(lambda: self._connection.execute(query))
        except (InputError, sqlite3.ProgrammingError, sqlite3.Warning):
            raise  # a limit, or several statements: a matter of the caller
        except (sqlite3.Error, ValueError) as reason:
            raise self._explain(reason) from reason

    def _explain(self, reason: BaseException) -> InputError:
        if self._denied:
            return InputError(
                f"the query, or a view in the database, asks for {self._denied[0]}, which is not "
                "done: a database is read and nothing else.",
                file=self.path,
                remedy="Give a query that only reads its tables.",
            )
        if "too big" in str(reason):
            return InputError(
                f"a value of the query is too big: it has more than {self._cell:,} bytes.",
                file=self.path,
                remedy=f"Leave it out, or raise the limit: {describe_limit(self.limits, 'bytes')}.",
            )
        if "decode to UTF-8" in str(reason):
            return InputError(
                f"holds text that is not UTF-8 ({str(reason)[:80]}).",
                file=self.path,
                remedy="Correct it, or leave the column out by a query.",
            )
        if isinstance(reason, sqlite3.DatabaseError) and not isinstance(
            reason, sqlite3.OperationalError
        ):
            return _unreadable(self.path, reason)
        return failed_query(reason, self.path)

    def close(self) -> None:
        """Close the connection, unless a query works on that nothing stops."""
        if not self._watched.lost:
            self._connection.close()


def guard(path: str, limits: Limits, computed: bool = False) -> Guarded:
    """A connection to the database at a place."""
    return Guarded(path, limits, computed)


#: What is refused, in words.
_ACTIONS = {
    sqlite3.SQLITE_ATTACH: "another database (ATTACH)",
    sqlite3.SQLITE_DETACH: "another database (DETACH)",
    sqlite3.SQLITE_PRAGMA: "a setting (PRAGMA)",
    sqlite3.SQLITE_INSERT: "a change of rows (INSERT)",
    sqlite3.SQLITE_UPDATE: "a change of rows (UPDATE)",
    sqlite3.SQLITE_DELETE: "a change of rows (DELETE)",
    sqlite3.SQLITE_CREATE_VTABLE: "a virtual table",
    sqlite3.SQLITE_TRANSACTION: "a transaction",
}


def _address(file: str) -> str:
    """Read-only; a file that no other program writes to is not locked either.

    In the mode of a write-ahead log, reading would create files beside the database. Without a log
    there is nothing in it that is not in the file.
    """
    with Path(file).open("rb") as header:
        write_ahead = header.read(20)[18:20] == b"\x02\x02"
    log = Path(f"{file}-wal")
    logged = log.exists() and log.stat().st_size > 0
    immutable = "&immutable=1" if write_ahead and not logged else ""
    return f"file:{quote(str(Path(file).absolute()))}?mode=ro{immutable}"


def _unreadable(path: str, reason: BaseException) -> InputError:
    return InputError(
        f"cannot be read as a database of SQLite ({str(reason).rstrip('.')}).",
        file=path,
        remedy="Check that the file is whole, and that no other program is writing to it.",
    )


class QuerySource(source.FileSource):
    """One table or query of a database that answers in Arrow, of one database or of several."""

    by_file: tuple[str, ...] = ("selections",)

    def __init__(
        self,
        paths: list[str],
        options: TextOptions | None = None,
        partitions: Partitions | None = None,
    ) -> None:
        super().__init__(paths, None, partitions)
        self.limits = (options or TextOptions()).limits

    @abstractmethod
    def select(self, path: str) -> Selection:
        """The table or query that is meant."""

    @abstractmethod
    def answer(
        self, path: str, query: str, rows: int, selected: Selection
    ) -> AbstractContextManager[tuple[pa.RecordBatchReader, Watch]]:
        """The result of a query as a reader of batches, and what watches over its work."""

    def expression(self, name: str) -> str:
        """What is selected for a column."""
        return quote_name(name)

    @cached_property
    def selections(self) -> tuple[Selection, ...]:
        """The table or query of every database."""
        return tuple(map(self.select, self.paths))

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
            with self.answer(path, query, 1, selected) as (reader, _):
                schemas.append(reader.schema)
            source.refuse_duplicates(schemas[-1].names, path)
            source.refuse_difference(schemas[0].names, self.paths[0], schemas[-1].names, path)
        return schemas[0]

    def size(self, columns: int) -> float:
        """The bytes of this many columns of numbers in memory."""
        rows = 0
        for path, selected in zip(self.paths, self.selections, strict=True):
            query = f"SELECT count(*) FROM {selected.relation}"
            with self.answer(path, query, 1, selected) as (reader, watched):
                rows += int(watched(reader.read_all).column(0)[0].as_py())
        return 8.0 * rows * columns

    def file_batches(self, columns: list[str], rows: int) -> Iterator[source.LocatedBatch]:
        """Yield batches in the order of the files."""
        wanted = ", ".join(map(self.expression, columns))
        for (path, shown), selected in zip(self.files, self.selections, strict=True):
            start = 0
            query = f"SELECT {wanted} FROM {selected.relation}"
            with self.answer(path, query, rows, selected) as (reader, watched):
                while (batch := watched(partial(next, reader, None))) is not None:
                    watched.count(batch.num_rows)
                    for offset in range(0, batch.num_rows, rows):
                        piece = batch.slice(offset, rows)
                        yield source.LocatedBatch(piece, Location(shown, start + offset))
                    start += batch.num_rows


# -------------------------------------------------------------------------------------------------
# Tables and queries of DuckDB, as a stream of batches.
#
# The connection is read-only, without access to other files, without extensions, and its
# configuration is locked: a view that is stored in the file can do no more than the query.


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
_DUCKDB_TABLES = (
    "SELECT table_name, table_schema, table_type FROM information_schema.tables "
    "WHERE table_catalog = current_database() ORDER BY table_schema, table_name"
)


class DuckdbSource(QuerySource):
    """One table or query of DuckDB, of one file or of several alike."""

    def select(self, path: str) -> Selection:
        """The table or query that is meant."""
        return _select_duckdb(path, self.limits)

    def answer(
        self, path: str, query: str, rows: int, selected: Selection
    ) -> AbstractContextManager[tuple[pa.RecordBatchReader, Watch]]:
        """The result of a query as a reader of batches, and what watches over its work."""
        return _answer(path, query, rows, self.limits, selected)


@contextmanager
def _connect(
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
        config = {**_CLOSED, "memory_limit": f"{_plan_batch(limits)}MiB"}
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
        raise _explain_refusal(reason, path, duckdb, limits) from reason
    finally:
        if not watched.lost:
            connection.close()


def _plan_batch(limits: Limits) -> int:
    """MiB; connections to one file must agree on it, so it is only ever raised."""
    # Bytes that are as good as no limit.
    # Part of the limit of memory that DuckDB may plan with (256 MB): long texts count beside it.
    return int(min(max(limits.bytes, Limits().bytes), 2.0**50) / 8 / 2**20)


def _explain_refusal(reason: Exception, path: str, duckdb: Any, limits: Limits) -> InputError:
    if isinstance(reason, duckdb.PermissionException) or "disabled" in str(reason):
        return InputError(
            "the query, or a view in the database, reaches out of the file, which is not done "
            f"({str(reason).splitlines()[0].rstrip('.')}).",
            file=path,
            remedy="Give a query that only reads its tables.",
        )
    if isinstance(reason, duckdb.OutOfMemoryException):
        return InputError(
            f"the query needs more memory than a stream may take ({_plan_batch(limits)} MB).",
            file=path,
            remedy="Write its result to a table first and give that, or raise the limit: "
            f"{describe_limit(limits, 'bytes')}.",
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

    with _connect(path, limits, selected) as (connection, watched):
        reader = watched(begun)
        try:
            yield reader, watched
        finally:
            if not watched.lost:
                reader.close()


def _select_duckdb(path: str, limits: Limits) -> Selection:
    file, inside = split_place(path)
    with _connect(path, limits) as (connection, _):
        tables = {
            (name if schema == "main" else f"{schema}.{name}"): (schema, name, kind == "VIEW")
            for name, schema, kind in connection.execute(_DUCKDB_TABLES).fetchall()
        }
        plain = [shown for shown, (schema, *_) in tables.items() if schema == "main"]
        if inside is not None and inside in tables and inside not in plain:
            selected = Selection(quote_name(inside))
        else:
            selected = selection(inside, plain or list(tables), file)
        if selected.query is not None:
            _refuse_others(connection, selected.query, file)
            return selected
    shown = next(shown for shown in tables if quote_name(shown) == selected.relation)
    schema, name, view = tables[shown]
    relation = selected.relation if shown in plain else f"{quote_name(schema)}.{quote_name(name)}"
    return replace(selected, relation=relation, computed=view)


def _refuse_others(connection: Any, query: str, file: str) -> None:
    """Refuse several statements, and those that are no SELECT; nothing is executed for it."""
    import duckdb

    statements = connection.extract_statements(query)
    if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
        raise not_a_query(file)
