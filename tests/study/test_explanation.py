"""Importance, partial dependence, histograms and correlations of the columns of a study."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import separatrix as sx
from separatrix.samples import sample
from separatrix.study import explanation as importance_module
from separatrix.study import run_study
from separatrix.study.document import document_of
from separatrix.study.explanation import (
    LOSSES,
    RowLoss,
    column_importance,
    columns_at,
    loss_weights,
    partial_dependence,
    permute_all,
    permute_terms,
    row_loss,
    row_work,
)

LEVELS = ("low", "mid", "top")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 600
    a, b, c = rng.normal(size=(3, n))
    level = rng.integers(0, 3, n)
    y = 3 * a + 2 * np.array([0.0, 1.0, 5.0])[level] + 0.1 * rng.normal(size=n)
    table = pd.DataFrame(
        {
            "a": a,
            "noise": b,
            "copy": c,
            "level": np.array(LEVELS)[level],
            "flag": rng.random(n) < 0.5,
            "y": y,
        }
    )
    table.loc[rng.random(n) < 0.1, "copy"] = np.nan
    return table


@pytest.fixture(scope="module")
def linear(frame):
    return run_study(sx.scan(frame, target="y"), models=["linear"])


@pytest.fixture(scope="module")
def classes(frame):
    table = frame.assign(y=np.where(frame["a"] + 0.2 * frame["noise"] > 0, "yes", "no"))
    return run_study(sx.scan(table, target="y"), models=["logistic"])


def test_importance_of_a_linear_model_is_known(linear, frame):
    """E (β x − β x')² = 2 β² var x, of the test rows that were permuted."""
    found = linear.importance
    rise = dict(zip(found.columns, found.increase, strict=True))
    low = dict(zip(found.columns, found.low, strict=True))
    high = dict(zip(found.columns, found.high, strict=True))
    assert found.loss == "squared_error"
    assert found.base == pytest.approx(0.01, rel=0.3)
    effect = 2 * np.array([0.0, 1.0, 5.0])
    assert rise["a"] == pytest.approx(2 * 9 * 1.0, rel=0.3)
    assert rise["level"] == pytest.approx(2 * effect.var(), rel=0.3)
    for name, variance in (("a", 9.0), ("level", effect.var())):
        assert low[name] <= 2 * variance <= high[name]
    for name in ("noise", "copy", "flag"):
        assert abs(rise[name]) < 1e-3
    assert set(found.columns[:2]) == {"a", "level"}
    assert found.n_rows == linear.n_test
    assert found.n_columns == 5


def test_the_same_seed_gives_the_same_bytes(linear, frame):
    again = run_study(sx.scan(frame, target="y"), models=["linear"])
    assert str(document_of(again)) == str(document_of(linear))
    assert (again.importance.increase == linear.importance.increase).all()
    assert (again.dependence[0].individual == linear.dependence[0].individual).all()


def test_all_terms_of_a_column_move_together(frame):
    rows = sx.scan(frame, target="y").read()
    x = rows.block.x
    at = columns_at(rows)
    assert {name: len(terms) for name, terms in at.items()} == {
        "a": 1, "noise": 1, "copy": 2, "level": 3, "flag": 1,
    }  # fmt: skip
    donors = np.roll(np.arange(len(rows)), 7)
    moved = permute_terms(x, at["level"], donors)
    assert (moved[:, at["level"]].sum(axis=1) == 1).all()
    assert (moved[:, at["level"]] == np.asarray(x)[donors][:, at["level"]]).all()
    others = np.setdiff1d(np.arange(x.shape[1]), at["level"])
    assert (moved[:, others] == x[:, others]).all()
    jobs = [(at["a"], donors), (at["level"], donors[::-1]), (at["copy"], donors)]
    whole = permute_all(x, jobs)
    assert (whole == np.concatenate([permute_terms(x, *job) for job in jobs])).all()
    assert (permute_all(sparse.csr_array(x), jobs).toarray() == whole).all()
    thin = permute_terms(sparse.csr_array(x), at["copy"], donors)
    assert (thin.toarray() == permute_terms(x, at["copy"], donors)).all()


def test_dependence_on_a_linear_column_is_its_coefficient(linear):
    curve = next(d for d in linear.dependence if d.column == "a")
    slope = np.diff(curve.average[:, 0]) / np.diff(curve.values)
    assert slope == pytest.approx(3.0, abs=0.05)
    assert curve.scale == "prediction"
    assert curve.outputs == ("y",)
    assert np.diff(curve.individual, axis=1) / np.diff(curve.values) == pytest.approx(3.0, abs=0.05)
    assert len(curve.deciles) == 9


def test_dependence_on_levels_is_their_effect(linear):
    curve = next(d for d in linear.dependence if d.column == "level")
    mean = dict(zip(curve.levels, curve.average[:, 0], strict=True))
    assert mean["mid"] - mean["low"] == pytest.approx(2.0, abs=0.1)
    assert mean["top"] - mean["low"] == pytest.approx(10.0, abs=0.1)


def test_a_value_that_is_set_is_not_missing(linear, frame):
    """Rows in which the value was missing get it too: otherwise their curves would be flat."""
    rows = sx.scan(frame.assign(y=frame["copy"].fillna(0) * 2), target="y")
    study = run_study(rows, models=["linear"])
    curve = study.dependence[0]
    assert curve.column == "copy"
    assert np.ptp(curve.individual, axis=1).min() > 0.9 * np.ptp(curve.average)


def test_two_classes_have_the_probability_of_the_second(classes):
    assert classes.importance.loss == "log_loss"
    assert classes.importance.columns[:2] == ("a", "noise")
    curve = classes.dependence[0]
    assert (curve.column, curve.outputs, curve.scale) == ("a", ("yes",), "probability")
    assert curve.average.shape[1] == 1
    assert curve.average[0, 0] < 0.05
    assert curve.average[-1, 0] > 0.95


def test_of_three_classes_each_has_a_curve_and_they_sum_to_one():
    table = pd.read_csv(sample("wine").path)
    study = run_study(sx.scan(table, target="cultivar"), models=["lda"])
    assert all(curve.outputs == study.classes for curve in study.dependence)
    for curve in study.dependence:
        assert curve.average.sum(axis=1) == pytest.approx(1.0)
    assert 1 <= len(study.dependence) <= 6
    assert {d.column for d in study.dependence} <= {d.column for d in study.distributions}


def test_the_loss_is_that_of_the_metric(classes):
    for metric, name in LOSSES.items():
        entries = tuple(replace(e, metric=metric) for e in classes.leaderboard)
        found = row_loss(replace(classes, leaderboard=entries)).name
        if name in ("squared_error", "absolute_error"):
            continue
        assert found == ("error" if name == "cost" else name)


def test_balanced_errors_weigh_every_class_alike(frame):
    table = frame.assign(y=np.where(frame["a"] > 1.5, "rare", "common"))
    rows = sx.scan(table, target="y").read()
    w = loss_weights("balanced_error", rows)
    truth = table["y"].to_numpy()
    assert w[truth == "rare"].sum() == pytest.approx(w[truth == "common"].sum())
    assert (loss_weights("error", rows) == 1).all()


def test_a_baseline_has_no_importance(frame):
    noise = frame[["noise", "y"]].assign(y=np.random.default_rng(9).normal(size=len(frame)))
    study = run_study(sx.scan(noise, target="y"), models=["linear"])
    assert study.winner == "baseline"
    assert study.importance is None
    assert study.dependence == ()
    assert [d.column for d in study.distributions] == ["y", "noise"]


class Counting:
    """A regressor that uses one column, and counts the rows that it predicts."""

    def __init__(self, column):
        self.column, self.rows = column, 0

    def predict(self, rows):
        self.rows += len(rows)
        return np.asarray(rows.block.x[:, self.column], dtype=float)


def test_work_is_bounded_and_the_column_in_use_is_found(monkeypatch):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 300))
    table = {f"c{j}": x[:, j] for j in range(300)} | {"y": x[:, 217]}
    rows = sx.scan(table, target="y").read()
    model = Counting(217)
    loss = RowLoss("squared_error", lambda r, y: (model.predict(r) - y) ** 2)
    each = row_work(model, rows, 1)
    monkeypatch.setattr(importance_module, "WORK", 40 * 200 * each)
    found = column_importance(loss, rows, rows, model, 1, 0)
    assert found.columns[0] == "c217"
    assert found.n_columns == 300
    assert len(found.columns) == 40
    assert found.increase[1:] == pytest.approx(0.0)
    screened = 300 * importance_module.SCREEN_ROWS
    assert model.rows <= 1.2 * (40 * 200 + screened)
    monkeypatch.setattr(importance_module, "WORK", 300 * 400 * 3 * each)
    model.rows = 0
    found = column_importance(loss, rows, rows, model, 1, 0)
    assert (found.n_rows, found.n_repeats, len(found.columns)) == (400, 3, 300)
    assert model.rows == 400 * (1 + 3 * 300)


