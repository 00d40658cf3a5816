"""``--costs``, ``--reject`` and ``--metric``: from a table to predictions or rejections."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

import separatrix as sx
from separatrix.cli.fit import parse_costs
from separatrix.messages import InputError

WANTED = {"cat": {"dog": 5.0, "reject": 0.3}, "dog": {"cat": 1.5}}
KIND = ("--target", "kind", "--kind", "pet_id=ignore")


@pytest.fixture
def pets(here) -> Path:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 160)
    size, weight = rng.normal(kind, 1.0), rng.normal(20 + 4 * kind, 4.0)
    lines = [
        f"p{i},{s:.4f},{w:.4f},{('cat', 'dog')[k]}"
        for i, (s, w, k) in enumerate(zip(size, weight, kind, strict=True))
    ]
    path = here / "pets.csv"
    path.write_text("\n".join(["pet_id,size,weight,kind", *lines]) + "\n")
    return path


def test_the_three_ways_to_write_costs(here) -> None:
    (here / "c.json").write_text(json.dumps(WANTED))
    (here / "c.csv").write_text("truth,cat,dog,reject\ncat,,5,0.3\n\ndog,1.5,,\n")
    (here / "c.txt").write_text("  " + json.dumps(WANTED))
    inline = " cat:dog=5, cat:reject=0.3,dog : cat=1.5,"
    for text in (inline, "c.json", "c.csv", "c.txt"):
        assert parse_costs(text) == WANTED
    assert parse_costs("a=b:c=2") == {"a=b": {"c": 2.0}}
    assert parse_costs(None) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cat-dog=5", "is not TRUTH:ANSWER=COST"),
        ("cat:=5", "is not TRUTH:ANSWER=COST"),
        ("cat:dog", "is not TRUTH:ANSWER=COST"),
        ("cat:dog:cow=5", "more than one colon"),
        ("cat:dog=five", "'five' is not a cost"),
        ("cat:dog=inf", "'inf' is not a cost"),
        ("cat:dog=1,cat:dog=2", "given twice"),
        (",", "names no cost"),
        ("absent.json", "absent.json: does not exist"),
        ("broken.json", "row 1: is not JSON"),
        ("flat.json", "contains no costs"),
        ("words.json", "'much' is not a cost"),
        ("empty.json", "names no cost"),
        ("short.csv", "contains no table of costs"),
        ("ragged.csv", "row 1: 2 values for 3 columns"),
        ("words.csv", "row 2: 'x' is not a cost"),
        ("bytes.csv", "not text in UTF-8"),
    ],
)
def test_costs_that_cannot_be_read(here, text, message) -> None:
    (here / "broken.json").write_text("{")
    (here / "flat.json").write_text('{"cat": 5}')
    (here / "words.json").write_text('{"cat": {"dog": "much"}}')
    (here / "empty.json").write_text('{"cat": {}}')
    (here / "short.csv").write_text("truth\n")
    (here / "ragged.csv").write_text("truth,cat,dog\ncat,1\n")
    (here / "words.csv").write_text("truth,cat,dog\ncat,,1\ndog,x,\n")
    (here / "bytes.csv").write_bytes(b"truth,\xff\n")
    with pytest.raises(InputError, match=re.escape(message)):
        parse_costs(text)


@pytest.mark.usefixtures("plain_page")
def test_rejections_go_all_the_way_to_predictions(command, here, pets) -> None:
    words = ("fit", pets, *KIND, "--models", "lda,logistic", "--reject", "0.2")
    ran = command(*words, "--costs", "cat:dog=5", "--min-score", "coverage=0.05")
    assert ran.code == 0, ran.err
    assert "With the reject option" in ran.out
    assert "Log loss" in ran.out
    assert "Error rate" in ran.out
    place = here / "pets-separatrix"
    with (place / "predictions.csv").open() as file:
        found = list(csv.DictReader(file))
    names = ["probability cat", "probability dog"]
    assert list(found[0]) == ["row", "pet_id", "kind", "predicted", *names]
    for line in found:
        cat, dog = (float(line[name]) for name in names)
        cost = {"cat": dog, "dog": 5 * cat, "reject": 0.2}
        assert cost[line["predicted"]] == pytest.approx(min(cost.values()))
    assert {line["predicted"] for line in found} == {"cat", "dog", "reject"}
    result = json.loads((place / "result.json").read_text())
    assert result["decision"]["costs"]["cat"] == {"cat": 0.0, "dog": 5.0, "reject": 0.2}
    assert result["decision"]["coverage"] == result["test"]["coverage"]
    assert result["model"]["class"] == "RejectOption"

    ran = command("predict", place / "model.sx", pets)
    assert ran.code == 0, ran.err
    again = {row["row"]: row for row in csv.DictReader(ran.out.splitlines())}
    for line in found:
        new = again[line["row"]]
        assert new["predicted"] == line["predicted"]
        assert float(new["probability cat"]) == pytest.approx(float(line["probability cat"]))
        assert new["pet_id"] == line["pet_id"]


@pytest.mark.usefixtures("plain_page")
def test_the_python_and_the_command_shown_give_the_same(command, here, pets) -> None:
    (here / "c.csv").write_text("truth,cat,dog\ncat,0,3\ndog,1,0\n")
    words = (*KIND, "--models", "lda", "--costs", "c.csv", "--metric", "error")
    ran = command("fit", "pets.csv", *words)
    assert ran.code == 0, ran.err
    names: dict = {}
    shown = ran.err.split("In Python:\n")[1]
    exec("\n".join(line.strip() for line in shown.splitlines()), names)
    stored = sx.load(here / "pets-separatrix" / "model.sx")
    rows = pets.read_text()
    assert (names["study"].model.predict("pets.csv") == stored.predict("pets.csv")).all()
    assert rows == pets.read_text()


@pytest.mark.usefixtures("sketched")
def test_the_same_seed_writes_the_same_bytes_with_rejections(command, here, pets) -> None:
    for out in ("one", "two"):
        words = (*KIND, "--reject", "0.2", "--models", "nearest_centroid,naive_bayes,lda")
        assert command("fit", pets, *words, "--out", out).code == 0
    for name in ("model.sx", "report.html", "predictions.csv", "result.json"):
        assert (here / "one" / name).read_bytes() == (here / "two" / name).read_bytes()
    ran = command("report", "one", "--out", "again.html")
    assert ran.code == 0, ran.err
    assert (here / "again.html").read_bytes() == (here / "one/report.html").read_bytes()


@pytest.mark.usefixtures("plain_page")
def test_naive_bayes_is_stored_and_predicts_with_missing_values(command, here, pets) -> None:
    ran = command("fit", pets, *KIND, "--models", "naive_bayes")
    assert ran.code == 0, ran.err
    (here / "new.csv").write_text("weight,size\n21,\n,0.5\n,\n")
    ran = command("predict", "pets-separatrix/model.sx", "new.csv")
    assert ran.code == 0, ran.err
    rows = list(csv.DictReader(ran.out.splitlines()))
    assert [row["row"] for row in rows] == ["1", "2", "3"]
    loaded = sx.load(here / "pets-separatrix/model.sx")
    core = getattr(loaded, "estimator_", loaded)
    assert core.predict_proba("new.csv")[2] == pytest.approx(core.class_prior_)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--costs", "cta:dog=5"), "Did you mean 'cat'"),
        (("--costs", "cat:dgo=5"), "Did you mean 'dog'"),
        (("--reject", "-1"), "cost of a rejection"),
        (("--reject", "much"), "not a valid float"),
        (("--metric", "loss"), "'log_loss'"),
        (("--min-score", "cost=1"), "not measured"),
    ],
)
@pytest.mark.usefixtures("plain_page")
def test_options_that_are_not_understood(command, pets, words, message) -> None:
    ran = command("fit", pets, *KIND, "--models", "lda", *words)
    assert ran.code == 2
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_costs_of_numbers_are_refused_before_any_work(command, pets) -> None:
    ran = command("fit", pets, "--target", "size", "--costs", "a:b=1")
    assert ran.code == 2
    assert "--costs is an option of classification" in ran.err
    assert "comparing" not in ran.err
