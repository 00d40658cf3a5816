"""Bayesian linear regression with a given prior: textbook formulas, written out."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, stats

import separatrix as sx

RNG = np.random.default_rng(0)
ROOT = RNG.standard_normal((5, 5))
PRIORS = {
    "one": {"prior_precision": 2.0},
    "each": {"prior_precision": np.arange(1.0, 6.0), "prior_mean": np.linspace(-1, 1, 5)},
    "covariance": {"prior_covariance": ROOT @ ROOT.T, "prior_mean": np.linspace(-1, 1, 5)},
    "precision": {"prior_precision": ROOT @ ROOT.T},
    "singular": {"prior_covariance": np.diag([1.0, 0.0, 2.0, 1.0, 1.0]), "prior_mean": 0.5},
}


def covariance_of(prior) -> np.ndarray:
    if "prior_covariance" in prior:
        return prior["prior_covariance"]
    given = np.asarray(prior["prior_precision"])
    return np.linalg.inv(given) if given.ndim == 2 else np.diag(np.broadcast_to(1.0 / given, 5))


@pytest.mark.parametrize("n", [30, 3])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("name", sorted(PRIORS))
def test_posterior_prediction_and_evidence_are_closed_forms(
    name: str, fit_intercept: bool, n: int
) -> None:
    rng, prior, noise = np.random.default_rng(1), PRIORS[name], 0.3
    x, new = rng.standard_normal((n, 5)) + 1.0, rng.standard_normal((4, 5))
    y = 3.0 + x[:, 0] + rng.standard_normal(n)
    center, middle = (x.mean(axis=0), y.mean()) if fit_intercept else (np.zeros(5), 0.0)
    z, t, fresh = x - center, y - middle, new - center
    s0, m0 = covariance_of(prior), np.broadcast_to(prior.get("prior_mean", 0.0), 5)
    # by conditioning the joint normal distribution of coefficients and target
    joint = noise * np.eye(n) + z @ s0 @ z.T
    gain = s0 @ z.T @ np.linalg.inv(joint)
    mean, sigma = m0 + gain @ (t - z @ m0), s0 - gain @ z @ s0
    variance = noise + np.einsum("ij,jk,ik->i", fresh, sigma, fresh) + fit_intercept * noise / n
    model = sx.BayesianLinearRegression(
        noise_variance=noise, fit_intercept=fit_intercept, **prior
    ).fit(x, y)
    assert_allclose(model.coef_, mean, atol=1e-10)
    assert_allclose(model.sigma_, sigma, atol=1e-10)
    found, std = model.predict(new, return_std=True)
    assert_allclose(found, middle + fresh @ mean, atol=1e-9)
    assert_allclose(std, np.sqrt(variance), rtol=1e-9)
    value = stats.multivariate_normal(z @ m0, joint).logpdf(t)
    assert_allclose(model.log_evidence_, value, rtol=1e-9)
    assert model.certificate_.holds, str(model.certificate_)


def test_rows_in_portions_update_the_posterior() -> None:
    """The posterior of one portion is the prior of the next."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal((12, 3))
    y = x @ [1.0, 2.0, 0.0] + rng.standard_normal(12)
    first = sx.BayesianLinearRegression(1.0, 0.5, fit_intercept=False).fit(x[:5], y[:5])
    both = sx.BayesianLinearRegression(
        noise_variance=0.5,
        prior_mean=first.coef_,
        prior_covariance=first.sigma_,
        fit_intercept=False,
    ).fit(x[5:], y[5:])
    whole = sx.BayesianLinearRegression(1.0, 0.5, fit_intercept=False)
    whole.partial_fit(x[:5], y[:5]).partial_fit(x[5:], y[5:])
    assert_allclose(both.coef_, whole.coef_, atol=1e-12)
    assert_allclose(both.sigma_, whole.sigma_, atol=1e-12)
    assert_allclose(first.log_evidence_ + both.log_evidence_, whole.log_evidence_, rtol=1e-10)


def test_intervals_cover_exactly_where_the_prior_is_true() -> None:
    """20 000 tables with coefficients from the prior, one new target each.

    Means are linear in the targets and deviations do not depend on them, so that a few fits give
    all intervals. By Bernstein's inequality the coverage differs from 0.9 by 0.012 with a
    probability below 2 exp(−n t²/(2 (0.09 + t/3))) = 5e-7.
    """
    rng, n, count = np.random.default_rng(4), 6, 20_000
    x, new = rng.standard_normal((n, 3)), rng.standard_normal((1, 3))
    ends = [
        sx.BayesianLinearRegression(2.0, 0.36).fit(x, y).predict_interval(new, level=0.9)[0]
        for y in np.vstack([np.zeros(n), np.eye(n)])
    ]
    a, b = 5.0 * rng.standard_normal(count), rng.standard_normal((count, 3)) / np.sqrt(2.0)
    targets = a[:, None] + b @ x.T + 0.6 * rng.standard_normal((count, n))
    mean = targets @ (np.array(ends[1:]) - ends[0]).mean(axis=1)
    drawn = a + b @ new[0] + 0.6 * rng.standard_normal(count)
    inside = (mean + ends[0][0] <= drawn) & (drawn <= mean + ends[0][1])
    assert abs(inside.mean() - 0.9) < 0.012


def test_draws_and_sparse_rows() -> None:
    rng = np.random.default_rng(5)
    x = sparse.random_array((8, 60), density=0.2, rng=rng, format="csr")
    y = rng.standard_normal(8)
    a, b = (sx.BayesianLinearRegression(3.0, 0.2).fit(part, y) for part in (x, x.toarray()))
    assert_allclose(a.coef_, b.coef_, atol=1e-12)
    assert_allclose(a.predictive(x).scale, b.predictive(x.toarray()).scale, rtol=1e-9)
    coefs, intercepts = b.sample_posterior(20_000, random_state=1)
    new = rng.standard_normal((1, 60))
    line = intercepts + coefs @ new[0]
    exact = b.predictive(new, include_noise=False)
    assert_allclose(line.mean(), exact.mean[0], atol=5 * exact.scale[0] / np.sqrt(20_000))
    assert_allclose(line.std(), exact.scale[0], rtol=0.03)


@pytest.mark.parametrize(
    "bad",
    [
        {"noise_variance": 0.0},
        {"prior_precision": -1.0},
        {"prior_precision": [1.0, 2.0]},
        {"prior_mean": [1.0]},
        {"prior_covariance": [[1.0, 2.0, 0], [2.0, 1.0, 0], [0, 0, 1]]},
        {"prior_covariance": [[1.0, 2.0, 0], [0.0, 1.0, 0], [0, 0, 1]]},
        {"prior_precision": np.zeros((3, 3))},
    ],
)
def test_what_is_no_prior_is_refused(bad) -> None:
    x = np.random.default_rng(0).standard_normal((10, 3))
    with pytest.raises(sx.InputError, match=next(iter(bad))):
        sx.BayesianLinearRegression(**bad).fit(x, x[:, 0])
