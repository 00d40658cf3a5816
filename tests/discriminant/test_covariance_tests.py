"""Mardia's test of normality and Box's test of equal covariances, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import separatrix as sx
from separatrix.rows.rows import ArrayRows
from separatrix.statistics.moments import Moments

COVARIANCE = np.array([[2.0, 0.6, 0.1], [0.6, 1.0, -0.3], [0.1, -0.3, 0.5]])


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


def test_too_few_rows_are_no_sign_of_normality():
    rng = np.random.default_rng(0)
    for n, d in ((3, 1), (7, 1), (8, 6)):
        with pytest.raises(sx.InputError, match="too few"):
            sx.mardia(rng.normal(size=(n, d)))
    far = np.zeros((8, 1))
    far[:, 0] = [*range(7), 1e6]  # with eight rows something can be rejected
    assert sx.mardia(far).p_value < 0.05


def test_weights_of_mardia_are_repeated_rows():
    rng = np.random.default_rng(4)
    x, w = rng.exponential(size=(60, 2)), rng.integers(0, 4, 60)
    weighted, repeated = sx.mardia(x, w), sx.mardia(np.repeat(x, w, axis=0))
    for name in ("skewness", "skewness_p", "kurtosis", "kurtosis_p"):
        assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-9)
    with pytest.raises(sx.InputError, match="for each row"):
        sx.mardia(x, -w)
