"""Classes: compared by their probabilities, calibrated where it helps, tested for their shape."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import log_loss

import separatrix as sx
from separatrix.messages import InputError
from separatrix.rows.parts import Parts
from separatrix.study import out_of_fold, run_study
from separatrix.study.describe import core_of
from separatrix.study.document import document_of

#: Quick ones of every kind, for tests that are about something else.
SOME = ["nearest_centroid", "naive_bayes", "lda", "logistic", "rda", "linear_svm"]


def clouds(n: int = 240, seed: int = 0, classes: int = 3, gap: float = 2.0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    code = rng.integers(0, classes, n)
    x = rng.normal(size=(n, 2)) + gap * np.column_stack([np.cos(code * 2.1), np.sin(code * 2.1)])
    return pl.DataFrame(
        {"p": x[:, 0], "q": 1e3 * x[:, 1], "y": [f"class {'abcdef'[c]}" for c in code]}
    )


def repeated_columns(n: int = 400, copies: int = 8) -> pl.DataFrame:
    """One weak column, copied: independence counts the same evidence again and again."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=n)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-1.5 * x)), "yes", "no")
    near = {f"x{j}": x + 0.01 * rng.normal(size=n) for j in range(copies)}
    return pl.DataFrame({**near, "y": y})


def parts_of(table: pl.DataFrame, seed: int = 0):
    rows = sx.scan(table, target="y").read().with_parts(Parts(seed, 0.2, 5))
    return rows, rows.block.parts


def entry(study, name: str):
    return next(e for e in study.leaderboard if e.name == name)


def test_log_loss_and_error_are_those_of_every_fold() -> None:
    table = clouds()
    found = run_study(sx.scan(table, target="y"), models=["lda"])
    rows, labels = parts_of(table)
    line = entry(found, "lda")
    assert (line.metric, line.secondary.metric) == ("log_loss", "error")
    losses = []
    for fold in range(5):
        model = sx.LinearDiscriminantAnalysis().fit(
            rows.take(np.flatnonzero((labels >= 0) & (labels != fold)))
        )
        test_rows = table[np.flatnonzero(labels == fold).tolist()]
        p = model.predict_proba(test_rows)
        loss = log_loss(test_rows["y"].to_numpy(), p, labels=model.classes_.tolist())
        assert line.folds[fold] == pytest.approx(loss, rel=1e-9)
        own = (test_rows["y"].to_numpy()[:, None] == model.classes_).argmax(axis=1)
        losses.extend(-np.log(p[np.arange(len(p)), own]))
        wrong = np.mean(model.predict(test_rows) != test_rows["y"].to_numpy())
        assert line.secondary.folds[fold] == pytest.approx(wrong)
    sizes = np.bincount(labels[labels >= 0])
    assert line.mean == pytest.approx(np.average(line.folds, weights=sizes))
    assert line.standard_error == pytest.approx(np.std(losses, ddof=1) / len(losses) ** 0.5)
    baseline = entry(found, "baseline")
    assert baseline.mean == pytest.approx(np.log(3), abs=0.03)


def test_scores_without_probabilities_are_read_by_a_sigmoid_of_the_other_folds() -> None:
    table = clouds(classes=2, gap=1.0)
    found = run_study(sx.scan(table, target="y"), models=["least_squares"])
    line = entry(found, "least_squares")
    assert line.calibrated == "platt"
    rows, labels = parts_of(table)
    scores, truth = np.zeros(len(table)), table["y"].to_numpy() == "class b"
    for fold in range(5):
        inside = np.flatnonzero((labels >= 0) & (labels != fold))
        model = sx.LeastSquaresClassifier().fit(rows.take(inside))
        outside = np.flatnonzero(labels == fold)
        scores[outside] = model.decision_function(rows.take(outside))
    for fold in range(5):
        others, own = (labels >= 0) & (labels != fold), labels == fold
        p = sx.PlattCalibration().fit(scores[others], truth[others]).predict(scores[own])
        assert line.folds[fold] == pytest.approx(log_loss(truth[own], p), rel=1e-9)
    stored = found.model
    assert type(stored).__name__ == "CalibratedClassifier"
    whole = sx.PlattCalibration().fit(scores[labels >= 0], truth[labels >= 0])
    test_rows = rows.take(np.flatnonzero(labels < 0))
    expected = whole.predict(core_of(found.model).decision_function(test_rows))
    np.testing.assert_allclose(found.test_predictions.probabilities[:, 1], expected, rtol=1e-9)


