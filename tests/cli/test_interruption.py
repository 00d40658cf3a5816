"""Interruptions: what is complete is shown, nothing half-written is left, and no traceback."""

from __future__ import annotations

import ctypes
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from separatrix.cli.failure import Interruptions
from tests.cli.conftest import interrupted

RESULTS = {
    "model.sx",
    "report.html",
    "predictions.csv",
    "result.json",
    "study.toml",
    "importance.csv",
}


def is_clean(here: Path, *known: str) -> bool:
    return {p.name for p in here.iterdir()} <= {"table.csv", *known}


def test_an_interruption_while_working(here) -> None:
    rng = np.random.default_rng(0)
    columns = {f"x{j}": rng.normal(size=10_000) for j in range(12)}
    columns["y"] = sum(columns.values()) + rng.standard_cauchy(10_000)
    pq.write_table(pa.table(columns), here / "t.parquet")
    words = ["fit", "t.parquet", "--target", "y", "--models", "least_absolute,polynomial"]
    interrupted(words, at="[2/")
    assert {p.name for p in here.iterdir()} == {"t.parquet"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_while_writing(command, here, table, monkeypatch, number) -> None:
    import separatrix.report

    for name in RESULTS:
        (here / "m").mkdir(exist_ok=True)
        (here / "m" / name).write_text("old")
    monkeypatch.setattr(separatrix.report, "write", lambda *_: signal.raise_signal(number))
    for out in ("m", "new"):
        ran = command("fit", table, "--target", "y", "--models", "ridge", "--out", out, "--json")
        assert ran.code == 128 + number
        error = ran.document["error"]
        assert error["kind"] == "interrupted"
        assert "no model was stored" in error["message"]
        assert [entry["name"] for entry in error["leaderboard"]] == ["baseline", "ridge"]
        assert error["winner"] == "ridge"
    assert {p.name: p.read_text() for p in (here / "m").iterdir()} == dict.fromkeys(RESULTS, "old")
    assert is_clean(here, "m")


@pytest.mark.usefixtures("plain_page")
def test_files_move_together_whatever_arrives_meanwhile(command, here, table, monkeypatch) -> None:
    from separatrix.cli import results

    move = results._move

    def disturbed(partial: Path, place: Path) -> None:
        signal.raise_signal(signal.SIGTERM)
        move(partial, place)

    monkeypatch.setattr(results, "_move", disturbed)
    assert command("fit", table, "--target", "y", "--models", "linear", "--out", "m").code == 143
    assert {p.name for p in (here / "m").iterdir()} == RESULTS
    assert is_clean(here, "m")
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL  # as it was before the command


def test_an_interruption_after_the_comparison_still_shows_the_leaderboard(
    command, here, table, monkeypatch
) -> None:
    import separatrix.report

    monkeypatch.setattr(separatrix.report, "write", lambda *_: signal.raise_signal(signal.SIGINT))
    ran = command("fit", table, "--target", "y", "--models", "linear,ridge", "--out", "m")
    assert ran.code == 130
    assert "→ linear" in ran.out
    assert "ridge" in ran.out
    assert "Chosen: linear." in ran.out
    assert "Held-out test set (" not in ran.out
    assert ran.err.rstrip().endswith("Interrupted after the comparison; no model was stored.")
    assert is_clean(here)


def test_an_interruption_before_the_comparison_is_done_shows_none(
    command, here, table, monkeypatch
) -> None:
    from separatrix.cli.progress import Lines

    def interrupt(_: Lines, stage: str, done: int, total: int) -> None:
        if stage == "comparing linear":
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Lines, "__call__", interrupt)
    ran = command("fit", table, "--target", "y", "--models", "linear")
    assert (ran.code, ran.out) == (130, "")
    assert "no partial results were written" in ran.err


def test_an_interruption_where_python_cannot_raise_comes_again(capsys, monkeypatch) -> None:
    """Such as the callbacks of a compiler: what they raise is printed and forgotten."""
    callback = ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))
    arrived = False
    with Interruptions() as interruptions:
        try:
            callback()
            time.sleep(20)
        except KeyboardInterrupt:
            arrived = True
    assert arrived
    assert interruptions.happened
    assert interruptions.code == 130
    assert capsys.readouterr().err == ""

    def other() -> None:
        raise RuntimeError("boom")

    seen = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    with Interruptions():
        ctypes.CFUNCTYPE(None)(other)()
    assert [type(lost.exc_value) for lost in seen] == [RuntimeError]  # others go where they went
    assert sys.unraisablehook == seen.append


