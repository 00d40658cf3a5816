"""Draws against exact posteriors by quadrature, and the laws of chains."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import separatrix as sx
from separatrix.bayes.loops import polya_gamma_variables
from separatrix.threads import thread_limit
from tests.bayes.logistic.data import classes, log_posterior

METHODS = ("independence", "hamiltonian", "polya_gamma")


def fitted(n: int, d: int, k: int, **options: float) -> sx.BayesianLogisticRegression:
    return sx.BayesianLogisticRegression(**options).fit(*classes(n, d, k))


@pytest.mark.parametrize(("z", "weight"), [(0.0, 1), (1.0, 1), (4.0, 3), (30.0, 1)])
def test_polya_gamma_variables_have_their_moments(z: float, weight: int) -> None:
    """E = w tanh(z/2)/(2z), and the variance, within their Monte Carlo errors."""
    state = np.random.SeedSequence(3).generate_state(4, np.uint64)
    x = np.empty(40_000)
    polya_gamma_variables(np.full(40_000, z), np.full(40_000, weight), state, x)
    mean = weight * (np.tanh(z / 2) / (2 * z) if z else 0.25)
    variance = weight * ((np.sinh(z) - z) / (4 * z**3 * np.cosh(z / 2) ** 2) if z else 1 / 24)
    error = np.sqrt(variance / len(x))
    assert abs(x.mean() - mean) < 4.5 * error
    assert_allclose(x.var(), variance, rtol=0.05)


@pytest.mark.parametrize("method", METHODS)
def test_draws_follow_the_exact_posterior(method: str) -> None:
    """Two coefficients: means and covariances by quadrature, within their Monte Carlo errors."""
    x, y = classes(12, 1, 2)
    model = sx.BayesianLogisticRegression(prior_scale=1.5, intercept_scale=2.0).fit(x, y)
    log_joint = np.vectorize(log_posterior(x, y, 1.5, 2.0))
    b, a = np.meshgrid(np.linspace(-6, 9, 121), np.linspace(-9, 9, 121), indexing="ij")
    logs = log_joint(b, a)
    p = np.exp(logs - logs.max())
    p /= p.sum()
    samples = model.sample(1000, method=method, random_state=1)
    assert samples.certificate_.holds
    slope = samples.coef[..., 0, 0] * x.std()
    constant = samples.intercept[..., 0] + samples.coef[..., 0, 0] * x.mean()
    size = samples.diagnostics.ess_bulk.min()
    for drawn, grid in ((slope, b), (constant, a)):
        mean = np.sum(p * grid)
        std = np.sqrt(np.sum(p * grid**2) - mean**2)
        assert abs(drawn.mean() - mean) < 4.5 * std / np.sqrt(size)
        assert_allclose(drawn.std(), std, rtol=6.0 / np.sqrt(size))
    both = np.sum(p * a * b) - np.sum(p * a) * np.sum(p * b)
    scale = slope.std() * constant.std()
    assert abs(np.cov(slope.ravel(), constant.ravel())[0, 1] - both) < 6.0 * scale / np.sqrt(size)


@pytest.mark.parametrize("method", METHODS[:2])
def test_three_classes_agree_with_the_approximation_where_rows_are_many(method: str) -> None:
    model = fitted(3000, 2, 3)
    samples = model.sample(500, method=method, random_state=0)
    assert samples.certificate_.holds
    comparison = model.compare(samples)
    assert np.abs(comparison.relative_shift).max() < 0.2
    assert_allclose(comparison.std_ratio, 1.0, atol=0.08)
    assert comparison.largest_probability_difference < 0.01
    assert comparison.mixed
    assert "Monte Carlo" in str(comparison)


def test_methods_agree_with_weights_as_repeats() -> None:
    x, y = classes(40, 2, 2)
    w = np.random.default_rng(0).integers(0, 4, 40).astype(float)
    model = sx.BayesianLogisticRegression(prior_scale=1.0).fit(x, y, sample_weight=w)
    found = {m: model.sample(700, method=m, random_state=2) for m in METHODS}
    exact = found["hamiltonian"]
    for samples in found.values():
        error = exact.std / np.sqrt(samples.diagnostics.ess_bulk)
        assert (np.abs(samples.mean - exact.mean) < 6.0 * error).all()
    with pytest.raises(sx.InputError, match="whole weights"):
        sx.BayesianLogisticRegression().fit(x, y, sample_weight=w + 0.5).sample(
            10, method="polya_gamma"
        )
    with pytest.raises(sx.InputError, match="sum of as many"):
        sx.BayesianLogisticRegression().fit(x, y, sample_weight=1e9 * w).sample(
            10, method="polya_gamma"
        )


@pytest.mark.parametrize("method", METHODS)
def test_the_number_of_threads_changes_no_bit(method: str) -> None:
    model = fitted(50, 2, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a = model.sample(20, method=method, random_state=5)
        with thread_limit(1):
            b = model.sample(20, method=method, random_state=5)
        c = model.sample(20, method=method, random_state=5, progress=lambda *_: None)
    assert_array_equal(a.coef, b.coef)
    assert_array_equal(a.intercept, b.intercept)
    assert_array_equal(a.coef, c.coef)


def test_chains_that_have_not_mixed_are_refused_in_words() -> None:
    model = fitted(500, 3, 2)
    with pytest.warns(sx.SeparatrixWarning, match=r"SEP018.*not mixed.*Draw more samples"):
        samples = model.sample(6, method="polya_gamma", random_state=0, n_warmup=0)
    assert not samples.certificate_.holds
    assert "not mixed" in str(model.compare(samples))
    with pytest.warns(sx.SeparatrixWarning, match="SEP018"):
        assert not model.sample(2).certificate_.holds


def test_more_columns_than_rows_are_sampled_with_the_prior_outside_of_their_span() -> None:
    model = fitted(8, 12, 2, prior_scale=0.5)
    samples = model.sample(500, random_state=0)
    assert samples.coef.shape == (4, 500, 1, 12)
    assert_allclose(samples.std[1:], model.coef_std_[0], rtol=0.1)


def test_progress_is_reported() -> None:
    seen: list[tuple[str, int, int]] = []
    fitted(60, 2, 2).sample(40, progress=lambda *args: seen.append(args), random_state=0)
    assert seen[0] == ("sampling", 0, 40)
    assert seen[-1] == ("done", 40, 40)


def test_a_model_from_a_file_needs_its_rows(tmp_path) -> None:
    x, y = classes(60, 2, 2)
    model = sx.BayesianLogisticRegression().fit(x, y)
    sx.save(model, tmp_path / "model.sx")
    loaded = sx.load(tmp_path / "model.sx")
    with pytest.raises(sx.InputError, match="training rows"):
        loaded.sample(10)
    a = model.sample(200, random_state=0)
    assert_array_equal(loaded.sample(200, random_state=0, X=x, y=y).coef, a.coef)
    assert_allclose(loaded.compare(a, x).laplace_proba, model.predict_proba(x))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_samples": 0}, "at least 1"),
        ({"method": "gibbs"}, "unknown"),
        ({"n_chains": 0}, "least"),
    ],
)
def test_bad_options_are_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(sx.InputError, match=words):
        fitted(30, 1, 2).sample(**options)  # type: ignore[arg-type]


def test_polya_gamma_sampling_is_for_two_classes() -> None:
    with pytest.raises(sx.InputError, match="two classes"):
        fitted(30, 1, 3).sample(10, method="polya_gamma")


def test_without_arviz_the_error_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "arviz", None)
    samples = fitted(60, 1, 2).sample(100, random_state=0)
    with pytest.raises(ImportError, match="pip install arviz"):
        samples.to_arviz()


def test_draws_and_diagnostics_have_the_names_and_shapes_of_arviz() -> None:
    samples = fitted(60, 2, 3).sample(200, random_state=0)
    found = samples.to_dict()
    posterior, summary = found["posterior"], found["summary"]
    assert posterior["coef"].shape == (4, 200, 3, 2)
    assert summary["r_hat"]["coef"].shape == (3, 2)
    assert summary["ess_bulk"]["intercept"].shape == (3,)
    sizes = {"score": 3, "column": 2}
    for name, axes in found["dims"].items():
        assert posterior[name].shape[2:] == tuple(sizes[axis] for axis in axes)
        assert [len(found["coords"][axis]) for axis in axes] == [sizes[axis] for axis in axes]
    at = samples.labels.index(f"{samples.names[1]} [{samples.classes[2]}]")
    assert summary["ess_tail"]["coef"][2, 1] == samples.diagnostics.ess_tail[at]
