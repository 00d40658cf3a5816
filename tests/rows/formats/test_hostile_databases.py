"""Databases that try to do more than be read: refused in words, nothing done, nothing written."""

from __future__ import annotations

import signal
import sqlite3
import threading
import time

import duckdb
import numpy as np
import pandas as pd
import pytest

from separatrix import InputError, scan
from separatrix.cli.options import with_flags

from .conftest import write_duckdb, write_sqlite

FRAME = pd.DataFrame({"x": np.arange(12.0), "y": np.arange(12.0) ** 2})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two databases with tables, and views that reach for more."""
    folder = tmp_path_factory.mktemp("databases")
    (folder / "secret.csv").write_text("x,y\n1,2\n3,4\n")
    write_sqlite(folder / "other.sqlite", secrets=FRAME)
    path = write_sqlite(folder / "t.sqlite", t=FRAME, other=FRAME)
    connection = sqlite3.connect(path)
    connection.executescript(
        """
        CREATE VIEW loads AS SELECT x, load_extension('evil') AS y FROM t;
        CREATE VIEW chance AS SELECT x, random() AS y FROM t;
        CREATE VIEW endless AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)
            SELECT count(*) AS x, 1 AS y FROM c;
        CREATE VIEW huge AS SELECT zeroblob(500000000) AS x, y FROM t;
        CREATE VIEW settings AS SELECT * FROM pragma_database_list;
        CREATE TRIGGER evil AFTER INSERT ON t BEGIN DELETE FROM other; END;
        """
    )
    connection.close()
    path = write_duckdb(folder / "t.duckdb", t=FRAME, other=FRAME)
    connection = duckdb.connect(str(path))
    connection.execute("CREATE SCHEMA s; CREATE TABLE s.inner AS SELECT * FROM t")
    secret = folder / "secret.csv"
    connection.execute(f"CREATE VIEW reads AS SELECT * FROM read_csv('{secret}')")
    connection.close()
    return folder


def _state(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


STATEMENTS = [
    "INSERT INTO t VALUES (1, 2)",
    "DELETE FROM t",
    "ATTACH 'other.sqlite' AS o",
    "PRAGMA journal_mode = DELETE",
    "SELECT * FROM t; DROP TABLE t",
    "SELECT * FROM t; SELECT * FROM other",
    "WITH gone AS (SELECT 1) DELETE FROM t",
    "-- nothing",
]


@pytest.mark.parametrize("file", ["t.sqlite", "t.duckdb"])
@pytest.mark.parametrize("statement", STATEMENTS)
def test_only_one_select_is_executed(folder, file, statement):
    before = _state(folder)
    with pytest.raises(InputError, match=r"nothing else|only reads|does not answer") as refusal:
        scan(f"{folder / file}::{statement}", target="y").read()
    assert file in str(refusal.value)
    assert _state(folder) == before


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        ("loads", "load_extension"),
        ("SELECT x, load_extension('/tmp/x.so') AS y FROM t", "the function load_extension"),
        ("chance", "the function random"),
        ("settings", "virtual table|a setting"),
        ("SELECT * FROM pragma_table_info('t')", "a virtual table|a setting"),
        ("huge", "too big"),
        ("SELECT readfile('secret.csv') AS x, y FROM t", "does not answer"),
        ("SELECT absent, y FROM t", "no such column: absent"),
        ("SELECT x, y FROM o.secrets", "no such table"),
    ],
)
def test_queries_and_views_of_sqlite_stay_in_the_file(folder, inside, words):
    before = _state(folder)
    with pytest.raises(InputError, match=words):
        scan(f"{folder / 't.sqlite'}::{inside}", target="y").read()
    assert _state(folder) == before


ENDLESS = (
    "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n AS x, n AS y FROM c"
)
SELF = "SELECT a.range AS x, b.range AS y FROM range(1000000) a, range(1000000) b"


@pytest.mark.parametrize(
    ("inside", "limits", "words"),
    [
        ("t.sqlite::endless", {"seconds": 0.2}, r"more than 0\.2 seconds"),
        (f"t.sqlite::{ENDLESS}", {"seconds": 0.2}, r"limits=\{'seconds': 2\}"),
        (
            f"t.sqlite::{ENDLESS} LIMIT 3000",
            {"rows": 2000},
            r"has more than 2,000 rows.*'rows': 2e",
        ),
        (
            "t.sqlite::SELECT printf('%.*c', 2000000000, 'x') AS x, 1 AS y",
            {"seconds": 0.2},
            "than 0",
        ),
        ("t.sqlite::SELECT zeroblob(80000000) AS x, 1 AS y", {}, r"too big.*'bytes'"),
        (f"t.duckdb::{SELF}", {"seconds": 0.2}, "more than 0.2 seconds"),
        (f"t.duckdb::{SELF}", {"rows": 100_000}, "more than 100,000 rows"),
        ("t.duckdb::SELECT repeat('x', 300000000) AS x, 1 AS y", {"bytes": 5e7}, "of memory"),
        (
            "t.duckdb::SELECT sum(range) AS x, 1 AS y FROM range(100000000000)",
            {"seconds": 0.2},
            "0.2",
        ),
    ],
)
def test_what_would_not_end_is_given_up_and_the_limit_named(folder, inside, limits, words):
    before = time.monotonic()
    with pytest.raises(InputError, match=words) as refusal:
        scan(str(folder / inside), target="y", limits=limits).read()
    assert str(refusal.value).count("file ") == 1
    assert with_flags(str(refusal.value)).count("--limit ") == 1
    assert time.monotonic() - before < 60


@pytest.mark.parametrize(
    "inside",
    [
        "t.sqlite::endless",
        "t.sqlite::SELECT printf('%.*c', 2000000000, 'x') AS x, 1 AS y",
        "t.duckdb::SELECT sum(range) AS x, 1 AS y FROM range(100000000000)",
    ],
)
def test_an_interruption_acts_while_a_database_works(folder, inside):
    main = threading.main_thread().ident
    timer = threading.Timer(0.5, signal.pthread_kill, (main, signal.SIGINT))
    before, old = time.monotonic(), signal.signal(signal.SIGINT, signal.default_int_handler)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            scan(str(folder / inside), target="y").read()
    finally:
        signal.signal(signal.SIGINT, old)
    assert time.monotonic() - before < 30


def test_tables_are_as_long_as_their_file(folder):
    for file in ("t.sqlite", "t.duckdb"):
        assert len(scan(f"{folder / file}::t", target="y", limits={"rows": 2}).read()) == 12
        with pytest.raises(InputError, match="more than 2 rows"):
            scan(f"{folder / file}::SELECT * FROM t", target="y", limits={"rows": 2}).read()


def test_limits_that_are_none(folder):
    with pytest.raises(InputError, match="Did you mean 'seconds'"):
        scan(folder / "t.sqlite", limits={"second": 3})
    with pytest.raises(InputError, match="positive number"):
        scan(folder / "t.sqlite", limits={"rows": 0})


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        ("reads", "reaches out of the file"),
        ("SELECT * FROM read_csv('{}')", "reaches out of the file"),
        ("SELECT * FROM '{}'", "reaches out of the file"),
        ("SELECT * FROM read_text('{}')", "reaches out of the file"),
        ("SELECT * FROM glob('/etc/*')", "reaches out of the file"),
        ("COPY t TO '{}'", "nothing else"),
        ("INSTALL httpfs", "nothing else"),
        ("LOAD httpfs", "nothing else"),
        ("SET enable_external_access = true", "nothing else"),
        ("SELECT * FROM FRAME", "does not exist"),
        ("nothing", "there is no table 'nothing'"),
    ],
)
def test_queries_and_views_of_duckdb_stay_in_the_file(folder, inside, words):
    before = _state(folder)
    with pytest.raises(InputError, match=words):
        scan(f"{folder / 't.duckdb'}::{inside.format(folder / 'secret.csv')}", target="y").read()
    assert _state(folder) == before


def test_names_that_are_missing_or_mistyped(folder):
    for file in ("t.sqlite", "t.duckdb"):
        with pytest.raises(InputError, match=r"tables, and one is read\. Name one: .*::"):
            scan(folder / file)
        with pytest.raises(InputError, match="Did you mean 'other'"):
            scan(f"{folder / file}::othr")
    assert scan(f"{folder / 't.duckdb'}::s.inner", target="y").schema.names == ("x",)


def test_files_that_are_no_database(tmp_path):
    (tmp_path / "a.db").write_bytes(b"x,y\n1,2\n")
    with pytest.raises(InputError, match="is not a database of SQLite or DuckDB"):
        scan(tmp_path / "a.db")
    (tmp_path / "b.db").write_bytes(b"SQLite format 3\0" + b"\x10\x00" + bytes(3000))
    with pytest.raises(InputError, match="cannot be read as a database of SQLite"):
        scan(tmp_path / "b.db")
    (tmp_path / "c.duckdb").write_bytes(bytes(8) + b"DUCK" + bytes(5000))
    with pytest.raises(InputError, match="cannot be opened as a database of DuckDB"):
        scan(tmp_path / "c.duckdb")
    path = write_sqlite(tmp_path / "d.db", t=pd.concat([FRAME] * 300))
    data = bytearray(path.read_bytes())
    data[4096:8192] = bytes(range(256)) * 16
    path.write_bytes(data)
    with pytest.raises(InputError, match="database"):
        scan(path, target="y").read()


def test_a_log_that_is_empty_leaves_no_files_behind(tmp_path):
    path = write_sqlite(tmp_path / "w.db", t=FRAME)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    assert len(scan(path, target="y").read()) == 12
    assert [p.name for p in tmp_path.iterdir()] == ["w.db"]
    connection = sqlite3.connect(path)  # rows that are in the log alone count, too
    connection.execute("INSERT INTO t VALUES (12, 144)")
    connection.commit()
    assert len(scan(path, target="y").read()) == 13
    connection.close()


def test_the_missing_library_is_named(folder, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    with pytest.raises(InputError, match=r"pip install 'separatrix\[duckdb\]'"):
        scan(f"{folder / 't.duckdb'}::t")
