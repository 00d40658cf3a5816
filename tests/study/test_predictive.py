"""Bayesian models in a study: intervals, coverage on rows not fitted to, pages, files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix.bayes.gaussian_process.tuning import tune_classes, tune_process
from separatrix.messages import InputError
from separatrix.report import render
from separatrix.selection.folds import Folds
from separatrix.selection.tuning import TuningData
from separatrix.storage import load_study, save
from separatrix.study.result import LEVEL
from tests.sketches import sketched_page


def table(n=150, d=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    y = np.sin(2 * x[:, 0]) + (x[:, 1:].sum(axis=1)) + 0.3 * rng.normal(size=n)
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(d)]).assign(y=y)


@pytest.fixture(scope="module", params=["bayes", "gp"])
def study(request):
    return sx.run_study(sx.scan(table(), target="y"), models=[request.param])


def test_intervals_are_those_of_the_predictive_distribution(study):
    test, found = study.test_predictions, study.uncertainty
    assert study.winner in ("bayes", "gp")
    low, high = test.intervals.T
    assert ((low < test.predicted) & (test.predicted < high)).all()
    inside = np.mean((test.truth >= low) & (test.truth <= high))
    assert {s.level: s.coverage.value for s in found.test}[LEVEL] == pytest.approx(inside)
    assert found.log_loss.low < found.log_loss.value < found.log_loss.high


def test_coverage_is_checked_on_rows_out_of_fold(study):
    check = study.uncertainty.check
    assert len(check.pit) == study.n_train
    entry = next(e for e in study.leaderboard if e.name == study.winner)
    y = pd.Series(study.training.y, index=study.training.rows)[check.rows].to_numpy()
    assert np.sqrt(np.mean((y - check.mean) ** 2)) == pytest.approx(entry.mean)
    fitted = pd.Series(study.training.predicted, index=study.training.rows)[check.rows]
    assert (check.mean != fitted.to_numpy()).all()
    assert np.mean(np.abs(2 * check.pit - 1) <= 0.95) > 0.85


def test_the_page_shows_them_also_after_loading(study, tmp_path):
    page = render(study)
    for words in ("Predictive distributions", "Coverage of predictive intervals", "Log evidence"):
        assert words in page
    own = "Posterior deviation" if study.winner == "bayes" else "ength scale"
    assert own in page
    save(study.model, tmp_path / "m.sx", study=replace(study, model=None))
    assert sketched_page(load_study(tmp_path / "m.sx")) == sketched_page(study)


def test_one_column_has_a_band():
    with pytest.raises(InputError, match="not between 0 and 1"):
        sx.run_study(sx.scan(table(d=1), target="y"), level=95)
    found = sx.run_study(sx.scan(table(d=1), target="y"), models=["gp"], level=0.6)
    assert 0.6 in [score.level for score in found.uncertainty.test]
    band = found.uncertainty.band
    assert band.column == "x0"
    assert len(band.points) == found.n_test
    page = sketched_page(found)
    assert "Predictive band along x0" in page
    assert "Mean and 60 % predictive intervals" in page.replace("\u202f", " ").replace("\xa0", " ")


def test_other_models_have_no_intervals():
    found = sx.run_study(sx.scan(table(60), target="y"), models=["linear"])
    assert found.uncertainty is None
    assert found.test_predictions.intervals is None
    assert "Predictive distributions" not in sketched_page(found)


@pytest.fixture(scope="module")
def classes():
    found = table(160).rename(columns={"y": "class"})
    found["class"] = np.where(found["class"] > 0.2, "high", "low")
    return found


@pytest.mark.parametrize("model", ["bayes", "gp"])
def test_classes(classes, model):
    found = sx.run_study(sx.scan(classes, target="class"), models=[model])
    assert found.winner == model
    assert found.description.evidence is not None
    assert "Log evidence" in sketched_page(found)


def data(y, n_classes=0, unit=1.0):
    x = table()[["x0", "x1"]].to_numpy() * unit
    w = np.ones(len(x))
    w[:5] = 0.0
    folds = Folds.from_labels(np.arange(len(x)) % 3)
    return TuningData(x, y, w, folds, n_classes, work=2e9)


def test_units_and_rows_without_weight_change_nothing():
    y = table()["y"].to_numpy()
    first, other = tune_process(data(y)), tune_process(data(1e6 * y, unit=1e-5))
    np.testing.assert_allclose(other.predictions, 1e6 * first.predictions, rtol=1e-4, atol=1e2)
    np.testing.assert_allclose(other.deviations, 1e6 * first.deviations, rtol=1e-3)
    changed = y.copy()
    changed[:5] = 1e3
    again = tune_process(data(changed))
    at = np.isin(first.rows, np.arange(5, len(y)))
    np.testing.assert_allclose(again.predictions[at], first.predictions[at])


def test_probabilities_of_three_classes_sum_to_one():
    y = np.digitize(table()["y"], [-0.5, 0.5])
    found = tune_classes(data(y, 3))
    np.testing.assert_allclose(found.predictions.sum(axis=1), 1.0)
    assert np.mean(found.predictions.argmax(axis=1) == y[found.rows]) > 0.6
