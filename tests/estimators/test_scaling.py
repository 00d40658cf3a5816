"""Centring, standardising, whitening: definitions, rank loss, names, and the way back."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import Center, InputError, LinearRegression, Standardize, Whiten, homogeneous, scan

EACH = [Center(), Standardize(), Whiten()]
each = pytest.mark.parametrize("scaling", EACH, ids=lambda s: type(s).__name__)


@parametrize_with_checks([Center(), Standardize(), Whiten()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    mix = np.array([[1.0, 0.8, 0.0], [0.0, 0.6, 0.2], [0.0, 0.0, 5.0]])
    return rng.standard_normal((n, 3)) @ mix + [10.0, -3.0, 1e4]


def test_centred_by_hand():
    x = np.array([[5.0, 0.0], [3.0, 5.0], [1.0, 7.0]])
    np.testing.assert_array_equal(Center().fit_transform(x), [[2, -4], [0, 1], [-2, 3]])


def test_standardized_as_scikit_learn_does():
    x = table()
    w = np.random.default_rng(1).uniform(0.1, 3, 200)
    own, peer = Standardize().fit(x, sample_weight=w), StandardScaler().fit(x, sample_weight=w)
    np.testing.assert_allclose(own.transform(x), peer.transform(x), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(own.scale_, peer.scale_, rtol=1e-12)


def test_whitened_rows_have_the_identity_for_covariance():
    x = table()
    z = Whiten().fit_transform(x)
    np.testing.assert_allclose(np.cov(z.T, bias=True), np.eye(3), atol=1e-10)
    np.testing.assert_allclose(z.mean(axis=0), 0.0, atol=1e-9)


def test_whitening_does_not_depend_on_units():
    x = table()
    unit = np.array([1e8, 1e-8, 3.0])
    np.testing.assert_allclose(
        Whiten().fit_transform(x * unit), Whiten().fit_transform(x), rtol=1e-7, atol=1e-8
    )


def test_whitening_survives_rank_loss():
    x = table()
    wide = np.column_stack([x, x[:, 0] - 2 * x[:, 1], np.full(200, 0.1)])
    own = Whiten().fit(wide)
    z = own.transform(wide)
    assert z.shape == (200, 3)
    np.testing.assert_allclose(np.cov(z.T, bias=True), np.eye(3), atol=1e-9)
    np.testing.assert_allclose(own.inverse_transform(z), wide, rtol=1e-9)
    few = Whiten().fit(x[:2])
    assert few.transform(x[:2]).shape == (2, 1)
    assert Whiten().fit(x[:1]).transform(x).shape == (200, 0)


@each
def test_the_way_back(scaling):
    x = table()
    own = clone(scaling).fit(x)
    np.testing.assert_allclose(own.inverse_transform(own.transform(x)), x, rtol=1e-12)
    with pytest.raises(InputError, match="columns"):
        own.inverse_transform(x[:, :1])


@each
def test_constant_columns_become_zero(scaling):
    x = np.column_stack([table(), np.full(200, 0.1), np.full(200, 1e12 / 3)])
    z = clone(scaling).fit_transform(x)
    if z.shape[1] == 5:
        np.testing.assert_allclose(z[:, 3], 0.0, atol=1e-15)
        np.testing.assert_allclose(z[:, 4], 0.0, atol=1e-3)
    assert np.isfinite(z).all()
    if isinstance(scaling, Standardize):
        assert (z[:, 3:] == 0).all()


@each
def test_names_and_frames(scaling):
    frame = pd.DataFrame(table(), columns=["a", "b", "c"])
    own = clone(scaling).set_output(transform="pandas").fit(frame)
    out = own.transform(frame)
    assert isinstance(out, pd.DataFrame)
    expected = ["whiten0", "whiten1", "whiten2"] if isinstance(scaling, Whiten) else ["a", "b", "c"]
    assert list(out.columns) == list(own.get_feature_names_out()) == expected


@each
def test_parts_add_up_weights_are_repeats_and_models_travel(scaling):
    x = table(60)
    whole = clone(scaling).fit(x)
    parts = clone(scaling)
    for part in np.array_split(x, 4):
        parts.partial_fit(part)
    np.testing.assert_allclose(parts.transform(x), whole.transform(x), atol=1e-9)
    w = np.random.default_rng(0).integers(0, 3, 60)
    a = clone(scaling).fit(x, sample_weight=w).transform(x)
    b = clone(scaling).fit(np.repeat(x, w, axis=0)).transform(x)
    np.testing.assert_allclose(a, b, atol=1e-9)
    again = pickle.loads(pickle.dumps(whole))
    np.testing.assert_array_equal(again.transform(x), whole.transform(x))


def test_a_table_with_levels():
    frame = pd.DataFrame({"size": np.arange(6.0), "colour": ["red", "blue", "red"] * 2})
    own = Standardize().fit(scan(frame))
    assert list(own.get_feature_names_out()) == ["size", "colour=blue"]
    z = own.transform(frame)
    np.testing.assert_allclose(z.mean(axis=0), 0.0, atol=1e-15)
    np.testing.assert_allclose(z.std(axis=0), 1.0)


def test_in_a_pipeline():
    x = table()
    y = x @ [1.0, 2.0, 3.0]
    model = make_pipeline(Standardize(), LinearRegression()).fit(x, y)
    np.testing.assert_allclose(model.predict(x), y, rtol=1e-9)


def test_homogeneous_coordinates():
    x = np.array([[2.0, 3.0], [4.0, 5.0]])
    np.testing.assert_array_equal(homogeneous(x), [[1, 2, 3], [1, 4, 5]])
    thin = homogeneous(sparse.csr_array(x))
    assert sparse.issparse(thin)
    np.testing.assert_array_equal(thin.toarray(), homogeneous(x))
    # least squares through the origin in these coordinates is least squares with an intercept
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((30, 2)), rng.standard_normal(30)
    flat = LinearRegression(fit_intercept=False).fit(homogeneous(x), y)
    full = LinearRegression().fit(x, y)
    np.testing.assert_allclose(flat.coef_, np.append(full.intercept_, full.coef_), rtol=1e-9)
