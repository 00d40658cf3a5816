"""Ridge and lasso on tables with more columns than rows, dense and sparse, by every route."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn.linear_model as sk
from scipy import sparse

import separatrix.threads
from separatrix import (
    InputError,
    Lasso,
    LassoPath,
    LinearRegression,
    Ridge,
    RidgeCV,
    RidgePath,
    SeparatrixWarning,
)
from separatrix.arrays import Floats
from separatrix.linear import ridge, routes
from separatrix.linear import spectrum as wide
from separatrix.linear.shifted import solve_shifted
from separatrix.matrices.cholesky import cholesky_factor
from separatrix.matrices.gram import row_gram
from separatrix.matrices.products import products
from separatrix.storage import load, save


@pytest.fixture(name="table")
def _table() -> tuple[Floats, Floats, Floats]:
    """40 rows, two of them equal, of 130 columns, one constant; two targets; whole weights."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 130)) + 3.0
    x[7], x[:, 5] = x[8], 2.0
    y = x[:, :6] @ rng.normal(size=(6, 2)) + rng.normal(size=(40, 2))
    return x, y, rng.integers(0, 4, 40).astype(float)


def closed_form(
    x: Floats, y: Floats, w: Floats, alpha: float, intercept: bool, standardize: bool
) -> tuple[Floats, Floats]:
    """Coefficients (d x k) and intercepts by singular values of the rows."""
    x_mean, y_mean = np.zeros(x.shape[1]), np.zeros(y.shape[1])
    if intercept:
        x_mean, y_mean = np.average(x, axis=0, weights=w), np.average(y, axis=0, weights=w)
    scale = np.ones(x.shape[1])
    if standardize:
        scale = np.sqrt(np.average((x - x_mean) ** 2, axis=0, weights=w))
        scale[scale < 1e-12] = 1.0
    root = np.sqrt(w)[:, None]
    u, s, vt = np.linalg.svd(root * (x - x_mean) / scale, full_matrices=False)
    coef = vt.T @ ((u.T @ (root * (y - y_mean))) * (s / (s**2 + alpha))[:, None])
    coef /= scale[:, None]
    return coef, y_mean - x_mean @ coef


@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("kind", [np.ascontiguousarray, np.asfortranarray, sparse.csr_array])
def test_ridge_in_the_space_of_the_rows(
    table: tuple[Floats, Floats, Floats],
    monkeypatch: pytest.MonkeyPatch,
    kind: Any,
    standardize: bool,
    intercept: bool,
    single: bool,
) -> None:
    monkeypatch.setattr(wide, "SINGLE", 0.0 if single else np.inf)
    x, y, w = table
    model = Ridge(2.0, fit_intercept=intercept, standardize=standardize)
    model.fit(kind(x), y, sample_weight=w)
    coef, base = closed_form(x, y, w, 2.0, intercept, standardize)
    np.testing.assert_allclose(model.coef_.T, coef, rtol=0, atol=1e-9 * np.abs(coef).max())
    np.testing.assert_allclose(model.intercept_, base, rtol=1e-8, atol=1e-8)
    assert model.certificate_.holds


