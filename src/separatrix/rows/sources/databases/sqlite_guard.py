"""A connection to SQLite that can read one file and do nothing else.

The file is opened read-only. What a statement would do is decided before it runs: reading tables
and calling functions that compute is allowed, the rest is not, whether the query asks for it or a
view that is stored in the file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from separatrix.messages import InputError
from separatrix.rows.notations.options import Limits
from separatrix.rows.sources.databases.queries import failed_query
from separatrix.rows.sources.places.files import split_place
from separatrix.rows.sources.watch import Watch, raised

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
#: Longest statement.
_LONGEST = 1 << 20
#: Part of the limit of memory that one cell may take (64 MB), and the most that SQLite knows.
_PART, _MOST = 32, 1_000_000_000


class Guarded:
    """A connection that only reads."""

    def __init__(self, path: str, limits: Limits, computed: bool) -> None:
        self.path, self.limits = path, limits
        self._cell = int(min(limits.bytes / _PART, _MOST))
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
        for limit, value in (
            (sqlite3.SQLITE_LIMIT_LENGTH, self._cell),
            (sqlite3.SQLITE_LIMIT_SQL_LENGTH, _LONGEST),
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
                found = self._watched(lambda: cursor.fetchmany(rows))
            except sqlite3.Error as reason:
                raise self._explained(reason) from reason
            if not found:
                return
            self._watched.count(len(found))
            yield found

    def _run(self, query: str) -> sqlite3.Cursor:
        self._denied = []
        try:
            return self._watched(lambda: self._connection.execute(query))
        except (InputError, sqlite3.ProgrammingError, sqlite3.Warning):
            raise  # a limit, or several statements: a matter of the caller
        except (sqlite3.Error, ValueError) as reason:
            raise self._explained(reason) from reason

    def _explained(self, reason: BaseException) -> InputError:
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
                remedy=f"Leave it out, or raise the limit: {raised(self.limits, 'bytes')}.",
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


def guarded(path: str, limits: Limits, computed: bool = False) -> Guarded:
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
