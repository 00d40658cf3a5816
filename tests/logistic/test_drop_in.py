"""Logistic regression under scikit-learn's parameters gives scikit-learn's answers."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.linear_model import LogisticRegressionCV as PeerCV
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold

import separatrix as sx

rng = np.random.default_rng(0)
X = rng.standard_normal((120, 4)) + np.array([3.0, 0.0, 0.0, -1.0])
Y = (X @ [1.0, -1.0, 0.5, 0.0] + rng.logistic(size=120) > 2.0).astype(int)
THREE = Y + (X[:, 1] > 1.0)
W = rng.integers(0, 4, 120).astype(float)


def same(ours, theirs, rtol=1e-5):
    assert_allclose(ours.coef_, theirs.coef_, rtol=rtol, atol=rtol)
    assert_allclose(ours.intercept_, theirs.intercept_, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
def test_defaults(y):
    ours, theirs = sx.LogisticRegression().fit(X, y), Peer(tol=1e-10, max_iter=10_000).fit(X, y)
    same(ours, theirs)
    assert ours.certificate_.holds
    assert ours.n_iter_.shape == (1,)
    assert ours.n_iter_.dtype == np.int32


@pytest.mark.parametrize("ratio", [0.0, 1.0])
@pytest.mark.parametrize("scaling", [1, 10.0])
def test_liblinear_penalizes_the_intercept(ratio, scaling):
    options = {"C": 0.5, "l1_ratio": ratio, "intercept_scaling": scaling, "solver": "liblinear"}
    theirs = Peer(**options, tol=1e-12, max_iter=100_000).fit(X, Y, W)
    ours = sx.LogisticRegression(**options).fit(X, Y, W)
    same(ours, theirs, rtol=1e-4)
    b = np.append(ours.coef_, ours.intercept_ / scaling)
    loss = W @ np.logaddexp(0.0, -(2 * Y - 1) * ours.decision_function(X))
    primal = 0.5 * loss + (np.abs(b).sum() if ratio else 0.5 * b @ b)
    assert ours.certificate_.holds
    assert ours.certificate_.primal == pytest.approx(primal, rel=1e-9)


def test_liblinear_with_more_columns_than_rows(rng):
    wide = np.hstack([X[:30], rng.standard_normal((30, 250))])
    for ratio in (0.0, 1.0):
        options = {"l1_ratio": ratio, "solver": "liblinear"}
        theirs = Peer(**options, tol=1e-12, max_iter=100_000).fit(wide, Y[:30])
        same(sx.LogisticRegression(**options).fit(wide, Y[:30]), theirs, rtol=2e-4)


def test_liblinear_refuses_three_classes():
    with pytest.raises(ValueError, match="OneVsRest"):
        sx.LogisticRegression(solver="liblinear").fit(X, THREE)


@pytest.mark.parametrize(
    ("penalty", "C", "ratio"), [("l1", 1.0, 1.0), ("l2", 1.0, 0.0), (None, np.inf, 0.0)]
)
def test_the_deprecated_penalty(penalty, C, ratio):
    model = sx.LogisticRegression(penalty, l1_ratio=ratio)
    with pytest.warns(FutureWarning, match="penalty"):
        model.fit(X, Y)
    same(model, sx.LogisticRegression(C=C, l1_ratio=ratio).fit(X, Y), rtol=1e-12)
    if penalty is None:
        assert np.isfinite(model.summary().standard_errors).all()


def test_other_warnings():
    with pytest.warns(FutureWarning, match="n_jobs"):
        sx.LogisticRegression(n_jobs=2).fit(X, Y)
    with pytest.warns(FutureWarning, match="l1_ratio"):
        sx.LogisticRegression(l1_ratio=None).fit(X, Y)
    with pytest.warns(UserWarning, match="Inconsistent"), pytest.warns(FutureWarning):
        sx.LogisticRegression("l2", l1_ratio=0.5).fit(X, Y)


@pytest.mark.filterwarnings("ignore:SEP003")
def test_warm_start_and_no_steps_at_all():
    start = sx.LogisticRegression(max_iter=0).fit(X, Y)
    assert not start.coef_.any()
    assert start.n_iter_ == 0
    model = sx.LogisticRegression(warm_start=True).fit(X, Y)
    before = model.sparsify().coef_.toarray()
    model.set_params(max_iter=0).fit(X, Y)
    assert_allclose(model.coef_, before, rtol=1e-12)
    two = sx.LogisticRegression(max_iter=2).fit(X, THREE)
    one = sx.LogisticRegression(max_iter=1, warm_start=True).fit(X, THREE).fit(X, THREE)
    assert_allclose(one.coef_, two.coef_, rtol=1e-9)
    other = sx.LogisticRegression(warm_start=True).fit(X[:, :2], Y).fit(X, Y)
    assert_allclose(other.coef_, before, rtol=1e-7)


def test_single_precision():
    single = sx.LogisticRegression().fit(X.astype(np.float32), Y)
    assert single.coef_.dtype == single.intercept_.dtype == np.float32
    assert_allclose(single.coef_, sx.LogisticRegression().fit(X, Y).coef_, rtol=1e-5)
    assert sx.LogisticRegression().fit(sparse.csr_array(X.astype(np.float32)), Y).coef_.dtype == (
        np.float32
    )


@pytest.mark.parametrize("to", [np.asarray, sparse.csr_array])
def test_sparse_coefficients(to):
    model = sx.LogisticRegression(C=0.05, l1_ratio=1.0).fit(X, THREE)
    dense = model.predict_proba(X)
    assert sparse.issparse(model.sparsify().coef_)
    assert_allclose(model.predict_proba(to(X)), dense, rtol=1e-12)
    assert model.signed_distance(X).shape == (120, 3)
    assert_array_equal(model.densify().predict_proba(X), dense)


def test_callbacks_see_the_fit():
    seen = []

    class Recorder:
        def setup(self, estimator, context):
            seen.append("setup")

        def on_fit_task_begin(self, estimator, context, **_):
            seen.append("begin")

        def on_fit_task_end(self, estimator, context, **_):
            seen.append("end")

        def teardown(self, estimator, context):
            seen.append("teardown")

    sx.LogisticRegression().set_callbacks(Recorder()).fit(X, Y)
    assert seen == ["setup", "begin", "end", "teardown"]


CHOICES = [
    {"scoring": "neg_log_loss", "use_legacy_attributes": False},
    {"scoring": "accuracy", "use_legacy_attributes": True},
    {"scoring": "neg_log_loss", "use_legacy_attributes": False, "refit": False},
    {"scoring": None, "use_legacy_attributes": True, "class_weight": "balanced"},
]


@pytest.mark.parametrize("options", CHOICES, ids=str)
@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
def test_cross_validation(options, y):
    common = {"Cs": 4, "cv": 3, "l1_ratios": (0.0,), **options}
    ours = sx.LogisticRegressionCV(**common).fit(X, y, W + 1.0)
    theirs = PeerCV(**common, tol=1e-8, max_iter=5000).fit(X, y, W + 1.0)
    same(ours, theirs, rtol=1e-3)
    assert_allclose(ours.C_, theirs.C_)
    assert_allclose(ours.score(X, y), theirs.score(X, y), rtol=1e-4)
    assert ours.n_iter_.shape == theirs.n_iter_.shape
    for name in ("scores_", "coefs_paths_"):
        found, expected = getattr(ours, name), getattr(theirs, name)
        if not isinstance(expected, dict):
            found, expected = {0: found}, {0: expected}
        assert list(found) == list(expected)
        for key in expected:
            assert_allclose(found[key], expected[key], atol=3e-3)


def test_cross_validation_over_ratios_tables_and_an_infinite_C(tmp_path):
    model = sx.LogisticRegressionCV(
        Cs=[1.0, np.inf, 0.01],
        l1_ratios=(0.0, 1.0),
        cv=3,
        scoring="neg_log_loss",
        use_legacy_attributes=False,
    ).fit(X, Y)
    assert model.scores_.shape == (3, 2, 3)
    alone = sx.LogisticRegression(C=model.C_, l1_ratio=model.l1_ratio_).fit(X, Y)
    same(model, alone, rtol=1e-9)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.where(Y == 1, "y", "n"))
    table = clone(model).fit(sx.scan(frame, target="kind"))
    assert_allclose(table.scores_, model.scores_, rtol=1e-6)
    sx.save(model, tmp_path / "model.sx")
    assert_array_equal(sx.load(tmp_path / "model.sx").predict(X), model.predict(X))


def test_defaults_of_cross_validation_are_about_to_change():
    with pytest.warns(FutureWarning) as caught:
        sx.LogisticRegressionCV(Cs=2, cv=2).fit(X, Y)
    words = " ".join(str(w.message) for w in caught)
    assert all(name in words for name in ("l1_ratios", "scoring", "use_legacy_attributes"))
    for bad in ({"Cs": [0.0]}, {"penalty": None}, {"penalty": "elasticnet"}, {"solver": "x"}):
        with pytest.raises(sx.InputError):
            sx.LogisticRegressionCV(**bad).fit(X, Y)


def test_metadata_routing_without_metadata():
    with config_context(enable_metadata_routing=True):
        sx.LogisticRegressionCV(
            Cs=[1.0], cv=2, l1_ratios=(0.0,), scoring="accuracy", use_legacy_attributes=False
        ).fit(X, Y)


@pytest.mark.parametrize("ratio", [0.0, 0.5])
def test_a_fold_without_a_class_is_the_fit_of_the_others(ratio):
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c", "d"], 10)
    x = rng.normal(size=(40, 2)) + np.repeat(np.arange(4.0), 10)[:, None] * [[1.0, 0.3]]
    train = np.arange(10, 40)
    model = sx.LogisticRegressionCV(
        Cs=[0.1, 10.0],
        l1_ratios=(ratio,),
        cv=[(train, np.arange(10)), (np.arange(40), train)],
        scoring="neg_log_loss",
        use_legacy_attributes=False,
    ).fit(x, y)
    for i, C in enumerate(model.Cs_):
        alone = sx.LogisticRegression(C=C, l1_ratio=ratio).fit(x[train], y[train])
        found = model.coefs_paths_[0, 0, i]
        assert_allclose(found[0, :-1], 0.0, atol=1e-6)
        assert_allclose(found[1:, :-1], alone.coef_, atol=1e-5)
        assert_allclose(np.diff(found[1:, -1]), np.diff(alone.intercept_), atol=1e-5)
    assert (model.scores_[0] < -20.0).all()  # no test row was thought possible


@pytest.mark.parametrize("scoring", ["neg_brier_score", "f1", "neg_log_loss"])
def test_folds_of_one_class(scoring):
    common = {
        "Cs": [0.1, 10.0],
        "l1_ratios": (0.0,),
        "cv": KFold(2),
        "scoring": scoring,
        "use_legacy_attributes": False,
    }
    x, y = np.arange(4.0)[:, None], np.array(["n", "n", "y", "y"])
    ours, theirs = (model(**common).fit(x, y) for model in (sx.LogisticRegressionCV, PeerCV))
    assert ours.C_ == 0.1
    assert_allclose(ours.coefs_paths_[..., 0], 0.0, atol=1e-12)
    if scoring != "neg_log_loss":  # infinite but for rounding
        assert_allclose(ours.scores_, theirs.scores_, atol=1e-2)


@pytest.mark.parametrize("model", [sx.LogisticCV(), sx.LogisticRegressionCV(Cs=3)])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_default_folds_are_no_more_than_classes_have_rows(model):
    rows = [at for k in range(3) for at in np.flatnonzero(k == THREE)[:3]]
    model.fit(X[rows], THREE[rows])
    folds = model.log_loss_path_.shape[1] if isinstance(model, sx.LogisticCV) else 3
    assert folds == 3
    if not isinstance(model, sx.LogisticCV):
        assert model.scores_[0].shape == (3, 3)
    with pytest.raises(ValueError, match=r"folds|n_splits"):
        clone(model).set_params(cv=5).fit(X[rows], THREE[rows])


def test_a_warm_start_from_nan_is_refused():
    model = sx.LogisticRegression(warm_start=True).fit(X, Y)
    model.coef_[:] = np.nan
    with pytest.raises(ValueError, match="under-/overflow"):
        model.fit(X, Y)


def test_weights_reach_a_scorer_only_if_it_asks():
    with config_context(enable_metadata_routing=True):
        for asks in (True, False):
            scorer = get_scorer("accuracy").set_score_request(sample_weight=asks)
            options = {"scoring": scorer, "l1_ratios": (0.0,), "use_legacy_attributes": False}
            ours = sx.LogisticRegressionCV(**options).fit(X, Y)
            if asks:
                theirs = PeerCV(**options, tol=1e-9).fit(X, Y)
                expected = theirs.score(X, Y, sample_weight=W)
                assert ours.score(X, Y, sample_weight=W) == pytest.approx(expected)
            else:
                with pytest.raises(TypeError, match="sample_weight"):
                    ours.score(X, Y, sample_weight=W)
