"""Support vector regression: peers, groups of rows, weights, units."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import SVR as Peer

import separatrix as sx


def curve(n: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, (n, 2))
    return x, np.sin(x[:, 0]) + 0.3 * x[:, 1] + 0.2 * rng.standard_normal(n)


@pytest.mark.parametrize("settings", [{}, {"C": 20.0, "epsilon": 0.3}, {"kernel": "linear"}])
def test_predictions_agree_with_scikit_learn(settings) -> None:
    x, y = curve(200)
    own, peer = sx.SVR(**settings).fit(x, y), Peer(tol=1e-9, **settings).fit(x, y)
    assert_allclose(own.predict(x), peer.predict(x), atol=1e-4)
    assert_array_equal(own.support_, peer.support_)
    assert_array_equal(own.n_support_, peer.n_support_)
    assert_allclose(own.dual_coef_, peer.dual_coef_, rtol=1e-3, atol=1e-3)


def test_rows_with_errors_below_epsilon_are_no_support_vectors() -> None:
    x, y = curve(200)
    model = sx.SVR(epsilon=0.3).fit(x, y)
    away = np.abs(y - model.predict(x))
    groups = model.group_
    assert (away[groups == "non-support"] <= 0.3 + 1e-9).all()
    assert_allclose(away[groups == "free"], 0.3, atol=1e-9)
    assert (away[groups == "bound"] >= 0.3 - 1e-9).all()
    assert_allclose(model.slack_, np.maximum(away - 0.3, 0.0), atol=1e-9)
    assert_array_equal(model.alpha_ == 0.0, groups == "non-support")


def test_the_gap_bounds_the_objective() -> None:
    x, y = curve(150)
    model = sx.SVR(C=2.0, epsilon=0.1, kernel="linear").fit(x, y)
    w, b = model.coef_[0], model.intercept_[0]
    value = 0.5 * w @ w + 2.0 * np.maximum(np.abs(y - x @ w - b) - 0.1, 0.0).sum()
    assert_allclose(model.certificate_.primal, value, rtol=1e-12)
    assert model.certificate_.gap <= 1e-8 * value


def test_many_rows_reach_the_tolerance() -> None:
    x, y = curve(3000)
    model = sx.SVR(C=5.0).fit(x, y)
    assert model.certificate_.holds
    assert_allclose(model.predict(x), Peer(C=5.0, tol=1e-5).fit(x, y).predict(x), atol=2e-2)


def test_weights_multiply_C_and_zero_removes() -> None:
    x, y = curve(100)
    w = np.random.default_rng(1).integers(0, 3, 100).astype(float)
    a = sx.SVR(gamma=0.5).fit(x, y, sample_weight=w)
    b = sx.SVR(gamma=0.5).fit(np.repeat(x, w.astype(int), axis=0), np.repeat(y, w.astype(int)))
    assert_allclose(a.predict(x), b.predict(x), atol=1e-8)


def test_a_target_that_never_varies_and_one_row() -> None:
    x, _ = curve(40)
    model = sx.SVR().fit(x, np.full(40, 7.0))
    assert_allclose(model.predict(x), 7.0, atol=0.1 + 1e-9)
    assert len(model.support_) == 0
    assert_allclose(sx.SVR().fit(x[:1], [3.0]).predict(x), 3.0, atol=0.1 + 1e-9)


def test_the_unit_of_the_target_matters_only_through_its_settings() -> None:
    x, y = curve(120)
    small = sx.SVR(C=1.0, epsilon=0.1).fit(x, y)
    large = sx.SVR(C=1e6, epsilon=1e5).fit(x, 1e6 * y)
    assert_allclose(large.predict(x), 1e6 * small.predict(x), rtol=1e-6, atol=1e-2)


@pytest.mark.parametrize("settings", [{"C": np.nan}, {"epsilon": -1.0}, {"C": -1.0}])
def test_invalid_parameters_are_refused(settings) -> None:
    with pytest.raises(sx.InputError):
        sx.SVR(**settings).fit(*curve(30))


def test_an_indefinite_kernel_has_no_lower_bound() -> None:
    x, y = curve(60)
    with pytest.warns(sx.SeparatrixWarning, match="SEP007"):
        model = sx.SVR(kernel=sx.Sigmoid(1.0, -1.0)).fit(x, y)
    assert model.certificate_.promised == ("kkt",)
    assert np.isnan(model.certificate_.gap)
    assert np.isnan(model.certificate_.dual)
    assert "lower bound" not in str(model.certificate_)


def test_alpha_has_the_sign_of_the_residual_as_in_the_linear_model() -> None:
    x, y = curve(150)
    own = sx.SVR(C=0.5, epsilon=0.2, kernel="linear").fit(x, y)
    linear = sx.LinearSVR(C=0.5, epsilon=0.2, intercept_scaling=np.inf).fit(x, y)
    assert_allclose(own.alpha_, linear.alpha_, atol=1e-6)
    assert_allclose(own.slack_, linear.slack_, atol=1e-7)
    assert_array_equal(own.group_, linear.group_)
    assert_allclose([own.t_, own.margin_], [linear.t_, linear.margin_], rtol=1e-6)
    bound = own.group_ == "bound"
    assert_array_equal(np.sign(own.alpha_[bound]), np.sign(y - own.predict(x))[bound])
