"""PostgreSQL beside a server of its own; skipped where the operating system has none."""

import gc
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import separatrix as sx
from separatrix.cli import main
from separatrix.messages import InputError

dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="the driver is not installed")

N = 4_000


def _binaries() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


def _table() -> pa.Table:
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(2, N))
    town = rng.choice(["u", "v", "w"], N)
    y = 2.0 * a - b + (town == "v") + 0.1 * rng.normal(size=N)
    return pa.table({"a": a, "Town": town, "b": b, "y": y})


TABLE = _table()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a database with a few tables, of a server that ends with the tests."""
    binaries = _binaries()
    if binaries is None:
        pytest.skip("no server of PostgreSQL on this machine")
    # The server refuses to run as root, and cannot enter a folder that only root may.
    user: dict[str, Any] = {"user": "postgres"} if os.geteuid() == 0 else {}
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    folder.chmod(0o777)
    run = {"cwd": folder, "check": True, "stdout": subprocess.DEVNULL, **user}
    try:
        subprocess.run(
            [binaries / "initdb", "-D", folder / "data", "-A", "trust", "-U", "owner", "-N"], **run
        )
    except (subprocess.CalledProcessError, PermissionError, LookupError):
        shutil.rmtree(folder, ignore_errors=True)
        pytest.skip("PostgreSQL cannot be started by this user")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [
            *(binaries / "postgres", "-D", folder / "data", "-p", str(port), "-k", folder, "-F"),
            *("-c", "listen_addresses=127.0.0.1", "-c", "timezone=UTC"),
        ],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **user,
    )
    found = f"postgresql://owner@127.0.0.1:{port}/postgres"
    try:
        _fill(found)
        yield found
    finally:
        gc.collect()
        server.terminate()
        server.wait(20)
        shutil.rmtree(folder, ignore_errors=True)


def _fill(address: str) -> None:
    for _ in range(100):
        try:
            connection = dbapi.connect(address, autocommit=True)
            break
        except dbapi.Error:
            time.sleep(0.1)
    with connection, connection.cursor() as cursor:
        cursor.adbc_ingest("plain", TABLE, mode="create")
        for statement in (
            "CREATE VIEW seen AS SELECT * FROM plain WHERE b > 0",
            "CREATE SCHEMA other",
            "CREATE TABLE other.plain AS SELECT a, y FROM plain LIMIT 100",
            "CREATE TABLE kinds AS SELECT y, a::numeric(12, 6) AS amount, b > 0 AS flag, "
            "make_interval(secs => a) AS span, date '2020-01-01' + (10 * a)::int AS day, "
            "gen_random_uuid() AS key, jsonb_build_object('b', b > 0) AS document FROM plain",
            "CREATE TABLE growing AS SELECT a, y FROM plain",
            "CREATE TABLE empty (a float8, y float8)",
            "CREATE ROLE reader LOGIN",
        ):
            cursor.execute(statement)


def _execute(address: str, statement: str) -> list[Any]:
    with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall() if statement.startswith("SELECT") else []


def _ridge(source: Any) -> Any:
    return sx.Ridge().fit(sx.scan(source, target="y"))


def test_a_table_is_the_same_in_memory(address: str) -> None:
    model = _ridge(f"{address}::plain")
    of_table = _ridge(TABLE)
    np.testing.assert_allclose(model.coef_, of_table.coef_, rtol=1e-13)
    np.testing.assert_array_equal(
        model.predict(f"{address}::plain"), model.predict(TABLE.select(["a", "Town", "b"]))
    )


@pytest.mark.parametrize(
    ("inside", "rows"),
    [
        ("PLAIN", TABLE),
        ("seen", TABLE.filter(pa.compute.greater(TABLE["b"], 0.0))),
        ("other.plain", TABLE.slice(0, 100).select(["a", "y"])),
        ('SELECT y, "Town", a::numeric AS a FROM plain', TABLE.select(["y", "Town", "a"])),
    ],
)
def test_tables_views_and_queries(address: str, inside: str, rows: pa.Table) -> None:
    model = _ridge(f"{address}::{inside}")
    np.testing.assert_allclose(model.coef_, _ridge(rows).coef_, rtol=1e-9)


def test_types_that_arrow_does_not_have(address: str) -> None:
    rows = sx.scan(f"{address}::kinds", target="y")
    kinds = {column.name: str(column.kind) for column in rows.schema.columns}
    assert kinds == {
        **{"amount": "numeric", "flag": "boolean", "span": "numeric", "day": "numeric"},
        "document": "discrete",  # and the key is left out as an identifier
    }
    block = next(iter(rows.blocks()))
    at = [term.column for term in block.terms].index("span")
    np.testing.assert_allclose(block.x[:, at], TABLE["a"].to_numpy()[: block.n], atol=1e-6)


def test_all_passes_see_one_snapshot(address: str) -> None:
    rows = sx.scan(f"{address}::growing", target="y")
    before = _ridge(TABLE.select(["a", "y"])).coef_
    _execute(address, "INSERT INTO growing SELECT a, -100 * y FROM growing")
    np.testing.assert_allclose(sx.Ridge().fit(rows).coef_, before, rtol=1e-12)
    assert abs(_ridge(f"{address}::growing").coef_[0] - before[0]) > 1.0


def test_connections_end_with_the_rows(address: str) -> None:
    def others() -> int:
        sessions = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
        return int(_execute(address, sessions)[0][0]) - 1

    gc.collect()
    before = others()
    rows = sx.scan(f"{address}::plain", target="y")
    next(iter(rows.blocks()))  # left before its end
    assert others() > before
    del rows
    gc.collect()
    until = time.monotonic() + 5.0
    while others() > before and time.monotonic() < until:
        time.sleep(0.05)
    assert others() <= before


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        ("DROP TABLE plain", "one query that begins with SELECT"),
        ("SELECT a, y FROM plain; DROP TABLE plain", "does not answer"),
        ("SELECT 1 AS a, 2 AS y) AS x; DROP TABLE plain; SELECT * FROM (SELECT 1", "one query"),
        ("WITH x AS (DELETE FROM plain RETURNING *) SELECT * FROM x", "does not answer"),
        ("SELECT nextval('a') AS y", "does not answer"),
        ("SELECT set_config('transaction_read_only', 'off', true) AS y, a FROM plain", "write"),
        ("SELECT a, a, y FROM plain", "two columns have this name"),
        ("nowhere", "no table 'nowhere'"),
        ("plaim", "Did you mean 'plain'"),
        ("SELECT nothing FROM plain", '"nothing" does not exist'),
        ("", "tables, and one is read"),
        ("empty", "has no rows"),
    ],
)
def test_refusals_leave_the_table_as_it_is(address: str, inside: str, words: str) -> None:
    place = f"{address}::{inside}" if inside else address
    with pytest.raises(InputError, match=words):
        sx.scan(place, target="y").schema  # noqa: B018
    assert _execute(address, "SELECT count(*) FROM plain")[0][0] == N


@pytest.mark.parametrize("query", ["generate_series(1, 100000000000) AS y", "pg_sleep(90), 1 AS y"])
def test_a_query_without_end_is_given_up(address: str, query: str) -> None:
    begun = time.monotonic()
    place = f"{address}::SELECT 1 AS a, {query}"
    with pytest.raises(InputError, match="takes more than 0"):
        sx.scan(place, target="y", limits={"seconds": 0.5}).count_rows()
    assert time.monotonic() - begun < 20.0


def test_rights_are_those_of_the_account(address: str) -> None:
    as_reader = address.replace("owner@", "reader@")
    with pytest.raises(InputError, match="permission denied"):
        sx.scan(f"{as_reader}::SELECT * FROM plain", target="y")
    with pytest.raises(InputError, match="has no tables"):
        sx.scan(f"{as_reader}::plain", target="y")


@pytest.mark.parametrize("form", ["owner:hunter2@{}", "owner@{}?password=hunter2"])
def test_a_password_is_never_shown(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    place = f"postgresql://{form.format('127.0.0.1:1/postgres')}::plain"
    with pytest.raises(InputError) as refusal:
        sx.scan(place, target="y")
    assert "hunter2" not in str(refusal.value)
    assert "PGPASSWORD" in str(refusal.value)
    with pytest.raises(SystemExit):
        main(["fit", place, "--target", "y"])
    shown = capsys.readouterr()
    assert "hunter2" not in shown.out + shown.err


def test_no_server() -> None:
    with pytest.raises(InputError, match=r"refused.*Check the address"):
        sx.scan("postgresql://127.0.0.1:1/postgres::plain", target="y")


def test_without_the_driver_a_way_round_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "adbc_driver_postgresql", None)
    with pytest.raises(InputError, match=r"separatrix\[postgresql\].*copy"):
        sx.scan("postgresql://127.0.0.1:1/postgres::plain", target="y")


def test_the_server_goes_away(address: str) -> None:
    rows = sx.scan(f"{address}::plain", target="y")
    _execute(
        address,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE pid <> pg_backend_pid() AND state LIKE 'idle in%'",
    )
    with pytest.raises(InputError, match="Scan the table again"):
        sx.Ridge().fit(rows)


def test_passes_at_once(address: str) -> None:
    rows = sx.scan(f"{address}::plain", target="y")
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(sx.Ridge().fit(rows).coef_)) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    for coef in found:
        np.testing.assert_array_equal(coef, found[0])
