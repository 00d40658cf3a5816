"""Least squares as a classifier: the closed form in one column, and regression on codes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn.linear_model
from numpy.testing import assert_allclose
from scipy import optimize, sparse
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LinearRegression as TheirRegression
from sklearn.linear_model import RidgeClassifier

import separatrix as sx
from separatrix import InputError, LeastSquaresClassifier, scan
from separatrix.rows.rows import ArrayRows
from separatrix.statistics.moments import Moments


def two_classes(pos=20, neg=10, seed=0):
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.normal(3.0, 1.0, pos), rng.normal(0.0, 2.0, neg)])[:, None]
    return x, np.repeat(["yes", "no"], [pos, neg])


@pytest.mark.parametrize(("positives", "negatives"), [(20, 10), (15, 15), (3, 40)])
def test_slope_and_threshold_in_one_column(positives, negatives):
    x, y = two_classes(positives, negatives)
    own = LeastSquaresClassifier().fit(x, y)
    pos, neg = positives / (positives + negatives), negatives / (positives + negatives)
    above, below = x[y == "yes"].mean(), x[y == "no"].mean()
    slope = 2 * pos * neg * (above - below) / x.var()
    assert own.coef_[0, 0] == pytest.approx(slope, rel=1e-12)
    threshold = x.mean() - (pos - neg) / slope
    assert -own.intercept_[0] / own.coef_[0, 0] == pytest.approx(threshold, rel=1e-12)
    np.testing.assert_array_equal(own.predict(x), np.where(x[:, 0] > threshold, "yes", "no"))
    np.testing.assert_array_equal(own.classes_, ["no", "yes"])


def test_balanced_classes_are_cut_at_the_mean():
    x, y = two_classes(15, 15)
    own = LeastSquaresClassifier().fit(x, y)
    assert own.decision_function([[x.mean()]])[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("data", [load_iris, load_wine])
def test_several_classes_are_regression_on_unit_vectors(data, fit_intercept):
    x, y = data(return_X_y=True)
    own = LeastSquaresClassifier(fit_intercept=fit_intercept).fit(x, y)
    codes = np.eye(3)[y]
    peer = TheirRegression(fit_intercept=fit_intercept).fit(x, codes)
    np.testing.assert_allclose(own.coef_, peer.coef_, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(own.decision_function(x), peer.predict(x), atol=1e-9)
    np.testing.assert_array_equal(own.predict(x), peer.predict(x).argmax(axis=1))
    assert own.coef_.shape == (3, x.shape[1])


def test_two_classes_agree_with_the_ridge_classifier_at_no_penalty():
    x, y = load_wine(return_X_y=True)
    own = LeastSquaresClassifier().fit(x, y == 1)
    peer = RidgeClassifier(alpha=1e-10, solver="svd").fit(x, y == 1)
    np.testing.assert_allclose(own.coef_[0], np.ravel(peer.coef_), rtol=1e-6)
    np.testing.assert_array_equal(own.predict(x), peer.predict(x))


def test_units_change_nothing_but_the_coefficient():
    x, y = load_iris(return_X_y=True)
    unit = np.array([1e8, 1.0, 1e-8, 10.0])
    plain, scaled = LeastSquaresClassifier().fit(x, y), LeastSquaresClassifier().fit(x * unit, y)
    np.testing.assert_allclose(scaled.coef_ * unit, plain.coef_, rtol=1e-8)


def test_a_table_with_names_and_levels():
    frame = pd.DataFrame(load_iris(as_frame=True).data)
    frame["colour"] = np.where(np.arange(150) % 3, "red", "blue")
    frame["kind"] = load_iris().target_names[load_iris().target]
    own = LeastSquaresClassifier().fit(scan(frame, target="kind"))
    np.testing.assert_array_equal(own.classes_, ["setosa", "versicolor", "virginica"])
    matrix = frame.drop(columns=["kind", "colour"]).assign(blue=frame["colour"] == "blue")
    plain = LeastSquaresClassifier().fit(matrix.astype(float), frame["kind"])
    np.testing.assert_array_equal(own.predict(frame), plain.predict(matrix.astype(float)))
    np.testing.assert_array_equal(own.predict(frame.drop(columns="kind")), own.predict(frame))
    assert own.encoding_.names[-1] == "colour=blue"


def test_a_numeric_target_in_a_table_is_refused_with_the_remedy():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.5, 1.5, 7.0]})
    with pytest.raises(InputError, match="kinds"):
        LeastSquaresClassifier().fit(scan(frame, target="b"))


def test_one_class_is_refused():
    x, _ = two_classes()
    with pytest.raises(InputError, match="only one class"):
        LeastSquaresClassifier().fit(x, np.ones(len(x)))
    only_yes = np.r_[np.ones(20), np.zeros(10)]
    with pytest.raises(InputError, match="only one class"):
        LeastSquaresClassifier().fit(*two_classes(), only_yes)


def test_partial_fit_equals_fit_on_all():
    x, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    own = LeastSquaresClassifier()
    for part in np.array_split(order, 4):
        own.partial_fit(x[part], y[part], classes=[0, 1, 2])
    whole = LeastSquaresClassifier().fit(x, y)
    np.testing.assert_allclose(own.coef_, whole.coef_, rtol=1e-9)
    np.testing.assert_array_equal(own.predict(x), whole.predict(x))


def test_partial_fit_meets_classes_one_after_another():
    x, y = load_iris(return_X_y=True)
    own = LeastSquaresClassifier().partial_fit(x[:50], y[:50], classes=[0, 1, 2])
    assert set(own.predict(x)) == {0}
    own.partial_fit(x[50:100], y[50:100]).partial_fit(x[100:], y[100:])
    np.testing.assert_allclose(own.coef_, LeastSquaresClassifier().fit(x, y).coef_, rtol=1e-9)
    with pytest.raises(InputError, match="leaves out"):
        own.partial_fit(x, y, classes=[0, 1])


def test_weights_are_repeats_sparse_is_dense_and_moments_suffice():
    x, y = load_iris(return_X_y=True)
    w = np.random.default_rng(1).integers(0, 3, 150)
    a = LeastSquaresClassifier().fit(sparse.csr_array(x), y, w)
    b = LeastSquaresClassifier().fit(np.repeat(x, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-8)
    m = ArrayRows(x, np.eye(3)[y], w.astype(float)).reduce(Moments())
    np.testing.assert_allclose(np.linalg.solve(m.xx, m.xy).T, a.coef_, rtol=1e-8)


def test_no_probabilities_are_offered():
    assert not hasattr(LeastSquaresClassifier(), "predict_proba")


# -- penalties |b|ᵖ --------------------------------------------------------------------------------


def _classes(k: int):
    rng = np.random.default_rng(k)
    y = rng.integers(0, k, 150)
    x = rng.normal(size=(150, 5)) * [1.0, 10.0, 0.1, 1.0, 1.0] + y[:, None] * [1, 0, 0.1, 0, 0.5]
    x[:, 4] = x[:, 3] + 0.01 * x[:, 4]
    return x, y


@pytest.mark.parametrize("k", [2, 3])
def test_the_ends_are_ridge_and_lasso(k: int) -> None:
    x, y = _classes(k)
    codes = 2.0 * y - 1.0 if k == 2 else np.eye(k)[y]
    ridge = sx.LeastSquaresClassifier(alpha=7.0, p=2.0).fit(x, y)
    reference = sklearn.linear_model.Ridge(7.0).fit(x, codes)
    assert_allclose(ridge.coef_, np.atleast_2d(reference.coef_), rtol=1e-6, atol=1e-9)
    assert_allclose(ridge.intercept_, np.atleast_1d(reference.intercept_), rtol=1e-6, atol=1e-9)
    lasso = sx.LeastSquaresClassifier(alpha=30.0, p=1.0).fit(x, y)
    for own, target in zip(lasso.coef_, codes.reshape(150, -1).T, strict=True):
        other = sklearn.linear_model.Lasso(30.0 / 300, tol=1e-12, max_iter=100_000).fit(x, target)
        assert_allclose(own, other.coef_, rtol=1e-5, atol=1e-6)
        assert (own == 0.0).any()


@pytest.mark.parametrize("p", [1.0, 1.05, 1.3, 1.7, 2.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_between_them_a_general_minimizer_finds_nothing_better(p: float, intercept: bool) -> None:
    x, y = _classes(2)
    w = np.random.default_rng(0).uniform(0.5, 2.0, 150)
    model = sx.LeastSquaresClassifier(alpha=5.0, p=p, fit_intercept=intercept)
    model.fit(x, y, sample_weight=w)

    def value(b: np.ndarray) -> float:
        r = 2.0 * y - 1.0 - x @ b[1:] - intercept * b[0]
        return 0.5 * float(w @ r**2) + 2.5 * float((np.abs(b[1:]) ** p).sum())

    found = np.append(model.intercept_, model.coef_[0])
    assert_allclose(model.certificate_.primal, value(found), rtol=1e-9)
    assert model.certificate_.holds
    for start in (found, np.zeros(6)):
        options = {"maxiter": 20_000, "maxfev": 20_000, "xatol": 1e-10, "fatol": 1e-12}
        other = optimize.minimize(value, start, method="Nelder-Mead", options=options)
        assert value(found) <= other.fun * (1 + 1e-9)


def test_the_path_is_that_of_single_fits_and_scales_with_units() -> None:
    x, y = _classes(3)
    model = sx.LeastSquaresClassifier(alpha=1.0, p=1.5).fit(x, y)
    alphas = [100.0, 10.0, 1.0, 0.0]
    coefs, intercepts = model.path(alphas)
    for alpha, coef, intercept in zip(alphas, coefs, intercepts, strict=True):
        alone = sx.LeastSquaresClassifier(alpha=alpha, p=1.5).fit(x, y)
        assert_allclose(coef, alone.coef_, rtol=1e-5, atol=1e-8)
        assert_allclose(intercept, alone.intercept_, rtol=1e-5, atol=1e-8)
    for unit in (1e-8, 1e8):
        scaled = sx.LeastSquaresClassifier(alpha=unit**1.5, p=1.5).fit(x * unit, y)
        assert_allclose(scaled.coef_ * unit, model.coef_, rtol=1e-6, atol=1e-9)
    flat = np.column_stack([x, np.full(150, 3.0)])
    assert sx.LeastSquaresClassifier(alpha=1.0, p=1.5).fit(flat, y).coef_[0, -1] == 0.0
    for wrong in ({"alpha": -1.0}, {"p": 0.5}, {"p": 3.0}):
        with pytest.raises(sx.InputError):
            sx.LeastSquaresClassifier(**wrong).fit(x, y)


@pytest.mark.parametrize("p", [1.0, 1.2, 2.0])
@pytest.mark.parametrize("dependent", [True, False])
def test_dependent_columns_and_small_penalties_are_solved(p, dependent) -> None:
    """Fewer rows than columns, or a column that is the sum of others: solved in any unit."""
    rng = np.random.default_rng(0)
    n, d = (40, 5) if dependent else (10, 20)
    x = rng.normal(size=(n, d)) + 0.5
    if dependent:
        x[:, 4] = x[:, 0] + x[:, 1]
    y = x @ rng.normal(size=d) + 0.7 * rng.normal(size=n) > -0.5
    for unit in (1e-4, 1.0, 1e4):
        model = sx.LeastSquaresClassifier(p=p, alpha=0.01).fit(x * unit, y)
        certificate = model.certificate_
        residuals = np.where(y, 1.0, -1.0) - x * unit @ model.coef_[0] - model.intercept_
        value = 0.5 * residuals @ residuals + 0.005 * (np.abs(model.coef_) ** p).sum()
        assert certificate.holds, str(certificate)
        assert abs(certificate.primal - value) <= 1e-6 * value + certificate.rounding
