"""Averages of models: weights on the simplex that minimize the out-of-fold loss."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import StratifiedKFold

import separatrix as sx
from separatrix.formula import nodes
from separatrix.messages import InputError
from separatrix.selection.averaging import (
    log_loss_average,
    logarithmic_pool,
    squared_error_average,
)


@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(3, 40))
@settings(max_examples=30, deadline=None)
def test_weights_are_those_of_a_general_solver(seed: int, models: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    p, y, w = rng.uniform(0.01, 1, (n, models)), rng.normal(size=n), rng.uniform(0.1, 2, n)
    x = rng.normal(size=(n, models))
    share = w / w.sum()
    cases = [
        (log_loss_average(p, w), lambda a: -share @ np.log(p @ a)),
        (squared_error_average(x, y, w), lambda a: share @ (y - x @ a) ** 2),
    ]
    for found, loss in cases:
        assert found.weights.min() >= 0
        assert found.weights.sum() == pytest.approx(1.0)
        assert found.value == pytest.approx(loss(found.weights))
        peer = minimize(
            loss,
            np.full(models, 1 / models),
            bounds=[(0, 1)] * models,
            constraints={"type": "eq", "fun": lambda a: a.sum() - 1},
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 500},
        )
        assert found.value <= peer.fun + 1e-5 * (1 + abs(peer.fun))
        assert found.value - peer.fun <= found.gap + 1e-5  # the bound is a bound


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(2, 4))
@settings(max_examples=20, deadline=None)
def test_a_logarithmic_pool_is_that_of_a_general_solver(seed: int, models: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    n = 60
    p = rng.dirichlet(np.ones(k), (models, n))
    truth, w = rng.integers(0, k, n), rng.uniform(0.1, 2, n)
    share = w / w.sum()

    def loss(a):
        pooled = np.exp(np.tensordot(a, np.log(np.maximum(p, 1e-6)), 1))
        return -share @ np.log(pooled[np.arange(n), truth] / pooled.sum(axis=1))

    found = logarithmic_pool(p, truth, w)
    assert found.weights.min() >= 0
    assert found.value == pytest.approx(loss(found.weights))
    assert -share @ np.log(found.of(p)[np.arange(n), truth]) == pytest.approx(found.value)
    peer = minimize(
        loss, np.full(models, 0.5), bounds=[(0, None)] * models, method="L-BFGS-B", tol=1e-12
    )
    assert found.value <= peer.fun + 1e-6
    assert found.gap <= 1e-6
    if peer.x.sum() <= 2.0 * max(1.0, found.weights.sum()):  # the bound is a bound
        assert found.value - peer.fun <= found.gap + 1e-6


def test_a_logarithmic_pool_is_fitted_stored_and_written_as_a_formula(tmp_path) -> None:
    """Neighbors give probabilities of zero, which alone rule out nothing."""
    x, y = load_iris(return_X_y=True)
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    models = [sx.LinearDiscriminantAnalysis(), sx.GaussianNB(), sx.KNeighborsClassifier(5)]
    own = sx.AveragedClassifier(models, cv=cv, pool="logarithmic").fit(x, y)
    p = np.empty((len(models), len(y), 3))
    for train, test in cv.split(x, y):
        for m, model in enumerate(models):
            fitted = type(model)(**model.get_params()).fit(x[train], y[train])
            p[m, test] = fitted.predict_proba(x[test])
    expected = logarithmic_pool(p, y, np.ones(len(y)))
    np.testing.assert_allclose(own.weights_, expected.weights, atol=1e-4)
    parts = np.stack([m.predict_proba(x) for m in own.estimators_])
    answers = own.predict_proba(x)
    np.testing.assert_allclose(answers, replace(expected, weights=own.weights_).of(parts))
    of = nodes.Evaluation(nodes.GivenRows(x), 0.95)
    written = of(nodes.class_formula_of(own).probabilities)
    np.testing.assert_allclose(np.asarray(written.array), answers, rtol=1e-9)
    stored = own.set_params(cv=4)
    sx.save(stored, tmp_path / "pool.sx")
    np.testing.assert_array_equal(sx.load(tmp_path / "pool.sx").predict_proba(x), answers)
    assert own.certificate_.holds
    with pytest.raises(InputError, match="pool"):
        sx.AveragedClassifier(models, pool="mean").fit(x, y)


def test_weights_come_from_the_folds() -> None:
    x, y = load_iris(return_X_y=True)
    models = [sx.LinearDiscriminantAnalysis(), sx.GaussianNB(), sx.KNeighborsClassifier(5)]
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    own = sx.AveragedClassifier(models, cv=cv).fit(x, y)
    p = np.empty((len(y), len(models)))
    for train, test in cv.split(x, y):
        for m, model in enumerate(models):
            fitted = type(model)(**model.get_params()).fit(x[train], y[train])
            p[test, m] = fitted.predict_proba(x[test])[np.arange(len(test)), y[test]]
    np.testing.assert_allclose(
        own.weights_, log_loss_average(p, np.ones(len(y))).weights, atol=1e-4
    )
    by_hand = sum(
        a * model.fit(x, y).predict_proba(x) for a, model in zip(own.weights_, models, strict=True)
    )
    np.testing.assert_allclose(own.predict_proba(x), by_hand, rtol=1e-12)
    assert own.certificate_.holds


def test_numbers_and_tables(tmp_path) -> None:
    x, y = load_diabetes(return_X_y=True)
    models = [sx.LinearRegression(), sx.KNeighborsRegressor(20, standardize=True)]
    own = sx.AveragedRegressor(models, cv=3).fit(x, y)
    columns = np.stack([m.fit(x, y).predict(x) for m in models], axis=1)
    np.testing.assert_allclose(own.predict(x), columns @ own.weights_, rtol=1e-12)
    path = tmp_path / "average.sx"
    sx.save(own, path)
    np.testing.assert_array_equal(sx.load(path).predict(x), own.predict(x))
    rows = sx.scan({**{f"c{j}": x[:, j] for j in range(10)}, "y": y}, target="y")
    table = sx.AveragedRegressor(models, cv=3).fit(rows)
    np.testing.assert_allclose(table.weights_, own.weights_, atol=1e-6)


def test_what_cannot_be_averaged_is_refused() -> None:
    x, y = load_iris(return_X_y=True)
    with pytest.raises(InputError, match="no probabilities"):
        sx.AveragedClassifier([sx.LinearSVC()]).fit(x, y)
    with pytest.raises(InputError, match="not a list of models"):
        sx.AveragedClassifier([]).fit(x, y)
    with pytest.raises(InputError, match="not a regression model"):
        sx.AveragedRegressor([sx.GaussianNB()]).fit(x, y)
