"""Bayesian ridge regression against closed forms, SciPy and scikit-learn."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, stats
from sklearn import linear_model
from sklearn.datasets import load_diabetes

import separatrix as sx

HYPER = ("alpha_1", "alpha_2", "lambda_1", "lambda_2")


def rows(n: int, d: int, seed: int = 0, noise: float = 0.5):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d)) @ np.diag(np.linspace(0.5, 2.0, d)) + rng.uniform(-3, 3, d)
    y = 2.0 + x[:, : min(d, 4)] @ np.array([1.0, -2.0, 0.5, 0.2])[:d] + noise * rng.normal(size=n)
    return x, y


def dense_evidence(x, y, alpha: float, lam: float, *, centered: bool = True) -> float:
    if centered:
        x, y = x - x.mean(axis=0), y - y.mean()
    covariance = np.eye(len(y)) / alpha + x @ x.T / lam
    return float(stats.multivariate_normal(np.zeros(len(y)), covariance).logpdf(y))


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("n", "d"), [(80, 5), (12, 40)])
def test_scikit_learn_converged_is_the_same_maximum(n: int, d: int, fit_intercept: bool) -> None:
    x, y = rows(n, d)
    w = np.random.default_rng(1).uniform(0.2, 3.0, n)
    ours = sx.BayesianRidge(fit_intercept=fit_intercept, compute_score=True)
    theirs = linear_model.BayesianRidge(
        fit_intercept=fit_intercept, compute_score=True, tol=1e-14, max_iter=20_000
    )
    for weight in (None, w):
        a, b = ours.fit(x, y, sample_weight=weight), theirs.fit(x, y, sample_weight=weight)
        for name in ("coef_", "intercept_", "alpha_", "lambda_", "sigma_"):
            assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-6, atol=1e-8, err_msg=name)
        assert_allclose(a.scores_[[0, -1]], b.scores_[[0, -1]], rtol=1e-9)
        assert a.scores_.shape == (a.n_iter_ + 1,)
        for one, other in zip(
            a.predict(x, return_std=True), b.predict(x, return_std=True), strict=True
        ):
            assert_allclose(one, other, rtol=1e-6)
        assert a.certificate_.holds, str(a.certificate_)


def test_where_scikit_learn_stops_early_the_evidence_here_is_higher() -> None:
    x, y = load_diabetes(return_X_y=True)
    for seed in range(3):
        some = np.random.default_rng(seed).permutation(len(y))[:40]
        a, b = sx.BayesianRidge(), linear_model.BayesianRidge()
        ours, theirs = (
            dense_evidence(x[some], y[some], m.fit(x[some], y[some]).alpha_, m.lambda_)
            for m in (a, b)
        )
        assert ours >= theirs - 1e-8


@pytest.mark.parametrize(("n", "d"), [(30, 4), (8, 20)])
def test_evidence_is_the_dense_log_density(n: int, d: int) -> None:
    x, y = rows(n, d)
    prior = {"alpha_1": 0.1, "alpha_2": 0.2, "lambda_1": 0.1, "lambda_2": 0.3}
    model = sx.BayesianRidge(**prior).fit(x, y)
    value = dense_evidence(x, y, model.alpha_, model.lambda_)
    assert_allclose(model.log_evidence_, value, rtol=1e-8)

    def score(alpha: float, lam: float) -> float:
        hyper = 0.1 * np.log(alpha) - 0.2 * alpha + 0.1 * np.log(lam) - 0.3 * lam
        return dense_evidence(x, y, alpha, lam) + hyper

    curve = model.evidence_curve(np.geomspace(1e-2, 1e2, 5))
    for lam, alpha, value in zip(curve.lambdas, curve.alphas, curve.log_evidence, strict=True):
        assert_allclose(value, score(alpha, lam), rtol=1e-8)
        assert max(score(0.9 * alpha, lam), score(1.1 * alpha, lam)) < value
        assert value <= curve.best_log_evidence
    assert_allclose((curve.best_alpha, curve.best_lambda), (model.alpha_, model.lambda_))
    with pytest.raises(sx.InputError, match="alpha=-1"):
        model.evidence_curve(alpha=-1.0)
    known = model.evidence_curve(np.geomspace(1e-3, 1e3, 400), alpha=4.0)
    assert_allclose(known.best_log_evidence, score(4.0, known.best_lambda), rtol=1e-9)
    assert known.best_log_evidence - 1e-2 < known.log_evidence.max() <= known.best_log_evidence


def test_equals_a_gaussian_process_with_the_linear_kernel() -> None:
    x, y = rows(25, 3)
    model = sx.BayesianRidge().fit(x, y)
    new = np.random.default_rng(3).normal(size=(6, 3))
    own, other = x - x.mean(axis=0), new - x.mean(axis=0)
    k = own @ own.T / model.lambda_ + np.eye(len(y)) / model.alpha_
    across = other @ own.T / model.lambda_
    mean = y.mean() + across @ np.linalg.solve(k, y - y.mean())
    covariance = other @ other.T / model.lambda_ - across @ np.linalg.solve(k, across.T)
    covariance += np.eye(6) / model.alpha_
    found, joint = model.predict(new, return_cov=True)
    assert_allclose(found, mean, rtol=1e-9)
    assert_allclose(joint, covariance, rtol=1e-8, atol=1e-10)
    assert_allclose(model.predict(new, return_std=True)[1], np.sqrt(np.diag(covariance)))


def test_draws_have_the_moments_of_the_posterior() -> None:
    x, y = rows(6, 9)
    model = sx.BayesianRidge().fit(x, y)
    coefs, intercepts = model.sample_posterior(40_000, random_state=0)
    assert_allclose(
        coefs.mean(axis=0), model.coef_, atol=6 * np.sqrt(np.diag(model.sigma_) / 4e4).max()
    )
    assert_allclose(np.cov(coefs.T), model.sigma_, atol=0.05 * np.diag(model.sigma_).max())
    assert_allclose(intercepts + coefs @ x.mean(axis=0), y.mean())


def test_predictive_intervals_cover_at_their_level() -> None:
    """40 tables, whose coverage given the fit is known: nothing is drawn but the tables.

    Its standard deviation among tables is 0.34/√(2·145) = 0.02, that of the mean 0.0032: a
    difference of 0.02 is more than five of them beside the bias of O(1/n), about 0.003 here.
    """
    rng, covered = np.random.default_rng(0), []
    for _ in range(40):
        x, new, b = rng.standard_normal((150, 5)), rng.standard_normal((20, 5)), rng.normal(size=5)
        y = x @ b + 0.7 * rng.standard_normal(150)
        ends = sx.BayesianRidge().fit(x, y).predict_interval(new, level=0.9)
        below = stats.norm.cdf((ends - (new @ b)[:, None]) / 0.7)
        covered.append(np.mean(below[:, 1] - below[:, 0]))
    assert abs(np.mean(covered) - 0.9) < 0.02


def test_sparse_rows_are_not_filled_in() -> None:
    rng = np.random.default_rng(0)
    x = sparse.random_array((30, 400), density=0.05, rng=rng, format="csr")
    y = np.asarray(x.sum(axis=1)) + 0.1 * rng.standard_normal(30)
    a, b = sx.BayesianRidge().fit(x, y), sx.BayesianRidge().fit(x.toarray(), y)
    assert_allclose(a.coef_, b.coef_, rtol=1e-7, atol=1e-10)
    assert_allclose(a.predictive(x).scale, b.predictive(x.toarray()).scale, rtol=1e-7)


def test_a_posterior_too_large_to_store_is_made_from_the_rows(monkeypatch, tmp_path) -> None:
    x, y = rows(10, 30)
    stored = sx.BayesianRidge().fit(x, y)
    monkeypatch.setattr("separatrix.bayes.evidence.MAX_STORED", 10)
    model = sx.BayesianRidge().fit(x, y)
    assert model.posterior_ is None
    assert_allclose(model.sigma_, stored.sigma_, rtol=1e-12)
    sx.save(model, tmp_path / "m.sx")
    with pytest.raises(sx.InputError, match="not stored"):
        sx.load(tmp_path / "m.sx").predict(x, return_std=True)


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_units_of_the_target(factor: float) -> None:
    """Rates have units: with standardized columns and target nothing depends on them."""
    x, y = rows(60, 4)
    plain, other = (sx.BayesianRidge(standardize=True).fit(x, t) for t in (y, y * factor))
    assert_allclose(other.coef_ / factor, plain.coef_, rtol=1e-8)
    assert_allclose(other.predictive(x).scale / factor, plain.predictive(x).scale, rtol=1e-8)
    change = len(y) * np.log(factor)
    assert_allclose(other.log_evidence_ + change, plain.log_evidence_, rtol=1e-9)
    free = dict.fromkeys(HYPER, 0.0)
    plain, other = (sx.BayesianRidge(**free).fit(x, t) for t in (y, y * factor))
    assert_allclose(other.coef_ / factor, plain.coef_, rtol=1e-8)
    if factor < 1:
        with pytest.warns(sx.SeparatrixWarning, match="SEP019"):
            sx.BayesianRidge().fit(x, y * factor)


def test_columns_in_units_far_apart_keep_their_digits() -> None:
    """The small column's coefficient is learned where the prior leaves room for it."""
    x, y = rows(60, 3)
    scale = np.array([1e-7, 1.0, 1e7])
    model = sx.BayesianRidge().fit(x * scale, y)
    ridge = sx.Ridge(model.lambda_ / model.alpha_).fit(x * scale, y)
    assert_allclose(model.coef_, ridge.coef_, rtol=1e-6)
    wide = sx.BayesianRidge().fit(x[:3] * scale, y[:3])
    ridge = sx.Ridge(wide.lambda_ / wide.alpha_).fit(x[:3] * scale, y[:3])
    assert_allclose(wide.predict(x[:3] * scale), ridge.predict(x[:3] * scale), rtol=1e-6)


