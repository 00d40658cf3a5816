"""Gaussian process regression: what it learns, predicts, certifies and refuses."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import separatrix as sx
from separatrix.bayes.gaussian_process.learning import Bounds, EvidenceSample, learn, maximize
from separatrix.kernels.base import mirror_lower
from separatrix.matrices.cholesky import cholesky_factor, cholesky_inverse
from separatrix.threads import thread_limit

rng = np.random.default_rng(1)
X = rng.uniform(-2.0, 2.0, (60, 3))
Y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.1 * rng.standard_normal(60)


@pytest.fixture(scope="module")
def model() -> sx.GaussianProcessRegressor:
    return sx.GaussianProcessRegressor().fit(X, Y)


def test_the_maximum_is_certified(model: sx.GaussianProcessRegressor) -> None:
    assert model.certificate_.holds, str(model.certificate_)
    assert_allclose(model.certificate_.primal, -model.log_evidence_)
    c = model.kernel_.gram(model.X_train_) + 1e-10 * np.eye(len(X))
    assert_allclose(model.certificate_.condition, np.linalg.cond(c), rtol=0.5)
    value, gradient = model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True)
    assert_allclose(value, model.log_evidence_, rtol=1e-12)
    assert np.abs(gradient[~model.learned_.at_limit]).max() < 1e-5


def test_length_scales_say_which_columns_matter(model: sx.GaussianProcessRegressor) -> None:
    found = {i.column: i for i in model.hyperparameter_intervals(0.9) if i.column is not None}
    assert list(found) == ["x0", "x1", "x2"]
    assert found["x0"].determined
    assert found["x0"].lower < found["x0"].value < found["x0"].upper
    assert not found["x2"].determined
    assert 0.1 < found["x2"].lower < found["x2"].value <= found["x2"].upper
    assert "x2" in str(model.certificate_)


@pytest.mark.parametrize("factor", [1e8, 1e-8])
def test_units_change_length_scales_and_variances_only(
    model: sx.GaussianProcessRegressor, factor: float
) -> None:
    scale = np.array([factor, 1.0, 1.0 / factor])
    other = sx.GaussianProcessRegressor().fit(X * scale, factor * Y)
    assert_allclose(other.predict(X * scale), factor * model.predict(X), rtol=1e-6, atol=1e-6)
    free = ~model.learned_.at_limit
    shift = np.log([factor**2, *scale, factor**2])
    assert_allclose((other.kernel_.theta - shift)[free], model.kernel_.theta[free], atol=1e-5)
    assert_allclose(other.log_evidence_ + len(X) * np.log(factor), model.log_evidence_, atol=1e-6)


@pytest.mark.parametrize("factor", [1e-8, 1e-6, 1e8])
@pytest.mark.parametrize(
    "options", [{"n_inducing": "auto"}, {"n_inducing": 20}, {"kernel": 1.0 * sx.Matern(1.0)}]
)
def test_predictions_and_intervals_are_in_units_of_the_target(options, factor: float) -> None:
    mean, std = sx.GaussianProcessRegressor(**options).fit(X, Y).predict(X, return_std=True)
    other = sx.GaussianProcessRegressor(**options).fit(X, factor * Y)
    again, deviation = other.predict(X, return_std=True)
    assert_allclose(again / factor, mean, atol=1e-4 * Y.std())
    assert_allclose(deviation / factor, std, rtol=1e-4, atol=1e-6 * Y.std())
    assert other.certificate_.holds


def test_noise_that_was_not_given_is_scikit_learns_at_unit_variance() -> None:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, WhiteKernel

    for kernel in (RBF(1.5), 1.0 * RBF(0.7) + WhiteKernel(0.1)):
        ours = sx.GaussianProcessRegressor(kernel, optimizer=None).fit(X, Y)
        theirs = GaussianProcessRegressor(kernel, optimizer=None).fit(X, Y)
        assert np.allclose(ours.row_noise_, 1e-10, rtol=1e-12)
        assert_allclose(ours.predict(X + 0.1), theirs.predict(X + 0.1), rtol=1e-6)


def test_without_noise_the_function_interpolates() -> None:
    kernel = sx.Constant(2.0) * sx.Gaussian((1.0, 1.5, 2.0))
    exact = sx.GaussianProcessRegressor(kernel, optimizer=None, alpha=1e-12).fit(X, Y)
    mean, std = exact.predict(X, return_std=True, include_noise=False)
    assert_allclose(mean, Y, atol=1e-6)
    assert std.max() < 1e-4


def test_noise_belongs_to_y_and_not_to_f(model: sx.GaussianProcessRegressor) -> None:
    variance = model.kernel_.parameters["variance"].value
    _, y = model.predict(X[:5], return_std=True)
    _, f = model.predict(X[:5], return_std=True, include_noise=False)
    assert_allclose(y**2, f**2 + variance)
    _, joint = model.predict(X[:5], return_cov=True, include_noise=False)
    assert_allclose(np.diagonal(joint), f**2, rtol=1e-6, atol=1e-12)
    given = sx.GaussianProcessRegressor(sx.Gaussian(1.0), noise=0.3, optimizer=None).fit(X, Y)
    _, y = given.predict(X[:5], return_std=True)
    _, f = given.predict(X[:5], return_std=True, include_noise=False)
    assert_allclose(y**2, f**2 + 0.3)
    learned = sx.GaussianProcessRegressor(sx.Constant() * sx.Gaussian(), noise="learned").fit(X, Y)
    assert "variance" in learned.kernel_.parameters


def test_joint_draws_have_the_posterior_mean_and_covariance(
    model: sx.GaussianProcessRegressor,
) -> None:
    mean, covariance = model.predict(X[:4], return_cov=True)
    drawn = model.sample_y(X[:4], 20_000, random_state=0)
    assert drawn.shape == (4, 20_000)
    errors = np.sqrt(np.diagonal(covariance) / 20_000)
    assert (np.abs(drawn.mean(axis=1) - mean) < 4.0 * errors).all()
    assert_allclose(np.cov(drawn), covariance, atol=0.05 * np.diagonal(covariance).max())
    prior = sx.GaussianProcessRegressor(sx.Constant(4.0) * sx.Gaussian(1.0)).sample_y(X, 2_000)
    assert_allclose(prior.var(), 4.0, rtol=0.2)


@pytest.mark.parametrize("trend", ["none", "linear"])
def test_leave_one_out_equals_refits_with_the_same_hyperparameters(trend: str) -> None:
    fitted = sx.GaussianProcessRegressor(trend=trend).fit(X[:25], Y[:25])
    found = fitted.leave_one_out()
    for i in (0, 7, 24):
        rest = np.delete(np.arange(25), i)
        other = sx.GaussianProcessRegressor(fitted.kernel_, optimizer=None, trend=trend)
        predictive = other.fit(X[rest], Y[rest]).predictive(X[[i]])
        assert_allclose(found.mean[i], predictive.mean[0], rtol=1e-6)
        assert_allclose(found.std[i], predictive.scale[0], rtol=1e-6)
        assert_allclose(found.log_density[i], predictive.log_density(Y[[i]])[0], rtol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows(n: int) -> None:
    fitted = sx.GaussianProcessRegressor().fit(X[:n], Y[:n])
    mean, std = fitted.predict(X[:5], return_std=True)
    assert np.isfinite(mean).all()
    assert (std > 0.0).all()
    assert np.isfinite(fitted.log_evidence_)


def test_degenerate_columns_and_targets() -> None:
    x = np.column_stack([X[:, 0], np.full(len(X), 7.0), X[:, 0]])[:30]
    fitted = sx.GaussianProcessRegressor(trend="linear").fit(x, Y[:30])
    assert np.isfinite(fitted.predict(x)).all()
    x, y = X[:15], np.zeros(15)
    assert_allclose(sx.GaussianProcessRegressor().fit(x, y + 5.0).predict(x), 5.0, rtol=1e-3)
    assert_allclose(sx.GaussianProcessRegressor().fit(x, y).predict(x), 0.0)


def test_fewer_rows_than_columns_copies_and_rows_without_weight() -> None:
    x, w = X[:9], np.ones(9)
    wide = np.column_stack([x, np.random.default_rng(8).standard_normal((9, 8))])
    fitted = sx.GaussianProcessRegressor().fit(wide, Y[:9])
    assert fitted.certificate_.holds, str(fitted.certificate_)
    w[5:] = 0.0
    some = sx.GaussianProcessRegressor().fit(x, Y[:9], sample_weight=w)
    none = sx.GaussianProcessRegressor().fit(x[:5], Y[:5])
    assert np.array_equal(some.predict(X), none.predict(X))
    # two targets of one row are explained by noise alone
    twice = sx.GaussianProcessRegressor().fit(np.repeat(x, 2, axis=0), np.tile([1.0, -1.0], 9))
    assert twice.jitter_ == 0.0
    assert_allclose(twice.predict(x), 0.0, atol=1e-6)


def test_noise_is_never_added_in_silence() -> None:
    x = np.linspace(0.0, 1.0, 50)[:, None]
    smooth = sx.GaussianProcessRegressor(sx.Gaussian(10.0), alpha=0.0, optimizer=None)
    with pytest.warns(sx.SeparatrixWarning, match="SEP017"):
        smooth.fit(x, np.sin(x[:, 0]))
    assert smooth.jitter_ > 0.0
    assert "noise variance" in str(smooth.certificate_)


def test_too_many_rows_are_refused_before_they_are_allocated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "separatrix.bayes.gaussian_process.model.physical_memory", lambda: 8.0 * 50**2
    )
    with pytest.raises(sx.InputError, match="n_inducing"):
        sx.GaussianProcessRegressor().fit(X, Y)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alpha": np.ones(3)}, "same number of entries"),
        ({"alpha": -1.0}, "at least 0"),
        ({"kernel": "rbf"}, "not a kernel"),
        ({"noise": -2.0}, "noise"),
        ({"trend": "cubic"}, "trend"),
        ({"optimizer": "adam"}, "optimizer"),
        ({"n_targets": 2}, "n_targets"),
    ],
)
def test_options_are_refused_in_words(options: dict[str, object], words: str) -> None:
    with pytest.raises(sx.InputError, match=words):
        sx.GaussianProcessRegressor(**options).fit(X[:5], Y[:5])


def test_an_optimizer_of_the_caller_is_called_as_in_scikit_learn() -> None:
    def stay(objective, theta, bounds):  # type: ignore[no-untyped-def]
        assert bounds.shape == (len(theta), 2)
        value, gradient = objective(theta)
        assert_allclose(objective(theta, eval_gradient=False), value)
        assert gradient.shape == theta.shape
        return theta, value

    kernel = sx.Gaussian(1.5) + sx.White(0.1)
    fitted = sx.GaussianProcessRegressor(kernel, optimizer=stay).fit(X, Y)
    assert fitted.kernel_ == kernel.with_theta(kernel.theta)


def test_strings_have_a_process_too(tmp_path) -> None:  # type: ignore[no-untyped-def]
    words = ["banana", "bandana", "ananas", "cabana", "canal", "panama"]
    y = np.array([3.0, 3.0, 3.0, 3.0, 2.0, 3.0])
    kernel = sx.Constant(1.0) * sx.Spectrum(2).normalized()
    fitted = sx.GaussianProcessRegressor(kernel, noise="learned", trend="constant").fit(words, y)
    mean, std = fitted.predict(["bananas", "xyz"], return_std=True)
    assert std[0] < std[1]
    sx.save(fitted, tmp_path / "words.sx")
    assert np.array_equal(sx.load(tmp_path / "words.sx").predict(["bananas", "xyz"]), mean)


def test_samples_of_the_rows_lead_to_the_same_maximum() -> None:
    generator = np.random.default_rng(2)
    x = generator.uniform(-2.0, 2.0, (300, 2))
    y = np.sin(2.0 * x[:, 0]) * x[:, 1] + 0.1 * generator.standard_normal(300)
    fitted = sx.GaussianProcessRegressor().fit(x, y)
    start = sx.GaussianProcessRegressor(fitted.kernel_.with_theta(fitted.kernel_.theta + 0.05))
    assert_allclose(start.fit(x, y).log_evidence_, fitted.log_evidence_, atol=1e-5)
    assert fitted.learned_.evaluations < 15


def test_the_ascent_finds_the_top_of_a_hill_in_a_box() -> None:
    def hill(theta: np.ndarray) -> tuple[float, np.ndarray]:
        a, b = theta
        value = -((1.0 - a) ** 2) - 10.0 * (b - a**2) ** 2
        return value, np.array([2.0 * (1.0 - a) + 40.0 * a * (b - a**2), -20.0 * (b - a**2)])

    box = Bounds.of(np.array([-3.0, -3.0]), np.array([3.0, 3.0]))
    found = maximize(hill, np.array([-1.2, 1.0]), box)
    assert_allclose(found.theta, 1.0, atol=1e-5)
    assert_allclose(found.curvature, [[82.0, -40.0], [-40.0, 20.0]], rtol=0.1)
    low = maximize(hill, np.array([-1.2, 1.0]), Bounds.of(np.full(2, -3.0), np.array([0.5, 3.0])))
    assert_allclose(low.theta, [0.5, 0.25], atol=1e-5)
    assert low.at_limit.tolist() == [True, False]
    learned = learn(hill, [np.zeros(2), np.ones(2)], box, samples=[EvidenceSample(hill, 2.0)])
    assert_allclose(learned.theta, 1.0, atol=1e-5)
    assert not learned.others


@pytest.mark.parametrize("n", [3, 150, 700])
def test_inverse_from_the_factor_on_any_number_of_threads(n: int) -> None:
    a = np.random.default_rng(n).standard_normal((n, n))
    a = a @ a.T / n + np.eye(n)
    factor = cholesky_factor(a.copy())
    inverse = mirror_lower(cholesky_inverse(factor.copy()))
    assert_allclose(inverse, np.linalg.inv(a), rtol=1e-9, atol=1e-11)
    with thread_limit(1):
        assert np.array_equal(mirror_lower(cholesky_inverse(factor.copy())), inverse)
