"""Perceptron regression against a plain loop, and against the least squares it converges to."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import separatrix as sx


def table(noise=0.3, seed=0, n=200):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 3)) @ (np.eye(3) + 0.2) + [1.0, -2.0, 0.0]
    return x, x @ [-2.0, 0.5, 1.0] - 3.0 + noise * rng.standard_normal(n)


def plain_loop(x, y, rate, epochs, weights=None):
    z = np.column_stack([np.ones(len(x)), x])
    weights = np.ones(len(x)) if weights is None else weights
    w, seen, squares = np.zeros(z.shape[1]), [], []
    for _ in range(epochs):
        met = 0.0
        for i in range(len(x)):
            residual = y[i] - w @ z[i]
            met += residual**2
            w = w + rate * weights[i] * residual * z[i]
            seen.append(w)
        squares.append(met)
    return np.array(seen), np.array(squares)


def test_agrees_with_a_plain_loop() -> None:
    x, y = table()
    seen, squares = plain_loop(x, y, 0.01, 4)
    model = sx.PerceptronRegressor(0.01, max_epochs=4, standardize=False).fit(x, y)
    assert_allclose(np.append(model.intercept_, model.coef_), seen[-1], rtol=1e-10)
    assert_allclose(model.trace_.squares, squares, rtol=1e-10)
    mean = sx.PerceptronRegressor(0.01, max_epochs=4, standardize=False, average=True).fit(x, y)
    assert_allclose(np.append(mean.intercept_, mean.coef_), seen.mean(axis=0), rtol=1e-10)
    w = np.random.default_rng(1).integers(0, 3, len(x)).astype(float)
    some = sx.PerceptronRegressor(0.01, max_epochs=4, standardize=False)
    some.fit(x, y, sample_weight=w)
    seen, _ = plain_loop(x[w > 0], y[w > 0], 0.01, 4, w[w > 0] / 2.0)
    assert_allclose(np.append(some.intercept_, some.coef_), seen[-1], rtol=1e-10)


def test_residuals_of_either_sign() -> None:
    x = np.linspace(-1, 1, 50)[:, None]
    falling = sx.PerceptronRegressor().fit(x, 1.0 - 2.0 * x[:, 0])
    assert_allclose(falling.coef_, [-2.0], rtol=1e-6)
    assert_allclose(falling.intercept_, 1.0, rtol=1e-6)


def test_converges_to_the_least_squares() -> None:
    x, y = table(n=500)
    best = sx.LinearRegression().fit(x, y)
    last = sx.PerceptronRegressor().fit(x, y)
    mean = sx.PerceptronRegressor(average=True, order="shuffled", random_state=0).fit(x, y)
    off = [np.abs(m.coef_ - best.coef_).max() for m in (last, mean)]
    assert off[0] < 0.1
    assert off[1] < 0.01
    assert "near least squares" in str(last.certificate_)
    assert last.certificate_.holds


def test_units_and_constant_columns_do_not_matter() -> None:
    x, y = table()
    units = np.array([1e-8, 1.0, 1e8])
    wide = np.column_stack([x * units, np.full(len(x), 3.0)])
    plain_, scaled = sx.PerceptronRegressor().fit(x, y), sx.PerceptronRegressor().fit(wide, y)
    assert_allclose(scaled.predict(wide), plain_.predict(x), rtol=1e-7)
    assert scaled.coef_[3] == 0.0


def test_bound_on_the_squared_residuals_stops_training() -> None:
    x, y = table()
    bound = 1.3 * float(((y - sx.LinearRegression().fit(x, y).predict(x)) ** 2).sum())
    model = sx.PerceptronRegressor(bound=bound).fit(x, y)
    assert model.trace_.status == "bound reached"
    assert model.trace_.squares[-1] <= bound < model.trace_.squares[:-1].min()
    assert model.n_iter_ == len(model.trace_.squares) < 200


def test_learning_rate_that_is_too_large_is_detected() -> None:
    x, y = table()
    with pytest.warns(sx.SeparatrixWarning, match="SEP003.*too large"):
        model = sx.PerceptronRegressor(5.0).fit(x, y)
    assert model.trace_.status == "diverged"
    assert not model.certificate_.holds
    assert np.isfinite(model.predict(x)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sx.PerceptronRegressor().fit(x * 1e6, y * 1e9)


@pytest.mark.parametrize("standardize", [True, False])
def test_through_the_origin(standardize: bool) -> None:
    x, _ = table()
    y = x @ [1.0, 2.0, -1.0]
    model = sx.PerceptronRegressor(
        fit_intercept=False, standardize=standardize, max_epochs=3000
    ).fit(x, y)
    assert model.intercept_ == 0.0
    assert_allclose(model.coef_, [1.0, 2.0, -1.0], rtol=1e-6)


@pytest.mark.parametrize("bad", [{"learning_rate": -1.0}, {"bound": 0.0}, {"order": "no"}])
def test_invalid_parameters(bad: dict[str, object]) -> None:
    with pytest.raises(sx.InputError):
        sx.PerceptronRegressor(**bad).fit(*table())


def test_divergence_returns_the_best_finite_epoch_or_the_start() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3)) * 10.0
    y = x @ [1.0, 2.0, 3.0]
    with pytest.warns(sx.SeparatrixWarning, match="SEP003"):
        model = sx.PerceptronRegressor(5.0, standardize=False).fit(x, y)
    assert np.sum((y - model.predict(x)) ** 2) <= np.sum(y**2) * (1 + 1e-9) + np.sum(y) ** 2
    assert np.abs(model.coef_).max() < 10.0
    assert not model.certificate_.holds


def test_partial_fit_in_batches_is_one_epoch() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    y = x @ [1.0, 2.0, 3.0] + 1.0
    whole = sx.PerceptronRegressor(0.05, standardize=False).partial_fit(x, y)
    parts = sx.PerceptronRegressor(0.05, standardize=False)
    for start in range(0, 60, 20):
        parts.partial_fit(x[start : start + 20], y[start : start + 20])
    np.testing.assert_allclose(parts.coef_, whole.coef_)
    np.testing.assert_allclose(parts.intercept_, whole.intercept_)
    assert not hasattr(sx.PerceptronRegressor(), "partial_fit")
