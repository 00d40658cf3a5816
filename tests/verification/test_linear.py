"""Linear models: what is proved of honest ones, and refuted of tampered ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import separatrix as sx

rng = np.random.default_rng(5)
UNITS = np.array([1.0, 100.0, 1e-4, 3.0])
X = rng.normal(size=(60, 4)) * UNITS + [5.0, 1e4, 0.0, 0.0]
Y = X @ (np.array([1.0, 2.0, -1.0, 0.3]) / UNITS) + rng.normal(size=60)

MODELS: list[Any] = [
    sx.LinearRegression(),
    sx.LinearRegression(fit_intercept=False),
    sx.Ridge(alpha=2.0),
    sx.RidgeCV(standardize=True),
    sx.RidgePath(),
    sx.Lasso(alpha=0.1),
    sx.ElasticNet(alpha=0.1, standardize=True),
    sx.Lasso(alpha=0.05, positive=True),
    sx.LassoPath(standardize=True),
]


def refuted(found: sx.Verification) -> list[str]:
    return [claim.name for claim in found.claims if claim.verdict == "refuted"]


@pytest.fixture(params=MODELS, ids=lambda m: f"{type(m).__name__}-{m.get_params().get('alpha')}")
def model(request: pytest.FixtureRequest) -> Any:
    return request.param.fit(X, Y)


def test_fits_are_proved(model: Any) -> None:
    found = sx.verify(model, X, Y)
    assert found.verdict == "proved", str(found)
    assert found.holds
    assert found.n_rows == len(X)


def test_tampered_coefficients_are_refuted(model: Any) -> None:
    for j in np.flatnonzero(model.coef_):
        honest = model.coef_[j]
        model.coef_[j] *= 1.0 + 1e-6
        assert refuted(sx.verify(model, X, Y)), j
        model.coef_[j] = honest


def test_another_table_is_refuted(model: Any) -> None:
    assert "rows" in refuted(sx.verify(model, X[1:], Y[1:]))
    assert "rows" in refuted(sx.verify(model, np.vstack([X, X[:1]]), np.append(Y, Y[0])))
    changed = X.copy()
    changed[3, 1] *= 1.0 + 1e-5
    assert refuted(sx.verify(model, changed, Y))
    swapped = Y.copy()
    swapped[[0, 1]] = swapped[[1, 0]]
    assert refuted(sx.verify(model, X, swapped))


@pytest.mark.parametrize(
    ("name", "value"),
    [("primal", 1.0), ("dual", -1.0), ("gap", 1.0), ("rank", 3), ("primal", np.nan)],
)
def test_tampered_certificates_are_refuted(name: str, value: Any) -> None:
    model = sx.LinearRegression().fit(X, Y)
    model.certificate_ = replace(model.certificate_, **{name: value})
    assert refuted(sx.verify(model, X, Y))


def test_order_of_rows_and_weights(rng: np.random.Generator) -> None:
    order = rng.permutation(len(X))
    model = sx.LinearRegression().fit(X, Y)
    assert sx.verify(model, X[order], Y[order]).verdict == "proved"
    w = rng.integers(0, 3, size=len(X)).astype(float)
    weighted = sx.Ridge(alpha=0.3).fit(X, Y, sample_weight=w)
    assert sx.verify(weighted, X, Y, weight=w).verdict == "proved"
    assert refuted(sx.verify(weighted, X, Y))


@pytest.mark.filterwarnings("ignore")
def test_degenerate_tables() -> None:
    dependent = np.column_stack([X, X[:, 0] + X[:, 3], np.ones(60)])
    for model in (sx.LinearRegression(), sx.Ridge(), sx.Lasso(alpha=0.1)):
        assert sx.verify(model.fit(dependent, Y), dependent, Y).holds, type(model)
    one = sx.LinearRegression().fit([[1.0]], [2.0])
    assert sx.verify(one, [[1.0]], [2.0]).holds
    constant = sx.LinearRegression().fit(X, np.full(60, 3.0))
    assert sx.verify(constant, X, np.full(60, 3.0)).holds
    for factor in (1e-8, 1e8):
        big = sx.LinearRegression().fit(X * factor, Y / factor)
        assert sx.verify(big, X * factor, Y / factor).verdict == "proved"


def test_several_targets() -> None:
    y = np.column_stack([Y, Y**2])
    for model in (sx.LinearRegression(), sx.Ridge(alpha=1.0)):
        assert sx.verify(model.fit(X, y), X, y).verdict == "proved"
