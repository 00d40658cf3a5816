"""Bad input: exit code 2, one sentence with place and remedy, nothing half-written."""

from __future__ import annotations

import errno
import gzip
import os
import resource
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import lines_of

GOOD = lines_of(60)
RESULTS = {
    "model.sx",
    "report.html",
    "predictions.csv",
    "result.json",
    "study.toml",
    "importance.csv",
}


def text(*lines: str, header: str = "a,b,y") -> bytes:
    return ("\n".join([header, *lines]) + "\n").encode()


def swapped(line: str, column: int, value: str) -> str:
    cells = line.split(",")
    cells[column] = value
    return ",".join(cells)


BAD = {
    "a workbook called CSV": (b"PK\x03\x04" + bytes(200), ["not a text table", "workbook"]),
    "compressed, not called so": (gzip.compress(text(*GOOD)), ["not a text table", "gzip"]),
    "a program": (b"\x7fELF\x02\x01\x01" + bytes(9) + text(*GOOD), ["not a text table", "binary"]),
    "noise": (np.random.default_rng(0).bytes(4000), ["not a text table", "Save it as CSV"]),
    "empty file": (b"", ["table.csv", "empty"]),
    "header alone": (text(), ["table.csv", "no rows"]),
    "one row": (text(*GOOD[:1]), ["table.csv", "1 row is too few"]),
    "three rows": (text(*GOOD[:3]), ["table.csv", "3 rows are too few"]),
    "no such target": (text(*GOOD, header="a,b,Y"), ["'y'", "Did you mean 'Y'"]),
    "constant target": (
        text(*(swapped(r, 2, "5") for r in GOOD)),
        ["table.csv", "'y'", "nothing to learn"],
    ),
    "missing target": (text(*(swapped(r, 2, "") for r in GOOD)), ["'y'", "each of its 60"]),
    "infinite value": (
        text(*GOOD[:30], swapped(GOOD[30], 0, "inf"), *GOOD[31:]),
        ["table.csv", "row 31", "'a'", "infinite"],
    ),
    "text among numbers": (
        text(*GOOD[:40], *(swapped(line, 1, "oops") for line in GOOD[40:50]), *GOOD[50:]),
        ["table.csv", "row 41", "'b'", "'oops'", "--kind b=discrete"],
    ),
    "two columns of one name": (text(*GOOD, header="a,a,y"), ["table.csv", "'a'", "Rename"]),
    "broken UTF-8": (
        text(*GOOD)[:300] + "\n1,é,3\n1,é,3\n".encode() + b"1,\xff\xfe,3\n",
        ["table.csv", "UTF-8"],
    ),
    "ragged row": (text(*GOOD[:10], "1,2", *GOOD[10:]), ["table.csv", "row 11", "2 values"]),
    "nothing but the target": (
        text(*(r.split(",")[2] for r in GOOD), header="y"),
        ["table.csv", "there is no feature column"],
    ),
}


def is_clean(here: Path, *known: str) -> bool:
    return {p.name for p in here.iterdir()} <= {"table.csv", *known}


@pytest.mark.parametrize("case", BAD, ids=list(BAD))
def test_tables_that_cannot_be_used(command, here, case) -> None:
    content, words = BAD[case]
    (here / "table.csv").write_bytes(content)
    ran = command("fit", "table.csv", "--target", "y")
    assert ran.code == 2
    problem = ran.err.splitlines()[-1]
    assert problem.startswith("error: ")
    for word in words:
        assert word in problem
    assert ran.out == ""
    assert is_clean(here)
    ran_json = command("fit", "table.csv", "--target", "y", "--json")
    assert ran_json.code == 2
    assert ran_json.document["error"]["message"] == problem.removeprefix("error: ")