def test_an_interruption_waits_until_a_loop_is_compiled_and_a_second_one_does_not(
    capsys,
) -> None:
    """Raised inside, it can leave the compiler locked for other threads, which wait forever."""
    from numba.core.compiler_lock import global_compiler_lock

    events = []
    with Interruptions() as interruptions:
        try:
            with global_compiler_lock:
                signal.raise_signal(signal.SIGINT)
                time.sleep(0.2)
                events.append("compiled")
            time.sleep(20)
        except KeyboardInterrupt:
            events.append("interrupted")
    assert events == ["compiled", "interrupted"]
    assert interruptions.code == 130

    events = []
    with Interruptions():
        try:
            with global_compiler_lock:
                signal.raise_signal(signal.SIGINT)
                events.append("first")
                signal.raise_signal(signal.SIGINT)
                events.append("second")
        except KeyboardInterrupt:
            events.append("interrupted")
    assert events == ["first", "interrupted"]
    assert capsys.readouterr().err == ""


def test_what_an_interruption_breaks_is_no_defect(command, here, table, monkeypatch) -> None:
    from separatrix.study import run

    def broken(*_: object, **__: object) -> None:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise RuntimeError("no compiled object yet")

    monkeypatch.setattr(run, "run_study", broken)
    ran = command("fit", table, "--target", "y")
    assert ran.code == 130
    assert "Interrupted" in ran.err
    assert "Traceback" not in ran.err
    assert "defect" not in ran.err


def test_an_interruption_before_the_command_is_loaded_shows_no_traceback() -> None:
    import subprocess

    code = (
        "import signal, sys\n"
        "import separatrix.cli as cli\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Finder:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'separatrix.cli.outcome':\n"
        "            signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "cli.main(['merge'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        130,
        "interrupted: Interrupted; no partial results were written.\n",
    )


def test_nothing_is_imported_before_signals_are_heeded() -> None:
    """Python shows a traceback where an import is interrupted: none may come first."""
    import subprocess

    import separatrix

    folder = str(Path(separatrix.__file__).parents[1])
    code = (
        f"import os, sys; sys.path.insert(0, {folder!r}); before = set(sys.modules)\n"
        "import separatrix.cli\n"
        "print(sorted(set(sys.modules) - before))\n"
    )
    words = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['separatrix', 'separatrix.cli']"


def test_the_command_can_be_called_again() -> None:
    """``separatrix.cli.main`` stays the function that it was, whatever a command has imported."""
    import subprocess

    code = (
        "import separatrix.cli\n"
        "for _ in range(2):\n"
        "    try:\n"
        "        separatrix.cli.main(['--version'])\n"
        "    except SystemExit as end:\n"
        "        assert end.code == 0\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("separatrix") == 2


KILLED = """
import os, sys
from pathlib import Path
from separatrix.cli.outcome import run
import separatrix.report
def stop(_, page):
    Path(page).with_name(".report.html.0123abcd.partial").write_text("half")
    print("writing", flush=True)
    sys.stdin.read()
separatrix.report.write = stop
run(["fit", "table.csv", "--target", "y", "--models", "ridge", "--out", "m"])
"""


@pytest.mark.usefixtures("plain_page")
def test_what_a_killed_run_left_is_removed_by_the_next_and_what_runs_is_not(
    command, here, table, monkeypatch
) -> None:
    import subprocess

    from separatrix import temporary

    monkeypatch.setattr(temporary, "_NEW", 0.0)
    words = ("fit", table, "--target", "y", "--models", "linear", "--out", "m")
    others = (".m.notes.partial", ".n.0123abcd.partial", "m.0123abcd.partial")
    for name in others:
        (here / name).write_text("not ours, or of another place")
    for _ in ("beside the place", "in the place"):
        with subprocess.Popen(
            [sys.executable, "-c", KILLED], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as child:
            for line in child.stdout:
                if line == b"writing\n":
                    break
            before = {p for p in here.rglob("*.partial") if p.is_dir()}
            assert len(before) == 1
            assert command(*words).code == 0  # while the other one is at work
            assert {p for p in here.rglob("*.partial") if p.is_dir()} == before
            child.kill()
        assert command(*words).code == 0
        assert {p.name for p in here.rglob("*.partial")} == set(others)


def test_a_killed_spool_of_standard_input_is_removed_by_the_next(tmp_path, monkeypatch) -> None:
    import io
    import tempfile

    from separatrix import scan, temporary

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(temporary, "_NEW", 0.0)
    (tmp_path / ".separatrix-input.csv.0123abcd.partial").write_text("x,y\n1")
    rows = []
    for _ in range(2):  # the first is still in use when the second comes
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x,y\n1,2\n3,5\n")))
        rows.append(scan("-", target="y"))
    assert [len(given.read()) for given in rows] == [2, 2]
    assert len(list(tmp_path.iterdir())) == 2
    rows.clear()
    assert list(tmp_path.iterdir()) == []
