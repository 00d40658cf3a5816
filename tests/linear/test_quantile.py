"""Quantile regression against the linear programs of scikit-learn, and its memory."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import QuantileRegressor as Peer

import separatrix as sx


def table(n: int = 151, d: int = 4):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d))
    return x, x @ np.arange(d) + rng.standard_t(3, size=n), rng.uniform(0.1, 2.0, n)


def objective(model, x, y, w):
    r = y - model.predict(x)
    loss = np.maximum(model.quantile * r, (model.quantile - 1) * r)
    return w @ loss / w.sum() + model.alpha * np.abs(model.coef_).sum()


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("quantile", "alpha"), [(0.5, 1.0), (0.1, 0.0), (0.83, 0.05), (0.3, 0.2)])
def test_agrees_with_scikit_learn(quantile: float, alpha: float, fit_intercept: bool) -> None:
    x, y, w = table()
    options = {"quantile": quantile, "alpha": alpha, "fit_intercept": fit_intercept}
    ours, theirs = sx.QuantileRegressor(**options).fit(x, y, w), Peer(**options).fit(x, y, w)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-7)
    assert ours.certificate_.holds
    assert_allclose(ours.certificate_.primal, objective(ours, x, y, w), rtol=1e-10)
    assert_allclose(ours.certificate_.dual, objective(theirs, x, y, w), rtol=1e-9)
    assert_allclose(ours.coef_ == 0.0, np.abs(theirs.coef_) < 1e-9)


def test_dependent_and_constant_columns_with_a_penalty() -> None:
    x, y, w = table()
    x = np.column_stack([x, 2 * x[:, 0], np.ones(len(x))])
    ours, theirs = (m(alpha=0.1).fit(x, y, w) for m in (sx.QuantileRegressor, Peer))
    assert ours.certificate_.holds
    assert_allclose(objective(ours, x, y, w), objective(theirs, x, y, w), rtol=1e-9)
    assert ours.coef_[5] == 0.0


def test_a_quantile_without_penalty_in_any_units() -> None:
    x, y, _ = table()
    unit = np.array([1e8, 1.0, 1e-8, 3.0])
    plain = sx.LeastAbsoluteRegressor(quantile=0.9).fit(x, y)
    assert_allclose(plain.coef_, Peer(quantile=0.9, alpha=0.0).fit(x, y).coef_, atol=1e-7)
    scaled = sx.LeastAbsoluteRegressor(quantile=0.9).fit(x * unit, y)
    assert_allclose(scaled.coef_ * unit, plain.coef_, rtol=1e-9)
    assert abs(np.mean(y <= plain.predict(x) + 1e-9) - 0.9) < 0.04
    for level in (0.0, 1.0, np.nan):
        with pytest.raises(sx.InputError, match="quantile"):
            sx.QuantileRegressor(quantile=level).fit(x, y)


def test_a_plane_that_may_move_is_not_unique() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    with pytest.warns(sx.SeparatrixWarning, match="SEP004"):
        wide = sx.LeastAbsoluteRegressor(epsilon=5.0).fit(x, y)
    assert "not unique" in str(wide.certificate_)
    with pytest.warns(sx.SeparatrixWarning) as caught:  # an interval of medians beside a constant
        sx.LeastAbsoluteRegressor().fit(np.ones((4, 1)), [0.0, 1.0, 5.0, 9.0])
    assert {str(w.message)[:6] for w in caught} == {"SEP001", "SEP004"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # three rows at the walls hold the line
        fixed = sx.LeastAbsoluteRegressor(epsilon=1.0)
        fixed.fit([[0.0], [1.0], [2.0]], [1.0, -1.0, 1.0])
    assert_allclose(fixed.coef_, 0.0, atol=1e-12)


def test_no_second_table_is_made() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(8000, 120))
    y = x[:, 0] + rng.normal(size=8000)
    sx.LeastAbsoluteRegressor().fit(x, y)  # imports, and loops that only large tables compile
    tracemalloc.start()
    sx.LeastAbsoluteRegressor().fit(x, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.9 * x.nbytes
