"""Gaussian class models against scikit-learn and closed forms."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import linalg, stats
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as TheirLDA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis as TheirQDA
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB as TheirNB

import separatrix as sx
from separatrix.discriminant.covariances import CovarianceShrinkage, GaussianFit
from separatrix.discriminant.gaussian_classifier import COVARIANCES, GaussianOptions, certify

SHARED = ("shared", "shared_diagonal", "shared_spherical")


def gaussian_classes(n=300, d=4, k=3, seed=0):
    """Classes with covariances of their own."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    root = np.eye(d) + 0.4 * rng.standard_normal((k, d, d))
    x = np.einsum("ni,nij->nj", rng.standard_normal((n, d)), root[y])
    return x + 1.5 * rng.standard_normal((k, d))[y], np.array(list("abcdefgh"))[y]


def by_definition(x, y, new, covariance):
    """Posteriors from SciPy's normal density, class by class."""
    classes = np.unique(y)
    within = sum(np.cov(x[y == c].T, bias=True) * (y == c).sum() for c in classes) / len(x)
    joint = []
    for c in classes:
        s = within if covariance in SHARED else np.cov(x[y == c].T, bias=True)
        if covariance.endswith("diagonal"):
            s = np.diag(np.diag(s))
        elif covariance.endswith("spherical"):
            s = np.eye(len(s)) * np.trace(s) / len(s)
        density = stats.multivariate_normal(x[y == c].mean(axis=0), s).logpdf(new)
        joint.append(np.log(np.mean(y == c)) + density)
    joint = np.array(joint).T
    joint -= joint.max(axis=1, keepdims=True)
    return np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_every_covariance_structure_is_bayes_rule(covariance):
    x, y = gaussian_classes()
    model = sx.GaussianDiscriminant(covariance).fit(x, y)
    new = x[:50] + 0.3
    assert_allclose(model.predict_proba(new), by_definition(x, y, new, covariance), atol=1e-10)
    assert_allclose(np.exp(model.predict_log_proba(new)), model.predict_proba(new), atol=1e-14)
    assert model.certificate_.holds
    assert model.certificate_.kkt < 1e-12


def test_a_certificate_without_a_number_does_not_hold():
    options = GaussianOptions("full", CovarianceShrinkage())
    fit = GaussianFit(None, np.eye(2), 2, 1.0, error=0.0)
    assert certify(options, fit, 2).holds
    assert not certify(options, replace(fit, error=np.nan), 2).holds
    assert not certify(options, replace(fit, error=1.0), 2).holds


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_scores_are_the_stated_quadratic(covariance):
    x, y = gaussian_classes()
    model = sx.GaussianDiscriminant(covariance, priors=[0.5, 0.2, 0.3]).fit(x, y)
    stated = np.einsum("ni,kij,nj->nk", x, model.W_, x) + x @ model.w_.T + model.w0_
    shared = covariance in SHARED
    if shared:  # but for what is common to all classes
        scores = model.decision_function(x)
        assert_allclose(scores - scores[:, :1], stated - stated[:, :1], atol=1e-8)
    else:
        assert_allclose(model.decision_function(x), stated, atol=1e-8)
    assert shared == (not model.W_.any())
    for k, normal in enumerate(model.normals_):
        w = np.linalg.solve(normal.covariance, normal.mean)
        assert_allclose(model.w_[k], w, rtol=1e-8)
        volume = 0.0 if shared else normal.half_log_determinant
        constant = np.log(model.priors_[k]) - 0.5 * normal.mean @ w - volume
        assert_allclose(model.w0_[k], constant, rtol=1e-8)


def test_the_coefficients_of_the_nearest_mean_are_its_templates():
    x, y = gaussian_classes()
    model = sx.NearestMean().fit(1e3 + x, y)
    variance = model.normals_[0].covariance[0, 0]
    assert_allclose(model.w_, model.means_ / variance, rtol=1e-9)
    square = np.sum(model.means_**2, axis=1)
    assert_allclose(model.w0_, np.log(1 / 3) - 0.5 * square / variance, rtol=1e-9)


