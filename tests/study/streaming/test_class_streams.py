"""Classes beyond memory: the same numbers as in memory on the same folds, in counted passes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.svm import LinearSVC as ReferenceSVC

import separatrix as sx
from separatrix.cli.outcome import run
from separatrix.messages import InputError
from separatrix.rows import rows as rows_module
from separatrix.storage import load, load_study
from separatrix.study.streaming.run import TargetValues
from separatrix.study.streaming.scores import Ranking

CLOSED = ("lda", "naive_bayes", "nearest_centroid", "least_squares", "qda", "rda")


def table(n: int = 900, classes: int = 3, seed: int = 0) -> dict:
    """Numbers far from zero and tiny ones, levels, missing values of both kinds."""
    rng = np.random.default_rng(seed)
    k = rng.choice(classes, n, p=np.arange(classes, 0, -1) / np.arange(1, classes + 1).sum())
    x = rng.normal(size=(n, 3)) * (1 + 0.2 * k[:, None]) + k[:, None] * [1.0, 0.0, -0.5]
    level = np.array(["u", "v", "w"])[rng.integers(0, 3, n)]
    return {
        "far": np.where(rng.random(n) < 0.1, np.nan, x[:, 0] + 1e3),
        "tiny": 1e-5 * x[:, 1],
        "other": x[:, 2],
        "level": [
            None if hidden else v for hidden, v in zip(rng.random(n) < 0.05, level, strict=True)
        ],
        "y": [f"class {v}" for v in k],
    }


@pytest.fixture
def file(tmp_path, monkeypatch) -> Path:
    """A table that is beyond the limit of memory."""
    pc.write_csv(pa.table(table()), tmp_path / "t.csv")
    monkeypatch.setenv("SEPARATRIX_MEMORY", "0.001")
    return tmp_path / "t.csv"


def scanned(file: Path) -> sx.Rows:
    return sx.scan(str(file), target="y")


def test_closed_forms_equal_those_of_memory_on_the_same_folds(file, monkeypatch) -> None:
    streamed = sx.run_study(scanned(file), models=CLOSED)
    monkeypatch.setattr(
        rows_module, "split_rows", lambda parts, _, hashes, __: parts.assign(hashes)
    )
    whole = sx.run_study(scanned(file).read(), models=CLOSED, reference=False)
    assert (streamed.n_train, streamed.n_test) == (whole.n_train, whole.n_test)
    assert streamed.winner == whole.winner
    for ours, theirs in zip(streamed.leaderboard, whole.leaderboard, strict=True):
        assert ours.calibrated == theirs.calibrated
        np.testing.assert_allclose(ours.folds, theirs.folds, rtol=1e-10)
        np.testing.assert_allclose(ours.standard_error, theirs.standard_error, rtol=1e-10)
        np.testing.assert_allclose(ours.secondary.folds, theirs.secondary.folds, rtol=1e-10)
    for ours, theirs in zip(streamed.test, whole.test, strict=True):
        assert ours.metric == theirs.metric
        np.testing.assert_allclose(ours.value, theirs.value, rtol=1e-10)
        if ours.metric != "auc":  # areas of classes are correlated, which sums do not tell
            np.testing.assert_allclose((ours.low, ours.high), (theirs.low, theirs.high), rtol=1e-9)
    for ours, theirs in zip(streamed.class_scores, whole.class_scores, strict=True):
        for name in ("precision", "recall", "f1", "auc"):
            a, b = getattr(ours, name), getattr(theirs, name)
            np.testing.assert_allclose(
                (a.value, a.low, a.high), (b.value, b.low, b.high), rtol=1e-9
            )
    assert streamed.calibration.gain == pytest.approx(whole.calibration.gain, abs=1e-12)
    rows = scanned(file)
    np.testing.assert_allclose(
        streamed.model.predict_proba(rows), whole.model.predict_proba(rows), atol=1e-10
    )


def test_three_passes_for_closed_forms_and_more_for_a_descent(file) -> None:
    stages: list[str] = []
    study = sx.run_study(
        scanned(file), models=["lda"], progress=lambda stage, *_: stages.append(stage)
    )
    assert study.stream.n_passes == 3
    assert [s for s in stages if s.startswith("pass")] == [
        "pass 1: moments by class and fold",
        "pass 2: losses out of fold",
        "pass 3: the test part",
    ]
    assert any("Read as a stream: 3 passes." in s for s in study.messages)
    assert study.stream.confusion.sum() == study.n_test
    more = sx.run_study(scanned(file), models=["logistic", "logistic_ridge", "linear_svm"])
    assert more.stream.n_passes <= 7
    whole = sx.run_study(scanned(file), models=["lda"], seed=0)
    assert whole.test == study.test


def test_a_sample_that_is_not_whole_changes_no_loss(file, monkeypatch) -> None:
    names = ["lda", "logistic", "linear_svm"]
    whole = sx.run_study(scanned(file), models=names)
    monkeypatch.setattr("separatrix.rows.sampling.ROWS", 300)
    some = sx.run_study(scanned(file), models=names)
    assert some.stream.n_sampled == 300 < whole.stream.n_sampled
    assert any("sample of 300" in s for s in some.messages)
    a, b = ({e.name: e for e in study.leaderboard} for study in (whole, some))
    np.testing.assert_allclose(a["logistic"].folds, b["logistic"].folds, rtol=1e-5)
    np.testing.assert_allclose(a["baseline"].folds, b["baseline"].folds, rtol=1e-12)
    assert len(some.test_predictions.truth) < some.n_test or some.n_test <= 300


def test_the_paths_solve_their_problems(file) -> None:
    """Against liblinear and our own Newton's method, on the training rows of every fold."""
    study = sx.run_study(scanned(file), models=["linear_svm"])
    model = study.model.estimator_ if hasattr(study.model, "estimator_") else study.model
    assert model.certificate_.holds
    rows = scanned(file).read()
    labels = sx.Parts(0).assign(rows.hashes)
    training = rows.take(np.flatnonzero(labels != -1))
    block = model.encoding_.apply(training.block)
    z = (block.x - block.x.mean(axis=0)) / block.x.std(axis=0)
    codes = training.block.y.argmax(axis=1)
    reference = ReferenceSVC(C=model.C, tol=1e-8, intercept_scaling=1e3, max_iter=100_000)
    reference.fit(z, codes)
    coef = model.coef_ * block.x.std(axis=0)
    np.testing.assert_allclose(coef, reference.coef_, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("classes", [2, 30])
def test_any_number_of_classes_with_areas_of_the_sketch(classes, tmp_path, monkeypatch) -> None:
    data = table(1500, classes)
    pc.write_csv(pa.table(data), tmp_path / "t.csv")
    monkeypatch.setenv("SEPARATRIX_MEMORY", "0.001")
    study = sx.run_study(scanned(tmp_path / "t.csv"), models=["lda"])
    assert len(study.classes) == classes
    if classes == 2:
        test = study.test_predictions
        area = next(s.value for s in study.test if s.metric == "auc")
        expected = roc_auc_score(test.truth == study.classes[1], test.probabilities[:, 1])
        assert area == pytest.approx(expected, abs=1e-12)


def test_a_ranking_drops_bits_and_says_how_much_that_may_matter() -> None:
    rng = np.random.default_rng(0)
    positive = rng.random(4000) < 0.4
    scores = rng.normal(size=4000) + positive
    w = np.ones(4000)
    exact = Ranking().of(scores, positive, w)
    parts = [slice(i, i + 500) for i in range(0, 4000, 500)]
    rough = Ranking(200)
    for part in parts:
        rough = rough + Ranking(200).of(scores[part], positive[part], w[part])
    assert exact.resolution == 0.0
    assert exact.area.value == pytest.approx(roc_auc_score(positive, scores), abs=1e-12)
    assert 0 < abs(rough.area.value - exact.area.value) <= rough.resolution < 0.01
    assert len(rough.keys) <= 200


def test_a_numeric_target_is_counted_first_and_folds_are_those_of_the_numbers(
    tmp_path, monkeypatch
) -> None:
    data = table(400, 3)
    data["y"] = [int(v[-1]) for v in data["y"]]
    pc.write_csv(pa.table(data), tmp_path / "t.csv")
    monkeypatch.setenv("SEPARATRIX_MEMORY", "0.0001")
    study = sx.run_study(scanned(tmp_path / "t.csv"), models=["naive_bayes"])
    assert study.classes == ("0", "1", "2")
    assert study.stream.n_passes == 4
    assert (TargetValues() + TargetValues()).counts == {}


def test_costs_decide_on_a_stream(file) -> None:
    study = sx.run_study(scanned(file), models=["lda"], reject=0.3, metric="cost")
    assert study.decision.coverage.value < 1
    scores = {s.metric: s.value for s in study.test}
    assert scores["cost"] == study.decision.cost.value
    test = study.test_predictions
    made = np.where(test.predicted == "reject", 0.3, test.predicted != test.truth)
    assert scores["cost"] == pytest.approx(float(np.mean(made.astype(float))), abs=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"models": ["svm"]}, "svm needs all rows in memory"),
        ({"metric": "auc"}, "'auc' is not a mean over rows"),
        ({"test": 0.0}, "too few to hold out a test set"),
    ],
)
def test_what_a_stream_cannot_do_is_refused_in_a_sentence(file, options, words) -> None:
    with pytest.raises(InputError, match=words):
        sx.run_study(scanned(file), **options)


