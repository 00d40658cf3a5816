"""Means and covariances of classes under a prior."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import separatrix as sx
from separatrix.discriminant.gaussian_classifier import COVARIANCES
from tests.discriminant.test_gaussian_discriminant import gaussian_classes

CENTER = np.array([1.0, -2.0, 0.5])
SPREAD = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, -0.2], [0.0, -0.2, 0.5]])


def fitted(covariance, method, x, y, count=4.0, **options):
    return sx.GaussianDiscriminant(
        covariance,
        estimation=method,
        prior_count=count,
        prior_mean=CENTER,
        prior_covariance=SPREAD,
        **options,
    ).fit(x, y)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_the_mode_is_that_of_the_posterior_density(covariance):
    """At the mode the prior counts as rows: fits to rows and pseudo-rows agree."""
    x, y = gaussian_classes(n=60, d=3, k=2)
    root = np.linalg.cholesky(SPREAD)
    pseudo = np.sqrt(3.0) * np.concatenate([root.T, -root.T]) + CENTER  # six rows
    w = np.concatenate([np.ones(60), np.full(12, 4.0 / 6.0)])
    rows = np.concatenate([x, pseudo, pseudo])
    labels = np.concatenate([y, np.repeat(["a", "b"], 6)])
    given = {"priors": [0.4, 0.6]}
    mode = fitted(covariance, "map", x, y, **given)
    together = sx.GaussianDiscriminant(covariance, **given).fit(rows, labels, w)
    assert_allclose(mode.means_, together.means_, rtol=1e-12)
    assert_allclose(mode.covariance_, together.covariance_, rtol=1e-10)
    assert_allclose(mode.predict_proba(x), together.predict_proba(x), rtol=1e-8)


def test_the_mean_of_the_posterior():
    x, y = gaussian_classes(n=60, d=3, k=2)
    n = np.array([(y == name).sum() for name in "ab"])
    for covariance, divisors in (
        ("full", n + 4 - 5),
        ("diagonal", n + 4 - 3),
        ("spherical", n + 4 - 1 - 2 / 3),
        ("shared", 68 - 2 - 4),
        ("shared_diagonal", 68 - 2 - 2),
        ("shared_spherical", 68 - 2 - 2 / 3),
    ):
        mode, mean = (fitted(covariance, method, x, y).covariance_ for method in ("map", "bayes"))
        shared = covariance.startswith("shared")
        factor = (68 if shared else n + 4) / divisors
        expected = (
            mode * np.reshape(factor, (-1, *[1] * (mode.ndim - 1))) if not shared else mode * factor
        )
        assert_allclose(mean, expected, rtol=1e-12)


def test_one_column_is_the_estimate_of_a_normal_variable():
    x, y = gaussian_classes(n=40, d=1, k=2)
    for method in ("map", "bayes"):
        prior = {"prior_mean": 3.0, "prior_variance": 2.0, "prior_count": 5.0, "method": method}
        own = sx.GaussianDiscriminant(
            estimation=method, prior_count=5.0, prior_mean=3.0, prior_covariance=2.0
        ).fit(x, y)
        naive = sx.NaiveBayes(5.0, estimation=method, prior_mean=3.0, prior_variance=2.0).fit(x, y)
        for k, name in enumerate("ab"):
            part = x[y == name, 0]
            found = sx.estimate_normal(len(part), part.mean(), len(part) * part.var(), **prior)
            assert_allclose([own.means_[k, 0], naive.theta_[k, 0]], found.mean, rtol=1e-12)
            assert_allclose(
                [own.covariance_[k].item(), naive.var_[k, 0]], found.variance, rtol=1e-12
            )


def test_defaults_and_portions():
    x, y = gaussian_classes(n=90, d=3, k=3)
    whole = sx.GaussianDiscriminant(estimation="bayes").fit(x, y)
    center = (whole.class_moments_.mean * whole.class_moments_.weight[:, None] + x.mean(axis=0)) / (
        whole.class_moments_.weight[:, None] + 1.0
    )
    assert_allclose(whole.means_, center, rtol=1e-12)
    parts = sx.GaussianDiscriminant(estimation="bayes").partial_fit(x[:40], y[:40])
    assert_allclose(parts.partial_fit(x[40:], y[40:]).covariance_, whole.covariance_, rtol=1e-9)
    few = np.concatenate([np.flatnonzero(y == "a"), np.flatnonzero(y == "b")[:2]])
    regular = fitted("full", "map", x[few], y[few])  # two rows of a class in three columns
    assert regular.certificate_.holds
    assert "posterior" in str(regular.certificate_)


def test_refusals():
    x, y = gaussian_classes(n=60, d=3, k=2)
    for options, text in (
        ({"estimation": "guess"}, "unknown"),
        ({"estimation": "map", "prior_count": -1.0}, "prior_count"),
        ({"estimation": "map", "prior_mean": [1.0, 2.0]}, "prior_mean"),
        ({"estimation": "map", "prior_covariance": np.eye(2)}, "prior_covariance"),
        ({"estimation": "map", "prior_covariance": -np.eye(3)}, "negative eigenvalue"),
    ):
        with pytest.raises(sx.InputError, match=text):
            sx.GaussianDiscriminant(**options).fit(x, y)
    with pytest.raises(sx.InputError, match="prior_variance"):
        sx.NaiveBayes(estimation="map", prior_variance=-1.0).fit(x, y)
