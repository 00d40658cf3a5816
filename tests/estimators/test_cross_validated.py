"""Out-of-fold probabilities: those of models fitted to the other folds."""

import numpy as np
import pytest

import separatrix as sx
from separatrix.estimators.wrapped import cross_validate_probabilities
from separatrix.messages import InputError
from separatrix.samples import sample


def test_each_fold_is_predicted_by_the_others():
    rows = sx.scan(sample("wine").path, target="cultivar").read()
    model = sx.LinearDiscriminantAnalysis()
    labels = np.unique(rows.block.y.argmax(axis=1))
    folds = np.arange(len(rows)) % 2
    pairs = [(np.flatnonzero(folds != f), np.flatnonzero(folds == f)) for f in (0, 1)]
    found = cross_validate_probabilities(model, rows, cv=pairs)
    for train, test in pairs:
        p = sx.LinearDiscriminantAnalysis().fit(rows.take(train)).predict_proba(rows.take(test))
        np.testing.assert_array_equal(found.probabilities[test], p)
    assert len(found.classes) == len(labels)
    np.testing.assert_array_equal(found.truth, rows.block.y.argmax(axis=1))


def test_a_class_of_one_row_is_refused():
    with pytest.raises(InputError, match="'b' is absent"):
        cross_validate_probabilities(
            sx.LogisticRegression(), [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "c"], cv=2
        )