def test_overconfident_probabilities_are_calibrated(tmp_path) -> None:
    table = repeated_columns()
    found = run_study(sx.scan(table, target="y"), models=["naive_bayes"])
    check = found.calibration
    assert check.method in ("platt", "logistic", "isotonic")
    assert check.gain > check.gain_error > 0
    assert check.after.mean < check.before.mean
    line = entry(found, "naive_bayes")
    assert (line.calibrated, line.mean) == (check.method, check.after.mean)
    assert check.before.mean > entry(found, "baseline").mean  # too sure to win as it is
    assert check.ece_after < check.ece_before
    assert any("Calibrated (" in s for s in found.messages)
    test = {s.metric: s.value for s in found.test}
    own = log_loss(found.test_predictions.truth, found.test_predictions.uncalibrated)
    assert test["log_loss"] < own
    assert test["log_loss"] == pytest.approx(
        log_loss(found.test_predictions.truth, found.test_predictions.probabilities)
    )
    sx.save(found.model, tmp_path / "m.sx")
    again = sx.load(tmp_path / "m.sx").predict_proba(table)
    np.testing.assert_array_equal(again, found.model.predict_proba(table))
    assert type(core_of(found.model)).__name__ == "NaiveBayes"


def test_true_probabilities_are_left_as_they_are() -> None:
    found = run_study(sx.scan(clouds(gap=1.0), target="y"), models=["logistic"])
    assert found.calibration.method is None
    assert found.calibration.after == found.calibration.before
    assert type(found.model).__name__ == "LogisticRegression"
    assert any("Not calibrated:" in s for s in found.messages)
    assert found.test_predictions.uncalibrated is None
    assert len(found.description.odds.estimates) == 6
    lda = run_study(sx.scan(clouds(), target="y"), models=["lda"])
    assert lda.description.odds is None


def test_the_choice_can_go_by_errors() -> None:
    table = clouds(gap=1.0)
    found = run_study(sx.scan(table, target="y"), models=SOME, metric="error")
    assert {e.metric for e in found.leaderboard} == {"error"}
    assert {e.secondary.metric for e in found.leaderboard} == {"log_loss"}
    with pytest.raises(InputError, match="Did you mean 'log_loss'"):
        run_study(sx.scan(table, target="y"), metric="logloss")
    with pytest.raises(InputError, match="not compared by 'error'"):
        run_study(sx.scan(table, target="p"), metric="error")


def test_few_stored_scores_suffice(monkeypatch) -> None:
    whole = run_study(sx.scan(repeated_columns(), target="y"), models=["naive_bayes"])
    monkeypatch.setattr(out_of_fold, "MAX_NUMBERS", 400)
    few = run_study(sx.scan(repeated_columns(), target="y"), models=["naive_bayes"])
    assert few.leaderboard == whole.leaderboard  # the comparison is on all rows
    assert few.calibration == whole.calibration
    p, q = (s.test_predictions.probabilities for s in (few, whole))
    assert 0 < np.abs(p - q).max() < 0.1


def test_the_same_seed_gives_the_same_study() -> None:
    first, second = (
        document_of(run_study(sx.scan(clouds(), target="y"), models=SOME, reject=0.2))
        for _ in range(2)
    )
    assert first == second
    assert first["calibration"]["before"]["metric"] == "log_loss"
    assert first["leaderboard"][1]["secondary"]["metric"] == "error"
    assert set(first["decision"]["costs"]["class a"]) == {
        *("class a", "class b", "class c", "reject"),
    }
    assert first["model"]["parameters"]["estimator"]["class"]


# -- who competes ----------------------------------------------------------------------------------


def test_a_penalty_helps_where_classes_are_separable() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    apart = np.where(x > 0, "up", "down")
    table = pl.DataFrame({"x": x, "y": apart})
    clear = run_study(sx.scan(table, target="y"), models=["logistic", "logistic_ridge"])
    line = entry(clear, "logistic_ridge")
    assert len(line.hyperparameters["C"]) == 5
    assert np.isfinite(line.mean)


def test_more_columns_than_rows_with_missing_values() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(60, 80))
    label = np.where(x[:, 0] + x[:, 1] > 0, "up", "down")
    table = pl.DataFrame({f"x{j}": x[:, j] + (j < 6) * (label == "up") for j in range(80)})
    table = table.with_columns(y=pl.Series(label))
    found = run_study(sx.scan(table, target="y"), models=["naive_bayes", "logistic_ridge"])
    assert found.winner != "baseline"
    assert found.model.predict(table.drop("y")).shape == (60,)
    incomplete = table.with_columns(
        x0=pl.when(pl.int_range(60) % 3 == 0).then(None).otherwise("x0")
    )
    found_incomplete = run_study(sx.scan(incomplete, target="y"), models=["naive_bayes"])
    seen = core_of(found_incomplete.model).column_moments_.observed
    assert seen.min() < seen.max()  # a missing value is skipped, not imputed
    assert found_incomplete.training.names == ()


# -- awkward classes -------------------------------------------------------------------------------


def last_row_class() -> sx.Rows:
    """A table in order of time whose last row, a test row, is of a third class."""
    table = clouds(classes=2)
    last = pl.DataFrame({"p": [0.0], "q": [0.0], "y": ["alone"]})
    table = pl.concat([table.sample(fraction=1.0, shuffle=True, seed=0), last])
    return sx.scan(table, target="y", time=np.arange(len(table)))


