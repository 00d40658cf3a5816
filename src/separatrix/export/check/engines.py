"""Runs what was exported: SQL in DuckDB or SQLite, Python in an interpreter of its own."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from separatrix.export.check.compare import CheckFailed
from separatrix.messages import InputError

#: Rows by name of their columns.
Records = list[dict[str, Any]]

_DRIVER = (
    "import json, runpy, sys\n"
    "predict = runpy.run_path(sys.argv[1])['predict']\n"
    "rows = json.load(sys.stdin)\n"
    "json.dump([list(predict(row).values()) for row in rows], sys.stdout)\n"
)


def run_python(text: str, table: pa.Table) -> list[list[Any]]:
    """The answers of an exported module, by column, in a fresh and isolated interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "exported.py"
        path.write_text(text, encoding="utf-8")
        rows = json.dumps([_plain(row) for row in table.to_pylist()])
        done = subprocess.run(
            [sys.executable, "-I", "-c", _DRIVER, str(path)],
            input=rows.encode(),
            capture_output=True,
            check=False,
        )
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        return _failed("Python", last[0] if last else "it ended without words")
    answers = json.loads(done.stdout)
    return [list(column) for column in zip(*answers, strict=True)]


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row as JSON can hold it: dates as ISO text."""
    return {k: v.isoformat() if hasattr(v, "isoformat") else v for k, v in row.items()}


def run_duckdb(query: str, table: pa.Table, name: str, ids: int) -> list[list[Any]]:
    """The answers of a query on ``table`` under the name ``name``, by column, without ids."""
    try:
        import duckdb
    except ImportError as problem:
        raise InputError(
            "SQL is checked in DuckDB, which is not installed.",
            remedy="Run: pip install 'separatrix[sql]'",
        ) from problem

    with duckdb.connect(":memory:") as connection:
        connection.register(name, table)
        try:
            rows = connection.sql(query).fetchall()
        except duckdb.Error as problem:
            return _failed("DuckDB", str(problem))
    return _by_column(sorted(rows, key=lambda row: row[0]), ids)


def run_sqlite(query: str, table: pa.Table, name: str, ids: int) -> list[list[Any]]:
    """The same in SQLite."""
    connection = sqlite3.connect(":memory:")
    try:
        columns = ", ".join(_quoted(column) for column in table.column_names)
        connection.execute(f"CREATE TABLE {_quoted(name)} ({columns})")
        marks = ", ".join("?" for _ in table.column_names)
        rows = [list(_plain(row).values()) for row in table.to_pylist()]
        connection.executemany(f"INSERT INTO {_quoted(name)} VALUES ({marks})", rows)
        found = connection.execute(query).fetchall()
    except sqlite3.Error as problem:
        return _failed("SQLite", str(problem))
    finally:
        connection.close()
    return _by_column(sorted(found, key=lambda row: row[0]), ids)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _by_column(rows: Sequence[Sequence[Any]], ids: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)][ids:]


def _failed(engine: str, why: str) -> list[list[Any]]:
    raise CheckFailed(f"{engine} does not run the export ({why.splitlines()[0]}).")