def test_numbers_of_parameters():
    x, y = gaussian_classes(d=4, k=3)
    means, priors = 12, 2
    counted = {
        "full": 30, "shared": 10, "diagonal": 12, "shared_diagonal": 4,
        "spherical": 3, "shared_spherical": 1,
    }  # fmt: skip
    for covariance, number in counted.items():
        model = sx.GaussianDiscriminant(covariance).fit(x, y)
        assert model.n_parameters_ == means + priors + number
    given = sx.GaussianDiscriminant(priors=[0.2, 0.3, 0.5]).fit(x, y)
    assert given.n_parameters_ == means + 30


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("given", [False, True])
def test_agreement_with_scikit_learn(k, given):
    x, y = gaussian_classes(k=k, seed=k)
    priors = np.arange(1, k + 1) / np.arange(1, k + 1).sum() if given else None
    for own, theirs in (
        (sx.QuadraticDiscriminantAnalysis(priors=priors), TheirQDA(priors=priors, tol=0.0)),
        (
            sx.QuadraticDiscriminantAnalysis(priors=priors, reg_param=0.3),
            TheirQDA(priors=priors, reg_param=0.3, tol=0.0),
        ),
        (sx.LinearDiscriminantAnalysis(priors=priors), TheirLDA(priors=priors)),
        (sx.GaussianNB(priors=priors, var_smoothing=0), TheirNB(priors=priors, var_smoothing=0)),
        (sx.GaussianNB(priors=priors), TheirNB(priors=priors)),
    ):
        own.fit(x, y)
        theirs.fit(x, y)
        assert_allclose(own.predict_proba(x), theirs.predict_proba(x), atol=1e-6)
        assert np.array_equal(own.predict(x), theirs.predict(x))


def test_linear_discriminant_has_the_attributes_of_scikit_learn():
    for k in (2, 4):
        x, y = gaussian_classes(k=k, d=5)
        own, theirs = sx.LinearDiscriminantAnalysis().fit(x, y), TheirLDA().fit(x, y)
        assert_allclose(own.coef_, theirs.coef_, rtol=1e-8)
        assert_allclose(own.intercept_, theirs.intercept_, rtol=1e-8)
        assert_allclose(own.decision_function(x), theirs.decision_function(x), rtol=1e-7)
        assert_allclose(own.explained_variance_ratio_, theirs.explained_variance_ratio_, atol=1e-9)
        assert own.transform(x).shape == (len(x), k - 1)
        assert_allclose(np.abs(own.transform(x)), np.abs(theirs.transform(x)), atol=1e-8)


def test_discriminant_directions_have_unit_variance_within_classes():
    x, y = gaussian_classes(k=4, d=6)
    model = sx.LinearDiscriminantAnalysis(n_components=2).fit(x * 10.0 ** np.arange(-8, 4, 2), y)
    z = model.transform(x * 10.0 ** np.arange(-8, 4, 2))
    within = sum(np.cov(z[y == c].T, bias=True) * np.mean(y == c) for c in "abcd")
    assert_allclose(within, np.eye(2), atol=1e-8)
    assert list(model.get_feature_names_out()) == [
        "lineardiscriminantanalysis0",
        "lineardiscriminantanalysis1",
    ]
    with pytest.raises(sx.InputError, match="larger than 3"):
        sx.LinearDiscriminantAnalysis(n_components=4).fit(x, y)


@pytest.mark.parametrize(("k", "d"), [(8, 3), (3, 6), (4, 4)])
def test_directions_with_more_classes_than_columns_or_fewer(k, d):
    x, y = gaussian_classes(n=400, k=k, d=d)
    own, theirs = sx.LinearDiscriminantAnalysis().fit(x, y), TheirLDA().fit(x, y)
    z, expected = own.transform(x), theirs.transform(x)
    assert_allclose(np.abs(z), np.abs(expected), rtol=1e-6, atol=1e-9)
    assert_allclose(own.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-8)


def test_nearest_mean_is_the_nearest_mean():
    x, y = gaussian_classes()
    model = sx.NearestMean().fit(x, y)
    far = np.linalg.norm(x[:, None, :] - model.means_, axis=2)
    assert np.array_equal(model.predict(x), model.classes_[far.argmin(axis=1)])


def test_lda_least_squares_and_logistic_regression_find_one_direction():
    """Σ⁻¹(μ₁ − μ₀): by least squares exactly, by logistic regression where classes are normal."""
    rng = np.random.default_rng(0)
    y = (rng.random(30_000) < 0.2).astype(int)
    x = rng.standard_normal((30_000, 3)) @ rng.standard_normal((3, 3)) + y[:, None] * [1.0, -0.5, 2]
    models = (sx.LinearDiscriminantAnalysis, sx.LeastSquaresClassifier, sx.LogisticRegression)
    normals = [np.ravel(model().fit(x, y).coef_) for model in models]
    gaussian, squares, logistic = (w / np.linalg.norm(w) for w in normals)
    assert_allclose(squares, gaussian, rtol=1e-10)
    assert 1e-9 < 1.0 - logistic @ gaussian < 1e-3


