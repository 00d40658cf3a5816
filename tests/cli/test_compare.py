"""Two studies, or a study and predictions of another program, on common test rows."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import separatrix as sx
from separatrix.study.pairing import RowAnswers, _of_numbers

pytestmark = pytest.mark.usefixtures("plain_page")
FIT = ("fit", "sample:diabetes", "--target", "progression", "--no-reference")


def test_two_studies_by_hand(command, here) -> None:
    for model in ("linear", "baseline"):
        assert command(*FIT, "--models", model, "--out", model).code == 0
    ran = command("compare", "linear", "baseline", "--json")
    assert ran.code == 0, ran.err
    found = ran.document
    assert found["rows"] == {"common": 88, "first": 88, "second": 88}
    tables = []
    for model in ("linear", "baseline"):
        with (here / model / "predictions.csv").open() as file:
            tables.append(list(csv.DictReader(file)))
    truth, one, two = (
        np.array([float(line[name]) for line in table])
        for table, name in (
            (tables[0], "progression"),
            (tables[0], "predicted"),
            (tables[1], "predicted"),
        )
    )
    by = {score["metric"]: score for score in found["scores"]}
    d = np.abs(truth - two) - np.abs(truth - one)
    half = 1.959964 * np.sqrt(d.var() / (len(d) - 1))
    assert by["mae"]["difference"] == pytest.approx(d.mean())
    assert by["mae"]["interval"] == pytest.approx([d.mean() - half, d.mean() + half])
    rmse = np.sqrt(np.mean((truth - two) ** 2)) - np.sqrt(np.mean((truth - one) ** 2))
    assert by["rmse"]["difference"] == pytest.approx(rmse)
    assert by["rmse"]["interval"][0] < rmse < by["rmse"]["interval"][1]
    assert by["rmse"]["better"] == "linear"
    text = command("compare", "linear", "baseline")
    assert "linear is better in RMSE" in text.out
    # the file of the second as that of another program, with rows in another order, and fewer
    with (here / "other.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["number", "forecast"])
        writer.writerows([line["row"], line["predicted"]] for line in tables[1][:60][::-1])
    ran = command(
        "compare", "linear", "other.csv", "--row", "number", "--predicted", "forecast", "--json"
    )
    assert ran.code == 0, ran.err
    assert ran.document["rows"]["common"] == 60
    d = d[:60]
    by = {score["metric"]: score for score in ran.document["scores"]}
    assert by["mae"]["difference"] == pytest.approx(d.mean())


def test_intervals_of_equally_good_predictions_contain_zero(rng) -> None:
    called_better = 0
    for seed in range(100):
        truth, noise = rng.normal(size=80), rng.normal(size=80)
        rows = np.arange(80)
        a, b = (
            RowAnswers(name, rows, truth + noise + 0.5 * rng.normal(size=80), truth, seed=seed)
            for name in "ab"
        )
        scores = _of_numbers(a, b, truth, np.ones(80), seed)
        called_better += any(score.better for score in scores)
    assert called_better <= 15  # 5 % of each of two that go together, and chance


def test_classes_have_log_loss_and_error_rate() -> None:
    from separatrix.samples import sample

    rows = sx.scan(str(sample("wine").path), target="cultivar")
    a, b = (
        sx.run_study(rows, models=[name], reference=False, verbose=False)
        for name in ("lda", "baseline")
    )
    found = sx.compare_predictions(a, b)
    by = {score.metric: score for score in found.scores}
    assert list(by) == ["log_loss", "error"]
    assert by["error"].second == pytest.approx(
        next(score.value for score in b.test if score.metric == "error")
    )
    assert by["log_loss"].first == pytest.approx(
        next(score.value for score in a.test if score.metric == "log_loss")
    )
    assert by["log_loss"].better == 1
    assert "lda is better" in found.verdict


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("number,predicted\n1,2\n", "there is no column 'row'"),
        ("row,predict\n1,2\n", "Did you mean 'predict'"),
        ("row,predicted\n1,2\n1,3\n", "each once"),
        ("row,predicted\n1,2\n", "in common"),
        ("row,predicted\n" + "".join(f"{i},x\n" for i in range(1, 443)), "must be numbers"),
        (
            "row,progression,predicted\n" + "".join(f"{i},1,1\n" for i in range(1, 443)),
            "not about the same rows",
        ),
    ],
)
def test_files_that_do_not_fit(command, here, text, message) -> None:
    (here / "other.csv").write_text(text)
    assert command(*FIT, "--models", "linear", "--out", "a").code == 0
    ran = command("compare", "a", "other.csv")
    assert ran.code == 2
    assert message in ran.err
