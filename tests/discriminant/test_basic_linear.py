"""Class means: the bisecting hyperplane, and every scatter matrix against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NearestCentroid

from separatrix import BasicLinearClassifier, InputError, LeastSquaresClassifier
from separatrix.rows.rows import ArrayRows
from separatrix.rows.schema import Term


def two_classes(seed=0, pos=60, neg=40):
    rng = np.random.default_rng(seed)
    mix = np.array([[2.0, 0.5, 0.0], [0.0, 1.0, 0.3], [0.0, 0.0, 3.0]])
    x = rng.standard_normal((pos + neg, 3)) @ mix + 4.0
    x[:pos] += [1.0, -1.0, 2.0]
    return x, np.repeat([1, 0], [pos, neg])


def test_hyperplane_bisects_the_segment_between_the_means():
    x, y = two_classes()
    own = BasicLinearClassifier().fit(x, y)
    above, below = x[y == 1].mean(axis=0), x[y == 0].mean(axis=0)
    np.testing.assert_allclose(own.class_means_, [below, above])
    np.testing.assert_allclose(own.normal_, above - below, rtol=1e-12)
    assert own.threshold_ == pytest.approx((above - below) @ (above + below) / 2, rel=1e-12)
    distance = own.hyperplane_.signed_distance(np.stack([above, below]))[:, 0]
    assert distance[0] == pytest.approx(-distance[1])
    assert distance[0] == pytest.approx(np.linalg.norm(above - below) / 2)


@pytest.mark.parametrize("scatter", ["identity", "diagonal", "pooled", "total"])
@pytest.mark.parametrize("prevalence", [False, True])
def test_every_scatter_matrix(scatter, prevalence):
    """w = M⁻¹(n⁺μ⁺ − n⁻μ⁻) with M and n computed here from their definitions."""
    x, y = two_classes()
    own = BasicLinearClassifier(scatter=scatter, prevalence=prevalence).fit(x, y)
    above, below = x[y == 1], x[y == 0]
    within = (np.cov(above.T, bias=True) * 60 + np.cov(below.T, bias=True) * 40) / 100
    m = {
        "identity": np.eye(3),
        "diagonal": np.diag(x.var(axis=0)),
        "pooled": within,
        "total": x.T @ x / 100,
    }[scatter]
    n = (0.6, 0.4) if prevalence else (1.0, 1.0)
    w = np.linalg.solve(m, n[0] * above.mean(axis=0) - n[1] * below.mean(axis=0))
    np.testing.assert_allclose(own.normal_, w, rtol=1e-9)
    t = 0.0 if prevalence else w @ (above.mean(axis=0) + below.mean(axis=0)) / 2
    assert own.threshold_ == pytest.approx(t, rel=1e-9, abs=1e-12)
    np.testing.assert_array_equal(own.predict(x), (x @ w > t).astype(int))


def test_total_scatter_and_prevalence_is_least_squares_without_intercept():
    x, y = two_classes()
    own = BasicLinearClassifier(scatter="total", prevalence=True).fit(x, y)
    peer = LeastSquaresClassifier(fit_intercept=False).fit(x, y)
    np.testing.assert_allclose(own.coef_, peer.coef_, rtol=1e-9)
    wine, kind = load_wine(return_X_y=True)
    own = BasicLinearClassifier(scatter="total", prevalence=True).fit(wine, kind)
    peer = LeastSquaresClassifier(fit_intercept=False).fit(wine, kind)
    np.testing.assert_allclose(own.coef_, peer.coef_, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(own.intercept_, 0.0, atol=1e-12)
    assert "least squares" in str(own.certificate_)


def test_several_classes_are_assigned_to_the_nearest_mean():
    x, y = load_iris(return_X_y=True)
    own, peer = BasicLinearClassifier().fit(x, y), NearestCentroid().fit(x, y)
    np.testing.assert_array_equal(own.predict(x), peer.predict(x))
    distance = ((x[:, None, :] - own.class_means_) ** 2).sum(axis=2)
    scores = own.decision_function(x)
    # half the difference of squared distances is the difference of scores
    np.testing.assert_allclose(
        scores[:, 1:] - scores[:, :1], (distance[:, :1] - distance[:, 1:]) / 2, atol=1e-9
    )


@pytest.mark.parametrize("data", [load_iris, load_wine])
def test_pooled_scatter_is_linear_discriminant_analysis_with_equal_priors(data):
    x, y = data(return_X_y=True)
    own = BasicLinearClassifier(scatter="pooled").fit(x, y)
    peer = LinearDiscriminantAnalysis(solver="lsqr", priors=[1 / 3] * 3).fit(x, y)
    np.testing.assert_array_equal(own.predict(x), peer.predict(x))


def test_diagonal_is_the_identity_on_standardized_columns():
    x, y = load_wine(return_X_y=True)
    own = BasicLinearClassifier(scatter="diagonal").fit(x, y)
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    np.testing.assert_array_equal(own.predict(x), BasicLinearClassifier().fit(z, y).predict(z))


@pytest.mark.parametrize("scatter", ["diagonal", "pooled", "total"])
def test_units_do_not_matter(scatter):
    x, y = load_wine(return_X_y=True)
    unit = 10.0 ** np.random.default_rng(0).integers(-8, 9, x.shape[1])
    plain = BasicLinearClassifier(scatter=scatter).fit(x, y)
    scaled = BasicLinearClassifier(scatter=scatter).fit(x * unit, y)
    np.testing.assert_allclose(scaled.coef_ * unit, plain.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(scaled.predict(x * unit), plain.predict(x))


def test_identity_depends_on_units_and_states_it():
    x, y = load_wine(return_X_y=True)
    plain = BasicLinearClassifier().fit(x, y)
    scaled = BasicLinearClassifier().fit(x * np.r_[1e4, np.ones(12)], y)
    assert (plain.predict(x) != scaled.predict(x * np.r_[1e4, np.ones(12)])).any()
    assert "units" in str(plain.certificate_)
    assert "no optimality is claimed" in str(plain.certificate_)


def test_constant_and_repeated_columns_change_nothing():
    x, y = two_classes()
    wide = np.column_stack([x, x[:, 0], np.full(100, 0.1)])
    for scatter in ("pooled", "total", "diagonal"):
        own = BasicLinearClassifier(scatter=scatter).fit(wide, y)
        assert np.isfinite(own.coef_).all()
        if scatter != "total":
            assert own.normal_[4] == 0.0
        if scatter == "pooled":
            peer = BasicLinearClassifier(scatter="pooled").fit(x, y)
            np.testing.assert_allclose(
                own.decision_function(wide), peer.decision_function(x), rtol=1e-7
            )


def test_a_column_that_separates_by_itself_decides():
    x, y = two_classes()
    x = np.column_stack([x, 5.0 * y])
    own = BasicLinearClassifier(scatter="pooled").fit(x, y)
    np.testing.assert_array_equal(own.predict(x), y)
    assert own.normal_[3] > 1e6 * np.abs(own.normal_[:3]).max()


def test_distant_classes_keep_the_digits_of_their_scatter():
    x, y = two_classes()
    own = BasicLinearClassifier(scatter="pooled").fit(x + 2.0**24 * y[:, None], y)
    shifted = x - 2.0**24 * (1 - y[:, None])
    same = BasicLinearClassifier(scatter="pooled").fit(shifted, y)
    np.testing.assert_allclose(own.normal_, same.normal_, rtol=1e-8)


def test_partial_fit_weights_sparse_and_rows():
    x, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    whole = BasicLinearClassifier(scatter="pooled").fit(x, y)
    own = BasicLinearClassifier(scatter="pooled")
    for part in np.array_split(order, 3):
        own.partial_fit(x[part], y[part], classes=[0, 1, 2])
    np.testing.assert_allclose(own.coef_, whole.coef_, rtol=1e-9)
    w = np.random.default_rng(1).integers(0, 3, 150)
    a = BasicLinearClassifier(scatter="pooled").fit(sparse.csr_array(x), y, w)
    b = BasicLinearClassifier(scatter="pooled").fit(np.repeat(x, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-8)
    names = ["setosa", "versicolor", "virginica"]
    rows = ArrayRows(x, np.eye(3)[y], targets=[Term("kind", name) for name in names])
    by_rows = BasicLinearClassifier(scatter="pooled").fit(rows)
    np.testing.assert_allclose(by_rows.coef_, whole.coef_, rtol=1e-12)
    np.testing.assert_array_equal(by_rows.predict(x), np.array(names)[whole.predict(x)])


def test_refusals():
    x, y = two_classes()
    with pytest.raises(InputError, match="'pooled'"):
        BasicLinearClassifier(scatter="round").fit(x, y)
    with pytest.raises(InputError, match="only one class"):
        BasicLinearClassifier().fit(x, np.zeros(100))
