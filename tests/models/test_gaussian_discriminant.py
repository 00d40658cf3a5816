"""Gaussian class models against scikit-learn, closed forms, and data that has trouble in it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as TheirLDA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis as TheirQDA
from sklearn.naive_bayes import GaussianNB as TheirNB

import separatrix as sx
from separatrix.models.gaussian_classes import SPREADS

SHARED = ("shared", "shared_diagonal", "shared_spherical")


def clouds(n=300, d=4, k=3, seed=0):
    """Classes with covariances of their own."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    turn = np.eye(d) + 0.4 * rng.standard_normal((k, d, d))
    x = np.einsum("ni,nij->nj", rng.standard_normal((n, d)), turn[y])
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


@pytest.mark.parametrize("covariance", SPREADS)
def test_every_case_is_bayes_rule(covariance):
    x, y = clouds()
    model = sx.GaussianDiscriminant(covariance).fit(x, y)
    new = x[:50] + 0.3
    assert_allclose(model.predict_proba(new), by_definition(x, y, new, covariance), atol=1e-10)
    assert_allclose(np.exp(model.predict_log_proba(new)), model.predict_proba(new), atol=1e-14)
    assert model.certificate_.holds
    assert model.certificate_.kkt < 1e-12


@pytest.mark.parametrize("covariance", SPREADS)
def test_scores_are_the_stated_quadratic(covariance):
    x, y = clouds()
    model = sx.GaussianDiscriminant(covariance).fit(x, y)
    stated = np.einsum("ni,kij,nj->nk", x, model.W_, x) + x @ model.w_.T + model.w0_
    assert_allclose(model.decision_function(x), stated, atol=1e-8)
    assert (covariance in SHARED) == (not model.W_.any())


def test_numbers_of_parameters():
    x, y = clouds(d=4, k=3)
    means, shares = 12, 2
    counted = {
        "full": 30, "shared": 10, "diagonal": 12, "shared_diagonal": 4,
        "spherical": 3, "shared_spherical": 1,
    }  # fmt: skip
    for covariance, number in counted.items():
        model = sx.GaussianDiscriminant(covariance).fit(x, y)
        assert model.n_parameters_ == means + shares + number
    given = sx.GaussianDiscriminant(priors=[0.2, 0.3, 0.5]).fit(x, y)
    assert given.n_parameters_ == means + 30


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("given", [False, True])
def test_agreement_with_scikit_learn(k, given):
    x, y = clouds(k=k, seed=k)
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


def test_linear_discriminant_has_the_familiar_attributes():
    for k in (2, 4):
        x, y = clouds(k=k, d=5)
        own, theirs = sx.LinearDiscriminantAnalysis().fit(x, y), TheirLDA().fit(x, y)
        assert_allclose(own.coef_, theirs.coef_, rtol=1e-8)
        assert_allclose(own.intercept_, theirs.intercept_, rtol=1e-8)
        assert_allclose(own.decision_function(x), theirs.decision_function(x), rtol=1e-7)
        assert_allclose(own.explained_variance_ratio_, theirs.explained_variance_ratio_, atol=1e-9)
        assert own.transform(x).shape == (len(x), k - 1)
        assert_allclose(np.abs(own.transform(x)), np.abs(theirs.transform(x)), atol=1e-8)


def test_discriminant_directions_have_unit_spread_within_classes():
    x, y = clouds(k=4, d=6)
    model = sx.LinearDiscriminantAnalysis(n_components=2).fit(x * 10.0 ** np.arange(-8, 4, 2), y)
    z = model.transform(x * 10.0 ** np.arange(-8, 4, 2))
    within = sum(np.cov(z[y == c].T, bias=True) * np.mean(y == c) for c in "abcd")
    assert_allclose(within, np.eye(2), atol=1e-8)
    assert list(model.get_feature_names_out()) == [
        "lineardiscriminantanalysis0",
        "lineardiscriminantanalysis1",
    ]
    with pytest.raises(sx.InputError, match="between 1 and 3"):
        sx.LinearDiscriminantAnalysis(n_components=4).fit(x, y)


def test_nearest_mean_is_the_nearest_mean():
    x, y = clouds()
    model = sx.NearestMean().fit(x, y)
    far = np.linalg.norm(x[:, None, :] - model.means_, axis=2)
    assert np.array_equal(model.predict(x), model.classes_[far.argmin(axis=1)])


# -- one column ---------------------------------------------------------------------------------


def line(spreads, shares=(200, 200), centres=(0.0, 3.0)):
    """Two classes on a line with exactly these means and deviations."""
    parts = []
    for n, centre, spread in zip(shares, centres, spreads, strict=True):
        z = stats.norm.ppf((np.arange(n) + 0.5) / n)
        parts.append(centre + spread * (z - z.mean()) / z.std())
    return np.concatenate(parts)[:, None], np.repeat([0, 1], shares)


