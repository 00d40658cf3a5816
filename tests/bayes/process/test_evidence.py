"""Evidence of a Gaussian process: scikit-learn's, closed forms, differences, repeated rows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.gaussian_process import GaussianProcessRegressor as Reference
from sklearn.gaussian_process import kernels as foreign

import separatrix as sx

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 3))
Y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(40)
NEW = rng.standard_normal((9, 3))


def kernel() -> sx.Kernel:
    return sx.Constant(1.7) * sx.Gaussian((0.9, 1.4, 3.0)) + sx.White(0.05)


def of_sklearn() -> foreign.Kernel:
    radial = foreign.RBF([0.9, 1.4, 3.0])
    return foreign.ConstantKernel(1.7) * radial + foreign.WhiteKernel(0.05)


@pytest.mark.parametrize("several", [False, True], ids=["one output", "two outputs"])
@pytest.mark.parametrize("normalize", [False, True], ids=["plain", "normalized"])
def test_everything_equals_scikit_learn_at_the_same_hyperparameters(
    several: bool, normalize: bool
) -> None:
    y = np.stack([Y, 3.0 - Y**2], axis=1) if several else Y
    options = {"alpha": 1e-3, "optimizer": None, "normalize_y": normalize}
    theirs = Reference(of_sklearn(), **options).fit(X, y)
    ours = sx.GaussianProcessRegressor(kernel(), **options).fit(X, y)
    assert_allclose(
        ours.log_marginal_likelihood_value_, theirs.log_marginal_likelihood_value_, rtol=1e-10
    )
    theta = theirs.kernel_.theta + 0.2
    for a, b in zip(
        ours.log_marginal_likelihood(theta, eval_gradient=True),
        theirs.log_marginal_likelihood(theta, eval_gradient=True),
        strict=True,
    ):
        assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    for argument in ("return_std", "return_cov"):
        for a, b in zip(
            ours.predict(NEW, **{argument: True}),
            theirs.predict(NEW, **{argument: True}),
            strict=True,
        ):
            assert_allclose(a, b, rtol=1e-8, atol=1e-10)
    assert_allclose(ours.alpha_, theirs.alpha_, rtol=1e-8, atol=1e-10)
    assert_allclose(ours.L_, theirs.L_, rtol=1e-8, atol=1e-10)


def test_kernels_of_scikit_learn_are_learned_to_the_same_maximum() -> None:
    theirs = Reference(of_sklearn()).fit(X, Y)
    ours = sx.GaussianProcessRegressor(of_sklearn()).fit(X, Y)
    assert ours.log_evidence_ >= theirs.log_marginal_likelihood_value_ - 1e-6
    fixed = foreign.RBF(1.3, "fixed") * foreign.ConstantKernel(1.0, (0.5, 2.0))
    model = sx.GaussianProcessRegressor(fixed + foreign.WhiteKernel(0.1)).fit(X, Y)
    assert 0.5 <= model.kernel_.parameters["constant"].value <= 2.0
    assert len(model.kernel_.theta) == 2


def test_evidence_is_the_density_of_the_targets() -> None:
    model = sx.GaussianProcessRegressor(kernel(), optimizer=None, alpha=0.01).fit(X, Y)
    covariance = kernel().gram(X) + 0.01 * np.eye(len(X))
    expected = stats.multivariate_normal(cov=covariance).logpdf(Y)
    assert_allclose(model.log_evidence_, expected, rtol=1e-10)
    scaled = sx.GaussianProcessRegressor(kernel(), optimizer=None, normalize_y=True).fit(X, Y)
    y, factor = (Y - Y.mean()) / Y.std(), len(Y) * np.log(Y.std())
    covariance = kernel().gram(X) + 1e-10 * np.eye(len(X))
    expected = stats.multivariate_normal(cov=covariance).logpdf(y) - factor
    assert_allclose(scaled.log_evidence_, expected, rtol=1e-10)


@pytest.mark.parametrize("trend", ["none", "constant", "linear"])
def test_weights_are_repeated_rows_in_value_and_gradient(trend: str) -> None:
    """Copies that are not quite equal are no copies: they make the covariance of all rows."""
    w = np.random.default_rng(3).integers(0, 4, len(X)).astype(float)
    options = {"optimizer": None, "alpha": np.linspace(0.01, 0.2, len(X)), "trend": trend}
    weighted = sx.GaussianProcessRegressor(kernel(), **options).fit(X, Y, sample_weight=w)
    times = w.astype(int)
    options["alpha"] = np.repeat(options["alpha"], times)
    tiny = 1e-9 * np.random.default_rng(4).standard_normal(times.sum())
    repeated = sx.GaussianProcessRegressor(kernel(), **options).fit(
        np.repeat(X, times, axis=0), np.repeat(Y, times) + tiny
    )
    assert len(repeated.X_train_) == times.sum() > len(weighted.X_train_)
    theta = kernel().theta - 0.1
    for a, b in zip(
        weighted.log_marginal_likelihood(theta, eval_gradient=True),
        repeated.log_marginal_likelihood(theta, eval_gradient=True),
        strict=True,
    ):
        assert_allclose(a, b, rtol=1e-6, atol=1e-6)
    for a, b in zip(
        weighted.predict(NEW, return_std=True), repeated.predict(NEW, return_std=True), strict=True
    ):
        assert_allclose(a, b, rtol=1e-6)
    loo, other = weighted.leave_one_out(), repeated.leave_one_out()
    assert_allclose(loo.log_score, other.log_score, rtol=1e-6)


@pytest.mark.parametrize("trend", ["constant", "linear"])
def test_gradient_with_a_trend_by_differences(trend: str) -> None:
    w = np.random.default_rng(5).uniform(0.5, 3.0, len(X))
    y = np.stack([Y, X[:, 2] - Y**2], axis=1)
    model = sx.GaussianProcessRegressor(kernel(), optimizer=None, trend=trend).fit(X, y, w)
    theta = kernel().theta
    _, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    step = 1e-5 * np.eye(len(theta))
    found = [
        (model.log_marginal_likelihood(theta + s) - model.log_marginal_likelihood(theta - s)) / 2e-5
        for s in step
    ]
    assert_allclose(gradient, found, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("trend", ["constant", "linear"])
def test_universal_kriging(trend: str) -> None:
    """The limit of a normal prior on the coefficients whose variance grows."""
    model = sx.GaussianProcessRegressor(kernel(), optimizer=None, trend=trend).fit(X, Y)
    h, new = np.ones((len(X), 1)), np.ones((len(NEW), 1))
    if trend == "linear":
        h, new = np.column_stack([h, X]), np.column_stack([new, NEW])
    c = kernel().gram(X) + 1e-10 * np.eye(len(X))
    k = kernel().gram(NEW, X)
    inverse = np.linalg.inv(c)
    a = h.T @ inverse @ h
    beta = np.linalg.solve(a, h.T @ inverse @ Y)
    mean, std = model.predict(NEW, return_std=True, include_noise=False)
    assert_allclose(mean, new @ beta + k @ inverse @ (Y - h @ beta), rtol=1e-8)
    rest = new - k @ inverse @ h
    variance = 1.7 - np.einsum("ij,ij->i", k @ inverse, k)
    variance += np.einsum("ij,ij->i", rest @ np.linalg.inv(a), rest)
    assert_allclose(std, np.sqrt(variance), rtol=1e-7)
    basis = stats.ortho_group(dim=len(X), seed=1).rvs()
    q = np.linalg.qr(np.column_stack([h, basis]))[0][:, h.shape[1] :]  # error contrasts
    expected = stats.multivariate_normal(cov=q.T @ c @ q).logpdf(q.T @ Y)
    assert_allclose(model.log_evidence_, expected, rtol=1e-8)
