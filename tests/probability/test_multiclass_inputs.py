"""One-vs-rest and one-vs-one on texts, Gram matrices and several labels a row; online."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier

import separatrix as sx
from separatrix.kernels import Spectrum

EACH = pytest.mark.parametrize("ensemble", [sx.OneVsRest, sx.OneVsOne])


@EACH
def test_texts(ensemble: type) -> None:
    texts = ["aaa", "aab", "aba", "ccc", "ccb", "bcc", "xyz", "xyy", "yyz"]
    y = ["a", "a", "a", "c", "c", "c", "x", "x", "x"]
    model = ensemble(sx.SVC(kernel=Spectrum(1))).fit(texts, y)
    assert model.predict(["aaaa", "cc", "zy"]).tolist() == ["a", "c", "x"]


@EACH
def test_gram_matrices(ensemble: type) -> None:
    x, y = load_iris(return_X_y=True)
    gram = x @ x.T
    w = np.where(np.arange(len(y)) % 5, 1.0, 0.0)
    for weights in (None, w):
        plain = ensemble(sx.SVC(kernel="linear")).fit(x, y, weights)
        model = ensemble(sx.SVC(kernel="precomputed")).fit(gram, y, weights)
        assert_allclose(model.decision_function(gram), plain.decision_function(x), atol=1e-5)
    assert cross_val_score(model, gram, y, cv=3).mean() > 0.9
    if ensemble is sx.OneVsOne:
        assert [len(index) for index in model.pairwise_indices_] == [100, 100, 100]


def test_several_labels_a_row() -> None:
    x, _ = load_iris(return_X_y=True)
    y = np.column_stack([x[:, 0] > 5.8, x[:, 3] > 1.0]).astype(int)
    own = sx.OneVsRest(sx.LogisticRegression()).fit(x, y)
    theirs = OneVsRestClassifier(sx.LogisticRegression()).fit(x, y)
    assert own.multilabel_
    assert (own.predict(x) == theirs.predict(x)).all()
    assert_allclose(own.predict_proba(x), theirs.predict_proba(x))
    assert own.score(x, y) == theirs.score(x, y)
    assert own.decision_function(x).shape == (150, 2)


@pytest.mark.parametrize("estimator", [sx.LogisticRegression(), sx.LinearSVC()])
def test_a_constant_label_is_predicted_as_it_is(estimator: Any) -> None:
    x, _ = load_iris(return_X_y=True)
    y = np.column_stack([x[:, 0] > 5.8, np.ones(150), np.zeros(150)]).astype(int)
    with pytest.warns(sx.SeparatrixWarning, match="SEP016"):
        own = sx.OneVsRest(estimator).fit(x, y)
    with pytest.warns(UserWarning, match="present in all"):
        theirs = OneVsRestClassifier(estimator).fit(x, y)
    assert (own.predict(x) == theirs.predict(x)).all()
    assert hasattr(own, "predict_proba") == isinstance(estimator, sx.LogisticRegression)
    if hasattr(own, "predict_proba"):
        assert_allclose(own.predict_proba(x), theirs.predict_proba(x))


def test_partial_fit_of_each_class() -> None:
    x, y = load_iris(return_X_y=True)
    own = sx.OneVsRest(sx.Perceptron(order="given"))
    for part in (slice(0, 90), slice(90, 150)):
        own.partial_fit(x[part], y[part], classes=[0, 1, 2])
    alone = sx.Perceptron(order="given")
    for part in (slice(0, 90), slice(90, 150)):
        alone.partial_fit(x[part], y[part] == 2, classes=[False, True])
    assert_allclose(own.estimators_[2].coef_, alone.coef_)
    with pytest.raises(sx.InputError, match="new"):
        own.partial_fit(x, y + 1)
    assert not hasattr(sx.OneVsRest(sx.LinearSVC()), "partial_fit")
    assert own.n_classes_ == 3


def test_votes_of_pairs_are_those_of_scikit_learn() -> None:
    x, y = load_iris(return_X_y=True)
    own = sx.OneVsOne(sx.LinearSVC()).fit(x, y)
    theirs = OneVsOneClassifier(sx.LinearSVC()).fit(x, y)
    assert_allclose(own.decision_function(x), theirs.decision_function(x), atol=1e-6)
