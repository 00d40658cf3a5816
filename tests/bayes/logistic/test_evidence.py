"""Maximum a posteriori and evidence against penalized fits, differences and numerical integrals."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, optimize

import separatrix as sx
from tests.bayes.logistic.data import classes, log_posterior


def test_the_maximum_is_that_of_a_penalized_fit() -> None:
    x, y = classes(200, 4, 2)
    model = sx.BayesianLogisticRegression(prior_scale=0.7, intercept_scale=1e4).fit(x, y)
    penalized = sx.LogisticRegression(C=0.7**2, standardize=True).fit(x, y)
    assert_allclose(model.coef_, penalized.coef_, rtol=1e-6)
    assert_allclose(model.intercept_, penalized.intercept_, rtol=1e-6)


def test_with_several_classes_too_where_the_prior_is_on_log_odds() -> None:
    x, y = classes(200, 3, 3)
    model = sx.BayesianLogisticRegression(prior_scale=0.7, intercept_scale=1e4).fit(x, y)
    penalized = sx.LogisticRegression(C=0.5 * 0.7**2, standardize=True).fit(x, y)
    assert_allclose(model.coef_, penalized.coef_, rtol=1e-5, atol=1e-7)
    assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-12)


def test_several_classes_do_not_depend_on_their_order() -> None:
    x, y = classes(120, 3, 3)
    a = sx.BayesianLogisticRegression().fit(x, y)
    b = sx.BayesianLogisticRegression().fit(x, (y + 1) % 3)
    assert_allclose(a.log_evidence_, b.log_evidence_, rtol=1e-9)
    assert_allclose(np.roll(a.coef_, 1, axis=0), b.coef_, rtol=1e-6, atol=1e-9)
    assert_allclose(np.roll(a.coef_std_, 1, axis=0), b.coef_std_, rtol=1e-6)


@pytest.mark.parametrize(("rows", "error"), [(20, 0.1), (400, 0.004)])
def test_evidence_against_integration_over_two_coefficients(rows: int, error: float) -> None:
    """Laplace's approximation errs by O(1/n): the error stated here for two sizes."""
    x, y = classes(rows, 1, 2)
    model = sx.BayesianLogisticRegression(prior_scale=1.5, intercept_scale=2.0).fit(x, y)
    log_joint = log_posterior(x, y, 1.5, 2.0)
    b, a = model.coef_[0, 0] * x.std(), model.intercept_[0] + model.coef_[0, 0] * x.mean()
    sb, sa = model.posterior_.covariance.diagonal() ** 0.5
    top = log_joint(b, a)
    mass, _ = integrate.dblquad(
        lambda s, t: np.exp(log_joint(t, s) - top),
        b - 9 * sb, b + 9 * sb, a - 9 * sa, a + 9 * sa, epsabs=1e-9,
    )  # fmt: skip
    assert abs(model.log_evidence_ - (top + np.log(mass))) < error


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_prior_scale_maximizes_the_evidence(n_classes: int) -> None:
    x, y = classes(60, 3, n_classes)

    def negative(log_scale: float) -> float:
        model = sx.BayesianLogisticRegression(prior_scale=float(np.exp(log_scale)))
        return -model.fit(x, y).log_evidence_

    model = sx.BayesianLogisticRegression().fit(x, y)
    best = optimize.minimize_scalar(negative, bounds=(-5, 5), method="bounded")
    assert_allclose(np.log(model.prior_scale_), best.x, atol=1e-3)
    assert model.log_evidence_ >= -best.fun - 1e-9
    assert "derivative" in str(model.certificate_)


