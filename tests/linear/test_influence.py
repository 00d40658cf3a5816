"""Influence, robust errors, intervals and nested tests of least squares, against statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose

import separatrix as sx

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3)) * [1.0, 1e6, 1e-6] + [0.0, 1e7, 0.0]
Y = X @ [1.0, 1e-6, 1e6] + RNG.normal(size=40) * (1 + np.abs(X[:, 0]))


def peer(columns=slice(None)):
    return sm.OLS(Y, sm.add_constant(X[:, columns])).fit()


def test_studentized_residuals_and_dffits() -> None:
    found, theirs = sx.LinearRegression().fit(X, Y).summary(), peer().get_influence()
    assert_allclose(found.studentized_residuals, theirs.resid_studentized_internal, rtol=1e-6)
    assert_allclose(found.external_residuals, theirs.resid_studentized_external, rtol=1e-6)
    assert_allclose(found.dffits, theirs.dffits[0], rtol=1e-6)


@pytest.mark.parametrize("covariance", ["HC0", "HC1", "HC2", "HC3"])
def test_errors_for_unequal_variances(covariance: str) -> None:
    found = sx.LinearRegression().fit(X, Y).summary(covariance=covariance)
    assert_allclose(found.standard_errors, getattr(peer(), f"{covariance}_se"), rtol=1e-6)
    assert_allclose(found.t_values, found.estimates / found.standard_errors)


def test_a_weight_is_that_many_rows(rng: np.random.Generator) -> None:
    w = rng.integers(1, 4, size=40)
    weighted = sx.LinearRegression().fit(X, Y, w)
    repeated = sx.LinearRegression().fit(np.repeat(X, w, axis=0), np.repeat(Y, w))
    for covariance in ("HC1", "HC3"):
        a, b = (m.summary(covariance=covariance) for m in (weighted, repeated))
        assert_allclose(a.standard_errors, b.standard_errors, rtol=1e-8)
    assert_allclose(np.repeat(a.dffits, w), b.dffits, rtol=1e-8)


def test_intervals_for_new_rows() -> None:
    model, new = sx.LinearRegression().fit(X, Y), X[:5] * 1.1
    theirs = peer().get_prediction(sm.add_constant(new)).summary_frame(alpha=0.1)
    for kind, name in (("prediction", "obs"), ("confidence", "mean")):
        ours = model.predict_interval(new, level=0.9, kind=kind)
        assert_allclose(ours[:, 0], theirs[f"{name}_ci_lower"], rtol=1e-6)
        assert_allclose(ours[:, 1], theirs[f"{name}_ci_upper"], rtol=1e-6)
    curved = sx.PolynomialRegression(2).fit(X[:, :1], Y)
    design = sm.add_constant(np.column_stack([X[:, 0], X[:, 0] ** 2]))
    theirs = sm.OLS(Y, design).fit().get_prediction(design[:5]).summary_frame()
    assert_allclose(curved.predict_interval(X[:5, :1])[:, 0], theirs["obs_ci_lower"], rtol=1e-6)
    with pytest.raises(sx.InputError, match="HC0"):
        curved.summary(covariance="HC0")


def test_nested_models() -> None:
    larger = sx.LinearRegression().fit(X, Y).summary()
    smaller = sx.LinearRegression().fit(X[:, :1], Y).summary()
    found = larger.f_test(smaller)
    assert_allclose(found.statistic, peer().compare_f_test(peer([0]))[0], rtol=1e-6)
    assert_allclose(found.p_value, peer().compare_f_test(peer([0]))[1], rtol=1e-5)
    with pytest.raises(sx.InputError, match="nested"):
        smaller.f_test(larger)
    with pytest.raises(sx.InputError, match="compares summaries"):
        larger.f_test(sx.LinearRegression())


def test_rows_that_were_changed_in_place_are_noticed() -> None:
    x = X.copy()
    model = sx.LinearRegression().fit(x, Y)
    before = model.summary().leverage
    x[0, 0] += 3.0
    for number in ("leverage", "residuals", "dffits"):
        with pytest.raises(sx.InputError, match="changed in place"):
            getattr(model.summary(), number)
    assert_allclose(model.summary(X, Y).leverage, before)
