"""Many classes from classifiers of two; margins."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier

import separatrix as sx
from separatrix.probability.multiclass import couple
from separatrix.rows.rows import ArrayRows
from separatrix.rows.schema import Term
from tests.probability.test_calibrated import clouds


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("inner", [RidgeClassifier(), LogisticRegression()], ids=str)
def test_agrees_with_scikit_learn(k, inner):
    x, y = clouds(k)
    new = clouds(k, seed=2)[0]
    rest = sx.OneVsRest(inner).fit(x, y)
    assert_array_equal(rest.predict(new), OneVsRestClassifier(inner).fit(x, y).predict(new))
    pairs = sx.OneVsOne(inner).fit(x, y)
    peer = OneVsOneClassifier(inner).fit(x, y)
    assert len(pairs.estimators_) == k * (k - 1) // 2
    differ = pairs.predict(new) != peer.predict(new)  # coupled probabilities may outvote votes
    assert differ.mean() <= (0.01 if hasattr(inner, "predict_proba") else 0.0)


def test_probabilities_agree_with_predictions_and_scikit_learn():
    x, y = clouds(3)
    model = sx.OneVsRest(LogisticRegression()).fit(x, y)
    for rows in (x, 1e4 * x):
        p = model.predict_proba(rows)
        assert_allclose(p.sum(axis=1), 1.0)
        assert_array_equal(model.predict(rows), model.classes_[p.argmax(axis=1)])
    peer = OneVsRestClassifier(LogisticRegression()).fit(x, y)
    assert_allclose(model.predict_proba(x), peer.predict_proba(x))
    assert not hasattr(sx.OneVsRest(RidgeClassifier()), "predict_proba")
    assert not hasattr(sx.OneVsRest(RidgeClassifier()).fit(x, y), "predict_proba")


def test_rejected_where_no_class_or_several_accept():
    x, y = clouds(3, apart=2.5)
    rest = sx.OneVsRest(sx.LeastSquaresClassifier(), reject=True).fit(x, y)
    claims = np.column_stack([m.decision_function(x) > 0 for m in rest.estimators_])
    alone = claims.sum(axis=1) == 1
    assert_array_equal(rest.predict(x) == "reject", ~alone)
    assert_array_equal(rest.predict(x)[alone], rest.classes_[claims[alone].argmax(axis=1)])
    assert 0 < alone.mean() < 1
    plain = sx.OneVsRest(sx.LeastSquaresClassifier()).fit(x, y)
    right = rest.predict(x[alone]) == y[alone]
    assert right.mean() > plain.score(x[~alone], y[~alone])


def test_pairs_reject_where_no_class_wins_all_of_its_pairs():
    x, y = clouds(3)
    model = sx.OneVsOne(sx.LeastSquaresClassifier(), reject=True, reject_label=-1)
    codes = np.array([int(label[-1]) for label in y])
    model.fit(x, codes)
    model.estimators_ = [_Always(v) for v in (1, -1, 1)]  # 1 beats 0, 0 beats 2, 2 beats 1
    assert_array_equal(model.predict(x), np.full(len(x), -1))
    model.estimators_ = [_Always(v) for v in (1, -1, -1)]  # 1 beats both
    assert_array_equal(model.predict(x), np.ones(len(x)))


class _Always:
    classes_ = np.array([0, 1])

    def __init__(self, score: float) -> None:
        self.score = score

    def decision_function(self, x):
        return np.full(len(x), float(self.score))


def test_tables_share_one_encoding():
    x, y = clouds(3, 120)
    labels = sorted(set(y))
    hot = (y[:, None] == np.array(labels)).astype(float)
    rows = ArrayRows(x, hot, targets=[Term("y", label) for label in labels])
    for kind in (sx.OneVsRest, sx.OneVsOne):
        a, b = kind(RidgeClassifier()).fit(x, y), kind(RidgeClassifier()).fit(rows)
        assert_allclose(a.decision_function(x), b.decision_function(x))
        assert_array_equal(a.predict(x), b.predict(rows))


def test_zero_weight_is_absence_and_weights_need_a_taker():
    x, y = clouds(3, 90)
    w = np.where(y == "class 2", 0.0, 1.0)
    model = sx.OneVsRest(sx.LeastSquaresClassifier()).fit(x, y, sample_weight=w)
    assert list(model.classes_) == ["class 0", "class 1"]
    keep = w > 0
    plain = sx.OneVsRest(sx.LeastSquaresClassifier()).fit(x[keep], y[keep])
    assert_allclose(model.decision_function(x), plain.decision_function(x))


def test_refusals_teach():
    x, y = clouds(3)
    with pytest.raises(sx.InputError, match="is a class"):
        sx.OneVsRest(RidgeClassifier(), reject=True, reject_label="class 0").fit(x, y)
    with pytest.raises(sx.InputError, match="only one class"):
        sx.OneVsOne(RidgeClassifier()).fit(x, np.zeros(len(x)))


def test_margins_are_distances_to_the_boundary():
    x, y = clouds(2)
    model = sx.LeastSquaresClassifier().fit(x, y)
    side = np.where(y == model.classes_[1], 1, -1)
    margin = model.margin(x, y)
    assert_array_equal(margin > 0, model.predict(x) == y)
    projection = x - np.outer(side * margin, model.coef_[0] / np.linalg.norm(model.coef_))
    assert_allclose(model.decision_function(projection), 0, atol=1e-12)
    assert_allclose(np.linalg.norm(projection - x, axis=1), np.abs(margin))
    assert_allclose(model.signed_distance(x), side * margin)


def test_margins_of_many_classes():
    x, y = clouds(4)
    model = sx.BasicLinearClassifier().fit(x, y)
    margin = model.margin(x, y)
    assert_array_equal(margin > 0, model.predict(x) == y)
    code = np.searchsorted(model.classes_, y)
    means = model.class_means_
    own = means[code]
    halfway = [
        np.where(
            code == j,
            np.inf,
            ((x - (own + m) / 2) * (own - m)).sum(axis=1)
            / np.where(code == j, 1, np.linalg.norm(own - m, axis=1)),
        )
        for j, m in enumerate(means)
    ]
    assert_allclose(margin, np.min(halfway, axis=0))
    assert model.signed_distance(x).shape == (len(x), 4)
    with pytest.raises(sx.InputError, match="not among the training rows"):
        model.margin(x[:1], ["class 7"])


def test_a_normal_that_vanishes_puts_every_row_far_on_one_side():
    from separatrix.geometry.hyperplane import Hyperplane

    flat = Hyperplane(np.zeros((1, 2)), np.array([-1.0]))
    assert_array_equal(flat.signed_distance(np.ones((2, 2)))[:, 0], [-np.inf, -np.inf])
    everywhere = Hyperplane(np.zeros((1, 2)), np.zeros(1))
    assert_array_equal(everywhere.margin(np.ones((2, 2)), np.ones(2)), [0, 0])


@pytest.mark.parametrize("kind", [sx.OneVsRest, sx.OneVsOne, sx.CalibratedClassifier])
def test_a_warning_of_all_members_is_issued_once(kind):
    x, y = clouds(3)
    with pytest.warns(sx.SeparatrixWarning, match="SEP001") as caught:
        kind(sx.LeastSquaresClassifier()).fit(np.column_stack([x, x[:, 0]]), y)
    assert len(caught) == 1


@pytest.mark.parametrize("kind", [sx.OneVsRest, sx.OneVsOne, sx.CalibratedClassifier])
@pytest.mark.parametrize("wrong", [None, sx.LinearRegression()], ids=str)
def test_only_classifiers_can_be_members(kind, wrong):
    with pytest.raises(sx.InputError, match="is not a classifier"):
        kind(wrong).fit(*clouds(3))


def test_coupled_probabilities_are_exact_where_one_model_fits_all_pairs():
    rng = np.random.default_rng(0)
    for k in (2, 3, 6):
        p = rng.dirichlet(np.ones(k), 40)
        pairs = combinations(range(k), 2)
        odds = np.stack([np.log(p[:, j] / p[:, i]) for i, j in pairs], axis=1)
        assert_allclose(couple(odds, k), p, rtol=1e-6, atol=1e-9)


def test_coupling_minimises_the_stated_sum():
    rng = np.random.default_rng(1)
    k, odds = 4, rng.normal(0, 3, (1, 6))
    r = np.zeros((k, k))
    for s, (i, j) in zip(odds[0], combinations(range(k), 2), strict=True):
        r[j, i], r[i, j] = expit(s), expit(-s)

    def stated(p):
        return sum((r[j, i] * p[i] - r[i, j] * p[j]) ** 2 for i, j in permutations(range(k), 2))

    p = couple(odds, k)[0]
    best = minimize(
        stated,
        np.full(k, 1 / k),
        bounds=[(0, 1)] * k,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        tol=1e-14,
    )
    assert_allclose(p, best.x, atol=1e-6)


def test_probabilities_of_pairs_decide_and_add_up():
    x, y = clouds(4)
    model = sx.OneVsOne(LogisticRegression()).fit(x, y)
    for rows in (x, 1e4 * x, -1e4 * x):
        p = model.predict_proba(rows)
        assert np.isfinite(p).all()
        assert (p >= 0).all()
        assert_allclose(p.sum(axis=1), 1.0)
        assert_array_equal(model.predict(rows), model.classes_[p.argmax(axis=1)])
    assert not hasattr(sx.OneVsOne(RidgeClassifier()).fit(x, y), "predict_proba")


def test_very_many_pairs_are_refused_by_default():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(12), 5)
    x = y[:, None] + rng.standard_normal((60, 2))
    with pytest.raises(sx.InputError, match="12 classes make 66 pairs"):
        sx.OneVsOne(RidgeClassifier(), max_classes=11).fit(x, y)
    assert len(sx.OneVsOne(RidgeClassifier(), max_classes=12).fit(x, y).estimators_) == 66
