"""Scores and their intervals against independent references."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics
from statsmodels.stats.proportion import proportion_confint

from separatrix.rows.rows import ArrayRows
from separatrix.statistics.moments import Moments
from separatrix.study.measure import (
    GROUPS,
    auc_score,
    regression_scores,
    scores_from_moments,
    wilson,
)


def named(scores) -> dict:
    return {s.metric: s for s in scores}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [2, 40, 3 * GROUPS])
def test_regression_scores_are_those_of_scikit_learn(weighted, n) -> None:
    rng = np.random.default_rng(n)
    y = rng.normal(1e6, 3.0, n)
    fitted = y + rng.normal(0.0, 1.0, n)
    w = rng.integers(1, 4, n).astype(float) if weighted else None
    found = named(regression_scores(y, fitted, w, seed=1))
    expected = {
        "rmse": metrics.root_mean_squared_error(y, fitted, sample_weight=w),
        "r2": metrics.r2_score(y, fitted, sample_weight=w),
        "mae": metrics.mean_absolute_error(y, fitted, sample_weight=w),
    }
    for name, value in expected.items():
        assert found[name].value == pytest.approx(value, rel=1e-9)
        assert found[name].low <= value <= found[name].high or n == 2


def test_the_bootstrap_interval_covers_about_95_times_in_100() -> None:
    covered = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        y = rng.normal(size=150)
        score = named(regression_scores(y, y + rng.normal(0, 2.0, 150), None, seed))["rmse"]
        covered += score.low <= 2.0 <= score.high
    assert 88 <= covered <= 99


def test_grouped_resampling_has_the_spread_of_the_delta_method() -> None:
    rng = np.random.default_rng(5)
    n = 5 * GROUPS
    y, error = rng.normal(size=n), rng.normal(size=n)
    score = named(regression_scores(y, y + error, None, 0))["rmse"]
    spread = np.std(error**2) / np.sqrt(n) / (2 * score.value)  # d√m = dm / 2√m
    assert score.high - score.low == pytest.approx(2 * 1.96 * spread, rel=0.1)


def test_the_same_seed_gives_the_same_interval_and_another_one_another() -> None:
    y = np.random.default_rng(0).normal(size=50)
    a, b, c = (regression_scores(y, y * 0.5, None, seed) for seed in (1, 1, 2))
    assert a == b != c


@pytest.mark.parametrize(("right", "n"), [(0, 5), (5, 5), (31, 40), (999, 1000)])
def test_wilson(right, n) -> None:
    expected = proportion_confint(right, n, method="wilson")
    assert wilson(right / n, n) == pytest.approx(expected, abs=1e-12)


def test_the_interval_of_the_area_covers_the_true_area() -> None:
    from scipy.stats import norm

    true = norm.cdf(1 / np.sqrt(2))
    covered = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        positive = np.arange(100) >= 60
        score = auc_score(positive, rng.normal(size=100) + positive, np.ones(100))
        covered += score.low <= true <= score.high
    assert 180 <= covered <= 199


def test_scores_from_moments_agree_with_those_from_rows() -> None:
    rng = np.random.default_rng(4)
    y = rng.normal(size=300)
    fitted = y + rng.normal(0, 0.5, 300)
    rows = named(regression_scores(y, fitted, None, 0))
    test = ArrayRows(fitted[:, None], y).reduce(Moments())
    from_moments = named(scores_from_moments(test, float(np.mean((y - fitted) ** 2))))
    for name in ("rmse", "r2"):
        assert from_moments[name].value == pytest.approx(rows[name].value, rel=1e-9)
        assert from_moments[name].low == pytest.approx(rows[name].low, abs=0.05)
        assert from_moments[name].high == pytest.approx(rows[name].high, abs=0.05)


def test_a_perfect_order_of_few_rows_is_no_proof_of_one() -> None:
    score = auc_score(np.arange(8) >= 4, np.arange(8.0), np.ones(8))
    assert (score.value, score.high) == (1.0, 1.0)
    assert score.low < 0.7