def test_one_threshold_with_equal_variances_moved_by_priors():
    x, y = line((1.0, 1.0))
    assert_allclose(sx.LinearDiscriminantAnalysis().fit(x, y).thresholds_, [1.5], rtol=1e-10)
    assert_allclose(sx.GaussianDiscriminant("shared").fit(x, y).thresholds_, [1.5], rtol=1e-10)
    moved = sx.LinearDiscriminantAnalysis(priors=[0.9, 0.1]).fit(x, y)
    assert_allclose(moved.thresholds_, [1.5 + np.log(9.0) / 3.0], rtol=1e-10)


def test_two_thresholds_with_unequal_variances():
    x, y = line((1.0, 2.0))
    found = sx.GaussianDiscriminant().fit(x, y).thresholds_
    # ln 1 + x²/2 = ln 2 + (x − 3)²/8, that is 3x² + 6x − 9 − 8 ln 2 = 0
    root = np.sqrt(36 + 12 * (9 + 8 * np.log(2)))
    assert_allclose(found, [(-6 - root) / 6, (-6 + root) / 6], rtol=1e-9)
    for case in ("diagonal", "spherical"):
        assert_allclose(sx.GaussianDiscriminant(case).fit(x, y).thresholds_, found, rtol=1e-9)


def test_thresholds_of_many_classes_are_where_the_answer_changes():
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
    x, y = clouds()
    with pytest.raises(sx.InputError, match="one column"):
        _ = sx.GaussianDiscriminant().fit(x, y).thresholds_


# -- trouble ------------------------------------------------------------------------------------


def test_a_class_with_too_few_rows_is_named_with_the_remedy():
    x, y = clouds(d=4, k=2)
    few = np.concatenate([np.flatnonzero(y == "a"), np.flatnonzero(y == "b")[:3]])
    with pytest.raises(sx.InputError, match=r"Class 'b' has 3 rows for 4 .*Regularized"):
        sx.GaussianDiscriminant().fit(x[few], y[few])
    for model in (
        sx.GaussianDiscriminant(beta=0.5),
        sx.GaussianDiscriminant(alpha=0.1),
        sx.QuadraticDiscriminantAnalysis(reg_param=0.1),
        sx.LinearDiscriminantAnalysis(),
    ):
        assert np.isfinite(model.fit(x[few], y[few]).predict_proba(x)).all()


def test_a_class_without_variance_in_a_column():
    x, y = clouds()
    x[y == "b", 2] = 1.0
    with pytest.raises(sx.InputError, match=r"column 'x2': all rows of class 'b'"):
        sx.GaussianDiscriminant("diagonal").fit(x, y)
    with pytest.raises(sx.InputError, match="'b' do not vary"):
        sx.GaussianDiscriminant().fit(x, y)
    assert sx.GaussianNB().fit(x, y).score(x, y) > 0.8


def test_a_direction_in_which_each_class_is_one_point_separates():
    x, y = clouds(k=2)
    x[:, 1] = np.where(y == "a", 3.0, 4.0)
    for model in (sx.LinearDiscriminantAnalysis(), sx.GaussianDiscriminant("shared_diagonal")):
        model.fit(x, y)
        assert model.score(x, y) == 1.0
        assert "agree exactly" in str(model.certificate_)


@pytest.mark.parametrize("covariance", ["full", "shared", "diagonal", "shared_diagonal"])
def test_dollars_beside_hundredths(covariance):
    x, y = clouds()
    units = np.array([1e5, 1e-2, 1.0, 1e8])
    plain = sx.GaussianDiscriminant(covariance, alpha=0.1, beta=0.1).fit(x, y)
    mixed = sx.GaussianDiscriminant(covariance, alpha=0.1, beta=0.1).fit(x * units, y)
    assert_allclose(mixed.predict_proba(x * units), plain.predict_proba(x), atol=1e-10)


def test_mixtures_meet_at_the_corners():
    x, y = clouds()
    for mix, case in (({"beta": 1.0}, "shared"), ({}, "full")):
        a = sx.GaussianDiscriminant(**mix).fit(x, y).predict_proba(x)
        assert_allclose(a, sx.GaussianDiscriminant(case).fit(x, y).predict_proba(x), atol=1e-9)
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    sphere = sx.GaussianDiscriminant("shared_spherical").fit(z, y).predict_proba(z)
    assert_allclose(
        sx.GaussianDiscriminant(alpha=1.0).fit(x, y).predict_proba(x), sphere, atol=1e-9
    )