@pytest.mark.usefixtures("plain_page")
def test_one_bad_value_is_missing_and_strict_refuses_it(command, here) -> None:
    lines = [*GOOD[:40], swapped(GOOD[40], 1, "oops"), *GOOD[41:]]
    (here / "table.csv").write_bytes(text(*lines))
    ran = command("fit", "table.csv", "--target", "y", "--models", "linear")
    assert ran.code == 0
    assert "Column 'b': 1 of" in ran.err
    assert "'oops' in row 41" in ran.err
    assert "--strict refuses" in ran.err
    ran = command("fit", "table.csv", "--target", "y", "--strict")
    assert ran.code == 2
    assert "row 41, column 'b': 'oops' is not a number" in ran.err


@pytest.mark.usefixtures("plain_page")
def test_columns_that_cannot_matter_are_no_error(command, here) -> None:
    lines = [f"{line},7," for line in GOOD]
    (here / "table.csv").write_bytes(text(*lines, header="a,b,y,one,none"))
    ran = command("fit", "table.csv", "--target", "y", "--models", "linear")
    assert ran.code == 0
    assert "Constant, without effect: 'one'" in ran.err
    assert "'none' has no value" in ran.err


def test_a_parquet_file_cut_short(command, here) -> None:
    rng = np.random.default_rng(0)
    pq.write_table(pa.table({c: rng.normal(size=500) for c in "aby"}), here / "t.parquet")
    whole = (here / "t.parquet").read_bytes()
    (here / "t.parquet").write_bytes(whole[: len(whole) // 2])
    ran = command("fit", "t.parquet", "--target", "y")
    assert ran.code == 2
    assert "t.parquet" in ran.err
    assert "cut short or damaged" in ran.err
    assert is_clean(here, "t.parquet")


def test_files_with_different_columns(command, here) -> None:
    (here / "1.csv").write_bytes(text(*GOOD))
    (here / "2.csv").write_bytes(text(*GOOD, header="a,c,y"))
    ran = command("fit", "*.csv", "--target", "y")
    assert ran.code == 2
    assert all(word in ran.err for word in ("2.csv", "'b'", "'c'"))


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("table.csv", "file table.csv: exists and is not a directory"),
        ("table.csv/out", "file table.csv: is a file, not a directory"),
        ("no/where", "file no: does not exist"),
        ("link", "is a link to a place that does not exist"),
        ("full", "model.sx: is a directory"),
        ("x" * 300, "this name is too long"),
        ("/proc/out", "file /proc/out:"),
    ],
)
def test_places_that_cannot_hold_results_are_refused_before_the_table_is_read(
    command, here, table, monkeypatch, out, message
) -> None:
    from separatrix.rows import scan

    monkeypatch.setattr(scan, "scan", Mock(side_effect=AssertionError("the table was opened")))
    (here / "link").symlink_to("nowhere/at/all")
    (here / "full/model.sx").mkdir(parents=True)
    for words in (("fit", table, "--target", "y"), ("cluster", table)):
        ran = command(*words, "--out", out)
        assert ran.code == 2
        assert message in ran.err
    (here / "link").unlink()
    shutil.rmtree(here / "full")
    assert is_clean(here)


def test_files_that_cannot_be_written_are_refused_before_any_is_read(command, here, table) -> None:
    (here / "place").mkdir()
    for words in (
        ("summarize", "absent.csv", "--target", "y"),
        ("merge", "absent.moments"),
        ("report", "absent"),
        ("predict", "absent", "absent.csv"),
    ):
        ran = command(*words, "--out", "no/where")
        assert ran.code == 2, words
        assert "file no: does not exist" in ran.err
        ran = command(*words, "--out", "table.csv/x")
        assert "file table.csv: is a file" in ran.err
        if words[0] != "predict":  # which takes a directory, too
            assert "this is a directory" in command(*words, "--out", "place").err
    (here / "place").rmdir()
    assert is_clean(here)


def test_a_directory_without_permission(command, here, table, monkeypatch) -> None:
    refused = PermissionError(errno.EACCES, "Permission denied")
    monkeypatch.setattr(Path, "mkdir", Mock(side_effect=refused))  # root may write anywhere
    ran = command("fit", table, "--target", "y", "--out", "m")
    assert ran.code == 2
    assert "file m: writing here is not permitted" in ran.err
    assert "comparing" not in ran.err


# -- full disks ------------------------------------------------------------------------------------


