"""ℓ₁ penalties on wide and sparse rows: working sets, paths and folds that share one matrix."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from separatrix import LogisticCV, LogisticPath, LogisticRegression
from separatrix.threads import thread_limit


def table(classes: int, *, n: int = 80, d: int = 700):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.2)
    x[:, 5] = 0.0
    y = (2.0 * x[:, :classes] + 0.5 * rng.standard_normal((n, classes))).argmax(axis=1)
    return x, y


def objective(model, x, y, w, ratio):
    scores = x @ model.coef_.T + model.intercept_
    if scores.shape[1] == 1:
        scores = np.column_stack([np.zeros(len(x)), scores])
    loss = np.logaddexp.reduce(scores, axis=1) - scores[np.arange(len(y)), y]
    penalty = ratio * np.abs(model.coef_).sum() + 0.5 * (1 - ratio) * (model.coef_**2).sum()
    return model.C * (w @ loss) + penalty


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_sparse_and_dense_rows_reach_the_same_certified_minimum(classes, ratio):
    x, y = table(classes)
    w = np.arange(80) % 3.0
    dense = LogisticRegression(C=0.5, l1_ratio=ratio).fit(x, y, w)
    filled = sparse.csr_array(x)
    some = LogisticRegression(C=0.5, l1_ratio=ratio).fit(filled, y, w)
    assert dense.certificate_.holds
    assert some.certificate_.holds
    value = objective(dense, x, y, w, ratio)
    np.testing.assert_allclose(value, dense.certificate_.primal, rtol=1e-9)
    np.testing.assert_allclose(objective(some, x, y, w, ratio), value, rtol=1e-6)
    np.testing.assert_allclose(some.coef_, dense.coef_, atol=1e-3)
    assert not dense.coef_[:, 5].any()
    assert (dense.coef_ == 0.0).mean() > 0.5


def test_units_and_rows_without_weight_change_nothing():
    x, y = table(2)
    model = LogisticRegression(C=0.5, l1_ratio=1.0, standardize=True).fit(x, y)
    factor = np.resize([1e8, 1.0, 1e-8], x.shape[1])
    scaled = LogisticRegression(C=0.5, l1_ratio=1.0, standardize=True).fit(x * factor, y)
    np.testing.assert_allclose(scaled.coef_ * factor, model.coef_, atol=1e-4)
    w = np.ones(80)
    w[::4] = 0.0
    part = LogisticRegression(C=0.5, l1_ratio=1.0).fit(x, y, w)
    alone = LogisticRegression(C=0.5, l1_ratio=1.0).fit(x[w > 0], y[w > 0])
    np.testing.assert_allclose(part.coef_, alone.coef_, atol=1e-4)


@pytest.mark.parametrize("classes", [2, 3])
def test_points_of_a_sparse_path_are_within_their_gaps(classes):
    x, y = table(classes)
    path = LogisticPath(5, l1_ratio=1.0, eps=0.05).fit(sparse.csr_array(x), y)
    for i, C in enumerate(path.Cs_):
        model = LogisticRegression(C=C, l1_ratio=1.0)
        best = LogisticRegression(C=C, l1_ratio=1.0).fit(x, y)
        model.coef_, model.intercept_ = path.coefs_[i], path.intercepts_[i]
        excess = objective(model, x, y, np.ones(80), 1.0) - best.certificate_.dual
        assert excess <= path.gaps_[i] + 1e-6 * C * 80


def test_folds_that_share_the_matrix_give_the_losses_of_copies_on_any_number_of_threads():
    x, y = table(2)
    folds = [(np.flatnonzero(np.arange(80) % 4 != f), np.arange(f, 80, 4)) for f in range(4)]
    model = LogisticCV([0.1, 0.3], l1_ratio=1.0, cv=folds).fit(sparse.csr_array(x), y)
    for f, (train, test) in enumerate(folds):
        for i, C in enumerate((0.1, 0.3)):
            copy = LogisticRegression(C=C, l1_ratio=1.0).fit(x[train], y[train])
            p = copy.predict_proba(x[test])[np.arange(len(test)), y[test]]
            np.testing.assert_allclose(model.log_loss_path_[i, f], -np.log(p).mean(), rtol=1e-3)
    with thread_limit(1):
        again = LogisticCV([0.1, 0.3], l1_ratio=1.0, cv=folds).fit(sparse.csr_array(x), y)
    assert again.log_loss_path_.tobytes() == model.log_loss_path_.tobytes()
    assert again.coef_.tobytes() == model.coef_.tobytes()
