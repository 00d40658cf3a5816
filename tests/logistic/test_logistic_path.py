"""The path of logistic regression: every point, its duality gap, and how one is chosen."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

import separatrix as sx
from separatrix.logistic.logistic_path import LogisticCV, LogisticPath
from separatrix.logistic.logistic_regression import LogisticRegression
from tests.logistic.test_logistic_regression import objective, table


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("d", [4, 450])
def test_every_point_is_within_its_duality_gap_of_the_optimum(classes, ratio, d):
    x, y = table(classes, n=90, d=d)
    path = LogisticPath(5, l1_ratio=ratio, eps=1e-2, tol=1e-7).fit(x, y)
    for i, C in enumerate(path.Cs_):
        best = LogisticRegression(C=C, l1_ratio=ratio).fit(x, y)
        there = LogisticRegression(C=C, l1_ratio=ratio)
        there.coef_, there.intercept_ = path.coefs_[i], path.intercepts_[i]
        there.classes_ = best.classes_
        excess = objective(there, x, y) - best.certificate_.dual
        assert excess <= path.gaps_[i] + 1e-6 * best.certificate_.primal
        assert path.gaps_[i] <= 1e-6 * C * len(x)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_path_starts_where_the_first_coefficient_leaves_zero(classes):
    x, y = table(classes)
    path = LogisticPath(4, l1_ratio=1.0).fit(x, y)
    assert not path.coefs_[0].any()
    assert LogisticRegression(C=1.02 * path.Cs_[0], l1_ratio=1.0).fit(x, y).coef_.any()
    priors = np.bincount(y) / len(y)
    assert_allclose(path.log_likelihoods_[0], len(y) * np.sum(priors * np.log(priors)), rtol=1e-8)


def test_degrees_of_freedom_and_criteria():
    x, y = table()
    path = LogisticPath([1e-9, 1.0, 1e9]).fit(x, y)
    assert_allclose(path.degrees_of_freedom_[[0, 2]], [1.0, 5.0], atol=1e-4)
    p = LogisticRegression(C=1.0).fit(x, y).predict_proba(x)[:, 1]
    z = np.column_stack([x, np.ones(len(x))])
    hessian = z.T @ (z * (p * (1 - p))[:, None])
    penalty = np.diag([1.0] * 4 + [0.0])
    exact = np.trace(np.linalg.solve(hessian + penalty, hessian))
    assert_allclose(path.degrees_of_freedom_[1], exact, rtol=1e-3)
    assert_allclose(path.aic_, -2 * path.log_likelihoods_ + 2 * path.degrees_of_freedom_)
    assert path.Cs_[np.argmin(path.bic_)] == path.C_
    chosen = LogisticRegression(C=path.C_).fit(x, y)
    assert_allclose(path.coef_, chosen.coef_, rtol=1e-6)
    three = LogisticPath([1e9]).fit(*table(3))
    assert_allclose(three.degrees_of_freedom_, 10.0, atol=1e-4)


@pytest.mark.parametrize("classes", [2, 3])
def test_log_losses_by_fold_agree_with_scikit_learn(classes):
    x, y = table(classes)
    names = np.array(["a", "b", "c"])[y]
    Cs = [0.01, 1.0]
    model = LogisticCV(Cs, cv=StratifiedKFold(3)).fit(x, names)
    for fold, (train, test) in enumerate(StratifiedKFold(3).split(x, names)):
        for i, C in enumerate(Cs):
            peer = Peer(C=C, tol=1e-10, solver="newton-cholesky").fit(x[train], names[train])
            expected = log_loss(names[test], peer.predict_proba(x[test]), labels=model.classes_)
            assert_allclose(model.log_loss_path_[i, fold], expected, rtol=1e-5)
    assert Cs[int(np.argmin(model.log_loss_path_.mean(axis=1)))] == model.C_
    cautious = LogisticCV(20, cv=3, rule="one_se").fit(x, names)
    assert cautious.C_ <= LogisticCV(20, cv=3).fit(x, names).C_


def test_table_with_a_discrete_column(tmp_path):
    rng = np.random.default_rng(0)
    x, kind = rng.normal(size=300), rng.choice(["red", "green"], 300)
    y = np.where(x + (kind == "red") + rng.logistic(size=300) > 0, "yes", "no")
    path = tmp_path / "t.csv"
    lines = [f"{a},{k},{b}" for a, k, b in zip(x, kind, y, strict=True)]
    path.write_text("\n".join(["x,kind,y", *lines]))
    model = LogisticCV(6, cv=3).fit(sx.scan(path, target="y"))
    design = np.column_stack([x, kind == "red"])
    flat = LogisticCV(model.Cs_, cv=3).fit(design.astype(float), y)
    assert_allclose(model.log_loss_path_, flat.log_loss_path_, rtol=1e-5)
    assert (model.predict(path) == flat.predict(design.astype(float))).mean() > 0.99


def test_invalid_parameters():
    x, y = table()
    for model in (LogisticPath(criterion="c"), LogisticCV(rule="r"), LogisticPath([0.0])):
        with pytest.raises(sx.InputError):
            model.fit(x, y)
    with pytest.raises(sx.InputError, match="cv=5"):
        LogisticCV(cv=5).fit(x, np.where(np.arange(len(x)) < 3, "rare", "common"))
    with pytest.raises(sx.InputError, match="No summary"):
        LogisticPath(3).fit(x, y).summary()


def test_a_class_without_rows() -> None:
    import polars as pl

    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    table = pl.DataFrame({"x": x, "y": np.where(x + rng.normal(size=60) > 0, "b", "a")})
    table = pl.concat([table, pl.DataFrame({"x": [0.0], "y": ["only here"]})])
    rows = sx.scan(table, target="y").read()
    some = sx.LogisticCV(standardize=True).fit(rows.take(np.arange(60)))
    alone = sx.LogisticCV(standardize=True).fit(sx.scan(table[:60], target="y"))
    assert some.classes_.tolist() == ["a", "b"]
    np.testing.assert_allclose(some.coef_, alone.coef_, rtol=1e-6)


def test_values_of_C_at_any_distance():
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(0)) / X.std(0)
    Cs = [1e-4, 0.5, 0.5, 0.5000001, 30.0, 31.0]
    path = LogisticPath(Cs, l1_ratio=0.5).fit(X, y)
    for C, coef in zip(path.Cs_, path.coefs_, strict=True):
        alone = LogisticRegression(C=C, l1_ratio=0.5, tol=1e-9).fit(X, y)
        assert_allclose(coef, alone.coef_, atol=1e-5)