def test_a_full_disk_under_the_results(command, here, table) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, hard))  # as a full disk, without filling one
    try:
        ran = command("fit", table, "--target", "y", "--models", "linear")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert ran.code == 2
    assert "file size limit" in ran.err
    assert "partial" not in ran.err
    assert is_clean(here)


@pytest.fixture
def mounted(here) -> Iterator[Callable[[str], Path]]:
    """A disk of its own of a given size."""
    disk = here / "disk"
    disk.mkdir()

    def mount(size: str) -> Path:
        words = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)]
        if os.geteuid() != 0 or subprocess.run(words, capture_output=True).returncode:
            pytest.skip("a disk cannot be mounted here")
        return disk

    yield mount
    subprocess.run(["umount", str(disk)], capture_output=True)


def test_a_small_disk(command, mounted, table) -> None:
    disk = mounted("24k")
    for out in (disk / "out", disk):
        ran = command("fit", table, "--target", "y", "--models", "linear", "--out", out)
        assert ran.code == 2
        assert "disk is full" in ran.err
        assert str(out) in ran.err
        assert "partial" not in ran.err
        assert list(disk.iterdir()) == []


@pytest.mark.usefixtures("plain_page")
def test_results_can_go_to_a_disk_of_their_own_and_to_where_one_is(
    command, here, mounted, table, monkeypatch
) -> None:
    disk = mounted("4m")
    words = ("fit", table, "--target", "y", "--models", "linear", "--out")
    assert command(*words, disk).code == 0
    monkeypatch.chdir(disk)
    assert command(*words, ".").code == 0
    assert {p.name for p in disk.iterdir()} == RESULTS
    monkeypatch.chdir(here)
    remount = ["mount", "-o", "remount,ro", str(disk)]
    subprocess.run(remount, check=True)
    ran = command(*words, disk)
    assert ran.code == 2
    assert "this disk is read-only" in ran.err
    assert "comparing" not in ran.err  # refused before any work is done


@pytest.mark.usefixtures("sketched")
def test_a_full_disk_under_predictions_and_moments(command, process, here, table) -> None:
    command("fit", table, "--target", "y", "--models", "linear", "--out", "m")
    for words in (
        ("predict", "m/model.sx", table, "--out", "/dev/full"),
        ("report", "m/model.sx", "--out", "/dev/full"),
        ("summarize", table, "--target", "y", "-o", "/dev/full"),
    ):
        ran = command(*words)
        assert ran.code == 2, words
        assert "disk is full" in ran.err
    with Path("/dev/full").open("w") as full:
        ran = process("samples", "diabetes", stdout=full)
    assert ran.code == 2
    assert "standard output: the disk is full" in ran.err
    assert Path("/dev/full").is_char_device()


def test_a_closed_pipe_is_no_error(here) -> None:
    words = [sys.executable, "-m", "separatrix", "samples", "diabetes"]
    closed = subprocess.run(f"{shlex.join(words)} >&-", shell=True, capture_output=True)
    assert (closed.returncode, closed.stderr) == (0, b"")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        child.stdout.close()
        assert child.wait(30) == 0
        assert child.stderr.read() == b""


def test_reading_that_breaks_off_is_not_called_an_interruption(command, monkeypatch) -> None:
    from separatrix.rows import scan

    for problem, message in (
        (EOFError("ended before the end"), "The input cannot be read (ended before the end)"),
        (OSError("Truncated stream"), "The input cannot be read (Truncated stream)"),
        (PermissionError(13, "", "secret.csv"), "secret.csv: Permission denied"),
    ):
        monkeypatch.setattr(scan, "scan", Mock(side_effect=problem))
        ran = command("fit", "t.csv", "--target", "y")
        assert ran.code == 2
        assert message in ran.err


def test_a_defect_is_called_one(command, table, monkeypatch) -> None:
    from separatrix.study import run

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(run, "run_study", broken)
    ran = command("fit", table, "--target", "y")
    assert ran.code == 70
    assert "boom" in ran.err
    assert "defect in separatrix" in ran.err
