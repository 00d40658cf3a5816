"""Standardization against scikit-learn, with weights, constant columns and sparse rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from separatrix.rows.profile import profile
from separatrix.rows.rows import ArrayRows
from separatrix.statistics.moments import Moments, Standardizer, column_scales

RNG = np.random.default_rng(4)
X = RNG.normal(size=(60, 4)) * [1e-8, 1.0, 1e8, 3.0] + [5.0, 0.0, -1e9, 0.1]
X[:, 1] = 0.1 + 0.2  # constant, and not exactly representable
W = RNG.integers(0, 4, 60).astype(float)


def test_weighted_standardization_is_that_of_scikit_learn_and_constant_columns_become_zero():
    ours = Standardizer.from_rows(X, W)
    theirs = StandardScaler().fit(X, sample_weight=W)
    expected = theirs.transform(X)
    expected[:, 1] = 0.0
    np.testing.assert_allclose(ours.transform(X), expected, rtol=1e-6, atol=1e-7)
    assert ours.scale[1] == 0.0
    assert ours.inverse_scale[1] == 0.0
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(X)), X, rtol=1e-12)


def test_moments_and_rows_give_the_same_standardizer():
    from_moments = Standardizer.from_moments(ArrayRows(X, None, W).reduce(Moments()))
    from_rows = Standardizer.from_rows(X, W)
    np.testing.assert_allclose(from_moments.mean, from_rows.mean, rtol=1e-12)
    np.testing.assert_allclose(from_moments.scale, from_rows.scale, rtol=1e-6)


def test_sparse_rows_are_scaled_and_stay_sparse(rng):
    x = sparse.random_array((50, 6), density=0.3, rng=rng, format="csr")
    ours = Standardizer.from_rows(x, np.ones(50))
    z = ours.transform(x)
    assert sparse.issparse(z)
    assert not ours.mean.any()
    np.testing.assert_allclose(z.toarray(), x.toarray() / x.toarray().std(axis=0))
    np.testing.assert_allclose(ours.inverse_transform(z).toarray(), x.toarray())


@pytest.mark.parametrize("outputs", [1, 3])
def test_coefficients_in_the_units_of_the_table_give_the_same_scores(rng, outputs):
    ours = Standardizer.from_rows(X, W)
    coef, intercept = rng.normal(size=(outputs, 4)), rng.normal(size=outputs)
    b, a = ours.unscale(coef, intercept)
    np.testing.assert_allclose(X @ b.T + a, ours.transform(X) @ coef.T + intercept, atol=1e-6)
    assert (b[:, 1] == 0.0).all()


@pytest.mark.parametrize("value", [0.1, 1e9 + 0.1, -3.3e-7])
def test_one_rule_for_constant_columns(value):
    x = np.column_stack([np.full(30, value), np.arange(30.0)])
    rows = ArrayRows(x, np.arange(30.0))
    moments = rows.reduce(Moments())
    assert Standardizer.from_moments(moments).scale[0] == 0.0
    assert column_scales(moments, moments)[0] == 0.0
    assert np.isnan(moments.correlation[0]).all()
    assert moments.correlation[1, 2] == pytest.approx(1.0)
    assert profile(rows)[0].std == 0.0