def test_stored_rows_make_predictions_dear(frame):
    rows = sx.scan(frame.drop(columns=["level", "flag", "copy"]), target="y")
    near = sx.KNeighborsRegressor(5, standardize=True).fit(rows)
    line = sx.LinearRegression().fit(rows)
    table = rows.read()
    assert row_work(near, table, 1) > 10 * row_work(line, table, 1)


def test_histograms_count_every_training_row(linear, classes):
    for study in (linear, classes):
        assert study.distributions[0].column == "y"
        for found in study.distributions:
            assert found.counts.sum() + found.missing + found.outside == study.n_train
            bins = len(found.levels) or len(found.edges) - 1
            columns = len(study.classes) if found.column != "y" and study.classes else 1
            assert found.counts.shape == (bins, columns)
    by_level = next(d for d in linear.distributions if d.column == "level")
    mean = dict(zip(by_level.levels, by_level.mean, strict=True))
    assert mean["top"] - mean["low"] == pytest.approx(10.0, abs=1.5)


def test_histograms_by_class_are_those_of_the_rows(classes, frame):
    found = next(d for d in classes.distributions if d.column == "a")
    assert found.classes == ("no", "yes")
    below = found.edges[1:] < -0.7
    assert found.counts[below, 1].sum() == 0
    assert found.counts[below, 0].sum() > 50


