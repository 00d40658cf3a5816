"""Training, validation and test kept apart: repeated, leave-one-out and nested splits."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import linear_model as reference
from sklearn.model_selection import (
    GridSearchCV,
    LeaveOneOut,
    RepeatedKFold,
    cross_val_score,
)

import separatrix as sx

ALPHAS = np.logspace(-2, 2, 7)


def sample(n: int = 50, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n + d)
    x = rng.standard_normal((n, d))
    return x, x @ rng.standard_normal(d) + rng.standard_normal(n)


@pytest.mark.parametrize(
    "cv", [RepeatedKFold(n_splits=4, n_repeats=3, random_state=0), LeaveOneOut()], ids=repr
)
def test_repeated_and_single_row_folds_choose_as_scikit_learn_does(cv) -> None:
    x, y = sample()
    ours = sx.RidgeCV(ALPHAS, cv=cv, scoring="neg_mean_squared_error").fit(x, y)
    theirs = reference.RidgeCV(ALPHAS, cv=cv, scoring="neg_mean_squared_error").fit(x, y)
    assert ours.alpha_ == theirs.alpha_
    assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-8)
    lasso = sx.LassoCV(alphas=ALPHAS / 50, cv=cv, tol=1e-10).fit(x, y)
    peer = reference.LassoCV(alphas=ALPHAS / 50, cv=cv, tol=1e-10).fit(x, y)
    assert_allclose(lasso.mse_path_, peer.mse_path_, rtol=1e-5, atol=1e-9)
    assert lasso.alpha_ == pytest.approx(peer.alpha_)


def test_leave_one_out_by_folds_equals_the_closed_form() -> None:
    x, y = sample()
    closed = sx.RidgeCV(ALPHAS).fit(x, y)
    by_folds = sx.RidgeCV(ALPHAS, cv=LeaveOneOut()).fit(x, y)
    assert_allclose(by_folds.mse_path_.mean(axis=1), closed.mse_path_[:, 0], rtol=1e-8)


def test_nested_folds_do_not_flatter_noise() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((60, 30)), rng.standard_normal(60)
    inner = sx.LassoCV(alphas=30, cv=5)
    nested = cross_val_score(inner, x, y, cv=5, scoring="r2")
    assert nested.mean() < 0.1
    training = sx.LinearRegression().fit(x, y).score(x, y)
    assert training > 0.3  # the same noise, judged on the rows it was fitted to


def test_estimators_serve_in_an_outer_search() -> None:
    x, y = sample()
    search = GridSearchCV(sx.Ridge(), {"alpha": ALPHAS}, cv=5, scoring="neg_mean_squared_error")
    own = sx.RidgeCV(ALPHAS, cv=5, scoring="neg_mean_squared_error").fit(x, y)
    assert search.fit(x, y).best_params_["alpha"] == own.alpha_
    assert_allclose(search.best_score_, own.best_score_, rtol=1e-9)
