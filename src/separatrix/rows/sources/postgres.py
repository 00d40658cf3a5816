"""Tables and queries of PostgreSQL, as a stream of batches.

``postgresql://user@host/database::table or query``. A driver of ADBC copies the answer of the
server out in batches of Arrow. All passes see one snapshot: a connection that stays open exports
it, and every pass is a transaction of its own on it that can only read. A password never stands in
an address, since addresses are shown and stored: libpq finds it where it finds it for psql.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from separatrix.messages import InputError
from separatrix.rows.notations import Limits
from separatrix.rows.sources.databases import (
    QuerySource,
    Selection,
    not_a_query,
    quote_name,
    selection,
)
from separatrix.rows.sources.places import split_place
from separatrix.rows.sources.source import refuse_duplicates
from separatrix.rows.sources.watch import Watch

if TYPE_CHECKING:
    import pyarrow as pa


_ADDRESS = re.compile(r"postgres(ql)?://", re.IGNORECASE)

#: What may be read, and whether its name needs no schema; parts of a table are read with it.
_TABLES = (
    "SELECT c.relname, n.nspname, c.relkind::text, pg_table_is_visible(c.oid) FROM pg_class c "
    "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') "
    "AND NOT c.relispartition AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' "
    "AND has_table_privilege(c.oid, 'SELECT') ORDER BY n.nspname, c.relname"
)
_BATCH_BYTES = "adbc.postgresql.batch_size_hint_bytes"
#: A transaction that can only read, and the order of rows the same in every pass.
_READ_ONLY = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
_SAME_ORDER = (
    "SET LOCAL synchronize_seqscans = off",
    "SET LOCAL max_parallel_workers_per_gather = 0",
)


def is_postgres(text: str) -> bool:
    """Whether a text is an address of PostgreSQL."""
    return bool(_ADDRESS.match(text))


def check_address(text: str) -> str:
    """The address of a database; one with a password is refused without being shown."""
    file, _ = split_place(text)
    parts = urlsplit(file)
    secrets = [key for key, _ in parse_qsl(parts.query) if "password" in key.lower()]
    if parts.password is None and not secrets:
        return text
    host = parts.netloc.rpartition("@")[2]
    user = f"{parts.username}@" if parts.username else ""
    raise InputError(
        "the address holds a password, and addresses are shown and stored.",
        file=f"{parts.scheme}://{user}{host}{parts.path}",
        remedy="Leave it out, and set PGPASSWORD or write it to ~/.pgpass.",
    )


class PostgresSource(QuerySource):
    """One table or query of PostgreSQL, of one database or of several alike."""

    by_file = ("selections", "snapshots")
    of_this_process = ("_holders",)

    @cached_property
    def _holders(self) -> tuple[_Holder, ...]:
        """Connections that keep the snapshots for as long as this source is in use."""
        holders = tuple(_hold(path, self.limits) for path in self.paths)
        for holder in holders:
            weakref.finalize(self, holder.close)
        return holders

    @cached_property
    def snapshots(self) -> tuple[str, ...]:
        """What every pass reads, by the name under which the server exports it."""
        return tuple(holder.snapshot for holder in self._holders)

    def _snapshot(self, path: str) -> str:
        return self.snapshots[self.paths.index(path)]

    def select(self, path: str) -> Selection:
        """The table or query that is meant, numbers of any precision as doubles."""
        file, inside = split_place(path)
        with _transaction(path, self._snapshot(path), self.limits, computed=False) as run:
            found = run(_TABLES, 1)[0].read_all().to_pylist()
        tables: dict[str, tuple[str, bool]] = {}
        for row in found:
            name, schema, kind, visible = row.values()
            relation = f"{quote_name(schema)}.{quote_name(name)}"
            tables[name if visible else f"{schema}.{name}"] = (relation, kind in "vm")
        selected = selection(inside, list(tables), file)
        if selected.query is None:
            shown = next(shown for shown in tables if quote_name(shown) == selected.relation)
            relation, view = tables[shown]
            selected = replace(selected, relation=relation, computed=view)
        else:
            selected = replace(selected, relation=f"{selected.relation} AS answer")
        with self.answer(path, f"SELECT * FROM {selected.relation} LIMIT 0", 1, selected) as (
            reader,
            _,
        ):
            refuse_duplicates(reader.schema.names, path)
            columns = {quote_name(field.name): _cast(field.type) for field in reader.schema}
        if set(columns.values()) == {"{}"}:
            return selected
        wanted = ", ".join(f"{cast.format(name)} AS {name}" for name, cast in columns.items())
        return replace(selected, relation=f"(SELECT {wanted} FROM {selected.relation}) AS typed")

    def answer(
        self, path: str, query: str, rows: int, selected: Selection
    ) -> AbstractContextManager[tuple[pa.RecordBatchReader, Watch]]:
        """The result of a query as a reader of batches, and what watches over its work."""
        return _answer(path, query, rows, self._snapshot(path), self.limits, selected.computed)


def _cast(type_: pa.DataType) -> str:
    """How a column is read whose type Arrow does not have: as numbers, seconds or text."""
    import pyarrow as pa

    if pa.types.is_interval(type_):
        return "extract(epoch FROM {})::float8"
    if not isinstance(type_, pa.BaseExtensionType):
        return "{}"
    return "{}::float8" if getattr(type_, "type_name", "") == "numeric" else "{}::text"


@contextmanager
def _answer(
    path: str, query: str, rows: int, snapshot: str, limits: Limits, computed: bool
) -> Iterator[tuple[pa.RecordBatchReader, Watch]]:
    with _transaction(path, snapshot, limits, computed=computed) as run:
        yield run(query, rows)


# -------------------------------------------------------------------------------------------------
# Connections: one that holds the snapshot, and one for every pass.


@dataclass(frozen=True)
class _Holder:
    """An open transaction, and the name of its snapshot."""

    connection: Any
    snapshot: str

    def close(self) -> None:
        """End the transaction: nobody can read the snapshot after that."""
        with suppress(Exception):  # the server may have ended it before
            self.connection.close()


def _hold(path: str, limits: Limits) -> _Holder:
    watched = Watch(limits, path, "the server", lambda: None, computed=False)
    with _explain_errors(path):
        connection = watched(lambda: _connect(path))
        with connection.cursor() as cursor:
            cursor.execute(_READ_ONLY)
            # The server may end transactions that wait; this one waits for the passes to come.
            cursor.execute("SET idle_in_transaction_session_timeout = 0")
            cursor.execute("SELECT pg_export_snapshot()")
            return _Holder(connection, str(cursor.fetchone()[0]))


@contextmanager
def _transaction(
    path: str, snapshot: str, limits: Limits, *, computed: bool
) -> Iterator[Callable[[str, int], tuple[pa.RecordBatchReader, Watch]]]:
    """A transaction on a snapshot; what is yielded answers one query with a reader of batches."""
    connecting = Watch(limits, path, "the server", lambda: None, computed=False)
    with _explain_errors(path):
        connection = connecting(lambda: _connect(path))
        cursor = connection.cursor()
        watched = Watch(limits, path, "the query", cursor.adbc_cancel, computed=computed)

        def run(query: str, rows: int) -> tuple[pa.RecordBatchReader, Watch]:
            # About a hundred bytes a row; the driver's own batches have 16 MB.
            cursor.adbc_statement.set_options(**{_BATCH_BYTES: str(max(1 << 16, 100 * rows))})
            watched(lambda: cursor.execute(query))
            return cursor.fetch_record_batch(), watched

        try:
            for statement in (_READ_ONLY, f"SET TRANSACTION SNAPSHOT '{snapshot}'", *_SAME_ORDER):
                cursor.execute(statement)
            yield run
        finally:
            if not watched.lost:
                with suppress(Exception):  # nothing is under way any more
                    cursor.adbc_cancel()
                with suppress(Exception):  # the answer was left before its end
                    cursor.close()
                connection.close()


def _connect(path: str) -> Any:
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        file, _ = split_place(path)
        raise InputError(
            "PostgreSQL is read by a driver that is not installed.",
            file=file,
            remedy="Install it: pip install 'separatrix[postgresql]'; or have the database write "
            "the rows: psql -c \"\\copy (SELECT …) TO 'rows.csv' CSV HEADER\".",
        ) from None
    file, _ = split_place(path)
    return dbapi.connect(file)


@contextmanager
def _explain_errors(path: str) -> Iterator[None]:
    """Errors of the driver as refusals, in the words of the server."""
    try:
        yield
    except (InputError, GeneratorExit, KeyboardInterrupt):
        raise
    except Exception as reason:
        if not type(reason).__module__.startswith(("adbc_driver_manager", "pyarrow")):
            raise
        raise _refusal(reason, path) from None  # its traceback shows the whole statement


#: Words of the server, and what to do.
_REMEDIES = (
    ("snapshot", "Scan the table again: its connection to the server has ended."),
    ("multiple commands", ""),
    ("read-only transaction", ""),
    ("syntax error", "Check the query; it must begin with SELECT or WITH."),
    ("permission denied", "Ask for the right to read it, or name another table."),
    ("password", "Set PGPASSWORD or write it to ~/.pgpass."),
    ("does not exist", "Check the names in the address and in the query."),
    ("connection", "Check the address: postgresql://user@host:port/database::table."),
)


def _refusal(reason: Exception, path: str) -> InputError:
    file, _ = split_place(path)
    lines = [line.strip() for line in str(reason).splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"(ERROR|FATAL):", line)] or lines[:1]
    message = errors[0] if errors else type(reason).__name__
    detail = re.sub(r"^.*(ERROR|FATAL|Failed to connect):\s*", "", message)
    for words, remedy in _REMEDIES:
        if words in detail:
            if not remedy:
                return not_a_query(file)
            break
    else:
        remedy = "Check the query."
    return InputError(
        f"the database does not answer ({detail[:200].rstrip('.')}).", file=file, remedy=remedy
    )
