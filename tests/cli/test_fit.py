"""``separatrix fit``: what it prints, writes and promises."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import separatrix as sx
from separatrix.messages import InputError
from separatrix.samples import sample

FILES = {
    "model.sx",
    "report.html",
    "predictions.csv",
    "result.json",
    "study.toml",
    "importance.csv",
}


def test_the_first_command_gives_everything(command, here) -> None:
    ran = command("fit", "sample:diabetes", "--target", "progression", "--models", "linear,ridge")
    assert ran.code == 0
    place = here / "diabetes-separatrix"
    assert {p.name for p in place.iterdir()} == FILES
    assert {p.name for p in here.iterdir()} == {place.name}
    assert "→ linear" in ran.out
    assert "baseline" in ran.out
    assert "used once" in ran.out
    assert "Certificate:" in ran.out
    assert "--task" in ran.err
    assert "--seed" in ran.err
    assert "separatrix predict diabetes-separatrix/model.sx" in ran.err
    assert "sx.run_study(sx.scan(" in ran.err
    model = sx.load(place / "model.sx")
    assert model.predict(str(sample("diabetes").path)).shape == (442,)


@pytest.mark.usefixtures("plain_page")
def test_the_python_shown_gives_the_same_model(command, here, table) -> None:
    words = ["--target", "y", "--seed", "3", "--models", "linear", "--kind", "b=ignore"]
    ran = command("fit", table, *words)
    shown = ran.err.split("In Python:\n")[1]
    names: dict = {}
    exec("\n".join(line.strip() for line in shown.splitlines()), names)
    stored = sx.load(here / "table-separatrix" / "model.sx")
    assert (names["study"].model.coef_ == stored.coef_).all()
    assert stored.coef_.shape == (1,)


@pytest.mark.usefixtures("sketched")
def test_the_same_seed_writes_the_same_bytes_wherever_it_writes(command, here, table) -> None:
    for out in ("one", "two"):
        assert command("fit", table, "--target", "y", "--models", "ridge", "--out", out).code == 0
    for name in FILES:
        assert (here / "one" / name).read_bytes() == (here / "two" / name).read_bytes()
    command("fit", table, "--target", "y", "--models", "ridge", "--out", "three", "--seed", "1")
    assert (here / "one/result.json").read_bytes() != (here / "three/result.json").read_bytes()


def test_the_bytes_do_not_depend_on_how_many_threads_there_are(command, table, monkeypatch) -> None:
    from threadpoolctl import threadpool_info, threadpool_limits

    from separatrix.study import run

    threads = []

    def watched(*_: object, **__: object) -> None:
        threads.extend(p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas")
        raise InputError("seen")

    monkeypatch.setattr(run, "run_study", watched)
    with threadpool_limits(2, user_api="blas"):
        assert {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"} == {2}
        assert command("fit", table, "--target", "y").code == 2
    assert set(threads) == {1}


@pytest.mark.usefixtures("plain_page")
def test_predictions_are_those_of_the_test_part(command, here, table) -> None:
    command("fit", table, "--target", "y", "--models", "linear")
    with (here / "table-separatrix/predictions.csv").open() as file:
        found = list(csv.DictReader(file))
    result = json.loads((here / "table-separatrix/result.json").read_text())
    assert len(found) == result["rows"]["test"]
    source = table.read_text().splitlines()
    for line in found:
        assert float(line["y"]) == float(source[int(line["row"])].split(",")[2])
    error = [float(line["y"]) - float(line["predicted"]) for line in found]
    assert result["test"]["rmse"]["value"] == pytest.approx(np.sqrt(np.mean(np.square(error))))


@pytest.mark.usefixtures("plain_page")
def test_classes_have_probabilities_in_predictions(command, here) -> None:
    assert command("fit", "sample:wine", "--target", "cultivar").code == 0
    with (here / "wine-separatrix/predictions.csv").open() as file:
        found = list(csv.DictReader(file))
    names = [f"probability cultivar {c}" for c in "ABC"]
    assert list(found[0]) == ["row", "cultivar", "predicted", *names]
    for line in found:
        p = np.array([float(line[name]) for name in names])
        assert p.sum() == pytest.approx(1.0)
        assert line["predicted"] == names[p.argmax()].removeprefix("probability ")


@pytest.mark.usefixtures("plain_page")
def test_json_is_one_document_and_nothing_else(command, here, table) -> None:
    ran = command("fit", table, "--target", "y", "--models", "linear", "--json")
    assert ran.err == ""
    assert ran.document["schema_version"] == 4
    assert ran.document["winner"] == "linear"
    assert ran.document["directory"] == "table-separatrix"
    written = json.loads((here / "table-separatrix/result.json").read_text())
    assert ran.document == {**written, "directory": "table-separatrix", "gates": []}
    assert set(written["model"]["coefficients"]) == {"a", "b"}
    assert written["certificate"]["holds"] is True


@pytest.mark.usefixtures("plain_page")
def test_gates(command, here, table) -> None:
    base = ("fit", table, "--target", "y", "--models", "linear")
    assert command(*base, "--min-score", "r2=0.5", "--min-score", "rmse=10").code == 0
    ran = command(*base, "--min-score", "r2=0.99999")
    assert ran.code == 1
    assert "r2 is" in ran.err
    assert "at least 0.99999 is required" in ran.err
    assert (here / "table-separatrix" / "model.sx").exists()  # finished work is kept
    ran = command(*base, "--min-score", "rmse=0.0001", "--json")
    assert ran.code == 1
    assert ran.document["gates"][0]["passed"] is False
    for wrong, message in (
        ("r2", "METRIC=VALUE"),
        ("rsme=1", "Did you mean 'rmse'"),
        ("auc=1", "auc"),
    ):
        ran = command(*base, "--min-score", wrong)
        assert ran.code == 2
        assert message in ran.err


@pytest.mark.usefixtures("plain_page")
def test_results_replace_older_ones_and_leave_other_files_alone(command, here, table) -> None:
    place = here / "out"
    place.mkdir()
    (place / "notes.txt").write_text("mine")
    (place / "model.sx").write_text("old")
    assert command("fit", table, "--target", "y", "--models", "linear", "--out", place).code == 0
    assert (place / "notes.txt").read_text() == "mine"
    assert sx.load(place / "model.sx")


@pytest.mark.usefixtures("plain_page")
def test_a_missing_policy_and_a_weight_reach_the_model(command, here) -> None:
    ran = command(
        *("fit", "sample:houses", "--target", "price", "--models", "linear", "--out", "o"),
        *("--missing", "indicator", "--unseen", "zeros", "--weight", "rooms"),
    )
    assert ran.code == 0, ran.err
    model = sx.load(here / "o/model.sx")
    assert "lot missing" in model.encoding_.names
    assert model.encoding_.schema.unseen == "zeros"
    assert model.encoding_.schema.weight == "rooms"
    assert "rooms" not in model.encoding_.names


@pytest.mark.usefixtures("plain_page")
def test_standard_input(command, here, table, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(table.read_bytes())))
    ran = command("fit", "-", "--target", "y", "--models", "linear")
    assert ran.code == 0, ran.err
    assert (here / "standard-input-separatrix/model.sx").exists()
    assert "[1/6] comparing baseline" in ran.err  # off a terminal, progress is plain lines
    assert "\x1b" not in ran.err + ran.out


def test_a_terminal_gets_a_bar_and_no_color_where_none_is_wanted(here, table) -> None:
    main, side = pty.openpty()
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "TERM": "xterm-256color", "NO_COLOR": "1"}
    words = ["fit", str(table), "--target", "y", "--models", "linear"]
    code = "import tests.sketches, separatrix.cli.outcome as cli\n"
    code += f"with tests.sketches.sketches():\n    raise SystemExit(cli.run({words!r}))"
    env["PYTHONPATH"] += f"{os.pathsep}{Path(__file__).parents[2]}"
    with subprocess.Popen([sys.executable, "-c", code], stdout=side, stderr=side, env=env) as child:
        os.close(side)
        output = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while True:
                output += os.read(main, 65536)
        assert child.wait(60) == 0
    os.close(main)
    assert b"\x1b[1m" in output  # the chosen model is bold, which is not a colour
    assert "━━━━".encode() in output
    assert b"[1/6]" not in output  # a bar, not plain lines
    assert not re.search(rb"\x1b\[[0-9;]*(3[0-8]|9[0-7])[0-9;]*m", output)


@pytest.mark.usefixtures("plain_page")
def test_moments_travel(command, here, table) -> None:
    lines = table.read_text().splitlines()
    for name, part in (("a", lines[1:31]), ("b", lines[31:])):
        (here / f"{name}.csv").write_text("\n".join([lines[0], *part]) + "\n")
        ran = command("summarize", f"{name}.csv", "--target", "y", "-o", f"{name}.moments")
        assert (ran.code, ran.out.strip()) == (0, f"{name}.moments")
    ran = command("merge", "a.moments", "b.moments", "-o", "ab.moments")
    assert ran.code == 0
    assert "80 rows of 2 tables" in ran.err
    assert command("fit", "ab.moments", "--models", "lasso", "--seed", "0").code == 0
    command("summarize", "table.csv", "--target", "y", "-o", "all.moments")
    assert command("fit", "all.moments", "--models", "lasso").code == 0
    merged, whole = (sx.load(here / f"{n}-separatrix/model.sx") for n in ("ab", "all"))
    np.testing.assert_allclose(merged.coef_, whole.coef_, rtol=1e-9)
    assert merged.alpha_ == pytest.approx(whole.alpha_)
    of_rows = {"predictions.csv", "importance.csv"}
    assert {p.name for p in (here / "ab-separatrix").iterdir()} == FILES - of_rows
    assert command("predict", "ab-separatrix/model.sx", "table.csv").code == 0
    for words, message in (
        (("fit", "ab.moments", "--seed", "3"), "--seed was fixed"),
        (("fit", "ab.moments", "--kind", "a=discrete"), "--kind was fixed"),
        (("fit", "ab.moments", "--target", "a"), "the target of these moments is 'y'"),
        (("fit", "ab.moments", "--models", "huber"), "ab.moments: huber needs the rows"),
        (("fit", "ab.moments", "--task", "classification"), "these are moments for regression"),
        (("fit", "table.moments"), "does not exist"),
    ):
        ran = command(*words)
        assert ran.code == 2
        assert message in ran.err


def test_moments_that_do_not_fit_are_refused_by_column(command, here, table) -> None:
    (here / "other.csv").write_text(table.read_text().replace("a,b,y", "a,c,y"))
    command("summarize", "table.csv", "--target", "y", "-o", "a.moments")
    command("summarize", "other.csv", "--target", "y", "-o", "b.moments")
    ran = command("merge", "a.moments", "b.moments", "-o", "ab.moments")
    assert ran.code == 2
    assert "'b' is only in the first" in ran.err
    assert "'c' is only in the second" in ran.err
    assert not (here / "ab.moments").exists()
    ran = command("summarize", "table.csv", "--target", "y", "-o", "x", "--missing", "regress")
    assert ran.code == 2