def test_correlations_are_those_of_the_training_rows(linear):
    found = linear.correlations
    assert set(found.columns) == {"a", "noise", "copy", "y"}
    at = found.columns.index("a"), found.columns.index("y")
    assert found.matrix[at] == pytest.approx(3 / np.sqrt(9 + 18.7), abs=0.08)
    assert np.diag(found.matrix) == pytest.approx(1.0)


def test_dates_are_marked_as_dates():
    rng = np.random.default_rng(2)
    n = 300
    days = pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    table = pd.DataFrame(
        {"day": days, "year": rng.integers(1990, 2020, n), "x": rng.normal(size=n)}
    )
    table["y"] = (table["day"] - pd.Timestamp("2015-01-01")).dt.days / 100 + table["year"] + 0.0
    study = run_study(sx.scan(table, target="y"), models=["linear"])
    display = {d.column: d.display for d in study.dependence}
    assert display["day"] in ("date", "datetime")
    assert display["year"] == "year"
    assert {d.column: d.display for d in study.distributions}["day"] == display["day"]


def test_levels_by_the_hundred_stay_sparse():
    """Text with many levels is a sparse matrix: columns move and are set there too."""
    rng = np.random.default_rng(4)
    n = 750
    code = rng.integers(0, 300, n)
    table = pd.DataFrame({"code": [f"k{v}" for v in code], "a": rng.normal(size=n)})
    table["y"] = table["a"] + (code % 2)
    rows = sx.scan(table, target="y", kinds={"code": "discrete"})
    study = run_study(rows, models=["linear"])
    assert set(study.importance.columns) == {"a", "code"}
    assert len(study.distributions[-1].levels) <= 12


def test_importance_is_in_the_document(classes):
    document = document_of(classes)
    found = document["importance"]
    assert [*found["columns"]] == [*classes.importance.columns]
    low, high = found["columns"]["a"]["interval"]
    assert low < found["columns"]["a"]["increase"] < high
    assert [d["column"] for d in document["dependence"]] == [d.column for d in classes.dependence]
    assert [*document["dependence"][0]["average"]] == ["yes"]


def test_a_model_without_probabilities_has_proportions(classes, frame):
    class Sure:
        classes_ = np.array(["no", "yes"], dtype=object)

        def predict(self, rows):
            return np.where(np.asarray(rows.block.x[:, 0]) > 0, "yes", "no")

    rows = sx.scan(frame, target="y").read()
    study = replace(classes, model=Sure())
    assert row_loss(study).name == "error"
    curve = partial_dependence(study, rows, ["a"])[0]
    assert curve.scale == "proportion"
    assert set(np.unique(curve.average)) == {0.0, 1.0}
