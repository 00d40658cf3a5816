"""Columns that bind rows together or name them: --group, --time, --id."""

from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def table(here):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=120), "y": rng.normal(size=120)})
    frame = frame.assign(y=frame["x"] + frame["y"], day=np.arange(120)[::-1], site=np.arange(120))
    frame["site"] //= 6
    frame.assign(code=[f"c{i // 2}" for i in range(120)]).to_csv(here / "t.csv")
    return "t.csv"


def test_groups(command, here, table) -> None:
    ran = command(
        *("fit", table, "--target", "y", "--models", "linear", "--group", "site"),
        *("--kind", "code=ignore", "--out", "g"),
    )
    assert ran.code == 0
    assert "no 'site' in two parts" in ran.err
    assert "'' is left out" in ran.err
    assert "group='site'" in ran.err
    rows = [int(line["row"]) for line in csv.DictReader((here / "g/predictions.csv").open())]
    assert len(rows) == 24
    assert all(sum((r - 1) // 6 == site for r in rows) in (0, 6) for site in range(20))


def test_times_and_ids(command, here, table) -> None:
    words = ("fit", table, "--target", "y", "--models", "linear", "--out", "t")
    ran = command(*words, "--time", "day", "--id", "code")
    assert ran.code == 0
    assert "the last 24 rows by 'day'" in ran.err
    lines = list(csv.DictReader((here / "t/predictions.csv").open()))
    assert sorted(int(line["row"]) for line in lines) == list(range(1, 25))
    assert lines[0]["code"] == "c0"
    assert "id=['code']" in ran.err


def test_what_cannot_be(command, here, table) -> None:
    fit = ("fit", table, "--target", "y", "--models", "linear")
    both = command(*fit, "--time", "day", "--group", "site")
    assert both.code == 2
    assert "by --group or by --time, not by both" in both.err
    assert "Did you mean 'site'" in command(*fit, "--group", "sit").err
    summary = ("summarize", table, "--target", "y", "--kind", "code=ignore", "-o", "t.moments")
    assert "known only when all are in memory" in command(*summary, "--time", "day").err
    assert command(*summary, "--group", "site").code == 0
    fixed = command("fit", "t.moments", "--id", "code")
    assert "--id was fixed when the table was summarized" in fixed.err


def test_the_kind_of_a_column_without_a_name_can_be_given() -> None:
    from separatrix.cli.options import kinds_of

    assert kinds_of(("=numeric", "a=b=discrete")) == {"": "numeric", "a=b": "discrete"}