def test_nearest_mean_is_template_matching():
    x, y = gaussian_classes()
    model = sx.NearestMean(priors="uniform").fit(x, y)
    match = x @ model.means_.T - 0.5 * np.sum(model.means_**2, axis=1)
    assert np.array_equal(model.predict(x), model.classes_[match.argmax(axis=1)])


# -- one column ---------------------------------------------------------------------------------


def one_column(deviations, counts=(200, 200), centers=(0.0, 3.0)):
    """Two classes on a line with exactly these means and deviations."""
    parts = []
    for n, center, deviation in zip(counts, centers, deviations, strict=True):
        z = stats.norm.ppf((np.arange(n) + 0.5) / n)
        parts.append(center + deviation * (z - z.mean()) / z.std())
    return np.concatenate(parts)[:, None], np.repeat([0, 1], counts)


def test_one_threshold_with_equal_variances_moved_by_priors():
    x, y = one_column((1.0, 1.0))
    assert_allclose(sx.LinearDiscriminantAnalysis().fit(x, y).thresholds_, [1.5], rtol=1e-10)
    assert_allclose(sx.GaussianDiscriminant("shared").fit(x, y).thresholds_, [1.5], rtol=1e-10)
    moved = sx.LinearDiscriminantAnalysis(priors=[0.9, 0.1]).fit(x, y)
    assert_allclose(moved.thresholds_, [1.5 + np.log(9.0) / 3.0], rtol=1e-10)


def test_two_thresholds_with_unequal_variances():
    x, y = one_column((1.0, 2.0))
    found = sx.GaussianDiscriminant().fit(x, y).thresholds_
    # ln 1 + x²/2 = ln 2 + (x − 3)²/8, that is 3x² + 6x − 9 − 8 ln 2 = 0
    root = np.sqrt(36 + 12 * (9 + 8 * np.log(2)))
    assert_allclose(found, [(-6 - root) / 6, (-6 + root) / 6], rtol=1e-9)
    for case in ("diagonal", "spherical"):
        assert_allclose(sx.GaussianDiscriminant(case).fit(x, y).thresholds_, found, rtol=1e-9)


def test_thresholds_of_many_classes_are_where_the_prediction_changes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 2000)
    x = (np.array([0.0, 2.0, 2.1, 9.0])[y] + rng.standard_normal(2000) * (1 + y))[:, None]
    model = sx.GaussianDiscriminant().fit(1e6 + x, y)
    grid = 1e6 + np.linspace(-60, 60, 200_001)[:, None]
    answer = model.predict(grid)
    changes = grid[1:, 0][answer[1:] != answer[:-1]]
    inside = model.thresholds_[np.abs(model.thresholds_ - 1e6) < 60]
    assert_allclose(inside, changes, atol=1e-3)


def test_thresholds_need_one_column():
    x, y = gaussian_classes()
    model = sx.GaussianDiscriminant().fit(x, y)
    with pytest.raises(AttributeError, match="one column"):
        _ = model.thresholds_
    assert not hasattr(model, "thresholds_")
    assert dir(model)


# -- the geometry of linear boundaries ------------------------------------------------------------


def test_signed_distance_margin_and_projection_of_two_classes():
    x, y = gaussian_classes(k=2)
    model = sx.LinearDiscriminantAnalysis().fit(x, y)
    w = model.coef_[0]
    assert_allclose(model.signed_distance(x), (x @ w + model.intercept_) / np.linalg.norm(w))
    side = np.where(y == "b", 1.0, -1.0)
    assert_allclose(model.margin(x, y), side * model.signed_distance(x))
    foot = model.hyperplane_.projection(x)
    assert_allclose(model.decision_function(foot), 0.0, atol=1e-9)
    assert_allclose(np.linalg.norm(x - foot, axis=1), np.abs(model.signed_distance(x)))


def test_signed_distance_and_projection_between_pairs_of_classes():
    x, y = gaussian_classes(k=3)
    for solver in ("svd", "lsqr"):
        model = sx.LinearDiscriminantAnalysis(solver).fit(x, y)
        scores = model.decision_function(x)
        between = model.pair_hyperplane("a", "c")
        assert_allclose(between.score(x)[:, 0], scores[:, 2] - scores[:, 0], atol=1e-9)
        foot = model.decision_function(between.projection(x))
        assert_allclose(foot[:, 0], foot[:, 2], atol=1e-8)
        assert ((model.margin(x, y) > 0) == (model.predict(x) == y)).all()
    with pytest.raises(sx.InputError, match="not both among"):
        model.pair_hyperplane("a", "z")


