"""Large margin nearest neighbors against the definition, general minimizers and its own bound."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog, minimize
from sklearn.datasets import load_iris, load_wine

import separatrix as sx
from separatrix.metric_learning.large_margin import MarginProblem
from tests.registry.metric_learning import large_margin


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("standardize", [False, True])
def test_the_gap_closes_and_the_objective_is_that_of_the_definition(load, standardize) -> None:
    x, y = load(return_X_y=True)
    x = x + 1e-6 * np.random.default_rng(0).standard_normal(x.shape)  # no ties
    model = sx.LargeMarginNearestNeighbors(tol=1e-5, standardize=standardize).fit(x, y)
    found = model.certificate_
    assert found.holds
    assert found.gap <= 1e-5 * found.primal
    assert large_margin(model, x, y) == pytest.approx(found.primal, rel=1e-8)


def test_no_other_metric_is_below_the_bound() -> None:
    x, y = load_wine(return_X_y=True)
    x, y = x[::4, :4], y[::4]
    model = sx.LargeMarginNearestNeighbors(tol=1e-6).fit(x, y)
    bound, rng = model.certificate_.dual, np.random.default_rng(0)
    best = large_margin(model, x, y)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(20):
            other = sx.LargeMarginNearestNeighbors()
            start = model.components_
            noise = rng.standard_normal((4, 4)) * np.abs(start).max(axis=0)
            other.components_ = np.vstack([start, np.zeros((4 - len(start), 4))]) + size * noise
            assert large_margin(other, x, y) >= bound

    def objective(flat: np.ndarray) -> float:
        other.components_ = flat.reshape(4, 4) / x.std(axis=0)
        return large_margin(other, x, y)

    searched = minimize(objective, np.eye(4).ravel(), method="Powell", options={"maxiter": 20})
    assert best <= searched.fun * (1 + 1e-9)


def test_the_gradient_is_that_of_the_rounded_objective() -> None:
    rng = np.random.default_rng(0)
    x, codes = rng.standard_normal((40, 3)), rng.integers(0, 3, 40)
    margins = MarginProblem.of(x, codes, rng.uniform(0.5, 3.0, 40), 3, 0.3)
    flat = rng.standard_normal(9)
    value, gradient = margins.evaluate(flat, 0.2)
    for k in range(9):
        step = 1e-6 * np.eye(9)[k]
        change = margins.evaluate(flat + step, 0.2)[0] - margins.evaluate(flat - step, 0.2)[0]
        assert gradient[k] == pytest.approx(change / 2e-6, rel=1e-5, abs=1e-5)
    assert value <= margins.sums(flat.reshape(3, 3), 0.2).objective


def test_bad_input_gets_one_sentence() -> None:
    x = np.random.default_rng(0).standard_normal((6, 2))
    with pytest.raises(sx.InputError, match="No class has two rows"):
        sx.LargeMarginNearestNeighbors().fit(x[:2], [0, 1])
    with pytest.raises(sx.InputError, match="push"):
        sx.LargeMarginNearestNeighbors(push=1.0).fit(x, [0, 0, 0, 1, 1, 1])


def test_a_diagonal_metric_has_the_least_objective_of_linear_programming() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((24, 3)), np.arange(24) % 2
    x[:, 0] += 1.5 * y
    model = sx.LargeMarginNearestNeighbors(1, diagonal=True, tol=1e-6).fit(x, y)
    assert_allclose(model.metric_.M, np.diag(np.diagonal(model.metric_.M)), atol=1e-12)
    costs, rows = np.zeros(3), []
    for i in range(24):
        same = np.flatnonzero((y == y[i]) & (np.arange(24) != i))
        near = same[((x[same] - x[i]) ** 2).sum(axis=1).argmin()]
        costs += 0.5 * (x[i] - x[near]) ** 2
        rows += [(x[i] - x[near]) ** 2 - (x[i] - x[other]) ** 2
                 for other in np.flatnonzero(y != y[i])]  # fmt: skip
    count = len(rows)
    program = linprog(
        np.concatenate([costs, np.full(count, 0.5)]),
        A_ub=np.hstack([np.array(rows), -np.eye(count)]), b_ub=-np.ones(count),
    )  # fmt: skip
    assert_allclose(model.certificate_.primal, program.fun, rtol=1e-5)
    assert model.certificate_.dual <= program.fun * (1 + 1e-9)
    assert_allclose(np.diagonal(model.metric_.M), program.x[:3], rtol=2e-2, atol=1e-3)
