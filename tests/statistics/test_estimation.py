"""Estimates with priors against posteriors integrated by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, stats

import separatrix as sx

GRID = np.linspace(-8, 8, 40_001)


def test_a_mean_is_the_mean_of_its_posterior() -> None:
    x = np.random.default_rng(0).normal(1.5, 2.0, 7)
    log = stats.norm.logpdf(x[:, None], GRID, 2.0).sum(axis=0) + stats.norm.logpdf(GRID, -1.0, 0.7)
    p = np.exp(log - log.max())
    p /= p.sum()
    found = sx.estimate_mean(x.mean(), 4.0, 7, prior_mean=-1.0, prior_variance=0.49)
    assert_allclose(found.value, p @ GRID, rtol=1e-8)
    assert_allclose(found.variance, p @ (GRID - p @ GRID) ** 2, rtol=1e-6)
    mode = sx.estimate_mean(x.mean(), 4.0, 7, prior_mean=-1.0, prior_variance=0.49, method="map")
    assert_allclose(mode.value, GRID[p.argmax()], atol=5e-4)


def test_weights_go_by_variance() -> None:
    found = sx.estimate_mean(10.0, 4.0, 4, prior_mean=0.0, prior_variance=1.0)
    assert_allclose(found, (5.0, 0.5))
    assert_allclose(sx.estimate_mean(10.0, 4.0, 4, prior_mean=3.0), (10.0, 1.0))
    assert_allclose(sx.estimate_mean(np.nan, 4.0, 0, prior_mean=3.0, prior_variance=2.0), (3, 2))
    assert_allclose(sx.estimate_mean(10.0, 4.0, 4, prior_mean=3.0, prior_variance=0.0), (3, 0))
    ml = sx.estimate_mean(10.0, 4.0, 4, prior_mean=0.0, prior_variance=1.0, method="ml")
    assert_allclose(ml, (10.0, 1.0))


def test_mean_and_variance_of_a_normal_variable() -> None:
    x = np.random.default_rng(1).normal(2.0, 3.0, 9)
    n, mean, scatter = 9, x.mean(), ((x - x.mean()) ** 2).sum()
    assert_allclose(sx.estimate_normal(n, mean, scatter, method="ml"), (mean, x.var()))
    prior = {"prior_mean": 0.5, "prior_variance": 2.0, "prior_count": 4.0}

    def minus_log(at: np.ndarray) -> float:
        """Flat in μ and log σ, and four rows of mean 0.5 and variance 2."""
        mu, log_sigma = at
        square = scatter + n * (mean - mu) ** 2 + 4.0 * (2.0 + (0.5 - mu) ** 2)
        return (n + 4.0) * log_sigma + square / (2 * np.exp(2 * log_sigma))

    best = optimize.minimize(minus_log, [1.0, 1.0], tol=1e-12).x
    mode = sx.estimate_normal(n, mean, scatter, method="map", **prior)
    assert_allclose(mode, (best[0], np.exp(2 * best[1])), rtol=1e-5)
    mu, log_sigma = np.meshgrid(np.linspace(-10, 12, 1200), np.linspace(-1.5, 4, 1200))
    p = np.exp(-np.array(minus_log((mu, log_sigma))))
    p /= p.sum()
    posterior = sx.estimate_normal(n, mean, scatter, method="bayes", **prior)
    assert_allclose(posterior, ((p * mu).sum(), (p * np.exp(2 * log_sigma)).sum()), rtol=1e-4)


def test_no_rows_leave_the_prior() -> None:
    found = sx.estimate_normal(0, 0.0, 0.0, prior_mean=5.0, prior_variance=2.0, prior_count=1.0)
    assert_allclose(found, (5.0, 2.0))


def test_proportions() -> None:
    counts = np.array([3.0, 0.0, 1.0])
    assert_allclose(sx.estimate_proportions(counts, method="ml"), [0.75, 0, 0.25])
    assert_allclose(sx.estimate_proportions(counts), np.array([4, 1, 2]) / 7)
    assert_allclose(
        sx.estimate_proportions(counts, prior=2.0, method="map"), np.array([4, 1, 2]) / 7
    )
    beta = stats.beta(2.5 + 3, 2.5 + 7)
    assert_allclose(sx.estimate_proportions([3, 7], prior=2.5)[0], beta.mean())
    peak = optimize.minimize_scalar(
        lambda p: -beta.logpdf(p), bounds=(0.01, 0.99), method="bounded"
    )
    assert_allclose(sx.estimate_proportions([3, 7], prior=2.5, method="map")[0], peak.x, atol=1e-5)
    assert_allclose(sx.estimate_proportions([0, 0], prior=0.0), [0.5, 0.5])


@pytest.mark.parametrize(
    "call",
    [
        lambda: sx.estimate_proportions([1, 2], prior=0.5, method="map"),
        lambda: sx.estimate_proportions([-1, 2]),
        lambda: sx.estimate_mean(1.0, -1.0, 3),
        lambda: sx.estimate_mean(1.0, 1.0, 0, method="ml"),
        lambda: sx.estimate_normal(3, 1.0, 1.0, prior_count=-1.0),
        lambda: sx.estimate_mean(1.0, 1.0, 3, method="guess"),
    ],
)
def test_refusals_are_sentences(call) -> None:
    with pytest.raises(sx.InputError, match=r"\.$"):
        call()