@pytest.mark.parametrize("size", [1e200, 1e308])
def test_rows_however_far_have_probabilities(size: float) -> None:
    x, y = load_iris(return_X_y=True)
    far = np.array([[0.0, 0.0, 1.0, 1.0], [1.0, 0.0, -1.0, 0.0]])
    for model in (sx.QuadraticDiscriminantAnalysis(), sx.LinearDiscriminantAnalysis()):
        found = model.fit(x, y).predict_proba(size * far)
        assert_allclose(found, model.predict_proba(1e9 * far), atol=1e-12)
        assert np.isfinite(model.decision_function(size * far)).any(axis=1).all()


# -- the structure by cross-validation -------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_auto_compares_fits_to_the_training_rows_of_each_fold(weighted: bool) -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 150)
    x = rng.normal(size=(150, 3)) * (1.0 + y[:, None]) + y[:, None]
    w = rng.uniform(0.5, 2.0, 150) if weighted else None
    folds = list(StratifiedKFold(4).split(x, y))
    model = sx.GaussianDiscriminant("auto", cv=folds).fit(x, y, sample_weight=w)
    names = ["full", "shared", "diagonal", "shared_diagonal", "spherical", "shared_spherical"]
    for i, name in enumerate(names):
        for f, (train, test) in enumerate(folds):
            part = None if w is None else w[train]
            alone = sx.GaussianDiscriminant(name).fit(x[train], y[train], sample_weight=part)
            loss = -alone.predict_log_proba(x[test])[np.arange(len(test)), y[test]]
            others = None if w is None else w[test]
            np.testing.assert_allclose(model.cv_log_loss_[i, f], np.average(loss, weights=others))
            wrong = alone.predict(x[test]) != y[test]
            np.testing.assert_allclose(model.cv_error_[i, f], np.average(wrong, weights=others))
    chosen = sx.GaussianDiscriminant(model.structure_).fit(x, y, sample_weight=w)
    np.testing.assert_allclose(model.predict_proba(x), chosen.predict_proba(x), atol=1e-10)
    table = model.comparison()
    assert table.n_parameters.tolist() == [
        sx.GaussianDiscriminant(name).fit(x, y).n_parameters_ for name in names
    ]
    assert f"Chosen: {model.structure_}" in str(table)


def test_auto_finds_the_structure_that_made_the_rows(tmp_path) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 400)
    mixing = np.array([[1.0, 0.0], [0.9, 0.3]])
    same = rng.normal(size=(800, 2)) @ mixing.T + y[:, None]
    assert sx.GaussianDiscriminant("auto").fit(same, y).structure_ == "shared"
    wider = same * np.where(y == 1, 3.0, 1.0)[:, None]
    model = sx.GaussianDiscriminant("auto").fit(wider, y)
    assert model.structure_ == "full"
    sx.save(model, tmp_path / "auto.sx")
    loaded = sx.load(tmp_path / "auto.sx")
    np.testing.assert_array_equal(loaded.predict(wider), model.predict(wider))
    assert str(loaded.comparison()) == str(model.comparison())
    more = loaded.partial_fit(wider[:50], y[:50])  # under the structure that was chosen
    assert more.structure_ == "full"
    with pytest.raises(sx.InputError, match="compares folds"):
        sx.GaussianDiscriminant("auto").partial_fit(wider, y)


def test_auto_leaves_out_what_is_singular_and_says_if_all_is() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 8)
    x = rng.normal(size=(16, 9)) + y[:, None]
    model = sx.GaussianDiscriminant("auto", cv=2).fit(x, y)
    assert np.isinf(model.cv_log_loss_[0]).all()
    assert model.structure_ != "full"
    table = pd.DataFrame({"a": x[:, 0], "b": np.where(x[:, 1] > 0, "u", "v")})
    mixed = sx.GaussianDiscriminant("auto", cv=2).fit(table, y)
    assert mixed.predict(table).shape == (16,)


# -- hyperplanes of shared covariances -------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3])
def test_hyperplanes_measure_distances_to_the_boundary(k: int) -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, k, 120)
    x = rng.normal(size=(120, 2)) * [1.0, 3.0] + 2.0 * np.eye(3)[y][:, :2]
    for model in (sx.GaussianDiscriminant("shared"), sx.NearestMean()):
        plane = model.fit(x, y).hyperplane_
        if k == 2:
            np.testing.assert_allclose(plane.score(x)[:, 0], model.decision_function(x), atol=1e-9)
            on = plane.projection(x)
            np.testing.assert_allclose(model.decision_function(on), 0.0, atol=1e-9)
            lengths = np.linalg.norm(on - x, axis=1)
            np.testing.assert_allclose(lengths, np.abs(plane.signed_distance(x)[:, 0]))
            continue
        codes = model.predict(x)
        margins = plane.class_margin(x, codes)
        assert (margins >= 0.0).all()
        angles = np.linspace(0.0, 2.0 * np.pi, 60)
        for step in 0.999 * np.column_stack([np.cos(angles), np.sin(angles)]):
            assert (model.predict(x + margins[:, None] * step) == codes).all()
    assert not hasattr(sx.GaussianDiscriminant("full").fit(x, y), "hyperplane_")


