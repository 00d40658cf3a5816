"""Kernel ridge regression against scikit-learn, and rows left out against refits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn import kernel_ridge
from sklearn.model_selection import GridSearchCV, KFold

import separatrix as sx

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((40, 4)), RNG.standard_normal((40, 2))
W = RNG.integers(0, 4, 40).astype(float)
KERNELS: list[Any] = [
    *("linear", "rbf", "poly", "polynomial", "laplacian", "cosine", "precomputed"),
    "chi2",
    lambda a, b: float(a @ b) + 1.0,
]


def suited(kernel: Any) -> Any:
    """Rows that the kernel takes."""
    if kernel == "precomputed":
        return X @ X.T
    return np.abs(X) if kernel == "chi2" else X


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("alpha", [1, [0.5, 2.0]])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_answers_are_those_of_scikit_learn(kernel: Any, alpha: Any) -> None:
    x = suited(kernel)
    ours = sx.KernelRidge(alpha, kernel=kernel).fit(x, Y, W)
    gamma = 1.0 if kernel == "chi2" else None  # the default, with which their fit fails
    theirs = kernel_ridge.KernelRidge(alpha=alpha, kernel=kernel, gamma=gamma).fit(x, Y, W)
    assert_allclose(ours.predict(x), theirs.predict(x), atol=1e-9)
    assert ours.certificate_.holds


@pytest.mark.parametrize("options", [{"gamma": 0.3}, {"gamma": 0.3, "degree": 2, "coef0": 0.5}])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian"])
def test_parameters_of_kernels(kernel: str, options: Any) -> None:
    ours = sx.KernelRidge(0.1, kernel=kernel, **options).fit(csr_array(X), Y[:, 0])
    theirs = kernel_ridge.KernelRidge(alpha=0.1, kernel=kernel, **options).fit(X, Y[:, 0])
    assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian"])
def test_rows_left_out_are_those_of_refits(kernel: str) -> None:
    x, y, w = np.vstack([X, X[3:5]]), np.vstack([Y, Y[3:5]]), np.r_[W, 1.0, 2.0]
    model = sx.KernelRidge([0.5, 2.0], kernel=kernel).fit(x, y, w)
    found = model.leave_one_out()
    for rows in ([0], [7], [3, 40], [4, 41], [int(W.argmin())]):
        rest = np.setdiff1d(np.arange(42), rows)
        other = kernel_ridge.KernelRidge(alpha=[0.5, 2.0], kernel=kernel)
        other.fit(x[rest], y[rest], w[rest])
        assert_allclose(found[rows], other.predict(x[rows]), atol=1e-9)


def test_a_stored_model_leaves_rows_out(tmp_path) -> None:
    model = sx.KernelRidge(0.2, kernel="rbf").fit(X, Y, W)
    sx.save(model, tmp_path / "a.sx")
    assert_allclose(sx.load(tmp_path / "a.sx").leave_one_out(), model.leave_one_out())


def test_fits_without_each_row_serve_intervals() -> None:
    model = sx.KernelRidge(0.2, kernel="rbf").fit(X, Y[:, 0])
    fits = model.leave_one_out_fits(X, Y[:, 0])
    assert fits is not None
    rest = np.arange(40) != 6
    other = sx.KernelRidge(0.2, kernel="rbf").fit(X[rest], Y[rest, 0])
    assert_allclose(fits.at(model, X[:9] + 0.1)[:, 6], other.predict(X[:9] + 0.1), atol=1e-9)
    assert_allclose(fits.own, model.leave_one_out())
    intervals = sx.ConformalRegressor(model, method="jackknife+").fit(X, Y[:, 0])
    assert intervals.fits_ is not None


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_best_penalty_on_folds_is_that_of_a_grid_search(kernel: str) -> None:
    alphas, folds = np.geomspace(1e-3, 1e3, 9), KFold(4, shuffle=True, random_state=1)
    ours = sx.KernelRidgeCV(alphas, kernel=kernel, cv=folds).fit(X, Y)
    search = GridSearchCV(
        kernel_ridge.KernelRidge(kernel=kernel), {"alpha": alphas}, cv=folds,
        scoring="neg_mean_squared_error",
    ).fit(X, Y)  # fmt: skip
    assert_allclose(ours.mse_path_, -search.cv_results_["mean_test_score"], rtol=1e-6)
    assert ours.alpha_ == search.best_params_["alpha"]
    assert_allclose(ours.predict(X), search.predict(X), atol=1e-8)


def test_without_folds_every_row_is_left_out() -> None:
    ours = sx.KernelRidgeCV(kernel="rbf").fit(X, Y, W)
    one = sx.KernelRidge(ours.alpha_, kernel="rbf").fit(X, Y, W)
    error = W @ ((one.leave_one_out() - Y) ** 2).mean(axis=1) / W.sum()
    assert_allclose(ours.mse_path_.min(), error)
    assert_allclose(one.predict(X), ours.predict(X), atol=1e-9)


def test_bad_input_gets_one_sentence() -> None:
    with pytest.raises(sx.InputError, match="penalt"):
        sx.KernelRidge([1.0, 2.0, 3.0]).fit(X, Y)
    with pytest.raises(sx.InputError, match="no kernel 'rbff'"):
        sx.KernelRidge(kernel="rbff").fit(X, Y)
    with pytest.raises(sx.InputError, match="partition"):
        sx.KernelRidgeCV(cv=[(np.arange(20), np.arange(20, 30))]).fit(X, Y)
