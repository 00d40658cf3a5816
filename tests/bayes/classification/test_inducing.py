"""Processes of classes through inducing points: the bound, its derivatives, and what is learned."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, log_expit
from scipy.stats import norm

import separatrix as sx
from separatrix.bayes.gaussian_process.inducing import Targets
from separatrix.bayes.gaussian_process.inducing_search import BoundOfRows, SampleRows
from separatrix.bayes.gaussian_process.variational import ClassModel
from separatrix.bayes.loops import expected_likelihood
from separatrix.messages import InputError

KERNEL = 2.3 * sx.Gaussian(0.9)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 2))
    return x, np.digitize(x[:, 0] + 0.5 * rng.normal(size=90), [-0.5, 0.5])


@pytest.mark.parametrize(("mean", "spread"), [(0.3, 0.0), (-2.0, 0.8), (5.0, 3.0), (-20.0, 40.0)])
def test_means_of_the_likelihood_by_quadrature(mean, spread):
    found = [np.empty(1) for _ in range(3)]
    expected_likelihood(np.array([mean]), np.array([spread**2]), *found)

    def integral(function):
        if not spread:
            return function(mean)
        ends = mean - 9 * spread, mean + 9 * spread
        density = norm(mean, spread).pdf
        return quad(lambda f: function(f) * density(f), *ends, points=[0.0], limit=400)[0]

    for value, function in zip(
        found, (lambda f: -log_expit(-f), expit, lambda f: expit(f) * expit(-f)), strict=True
    ):
        assert value[0] == pytest.approx(integral(function), abs=3e-9)


def test_derivatives_by_differences(rows):
    x, y = rows[0], (rows[1][:, None] > 0).astype(float)
    w = np.random.default_rng(1).integers(1, 4, len(x)).astype(float)
    bound = BoundOfRows(ClassModel(KERNEL, Targets()), x[:7], SampleRows(x, y, w))
    theta, z, step = KERNEL.theta, x[:7] + 0.1, 1e-5
    _, gradient, moves = bound.with_points(theta, z)

    def value(theta, z):
        return bound.with_points(theta, z)[0]

    for e in np.eye(2):
        difference = value(theta + step * e, z) - value(theta - step * e, z)
        assert gradient @ e == pytest.approx(difference / (2 * step), rel=1e-5)
    e = np.random.default_rng(2).normal(size=z.shape)
    difference = value(theta, z + step * e) - value(theta, z - step * e)
    assert np.vdot(moves, e) == pytest.approx(difference / (2 * step), rel=1e-5)


def test_the_bound_is_below_the_evidence_and_near(rows):
    x, y = rows[0], rows[1] > 0
    exact = sx.GaussianProcessClassifier(KERNEL, optimizer=None).fit(x, y)
    points = sx.GaussianProcessClassifier(KERNEL, optimizer=None, n_inducing=90).fit(x, y)
    assert np.abs(points.predict_proba(x) - exact.predict_proba(x)).max() < 0.03
    assert points.certificate_.holds, str(points.certificate_)
    # the evidence by importance sampling from the approximation of Laplace, to three percent
    mode, rng = exact.binaries_[0].mode, np.random.default_rng(0)
    k = mode.gram + 1e-8 * np.eye(90)
    precision = np.linalg.inv(k) + np.diag(mode.root**2)
    root = np.linalg.cholesky(np.linalg.inv(precision))
    noise = rng.standard_normal((20_000, 90))
    f = mode.f + noise @ root.T
    prior = -0.5 * np.einsum("ij,ij->i", f, np.linalg.solve(k, f.T).T)
    prior -= 0.5 * np.linalg.slogdet(k)[1]
    proposal = -0.5 * (noise**2).sum(axis=1) - np.log(np.diagonal(root)).sum()
    logs = log_expit(np.where(y, f, -f)).sum(axis=1) + prior - proposal
    evidence = np.log(np.mean(np.exp(logs - logs.max()))) + logs.max()
    assert evidence - 0.5 <= points.log_evidence_ <= evidence + 0.03
    few = sx.GaussianProcessClassifier(KERNEL, optimizer=None, n_inducing=5).fit(x, y)
    assert few.log_evidence_ < points.log_evidence_


def test_order_units_and_copies_do_not_matter(rows):
    x, y = rows[0], rows[1] > 0
    rng, unit = np.random.default_rng(3), np.array([1e8, 1e-8])
    w = rng.integers(0, 3, len(y)).astype(float)
    copies = rng.permutation(np.repeat(np.arange(len(y)), w.astype(int)))
    weighted = sx.GaussianProcessClassifier(n_inducing=6).fit(x, y, w)
    repeated = sx.GaussianProcessClassifier(n_inducing=6).fit(x[copies] * unit, y[copies])
    p = weighted.predict_proba(x)
    np.testing.assert_allclose(p, repeated.predict_proba(x * unit), atol=1e-7)
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, rel=1e-9)
    assert ((p[:, 1] > 0.5) == y).mean() > 0.8


@pytest.mark.parametrize("multi_class", ["one_vs_rest", "one_vs_one"])
def test_streams_are_read_block_by_block(rows, tmp_path, multi_class):
    x, y = rows
    path = tmp_path / "table.csv"
    lines = [f"{a!r},{b!r},{'abc'[c]}" for (a, b), c in zip(x.tolist(), y.tolist(), strict=True)]
    path.write_text("\n".join(["a,b,y", *lines]))
    options = {"optimizer": None, "n_inducing": 8, "multi_class": multi_class}
    table = sx.scan(path, target="y", block_rows=23)
    streamed = sx.GaussianProcessClassifier(KERNEL, **options).fit(table)
    memory = sx.GaussianProcessClassifier(KERNEL, **options).fit(x, np.array(list("abc"))[y])
    assert streamed.classes_.tolist() == ["a", "b", "c"]
    new = {"a": x[:5, 0], "b": x[:5, 1]}
    p = streamed.predict_proba(sx.scan(new))
    np.testing.assert_allclose(p, memory.predict_proba(x[:5]), atol=1e-9)


def test_points_are_doubled_while_that_gains(rows):
    model = sx.GaussianProcessClassifier(KERNEL, optimizer=None, n_inducing="auto")
    model.fit(rows[0], rows[1] > 0)
    assert model.binaries_[0].stored_rows == 64
    assert "Half as many points give" in str(model.certificate_)
    assert "at least" in str(model.certificate_)


def test_what_there_is_not_is_refused_in_words(rows):
    x, y = rows
    with pytest.raises(InputError, match="do not go together"):
        sx.GaussianProcessClassifier(KERNEL + sx.White(), n_inducing=5).fit(x, y)
    words = sx.GaussianProcessClassifier(sx.Spectrum(2), n_inducing=2)
    with pytest.raises(InputError, match="need rows of numbers"):
        words.fit(["ab", "ba", "cc", "dd"], [0, 0, 1, 1])