def test_columns_without_information_have_the_smallest_scale() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((400, 2)), np.arange(400) % 2
    x -= x[y == 1].mean(axis=0) * (y == 1)[:, None] + x[y == 0].mean(axis=0) * (y == 0)[:, None]
    model = sx.BayesianLogisticRegression().fit(x, y)
    assert_allclose(model.prior_scale_, 1e-3)
    assert model.certificate_.holds
    assert "say nothing" in str(model.certificate_)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_more_columns_than_rows_go_through_the_rows(n_classes: int) -> None:
    """The same posterior as with all coefficients, where these are few enough to invert."""
    x, y = classes(14, 20, n_classes)
    model = sx.BayesianLogisticRegression(prior_scale=0.5).fit(x, y)
    assert model.posterior_.coordinates.span.shape == (20, 13)
    # a row of weight zero more than there are columns: the other route
    many = np.vstack([x, np.zeros((10, 20))])
    w = np.append(np.ones(14), np.full(10, 1e-300))
    full = sx.BayesianLogisticRegression(prior_scale=0.5).fit(
        many, np.append(y, np.zeros(10, int)), sample_weight=w
    )
    assert full.posterior_.coordinates.span is None
    assert_allclose(model.coef_, full.coef_, rtol=1e-7, atol=1e-9)
    assert_allclose(model.coef_std_, full.coef_std_, rtol=1e-7)
    assert_allclose(model.intercept_std_, full.intercept_std_, rtol=1e-7)
    assert_allclose(model.log_evidence_, full.log_evidence_, rtol=1e-9)
    new = np.random.default_rng(3).standard_normal((5, 20))
    assert_allclose(model.predict_proba(new), full.predict_proba(new), atol=1e-8)


def test_tables_without_an_intercept_and_with_constant_columns() -> None:
    x, y = classes(80, 2, 2)
    wide = np.column_stack([x, np.full(80, 3.0)])
    constant = sx.BayesianLogisticRegression(prior_scale=1.0).fit(wide, y)
    plain = sx.BayesianLogisticRegression(prior_scale=1.0).fit(x, y)
    assert constant.coef_[0, 2] == 0.0
    assert constant.coef_std_[0, 2] == 0.0
    assert_allclose(constant.log_evidence_, plain.log_evidence_, rtol=1e-12)
    model = sx.BayesianLogisticRegression(prior_scale=10.0, fit_intercept=False).fit(wide, y)
    assert model.intercept_[0] == 0.0
    assert model.certificate_.holds
    assert abs(model.coef_[0, 2]) > 0.0  # without an intercept it is one


@pytest.mark.parametrize("x", [[[1.0], [2.0]], [[1.0], [1.0]], [[0.0, 1e8, 1.0], [0.0, -1e8, 1.0]]])
def test_two_rows_of_two_classes_have_a_posterior(x: list[list[float]]) -> None:
    model = sx.BayesianLogisticRegression().fit(x, ["a", "b"])
    assert model.certificate_.holds
    assert np.isfinite(model.predict_proba(x)).all()


def test_separable_classes_have_a_maximum() -> None:
    x = np.arange(10.0)[:, None]
    model = sx.BayesianLogisticRegression().fit(x, x[:, 0] > 4.5)
    assert model.certificate_.holds
    assert "separates the classes" in str(model.certificate_)
    assert 1.0 < model.prior_scale_ <= 1000.0
    assert_allclose(model.predict_proba([[4.5]]), 0.5, atol=1e-6)


def test_a_stream_is_read_in_blocks() -> None:
    pd = pytest.importorskip("pandas")
    x, y = classes(90, 3, 3)
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(y=np.array(["u", "v", "w"])[y])
    rows = sx.scan(frame, target="y", block_rows=17)
    model = sx.BayesianLogisticRegression().fit(rows)
    assert_allclose(model.coef_, sx.BayesianLogisticRegression().fit(x, y).coef_, rtol=1e-8)


def test_too_many_coefficients_are_refused_with_their_number() -> None:
    x = np.random.default_rng(0).standard_normal((4000, 3100))
    with pytest.raises(sx.InputError, match="3101 coefficients"):
        sx.BayesianLogisticRegression().fit(x, np.arange(4000) % 2)


@pytest.mark.parametrize("options", [{"prior_scale": 0.0}, {"intercept_scale": np.inf}])
def test_scales_must_be_positive_and_finite(options: dict[str, float]) -> None:
    with pytest.raises(sx.InputError, match="positive and finite"):
        sx.BayesianLogisticRegression(**options).fit([[0.0], [1.0]], [0, 1])
