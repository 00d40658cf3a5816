"""Total least squares against closed forms and a general minimiser."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from separatrix import InputError, LinearRegression, SeparatrixWarning, TotalLeastSquares
from separatrix.rows.rows import ArrayRows


def table(n=100, d=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d)) + 5.0
    return x, x @ np.arange(1.0, d + 1) - 2.0 + 0.5 * rng.standard_normal(n)


def distances(model, x, y, w=1.0):
    return np.sum(w * (y - model.predict(x)) ** 2) / (1.0 + model.coef_ @ model.coef_)


def test_one_column_closed_form():
    """tan 2θ = 2 cov / (var x − var y) for the major axis of the cloud."""
    x, y = table(60, 1)
    c = np.cov(x[:, 0], y)
    spread = c[1, 1] - c[0, 0]
    slope = (spread + np.sqrt(spread**2 + 4 * c[0, 1] ** 2)) / (2 * c[0, 1])
    own = TotalLeastSquares().fit(x, y)
    assert own.coef_[0] == pytest.approx(slope, rel=1e-12)
    assert own.intercept_ == pytest.approx(y.mean() - slope * x.mean(), rel=1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_no_other_plane_is_nearer(fit_intercept):
    x, y = table()
    w = np.random.default_rng(1).uniform(0.2, 3.0, len(y))
    own = TotalLeastSquares(fit_intercept=fit_intercept).fit(x, y, w)

    def cost(theta):
        b, a = theta[:3], theta[3] * fit_intercept
        return np.sum(w * (y - x @ b - a) ** 2) / (1 + b @ b)

    found = minimize(cost, np.append(own.coef_ + 0.1, own.intercept_), tol=1e-12)
    assert distances(own, x, y, w) <= found.fun * (1 + 1e-10)
    np.testing.assert_allclose(own.coef_, found.x[:3], atol=1e-4)
    assert own.certificate_.primal == pytest.approx(distances(own, x, y, w), rel=1e-10)
    assert own.certificate_.dual == pytest.approx(own.certificate_.primal, rel=1e-10)


def test_columns_and_target_are_alike():
    """Swapping a column with the target turns the same plane: the errors have no side."""
    x, y = table(80, 1)
    there = TotalLeastSquares().fit(x, y)
    back = TotalLeastSquares().fit(y[:, None], x[:, 0])
    assert there.coef_[0] * back.coef_[0] == pytest.approx(1.0, rel=1e-10)


def test_noise_in_the_columns_does_not_attenuate_the_coefficient():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal(20_000) * 2
    x = (truth + rng.standard_normal(20_000))[:, None]
    y = 3 * truth / 3 + rng.standard_normal(20_000)
    assert TotalLeastSquares().fit(x, y).coef_[0] == pytest.approx(1.0, abs=0.03)
    assert LinearRegression().fit(x, y).coef_[0] < 0.85


def test_several_targets_have_one_flat():
    x, y = table(100, 2)
    both = np.column_stack(
        [y, x @ [1.0, -1.0] + 0.1 * np.random.default_rng(3).standard_normal(100)]
    )
    own = TotalLeastSquares().fit(x, both)
    z = np.column_stack([x, both]) - np.column_stack([x, both]).mean(axis=0)
    values = np.linalg.svd(z, compute_uv=False)
    assert own.coef_.shape == (2, 2)
    assert own.certificate_.primal == pytest.approx(np.sum(values[-2:] ** 2), rel=1e-9)
    normal = np.linalg.qr(np.concatenate([own.coef_.T, -np.eye(2)]))[0]
    assert np.sum((z @ normal) ** 2) == pytest.approx(np.sum(values[-2:] ** 2), rel=1e-9)


def test_equal_singular_values_have_no_unique_plane():
    x = np.array([[1.0], [-1.0], [0.0], [0.0]])
    y = np.array([0.0, 0.0, 1.0, -1.0])
    with pytest.warns(SeparatrixWarning, match="SEP004"):
        own = TotalLeastSquares().fit(x, y)
    assert own.coef_[0] == pytest.approx(0.0)  # the flattest
    assert "repeats" in str(own.certificate_)


def test_a_vertical_plane_is_refused():
    x = np.array([[1.0], [-1.0], [0.0], [0.0]])
    y = np.array([0.0, 0.0, 5.0, -5.0])
    with pytest.raises(InputError, match="vertical"):
        TotalLeastSquares().fit(x, y)


def test_dependent_columns_are_named():
    x, y = table()
    alone = TotalLeastSquares().fit(x, y)
    with pytest.warns(SeparatrixWarning, match="SEP001"):
        # two equal columns are one of √2 times the length: the distance changes, so compare that
        own = TotalLeastSquares().fit(np.column_stack([x, x[:, 0], np.full(100, 3.0)]), y)
    longer = TotalLeastSquares().fit(x * [np.sqrt(2), 1, 1], y)
    np.testing.assert_allclose(own.coef_[[0, 3]], longer.coef_[0] / np.sqrt(2), rtol=1e-9)
    np.testing.assert_allclose(own.coef_[1:3], longer.coef_[1:], rtol=1e-9)
    assert own.coef_[4] == pytest.approx(0.0, abs=1e-12)
    assert alone.certificate_.dependent == ()


def test_far_from_zero_and_uneven_units_keep_their_digits():
    x, y = table()
    plain = TotalLeastSquares().fit(x, y)
    far = TotalLeastSquares().fit(x + 2.0**20, y)
    np.testing.assert_allclose(far.coef_, plain.coef_, rtol=1e-8)
    # a column of a huge unit is exact in orthogonal distance: it is then ordinary regression on it
    huge = TotalLeastSquares().fit(x * [1.0, 1.0, 1e9], y)
    swapped = TotalLeastSquares().fit(x[:, ::-1] * [1e9, 1.0, 1.0], y)
    np.testing.assert_allclose(huge.coef_, swapped.coef_[::-1], rtol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows_are_interpolated(n):
    x, y = table(n, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = TotalLeastSquares().fit(x, y)
    np.testing.assert_allclose(own.predict(x), y, atol=1e-9)


def test_weights_are_repeats_and_rows_may_be_sparse():
    x, y = table(40, 2)
    w = np.random.default_rng(0).integers(0, 4, 40)
    a = TotalLeastSquares().fit(sparse.csr_array(x), y, w)
    b = TotalLeastSquares().fit(np.repeat(x, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-10)
    np.testing.assert_allclose(
        TotalLeastSquares().fit(ArrayRows(x, y, w.astype(float))).coef_, a.coef_, rtol=1e-12
    )


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_updates_add_up_to_one_fit(fit_intercept):
    rng = np.random.default_rng(6)
    x = rng.standard_normal((90, 3)) + 5
    y = x @ [1.0, -1.0, 2.0] + 0.1 * rng.standard_normal(90)
    model = TotalLeastSquares(fit_intercept=fit_intercept)
    for start in range(0, 90, 30):
        model.partial_fit(x[start : start + 30], y[start : start + 30])
    whole = TotalLeastSquares(fit_intercept=fit_intercept).fit(x, y)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, whole.intercept_, rtol=1e-9, atol=1e-9)


def test_dependent_columns_bound_the_planes_that_the_certificate_names():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 2))
    repeated, y = np.column_stack([x, x[:, 0]]), x @ [1.0, 2.0] + rng.normal(size=30)
    with pytest.warns(SeparatrixWarning, match="SEP001.*space that the rows span"):
        model = TotalLeastSquares().fit(repeated, y)

    def distances(b):
        r = y - y.mean() - (repeated - repeated.mean(axis=0)) @ b
        return r @ r / (1 + b @ b)

    found = distances(model.coef_)
    assert found == pytest.approx(model.certificate_.dual)
    assert (
        distances(model.coef_ + np.array([1.0, 0.0, -1.0])) < found
    )  # but its normal leaves that space
    assert "normal in the space that the rows span" in model.certificate_.claim
    for step in rng.normal(size=(50, 2)):
        inside = 0.1 * np.array([step[0], step[1], step[0]])
        assert distances(model.coef_ + inside) >= found * (1 - 1e-12)