@pytest.mark.parametrize("alpha", [1e-6, [0.1, 1.0]])
def test_ridge_of_columns_in_very_different_units(
    table: tuple[Floats, Floats, Floats], alpha: Any
) -> None:
    x, y, _ = table
    units = 10.0 ** np.random.default_rng(1).integers(-8, 9, x.shape[1])
    model = Ridge(alpha).fit(x * units, y)
    assert model.certificate_.kkt <= 1e-8
    varying = np.arange(x.shape[1]) != 5
    z, target = ((x - x.mean(axis=0)) * units)[:, varying], y - y.mean(axis=0)
    coef = model.coef_.T[varying]
    gradient = z.T @ (target - z @ coef) - coef * np.asarray(alpha)
    size = np.linalg.norm(z, axis=0)[:, None] * np.linalg.norm(target, axis=0)
    assert (np.abs(gradient) <= 1e-8 * size).all()


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n", [50, 60, 64])
def test_small_columns_beside_large_ones_keep_their_digits(n: int, intercept: bool) -> None:
    """With fewer large columns than rows, the small ones fit what the large ones leave."""
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, 60))
    x[:, 30:] = x[:, :30] + np.where(np.arange(30) < 10, 0.0, rng.normal(size=(n, 30)))
    y, w = x.sum(axis=1) + rng.normal(size=n), rng.integers(1, 4, n).astype(float)
    x = x * 10.0 ** rng.integers(-8, 9, 60)
    z, target = x - intercept * np.average(x, axis=0, weights=w), y.copy()
    target -= intercept * np.average(y, weights=w)
    z, target = z * np.sqrt(w)[:, None], target * np.sqrt(w)
    alphas = [1e3, 1e-3]
    path = RidgePath(alphas, fit_intercept=intercept).fit(x, y, sample_weight=w)
    for i, alpha in enumerate(alphas):
        # least squares with √α I below the rows, every column of length one
        tall = np.vstack([z, np.sqrt(alpha) * np.eye(60)])
        length = np.linalg.norm(tall, axis=0)
        q, r = np.linalg.qr(tall / length)
        best = np.linalg.solve(r, q[:n].T @ target) / length

        def objective(b: Floats, alpha: float = alpha) -> float:
            return float(np.sum((target - z @ b) ** 2) + alpha * b @ b)

        model = Ridge(alpha, fit_intercept=intercept).fit(x, y, sample_weight=w)
        assert model.certificate_.holds
        assert objective(model.coef_) <= objective(best) * (1 + 1e-9)
        assert objective(path.coefs_[i]) <= objective(best) * (1 + 1e-9)
        freedom = np.sum(q[:n] ** 2) + intercept
        assert path.degrees_of_freedom_[i] == pytest.approx(freedom, rel=1e-6)


def test_rows_left_out_of_a_table_in_very_different_units() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(24, 24)) * 10.0 ** rng.integers(-8, 9, 24)
    y = rng.normal(size=24)
    model = RidgeCV([1e-3, 1.0], store_cv_results=True).fit(x, y)
    for i, alpha in enumerate(model.alphas_):
        for row in (0, 11):
            rest = np.arange(24) != row
            one = Ridge(alpha).fit(x[rest], y[rest])
            assert model.cv_results_[row, i] == pytest.approx(
                (y[row] - one.predict(x[[row]])[0]) ** 2, rel=1e-6
            )
    folds = RidgeCV([1e-3, 1.0], cv=[(np.arange(20), np.arange(20, 24))]).fit(x, y)
    one = Ridge(1.0).fit(x[:20], y[:20])
    assert folds.mse_path_[1, 0] == pytest.approx(np.mean((y[20:] - one.predict(x[20:])) ** 2))


