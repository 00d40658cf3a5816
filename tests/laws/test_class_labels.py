"""Labels of any kind come back as they were given; what is not a label is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import separatrix as sx
from tests.laws.data import table
from tests.registry import REGISTRY, Row

CLASSIFIERS = [row for row in REGISTRY if row.task == "classification"]
classifier = pytest.mark.parametrize("row", CLASSIFIERS, ids=[row.name for row in CLASSIFIERS])
quiet = pytest.mark.filterwarnings("ignore::UserWarning")

#: Texts and whole numbers are those of other laws.
KINDS = [np.array([True, False]), np.array([2.0, 1.0])]


def labeled(
    row: Row, names: NDArray[np.generic]
) -> tuple[NDArray[np.float64], NDArray[np.generic]]:
    x, y = table(row, n=40, d=2)
    return x, names[(y != "low").astype(int)]


@classifier
@quiet
def test_labels_come_back_as_they_were_given(row: Row) -> None:
    for names in KINDS:
        x, y = labeled(row, names)
        model = row.make().fit(x, y)
        predicted = model.predict(x)
        assert model.classes_.tolist() == sorted(names.tolist())
        assert type(model.classes_.tolist()[0]) is type(names.tolist()[0])
        assert set(predicted.tolist()) <= set(names.tolist())
        if not isinstance(model, sx.RejectOption):  # which has a third answer, -1
            assert predicted.dtype.kind == names.dtype.kind
        if getattr(model, "scoring", None) is None:
            assert model.score(x, y) == np.mean(predicted == y)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA], ids=str)
def test_a_missing_label_is_named_by_its_row(missing: object) -> None:
    x, labels = np.arange(8.0)[:, None], ["a", "b", missing, "a", "b", "a", "b", "a"]
    for y in (np.array(labels, dtype=object), pd.Series(labels), pd.Series(labels, dtype="string")):
        with pytest.raises(sx.InputError, match="row 3: the label is missing"):
            sx.NearestMean().fit(x, y)


@classifier
@quiet
def test_what_is_no_label_is_refused(row: Row) -> None:
    x, y = labeled(row, np.array([0, 1]))
    model = row.make()
    if not isinstance(model, sx.MostFrequentClassifier):
        with pytest.raises(sx.InputError, match="class"):
            model.fit(x, np.zeros(len(x), dtype=int))
    with pytest.raises(ValueError, match=r"(?i)unknown label type|continuous"):
        model.fit(x, x[:, 0] + 0.25)
    if not model.__sklearn_tags__().classifier_tags.multi_label:
        with pytest.raises(ValueError, match=r"1d array|multilabel|label"):
            model.fit(x, np.column_stack([y, 1 - y]))
    with pytest.raises(sx.InputError, match="row 2: the label is missing"):
        model.fit(x, np.array([None if i % 2 else "a" for i in range(len(x))], dtype=object))
