"""The multivariate normal against SciPy, and the tests that ask whether rows follow one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.spatial.distance import mahalanobis

import separatrix as sx
from separatrix.rows.arrays import ArrayRows
from separatrix.statistics.moments import Moments

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
def test_distance_has_no_units(units):
    x = np.random.default_rng(0).normal(size=(20, 3))
    scaled = sx.MultivariateNormal(MEAN * units, COVARIANCE * np.outer(units, units))
    plain = sx.MultivariateNormal(MEAN, COVARIANCE)
    assert_allclose(scaled.mahalanobis(x * units), plain.mahalanobis(x), rtol=1e-9)
    assert_allclose(scaled.half_log_determinant, plain.half_log_determinant + np.log(units).sum())


def test_parts_and_projections():
    normal = sx.MultivariateNormal(MEAN, COVARIANCE, ("a", "b", "c"))
    part = normal.marginal([2, 0])
    assert part.names == ("c", "a")
    assert_allclose(part.covariance, [[0.5, 0.1], [0.1, 2.0]])
    a = np.array([1.0, 2.0, -1.0])
    assert_allclose(normal.projected(a).mean, [MEAN @ a])
    assert_allclose(normal.projected(a).covariance, [[a @ COVARIANCE @ a]])


def test_samples_have_the_moments_and_fill_the_ellipse():
    normal = sx.MultivariateNormal(MEAN, COVARIANCE)
    x = normal.sample(200_000, seed=1)
    assert_allclose(x.mean(axis=0), MEAN, atol=0.02)
    assert_allclose(np.cov(x.T), COVARIANCE, atol=0.03)
    assert np.array_equal(x, normal.sample(200_000, seed=1))
    assert_allclose(normal.contains(x, 0.9).mean(), 0.9, atol=0.004)
    outline = normal.ellipse((0, 2), probability=0.8)
    radius = normal.marginal([0, 2]).mahalanobis(outline)
    assert_allclose(radius, np.sqrt(stats.chi2(2).ppf(0.8)), rtol=1e-10)


def test_a_flat_normal():
    flat = sx.MultivariateNormal([0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]])
    assert flat.rank == 1
    assert_allclose(flat.mahalanobis([[2.0, 2.0], [1.0, 0.0]]), [2.0, np.inf])
    theirs = stats.multivariate_normal([0, 0], [[1.0, 1.0], [1.0, 1.0]], allow_singular=True)
    assert_allclose(flat.log_density([[2.0, 2.0]]), theirs.logpdf([2.0, 2.0]))
    x = flat.sample(5)
    assert_allclose(x[:, 0], x[:, 1])


def test_shapes_that_cannot_be():
    for mean, covariance, text in (
        ([0.0, 1.0], np.eye(3), "do not fit together"),
        ([0.0, 1.0], [[1.0, 0.5], [0.1, 1.0]], "not symmetric"),
        ([0.0, 1.0], [[1.0, 2.0], [2.0, 1.0]], "negative eigenvalue"),
    ):
        with pytest.raises(sx.InputError, match=text):
            sx.MultivariateNormal(mean, covariance)
    with pytest.raises(sx.InputError, match="between 0 and 1"):
        sx.MultivariateNormal(MEAN, COVARIANCE).ellipse(probability=1.0)


def test_mardia_by_definition():
    x = np.random.default_rng(0).normal(size=(80, 3)) @ COVARIANCE
    z = x - x.mean(axis=0)
    g = z @ np.linalg.inv(np.cov(x.T, bias=True)) @ z.T
    found = sx.mardia(x)
    assert_allclose(found.skewness, (g**3).mean(), rtol=1e-9)
    assert_allclose(found.kurtosis, (np.diag(g) ** 2).mean(), rtol=1e-9)
    assert_allclose(found.skewness_p, stats.chi2(10).sf(80 * (g**3).mean() / 6))
    twice = np.column_stack([x, x[:, 0] + x[:, 1], np.ones(80)])
    assert_allclose(sx.mardia(twice * 1e6).skewness, found.skewness, rtol=1e-7)
    assert sx.mardia(twice).rank == 3


def test_mardia_keeps_its_level_and_finds_skewness_and_tails():
    rng = np.random.default_rng(0)
    p = [sx.mardia(rng.normal(size=(400, 2))).p_value for _ in range(200)]
    assert np.mean(np.array(p) < 0.05) < 0.11
    assert sx.mardia(rng.exponential(size=(400, 2))).skewness_p < 1e-10
    assert sx.mardia(rng.standard_t(4, size=(400, 2))).kurtosis_p < 1e-6
    with pytest.raises(sx.InputError, match="too few"):
        sx.mardia(np.ones((10, 2)))


def test_box_by_definition_and_from_moments_alone():
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(n, 3)) @ COVARIANCE for n in (30, 50, 40)]
    nu = np.array([29, 49, 39])
    pooled = sum(np.cov(p.T) * v for p, v in zip(parts, nu, strict=True)) / nu.sum()
    each = [np.log(np.linalg.det(np.cov(p.T))) for p in parts]
    m = nu.sum() * np.log(np.linalg.det(pooled)) - nu @ each
    found = sx.box_m(parts)
    assert_allclose(found.m, m, rtol=1e-9)
    c = (np.sum(1 / nu) - 1 / nu.sum()) * (2 * 9 + 9 - 1) / (6 * 4 * 2)
    assert_allclose(found.chi2_p, stats.chi2(12).sf(m * (1 - c)))
    assert_allclose(found.p_value, found.chi2_p, atol=0.01)
    moments = [ArrayRows(1e5 * p).reduce(Moments()) for p in parts]
    assert_allclose(sx.box_m(moments).m, m, rtol=1e-8)


def test_box_agrees_with_statsmodels():
    from statsmodels.stats.multivariate import test_cov_oneway

    rng = np.random.default_rng(2)
    parts = [s * rng.normal(size=(n, 2)) @ COVARIANCE[:2, :2] for n, s in ((25, 1.0), (60, 1.3))]
    theirs = test_cov_oneway([np.cov(p.T) for p in parts], [25, 60])
    own = sx.box_m(parts)
    assert_allclose([own.chi2, own.chi2_p], [theirs.statistic_chi2, theirs.pvalue_chi2], rtol=1e-8)
    assert_allclose([own.f, own.p_value], [theirs.statistic_f, theirs.pvalue_f], rtol=1e-8)


def test_box_finds_a_difference_and_keeps_its_level():
    rng = np.random.default_rng(1)
    p = [sx.box_m([rng.normal(size=(60, 2)) for _ in range(3)]).p_value for _ in range(200)]
    assert np.mean(np.array(p) < 0.05) < 0.1
    assert sx.box_m([rng.normal(size=(60, 2)), 2 * rng.normal(size=(60, 2))]).p_value < 1e-6
    with pytest.raises(sx.InputError, match="3 rows for 3"):
        sx.box_m([rng.normal(size=(3, 3)), rng.normal(size=(30, 3))])
    with pytest.raises(sx.InputError, match="singular"):
        sx.box_m([np.ones((9, 2)), rng.normal(size=(30, 2))])


def test_weights_of_mardia_are_repeated_rows():
    rng = np.random.default_rng(4)
    x, w = rng.exponential(size=(60, 2)), rng.integers(0, 4, 60)
    weighted, repeated = sx.mardia(x, w), sx.mardia(np.repeat(x, w, axis=0))
    for name in ("skewness", "skewness_p", "kurtosis", "kurtosis_p"):
        assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-9)
    with pytest.raises(sx.InputError, match="for each row"):
        sx.mardia(x, -w)
