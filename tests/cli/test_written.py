"""Tables as people write them: announced before the work, overridden by options."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from separatrix.cli.fit import fit
from separatrix.cli.options import command_line


@pytest.fixture
def german(here):
    """Semicolons, decimal commas, a date, question marks and Windows-1252."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 2)) * 1000
    y = x @ [1.0, -2.0] + rng.normal(size=120)
    lines = ["größe;höhe;tag;preis"]
    for i, (row, value) in enumerate(zip(x, y, strict=True)):
        first = "?" if i % 30 == 7 else f"{row[0]:.2f}"
        line = f"{first};{row[1]:.2f};{i % 28 + 1}/{i % 12 + 1}/2021;{value:.3f}"
        lines.append(line.replace(".", ","))
    (here / "t.csv").write_bytes(("\n".join(lines) + "\n").encode("cp1252"))
    return here / "t.csv"


def answers(text: str) -> list[float]:
    return [float(line["predicted"]) for line in csv.DictReader(io.StringIO(text))]


@pytest.mark.usefixtures("plain_page")
def test_fit_and_predict_in_the_same_notation(command, here, german) -> None:
    ran = command("fit", german, "--target", "preis", "--models", "linear", "--out", "m")
    assert ran.code == 0, ran.err
    before = ran.err[: ran.err.index("comparing")]
    for words in (
        "Windows-1252 (override: --encoding)",
        "decimal comma",
        "(override: --decimal .)",
        "the day first",
        "(override: --dates month-first)",
        "'?' in 'größe' (4) (override: --na '')",
        "Regression",
    ):
        assert words in before
    (here / "a.csv").write_text("größe;höhe;tag\n1,5;2;3/4/2021\n-;0,5;3/4/2021\n")
    own = answers(command("predict", "m", "a.csv").out)
    assert len(own) == 2
    (here / "b.csv").write_text("größe,höhe,tag\n1.5,2,4/3/2021\nnil,0.5,4/3/2021\n")
    refused = command("predict", "m", "b.csv")
    assert refused.code == 2
    assert "row 1, column 'größe': '1.5' is not a number" in refused.err
    other = ("--decimal", ".", "--dates", "month-first", "--na", "nil")
    assert answers(command("predict", "m", "b.csv", *other).out) == own


@pytest.mark.usefixtures("plain_page")
def test_the_command_and_the_python_shown_repeat_the_options(command, here) -> None:
    lines = [f"{i % 17};{i % 13};{i}" for i in range(80)]
    lines[3] = "none such;1;3"
    (here / "t.csv").write_text("\n".join(lines))
    words = ["--no-header", "--na", "none such", "--delimiter", ";", "--decimal", ","]
    context = fit.make_context("fit", ["t.csv", "--target", "column_3", *words])
    assert command_line(context).endswith("--no-header")
    assert "--na 'none such' --delimiter ';'" in command_line(context)
    text = command("fit", "t.csv", "--target", "column_3", "--models", "linear", *words)
    assert text.code == 0, text.err
    code = "decimal=',', na=('none such',), delimiter=';', header=False"
    assert code in text.out + text.err


def test_every_command_that_reads_tables_has_the_options(command) -> None:
    for name in ("fit", "cluster", "predict", "summarize"):
        text = command(name, "--help").out
        for option in ("--decimal", "--thousands", "--dates", "--na", "--encoding", "--no-header"):
            assert option in text, (name, option)


def test_summarize_announces_what_was_recognized(command, here, german) -> None:
    ran = command("summarize", german, "--target", "preis", "-o", "a.moments")
    assert ran.code == 0, ran.err
    assert "decimal comma" in ran.err
    assert "--decimal" in ran.err
    bad = command("summarize", german, "--target", "preis", "-o", "a.moments", "--decimal", ".")
    assert bad.code == 2


def test_targets_of_many_texts_are_refused_at_once(command, here) -> None:
    lines = [f"{i},v{i % 796}" for i in range(1000)]
    (here / "t.csv").write_text("x,y\n" + "\n".join(lines))
    ran = command("fit", "t.csv", "--target", "y")
    assert ran.code == 2
    assert "796 distinct texts in 1000 rows, too many for classes" in ran.err
    assert "comparing" not in ran.err


@pytest.mark.usefixtures("plain_page")
def test_numbered_classes_are_announced_before_the_work(command, here) -> None:
    rng = np.random.default_rng(0)
    lines = [f"{k + rng.normal() / 9:.3f},{k}" for k in range(12) for _ in range(9)]
    (here / "t.csv").write_text("x,digit\n" + "\n".join(lines))
    ran = command("fit", "t.csv", "--target", "digit", "--models", "lda", "--out", "m")
    assert ran.code == 0, ran.err
    before = ran.err[: ran.err.index("comparing")]
    assert "Classification, because target 'digit' is called so" in before
    assert "--task regression" in before