def test_ridge_by_products_alone_is_the_same(
    table: tuple[Floats, Floats, Floats], monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y, w = table
    x = np.where(np.random.default_rng(2).random(x.shape) < 0.2, x, 0.0)
    monkeypatch.setattr(routes, "FEW_NUMBERS", 10)
    rows = sparse.csr_array(x)
    steps = Ridge(3.0).fit(rows, y, sample_weight=w).n_iter_
    assert steps.shape == (2,)
    assert steps.min() > 1  # conjugate gradients
    for standardize in (False, True):
        model = Ridge(3.0, standardize=standardize).fit(rows, y, sample_weight=w)
        coef, base = closed_form(x, y, w, 3.0, True, standardize)
        np.testing.assert_allclose(model.coef_.T, coef, atol=1e-6 * np.abs(coef).max())
        np.testing.assert_allclose(model.intercept_, base, rtol=1e-5, atol=1e-6)
        assert model.certificate_.holds


@pytest.mark.parametrize("intercept", [True, False])
def test_a_wide_path_and_its_rows_left_out(
    table: tuple[Floats, Floats, Floats], intercept: bool
) -> None:
    x, y, w = table
    alphas = np.array([100.0, 1.0, 0.01])
    path = RidgePath(alphas, fit_intercept=intercept).fit(x, y, sample_weight=w)
    for alpha, found in zip(alphas, path.coefs_, strict=True):
        coef = closed_form(x, y, w, alpha, intercept, False)[0]
        np.testing.assert_allclose(found.T, coef, atol=1e-8 * np.abs(coef).max())
    own = RidgeCV(alphas, fit_intercept=intercept, store_cv_results=True).fit(x, y[:, 0])
    peer = sk.RidgeCV(alphas, fit_intercept=intercept, store_cv_results=True).fit(x, y[:, 0])
    np.testing.assert_allclose(own.cv_results_, peer.cv_results_, rtol=1e-6, atol=1e-9)
    folds = RidgeCV(alphas, fit_intercept=intercept, cv=4).fit(x, y[:, 0])
    plain = sk.RidgeCV(alphas, fit_intercept=intercept, cv=4).fit(x, y[:, 0])
    assert folds.alpha_ == plain.alpha_
    np.testing.assert_allclose(folds.coef_, plain.coef_, atol=1e-8)


def test_a_stored_path_of_very_many_columns(tmp_path: Any) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(12, 2_100))
    y = x[:, 0] + rng.normal(size=12)
    path = RidgePath([10.0, 1.0]).fit(x, y)
    assert path.spectrum_.directions is None
    coef, base = closed_form(x, y[:, None], np.ones(12), 3.0, True, False)
    np.testing.assert_allclose(path.coef_at(3.0)[0], coef[:, 0], atol=1e-10)
    np.testing.assert_allclose(path.coef_at(3.0)[1], base[0], atol=1e-10)
    save(path, tmp_path / "path.sx")
    stored = load(tmp_path / "path.sx")
    np.testing.assert_array_equal(stored.predict(x), path.predict(x))
    np.testing.assert_array_equal(stored.coefs_, path.coefs_)
    with pytest.raises(InputError, match="without its training rows"):
        stored.coef_at(3.0)


@pytest.mark.parametrize("l1_ratio", [1.0, 0.6])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_lasso_path_on_sparse_columns_is_that_on_dense_ones(
    table: tuple[Floats, Floats, Floats],
    monkeypatch: pytest.MonkeyPatch,
    l1_ratio: float,
    intercept: bool,
) -> None:
    x, y, w = table
    x = np.where(np.random.default_rng(2).random(x.shape) < 0.2, x, 0.0)
    x[:, :20] *= 1e8
    x[:, 20:40] *= 1e-8
    settings = {"l1_ratio": l1_ratio, "fit_intercept": intercept, "tol": 1e-10}
    dense = LassoPath(12, eps=0.05, **settings).fit(x, y[:, 0], sample_weight=w)
    monkeypatch.setattr(routes, "FEW_NUMBERS", 10)
    found = LassoPath(12, eps=0.05, **settings).fit(sparse.csr_array(x), y[:, 0], sample_weight=w)
    np.testing.assert_allclose(found.alphas_, dense.alphas_, rtol=1e-10)
    fitted = [x @ model.coefs_.T + model.intercepts_ for model in (found, dense)]
    np.testing.assert_allclose(*fitted, atol=2e-4 * np.std(y[:, 0]))
    assert found.certificate_.holds
    one = Lasso(dense.alphas_[6]).fit(sparse.csr_array(x), y[:, 0])
    plain = Lasso(dense.alphas_[6]).fit(x, y[:, 0])
    np.testing.assert_allclose(one.predict(x), plain.predict(x), atol=1e-4)


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(800, 1_600))
    y = x[:, :5].sum(axis=1) + rng.normal(size=800)
    rows = sparse.csr_array(np.where(rng.random(x.shape) < 0.1, x, 0.0))
    found = []
    for count in (1, 16):
        monkeypatch.setattr(separatrix.threads, "available_threads", lambda count=count: count)
        gram = row_gram(x, np.zeros(1_600), np.ones(1_600), np.ones(800))
        factor = cholesky_factor(gram.copy())
        assert factor is not None
        path = LassoPath(3, eps=0.3).fit(x, y)
        found.append(
            [gram, factor, Ridge().fit(x, y).coef_, Ridge().fit(x[:300], y[:300]).coef_,
             Ridge().fit(rows, y).coef_, path.coefs_, path.coef_]
        )  # fmt: skip
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("shape", [(60, 20), (20, 60)])
@pytest.mark.parametrize("intercept", [True, False])
def test_all_penalties_and_folds_at_once(shape: tuple[int, int], intercept: bool) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=shape) * (rng.random(shape) < 0.4) + (rng.random(shape) < 0.1)
    y, w = rng.normal(size=(shape[0], 3)), rng.integers(0, 3, (shape[0], 3)).astype(float)
    alphas = np.array([10.0, 0.1, 1.0])
    path = solve_shifted(
        products(sparse.csr_array(x)),
        y,
        w,
        alphas,
        fit_intercept=intercept,
        enough=1e-11,
        limit=200,
    )
    assert all(path.done)
    for i, alpha in enumerate(alphas):
        for k in range(3):
            coef, constant = closed_form(x, y[:, [k]], w[:, k], float(alpha), intercept, False)
            np.testing.assert_allclose(path.coefs[i, :, k], coef[:, 0], atol=1e-8)
            np.testing.assert_allclose(path.intercepts[i, k], constant[0], atol=1e-8)


