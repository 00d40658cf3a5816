"""Automatic relevance determination against SciPy's densities, differences and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, stats
from sklearn import linear_model

import separatrix as sx
from separatrix.bayes.ard_regression import (
    Rates,
    RelevanceState,
    UnitColumns,
    best_precision,
    derivatives,
    score,
)
from separatrix.bayes.evidence import ColumnScaling
from separatrix.rows.rows import ArrayRows


def rows(n: int, d: int, used: int = 3, noise: float = 0.5, seed: int = 0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d)) + 0.4 * rng.standard_normal((n, 1)) + 1.0
    b = np.zeros(d)
    b[:used] = np.array([1.5, -2.0, 0.7, 1.0, 3.0])[:used]
    return x, 2.0 + x @ b + noise * rng.standard_normal(n)


def dense_evidence(x, y, alpha: float, lam) -> float:
    """log N(y; 0, α⁻¹I + XΛ⁻¹Xᵀ) over the columns in use."""
    used = lam < 1e300
    z = (x - x.mean(axis=0))[:, used]
    covariance = np.eye(len(y)) / alpha + (z / lam[used]) @ z.T
    return float(stats.multivariate_normal(np.zeros(len(y)), covariance).logpdf(y - y.mean()))


@pytest.mark.parametrize(("n", "d"), [(100, 10), (25, 60)])
def test_posterior_and_evidence_are_closed_forms(n: int, d: int) -> None:
    x, y = rows(n, d)
    model = sx.ARDRegression(compute_score=True).fit(x, y)
    used = np.isfinite(model.lambda_)
    assert 0 < used.sum() < d
    assert not model.coef_[~used].any()
    z = (x - x.mean(axis=0))[:, used]
    sigma = np.linalg.inv(model.alpha_ * z.T @ z + np.diag(model.lambda_[used]))
    assert_allclose(model.sigma_, sigma, rtol=1e-6, atol=1e-12)
    assert_allclose(model.coef_[used], model.alpha_ * sigma @ z.T @ (y - y.mean()), rtol=1e-6)
    value = dense_evidence(x, y, model.alpha_, model.lambda_)
    assert_allclose(model.log_evidence_, value, rtol=1e-8)
    std = np.sqrt(1 / model.alpha_ + np.einsum("ij,jk,ik->i", z, sigma, z))
    assert_allclose(model.predict(x, return_std=True)[1], std, rtol=1e-7)
    assert model.certificate_.holds, str(model.certificate_)
    assert model.scores_[-1] >= model.scores_.max() - 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_evidence_is_at_least_that_of_scikit_learn(seed: int) -> None:
    for n, d, noise in ((80, 8, 0.5), (60, 30, 1.0), (30, 50, 0.5)):
        x, y = rows(n, d, 4, noise, seed)
        ours, theirs = sx.ARDRegression().fit(x, y), linear_model.ARDRegression().fit(x, y)
        lam = np.where(theirs.lambda_ < theirs.threshold_lambda, theirs.lambda_, np.inf)
        best = dense_evidence(x, y, theirs.alpha_, lam)
        assert ours.log_evidence_ >= best - 1e-6


def test_scikit_learn_converged_is_the_same_maximum() -> None:
    """Where all columns count; of others it holds some at coefficients near zero."""
    x, y = rows(120, 4, 4)
    ours = sx.ARDRegression().fit(x, y)
    theirs = linear_model.ARDRegression(tol=1e-12, max_iter=20_000).fit(x, y)
    for name in ("coef_", "alpha_", "lambda_", "sigma_", "intercept_"):
        assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-6, atol=1e-10)
    for a, b in zip(ours.predict(x, True), theirs.predict(x, True), strict=True):
        assert_allclose(a, b, rtol=1e-8)
    x, y = rows(120, 8)
    ours, theirs = sx.ARDRegression().fit(x, y), theirs.fit(x, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=0.01)
    assert not ours.coef_[3:].all()


def _unit(n: int = 40, d: int = 5) -> tuple[UnitColumns, UnitColumns, Rates]:
    x, y = rows(n, d)
    block = ArrayRows(x, y).block
    columns = ColumnScaling.of(block, fit_intercept=True, standardize=False)
    by_rows = UnitColumns.of_rows(block, columns)
    moments = ArrayRows(x, y).reduce(sx.Moments())
    by_columns = UnitColumns.of_moments(moments, columns)
    rates = Rates(0.1, 0.02, 0.3, np.linspace(0.01, 0.02, d), np.full(d, np.inf))
    return by_columns, by_rows, rates


def test_derivatives_agree_with_differences() -> None:
    columns, _, rates = _unit()
    at = np.log(np.array([80.0, 3.0, 10.0, 200.0, 1.0, 30.0]))
    used = np.arange(5)

    def value(t):
        return score(columns, rates, float(np.exp(t[0])), np.exp(t[1:]))

    def slope(t):
        return derivatives(columns, rates, float(np.exp(t[0])), np.exp(t[1:]), used)[0]

    gradient, hessian = derivatives(columns, rates, 80.0, np.exp(at[1:]), used)
    steps = 1e-5 * np.eye(6)
    assert_allclose(gradient, [(value(at + e) - value(at - e)) / 2e-5 for e in steps], atol=1e-6)
    assert_allclose(hessian, [(slope(at + e) - slope(at - e)) / 2e-5 for e in steps], atol=1e-6)


def test_updates_of_rank_one_are_those_of_new_precisions() -> None:
    columns, by_rows, _ = _unit()
    lam = np.array([3.0, np.inf, 10.0, np.inf, 1.0])
    state = RelevanceState(columns, 50.0, lam)
    for j, new in ((1, 4.0), (0, np.inf), (2, 0.5)):
        state.set(j, new)
    for source in (columns, by_rows):
        s, q = source.strengths(50.0, state.lam)
        assert_allclose(state.s, s, rtol=1e-9)
        assert_allclose(state.q, q, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("s", "q"), [(4.0, 5.0), (4.0, 1.0), (1e6, 2e3), (0.0, 0.0), (1e-9, 1.0)])
def test_the_best_precision_of_one_column_is_a_maximum(s: float, q: float) -> None:
    def value(lam: float) -> float:
        own = 0.5 * (np.log(lam) - np.log(lam + s) + q**2 / (lam + s))
        return own + 1e-3 * np.log(lam) - 1e-3 * lam

    best = best_precision(s, q, 1e-3, 1e-3)
    assert value(best) >= max(value(best * f) for f in (0.999, 1.001))
    if q * q > s:
        assert_allclose(best_precision(s, q, 0.0, 0.0), s * s / (q * q - s))
    else:
        assert np.isinf(best_precision(s, q, 0.0, 0.0))


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_units(factor: float) -> None:
    x, y = rows(60, 6)
    scale = np.array([factor, 1.0, 1.0 / factor, 1.0, factor, 1.0])
    plain = sx.ARDRegression(standardize=True).fit(x, y)
    other = sx.ARDRegression(standardize=True).fit(x * scale, y * factor)
    assert_allclose(other.coef_ * scale / factor, plain.coef_, rtol=1e-7, atol=1e-10)
    assert_allclose(
        other.predictive(x * scale).scale / factor, plain.predictive(x).scale, rtol=1e-8
    )
    assert_allclose(other.log_evidence_ + 60 * np.log(factor), plain.log_evidence_, rtol=1e-8)
    with pytest.warns(sx.SeparatrixWarning, match="SEP019"):
        sx.ARDRegression().fit(x * 1e8, y)


def test_sparse_rows_have_the_fit_of_dense_ones() -> None:
    rng = np.random.default_rng(0)
    x = sparse.random_array((30, 80), density=0.2, rng=rng, format="csr")
    y = 3.0 * np.asarray(x[:, [0]].todense())[:, 0] + 0.1 * rng.standard_normal(30)
    a, b = sx.ARDRegression().fit(x, y), sx.ARDRegression().fit(x.toarray(), y)
    assert_allclose(a.log_evidence_, b.log_evidence_, rtol=1e-7)
    assert_allclose(a.predict(x), b.predict(x.toarray()), atol=1e-6)


@pytest.mark.filterwarnings("ignore:SEP019")
@pytest.mark.parametrize("n", [40, 510])
def test_no_column_outside_of_the_last_working_set_would_raise_the_evidence(n: int) -> None:
    """By the dense density: no column left out has a precision below the threshold with a gain.

    Some columns have one entry, so that they are copies of one another in other units.
    """
    rng = np.random.default_rng(2)
    x = sparse.random_array((n, 505), density=1.5 / n, rng=rng, data_sampler=rng.standard_normal)
    x = x.tocsr()
    y = 3.0 * x[:, [0]].toarray()[:, 0] + 0.3 * rng.standard_normal(n)
    model = sx.ARDRegression().fit(x, y)
    assert model.certificate_.holds, str(model.certificate_)
    assert_allclose(
        model.log_evidence_, dense_evidence(x.toarray(), y, model.alpha_, model.lambda_)
    )
    for j in rng.permutation(np.flatnonzero(np.isinf(model.lambda_)))[:2]:
        for precision in (1.0, 1e3):
            lam = model.lambda_.copy()
            lam[j] = precision
            assert dense_evidence(x.toarray(), y, model.alpha_, lam) < model.log_evidence_ + 1e-6


@pytest.mark.filterwarnings("ignore:SEP019")
@pytest.mark.parametrize("standardize", [False, True])
def test_degenerate_tables(standardize: bool) -> None:
    x, y = rows(30, 4)
    make = lambda: sx.ARDRegression(standardize=standardize)  # noqa: E731
    constant = make().fit(np.column_stack([x, np.full(30, 1e9)]), y)
    assert constant.coef_[4] == 0.0
    assert_allclose(constant.coef_[:4], make().fit(x, y).coef_, rtol=1e-7, atol=1e-10)
    twice = make().fit(np.column_stack([x, x[:, 0], x[:, 1] + x[:, 0]]), y)
    assert twice.certificate_.holds
    assert_allclose(
        twice.predict(np.column_stack([x, x[:, 0], x[:, 1] + x[:, 0]])),
        make().fit(x, y).predict(x),
        atol=0.02,
    )
    flat = make().fit(x, np.full(30, 7.0))
    assert_allclose(flat.predict(x), 7.0)
    for n in (1, 2, 3):
        few = make().fit(x[:n], y[:n])
        assert np.isfinite(few.predictive(x).scale).all()
        assert np.isfinite(few.log_evidence_)
    exact = make().fit(x, x @ [1.0, 2.0, 0.0, 0.0])
    assert_allclose(exact.coef_, [1.0, 2.0, 0.0, 0.0], atol=1e-3)
    free = sx.ARDRegression(alpha_1=0, alpha_2=0, lambda_1=0, lambda_2=0, standardize=standardize)
    assert free.fit(x, y).certificate_.holds
    with pytest.raises(sx.InputError, match="constant"):
        free.fit(x, np.full(30, 7.0))
