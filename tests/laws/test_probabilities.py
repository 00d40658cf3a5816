"""Every classifier with probabilities: they are probabilities, and predictions follow from them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import separatrix as sx
from tests.laws.data import table
from tests.registry import REGISTRY, Row

PROBABLE = [
    row for row in REGISTRY if row.task == "classification" and hasattr(row.make(), "predict_proba")
]
probable = pytest.mark.parametrize("row", PROBABLE, ids=lambda row: row.name)


@probable
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("factor", [1.0, 1e4], ids=["usual", "far"])
def test_probabilities_sum_to_one_and_predictions_agree(
    row: Row, classes: int, factor: float
) -> None:
    x, y = table(row)
    if classes == 2:
        y = np.where(y == "low", "low", "other")
    model = row.make().fit(x, y)
    new = factor * np.concatenate([x, -x, np.zeros((1, x.shape[1]))])
    p = model.predict_proba(new)
    assert p.shape == (len(new), classes)
    assert np.isfinite(p).all()
    assert (p >= 0).all()
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    if not isinstance(model, sx.SVC):  # which predicts by votes, with or without probabilities
        predicted = model.predict(new)[:, None] == model.classes_
        assert_array_equal(p[predicted], p.max(axis=1))  # ties may be broken by scores


@pytest.mark.parametrize(
    "row",  # a baseline tells nothing apart
    [row for row in PROBABLE if not isinstance(row.make(), sx.MostFrequentClassifier)],
    ids=lambda row: row.name,
)
def test_one_class_is_refused_in_one_sentence(row: Row) -> None:
    x, y = table(row)
    with pytest.raises(ValueError, match=r"(?i)\bclass"):
        row.make().fit(x, np.full(len(y), "only"))