def test_folds_by_products_and_by_factors_are_those_by_eigenvalues() -> None:
    x = sparse.random_array((2_400, 5_100), density=0.002, format="csr", rng=1)
    y = x[:, :20].sum(axis=1) + 0.1 * np.random.default_rng(2).normal(size=2_400)
    model = RidgeCV(cv=3).fit(x, y)
    assert not len(model.spectrum_.values)
    assert model.certificate_.holds
    few = x[:150]
    by_factors, by_values = RidgeCV(cv=3).fit(few, y[:150]), RidgeCV([0.1, 1.0, 10.0], cv=3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wide, "penalty_by_penalty", lambda _: False)
        by_values.fit(few, y[:150])
        patch.setattr(ridge, "by_products", lambda *_, **__: True)
        patch.setattr(wide, "by_products", lambda *_, **__: True)
        by_products = RidgeCV(cv=3).fit(few, y[:150])
    for other, digits in ((by_factors, 1e-9), (by_products, 1e-5)):
        np.testing.assert_allclose(other.mse_path_, by_values.mse_path_, rtol=digits)
        np.testing.assert_allclose(other.coefs_, by_values.coefs_, atol=1e-7)
    np.testing.assert_allclose(
        by_factors.spectrum_.values, by_values.spectrum_.values, rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("intercept", [True, False])
def test_least_squares_through_all_rows(intercept: bool) -> None:
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(15, 40)) + 2.0, rng.normal(size=(15, 2))
    x[:, 3] = 1.0
    with pytest.warns(SeparatrixWarning, match="SEP001"):
        model = LinearRegression(fit_intercept=intercept).fit(x, y)
    their = sk.LinearRegression(fit_intercept=intercept).fit(x, y)
    np.testing.assert_allclose(model.coef_, their.coef_, atol=1e-12)
    rank = 15 - int(intercept)
    assert model.rank_ == rank
    assert len(model.certificate_.dependent) == 40 - rank
    assert model.certificate_.holds
    assert ("x3" in model.certificate_.dependent) == intercept
    x[4] = x[5]  # no longer independent rows: their mean is fitted
    with pytest.warns(SeparatrixWarning, match="SEP001"):
        model = LinearRegression(fit_intercept=intercept).fit(x, y)
    np.testing.assert_allclose(
        model.predict(x), sk.LinearRegression(fit_intercept=intercept).fit(x, y).predict(x)
    )
    assert model.rank_ == rank - 1
