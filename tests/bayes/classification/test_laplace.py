"""Laplace's approximation against scikit-learn's, and by differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

import separatrix as sx
from separatrix.bayes.gaussian_process.laplace import evidence_and_gradient, find_mode


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    return x, (x[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(float)


def test_evidence_and_derivatives_of_scikit_learn(rows):
    x, y = rows
    evidence, gradient, mode = evidence_and_gradient(2.3 * sx.Gaussian(0.9), x, y, np.ones(len(y)))
    peer = GaussianProcessClassifier(ConstantKernel(2.3) * RBF(0.9), optimizer=None).fit(x, y)
    value, derivatives = peer.log_marginal_likelihood(peer.kernel_.theta, eval_gradient=True)
    assert evidence == pytest.approx(value, abs=1e-10)
    np.testing.assert_allclose(gradient, derivatives, atol=1e-9)
    slope = y - expit(mode.f)
    np.testing.assert_allclose(mode.f, mode.gram @ slope, atol=1e-12)


def test_weights_are_copies_and_starts_do_not_matter(rows):
    x, y = rows
    w = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    copies = np.repeat(np.arange(len(y)), w.astype(int))
    kernel = 4.0 * sx.Gaussian(0.4)
    first = evidence_and_gradient(kernel, x, y, w)
    other = evidence_and_gradient(kernel, x[copies], y[copies], np.ones(len(copies)))
    assert first[0] == pytest.approx(other[0], abs=1e-10)
    np.testing.assert_allclose(first[1], other[1], atol=1e-9)
    start = np.random.default_rng(2).normal(size=len(y))
    again = find_mode(first[2].gram, y, w, start)
    np.testing.assert_allclose(again.f, first[2].f, atol=1e-10)


def test_very_large_kernels_converge(rows):
    x, y = rows
    mode = find_mode((1e6 * sx.Gaussian(1.0)).gram(x), y, np.ones(len(y)))
    slope = y - expit(mode.f)
    assert np.abs(mode.f - mode.gram @ slope).max() < 1e-6 * np.abs(mode.f).max()
    assert mode.steps < 40


@pytest.mark.parametrize("classes", [2, 3])
def test_a_model_that_takes_on_theta_is_that_of_theta(rows, classes):
    x = rows[0]
    y = np.digitize(x[:, 0], [-0.3, 0.5][: classes - 1])
    model = sx.GaussianProcessClassifier(2.0 * sx.Gaussian(1.0), optimizer=None).fit(x, y)
    theta, before = model.kernel_.theta + 0.3, model.predict_proba(x)
    value = model.log_marginal_likelihood(theta)
    np.testing.assert_array_equal(model.predict_proba(x), before)
    assert model.log_marginal_likelihood(theta, clone_kernel=False) == value
    np.testing.assert_allclose(model.kernel_.theta, theta, rtol=1e-14)
    assert model.log_marginal_likelihood_value_ == pytest.approx(value, rel=1e-12)
    kernel = 2.0 * np.exp(0.3) * sx.Gaussian(np.exp(0.3))
    other = sx.GaussianProcessClassifier(kernel, optimizer=None).fit(x, y)
    np.testing.assert_allclose(model.predict_proba(x), other.predict_proba(x), rtol=1e-9)
    assert model.certificate_.holds