def test_nearest_means_margins_are_distances_from_the_bisector() -> None:
    x, y = np.array([[0.0, 0.0], [2.0, 0.0], [6.0, 4.0], [8.0, 4.0]]), [0, 0, 1, 1]
    plane = sx.NearestMean().fit(x, y).hyperplane_  # between the means (1, 0) and (7, 4)
    new = np.array([[0.0, 0.0], [4.0, 2.0], [9.0, -1.0]])
    distance = (new - [4.0, 2.0]) @ [6.0, 4.0] / np.sqrt(52.0)
    assert_allclose(plane.signed_distance(new)[:, 0], distance, atol=1e-12)
    assert_allclose(plane.margin(new, np.array([-1.0, 1.0, 1.0])), distance * [-1, 1, 1])
    foot = new - np.outer(distance, np.array([6.0, 4.0]) / np.sqrt(52.0))
    assert_allclose(plane.projection(new), foot, atol=1e-12)


# -- class covariances of reduced rank -------------------------------------------------------------


def test_reduced_rank_is_the_likeliest_change_of_the_pooled_covariance() -> None:
    x, y = gaussian_classes(200, 5, 3)
    model = sx.GaussianDiscriminant(rank=2).fit(x, y)
    classes = np.unique(y)
    own = np.array([np.cov(x[y == c].T, bias=True) for c in classes])
    pooled = np.average(own, axis=0, weights=[(y == c).mean() for c in classes])
    for k, sigma in enumerate(own):
        root = linalg.sqrtm(pooled).real
        inverse = np.linalg.inv(root)
        values, vectors = np.linalg.eigh(inverse @ sigma @ inverse)
        best, best_likelihood = pooled, -np.inf
        for chosen in combinations(range(5), 2):  # all choices of two eigenvectors
            changed = np.ones(5)
            changed[list(chosen)] = values[list(chosen)]
            candidate = root @ (vectors * changed) @ vectors.T @ root
            likelihood = -np.linalg.slogdet(candidate)[1] - np.trace(
                np.linalg.solve(candidate, sigma)
            )
            if likelihood > best_likelihood:
                best, best_likelihood = candidate, likelihood
        assert_allclose(model.covariance_[k], best, atol=1e-10)
    difference = model.W_[1] - model.W_[0]
    assert np.linalg.matrix_rank(difference, tol=1e-9) == 4


def test_ranks_lead_from_one_covariance_to_one_for_each_class() -> None:
    x, y = gaussian_classes()
    ends = {0: sx.GaussianDiscriminant("shared"), 4: sx.GaussianDiscriminant()}
    for rank, other in ends.items():
        model = sx.GaussianDiscriminant(rank=rank).fit(x, y)
        assert_allclose(model.predict_proba(x), other.fit(x, y).predict_proba(x), atol=1e-10)
        assert model.n_parameters_ == other.n_parameters_
        assert model.certificate_.holds


def test_a_class_of_few_rows_takes_what_it_cannot_say_from_all_classes() -> None:
    x, y = gaussian_classes(60, 6, 2)
    keep = np.concatenate([np.flatnonzero(y == "a"), np.flatnonzero(y == "b")[:3]])
    with pytest.raises(sx.InputError, match="singular"):
        sx.GaussianDiscriminant().fit(x[keep], y[keep])
    model = sx.GaussianDiscriminant(rank=4).fit(x[keep], y[keep])
    assert np.isfinite(model.predict_proba(x)).all()
    assert (np.linalg.eigvalsh(model.covariance_[1]) > 1e-4).all()


@pytest.mark.parametrize(
    ("kind", "rank", "words"), [("shared", 1, "no directions"), ("full", -1, "whole number")]
)
def test_ranks_that_are_none_are_refused(kind: str, rank: int, words: str) -> None:
    x, y = gaussian_classes(40)
    with pytest.raises(sx.InputError, match=words):
        sx.GaussianDiscriminant(kind, rank=rank).fit(x, y)
