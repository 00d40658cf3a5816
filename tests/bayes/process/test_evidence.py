"""Evidence of a Gaussian process: scikit-learn's, closed forms, differences, repeated rows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.gaussian_process import GaussianProcessRegressor as Reference
from sklearn.gaussian_process import kernels as foreign

import separatrix as sx
from separatrix.threads import thread_limit

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
    options = {"optimizer": None, "alpha": 1e-10, "normalize_y": True}
    scaled = sx.GaussianProcessRegressor(kernel(), **options).fit(X, Y)
    y, factor = (Y - Y.mean()) / Y.std(), len(Y) * np.log(Y.std())
    covariance = kernel().gram(X) + 1e-10 * np.eye(len(X))
    expected = stats.multivariate_normal(cov=covariance).logpdf(y) - factor
    assert_allclose(scaled.log_evidence_, expected, rtol=1e-10)


@pytest.mark.parametrize("trend", ["none", "constant", "linear"])
def test_weights_are_repeated_rows_in_value_and_gradient(trend: str) -> None:
    """Copies that are not quite equal are not copies: they make the covariance of all rows."""
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


def test_bayesian_linear_regression_is_a_process_with_the_linear_kernel() -> None:
    w = np.random.default_rng(6).integers(0, 3, len(X)).astype(float)
    linear = sx.BayesianLinearRegression(0.5, noise_variance=0.3, fit_intercept=False)
    linear.fit(X, Y, sample_weight=w)
    kernel = 2.0 * sx.Linear() + sx.White(0.3)
    process = sx.GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None)
    process.fit(X, Y, sample_weight=w)
    assert_allclose(process.log_evidence_, linear.log_evidence_, rtol=1e-10)
    for a, b in zip(
        process.predict(NEW, return_std=True), linear.predict(NEW, return_std=True), strict=True
    ):
        assert_allclose(a, b, rtol=1e-9)
    ridge = sx.BayesianRidge(fit_intercept=False).fit(X, Y)
    kernel = (1.0 / ridge.lambda_) * sx.Linear() + sx.White(1.0 / ridge.alpha_)
    process.set_params(kernel=kernel).fit(X, Y)
    assert_allclose(process.log_evidence_, ridge.log_evidence_, rtol=1e-10)
    assert_allclose(process.predict(NEW), ridge.predict(NEW), rtol=1e-8)


def test_variances_beside_training_rows_have_the_digits_of_the_condition() -> None:
    """Of κ(x, x) = 1 nearly all is explained there: an error of ε times the condition is left."""
    gaussian = sx.Gaussian(2.0)
    x = np.sort(np.random.default_rng(7).uniform(0.0, 10.0, 30))[:, None]
    model = sx.GaussianProcessRegressor(gaussian, alpha=1e-6, optimizer=None).fit(x, x[:, 0])
    new = np.concatenate([x + 1e-4, x + 0.1])
    _, std = model.predict(new, return_std=True)
    k, cross = np.longdouble(gaussian.gram(x)), np.longdouble(gaussian.gram(new, x))
    c = k + np.longdouble(1e-6) * np.eye(len(x))
    solved = np.longdouble(np.linalg.solve(c.astype(float), cross.T.astype(float)))
    for _ in range(4):  # refined in extended precision
        solved += np.linalg.solve(c.astype(float), (cross.T - c @ solved).astype(float))
    expected = 1.0 - (cross * solved.T).sum(axis=1)
    assert_allclose(std**2, expected.astype(float), atol=1e-15 * model.certificate_.condition)
    assert std.min() < 1e-3


@pytest.mark.parametrize("n", [5, 700])
def test_covariances_agree_with_variances_on_any_number_of_threads(n: int) -> None:
    """700 rows are several blocks of a triangular solve."""
    x = np.random.default_rng(n).standard_normal((n, 3))
    model = sx.GaussianProcessRegressor(kernel(), optimizer=None, trend="constant").fit(x, x[:, 0])
    _, std = model.predict(NEW, return_std=True)
    _, covariance = model.predict(NEW, return_cov=True)
    assert_allclose(np.diagonal(covariance), std**2, rtol=1e-10)
    with thread_limit(1):
        assert np.array_equal(model.predict(NEW, return_std=True)[1], std)
