"""Poisson regression: scikit-learn's answers, certificates, weights, streams, degenerate tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import PoissonRegressor as TheirPoisson

import separatrix as sx
from separatrix import InputError, PoissonRegressor


def counts(n: int, d: int, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * rng.uniform(0.1, 3.0, d) + rng.normal(size=d)
    y = rng.poisson(np.exp(0.2 * x @ rng.normal(size=d) + 0.5)).astype(float)
    return x, y, rng.uniform(0.1, 2.0, n)


@pytest.mark.parametrize("shape", [(200, 3), (2_000, 20), (30, 60), (40, 40)])
@pytest.mark.parametrize("alpha", [1e-3, 1.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_scikit_learn_has_the_same_minimum(
    shape: tuple[int, int], alpha: float, fit_intercept: bool
) -> None:
    x, y, w = counts(*shape)
    settings: dict[str, Any] = {"alpha": alpha, "fit_intercept": fit_intercept}
    own = PoissonRegressor(**settings).fit(x, y, w)
    peer = TheirPoisson(**settings, solver="newton-cholesky", tol=1e-11, max_iter=500).fit(x, y, w)
    assert own.certificate_.holds
    assert own.certificate_.relative_gap < 1e-9
    np.testing.assert_allclose(own.coef_, peer.coef_, atol=2e-6)
    np.testing.assert_allclose(own.predict(x), peer.predict(x), rtol=1e-5)
    assert own.score(x, y, w) == pytest.approx(peer.score(x, y, w), abs=1e-8)


def test_the_gap_bounds_what_an_early_stop_leaves() -> None:
    x, y, w = counts(300, 4)
    best = PoissonRegressor(alpha=0.01).fit(x, y, w).certificate_.primal
    for steps in (1, 2, 3):
        with pytest.warns(sx.SeparatrixWarning):
            rough = PoissonRegressor(alpha=0.01, max_iter=steps).fit(x, y, w).certificate_
        assert rough.primal - best <= rough.gap + rough.rounding
        assert not rough.holds


def test_weights_count_as_rows_and_sparse_rows_as_dense_ones() -> None:
    x, y, _ = counts(150, 4)
    w = np.random.default_rng(1).integers(0, 4, 150)
    weighted = PoissonRegressor(alpha=0.1).fit(x, y, w)
    repeated = PoissonRegressor(alpha=0.1).fit(np.repeat(x, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9)
    csr = PoissonRegressor(alpha=0.1).fit(sparse.csr_array(x), y, w)
    np.testing.assert_allclose(csr.coef_, weighted.coef_, rtol=1e-9)
    np.testing.assert_allclose(csr.predict(sparse.csr_array(x)), weighted.predict(x), rtol=1e-9)


def test_rates_are_counts_over_an_exposure() -> None:
    x, y, exposure = counts(400, 3)
    rates = PoissonRegressor(alpha=0.0).fit(x, y / exposure, exposure)
    slope = np.exp(x @ rates.coef_ + rates.intercept_)
    balance = x.T @ (y - exposure * slope)  # the score equations of counts with an offset
    assert np.abs(balance).max() < 1e-5 * np.abs(x.T @ y).max()


def test_standardized_penalties_do_not_depend_on_units() -> None:
    x, y, _ = counts(200, 3)
    unit = np.array([1e-6, 1.0, 1e6])
    own = PoissonRegressor(standardize=True).fit(x, y)
    scaled = PoissonRegressor(standardize=True).fit(x * unit, y)
    np.testing.assert_allclose(scaled.coef_ * unit, own.coef_, rtol=1e-7)


def test_warm_starts_end_where_they_began() -> None:
    x, y, _ = counts(200, 3)
    own = PoissonRegressor(alpha=0.1, warm_start=True).fit(x, y)
    coef = own.coef_
    np.testing.assert_allclose(own.fit(x, y).coef_, coef, rtol=1e-7, atol=1e-9)
    assert own.n_iter_ == 1


def test_groups_without_events_have_no_minimum_and_end_all_the_same() -> None:
    x = np.repeat(np.eye(2), 5, axis=0)
    y = np.r_[np.zeros(5), [1.0, 2.0, 3.0, 2.0, 2.0]]
    own = PoissonRegressor(alpha=0.0).fit(x, y)
    np.testing.assert_allclose(own.predict(x), np.repeat([0.0, 2.0], 5), atol=1e-6)


@pytest.mark.parametrize("x", [np.ones((4, 1)), np.zeros((4, 2)), [[1.0], [1.0], [2.0], [2.0]]])
def test_constant_columns_and_counts(x: Any) -> None:
    own = PoissonRegressor().fit(x, [3.0, 3.0, 3.0, 3.0])
    np.testing.assert_allclose(own.predict(x), 3.0)
    assert own.certificate_.holds


@pytest.mark.parametrize(
    ("settings", "y"),
    [
        ({}, [1.0, -1.0, 2.0]),
        ({}, [0.0, 0.0, 0.0]),
        ({"alpha": -1.0}, [1.0, 0.0, 2.0]),
        ({"solver": "sag"}, [1.0, 0.0, 2.0]),
        ({"max_iter": 0}, [1.0, 0.0, 2.0]),
    ],
)
def test_what_is_refused(settings: dict[str, Any], y: list[float]) -> None:
    with pytest.raises(InputError):
        PoissonRegressor(**settings).fit([[1.0], [2.0], [3.0]], y)
