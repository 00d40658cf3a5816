"""Rules along a path: error from moments, one standard error, AIC and BIC."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.rows.rows import ArrayRows
from separatrix.selection.rules import aic, bic, minimum, one_standard_error, validation_error
from separatrix.statistics.moments import Moments


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 20), st.integers(1, 4), st.integers(0, 10_000))
def test_error_from_moments_is_the_error_on_the_rows(n: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, d)) + 3.0, rng.normal(size=(n, 2))
    w = rng.uniform(0.1, 3.0, size=n)
    moments = ArrayRows(x, y, w).reduce(Moments())
    coefs, intercepts = rng.normal(size=(5, d)), rng.normal(size=5)
    for target in (0, 1):
        error = validation_error(moments, coefs, intercepts, target)
        residual = y[:, target] - (coefs @ x.T + intercepts[:, None])
        np.testing.assert_allclose(error, np.average(residual**2, axis=1, weights=w), rtol=1e-10)


def test_one_standard_error_takes_the_largest_penalty_inside_the_band() -> None:
    penalties = np.array([8.0, 4.0, 2.0, 1.0])
    errors = np.array([[9.0, 9.0], [3.5, 2.6], [1.0, 3.0], [2.6, 2.6]])
    # Least mean 2 at penalty 2; its folds differ by 2, so the standard error is 1: 3 is outside.
    assert minimum(penalties, errors) == 2
    assert one_standard_error(penalties, errors) == 2
    errors[1] = [2.9, 2.9]
    assert one_standard_error(penalties, errors) == 1
    assert one_standard_error(penalties[::-1], errors[::-1]) == 2


def test_equals_go_to_the_simpler_model() -> None:
    penalties = np.array([0.1, 1.0, 10.0])
    assert minimum(penalties, np.array([1.0, 1.0, 2.0])) == 1


def test_information_criteria_agree_with_full_least_squares() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 4))
    y = x @ [1.0, 0.0, -2.0, 0.5] + rng.normal(size=60)
    fit = sm.OLS(y, sm.add_constant(x)).fit()
    squares, freedom = np.array([fit.ssr]), np.array([5.0])
    assert aic(squares, freedom, 60)[0] == pytest.approx(fit.aic, rel=1e-12)
    assert bic(squares, freedom, 60)[0] == pytest.approx(fit.bic, rel=1e-12)


def test_interpolation_does_not_win() -> None:
    squares, freedom = np.array([50.0, 40.0, 1e-9]), np.array([1.0, 3.0, 30.0])
    assert minimum(np.array([3.0, 2.0, 1.0]), bic(squares, freedom, 40.0)) < 2
    assert minimum(np.array([3.0, 2.0, 1.0]), aic(squares, freedom, 40.0)) < 2
