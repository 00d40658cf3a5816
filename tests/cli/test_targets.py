"""Several targets in one run: a study of each, a page of all, predictions side by side."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

import separatrix as sx
from separatrix.cli.targets import folders_of
from separatrix.samples import sample

WORDS = ["sample:diabetes", "--target", "progression", "--target", "bmi", "--models", "linear"]


@pytest.mark.usefixtures("plain_page")
def test_every_target_has_its_study_and_predict_answers_all(command, here) -> None:
    assert command("fit", *WORDS, "--out", "both").code == 0
    document = json.loads((here / "both" / "result.json").read_text())
    page = (here / "both" / "report.html").read_text(encoding="utf-8")
    assert list(document["targets"]) == ["progression", "bmi"]
    for name, other in (("progression", "bmi"), ("bmi", "progression")):
        assert f'href="{name}/report.html"' in page
        result = json.loads((here / "both" / name / "result.json").read_text())
        assert other not in result["model"].get("coefficients", {})
        assert result["test"] == document["targets"][name]["test"]
        assert (here / "both" / name / "study.toml").is_file()
    ran = command("predict", "both", "sample:diabetes", "--explain", "1")
    assert ran.code == 0
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    for name in ("progression", "bmi"):
        model = sx.load(here / "both" / name / "model.sx")
        found = [float(row[f"predicted {name}"]) for row in rows]
        np.testing.assert_array_equal(found, model.predict(sample("diabetes").path))
    answer = command("predict", "both", "sample:diabetes", "--json").document
    assert answer["targets"] == ["progression", "bmi"]
    assert len(answer["predictions"]["predicted bmi"]) == 442


@pytest.mark.usefixtures("plain_page")
def test_gates_of_all_targets_are_reported_together(command, here) -> None:
    ran = command("fit", *WORDS, "--out", "both", "--min-score", "r2=0.45", "--json")
    assert ran.code == 1
    assert [text.split(":")[0] for text in ran.document["failed"]] == ["progression", "bmi"]
    ran = command("fit", *WORDS, "--out", "both", "--min-score", "rmse=10")
    assert ran.code == 1
    assert "failed: progression: rmse is" in ran.err


def test_a_target_twice_and_moments_are_refused(command, here) -> None:
    ran = command("fit", "sample:wine", "--target", "hue", "--target", "hue")
    assert ran.code == 2
    assert "names a column twice" in ran.err
    ran = command("fit", "a.moments", "--target", "a", "--target", "b")
    assert ran.code == 2
    assert "moments have one target" in ran.err


def test_folders_of_targets_differ() -> None:
    assert folders_of(["a b", "a/b", "Ä", "...", "A-B"]) == ["a-b", "a-b-2", "Ä", "4", "A-B-5"]


@pytest.mark.usefixtures("plain_page")
def test_importance_is_sorted_and_says_what_matters(command, here) -> None:
    assert command("fit", *WORDS[:3], "--models", "linear", "--out", "m").code == 0
    rows = list(csv.DictReader((here / "m" / "importance.csv").open()))
    rises = [float(row["increase of squared error"]) for row in rows]
    assert rises == sorted(rises, reverse=True)
    assert {row["matters"] for row in rows} == {"true", "false"}
    for row in rows:
        assert (float(row["lower 95%"]) > 0) == (row["matters"] == "true")
