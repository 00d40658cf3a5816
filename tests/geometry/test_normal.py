"""The multivariate normal distribution against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.spatial.distance import mahalanobis

import separatrix as sx

MEAN = np.array([1.0, -2.0, 0.5])
COVARIANCE = np.array([[2.0, 0.6, 0.1], [0.6, 1.0, -0.3], [0.1, -0.3, 0.5]])


def test_density_and_distance():
    normal = sx.MultivariateNormal(MEAN, COVARIANCE)
    x = np.random.default_rng(0).normal(size=(20, 3)) * 3
    theirs = stats.multivariate_normal(MEAN, COVARIANCE)
    assert_allclose(normal.log_density(x), theirs.logpdf(x), rtol=1e-10)
    assert_allclose(normal.density(x), theirs.pdf(x), rtol=1e-9)
    inverse = np.linalg.inv(COVARIANCE)
    assert_allclose(normal.mahalanobis(x), [mahalanobis(row, MEAN, inverse) for row in x])


@pytest.mark.parametrize("units", [np.array([1e8, 1.0, 1e-8]), np.array([1e-8, 1e8, 1.0])])
def test_mahalanobis_distance_is_invariant_to_units(units):
    x = np.random.default_rng(0).normal(size=(20, 3))
    scaled = sx.MultivariateNormal(MEAN * units, COVARIANCE * np.outer(units, units))
    unscaled = sx.MultivariateNormal(MEAN, COVARIANCE)
    assert_allclose(scaled.mahalanobis(x * units), unscaled.mahalanobis(x), rtol=1e-9)
    assert_allclose(
        scaled.half_log_determinant, unscaled.half_log_determinant + np.log(units).sum()
    )


def test_marginals_and_projections():
    normal = sx.MultivariateNormal(MEAN, COVARIANCE, ("a", "b", "c"))
    part = normal.marginal([2, 0])
    assert part.names == ("c", "a")
    assert_allclose(part.covariance, [[0.5, 0.1], [0.1, 2.0]])
    a = np.array([1.0, 2.0, -1.0])
    assert_allclose(normal.projected(a).mean, [MEAN @ a])
    assert_allclose(normal.projected(a).covariance, [[a @ COVARIANCE @ a]])


def test_samples_have_the_moments_and_the_probability_of_the_ellipse():
    normal = sx.MultivariateNormal(MEAN, COVARIANCE)
    x = normal.sample(200_000, seed=1)
    assert_allclose(x.mean(axis=0), MEAN, atol=0.02)
    assert_allclose(np.cov(x.T), COVARIANCE, atol=0.03)
    assert np.array_equal(x, normal.sample(200_000, seed=1))
    assert_allclose(normal.contains(x, 0.9).mean(), 0.9, atol=0.004)
    outline = normal.ellipse((0, 2), probability=0.8)
    radius = normal.marginal([0, 2]).mahalanobis(outline)
    assert_allclose(radius, np.sqrt(stats.chi2(2).ppf(0.8)), rtol=1e-10)


def test_a_singular_covariance():
    flat = sx.MultivariateNormal([0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]])
    assert flat.rank == 1
    assert_allclose(flat.mahalanobis([[2.0, 2.0], [1.0, 0.0]]), [2.0, np.inf])
    theirs = stats.multivariate_normal([0, 0], [[1.0, 1.0], [1.0, 1.0]], allow_singular=True)
    assert_allclose(flat.log_density([[2.0, 2.0]]), theirs.logpdf([2.0, 2.0]))
    x = flat.sample(5)
    assert_allclose(x[:, 0], x[:, 1])


def test_invalid_parameters_are_refused():
    for mean, covariance, text in (
        ([0.0, 1.0], np.eye(3), "do not fit together"),
        ([0.0, 1.0], [[1.0, 0.5], [0.1, 1.0]], "not symmetric"),
        ([0.0, 1.0], [[1.0, 2.0], [2.0, 1.0]], "negative eigenvalue"),
    ):
        with pytest.raises(sx.InputError, match=text):
            sx.MultivariateNormal(mean, covariance)
    with pytest.raises(sx.InputError, match="between 0 and 1"):
        sx.MultivariateNormal(MEAN, COVARIANCE).ellipse(probability=1.0)
