"""Code written for scikit-learn runs after its import is changed, and gives the same answers."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import linear_model as reference

import separatrix as sx

SHARED = ["LinearRegression", "Ridge", "Lasso", "ElasticNet", "LassoCV", "HuberRegressor"]


def table(n: int = 100, targets: int = 2):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 6))
    y = x @ rng.normal(size=(6, targets)) + rng.normal(size=(n, targets))
    return x, y, rng.uniform(size=n)


@pytest.mark.parametrize("name", SHARED)
def test_every_parameter_is_taken_with_its_default(name):
    theirs = inspect.signature(getattr(reference, name)).parameters
    ours = inspect.signature(getattr(sx, name)).parameters
    assert set(theirs) <= set(ours)
    assert all(ours[key].kind == theirs[key].kind for key in theirs)
    finer = {"tol", "max_iter"}
    assert all(ours[key].default == theirs[key].default for key in set(theirs) - finer)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n", [100, 4])
def test_coefficients_that_may_not_be_negative(n, fit_intercept):
    x, y, w = table(n)
    options = {"positive": True, "fit_intercept": fit_intercept}
    ours = sx.Ridge(3.0, **options).fit(x, y, w)
    theirs = reference.Ridge(3.0, tol=1e-12, **options).fit(x, y, w)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert ours.certificate_.holds
    if n > 6:
        ours = sx.LinearRegression(**options).fit(x, y, w)
        theirs = reference.LinearRegression(**options).fit(x, y, w)
        assert_allclose(ours.coef_, theirs.coef_, atol=1e-10)
        with pytest.raises(sx.InputError, match="constrained to be ≥ 0"):
            ours.summary()


def test_the_duality_gap_has_scikit_learns_name():
    x, y, _ = table()
    for model in (sx.Lasso(0.1), sx.ElasticNet(0.1), sx.LassoCV(cv=3)):
        assert model.fit(x, y[:, 0]).dual_gap_ == model.certificate_.gap
