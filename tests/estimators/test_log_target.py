"""Regression of logarithms: unbiased, right in any unit of the target, honest out of fold."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import separatrix as sx
from separatrix.messages import InputError
from separatrix.selection.folds import Folds
from separatrix.selection.tuning import TuningData


@pytest.fixture
def incomes(rng):
    x = rng.normal(size=(300, 3))
    y = np.exp(4.0 + x @ [0.5, -0.3, 0.0] + 0.6 * rng.normal(size=300))
    return x, y


def test_it_is_least_squares_of_logarithms_with_the_mean_of_the_target(incomes) -> None:
    x, y = incomes
    w = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    model = sx.LogTargetRegressor(sx.LinearRegression()).fit(x, y, w)
    reference = LinearRegression().fit(x, np.log(y), w)
    ratio = model.predict(x) / np.exp(reference.predict(x))
    assert np.ptp(ratio) < 1e-9
    assert np.average(model.predict(x), weights=w) == pytest.approx(np.average(y, weights=w))
    assert model.smearing_factor_ == pytest.approx(np.exp(0.6**2 / 2), rel=0.1)
    plain = sx.LogTargetRegressor(sx.LinearRegression(), smearing=False).fit(x, y, w)
    assert plain.predict(x) == pytest.approx(np.exp(reference.predict(x)))


def test_units_of_the_target_do_not_matter(incomes) -> None:
    x, y = incomes
    own = sx.LogTargetRegressor(sx.LinearRegression()).fit(x, y).predict(x)
    for unit in (1e-8, 1e8):
        scaled = sx.LogTargetRegressor(sx.LinearRegression()).fit(x, unit * y).predict(x)
        assert scaled == pytest.approx(unit * own, rel=1e-9)


def test_zeros_need_an_offset(incomes) -> None:
    x, y = incomes
    counts = np.floor(y / 30.0)
    with pytest.raises(InputError, match="goes down to 0"):
        sx.LogTargetRegressor(sx.LinearRegression()).fit(x, counts)
    model = sx.LogTargetRegressor(sx.LinearRegression(), offset=1.0).fit(x, counts)
    assert model.predict(x).mean() == pytest.approx(counts.mean())


def test_the_factor_of_a_fold_comes_from_the_others(incomes) -> None:
    x, y = incomes
    folds = Folds.from_labels(np.arange(300) % 5)
    model = sx.LogTargetRegressor(sx.SVRSearch())
    before = model.tune(TuningData(x, y, np.ones(300), folds, 0, "squared", 1e8))
    fold = before.rows % 5
    z = model.estimator.tune(TuningData(x, np.log(y), np.ones(300), folds, 0, "squared", 1e8))
    for number in range(5):
        others = fold != number
        expected = y[before.rows[others]].sum() / np.exp(z.predictions[others]).sum()
        assert before.factors[number] == pytest.approx(expected)
    fitted = model.fit_tuned(sx.scan(x, y).read(), before)
    assert fitted.smearing_factor_ == before.factor
    assert before.without(1).factor == before.factors[1]


def test_a_study_takes_logarithms_where_they_predict_better(incomes) -> None:
    x, _ = incomes
    y = np.exp(4.0 + x @ [1.0, -0.6, 0.0] + 0.2 * np.random.default_rng(2).normal(size=300))
    table = {"a": x[:, 0], "b": x[:, 1], "c": x[:, 2]}
    study = sx.run_study(sx.scan(table | {"y": y}, target="y"), models=["linear", "log_linear"])
    assert study.winner == "log_linear"
    assert "logarithm" in next(e.label for e in study.leaderboard if e.name == "log_linear")
    straight = 10.0 + x @ [0.5, -0.3, 0.2] + 0.1 * np.random.default_rng(5).normal(size=300)
    plain = sx.run_study(
        sx.scan(table | {"y": straight}, target="y"), models=["linear", "log_linear"]
    )
    assert plain.winner == "linear"
    negative = sx.run_study(sx.scan(table | {"y": x[:, 0] - y}, target="y"), models=["log_linear"])
    assert "no logarithm" in negative.leaderboard[-1].note
