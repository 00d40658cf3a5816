"""GaussianProcessClassifier against scikit-learn's at the same hyperparameters, and learned."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

import separatrix as sx
from separatrix.bayes.gaussian_process.laplace import evidence_slope


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 2))
    return x, np.digitize(x[:, 0] + 0.5 * rng.normal(size=90), [-0.5, 0.5])


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_and_evidence_of_scikit_learn(rows, classes):
    x, y = rows[0], np.minimum(rows[1], classes - 1)
    ours = sx.GaussianProcessClassifier(2.3 * sx.Gaussian(0.9), optimizer=None).fit(x, y)
    peer = GaussianProcessClassifier(ConstantKernel(2.3) * RBF(0.9), optimizer=None).fit(x, y)
    new = x + 0.1
    np.testing.assert_allclose(ours.predict_proba(new), peer.predict_proba(new), atol=1e-8)
    np.testing.assert_array_equal(ours.predict(new), peer.predict(new))
    value = peer.log_marginal_likelihood_value_
    assert ours.log_marginal_likelihood_value_ == pytest.approx(value, abs=1e-8)
    theta = ours.binaries_[0].kernel.theta + 0.2
    value = peer.log_marginal_likelihood(theta)
    assert ours.log_marginal_likelihood(theta) == pytest.approx(value, abs=1e-8)
    assert ours.certificate_.holds, str(ours.certificate_)


def test_learned_evidence_is_no_lower_than_scikit_learns(rows):
    x, y = rows[0], rows[1] > 0
    ours = sx.GaussianProcessClassifier().fit(x, y)
    peer = GaussianProcessClassifier(ConstantKernel() * RBF([1.0, 1.0])).fit(x, y)
    assert ours.log_evidence_ >= peer.log_marginal_likelihood_value_ - 1e-4
    far = sx.GaussianProcessClassifier().fit(x * [1e8, 1e-8], y)
    assert far.log_evidence_ == pytest.approx(ours.log_evidence_, abs=1e-7)
    np.testing.assert_allclose(far.predict_proba(x * [1e8, 1e-8]), ours.predict_proba(x), atol=1e-6)


def test_pairs_of_classes_are_coupled(rows):
    x, y = rows
    kernel = 4.0 * sx.Gaussian(1.0)
    pairs = sx.GaussianProcessClassifier(kernel, optimizer=None, multi_class="one_vs_one")
    p = pairs.fit(x, y).predict_proba(x)
    assert len(pairs.binaries_) == 3
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    rest = sx.GaussianProcessClassifier(kernel, optimizer=None).fit(x, y).predict_proba(x)
    assert np.abs(p - rest).max() < 0.25


def test_strings_are_classified():
    words = ["abab", "abba", "baba", "cdcd", "cddc", "dcdc"]
    kernel = sx.Spectrum(2).normalized()
    model = sx.GaussianProcessClassifier(4.0 * kernel, optimizer=None)
    model.fit(words, [0, 0, 0, 1, 1, 1])
    assert model.predict(["abaa", "ccdc"]).tolist() == [0, 1]


def test_white_noise_gives_every_copy_a_value_of_its_own(rows):
    x, y, w = rows[0], rows[1] > 0, np.full(90, 2.0)
    kernel = 2.0 * sx.Gaussian(1.0) + sx.White(0.5)
    weighted = sx.GaussianProcessClassifier(kernel, optimizer=None).fit(x, y, w)
    repeated = sx.GaussianProcessClassifier(kernel, optimizer=None).fit(
        np.repeat(x, 2, axis=0), np.repeat(y, 2)
    )
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, abs=1e-9)
    with pytest.raises(ValueError, match="no whole numbers"):
        sx.GaussianProcessClassifier(kernel, optimizer=None).fit(x, y, 0.75 * w)


def test_several_classes_have_no_evidence_to_average_by(rows):
    kernel = 4.0 * sx.Gaussian(1.0)
    models = [sx.GaussianProcessClassifier(kernel, optimizer=None) for _ in range(2)]
    with pytest.raises(ValueError, match="3 processes of 3 classes have an evidence each"):
        sx.EvidenceAveraging(models).fit(*rows)
    average = sx.EvidenceAveraging(models).fit(rows[0], rows[1] > 0)
    np.testing.assert_allclose(average.weights_, 0.5)


def test_the_certificate_has_the_slope_by_code_of_its_own(rows):
    x, y = rows[0], (rows[1] > 0).astype(float)
    kernel = ConstantKernel(2.3) * RBF(0.9)
    one = sx.GaussianProcessClassifier(kernel, optimizer=None).fit(x, y).binaries_[0]
    peer = GaussianProcessClassifier(kernel, optimizer=None).fit(x, y)
    _, slope = peer.log_marginal_likelihood(kernel.theta, eval_gradient=True)
    found = evidence_slope(one.kernel, one.x, one.y, one.w, one.slope)
    np.testing.assert_allclose(found, slope, rtol=1e-6)
