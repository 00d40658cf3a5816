"""Every route finds the same linear model; sparse tables are neither filled nor squared."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import sklearn.linear_model as sk
from scipy import sparse

import separatrix as sx
from separatrix.linear import routes
from separatrix.rows.rows import ArrayRows

CSR = {"tall": (2_000, 300, 0.02), "square": (400, 390, 0.02), "wide": (300, 1_000, 0.01)}
MODELS = (
    sx.LinearRegression(), sx.Ridge(0.5), sx.RidgeCV([0.1, 1.0], cv=3), sx.Lasso(2e-3),
    sx.ElasticNet(2e-3), sx.Lasso(2e-3, positive=True), sx.LassoPath(8, eps=0.1),
    sx.LassoCV(alphas=8, eps=0.1, cv=3, tol=1e-9),
)  # fmt: skip


def table(n: int, d: int, density: float) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    x = sparse.random_array((n, d), density=density, format="csr", rng=rng)
    x = sparse.csr_array(x * 10.0 ** rng.integers(-3, 4, d))
    y = x @ (rng.normal(size=d) * (rng.random(d) < 0.1)) + 0.1 * rng.normal(size=n) + 3.0
    return x, y, rng.integers(1, 3, n).astype(float)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("shape", CSR)
def test_sparse_rows_are_dense_rows_by_any_route(model: Any, shape: str, monkeypatch: Any) -> None:
    x, y, w = table(*CSR[shape])
    dense = model.fit(x.toarray(), y, sample_weight=w).predict(x)
    monkeypatch.setattr(routes, "FEW_NUMBERS", 0)
    found = model.fit(x, y, sample_weight=w)
    assert found.certificate_.holds
    np.testing.assert_allclose(found.predict(x), dense, atol=1e-4 * y.std())


@pytest.mark.parametrize(
    "model", [sx.LinearRegression(), sx.Ridge(), sx.Lasso(1e-2), sx.ElasticNet(1e-2)], ids=str
)
def test_memory_beside_a_sparse_table(model: Any) -> None:
    x = sparse.random_array((20_000, 2_500), density=0.01, format="csr", rng=1)
    y = x[:, :5].sum(axis=1) + 0.1 * np.random.default_rng(2).normal(size=20_000)
    model.fit(x[:500], y[:500])  # loops are compiled once
    size = x.data.nbytes + x.indices.nbytes + x.indptr.nbytes
    tracemalloc.start()
    model.fit(x, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 1.5 * size, (peak / size, model)
    assert model.certificate_.holds


@pytest.mark.parametrize("model", [sx.Ridge(), sx.LogisticRegression(), sx.LinearSVC()], ids=str)
def test_memory_beside_a_sparse_table_of_few_columns(model: Any) -> None:
    x = sparse.random_array((20_000, 700), density=0.05, format="csr", rng=1)
    y = x[:, :5].sum(axis=1) + 0.1 * np.random.default_rng(2).normal(size=20_000)
    y = (y > 0.1).astype(int) if hasattr(model, "decision_function") else y
    model.fit(x[:500], y[:500])  # loops are compiled once
    tracemalloc.start()
    model.fit(x, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 1.5 * (x.data.nbytes + x.indices.nbytes + x.indptr.nbytes)


def test_moments_and_inference_are_computed_when_they_are_requested() -> None:
    x, y, _ = table(2_000, 300, 0.02)
    model = sx.LinearRegression().fit(x, y)
    assert "moments_" not in vars(model)
    expected = sx.LinearRegression().fit(x.toarray(), y).summary().standard_errors
    np.testing.assert_allclose(model.summary().standard_errors, expected, rtol=1e-6)
    half = sx.LinearRegression().fit(x[:1000], y[:1000]).partial_fit(x[1000:], y[1000:])
    np.testing.assert_allclose(half.predict(x), model.predict(x), atol=1e-7 * y.std())


def test_routes_follow_from_the_shape() -> None:
    def block(x: Any) -> Any:
        return ArrayRows(x, np.zeros(x.shape[0])).block

    def csr(n: int, d: int, density: float) -> Any:
        return block(sparse.random_array((n, d), density=density, format="csr", rng=0))

    one, many = block(np.ones((1_500, 1_500))), block(np.ones((20_000, 20)))
    assert routes.absolute_route(one) is routes.Route.COLUMNS
    assert routes.absolute_route(one, 1_000) is routes.Route.MOMENTS
    assert routes.absolute_route(many) is routes.Route.MOMENTS
    for sides in ((20_000, 1_000, 0.01), (4_000, 3_000, 0.01), (3_000, 40_000, 0.002)):
        assert routes.absolute_route(csr(*sides)) is routes.Route.COLUMNS
        assert routes.quadratic_route(csr(*sides)) is routes.Route.PRODUCTS
    assert routes.quadratic_route(csr(20_000, 50, 0.1)) is routes.Route.MOMENTS
    assert routes.quadratic_route(csr(50, 100, 0.1)) is routes.Route.ROWS


def test_a_sparse_gram_is_the_dense_one() -> None:
    x, y, w = table(2_000, 60, 0.05)
    own = ArrayRows(x, y, w).reduce(sx.Moments())
    plain = ArrayRows(x.toarray(), y, w).reduce(sx.Moments())
    scale = np.sqrt(np.diag(plain.scatter))
    np.testing.assert_allclose(own.mean, plain.mean, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(own.scatter / np.outer(scale, scale),
                               plain.scatter / np.outer(scale, scale), atol=1e-14)  # fmt: skip


def test_cross_validated_penalties_are_scikit_learns() -> None:
    x, y, _ = table(2_000, 300, 0.02)
    own = sx.RidgeCV([0.1, 1.0, 10.0], cv=4).fit(x, y)
    peer = sk.RidgeCV([0.1, 1.0, 10.0], cv=4).fit(x.toarray(), y)
    assert own.alpha_ == peer.alpha_
    np.testing.assert_allclose(own.predict(x), peer.predict(x), atol=1e-5 * y.std())
