"""class_weight is read in one place: the same weights and the same refusals everywhere."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import separatrix as sx
from separatrix.estimators.class_labels import weighted_samples, weights_by_class

X = np.random.default_rng(0).standard_normal((60, 2))
Y = np.where(X[:, 0] + np.random.default_rng(1).standard_normal(60) > 0, "b", "a")
CLASSIFIERS = [
    sx.LogisticRegression,
    sx.LogisticPath,
    sx.LogisticCV,
    sx.LinearSVC,
    sx.LinearSVCSearch,
    sx.SVC,
    sx.SVCSearch,
    sx.SVMPath,
]


@pytest.mark.parametrize("make", CLASSIFIERS)
@pytest.mark.parametrize("from_table", [False, True])
def test_a_class_of_weight_zero_is_refused_by_every_classifier(make, from_table) -> None:
    model = make(class_weight={"a": 0.0})
    table = pd.DataFrame(X, columns=["p", "q"]).assign(y=Y)
    with pytest.raises(sx.InputError, match=r"zero for class 'a'\. Leave its rows"):
        model.fit(*((sx.scan(table, target="y"),) if from_table else (X, Y)))


@pytest.mark.parametrize("make", [sx.LinearSVC, sx.SVC])
def test_calibrated_scores_refuse_it_too(make) -> None:
    with pytest.raises(sx.InputError, match="class_weight is zero for class 'a'"):
        make(probability=True, class_weight={"a": 0.0}).fit(X, Y)


def test_balanced_weights_give_every_class_the_same_total() -> None:
    w = np.random.default_rng(2).integers(0, 3, 60).astype(float)
    weights = weighted_samples(Y, w, "balanced")
    totals = [weights[label == Y].sum() for label in ("a", "b")]
    assert_allclose(totals, w.sum() / 2)
    assert not weights[w == 0].any()


def test_classes_that_a_mapping_leaves_out_have_weight_one() -> None:
    assert_allclose(weights_by_class({"b": 3.0}, ["a", "b"], np.array([5.0, 7.0])), [1.0, 3.0])
    assert_allclose(weighted_samples(["b", "a", "b"], None, {"b": 3.0}), [3.0, 1.0, 3.0])


def test_labels_of_weight_zero_are_no_classes() -> None:
    weights = weighted_samples(["a", "b", "c"], [1.0, 1.0, 0.0], "balanced")
    assert_allclose(weights, [1.0, 1.0, 0.0])
    with pytest.raises(sx.InputError, match="names 'c'"):
        weighted_samples(["a", "b", "c"], [1.0, 1.0, 0.0], {"c": 2.0})
