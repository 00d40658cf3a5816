"""Gram matrices, distances and texts in classifiers and averages that wrap other models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import GroupKFold, cross_val_predict, cross_validate
from sklearn.utils import get_tags

import separatrix as sx
from separatrix.kernels import Spectrum
from separatrix.rows.rows import ArrayRows
from separatrix.rows.schema import Term

X, Y = (part[::3] for part in load_iris(return_X_y=True))
X = X + np.random.default_rng(0).normal(scale=0.01, size=X.shape)  # no ties of distances
GRAM, DISTANCES = X @ X.T, pairwise_distances(X)
WRAPPERS = {
    "calibrated": lambda model: sx.CalibratedClassifier(model, cv=3),
    "reject": lambda model: sx.RejectOption(sx.CalibratedClassifier(model, cv=3)),
    "averaged": lambda model: sx.AveragedClassifier([sx.CalibratedClassifier(model, cv=3)], cv=3),
}
EACH = pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)


@EACH
@pytest.mark.parametrize(
    ("model", "compared", "matrix"),
    [
        (sx.SVC(kernel="linear"), sx.SVC(kernel="precomputed"), GRAM),
        (sx.KNeighborsClassifier(), sx.KNeighborsClassifier(metric="precomputed"), DISTANCES),
    ],
    ids=["gram", "distances"],
)
def test_compared_rows_as_the_rows_themselves(
    wrap: Callable[[Any], Any], model: Any, compared: Any, matrix: Any
) -> None:
    plain, other = wrap(model), wrap(compared)
    assert get_tags(other).input_tags.pairwise
    assert not get_tags(plain).input_tags.pairwise
    weighted = hasattr(model, "kernel")
    w = (np.arange(len(Y)) % 4 > 0).astype(float) if weighted else None
    own = other.fit(matrix, Y, w).predict_proba(matrix)
    assert_allclose(own, plain.fit(X, Y, w).predict_proba(X), atol=1e-6)
    assert (cross_val_predict(other, matrix, Y, cv=2) == cross_val_predict(plain, X, Y, cv=2)).all()


@pytest.mark.parametrize("kind", [pd.DataFrame, np.ndarray.tolist], ids=["frame", "lists"])
def test_gram_matrices_of_other_kinds(kind: Callable[[Any], Any]) -> None:
    model = sx.CalibratedClassifier(sx.SVC(kernel="precomputed"), cv=2)
    found = model.fit(kind(GRAM), Y).predict_proba(kind(GRAM))
    assert_allclose(found, model.fit(GRAM, Y).predict_proba(GRAM))


def test_a_gram_matrix_in_a_table_has_no_folds() -> None:
    classes = [Term("y", label) for label in ("a", "b", "c")]
    table = ArrayRows(GRAM, np.eye(3)[Y], targets=classes)
    with pytest.raises(sx.InputError, match="a table was given"):
        sx.CalibratedClassifier(sx.SVC(kernel="precomputed")).fit(table)


def test_average_of_regressions_on_distances() -> None:
    def average(**metric: Any) -> Any:
        return sx.AveragedRegressor([sx.KNeighborsRegressor(k, **metric) for k in (1, 9)], cv=3)

    target = X[:, 0] * X[:, 1]
    plain, compared = average().fit(X, target), average(metric="precomputed").fit(DISTANCES, target)
    assert_allclose(compared.weights_, plain.weights_)
    assert_allclose(compared.predict(DISTANCES), plain.predict(X))
    assert get_tags(compared).input_tags.pairwise


def test_average_of_models_of_rows_and_of_comparisons() -> None:
    models = [sx.KNeighborsClassifier(metric="precomputed"), sx.GaussianNB()]
    model = sx.AveragedClassifier(models, cv=3).fit(DISTANCES, Y)
    assert [part.n_features_in_ for part in model.estimators_] == [len(Y), len(Y)]
    assert cross_val_predict(model, DISTANCES, Y, cv=2).shape == Y.shape


@EACH
def test_texts(wrap: Callable[[Any], Any]) -> None:
    texts = ["aaa", "aab", "aba", "ccc", "ccb", "bcc"] * 3
    labels = np.array((["a"] * 3 + ["c"] * 3) * 3)
    model = wrap(sx.SVC(kernel=Spectrum(1)))
    for given in (texts, np.array(texts), pd.Series(texts)):
        assert model.fit(given, labels).predict(["aaaa", "cc"]).tolist() == ["a", "c"]
    assert (cross_val_predict(model, texts, labels, cv=2) == labels).all()
    votes = sx.OneVsRest(model).fit(texts, labels)
    assert votes.predict(["aaaa", "cc"]).tolist() == ["a", "c"]


@pytest.mark.parametrize(
    "model",
    [
        sx.CalibratedClassifier(sx.LinearSVC()),
        sx.AveragedClassifier([sx.GaussianNB()]),
        sx.AveragedRegressor([sx.LinearRegression(), sx.KNeighborsRegressor()]),
    ],
    ids=lambda model: type(model).__name__,
)
def test_groups_make_the_folds(model: Any) -> None:
    groups, folds = np.arange(len(Y)) % 5, GroupKFold(3)
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        clone(model).fit(X, Y, groups=groups)
    with config_context(enable_metadata_routing=True):
        own = clone(model).set_params(cv=folds).fit(X, Y, groups=groups)
        searched = cross_validate(own, X, Y, params={"groups": groups}, cv=folds)
    named = clone(model).set_params(cv=list(folds.split(X, Y, groups))).fit(X, Y)
    assert_allclose(own.predict(X), named.predict(X))
    assert np.isfinite(searched["test_score"]).all()
