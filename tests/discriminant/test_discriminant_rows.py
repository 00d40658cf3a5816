"""Gaussian class models on degenerate rows, and on portions, sparse rows and tables."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import separatrix as sx
from separatrix.discriminant.gaussian_classifier import COVARIANCES
from tests.discriminant.test_gaussian_discriminant import gaussian_classes


def test_a_class_with_too_few_rows_is_refused_with_a_remedy():
    x, y = gaussian_classes(d=4, k=2)
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
    x, y = gaussian_classes()
    x[y == "b", 2] = 1.0
    with pytest.raises(sx.InputError, match=r"column 'x2': all rows of class 'b'"):
        sx.GaussianDiscriminant("diagonal").fit(x, y)
    with pytest.raises(sx.InputError, match="'b' do not vary"):
        sx.GaussianDiscriminant().fit(x, y)
    assert sx.GaussianNB().fit(x, y).score(x, y) > 0.8


def test_a_direction_in_which_each_class_is_one_point_separates():
    x, y = gaussian_classes(k=2)
    x[:, 1] = np.where(y == "a", 3.0, 4.0)
    linear = sx.LinearDiscriminantAnalysis(tol=0.0)
    for model in (linear, sx.GaussianDiscriminant("shared_diagonal")):
        model.fit(x, y)
        assert model.score(x, y) == 1.0
        assert "no class varies" in str(model.certificate_)


@pytest.mark.parametrize("covariance", ["full", "shared", "diagonal", "shared_diagonal"])
def test_units_do_not_matter(covariance):
    x, y = gaussian_classes()
    units = np.array([1e5, 1e-2, 1.0, 1e8])
    plain = sx.GaussianDiscriminant(covariance, alpha=0.1, beta=0.1).fit(x, y)
    scaled = sx.GaussianDiscriminant(covariance, alpha=0.1, beta=0.1).fit(x * units, y)
    assert_allclose(scaled.predict_proba(x * units), plain.predict_proba(x), atol=1e-10)


def test_shrinkage_weights_of_one_are_the_other_structures():
    x, y = gaussian_classes()
    for shrinkage, case in (({"beta": 1.0}, "shared"), ({}, "full")):
        a = sx.GaussianDiscriminant(**shrinkage).fit(x, y).predict_proba(x)
        assert_allclose(a, sx.GaussianDiscriminant(case).fit(x, y).predict_proba(x), atol=1e-9)
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    sphere = sx.GaussianDiscriminant("shared_spherical").fit(z, y).predict_proba(z)
    assert_allclose(
        sx.GaussianDiscriminant(alpha=1.0).fit(x, y).predict_proba(x), sphere, atol=1e-9
    )


def test_distant_classes_keep_the_digits_of_their_covariance():
    rng = np.random.default_rng(0)
    near = rng.standard_normal((80, 3)) @ (np.eye(3) + 0.3)
    side = near[:, 0] > 0.5
    x = np.concatenate([near, near[::-1] + 1e9])
    y = np.concatenate([np.where(side, "a", "b"), np.repeat("c", 80)])
    model = sx.GaussianDiscriminant().fit(x, y)
    assert model.certificate_.rank == 3
    two = sx.GaussianDiscriminant().fit(near, y[:80])
    assert_allclose(model.predict_proba(near)[:, :2], two.predict_proba(near), atol=1e-6)


def test_linearly_dependent_columns_change_nothing():
    x, y = gaussian_classes()
    more = np.column_stack([x, x[:, 0], x @ [1.0, 2.0, 3.0, 4.0], np.ones(len(x))])
    for case in ("full", "shared"):
        a = sx.GaussianDiscriminant(case).fit(x, y).predict_proba(x)
        model = sx.GaussianDiscriminant(case).fit(more, y)
        assert_allclose(model.predict_proba(more), a, atol=1e-9)
        assert model.certificate_.rank == 4


@pytest.mark.parametrize("labels", [np.int8, np.uint64, float, bool])
def test_labels_of_any_type_come_back(labels):
    x, y = gaussian_classes(k=2)
    named = (y == "b").astype(int)
    if labels is np.int8:
        named = named * 255 - 128  # the whole range of a byte
    named = named.astype(labels)
    model = sx.GaussianNB().fit(x, named)
    assert model.predict(x).dtype == named.dtype
    assert model.score(x, named) > 0.7


def test_scores_that_overflow_exponentials():
    x, y = gaussian_classes()
    for case in COVARIANCES:
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


def test_constant_columns_leave_the_priors():
    x, y = np.ones((10, 2)), np.array(["a"] * 7 + ["b"] * 3)
    for case in COVARIANCES:
        p = sx.GaussianDiscriminant(case).fit(x, y).predict_proba(x)
        assert_allclose(p, np.tile([0.7, 0.3], (10, 1)))


def test_invalid_parameters():
    x, y = gaussian_classes()
    for bad, text in (
        (sx.GaussianDiscriminant("round"), "unknown"),
        (sx.GaussianDiscriminant(alpha=0.7, beta=0.7), "more than 1"),
        (sx.GaussianDiscriminant(alpha=-0.1), "between 0 and 1"),
        (sx.GaussianDiscriminant(priors=[0.5, 0.5]), "3 classes"),
        (sx.GaussianDiscriminant(priors=[0.5, 0.1, 0.1]), "add up to 0.7"),
        (sx.GaussianNB(var_smoothing=-1.0), "negative"),
    ):
        with pytest.raises(sx.InputError, match=text):
            bad.fit(x, y)


# -- portions, sparse rows, tables ----------------------------------------------------------------


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_partial_fit_agrees_with_fit(covariance):
    x, y = gaussian_classes()
    order = np.argsort(y, kind="stable")  # classes come one after the other
    x, y = 1e3 + x[order], y[order]
    whole = sx.GaussianDiscriminant(covariance).fit(x, y)
    parts = sx.GaussianDiscriminant(covariance, alpha=0.0)
    first = np.concatenate([np.arange(0, 20), np.arange(280, 300)])
    rest = np.setdiff1d(np.arange(300), first)
    parts.partial_fit(x[first], y[first], classes=["a", "b", "c"])
    assert (parts.predict_proba(x)[:, 1] == 0).all()  # announced, without rows yet
    for piece in np.array_split(rest, 7):
        parts.partial_fit(x[piece], y[piece])
    assert_allclose(parts.predict_proba(x), whole.predict_proba(x), atol=1e-9)


def test_sparse_rows():
    x, y = gaussian_classes()
    x[np.abs(x) < 0.7] = 0.0
    for model in (sx.GaussianDiscriminant(), sx.LinearDiscriminantAnalysis(), sx.GaussianNB()):
        dense = model.fit(x, y).predict_proba(x)
        s = sparse.csr_array(x)
        assert_allclose(model.fit(s, y).predict_proba(s), dense, atol=1e-10)


def test_tables_with_levels_and_a_discrete_target():
    import pandas as pd

    x, y = gaussian_classes()
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
def test_tables_with_missing_values_are_read_once(missing, tmp_path, monkeypatch):
    import pandas as pd

    from separatrix.rows.rows import Rows
    from separatrix.statistics.class_preparation import MomentsByClass
    from separatrix.statistics.moments import prepare

    x, y = gaussian_classes()
    rng = np.random.default_rng(9)
    x[rng.random(x.shape) < 0.1] = np.nan
    frame = pd.DataFrame(x, columns=["a", "b", "c", "d"]).assign(
        where=rng.choice(["north", "south", "east"], len(x)), kind=y
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    rows = sx.scan(tmp_path / "t.csv", target="kind", missing=missing)
    prepared = prepare(rows)
    by_class = prepared.rows.reduce(MomentsByClass())  # the long way: encode every row, then sum
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

    x, _ = gaussian_classes()
    frame = pd.DataFrame(x, columns=list("abcd"))
    with pytest.raises(sx.InputError, match="holds numbers"):
        sx.GaussianDiscriminant().fit(sx.scan(frame, target="d"))


def test_class_densities_and_boundaries():
    x, y = gaussian_classes()
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
    x, y = gaussian_classes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for case in COVARIANCES:
            sx.GaussianDiscriminant(case).fit(x, y).predict(x)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64, bool])
def test_integers_of_any_type_are_labels(kind):
    rng = np.random.default_rng(0)
    values = [False, True] if kind is bool else [100, 3, 127] + [-100] * (kind is np.int8)
    y = np.array(values, dtype=kind)[np.arange(80) % len(values)]
    x = 10.0 * y.astype(float)[:, None] + rng.standard_normal((80, 2))
    model = sx.LinearDiscriminantAnalysis().fit(x, y)
    assert model.classes_.dtype == y.dtype
    assert (model.classes_ == np.unique(y)).all()
    assert (model.predict(x) == y).all()
