"""Tables with known laws: the same seed gives the same rows, and the law shows."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import InputError, MultivariateNormal
from separatrix.rows.generate import (
    bernoulli,
    feature_noise,
    label_noise,
    linear_table,
    multivariate_normal,
    normal,
)

N = 20_000


def test_laws_show():
    np.testing.assert_allclose(bernoulli(N, [0.1, 0.7]).mean(axis=0), [0.1, 0.7], atol=0.015)
    x = normal(N, [5.0, -2.0], [1.0, 3.0])
    np.testing.assert_allclose(x.mean(axis=0), [5, -2], atol=0.1)
    np.testing.assert_allclose(x.std(axis=0), [1, 3], rtol=0.03)
    sigma = [[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0]]
    z = multivariate_normal(N, [1.0, 0.0, 4.0], sigma)
    np.testing.assert_allclose(np.cov(z.T), sigma, atol=0.08)
    assert (z[:, 2] == 4).all()


def test_a_covariance_is_judged_relative_to_its_columns():
    impossible = np.array([[1.0, 2.0], [2.0, 1.0]])
    for scale in (1e-16, 1.0, 1e16):
        with pytest.raises(InputError, match="negative eigenvalue"):
            multivariate_normal(3, [0.0, 0.0], scale * impossible)
    units = np.diag([1e-9, 1e9])
    with pytest.raises(InputError, match="negative eigenvalue"):
        multivariate_normal(3, [0.0, 0.0], units @ impossible @ units)
    for bad in ([[0.0, 1e-12], [1e-12, 1.0]], [[-1e-20, 0.0], [0.0, 1.0]]):
        with pytest.raises(InputError, match="negative eigenvalue"):
            multivariate_normal(3, [0.0, 0.0], bad)
        with pytest.raises(InputError, match="negative eigenvalue"):
            MultivariateNormal([0.0, 0.0], bad)
    with pytest.raises(InputError, match="symmetric"):
        multivariate_normal(3, [0.0, 0.0], [[1e-10, 1e-12], [-1e-12, 1e-10]])


def test_feature_noise_weakens_correlation_and_preserves_marginal_distributions():
    x = multivariate_normal(N, [0.0, 0.0], [[1.0, 0.95], [0.95, 1.0]])
    noisy = feature_noise(x, 0.3, seed=1)
    assert (noisy != x).mean() == pytest.approx(0.3, abs=0.01)
    np.testing.assert_allclose(noisy.std(axis=0), x.std(axis=0), rtol=0.02)
    assert np.corrcoef(noisy.T)[0, 1] == pytest.approx(0.95 * 0.7 * 0.7, abs=0.03)
    assert (feature_noise(x, 0.0) == x).all()


def test_label_noise_changes_the_given_fraction():
    y = np.array(["a", "b", "c"])[np.arange(N) % 3]
    noisy = label_noise(y, 0.2, seed=1)
    assert (noisy != y).mean() == pytest.approx(0.2, abs=0.01)
    assert (label_noise(y, 1.0) != y).all()
    wrong = noisy[(noisy != y) & (y == "a")]
    assert np.mean(wrong == "b") == pytest.approx(0.5, abs=0.05)
    with pytest.raises(InputError, match="one label"):
        label_noise(np.zeros(3), 0.5)


def test_linear_table_has_the_coefficients_it_names():
    table = linear_table(N, 6, informative=2, noise=0.5, correlation=0.6, seed=3)
    z = np.column_stack([np.ones(N), table.x])
    b = np.linalg.lstsq(z, table.y, rcond=None)[0]
    np.testing.assert_allclose(b, [table.intercept, *table.coef], atol=0.03)
    assert (table.coef[2:] == 0).all()
    corr = np.corrcoef(table.x.T)
    assert corr[0, 1] == pytest.approx(0.6, abs=0.02)
    assert corr[0, 2] == pytest.approx(0.36, abs=0.03)


def test_seeds():
    for make in (
        lambda s: bernoulli(9, 0.5, seed=s),
        lambda s: normal(9, 0.0, seed=s),
        lambda s: multivariate_normal(9, [0.0], [[1.0]], seed=s),
        lambda s: feature_noise(np.arange(18.0).reshape(9, 2), 0.5, seed=s),
        lambda s: label_noise(np.arange(9), 0.5, seed=s),
        lambda s: linear_table(9, 2, seed=s).y,
    ):
        np.testing.assert_array_equal(make(1), make(1))
        np.testing.assert_array_equal(make(1), make(np.random.default_rng(1)))
        assert (make(1) != make(2)).any()


def test_impossible_laws_are_refused():
    for make in (
        lambda: bernoulli(3, 1.2),
        lambda: normal(3, 0.0, -1.0),
        lambda: multivariate_normal(3, [0, 0], [[1, 2], [2, 1]]),
        lambda: multivariate_normal(3, [0, 0], [[1]]),
        lambda: feature_noise(np.ones((2, 2)), 1.5),
        lambda: linear_table(3, 2, correlation=1.0),
    ):
        with pytest.raises(InputError):
            make()
