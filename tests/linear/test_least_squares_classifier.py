"""Least squares as a classifier: the closed form in one column, and regression on codes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LinearRegression as TheirRegression
from sklearn.linear_model import RidgeClassifier

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
