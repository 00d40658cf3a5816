"""Standard errors where columns depend on each other: those of the identified coefficients."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose

import separatrix as sx
from separatrix.estimators.inference import p_phrase, p_text

pytestmark = pytest.mark.filterwarnings("ignore::separatrix.SeparatrixWarning")


def table(n: int = 60):
    rng = np.random.default_rng(0)
    x = rng.normal(3.0, 1.0, (n, 2))
    return x, x @ [1.0, 2.0] + rng.normal(size=n) + 4.0


def errors(x, y):
    return sx.LinearRegression().fit(x, y).summary().standard_errors


def test_a_sum_of_columns_leaves_the_intercept() -> None:
    x, y = table()
    z = np.column_stack([x, x.sum(axis=1)])
    found = errors(z, y)
    assert_allclose(found[0], sm.OLS(y, sm.add_constant(z)).fit().bse[0], rtol=1e-9)
    assert np.isnan(found[1:]).all()


def test_a_sum_plus_a_constant_does_not() -> None:
    x, y = table()
    assert np.isnan(errors(np.column_stack([x, x.sum(axis=1) + 1.0]), y)).all()


@pytest.mark.parametrize("constant", [0.0, 5.0])
def test_a_level_without_rows_takes_nothing_away(constant) -> None:
    x, y = table()
    found = errors(np.column_stack([x, np.full(len(x), constant)]), y)
    assert_allclose(found[:3], sm.OLS(y, sm.add_constant(x)).fit().bse, rtol=1e-9)
    assert np.isnan(found[3])


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_units_do_not_matter(unit) -> None:
    x, y = table()
    z = np.column_stack([x, x.sum(axis=1)]) * [1.0, unit, unit]
    z[:, 2] = z[:, 0] * unit + z[:, 1]
    assert np.isfinite(errors(z, y)[0])


def test_a_printed_summary_has_dashes_for_what_is_not_known() -> None:
    x, y = table()
    text = str(sx.LinearRegression().fit(np.column_stack([x, x[:, 0]]), y).summary())
    assert "nan" not in text
    assert "–" in text


@pytest.mark.parametrize(
    ("p", "text", "phrase"),
    [
        (0.0, "< 0.001", "p < 0.001"),
        (1e-300, "< 0.001", "p < 0.001"),
        (0.0012, "0.001", "p = 0.001"),
        (0.25, "0.250", "p = 0.250"),
    ],
)
def test_a_p_value_is_never_shown_as_zero(p, text, phrase) -> None:
    assert p_text(p) == text
    assert p_phrase(p) == phrase


def test_a_p_value_that_is_not_known_is_a_dash() -> None:
    assert p_text(np.nan) == "–"


def test_variance_inflation_is_that_of_statsmodels() -> None:
    from statsmodels.stats.outliers_influence import variance_inflation_factor

    x, y = table()
    x = np.column_stack([x, x[:, 0] + np.random.default_rng(5).normal(size=len(x))])
    found = sx.LinearRegression().fit(x, y).summary()
    design = sm.add_constant(x)
    expected = [variance_inflation_factor(design, j) for j in (1, 2, 3)]
    assert np.isnan(found.variance_inflation[0])
    assert_allclose(found.variance_inflation[1:], expected, rtol=1e-9)


def test_tests_of_the_whole_model_are_those_of_statsmodels() -> None:
    from separatrix.estimators.inference import inference

    x, y = table()
    found, theirs = inference(sx.LinearRegression().fit(x, y)), sm.OLS(y, sm.add_constant(x)).fit()
    assert found is not None
    assert found.quality is not None
    assert_allclose(found.quality.adjusted_r_squared, theirs.rsquared_adj)
    assert_allclose(found.quality.f_statistic, theirs.fvalue)
    assert_allclose(found.quality.f_p_value, theirs.f_pvalue, rtol=1e-6)
    assert_allclose(found.quality.aic, theirs.aic)
    assert_allclose(found.quality.bic, theirs.bic)
    assert found.variance_inflation is not None
    assert found.variance_inflation.shape == found.estimates.shape


@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_a_sum_of_columns_far_from_zero_is_dependent_too(offset):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(50, 2)) + offset, rng.normal(size=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = sx.LinearRegression().fit(np.column_stack([x, x.sum(axis=1)]), y)
    alone = sx.LinearRegression().fit(x, y)
    assert found.certificate_.dependent == ("x2",)
    assert_allclose(found.predict(np.column_stack([x, x.sum(axis=1)])), alone.predict(x), atol=1e-6)
    errors = found.summary().standard_errors
    assert_allclose(errors[0], alone.summary().standard_errors[0], rtol=1e-6)
