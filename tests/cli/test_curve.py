"""``separatrix curve``: what it prints, writes and promises."""

from __future__ import annotations

import json

import numpy as np
import pytest

FILES = {"report.html", "result.json"}


@pytest.fixture
def lines(here):
    """A numeric target, four columns, a level."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 4))
    y = x[:, 0] + x[:, 1] + 0.3 * rng.normal(size=90)
    town = np.where(x[:, 2] > 0, "a", "b")
    text = [
        f"{','.join(f'{v:.6f}' for v in row)},{t},{v:.6f}"
        for row, t, v in zip(x, town, y, strict=True)
    ]
    path = here / "lines.csv"
    path.write_text("\n".join(["a,b,c,d,town,y", *text]) + "\n")
    return path


def test_one_command_says_what_would_help(command, here, lines) -> None:
    ran = command("curve", lines, "--target", "y", "--folds", 3)
    assert ran.code == 0, ran.err
    place = here / "lines-curve"
    assert {p.name for p in place.iterdir()} == FILES
    for words in ("training rows", "More rows:", "More columns:", "A more flexible model:"):
        assert words in ran.out
    for words in ("[1/6] reading", "Regression, because", "separatrix fit", "sx.run_curve("):
        assert words in ran.err
    again = command("curve", lines, "--target", "y", "--folds", 3, "--out", here / "other")
    assert again.code == 0
    assert (here / "other" / "report.html").read_text() == (place / "report.html").read_text()


def test_json_alone_on_standard_output(command, here, lines) -> None:
    ran = command("curve", lines, "--target", "y", "--folds", 2, "--json")
    document = json.loads(ran.out)
    assert document["schema_version"]
    assert document["metric"] == "rmse"
    assert {a["what"] for a in document["advice"]} == {
        "more rows",
        "more columns",
        "a more flexible model",
    }
    written = json.loads((here / "lines-curve" / "result.json").read_text())
    assert written["summary"] == document["summary"]


def test_bad_input_is_one_sentence(command, here, lines) -> None:
    ran = command("curve", lines, "--target", "yy")
    assert ran.code == 2
    assert "Did you mean 'y'?" in ran.err
    (here / "few.csv").write_text("a,y\n1,2\n3,4\n")
    ran = command("curve", here / "few.csv", "--target", "y")
    assert ran.code == 2
    assert "too few for a learning curve" in ran.err
    assert command("curve", lines).code == 2