def test_a_class_of_the_test_set_alone() -> None:
    found = run_study(last_row_class(), models=["lda", "naive_bayes"])
    assert found.classes == ("class a", "class b")
    assert any("'alone' is in the test set alone" in s for s in found.messages)
    assert "alone" in found.test_predictions.truth
    test = {s.metric: s.value for s in found.test}
    largest = -np.log(np.finfo(float).eps)
    assert test["log_loss"] > largest / found.n_test
    assert test["error"] >= 1 / found.n_test
    with_costs = run_study(
        last_row_class(), models=["lda"], costs={"alone": {"class a": 50, "class b": 50}}
    )
    assert {s.metric: s.value for s in with_costs.test}["cost"] >= 50 / found.n_test
    assert with_costs.decision.costs.matrix.shape == (2, 2)


def test_a_class_of_one_row() -> None:
    table = clouds(classes=2).with_columns(
        y=pl.when(pl.int_range(240) == 7).then(pl.lit("b")).otherwise(pl.lit("a"))
    )
    assert all(parts_of(table, seed)[1][7] != -1 for seed in range(20))
    found = run_study(sx.scan(table, target="y"))
    assert found.winner == "baseline"
    assert "could be scored on every fold" in found.reason
    last = -np.abs(np.arange(240) - 7)
    with pytest.raises(InputError, match=r"column 'y'.*are of class 'a'"):
        run_study(sx.scan(table, target="y", time=last))


def test_many_classes() -> None:
    rng = np.random.default_rng(0)
    code = np.repeat(np.arange(150), 12)
    x = rng.normal(size=(150, 2))[code] * 40 + rng.normal(size=(1800, 2))
    table = pl.DataFrame({"p": x[:, 0], "q": x[:, 1], "y": [f"c{c}" for c in code]})
    found = run_study(sx.scan(table, target="y"), models=["nearest_centroid", "lda"])
    assert found.winner == "lda"
    basic = entry(found, "nearest_centroid")
    assert np.isnan(basic.mean)
    assert "too many to calibrate" in basic.note
    assert basic.secondary.mean < 0.2
    assert found.calibration is None


# -- the shape of the classes ----------------------------------------------------------------------


@pytest.mark.parametrize("case", ["shared", "full", "none"])
def test_the_covariance_case_that_made_the_rows_is_favored(case) -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(600, 2))
    first = np.arange(600) < 300
    if case == "full":
        x[first] = x[first] @ np.array([[2.0, 0.5], [0.0, 0.4]])
    if case == "none":
        x = np.exp(x)
    x[first] += 1.0
    table = pl.DataFrame(
        {"p": x[:, 0], "q": 1e6 * x[:, 1], "word": ["k", "l"] * 300}
        | {"y": np.where(first, "one", "two")}
    )
    found = run_study(sx.scan(table, target="y"), models=["lda"]).covariance_tests
    assert found.favored == case
    assert set(found.normality) == {"one", "two"}
    assert found.columns == ("p", "q")
    assert {"shared": "LDA", "full": "of QDA", "none": "not normal"}[case] in found.summary


def test_what_cannot_be_tested_has_a_reason() -> None:
    table = clouds(60, classes=2).with_columns(r=2 * pl.col("p"))
    found = run_study(sx.scan(table, target="y"), models=["lda"]).covariance_tests
    assert found.equality is None
    assert "cannot be tested" in found.summary or found.favored == "none"
    words = pl.DataFrame({"u": ["k", "l", "m"] * 40, "y": ["no", "yes"] * 60})
    assert (
        run_study(sx.scan(words, target="y"), models=["nearest_centroid"]).covariance_tests is None
    )


def test_many_classes_are_compared_where_that_is_requested(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    code = np.repeat(np.arange(14), [7, 5, 7, 1, 1, 6, 1, 1, 8, 9, 6, 2, 9, 1])
    x = rng.normal(size=(64, 3)) + rng.normal(size=(14, 3))[code] * 3
    table = {f"x{j}": x[:, j] for j in range(3)} | {"kind": [f"k{c}" for c in code]}
    with pytest.raises(sx.InputError, match="task='classification'"):
        sx.run_study(sx.scan(table, target="kind"))
    study = sx.run_study(
        sx.scan(table, target="kind"), task="classification", models=["naive_bayes"]
    )
    assert any("14 classes in 64 rows" in message for message in study.messages)
    monkeypatch.setenv("SEPARATRIX_MEMORY", "0.001")  # as a stream, too
    streamed = tmp_path / "streamed.csv"
    pl.DataFrame(table).write_csv(streamed)
    with pytest.raises(sx.InputError, match="task='classification'"):
        sx.run_study(sx.scan(streamed, target="kind"))
    study = sx.run_study(
        sx.scan(streamed, target="kind"), task="classification", models=["naive_bayes"]
    )
    assert any("14 classes in 64 rows" in message for message in study.messages)
    assert any("pass" in message for message in study.messages)
    monkeypatch.undo()
    names = {f"x{j}": x[:, j] for j in range(3)} | {"who": [f"n{i}" for i in range(64)]}
    with pytest.raises(sx.InputError, match="too many for classes") as fault:
        sx.run_study(sx.scan(names, target="who"), task="classification")
    assert "task='classification'" not in str(fault.value)