@pytest.mark.filterwarnings("ignore:SEP019")
@pytest.mark.parametrize("standardize", [False, True])
def test_degenerate_tables(standardize: bool) -> None:
    x, y = rows(20, 3)
    make = lambda: sx.BayesianRidge(standardize=standardize)  # noqa: E731
    with_constant = np.column_stack([x, np.full(20, 1e9)])
    model = make().fit(with_constant, y)
    assert model.coef_[3] == 0.0
    assert model.certificate_.rank == 3
    assert_allclose(model.coef_[:3], make().fit(x, y).coef_, rtol=1e-9)
    twice = make().fit(np.column_stack([x, x[:, 0]]), y)
    assert_allclose(twice.coef_[0], twice.coef_[3], rtol=1e-7)
    constant = make().fit(x, np.full(20, 7.0))
    assert_allclose(constant.predict(x), 7.0)
    assert np.isfinite(constant.log_evidence_)
    assert constant.predictive(x).scale.max() < 1e-2
    for n in (1, 2):
        few = make().fit(x[:n], y[:n])
        assert np.isfinite(few.coef_).all()
        assert np.isfinite(few.predictive(x).scale).all()
        assert_allclose(few.intercept_ + x[:n].mean(axis=0) @ few.coef_, y[:n].mean())
    with pytest.raises(sx.InputError, match="constant"):
        sx.BayesianRidge(alpha_2=0.0).fit(x, np.full(20, 7.0))