def test_classes_that_lie_very_far_apart_keep_their_shape():
    rng = np.random.default_rng(0)
    near = rng.standard_normal((80, 3)) @ (np.eye(3) + 0.3)
    side = near[:, 0] > 0.5
    x = np.concatenate([near, near[::-1] + 1e9])
    y = np.concatenate([np.where(side, "a", "b"), np.repeat("c", 80)])
    model = sx.GaussianDiscriminant().fit(x, y)
    assert model.certificate_.rank == 3
    two = sx.GaussianDiscriminant().fit(near, y[:80])
    assert_allclose(model.predict_proba(near)[:, :2], two.predict_proba(near), atol=1e-6)


def test_columns_that_depend_on_others_change_nothing():
    x, y = clouds()
    more = np.column_stack([x, x[:, 0], x @ [1.0, 2.0, 3.0, 4.0], np.ones(len(x))])
    for case in ("full", "shared"):
        a = sx.GaussianDiscriminant(case).fit(x, y).predict_proba(x)
        model = sx.GaussianDiscriminant(case).fit(more, y)
        assert_allclose(model.predict_proba(more), a, atol=1e-9)
        assert model.certificate_.rank == 4


@pytest.mark.parametrize("labels", [np.int8, np.uint64, float, bool])
def test_labels_of_any_type_come_back(labels):
    x, y = clouds(k=2)
    named = (y == "b").astype(int)
    if labels is np.int8:
        named = named * 255 - 128  # the whole range of a byte
    named = named.astype(labels)
    model = sx.GaussianNB().fit(x, named)
    assert model.predict(x).dtype == named.dtype
    assert model.score(x, named) > 0.7


def test_scores_beyond_all_exponents():
    x, y = clouds()
    for case in SPREADS:
        model = sx.GaussianDiscriminant(case).fit(x, y)
        p = model.predict_proba(x * 1e4)
        assert np.isfinite(p).all()
        assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
        assert np.array_equal(model.classes_[p.argmax(axis=1)], model.predict(x * 1e4))
        assert np.isfinite(model.predict_log_proba(x * 1e4)).all()


def test_a_thousand_classes():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(1000), 6)
    x = rng.standard_normal((6000, 3)) + 100 * rng.standard_normal((1000, 3))[y]
    for model in (
        sx.GaussianDiscriminant(),
        sx.LinearDiscriminantAnalysis(),
        sx.GaussianNB(),
        sx.NearestMean(),
    ):
        assert model.fit(x, y).score(x[::7], y[::7]) > 0.95


def test_one_class_and_two_rows():
    with pytest.raises(sx.InputError, match="only one class"):
        sx.GaussianDiscriminant().fit(np.arange(4.0)[:, None], ["a"] * 4)
    two = sx.NearestMean().fit([[0.0], [2.0]], ["a", "b"])
    assert list(two.predict([[0.5], [1.7]])) == ["a", "b"]
    with pytest.raises(sx.InputError, match=r"'a' has 1 row for 1"):
        sx.GaussianDiscriminant().fit([[0.0], [2.0]], ["a", "b"])


def test_columns_that_never_vary_leave_the_priors():
    x, y = np.ones((10, 2)), np.array(["a"] * 7 + ["b"] * 3)
    for case in SPREADS:
        p = sx.GaussianDiscriminant(case).fit(x, y).predict_proba(x)
        assert_allclose(p, np.tile([0.7, 0.3], (10, 1)))


def test_settings_that_cannot_be():
    x, y = clouds()
    for bad, text in (
        (sx.GaussianDiscriminant("round"), "no known case"),
        (sx.GaussianDiscriminant(alpha=0.7, beta=0.7), "more than 1"),
        (sx.GaussianDiscriminant(alpha=-0.1), "between 0 and 1"),
        (sx.GaussianDiscriminant(priors=[0.5, 0.5]), "3 classes"),
        (sx.GaussianDiscriminant(priors=[0.5, 0.1, 0.1]), "add up to 1"),
        (sx.GaussianNB(var_smoothing=-1.0), "negative"),
    ):
        with pytest.raises(sx.InputError, match=text):
            bad.fit(x, y)


# -- other ways to bring rows -------------------------------------------------------------------


@pytest.mark.parametrize("covariance", SPREADS)
def test_rows_in_portions_are_rows_at_once(covariance):
    x, y = clouds()
    order = np.argsort(y, kind="stable")  # classes come one after the other
    x, y = 1e3 + x[order], y[order]
    whole = sx.GaussianDiscriminant(covariance).fit(x, y)
    parts = sx.GaussianDiscriminant(covariance, alpha=0.0)
    first = np.concatenate([np.arange(0, 20), np.arange(280, 300)])
    rest = np.setdiff1d(np.arange(300), first)
    parts.partial_fit(x[first], y[first], classes=["a", "b", "c"])
    assert (parts.predict_proba(x)[:, 1] == 0).all()  # announced, not met
    for piece in np.array_split(rest, 7):
        parts.partial_fit(x[piece], y[piece])
    assert_allclose(parts.predict_proba(x), whole.predict_proba(x), atol=1e-9)


