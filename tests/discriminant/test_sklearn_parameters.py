"""Parameters and attributes of scikit-learn's discriminant analyses and Gaussian naive Bayes."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.covariance import OAS
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as TheirLDA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis as TheirQDA
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB as TheirNB

import separatrix as sx
from tests.discriminant.test_gaussian_discriminant import gaussian_classes

ESTIMATES = [
    {},
    {"shrinkage": 0.3},
    {"shrinkage": "auto"},
    {"covariance_estimator": OAS()},
]


#: Solvers with what they accept: a singular value decomposition estimates nothing.
SOLVERS = [("svd", {}), *product(("lsqr", "eigen"), ESTIMATES)]


@pytest.mark.parametrize(("solver", "options"), SOLVERS, ids=str)
def test_linear_discriminant_is_that_of_scikit_learn(solver, options):
    x, y = gaussian_classes(n=60, d=8, k=3)
    given = {"solver": solver, "priors": [0.2, 0.3, 0.5], "store_covariance": True, **options}
    own, theirs = sx.LinearDiscriminantAnalysis(**given).fit(x, y), TheirLDA(**given).fit(x, y)
    for name in ("coef_", "intercept_", "covariance_", "means_", "priors_"):
        assert_allclose(getattr(own, name), getattr(theirs, name), rtol=1e-8, atol=1e-10)
    assert_allclose(own.decision_function(x), theirs.decision_function(x), rtol=1e-8, atol=1e-9)
    assert hasattr(own, "xbar_") == hasattr(theirs, "xbar_")
    if solver != "lsqr":  # which has no directions
        assert own.scalings_.shape == theirs.scalings_.shape
        assert_allclose(own.explained_variance_ratio_, theirs.explained_variance_ratio_, atol=1e-10)
        assert_allclose(np.abs(own.transform(x)), np.abs(theirs.transform(x)), rtol=1e-6)


@pytest.mark.parametrize("options", [{"reg_param": 0.2}, *ESTIMATES], ids=str)
def test_quadratic_discriminant_is_that_of_scikit_learn(options):
    x, y = gaussian_classes(n=90, d=4, k=3)
    options = {"solver": "svd" if "reg_param" in options or not options else "eigen", **options}
    own = sx.QuadraticDiscriminantAnalysis(**options).fit(x, y)
    theirs = TheirQDA(**options, store_covariance=True).fit(x, y)
    assert_allclose(own.decision_function(x), theirs.decision_function(x), rtol=1e-8)
    for a, b in zip(own.normals_, theirs.covariance_, strict=True):
        assert_allclose(a.covariance, b, rtol=1e-8, atol=1e-10)
    for a, b in zip(own.scalings_, theirs.scalings_, strict=True):
        assert_allclose(a, b, rtol=1e-8)
    for a, b in zip(own.rotations_, theirs.rotations_, strict=True):
        assert_allclose(np.abs(a), np.abs(b), atol=1e-8)


def test_directions_in_which_no_class_varies_are_left_out_as_there():
    x, y = gaussian_classes(n=24, d=30, k=3)  # fewer rows than columns
    own, theirs = sx.LinearDiscriminantAnalysis().fit(x, y), TheirLDA().fit(x, y)
    new = x + 0.3
    assert_allclose(own.decision_function(new), theirs.decision_function(new), rtol=1e-5)
    assert "Left out: 9 directions" in str(own.certificate_)
    units = 10.0 ** np.linspace(-8, 8, 30)
    scaled = sx.LinearDiscriminantAnalysis().fit(x * units, y)
    assert_allclose(scaled.decision_function(new * units), own.decision_function(new), rtol=1e-5)
    all_of_them = sx.LinearDiscriminantAnalysis(tol=0.0).fit(x, y)
    assert all_of_them.score(x, y) == 1.0
    assert "no class varies" in str(all_of_them.certificate_)


def test_ledoit_wolf_counts_weights_as_repeats_and_knows_no_units():
    x, y = gaussian_classes(n=60, d=5, k=2)
    w = np.random.default_rng(0).integers(0, 3, len(x))
    make = lambda: sx.LinearDiscriminantAnalysis("eigen", "auto")  # noqa: E731
    weighted, repeated = make().fit(x, y, w), make().fit(x.repeat(w, 0), y.repeat(w))
    assert_allclose(weighted.decision_function(x), repeated.decision_function(x), rtol=1e-9)
    units = 10.0 ** np.array([-8.0, 0.0, 8.0, 3.0, -2.0])
    assert_allclose(make().fit(x * units, y).coef_ * units, make().fit(x, y).coef_, rtol=1e-8)
    assert hasattr(sx.LinearDiscriminantAnalysis(), "partial_fit")
    assert not hasattr(make(), "partial_fit")


def test_classes_that_do_not_vary_at_all_are_separated_by_their_means():
    x, y = np.repeat([[0.0, 1.0], [1.0, 1.0]], 5, axis=0), np.repeat([0, 1], 5)
    for options in ({}, {"solver": "lsqr"}, {"solver": "eigen", "shrinkage": "auto"}):
        model = sx.LinearDiscriminantAnalysis(**options).fit(x, y)
        assert model.score(x, y) == 1.0
        assert "no class varies" in str(model.certificate_)
    with pytest.raises(np.linalg.LinAlgError, match="do not vary"):
        sx.QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(x, y)


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (sx.LinearDiscriminantAnalysis, "coef_ intercept_ scalings_ means_ priors_"),
        (sx.QuadraticDiscriminantAnalysis, "means_ priors_"),
        (sx.GaussianNB, "theta_ var_"),
    ],
)
def test_attributes_have_the_type_of_the_rows(make, names):
    x, y = gaussian_classes(k=2)
    single, double = make().fit(x.astype(np.float32), y), make().fit(x, y)
    for name in names.split():
        assert getattr(single, name).dtype == np.float32
        assert getattr(double, name).dtype == np.float64


def test_priors_that_do_not_add_up_to_one():
    x, y = gaussian_classes(k=2)
    with pytest.warns(sx.SeparatrixWarning, match="SEP014") as caught:
        model = sx.LinearDiscriminantAnalysis(priors=[1.0, 3.0]).fit(x, y)
    assert len(caught) == 1
    assert_allclose(model.priors_, [0.25, 0.75])
    with pytest.raises(sx.InputError, match="non-negative"):
        sx.LinearDiscriminantAnalysis(priors=[-0.5, 1.5]).fit(x, y)


def test_models_without_full_rank_are_stored(tmp_path):
    x, y = gaussian_classes(k=2)
    x[:, 1] = 5.0  # no direction of its own
    for make in (sx.QuadraticDiscriminantAnalysis, sx.LinearDiscriminantAnalysis, sx.GaussianNB):
        model = make().fit(x, y)
        sx.save(model, tmp_path / "m.sx")
        loaded = sx.load(tmp_path / "m.sx")
        assert np.array_equal(loaded.predict_proba(x), model.predict_proba(x))
        assert len(loaded.normals_) == 2


# -- Gaussian naive Bayes -------------------------------------------------------------------------


def test_digits_are_recognized_no_worse_than_by_scikit_learn_in_any_units():
    x, y = load_digits(return_X_y=True)
    for smoothing in (1e-9, 0.1):
        own, theirs = (make(var_smoothing=smoothing) for make in (sx.GaussianNB, TheirNB))
        assert cross_val_score(own, x, y).mean() >= cross_val_score(theirs, x, y).mean() - 0.005
    units = 10.0 ** np.random.default_rng(0).integers(-8, 9, x.shape[1])
    plain, scaled = sx.GaussianNB().fit(x, y), sx.GaussianNB().fit(x * units, y)
    assert np.array_equal(plain.predict(x), scaled.predict(x * units))


def test_joint_probabilities_are_those_of_scikit_learn():
    x, y = gaussian_classes(k=3)
    own, theirs = sx.GaussianNB().fit(x, y), TheirNB().fit(x, y)
    joint = own.predict_joint_log_proba(x)
    assert_allclose(joint, theirs.predict_joint_log_proba(x), rtol=1e-6)
    assert_allclose(own.var_, theirs.var_, rtol=1e-6)
    assert own.epsilon_.shape == (4,)


def test_portions_of_classes_that_were_announced():
    x, y = gaussian_classes(k=3)
    model = sx.GaussianNB().partial_fit(x[:200], y[:200], list("abc")).partial_fit(x[200:], y[200:])
    assert_allclose(model.predict_proba(x), sx.GaussianNB().fit(x, y).predict_proba(x), atol=1e-9)
    with pytest.raises(sx.InputError, match="first call"):
        sx.GaussianNB().partial_fit(x, y)
    for make in (sx.GaussianNB, sx.GaussianDiscriminant, sx.NaiveBayes, sx.BasicLinearClassifier):
        with pytest.raises(sx.InputError, match=r"'c'.* do not exist"):
            make().partial_fit(x, y, list("ab"))


def left_out(x, y, **options) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sx.LinearDiscriminantAnalysis(**options).fit(x, y)
    return [str(w.message) for w in caught if str(w.message).startswith("SEP020")]


@pytest.mark.parametrize("options", [{}, {"solver": "lsqr"}, {"solver": "eigen"}], ids=str)
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_a_column_that_separates_and_is_left_out_is_named(options, scale: float) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((60, 3)), np.repeat([0, 1, 2], 20)
    x[:, 1] = scale * (y == 1)
    (text,) = left_out(x, y, **options)
    assert "column 'x1'" in text
    x[:, 1] = x[:, 0] + (y == 1)  # no column by itself, and its sum with another one
    (text,) = left_out(x * [scale, 1.0, 1.0], y, **options)
    assert "'x0', 'x1'" in text
    assert "'x2'" not in text
    wide = np.column_stack([y == 1, rng.standard_normal((60, 200))]).astype(float)
    (text,) = left_out(wide, y)
    assert "column 'x0'" in text


@pytest.mark.parametrize("seed", range(10))
def test_columns_that_depend_on_others_separate_nothing(seed: int) -> None:
    """Constant, repeated and dependent columns, far from zero, in any units, or many for few."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(6, 50)), int(rng.integers(1, 12))
    x = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-6, 7, d)
    x = np.column_stack([x, x @ rng.standard_normal((d, 2)), x[:, 0], np.ones(n)])
    y = np.r_[0, 1, 0, 1, rng.integers(0, 3, n - 4)]
    assert not left_out(x, y)
    assert not left_out(x + 1e9 * rng.standard_normal(x.shape[1]), y)
    assert not left_out(rng.standard_normal((20, 200)), rng.permutation(np.arange(20) % 3))
