"""predict, report, samples, explain, help."""

from __future__ import annotations

import csv
import io
import os
import re
import resource
import shutil
import subprocess
import sys

import pytest

import separatrix as sx
from separatrix.cli.outcome import OPENING, run
from separatrix.messages import WARNINGS
from tests.sketches import sketches

HOUSE = "area,rooms,age,lot,district,garden,heating\n"


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Fitted once; every test works on a copy."""
    place = tmp_path_factory.mktemp("houses") / "m"
    words = ["--models", "linear", "--out", str(place)]
    with sketches():
        assert run(["fit", "sample:houses", "--target", "price", *words]) == 0
    return place


@pytest.fixture
def model(fitted, here):
    return shutil.copytree(fitted, here / "m") / "model.sx"


def numbers(text: str) -> list[dict]:
    return list(csv.DictReader(io.StringIO(text)))


def test_predictions_keep_order_and_ids_whatever_the_columns(command, here, model) -> None:
    (here / "new.csv").write_text(HOUSE + "70,3,10,100,hill,true,gas\n50,2,90,,market,false,\n")
    (here / "odd.csv").write_text(
        "note,heating,garden,district,lot,age,rooms,area\n"
        "x,gas,true,hill,100,10,3,70\nx,,false,market,,90,2,50\n"
    )
    straight, odd = command("predict", model, "new.csv"), command("predict", model, "odd.csv")
    assert straight.code == odd.code == 0
    assert straight.out == odd.out
    assert [line["row"] for line in numbers(odd.out)] == ["1", "2"]
    assert straight.err == ""
    assert "Columns that the model does not use: note" in odd.err
    assert "a different order" in odd.err
    expected = sx.load(model).predict("new.csv")
    assert [float(line["predicted"]) for line in numbers(odd.out)] == list(expected)


def test_predictions_to_a_file_and_as_json(command, here, model) -> None:
    ran = command("predict", model, "sample:houses", "--out", "p.csv")
    assert (ran.code, ran.out) == (0, "")
    assert len(numbers((here / "p.csv").read_text())) == 600
    ran = command("predict", model, "sample:houses", "--json")
    assert ran.document["schema_version"] == 4
    assert len(ran.document["predictions"]["predicted"]) == 600
    assert ran.document["warnings"] == []
    assert ran.err == ""


@pytest.mark.usefixtures("plain_page")
def test_ids_are_written_beside_predictions_unchanged(command, here, table) -> None:
    lines = table.read_text().splitlines()
    numbered = [f"{i:05d},{line}" for i, line in enumerate(lines[1:])]
    (here / "n.csv").write_text("\n".join(["orderId,a,b,y", *numbered]) + "\n")
    kinds = ("--kind", "orderId=ignore")
    assert command("fit", "n.csv", "--target", "y", "--models", "linear", *kinds).code == 0
    found = numbers((here / "n-separatrix/predictions.csv").read_text())
    assert all(line["orderId"] == f"{int(line['row']) - 1:05d}" for line in found)
    ran = command("predict", "n-separatrix/model.sx", "n.csv", "--keep", "y")
    assert ran.out.startswith("row,y,orderId,predicted\n")
    assert "Columns copied beside the predictions: y, orderId" in ran.err
    assert [line["orderId"] for line in numbers(ran.out)] == [f"{i:05d}" for i in range(80)]
    assert [line["y"] for line in numbers(ran.out)] == [line.split(",")[2] for line in lines[1:]]
    ran = command("predict", "n-separatrix/model.sx", "n.csv", "--keep", "yy", "--json")
    assert ran.code == 2
    assert "Did you mean 'y'" in ran.document["error"]["message"]


def test_a_long_table_is_predicted_block_by_block(command, here, model) -> None:
    house = "70,3,10,100,hill,true,gas\n50,2,90,,market,false,\n"
    (here / "long.csv").write_text(HOUSE + house * 40_000)
    rows = sum(1 for _ in sx.scan(str(here / "long.csv")).blocks())
    assert rows > 1
    found = numbers(command("predict", model, "long.csv").out)
    assert [line["row"] for line in found] == [str(i) for i in range(1, 80_001)]
    for kind in (found[::2], found[1::2]):  # products may round differently at a block's end
        assert len({round(float(line["predicted"]), 6) for line in kind}) == 1


def test_what_new_rows_lack_is_named(command, here, model) -> None:
    (here / "new.csv").write_text(
        "area,room,age,lot,district,garden,heating\n1,1,1,1,hill,true,gas\n"
    )
    ran = command("predict", model, "new.csv")
    assert ran.code == 2
    assert "'rooms'" in ran.err
    assert "Did you mean 'room'" in ran.err
    (here / "new.csv").write_text(HOUSE + "70,three,10,100,hill,true,gas\n")
    ran = command("predict", model, "new.csv")
    assert all(word in ran.err for word in ("row 1", "'rooms'", "'three'", "Correct the value"))
    assert "--kind" not in ran.err  # no option of predict


@pytest.mark.usefixtures("sketched")
def test_the_report_is_rebuilt_from_the_model_alone(command, here, model) -> None:
    before = (here / "m/report.html").read_bytes()
    (here / "m/report.html").unlink()
    ran = command("report", "m")
    assert (ran.code, ran.out.strip()) == (0, "m/report.html")
    assert (here / "m/report.html").read_bytes() == before
    ran = command("report", "m/model.sx", "--out", "page.html", "--json")
    assert ran.document["report"] == "page.html"
    assert (here / "page.html").read_bytes() == before


def test_a_model_without_a_study_has_no_report(command, here, table) -> None:
    rows = sx.scan(str(table), target="y")
    sx.save(sx.LinearRegression().fit(rows), here / "bare.sx")
    ran = command("report", "bare.sx")
    assert ran.code == 2
    assert "nothing to report" in ran.err


def test_files_that_do_not_serve(command, here, table) -> None:
    rows = sx.scan(str(table), target="y")
    sx.save(sx.Standardize().fit(rows), here / "scale.sx")
    ran = command("predict", "scale.sx", table)
    assert ran.code == 2
    assert "holds a Standardize" in ran.err
    sx.save(sx.LinearRegression().fit(rows), here / "odd.sx", study=3)
    ran = command("report", "odd.sx")
    assert ran.code == 2
    assert "cannot be rendered" in ran.err
    os.mkfifo(here / "pipe.sx")
    ran = command("predict", "pipe.sx", table)
    assert ran.code == 2
    assert "not a file on a disk" in ran.err


def test_samples(command) -> None:
    ran = command("samples")
    assert "separatrix fit sample:diabetes --target progression" in ran.err
    assert all(name in ran.out for name in ("diabetes", "houses", "wine"))
    ran = command("samples", "houses")
    assert ran.out.startswith("area,rooms")
    assert command("samples", "--json").document["samples"][0]["name"] == "diabetes"
    ran = command("samples", "hauses")
    assert ran.code == 2
    assert "Did you mean 'houses'" in ran.err


def test_every_warning_is_explained(command) -> None:
    ran = command("explain")
    for code, entry in WARNINGS.items():
        assert code in ran.out
        one = command("explain", code.lower())
        assert entry.reason in one.out
        assert f"What to do: {entry.remedy}" in one.out
        assert f'filterwarnings("ignore", "{code}")' in one.out
    assert len(command("explain", "--json").document["warnings"]) == len(WARNINGS)
    ran = command("explain", "SEP0001")
    assert ran.code == 2
    assert "Did you mean" in ran.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fti", "x.csv"), "Did you mean 'fit'"),
        (("fit", "x.csv", "--targte", "y"), "--target"),
        (("fit", "table.csv", "--target", "yy"), "Did you mean 'y'"),
        (("fit", "table.csv", "--target", "y", "--models", "laso"), "Did you mean 'lasso'"),
        (("fit", "table.csv", "--target", "y", "--task", "clasification"), "'classification'"),
        (("fit", "table.csv", "--target", "y", "--kind", "c=discrete"), "'c'"),
        (("fit", "table.csv", "--target", "y", "--kind", "a=discret"), "'discrete'"),
        (("fit", "table.csv", "--target", "y", "--missing", "men"), "mean"),
        (("fit", "table.csv", "--target", "y", "--test", "2"), "--test"),
        (("fit", "table.csv", "--target", "y", "--seed", "-1"), "--seed"),
        (("fit", "table.csv", "--target", "y", "--models", ","), "names no model"),
        (("fit", "table.csv", "--target", "y", "--min-score", "r2=nan"), "METRIC=VALUE"),
        (("fit", "tabel.csv", "--target", "y"), "Did you mean 'table.csv'"),
        (("fit", "table.csv"), "one of: a, b, y"),
        (("fit", "sample:diabets", "--target", "y"), "Did you mean 'diabetes'"),
        (("predict", "absent.sx", "table.csv"), "absent.sx"),
        (("predict", "table.csv", "table.csv"), "table.csv"),
    ],
)
def test_arguments_that_are_not_understood(command, table, words, message) -> None:
    ran = command(*words)
    assert ran.code == 2
    assert message in ran.err
    assert ran.err.count("\n") == 1  # one sentence
    ran_json = command(*words, "--json")
    assert ran_json.code == 2
    assert ran_json.document["schema_version"] == 4
    assert message in ran_json.document["error"]["message"]


@pytest.mark.usefixtures("plain_page")
def test_help_opens_with_commands_that_run(command, here) -> None:
    ran = command("--help")
    assert ran.out.startswith("Try:")
    assert command() == ran
    lines = [line.split()[1:] for line in OPENING.splitlines() if line.startswith("  separatrix")]
    assert len(lines) == 3
    for words in lines:
        assert command(*words).code == 0, words
    for name in ("fit", "predict", "report", "summarize", "merge", "samples", "explain"):
        assert "Try:" in command(name, "--help").out


HEAVY = {"sklearn", "numba", "matplotlib", "pyarrow", "numpy", "scipy", "rich", "pandas", "jinja2"}


@pytest.mark.parametrize("words", ["'--help'", "'fit', '--help'", "'--version'"])
def test_help_loads_nothing_heavy(words) -> None:
    code = (
        "import sys; from separatrix.cli.outcome import run; "
        f"run([{words}]); print(sorted({HEAVY!r} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = f"import sys, separatrix; print(sorted({HEAVY!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_is_fast() -> None:
    """In time of the processor, which other work on the machine does not stretch."""

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        words = [sys.executable, "-m", "separatrix", "--help"]
        subprocess.run(words, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(once() for _ in range(3)) < 0.3


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (ImportError("libarrow.so.26: failed to map segment from shared object"), "A library"),
        (OSError("libopenblas.so: cannot allocate memory"), "A library"),
        (OSError(12, "Cannot allocate memory"), "not enough memory"),
        (RuntimeError("can't start new thread"), "not enough memory"),
        (MemoryError(), "not enough memory"),
        (EOFError("Compressed file ended"), "The input cannot be read"),
    ],
)
def test_limits_of_the_system_in_words(command, monkeypatch, problem, words) -> None:
    import separatrix.storage

    def fail(_: object) -> None:
        raise problem

    monkeypatch.setattr(separatrix.storage, "load_moments", fail)
    ran = command("merge", "a.moments", "-o", "b.moments")
    assert (ran.code, words in ran.err) == (2, True), ran.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--models", "laso"), "Did you mean 'lasso'"),
        (("--models", "svm", "--task", "regression"), "'svm' is not a model for regression"),
        (("--metric", "rsme"), "Did you mean 'rmse'"),
        (("--metric", "auc", "--task", "regression"), "not compared by 'auc'"),
        (("--task", "regresion"), "Did you mean 'regression'"),
    ],
)
def test_names_are_checked_before_the_table_is_read(command, monkeypatch, words, message) -> None:
    import separatrix.rows.scan

    monkeypatch.setattr(separatrix.rows.scan, "scan", None)  # to call it would be a defect
    ran = command("fit", "sample:diabetes", "--target", "progression", *words)
    assert ran.code == 2
    assert message in ran.err


def test_columns_are_checked_before_values_are_read(command, monkeypatch) -> None:
    import separatrix.rows.infer

    monkeypatch.setattr(separatrix.rows.infer, "recognize", None)
    for option in ("--target", "--weight", "--group", "--time", "--id"):
        target = () if option == "--target" else ("--target", "progression")
        ran = command("fit", "sample:diabetes", *target, option, "progresion")
        assert ran.code == 2
        assert "Did you mean 'progression'" in ran.err


@pytest.mark.usefixtures("plain_page")
def test_the_leaderboard_is_sorted_and_has_the_names_of_the_page(command, table) -> None:
    ran = command("fit", table, "--target", "y", "--models", "SVR, Linear,nearest neighbors,gp")
    assert ran.code == 2
    assert "Did you mean 'neighbors'" in ran.err
    ran = command("fit", table, "--target", "y", "--models", "SVR, Linear,neighbors,gp")
    entries = ran.out[: ran.out.index("best mean")].splitlines()
    lines = [line for line in entries if " ± " in line]
    means = [float(re.search(r"([\d.]+) ±", line)[1]) for line in lines]
    assert means == sorted(means)
    assert lines[0].startswith("★") or lines[0].startswith(" ★")
    assert sum("→" in line for line in lines) == 1
    assert {"SVR", "GP", "linear", "neighbors", "baseline"} == {
        line.replace("★", " ").replace("→", " ").split()[0] for line in lines
    }
    assert len({len(re.search(r"\.(\d+) ±", line)[1]) for line in lines}) == 1