def test_sparse_rows():
    x, y = clouds()
    x[np.abs(x) < 0.7] = 0.0
    for model in (sx.GaussianDiscriminant(), sx.LinearDiscriminantAnalysis(), sx.GaussianNB()):
        dense = model.fit(x, y).predict_proba(x)
        s = sparse.csr_array(x)
        assert_allclose(model.fit(s, y).predict_proba(s), dense, atol=1e-10)


def test_tables_with_levels_and_a_discrete_target():
    import pandas as pd

    x, y = clouds()
    frame = pd.DataFrame(x, columns=["a", "b", "c", "d"])
    frame["where"] = np.random.default_rng(9).choice(["north", "south"], len(x))
    frame["kind"] = y
    rows = sx.scan(frame, target="kind")
    design = frame[["a", "b", "c", "d"]].assign(south=frame["where"] == frame["where"].mode()[0])
    for make in (sx.GaussianDiscriminant, sx.LinearDiscriminantAnalysis, sx.GaussianNB):
        a = make().fit(rows)
        b = make().fit(design.astype(float), y)
        assert_allclose(
            a.predict_proba(frame.drop(columns="kind")),
            b.predict_proba(design.astype(float)),
            atol=1e-8,
        )
        assert list(a.classes_) == ["a", "b", "c"]


@pytest.mark.parametrize("missing", ["mean", "indicator", "drop", "regress"])
def test_tables_with_gaps_are_read_once(missing, tmp_path, monkeypatch):
    import pandas as pd

    from separatrix.rows.rows import Rows
    from separatrix.statistics.by_class import ByClass
    from separatrix.statistics.preparation import prepare

    x, y = clouds()
    rng = np.random.default_rng(9)
    x[rng.random(x.shape) < 0.1] = np.nan
    frame = pd.DataFrame(x, columns=["a", "b", "c", "d"]).assign(
        where=rng.choice(["north", "south", "east"], len(x)), kind=y
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    rows = sx.scan(tmp_path / "t.csv", target="kind", missing=missing)
    prepared = prepare(rows)
    by_class = prepared.rows.reduce(ByClass())  # the long way: encode every row, then sum
    passes = []
    plain = type(rows).reduce
    monkeypatch.setattr(
        type(rows), "reduce", lambda self, what: (passes.append(what), plain(self, what))[1]
    )
    model = sx.GaussianDiscriminant(beta=0.3).fit(rows)
    assert missing == "regress" or len(passes) == 1
    assert isinstance(rows, Rows)
    expected = {t.level: m for t, m in by_class.parts.items()}
    for label, mean, covariance in zip(
        model.classes_, model.means_, model.class_moments_.covariances, strict=True
    ):
        assert_allclose(mean, expected[label].x_mean, atol=1e-9)
        assert_allclose(covariance, expected[label].xx / expected[label].weight, atol=1e-9)


def test_a_table_whose_target_is_a_number():
    import pandas as pd

    x, _ = clouds()
    frame = pd.DataFrame(x, columns=list("abcd"))
    with pytest.raises(sx.InputError, match="holds numbers"):
        sx.GaussianDiscriminant().fit(sx.scan(frame, target="d"))


def test_shapes_of_the_classes():
    x, y = clouds()
    model = sx.GaussianDiscriminant().fit(x, y)
    log = np.column_stack([n.log_density(x) for n in model.normals_]) + np.log(model.priors_)
    log -= log.max(axis=1, keepdims=True)
    assert_allclose(np.exp(log) / np.exp(log).sum(1, keepdims=True), model.predict_proba(x))
    between = model.boundary("a", "c")
    scores = model.decision_function(x)
    assert_allclose(between.score(x), scores[:, 2] - scores[:, 0], atol=1e-8)
    with pytest.raises(sx.InputError, match="not both"):
        model.boundary("a", "z")


def test_no_warnings_on_plain_data():
    x, y = clouds()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for case in SPREADS:
            sx.GaussianDiscriminant(case).fit(x, y).predict(x)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64, bool])
def test_whole_numbers_of_any_type_are_labels(kind):
    rng = np.random.default_rng(0)
    values = [False, True] if kind is bool else [100, 3, 127] + [-100] * (kind is np.int8)
    y = np.array(values, dtype=kind)[np.arange(80) % len(values)]
    x = 10.0 * y.astype(float)[:, None] + rng.standard_normal((80, 2))
    model = sx.LinearDiscriminantAnalysis().fit(x, y)
    assert model.classes_.dtype == y.dtype
    assert (model.classes_ == np.unique(y)).all()
    assert (model.predict(x) == y).all()
