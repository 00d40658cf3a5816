"""Covariance shrinkage chosen by cross-validation, against separate fits of every pair."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

import separatrix as sx
from separatrix.discriminant.gaussian_discriminant import shrinkage_grid
from tests.discriminant.test_gaussian_discriminant import gaussian_classes


def separate_fits(x, y, grid, pairs, w=None):
    """Log loss and error of every pair, by fitting each on each fold."""
    out = np.empty((2, len(grid), len(pairs)))
    for i, (alpha, beta) in enumerate(grid):
        for f, (train, test) in enumerate(pairs):
            model = sx.GaussianDiscriminant(alpha=alpha, beta=beta)
            model.fit(x[train], y[train], None if w is None else w[train])
            p, weight = model.predict_proba(x[test]), None if w is None else w[test]
            out[0, i, f] = log_loss(y[test], p, labels=model.classes_, sample_weight=weight)
            wrong = model.classes_[p.argmax(axis=1)] != y[test]
            out[1, i, f] = np.average(wrong, weights=weight)
    return out


@pytest.mark.parametrize("weighted", [False, True])
def test_losses_agree_with_separate_fits(weighted):
    x, y = gaussian_classes(n=180)
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(x)) if weighted else None
    splitter = StratifiedKFold(3)
    model = sx.RegularizedDiscriminantAnalysis(5, 4, cv=splitter).fit(x, y, w)
    expected = separate_fits(x, y, model.grid_, list(splitter.split(x, y)), w)
    assert_allclose(model.cv_log_loss_, expected[0], rtol=1e-7)
    assert_allclose(model.cv_error_, expected[1], atol=1e-12)
    best = expected[0].mean(axis=1).argmin()
    assert (model.alpha_, model.beta_) == tuple(model.grid_[best])
    same = sx.GaussianDiscriminant(alpha=model.alpha_, beta=model.beta_).fit(x, y, w)
    assert_allclose(model.predict_proba(x), same.predict_proba(x), atol=1e-12)


def test_folds_that_overlap():
    x, y = gaussian_classes(n=120)
    rng = np.random.default_rng(0)
    pairs = [(rng.permutation(120)[:100], rng.permutation(120)[:40]) for _ in range(2)]
    model = sx.RegularizedDiscriminantAnalysis([0.0, 0.5], [0.0, 0.5], cv=pairs).fit(x, y)
    assert_allclose(model.cv_log_loss_, separate_fits(x, y, model.grid_, pairs)[0], rtol=1e-7)


def test_grid_covers_the_triangle():
    grid = shrinkage_grid(11, 11)
    assert len(grid) == 66
    assert (grid.sum(axis=1) <= 1).all()
    for vertex in ([0.0, 0.0], [1.0, 0.0], [0.0, 1.0]):
        assert (grid == vertex).all(axis=1).any()


def test_few_rows_for_many_columns_are_shrunk():
    rng = np.random.default_rng(0)
    d = 12
    y = np.repeat(["a", "b", "c"], [9, 11, 40])
    x = (
        rng.standard_normal((60, d))
        + np.array([0.0, 2.0, -2.0])[np.unique(y, return_inverse=True)[1], None]
    )
    model = sx.RegularizedDiscriminantAnalysis().fit(x, y)
    assert model.alpha_ + model.beta_ > 0
    assert np.isinf(model.cv_log_loss_[0]).all()  # each class by itself is singular
    new = rng.standard_normal((300, d)) + 2.0
    assert np.mean(model.predict(new) == "b") > 0.95
    with pytest.raises(sx.InputError, match="singular"):
        sx.RegularizedDiscriminantAnalysis([0.0], [0.0]).fit(x, y)


def test_units_dependent_columns_and_a_class_of_one_row():
    x, y = gaussian_classes(n=90)
    x = np.column_stack([x, x[:, 0] + x[:, 1], np.ones(len(x))])
    y = np.array(y, dtype=object)
    y[0] = "single"
    plain = sx.RegularizedDiscriminantAnalysis(6, 6, cv=3).fit(x, y)
    units = np.array([1e-6, 1e6, 1.0, 1e3, 1.0, 1.0])
    scaled = sx.RegularizedDiscriminantAnalysis(6, 6, cv=3).fit(x * units, y)
    assert (plain.alpha_, plain.beta_) == (scaled.alpha_, scaled.beta_)
    assert_allclose(scaled.predict_proba(x * units), plain.predict_proba(x), atol=1e-7)
    assert np.isfinite(plain.predict_proba(x)).all()


def test_selection_by_error_prefers_the_most_regularized_of_equals():
    x, y = gaussian_classes(n=150, k=2)
    x[y == "b"] += 50.0
    model = sx.RegularizedDiscriminantAnalysis(5, 5, criterion="error").fit(x, y)
    assert model.best_score_ == 0.0
    assert model.alpha_ + model.beta_ == 1.0


def test_tables():
    import pandas as pd

    x, y = gaussian_classes(n=150)
    frame = pd.DataFrame(x, columns=list("pqrs")).assign(kind=y)
    a = sx.RegularizedDiscriminantAnalysis(4, 4).fit(sx.scan(frame, target="kind"))
    b = sx.RegularizedDiscriminantAnalysis(4, 4).fit(x, y)
    assert (a.alpha_, a.beta_) == (b.alpha_, b.beta_)
    assert_allclose(a.predict_proba(frame[list("pqrs")]), b.predict_proba(x), atol=1e-10)


def test_invalid_parameters():
    x, y = gaussian_classes(n=60)
    for bad, text in (
        (sx.RegularizedDiscriminantAnalysis(criterion="luck"), "unknown"),
        (sx.RegularizedDiscriminantAnalysis([2.0]), "between 0 and 1"),
        (sx.RegularizedDiscriminantAnalysis(0), "whole number"),
        (sx.RegularizedDiscriminantAnalysis([0.9], [0.9]), "at most 1"),
        (sx.RegularizedDiscriminantAnalysis(cv=1), "cv=1"),
        (sx.RegularizedDiscriminantAnalysis(cv=100), "n_samples=60"),
    ):
        with pytest.raises(sx.InputError, match=text):
            bad.fit(x, y)


@pytest.mark.parametrize("missing", ["mean", "regress"])
def test_missing_values_of_a_fold_are_imputed_from_its_training_rows_alone(missing):
    import pandas as pd

    x, y = gaussian_classes(n=120)
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(x, columns=list("pqrs"))
    frame.loc[rng.random(120) < 0.4, "q"] = np.nan
    frame["shade"] = rng.choice(["dark", "pale"], 120)
    frame.loc[100, "shade"] = "rare"
    frame["kind"] = y
    pairs = list(StratifiedKFold(3).split(x, y))
    table = sx.scan(frame, target="kind", missing=missing, unseen="zeros")
    model = sx.RegularizedDiscriminantAnalysis([0.2, 0.5], [0.0, 0.5], cv=pairs).fit(table)
    for i, (alpha, beta) in enumerate(model.grid_):
        for f, (train, test) in enumerate(pairs):
            rows = sx.scan(frame.iloc[train], target="kind", missing=missing, unseen="zeros")
            separate = sx.GaussianDiscriminant(alpha=alpha, beta=beta).fit(rows)
            p = separate.predict_proba(frame.iloc[test].drop(columns="kind"))
            expected = log_loss(y[test], p, labels=separate.classes_)
            assert_allclose(model.cv_log_loss_[i, f], expected, rtol=1e-6)


def test_a_class_without_rows() -> None:
    import polars as pl

    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    label = np.where(x[:, 0] + rng.normal(size=60) > 0, "b", "a")
    table = pl.DataFrame({"p": x[:, 0], "q": x[:, 1], "y": label})
    table = pl.concat([table, pl.DataFrame({"p": [0.0], "q": [0.0], "y": ["only here"]})])
    rows = sx.scan(table, target="y").read()
    some = sx.RegularizedDiscriminantAnalysis().fit(rows.take(np.arange(60)))
    alone = sx.RegularizedDiscriminantAnalysis().fit(sx.scan(table[:60], target="y"))
    assert some.classes_.tolist() == ["a", "b"]
    np.testing.assert_allclose(some.cv_log_loss_, alone.cv_log_loss_, rtol=1e-9)


def test_constant_columns_leave_the_priors():
    model = sx.RegularizedDiscriminantAnalysis(3, 3).fit(np.ones((30, 2)), np.arange(30) % 3 % 2)
    assert_allclose(model.predict_proba(np.ones((1, 2))), [[2 / 3, 1 / 3]])
