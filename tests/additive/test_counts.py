"""Additive regression of counts against SciPy's optimizers, statsmodels and simulations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

import separatrix as sx

from .test_classification import terms


def events(n: int = 300, d: int = 2, seed: int = 0):
    """Counts whose log mean is a wave and a line."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2.0, 2.0, (n, d))
    return x, rng.poisson(np.exp(1.0 + np.sin(2.0 * x[:, 0]) + 0.3 * x[:, 1])).astype(float)


def test_the_coefficients_minimize_the_penalized_deviance() -> None:
    x, y = events()
    model = sx.AdditivePoissonRegressor(n_knots=5).fit(x, y)
    z, penalty, b = terms(model, x)
    inside = np.isfinite(penalty[:, 0])
    z, penalty, b = z[:, inside], penalty[inside, 0], b[inside, 0]

    def loss(theta: np.ndarray) -> float:
        f = z @ theta[1:] + theta[0]
        own = np.where(y > 0.0, y * np.log(np.maximum(y, 1.0)), 0.0)
        deviance = np.sum(np.exp(f) - y - y * f + own)
        return float(deviance / y.mean() + 0.5 * penalty @ theta[1:] ** 2)

    best = optimize.minimize(loss, np.r_[np.log(y.mean()), np.zeros(len(b))], method="BFGS")
    here = loss(np.r_[model.intercept_, b])
    assert here == pytest.approx(model.certificate_.primal, rel=1e-10)
    assert here <= best.fun + 1e-9
    assert here == pytest.approx(best.fun, rel=1e-5)
    assert model.certificate_.holds
    assert model.predict(x).sum() == pytest.approx(y.sum())


def test_independent_events_have_dispersion_one_and_grouped_ones_more() -> None:
    x, y = events(2_000)
    assert sx.AdditivePoissonRegressor().fit(x, y).dispersion_ == pytest.approx(1.0, abs=0.1)
    grouped = sx.AdditivePoissonRegressor().fit(x, 7.0 * y)
    assert grouped.dispersion_ == pytest.approx(7.0, abs=0.7)
    np.testing.assert_allclose(
        grouped.predict(x), 7.0 * sx.AdditivePoissonRegressor().fit(x, y).predict(x), rtol=1e-9
    )


def test_rates_with_exposures_as_weights_are_counts() -> None:
    x, _ = events(400)
    rng = np.random.default_rng(1)
    exposure = rng.integers(1, 6, 400)
    by_unit = [rng.poisson(np.exp(np.sin(2.0 * x[:, 0])), 400) for _ in range(5)]
    y = sum(np.where(exposure > k, unit, 0) for k, unit in enumerate(by_unit)) / exposure
    rows = np.repeat(np.arange(400), exposure)
    weighted = sx.AdditivePoissonRegressor(n_knots=5).fit(x, y, exposure)
    repeated = sx.AdditivePoissonRegressor(n_knots=5).fit(x[rows], y[rows])
    np.testing.assert_allclose(weighted.predict(x), repeated.predict(x), rtol=1e-6)


def test_a_monotone_curve_does_not_fall_and_is_certified() -> None:
    x, y = events(200)
    model = sx.AdditivePoissonRegressor(monotone={"x0": 1, "x1": -1}).fit(x, y)
    assert model.certificate_.holds
    assert (np.diff(model.curve("x0").values) >= -1e-9).all()
    assert (np.diff(model.curve("x1").values) <= 1e-9).all()


def test_a_line_agrees_with_the_linear_model_of_statsmodels() -> None:
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(3)
    x = rng.standard_normal((3_000, 1))
    y = rng.poisson(np.exp(0.5 + 0.4 * x[:, 0]))
    line = sm.GLM(y, sm.add_constant(x), family=sm.families.Poisson()).fit()
    model = sx.AdditivePoissonRegressor().fit(x, y)
    expected = line.predict(sm.add_constant(x))
    assert np.abs(np.log(model.predict(x) / expected)).mean() < 0.03


@pytest.mark.parametrize(
    ("y", "message"),
    [([1.0, -2.0, 3.0], "the value -2, and counts are not"), ([0.0, 0.0, 0.0], "counts are zero")],
)
def test_what_cannot_be_a_count_is_refused(y: list[float], message: str) -> None:
    with pytest.raises(sx.InputError, match=message):
        sx.AdditivePoissonRegressor().fit([[1.0], [2.0], [3.0]], y)


def test_tiny_tables_have_an_answer() -> None:
    model = sx.AdditivePoissonRegressor().fit([[1.0], [2.0]], [0.0, 3.0])
    assert np.isfinite(model.predict([[0.0], [1.5], [9.0]])).all()
    assert model.certificate_.holds
    constant = sx.AdditivePoissonRegressor().fit([[1.0], [1.0], [1.0]], [2.0, 0.0, 4.0])
    np.testing.assert_allclose(constant.predict([[5.0]]), 2.0)
