"""Logistic regression against scikit-learn, statsmodels, closed forms and its own certificate."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression as Peer

import separatrix as sx
from separatrix.logistic.logistic_regression import LogisticRegression


def table(classes=2, n=300, d=4, seed=0, noise=2.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) @ (np.eye(d) + 0.2) + rng.uniform(-1, 1, d)
    y = np.argmax(x @ rng.normal(size=(d, classes)) + noise * rng.gumbel(size=(n, classes)), axis=1)
    return x, y


def objective(model, x, y, w=None):
    scores = x @ model.coef_.T + model.intercept_
    if len(model.classes_) == 2:
        scores = np.column_stack([np.zeros(len(x)), scores])
    own = np.searchsorted(model.classes_, y)
    loss = -np.average(log_softmax(scores, axis=1)[np.arange(len(y)), own], weights=w)
    loss *= len(y) if w is None else np.sum(w)
    if np.isinf(model.C):
        return loss
    ridge, lasso = 0.5 * np.sum(model.coef_**2), np.abs(model.coef_).sum()
    return model.C * loss + model.l1_ratio * lasso + (1 - model.l1_ratio) * ridge


@pytest.mark.parametrize("classes", [2, 3, 6])
@pytest.mark.parametrize("C", [np.inf, 10.0, 0.01])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_agrees_with_scikit_learn_with_ridge_penalty_or_none(classes, C, fit_intercept):
    x, y = table(classes)
    w = np.random.default_rng(1).uniform(0, 2, len(x))
    ours = LogisticRegression(C=C, fit_intercept=fit_intercept).fit(x, y, w)
    theirs = Peer(C=C, fit_intercept=fit_intercept, solver="newton-cholesky", tol=1e-12)
    theirs.fit(x, y, w)
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-8)
    assert_allclose(ours.predict_proba(x), theirs.predict_proba(x), atol=1e-8)
    assert ours.certificate_.holds
    assert_allclose(ours.certificate_.primal, objective(ours, x, y, w), rtol=1e-10)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("ratio", [1.0, 0.4])
@pytest.mark.parametrize("C", [1.0, 0.05])
def test_agrees_with_scikit_learn_with_elastic_net(classes, ratio, C):
    x, y = table(classes, d=6)
    ours = LogisticRegression(C=C, l1_ratio=ratio).fit(x, y)
    theirs = Peer(C=C, l1_ratio=ratio, solver="saga", tol=1e-11, max_iter=50_000).fit(x, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert ((ours.coef_ == 0) == (np.abs(theirs.coef_) < 1e-9)).all()
    assert ours.certificate_.holds
    assert_allclose(ours.certificate_.primal, objective(ours, x, y), rtol=1e-10)
    assert ours.certificate_.dual <= ours.certificate_.primal * (1 + 1e-12)


@pytest.mark.parametrize(("ratio", "d"), [(0.0, 900), (1.0, 900), (0.5, 900), (1.0, 450)])
@pytest.mark.parametrize("classes", [2, 3])
def test_more_columns_than_rows(ratio, d, classes):
    x, y = table(classes, n=60, d=d, noise=20.0)
    model = LogisticRegression(C=0.1, l1_ratio=ratio).fit(x, y)
    assert model.certificate_.holds
    assert_allclose(model.certificate_.primal, objective(model, x, y), rtol=1e-9)
    if not ratio:
        theirs = Peer(C=0.1, tol=1e-9, max_iter=10_000).fit(x, y)
        assert_allclose(model.coef_, theirs.coef_, atol=1e-5)
    else:
        assert 0 < np.count_nonzero(model.coef_) < model.coef_.size


def test_inference_of_two_classes_agrees_with_statsmodels():
    x, y = table()
    theirs = sm.Logit(y, sm.add_constant(x)).fit(disp=0, tol=1e-12)
    ours = LogisticRegression(C=np.inf).fit(x, y).summary(level=0.9)
    assert_allclose(ours.estimates, theirs.params, rtol=1e-6)
    assert_allclose(ours.standard_errors, theirs.bse, rtol=1e-6)
    assert_allclose(ours.p_values, theirs.pvalues, rtol=1e-5, atol=1e-12)
    assert_allclose(ours.intervals, theirs.conf_int(0.1), rtol=1e-5)
    assert_allclose(ours.log_likelihood, theirs.llf)
    assert_allclose(ours.likelihood_ratio_p, theirs.llr_pvalue, rtol=1e-6)
    assert_allclose([ours.aic, ours.bic], [theirs.aic, theirs.bic])
    assert_allclose(ours.odds_ratios, np.exp(theirs.params), rtol=1e-6)
    assert "odds ratio" in str(ours)
    assert next(iter(ours.to_frame()["term"])) == "intercept"


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_inference_of_three_classes_agrees_with_statsmodels(fit_intercept):
    x, y = table(3)
    design = sm.add_constant(x) if fit_intercept else x
    theirs = sm.MNLogit(y, design).fit(disp=0, method="newton", tol=1e-12)
    model = LogisticRegression(C=np.inf, reference=0, fit_intercept=fit_intercept).fit(x, y)
    ours = model.summary()
    assert_allclose(ours.estimates, np.asarray(theirs.params).T.ravel(), rtol=1e-6, atol=1e-9)
    assert_allclose(ours.standard_errors, np.asarray(theirs.bse).T.ravel(), rtol=1e-6)
    assert not model.coef_[0].any()
    free = LogisticRegression(C=np.inf, fit_intercept=fit_intercept).fit(x, y)
    assert_allclose(free.predict_proba(x), model.predict_proba(x), atol=1e-10)
    assert_allclose(free.coef_.sum(axis=0), 0, atol=1e-9)


def test_inference_is_refused_where_its_theory_fails():
    x, y = table()
    with pytest.raises(sx.InputError, match="penalty shrinks"):
        LogisticRegression(C=1.0).fit(x, y).summary()
    with pytest.warns(sx.SeparatrixWarning, match="SEP006"):
        model = LogisticRegression(C=np.inf).fit(x, x[:, 0] > 0)
    with pytest.raises(sx.InputError, match="separable"):
        model.summary()


def test_one_indicator_has_the_odds_ratio_of_its_table():
    x = np.repeat([[0.0], [0.0], [1.0], [1.0]], [30, 10, 15, 45], axis=0)
    y = np.repeat(["no", "yes", "no", "yes"], [30, 10, 15, 45])
    model = LogisticRegression(C=np.inf).fit(x, y)
    assert_allclose(model.coef_[0, 0], np.log(45 / 15 / (10 / 30)), rtol=1e-9)
    assert_allclose(model.intercept_[0], np.log(10 / 30), rtol=1e-9)
    error = np.sqrt(1 / 30 + 1 / 10 + 1 / 15 + 1 / 45)
    assert_allclose(model.summary().standard_errors[1], error, rtol=1e-9)


def test_separable_classes_are_detected_with_the_direction():
    x, _ = table()
    y = np.where(x @ [1.0, -1.0, 0.0, 2.0] > 0.3, "a", "b")
    with pytest.warns(sx.SeparatrixWarning, match="SEP006"):
        model = LogisticRegression(C=np.inf).fit(x, y)
    found = model.separation_
    margins = (x @ found.coef + found.intercept)[:, 0] * np.where(y == model.classes_[1], 1, -1)
    assert found.complete
    assert margins.min() > 0
    assert_allclose(found.smallest_margin, margins.min(), rtol=1e-6)
    assert (model.predict(x) == y).all()
    assert "maximum likelihood estimate does not exist" in str(model.certificate_)
    assert "nan" not in str(model.certificate_)
    assert not model.certificate_.holds


def test_rows_on_the_boundary_do_not_hide_separation():
    with pytest.warns(sx.SeparatrixWarning, match="SEP006"):
        model = LogisticRegression(C=np.inf).fit(
            [[1.0], [2.0], [3.0], [3.0], [4.0]], [0, 0, 0, 1, 1]
        )
    assert not model.separation_.complete
    assert not model.certificate_.holds
    assert_allclose(-model.separation_.intercept[0] / model.separation_.coef[0, 0], 3.0)


def test_nearly_separable_classes_are_not_separable():
    x = np.concatenate([np.linspace(0, 1, 500), np.linspace(0.999, 2, 500)])[:, None]
    y = np.repeat([0, 1], 500)
    model = LogisticRegression(C=np.inf).fit(x, y)
    assert model.separation_ is None
    assert model.certificate_.holds
    assert model.coef_[0, 0] > 100


@pytest.mark.parametrize("classes", [2, 4])
def test_probabilities_of_huge_scores(classes):
    x, y = table(classes)
    model = LogisticRegression(C=1.0).fit(x, y)
    for size in (1e4, 1e8):
        p = model.predict_proba(x * size)
        assert np.isfinite(p).all()
        assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
        assert (model.classes_[p.argmax(axis=1)] == model.predict(x * size)).all()
        assert np.isfinite(model.predict_log_proba(x * size)).all()
    assert_allclose(model.predict_log_proba(x), np.log(model.predict_proba(x)), atol=1e-12)


def test_dependent_columns_have_the_coefficients_of_smallest_norm():
    x, y = table()
    with pytest.warns(sx.SeparatrixWarning, match="SEP001"):
        twice = LogisticRegression(C=np.inf).fit(np.column_stack([x, x[:, 0], np.ones(len(x))]), y)
    once = LogisticRegression(C=np.inf).fit(x, y)
    assert_allclose(twice.coef_[0, 0] + twice.coef_[0, 4], once.coef_[0, 0], rtol=1e-7)
    assert_allclose(twice.coef_[0, 0], twice.coef_[0, 4], rtol=1e-7)
    errors = twice.summary().standard_errors  # the intercept, four columns, a copy, a constant
    assert (np.isnan(errors) == [False, True, False, False, False, True, True]).all()
    assert_allclose(errors[2:5], once.summary().standard_errors[2:5], rtol=1e-6)


def test_sparse_rows_and_class_weights():
    x, y = table(3)
    x = np.where(np.abs(x) < 0.7, 0.0, x)
    dense = LogisticRegression(C=2.0, class_weight="balanced").fit(x, y)
    from_sparse = LogisticRegression(C=2.0, class_weight="balanced").fit(sparse.csr_array(x), y)
    theirs = Peer(C=2.0, class_weight="balanced", solver="newton-cholesky", tol=1e-12).fit(x, y)
    assert_allclose(from_sparse.coef_, dense.coef_, rtol=1e-9)
    assert_allclose(dense.coef_, theirs.coef_, rtol=1e-6)


def test_sampled_starts_and_many_classes_reach_the_optimum():
    x, y = table(12, n=30_000, d=20)
    model = LogisticRegression(C=1.0).fit(x, y)  # too many coefficients for Hessians of all rows
    theirs = Peer(C=1.0, tol=1e-8, solver="newton-cholesky").fit(x, y)
    assert model.certificate_.holds
    assert_allclose(model.predict_proba(x), theirs.predict_proba(x), atol=1e-5)
    x, y = table(2, n=90_000, d=5)
    order = np.argsort(y, kind="stable")
    model = LogisticRegression(C=np.inf).fit(x[order], y[order])
    assert model.certificate_.holds
    assert model.n_iter_ <= 5


def test_a_thousand_classes():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(3000, 3)), np.arange(3000) % 1000
    model = LogisticRegression(C=1e-3, tol=1e-6).fit(x, y)
    assert model.certificate_.holds
    assert_allclose(model.predict_proba(x).sum(axis=1), 1.0)


def test_streamed_table_with_a_discrete_column(tmp_path):
    rng = np.random.default_rng(0)
    x, kind = rng.normal(size=500), rng.choice(["red", "green", "blue"], 500)
    y = np.where(x + (kind == "red") + rng.logistic(size=500) > 0, "yes", "no")
    lines = [f"{a},{k},{b}" for a, k, b in zip(x, kind, y, strict=True)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["x,kind,y", *lines]))
    model = LogisticRegression(C=np.inf).fit(sx.scan(path, target="y"))
    design = np.column_stack([x, *[(kind == c) for c in ("red", "green", "blue")][:2]])
    theirs = sm.Logit(y == "yes", sm.add_constant(design.astype(float))).fit(disp=0, tol=1e-12)
    assert_allclose(model.fit_statistics_.log_likelihood, theirs.llf, rtol=1e-9)
    assert list(model.classes_) == ["no", "yes"]
    assert model.predict_proba(path).shape == (500, 2)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"C": 0.0}, "C="),
        ({"l1_ratio": 1.5}, "l1_ratio"),
        ({"tol": -1.0}, "tol"),
        ({"penalty": 0.1}, "C=0.1"),
        ({"solver": "newton"}, "solver"),
        ({"max_iter": -1}, "max_iter"),
        ({"C": "1"}, "C="),
        ({"intercept_scaling": 0}, "intercept_scaling"),
        ({"penalty": "elasticnet", "l1_ratio": None}, "l1_ratio"),
        ({"reference": "x"}, "reference"),
    ],
)
def test_invalid_parameters(bad, words):
    x, y = table(3)
    with pytest.raises(sx.InputError, match=words):
        LogisticRegression(**bad).fit(x, y)


def test_one_class_is_refused():
    with pytest.raises(sx.InputError, match="one class"):
        LogisticRegression(C=np.inf).fit([[1.0], [2.0]], ["a", "a"])


@pytest.mark.parametrize("classes", [2, 3])
def test_dask_partitions_agree_with_memory(classes):
    import dask.dataframe as dd
    import pandas as pd

    x, y = table(classes)
    frame = pd.DataFrame(x, columns=list("abcd"))
    frame["y"] = np.array(["u", "v", "w"])[y]
    distributed = LogisticRegression(C=np.inf).fit(
        sx.scan(dd.from_pandas(frame, npartitions=3), target="y")
    )
    whole = LogisticRegression(C=np.inf).fit(x, frame["y"].to_numpy())
    assert_allclose(distributed.coef_, whole.coef_, rtol=1e-8, atol=1e-10)
    assert_allclose(
        distributed.summary().standard_errors, whole.summary().standard_errors, rtol=1e-8
    )


def test_distant_outliers_on_the_wrong_side_do_not_stall_newton():
    x, y = table()
    x[:3] *= np.array([[1e3], [-1e4], [1e5]])
    for C in (np.inf, 1.0):
        model = LogisticRegression(C=C).fit(x, y)
        assert model.certificate_.holds, str(model.certificate_)
        theirs = Peer(C=C, solver="newton-cholesky", tol=1e-10, max_iter=1000)
        theirs.fit(x / x.std(axis=0), y)
        if np.isinf(C):
            scaled = theirs.predict_proba(x / x.std(axis=0))
            assert_allclose(model.predict_proba(x), scaled, atol=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
def test_units_weights_and_order(classes):
    x, y = table(classes)
    plain = LogisticRegression(C=np.inf).fit(x, y)
    assert plain.separation_ is None
    scale = np.array([1e8, 1.0, 1e-8, 1.0])
    assert_allclose(
        LogisticRegression(C=np.inf).fit(x * scale, y).coef_ * scale, plain.coef_, rtol=1e-7
    )
    order = np.random.default_rng(1).permutation(len(x))
    assert_allclose(
        LogisticRegression(C=np.inf).fit(x[order], y[order]).coef_, plain.coef_, rtol=1e-7
    )
    w = np.random.default_rng(2).integers(0, 4, len(x))
    weighted = LogisticRegression(C=np.inf).fit(x, y, w.astype(float))
    repeated = LogisticRegression(C=np.inf).fit(np.repeat(x, w, axis=0), np.repeat(y, w))
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-7)
    errors = [m.summary().standard_errors for m in (weighted, repeated)]
    assert_allclose(errors[0], errors[1], rtol=1e-6)


@pytest.mark.parametrize("given", ["balanced", {"a": 3.0, "b": 0.5}])
@pytest.mark.parametrize("weighted", [False, True])
def test_class_weights_in_tables_and_arrays(given, weighted, tmp_path):
    import pandas as pd

    rng = np.random.default_rng(3)
    x = rng.standard_normal((300, 3))
    scores = x @ rng.standard_normal((3, 3)) + rng.gumbel(size=(300, 3)) + [1.0, 0.0, -1.0]
    y = np.array(list("abc"))[scores.argmax(axis=1)]
    w = rng.integers(1, 4, 300).astype(float) if weighted else None
    model = sx.LogisticRegression(C=1.0, class_weight=given)
    repeats = np.ones(300, dtype=int) if w is None else w.astype(int)
    peer = Peer(C=1.0, class_weight=given, solver="newton-cholesky", tol=1e-12)
    peer.fit(np.repeat(x, repeats, axis=0), np.repeat(y, repeats))
    arrays = model.fit(x, y, w)
    assert_allclose(arrays.coef_, peer.coef_, atol=1e-6)
    frame = pd.DataFrame(x, columns=list("pqr")).assign(kind=y, w=1.0 if w is None else w)
    frame.to_parquet(tmp_path / "t.parquet")
    for source in (frame, tmp_path / "t.parquet"):
        table = sx.scan(source, target="kind", weight="w")
        found = sx.LogisticRegression(C=1.0, class_weight=given).fit(table)
        assert_allclose(found.coef_, arrays.coef_, atol=1e-7)
        assert_allclose(found.intercept_, arrays.intercept_, atol=1e-7)


def test_invalid_class_weights():
    x, y = np.arange(12.0).reshape(6, 2), ["a", "b"] * 3
    for given, text in (
        ("even", "not a mapping"),
        ({"z": 2.0}, "names 'z'"),
        ({"a": -1.0}, "not neg"),
        ({"a": 0.0}, "zero for class 'a'"),
    ):
        with pytest.raises(sx.InputError, match=text):
            sx.LogisticRegression(C=1.0, class_weight=given).fit(x, y)


def test_an_l1_penalty_over_a_thousand_classes_is_refused():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(1000), 3)
    x = 30.0 * rng.standard_normal((1000, 2))[y] + 0.1 * rng.standard_normal((3000, 2))
    with pytest.raises(sx.InputError, match=r"1000 classes at once.*OneVsRest"):
        LogisticRegression(C=1.0, l1_ratio=1.0).fit(x, y)


@pytest.mark.parametrize("make", [LogisticRegression, sx.GradientDescent])
def test_equal_probabilities_predict_the_first_class(make):
    model = make().fit([[-2.0], [-1.0], [1.0], [2.0], [0.5], [-0.5]], [0, 0, 1, 1, 0, 1])
    model.coef_, model.intercept_ = np.ones((1, 1)), np.zeros(1)
    new = np.array([[1e-18], [-1e-18], [0.0], [1e-3]])
    assert_array_equal(model.predict(new), model.predict_proba(new).argmax(axis=1))
    assert_array_equal(model.predict(new), [0, 0, 0, 1])


@pytest.mark.filterwarnings("ignore:SEP006")
def test_no_bound_is_claimed_where_no_maximum_likelihood_estimate_exists():
    complete = (
        LogisticRegression(C=np.inf).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).certificate_
    )
    assert complete.dual == 0.0
    assert complete.gap == complete.primal > 0.0
    quasi = (
        LogisticRegression(C=np.inf).fit([[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1]).certificate_
    )
    assert np.isnan(quasi.dual)
    assert quasi.primal >= 2 * np.log(2)  # two rows at one place cannot be separated
