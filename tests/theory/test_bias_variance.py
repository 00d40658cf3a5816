"""Bias and variance against closed forms.

Simulations are compared within 5.5 standard errors or intervals of level 1 − 10⁻⁶: drawn anew, a
comparison would fail less than once in a million runs (normal and t quantiles).
"""

import numpy as np
import pandas as pd
import pytest
from numpy.polynomial import Polynomial

import separatrix as sx

SURE = 1 - 1e-7


def sine(x):
    return 2 * np.sin(1.5 * x[:, 0])


class Fit:
    """A polynomial by NumPy, with as little of an estimator as is needed."""

    def __init__(self, order=1):
        self.order = order

    def get_params(self, deep=False):
        return {"order": self.order}

    def fit(self, X, y):
        self.fitted_ = Polynomial.fit(X[:, 0], y, self.order)
        return self

    def predict(self, X):
        return self.fitted_(X[:, 0])


def test_the_textbook_fact_with_a_hundred_fits():
    """f = 2 sin(1.5 x), noise N(0, 1), 20 points, 100 fits: order 3 among 1 … 5."""
    simulated = [sx.bias_variance(Fit(k), sine, 1.0, 20, 100, x=(0, 5)) for k in range(1, 6)]
    assert np.argmin([found.error for found in simulated]) == 2
    assert np.argmin([found.variance for found in simulated]) == 0
    bias = [found.squared_bias for found in simulated]
    assert bias[0] > bias[1] > bias[2] > max(bias[3], bias[4])


def test_the_fact_with_the_noise_in_closed_form():
    """The same in expectation over the noise, on many more designs."""
    found = sx.polynomial_bias_variance(range(1, 6), sine, 1.0, 20, 400, x=(0, 5))
    error = [one.error for one in found]
    assert np.argmin(error) == 2
    assert found[2].error_interval[1] < min(error[0], error[1], error[3], error[4])
    assert np.argmin([one.squared_bias for one in found]) == 4


def test_fixed_inputs_are_exact_and_prefer_a_higher_order():
    x = np.linspace(0, 5, 20)
    found = sx.polynomial_bias_variance(range(1, 6), sine, 1.0, x=x)
    f = sine(x[:, None])
    for order, one in enumerate(found, start=1):
        design = np.vander(x / 2.5 - 1, order + 1)
        hat = design @ np.linalg.pinv(design)
        assert one.exact
        assert one.squared_bias == pytest.approx(np.mean((f - hat @ f) ** 2), rel=1e-9)
        assert one.variance == pytest.approx((order + 1) / 20, rel=1e-12)
        assert one.error_interval == (one.error, one.error)
    assert np.argmin([one.error for one in found]) == 4


@pytest.mark.parametrize("order", [0, 3])
def test_simulation_agrees_with_the_closed_form(order):
    x = np.linspace(0, 5, 20)
    (exact,) = sx.polynomial_bias_variance([order], sine, 0.7, x=x)
    found = sx.bias_variance(Fit(order), sine, 0.7, repeats=400, x=x, level=SURE)
    for name in ("squared_bias", "variance", "error"):
        low, high = getattr(found, f"{name}_interval")
        assert low <= getattr(exact, name) <= high
        assert low <= getattr(found, name) <= high
    assert found.noise == exact.noise == 0.7**2


def test_drawn_inputs_agree_with_the_simulation_of_everything():
    (mixed,) = sx.polynomial_bias_variance([1], sine, 1.0, 30, 300, x=(0, 5), level=SURE)
    whole = sx.bias_variance(Fit(1), sine, 1.0, 30, 300, x=(0, 5), level=SURE, random_state=7)
    for name in ("squared_bias", "variance", "error"):
        a, b = getattr(mixed, f"{name}_interval"), getattr(whole, f"{name}_interval")
        assert max(a[0], b[0]) <= min(a[1], b[1])
    width = [m[1] - m[0] for m in (mixed.error_interval, whole.error_interval)]
    assert width[0] < width[1]  # the noise is not simulated


def test_parts_add_up_to_the_mean_squared_error_of_the_fits():
    found = sx.bias_variance(sx.KNeighborsRegressor(2), sine, 1.0, 15, 12, x=(0, 5))
    direct = np.mean((found.predictions - found.truth) ** 2)
    assert found.squared_bias + found.variance == pytest.approx(direct, rel=1e-12)
    assert found.mean_prediction == pytest.approx(found.predictions.mean(axis=0))


def test_no_bias_is_estimated_as_none():
    """A mean of a constant: the plain formula would give variance/repeats."""
    found = sx.bias_variance(Fit(0), lambda x: 0 * x[:, 0], 1.0, 10, 200, x=(0, 1), level=SURE)
    low, high = found.squared_bias_interval
    assert low <= 0.0 <= high
    assert found.variance_interval[0] <= 0.1 <= found.variance_interval[1]


def test_noise_and_inputs_of_your_own():
    found = sx.bias_variance(
        Fit(1), lambda x: x[:, 0], lambda rng, x: rng.uniform(-1, 1, len(x)), 40, 20,
        x=lambda rng, n: rng.standard_normal((n, 1)),
    )  # fmt: skip
    assert found.noise == pytest.approx(1 / 3, abs=0.1)
    assert len(found.x) == 1000
    again = sx.bias_variance(
        Fit(1), lambda x: x[:, 0], lambda rng, x: rng.uniform(-1, 1, len(x)), 40, 20,
        x=lambda rng, n: rng.standard_normal((n, 1)),
    )  # fmt: skip
    assert again.error == found.error
    assert "20 data sets" in str(found)


def test_a_table_by_the_bootstrap():
    """The mean of a sample: its variance is close to σ²/n, the rest is the noise."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": np.repeat(np.arange(50.0), 2)})
    y = pd.Series(rng.normal(size=100), name="target")
    found = sx.bootstrap_bias_variance(sx.MeanRegressor(), X, y, 60)
    assert found.variance == pytest.approx(y.var() / 100, rel=0.5)
    assert found.bias_and_noise == pytest.approx(y.var(), rel=0.1)
    pairs = y.to_numpy().reshape(-1, 2)
    assert found.noise == pytest.approx(pairs.var(axis=1, ddof=1).mean())
    assert found.n_rows == 100
    assert str(found).startswith("An estimate")
    assert np.isnan(sx.bootstrap_bias_variance(Fit(1), np.arange(9.0)[:, None], y[:9], 9).noise)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: sx.bias_variance(Fit(), sine, -1.0), "standard deviation of the noise"),
        (lambda: sx.bias_variance(Fit(), sine, 1.0, repeats=1), "repeats must be"),
        (lambda: sx.bias_variance(Fit(), sine, 1.0, x=(2, 1)), "low below high"),
        (lambda: sx.bias_variance(Fit(), lambda x: x, 1.0), "The truth has shape"),
        (lambda: sx.bias_variance(Fit(), sine, 1.0, n=0), "n must be"),
        (
            lambda: sx.polynomial_bias_variance([5], sine, 1.0, x=[0.0, 1.0, 1.0]),
            "order 5 needs 6 different inputs, and there are 2",
        ),
        (lambda: sx.polynomial_bias_variance([-1], sine, 1.0), "whole number from 0 on"),
        (
            lambda: sx.bootstrap_bias_variance(sx.KNeighborsClassifier(), [[0], [1]], [0, 1]),
            "this estimator is a classifier",
        ),
        (lambda: sx.bootstrap_bias_variance(Fit(), [[0], [1]], [0, 1]), "three rows"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, words):
    with pytest.raises(sx.InputError, match=words):
        make()
