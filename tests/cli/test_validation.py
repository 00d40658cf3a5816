"""``fit --repeats``, ``--folds loo`` and ``--nested``."""

from __future__ import annotations

import json

import pytest

FIT = ("--target", "y", "--models", "linear,bayes")


@pytest.mark.usefixtures("plain_page")
def test_repeats_and_nested_are_printed_and_in_json(command, here, table) -> None:
    ran = command("fit", table, *FIT, "--repeats", "2", "--nested", "--group", "b")
    assert ran.code == 0
    assert "2 × 5 folds" in ran.out
    assert "2 repeats of 5 folds" in ran.out
    assert "judged by an outer loop" in ran.out
    assert "repeats=2, nested=True" in ran.err
    found = json.loads((here / "table-separatrix" / "result.json").read_text())["validation"]
    assert found["repeats"]["n_repeats"] == 2
    assert sum(found["nested"]["chosen"].values()) == len(found["nested"]["folds"])


@pytest.mark.usefixtures("plain_page")
def test_leave_one_out_gives_the_same_scores_in_any_order_of_rows(command, here, table) -> None:
    head, *lines = table.read_text().splitlines()
    (here / "turned.csv").write_text("\n".join([head, *reversed(lines)]) + "\n")
    documents = []
    for name in ("table.csv", "turned.csv"):
        ran = command("fit", name, *FIT, "--folds", "loo", "--json")
        documents.append(ran.document)
    first, second = documents
    assert first["validation"]["scheme"] == "leave_one_out"
    assert first["winner"] == second["winner"]
    for one, other in zip(first["leaderboard"], second["leaderboard"], strict=True):
        assert one["mean"] == pytest.approx(other["mean"], rel=1e-9)
    assert "leave-one-out" in command("fit", table, *FIT, "--folds", "loo").out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--folds", "1"), "neither a number from 2 to 50 nor 'loo'"),
        (("--folds", "loo", "--repeats", "3"), "Leave out --repeats"),
        (("--folds", "loo", "--time", "a"), "from later rows"),
        (("--goal", "best"), "is not one of"),
    ],
)
def test_what_means_nothing_is_refused(command, here, table, words, message) -> None:
    ran = command("fit", table, "--target", "y", *words)
    assert ran.code == 2
    assert message in ran.err
    assert {path.name for path in here.iterdir()} == {"table.csv"}