def test_without_a_hyperprior_pure_noise_leaves_no_coefficient() -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((40, 3))
    y = rng.standard_normal(40)
    y -= (x - x.mean(axis=0)) @ np.linalg.lstsq(x - x.mean(axis=0), y - y.mean(), rcond=None)[0]
    model = sx.BayesianRidge(**dict.fromkeys(HYPER, 0.0)).fit(x, y)
    assert np.isinf(model.lambda_)
    assert not model.coef_.any()
    assert_allclose(model.alpha_, 1.0 / y.var())
    assert_allclose(model.log_evidence_, stats.norm(y.mean(), y.std()).logpdf(y).sum())
    assert model.certificate_.holds


def test_summary_holds_posterior_deviations() -> None:
    x, y = rows(60, 3)
    model = sx.BayesianRidge().fit(x, y)
    table = model.summary(level=0.9)
    assert table.names == ("intercept", "x0", "x1", "x2")
    assert_allclose(table.standard_errors[1:], np.sqrt(np.diag(model.sigma_)))
    at_zero = x.mean(axis=0) @ model.sigma_ @ x.mean(axis=0) + 1 / (model.alpha_ * 60)
    assert_allclose(table.standard_errors[0], np.sqrt(at_zero))
    assert "log evidence" in str(table)
    assert_allclose(table.r_squared, model.score(x, y))


def test_no_warning_in_ordinary_units() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sx.BayesianRidge().fit(*load_diabetes(return_X_y=True))
        sx.BayesianRidge().fit(*rows(60, 4))


@pytest.mark.parametrize("name", ["alpha_2", "lambda_1", "tol", "lambda_init"])
def test_bad_parameters_are_named(name: str) -> None:
    with pytest.raises(sx.InputError, match=name):
        sx.BayesianRidge(**{name: -1.0}).fit(*rows(10, 2))