def test_one_class_and_classes_that_a_fold_lacks(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("SEPARATRIX_MEMORY", "0.0001")
    data = table(300, 2)
    pc.write_csv(pa.table(data | {"y": ["a"] * 300}), tmp_path / "one.csv")
    with pytest.raises(InputError, match="nothing to learn"):
        sx.run_study(scanned(tmp_path / "one.csv"))
    pc.write_csv(pa.table(data | {"y": ["rare", *data["y"][1:]]}), tmp_path / "rare.csv")
    study = sx.run_study(scanned(tmp_path / "rare.csv"), models=["lda", "logistic", "qda"], seed=1)
    notes = {entry.name: entry.note for entry in study.leaderboard}
    assert "rare" in study.classes or any("test set alone" in s for s in study.messages)
    if "rare" in study.classes:
        assert "no row of class rare" in notes["logistic"]
    assert np.isfinite(next(e.mean for e in study.leaderboard if e.name == "baseline"))


def test_the_command_writes_model_page_and_predictions(file, tmp_path) -> None:
    place = tmp_path / "out"
    words = ["fit", str(file), "--target", "y", "--models", "lda", "--out", str(place)]
    assert run(words) == 0
    assert "Read as a stream: 3 passes" in (place / "report.html").read_text(encoding="utf-8")
    assert json.loads((place / "result.json").read_text())["stream"]["n_passes"] == 3
    assert (place / "predictions.csv").read_text().startswith("y,predicted,probability class 0")
    assert load_study(place / "model.sx").stream.n_passes == 3
    assert load(place / "model.sx").predict(scanned(file)).shape == (900,)


def _rows_of_classes(n: int, slope: float, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 6))
    signal = slope * x[:, 0] - 0.5 * slope * x[:, 1]
    y = np.where(signal + rng.logistic(size=n) > 0, "yes", "no")
    return {**{f"x{j}": x[:, j] for j in range(6)}, "y": y}


@pytest.mark.parametrize(("n", "slope"), [(400, 0.3), (4_000, 1.0), (40_000, 3.0)])
@pytest.mark.parametrize("name", ["logistic_ridge", "linear_svm"])
def test_penalties_that_the_sample_leaves_out_would_not_have_won(
    name: str, n: int, slope: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = tmp_path / "rows.parquet"
    pq.write_table(pa.table(_rows_of_classes(n, slope, seed=n)), place)
    monkeypatch.setenv("SEPARATRIX_MEMORY", "0.001")

    def entry() -> Any:
        study = sx.run_study(sx.scan(str(place), target="y"), models=[name])
        return next(e for e in study.leaderboard if e.name == name)

    screened = entry()
    monkeypatch.setattr("separatrix.optimize.linear_paths.SAME_SCORES", -1.0)
    monkeypatch.setattr("separatrix.optimize.linear_paths.CLEARLY", np.inf)
    every = entry()
    assert "values of C" not in every.note
    assert "values of C" in screened.note
    # the loss of the best of all, but for what nobody could tell apart
    assert screened.mean <= every.mean + 0.1 * every.standard_error
