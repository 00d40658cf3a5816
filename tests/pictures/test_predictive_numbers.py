"""The numbers behind pictures of predictive distributions, against their definitions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import BayesianRidge, LinearRegression
from statsmodels.stats.proportion import proportion_confint

from separatrix.bayes.predictive import PredictiveDistribution
from separatrix.messages import InputError
from separatrix.pictures import (
    CoverageDisplay,
    PITDisplay,
    PredictiveBandDisplay,
    PredictiveIntervalDisplay,
    RelevanceDisplay,
    StandardizedResidualDisplay,
)
from separatrix.probability.reliability import effective_size, expected_range


@pytest.fixture(scope="module")
def right():
    """Targets that are draws from their predictive distributions."""
    rng = np.random.default_rng(0)
    mean, scale = rng.normal(size=2000), rng.uniform(0.5, 2, size=2000)
    predictive = PredictiveDistribution(mean, scale)
    return mean + scale * rng.normal(size=2000), predictive


def test_coverage_counts_targets_within_the_intervals(right):
    y, predictive = right
    display = CoverageDisplay.from_predictions(y, predictive, levels=[0.5, 0.9])
    for level, found in zip(display.levels, display.coverage, strict=True):
        low, high = predictive.interval(level).T
        assert found == np.mean((y >= low) & (y <= high))
    ends = proportion_confint(np.round(2000 * display.coverage), 2000, method="wilson")
    np.testing.assert_allclose(display.confidence_intervals, np.stack(ends, axis=1), atol=1e-12)
    assert "All confidence intervals include" in display.description


@pytest.mark.parametrize(
    ("factor", "words"), [(0.5, "contain too little and 0"), (2, "and 11 too")]
)
def test_coverage_says_which_way_it_is_off(right, factor, words):
    y, predictive = right
    other = PredictiveDistribution(predictive.mean, factor * predictive.scale)
    assert words in CoverageDisplay.from_predictions(y, other).description


def test_a_weight_is_as_many_rows(right):
    y, predictive = right
    w = np.repeat([0.0, 1.0, 3.0, 1.0], 500)
    rows = np.repeat(np.arange(2000), w.astype(int))
    pit = predictive.pit(y)
    for kind in (CoverageDisplay, PITDisplay):
        weighted = kind.from_pit(pit, sample_weight=w)
        assert weighted.n_rows == effective_size(w) < len(rows)
    weighted = CoverageDisplay.from_pit(pit, sample_weight=w)
    np.testing.assert_allclose(weighted.coverage, CoverageDisplay.from_pit(pit[rows]).coverage)
    bars = PITDisplay.from_pit(pit, sample_weight=w, bins=7).proportions
    np.testing.assert_allclose(bars, PITDisplay.from_pit(pit[rows], bins=7).proportions)


def test_uniform_values_stay_in_the_band_that_binomials_give(right):
    y, predictive = right
    display = PITDisplay.from_predictions(y, predictive, bins=20)
    law = stats.binom(2000, 1 / 20)
    assert display.expected == pytest.approx((law.ppf(0.025) / 2000, law.isf(0.025) / 2000))
    assert display._outside.sum() <= 3
    assert display.mean == pytest.approx(predictive.pit(y).mean())
    narrow = PredictiveDistribution(predictive.mean, 0.3 * predictive.scale)
    ends = PITDisplay.from_predictions(y, narrow, bins=20).proportions[[0, -1]]
    assert (ends > 4 / 20).all()


def test_expected_range_of_few_rows():
    assert expected_range(0.5, 1) == (0.0, 1.0)


def test_standardized_residuals_are_in_predicted_deviations(right):
    y, predictive = right
    display = StandardizedResidualDisplay.from_predictions(y, predictive)
    np.testing.assert_allclose(display.residuals, (y - predictive.mean) / predictive.scale)
    assert display.residuals.std() == pytest.approx(1, abs=0.05)


@pytest.fixture(scope="module")
def wave():
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 6, (40, 1))
    y = np.sin(x[:, 0]) + 0.1 * rng.normal(size=40)
    return x, y, GaussianProcessRegressor(RBF() + WhiteKernel(0.01), random_state=0).fit(x, y)


def test_models_with_standard_deviations_are_drawn(wave):
    x, y, model = wave
    mean, deviation = model.predict(x, return_std=True)
    rows = PredictiveIntervalDisplay.from_estimator(model, x, y, level=0.9)
    half = stats.norm.isf(0.05) * deviation
    np.testing.assert_allclose(rows.intervals, np.stack([mean - half, mean + half], axis=1))
    assert (rows.outside == (np.abs(y - mean) > half)).all()
    assert (np.diff(mean[rows.shown]) >= 0).all()
    band = PredictiveBandDisplay.from_estimator(model, pd.DataFrame(x, columns=["t"]), y)
    assert band.heading == "Predictive band along t"
    assert band.within == pytest.approx(np.mean(np.abs(y - mean) <= 1.96 * deviation), abs=0.06)
    for kind in (CoverageDisplay, PITDisplay, StandardizedResidualDisplay):
        kind.from_estimator(model, x, y)


def test_a_band_over_one_of_several_columns_shows_no_rows(right):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(50, 3))
    model = BayesianRidge().fit(x, x @ [1.0, 0.0, -2.0] + rng.normal(size=50))
    band = PredictiveBandDisplay.from_estimator(model, x, np.zeros(50), column=2)
    assert band.points is None
    assert np.isnan(band.within)
    slope = (band.mean[-1] - band.mean[0]) / (band.x[-1] - band.x[0])
    assert slope == pytest.approx(model.coef_[2])
    at = np.median(x, axis=0)
    at[2] = band.x[7]
    assert band.mean[7] == pytest.approx(model.predict([at])[0])


def test_relevance_is_the_spread_over_the_length_scale():
    ends = np.array([[1.0, 4.0], [10.0, np.inf], [0.1, 0.2]])
    display = RelevanceDisplay(["a", "b", "c"], [2.0, 100.0, 0.15], ends, np.array([4.0, 1.0, 0.3]))
    np.testing.assert_allclose(display.relevance, [2.0, 0.01, 2.0])
    assert display.determined.tolist() == [True, False, True]
    assert "1 of 3 length scales is left open" in display.description


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: CoverageDisplay([0.5, 1.0], [0.5, 1.0], 10), "between 0 and 1"),
        (lambda: CoverageDisplay([0.5], [0.5, 1.0], 10), "2 coverages for 1"),
        (lambda: CoverageDisplay.from_pit([]), "no row"),
        (lambda: PITDisplay.from_pit([0.5, 2.0]), "between 0 and 1"),
        (lambda: PredictiveBandDisplay([1.0], [1.0], [[0.0, 2.0]]), "two values"),
        (lambda: PredictiveIntervalDisplay([1.0], [1.0, 2.0], [[0.0, 2.0]]), "1 targets"),
        (lambda: RelevanceDisplay(["a"], [np.inf]), "finite length scale"),
        (lambda: RelevanceDisplay(["a", "b"], [1.0, 2.0], [[1.0, 2.0]]), "2 names"),
    ],
)
def test_what_cannot_be_drawn_is_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_a_model_without_distributions_is_refused(wave):
    x, y, _ = wave
    with pytest.raises(InputError, match="LinearRegression predicts numbers without"):
        CoverageDisplay.from_estimator(LinearRegression().fit(x, y), x, y)
    with pytest.raises(InputError, match=r"shape \(3,\)"):
        PITDisplay.from_predictions(y[:3], PredictiveDistribution(np.zeros(40), np.ones(40)))
