"""Polynomials: exact rational references, several inputs, streams, and wide ranges."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression as TheirRegression
from sklearn.preprocessing import PolynomialFeatures

from separatrix import InputError, PolynomialRegression, scan
from separatrix.rows.expansion import Expansion, exponents_of
from separatrix.rows.rows import ArrayRows
from separatrix.rows.schema import Term


def exact_polynomial(x, y, degree):
    """Least squares in rational arithmetic: the answer for these very floats, then rounded once."""
    fx, fy = [Fraction(v) for v in x.tolist()], [Fraction(v) for v in y.tolist()]
    p = degree + 1
    power = [[v**k for v in fx] for k in range(p)]
    a = [[sum(map(lambda u, v: u * v, power[i], power[j])) for j in range(p)] for i in range(p)]
    b = [sum(map(lambda u, v: u * v, power[i], fy)) for i in range(p)]
    for i in range(p):
        for j in range(i + 1, p):
            f = a[j][i] / a[i][i]
            a[j] = [u - f * v for u, v in zip(a[j], a[i], strict=True)]
            b[j] -= f * b[i]
    for i in reversed(range(p)):
        b[i] = (b[i] - sum(a[i][j] * b[j] for j in range(i + 1, p))) / a[i][i]
    return np.array([float(v) for v in b])


def test_degree_ten_far_from_zero_to_ten_digits():
    """Powers up to ten of numbers between −9 and −3 differ by far less than a float can tell."""
    rng = np.random.default_rng(0)
    x = np.round(rng.uniform(-9, -3, 60), 6)
    y = np.round(0.8 + 0.1 * np.tanh(x + 6) + 0.003 * rng.standard_normal(60), 4)
    own = PolynomialRegression(10).fit(x[:, None], y)
    exact = exact_polynomial(x, y, 10)
    np.testing.assert_allclose(np.append(own.intercept_, own.coef_), exact, rtol=1e-10)
    by_hand = [float(sum(Fraction(c) * Fraction(v) ** k for k, c in enumerate(exact))) for v in x]
    np.testing.assert_allclose(own.predict(x[:, None]), by_hand, atol=1e-7)


@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_exact_polynomials_of_degree_five(scale):
    """y = Σ (scale·x)ᵏ at 0, 1, …, 20: every coefficient is known."""
    x = np.arange(21.0)
    y = sum((scale * x) ** k for k in range(6))
    if scale == 0.1:
        y = np.round(y, 5)
    own = PolynomialRegression(5).fit(x[:, None], y)
    np.testing.assert_allclose(
        np.append(own.intercept_, own.coef_), scale ** np.arange(6), rtol=1e-9
    )
    assert own.relative_square_error(x[:, None], y) < 1e-25


def test_wide_and_distant_ranges_predict_accurately():
    x = 1e6 + np.linspace(-1, 1, 41)
    truth = 3.0 - 2.0 * (x - 1e6) + (x - 1e6) ** 4
    own = PolynomialRegression(4).fit(x[:, None], truth)
    np.testing.assert_allclose(own.predict(x[:, None]), truth, atol=1e-9)
    wide = np.linspace(-1e5, 1e5, 51)
    own = PolynomialRegression(3).fit(wide[:, None], 1 + wide**3)
    np.testing.assert_allclose(own.predict(wide[:, None]), 1 + wide**3, rtol=1e-12, atol=10.0)
    np.testing.assert_allclose(own.coef_[2], 1.0, rtol=1e-12)


@pytest.mark.parametrize("interaction_only", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_several_inputs_agree_with_the_explicit_expansion(degree, interaction_only, fit_intercept):
    rng = np.random.default_rng(1)
    x, w = rng.normal(2.0, 1.0, (150, 3)), rng.uniform(0.1, 2.0, 150)
    y = x[:, 0] * x[:, 1] - x[:, 2] ** 2 + rng.standard_normal(150)
    own = PolynomialRegression(
        degree, interaction_only=interaction_only, fit_intercept=fit_intercept
    ).fit(x, y, w)
    features = PolynomialFeatures(degree, interaction_only=interaction_only, include_bias=False)
    z = features.fit_transform(x)
    peer = TheirRegression(fit_intercept=fit_intercept).fit(z, y, w)
    np.testing.assert_allclose(own.coef_, peer.coef_, rtol=1e-6, atol=1e-8)
    assert own.intercept_ == pytest.approx(peer.intercept_, rel=1e-6, abs=1e-8)
    np.testing.assert_allclose(own.predict(x), peer.predict(z), rtol=1e-8)
    np.testing.assert_array_equal(own.exponents_, features.powers_)


def test_units_change_coefficients_by_their_powers():
    rng = np.random.default_rng(7)
    x = rng.normal(1.0, 1.0, (80, 2))
    y = x[:, 0] * x[:, 1] - x[:, 1] ** 3 + rng.standard_normal(80)
    unit = np.array([1e8, 1e-8])
    plain, scaled = PolynomialRegression(3).fit(x, y), PolynomialRegression(3).fit(x * unit, y)
    factor = np.prod(unit**plain.exponents_, axis=1)
    np.testing.assert_allclose(scaled.coef_ * factor, plain.coef_, rtol=1e-7)
    np.testing.assert_allclose(scaled.predict(x * unit), plain.predict(x), rtol=1e-10)


def test_names():
    frame = pd.DataFrame({"x": np.arange(12.0), "z": np.arange(12.0) ** 2 % 7})
    own = PolynomialRegression(2).fit(frame, np.arange(12.0))
    assert own.term_names_ == ("x", "z", "x^2", "x z", "z^2")
    assert own.summary().names == ("intercept", "x", "z", "x^2", "x z", "z^2")
    assert own.hyperplane_.names == own.term_names_


def test_summary_equals_the_classical_formulas():
    rng = np.random.default_rng(2)
    x = rng.uniform(1, 3, 40)
    y = 1 + x - x**2 + 0.1 * rng.standard_normal(40)
    found = PolynomialRegression(2).fit(x[:, None], y).summary()
    z = np.vander(x, 3, increasing=True)
    b, rss = np.linalg.lstsq(z, y)[:2]
    se = np.sqrt(np.diag(np.linalg.inv(z.T @ z)) * rss[0] / 37)
    np.testing.assert_allclose(found.estimates, b, rtol=1e-9)
    np.testing.assert_allclose(found.standard_errors, se, rtol=1e-8)
    np.testing.assert_allclose(found.leverage, np.diag(z @ np.linalg.inv(z.T @ z) @ z.T), rtol=1e-7)
    assert found.r_squared == pytest.approx(1 - rss[0] / np.sum((y - y.mean()) ** 2))


def test_relative_square_error():
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((30, 2)), rng.standard_normal(30)
    own = PolynomialRegression(2).fit(x, y)
    error = np.sum((y - own.predict(x)) ** 2) / np.sum((y - y.mean()) ** 2)
    assert own.relative_square_error(x, y) == pytest.approx(error)
    assert own.relative_square_error(x, y) == pytest.approx(1 - own.score(x, y))
    w = rng.integers(0, 3, 30)
    repeated = own.relative_square_error(np.repeat(x, w, axis=0), np.repeat(y, w))
    assert own.relative_square_error(x, y, w) == pytest.approx(repeated)
    with pytest.raises(InputError, match="constant"):
        own.relative_square_error(x, np.ones(30))


def test_indicators_have_no_powers_and_exclude_each_other():
    frame = pd.DataFrame(
        {
            "size": np.arange(20.0),
            "colour": ["red", "green", "blue", "red"] * 5,
            "y": np.arange(20.0),
        }
    )
    own = PolynomialRegression(2).fit(scan(frame, target="y"))
    assert own.term_names_ == (
        "size",
        "colour=blue",
        "colour=green",
        "size^2",
        "size colour=blue",
        "size colour=green",
    )
    np.testing.assert_allclose(own.predict(frame), frame["y"], atol=1e-9)


def test_blocks_and_threads_change_nothing(tmp_path):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.standard_normal((5000, 3)), columns=["a", "b", "c"])
    frame["y"] = frame["a"] * frame["b"] + frame["c"] ** 2
    frame.to_parquet(tmp_path / "table.parquet")
    whole = PolynomialRegression(3).fit(frame[["a", "b", "c"]], frame["y"])
    stream = PolynomialRegression(3).fit(
        scan(str(tmp_path / "table.parquet"), target="y", block_rows=700)
    )
    np.testing.assert_allclose(stream.coef_, whole.coef_, rtol=1e-9, atol=1e-12)


def test_several_targets_float32_and_rows():
    rng = np.random.default_rng(5)
    x = rng.standard_normal((50, 2))
    y = np.column_stack([x[:, 0] ** 2, x[:, 1] ** 3])
    own = PolynomialRegression(3).fit(x, y)
    assert own.coef_.shape == (2, 9)
    np.testing.assert_allclose(own.predict(x), y, atol=1e-10)
    np.testing.assert_allclose(PolynomialRegression(3).fit(ArrayRows(x, y)).coef_, own.coef_)
    narrow = PolynomialRegression(2).fit(x.astype(np.float32), y[:, 0].astype(np.float32))
    np.testing.assert_allclose(narrow.coef_, [0, 0, 1, 0, 0], atol=1e-5)


@given(
    degree=st.integers(1, 6),
    center=st.floats(-50, 50),
    scale=st.floats(0.1, 20),
    chebyshev=st.booleans(),
    seed=st.integers(0, 100),
)
@settings(max_examples=40, deadline=None)
def test_coefficients_of_powers_give_the_same_function(degree, center, scale, chebyshev, seed):
    rng = np.random.default_rng(seed)
    columns = [Term("x"), Term("z")]
    exponents = exponents_of(columns, [degree, degree], degree, interaction_only=False)
    move = np.array([center if chebyshev else 0.0, 0.0])
    e = Expansion(exponents, move, np.array([scale, 1.0]), ("",) * len(exponents), chebyshev)
    beta = rng.standard_normal(len(exponents) + 1)
    raw = e.to_powers() @ beta
    x = np.column_stack([center + scale * rng.uniform(-1, 1, 7), rng.uniform(-1, 1, 7)])
    plain = np.prod(x[:, None, :] ** exponents, axis=2)
    expected = beta[0] + e.transform(x) @ beta[1:]
    size = np.abs(raw[0]) + np.abs(plain) @ np.abs(raw[1:])
    assert (np.abs(raw[0] + plain @ raw[1:] - expected) <= 1e-12 * size + 1e-12).all()


def test_refusals():
    x, y = np.ones((5, 100)), np.arange(5.0)
    with pytest.raises(InputError, match="degree"):
        PolynomialRegression(0).fit(x, y)
    with pytest.raises(InputError, match="terms"):
        PolynomialRegression(5).fit(x, y)


def test_updates_add_up_to_one_fit():
    rng = np.random.default_rng(5)
    x = rng.uniform(-2, 3, (120, 2))
    y = 1 + x[:, 0] ** 2 - x[:, 0] * x[:, 1] + 0.1 * rng.standard_normal(120)
    model = PolynomialRegression(3)
    for start in range(0, 120, 40):
        model.partial_fit(x[start : start + 40], y[start : start + 40])
    whole = PolynomialRegression(3).fit(x, y)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.predict(x), whole.predict(x), rtol=1e-9)


@pytest.mark.parametrize(("n", "d", "degree"), [(10, 25, 1), (8, 3, 3)])
def test_more_terms_than_rows_gives_the_minimum_norm_polynomial(n, d, degree):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    model = PolynomialRegression(degree).fit(x, y)
    powers = PolynomialFeatures(degree, include_bias=False).fit_transform(x)
    minimum_norm = TheirRegression().fit(powers, y)
    assert np.linalg.norm(model.coef_) == pytest.approx(
        np.linalg.norm(minimum_norm.coef_), rel=1e-7
    )
    np.testing.assert_allclose(model.predict(x), y, atol=1e-8)
