"""Folds of a study as positions among its training rows."""

from __future__ import annotations

import numpy as np

import separatrix as sx
from separatrix.study.design import RowFolds

LABELS = np.array([-1, 2, 0, 4, -1, 2, 0, 4, 2, -1])


def table():
    return sx.scan(np.arange(20.0).reshape(10, 2), target=np.arange(10.0)).read()


def test_pairs_are_positions_among_the_training_rows() -> None:
    folds = RowFolds(table(), LABELS)
    pairs = folds.pairs()
    assert len(pairs) == folds.k == 3
    assert pairs.labels.tolist() == [1, 0, 2, 1, 0, 2, 1]
    for fold, (train, test) in enumerate(pairs.pairs):
        expected = folds.split(fold)
        np.testing.assert_array_equal(folds.training[train], expected[0])
        np.testing.assert_array_equal(folds.training[test], expected[1])


def test_ordered_folds_are_predicted_from_earlier_ones() -> None:
    folds = RowFolds(table(), LABELS, ordered=True)
    assert (folds.k, folds.fold_labels) == (2, [2, 4])
    assert len(folds.training) == 7
    pairs = folds.pairs()
    assert pairs.labels is None
    for fold, (train, test) in enumerate(pairs.pairs):
        training, validation = folds.training[train], folds.training[test]
        assert LABELS[training].max() < LABELS[validation].min()
        np.testing.assert_array_equal(training, folds.split(fold)[0])
        np.testing.assert_array_equal(validation, folds.split(fold)[1])
    assert LABELS[folds.training[pairs.pairs[1][0]]].tolist() == [2, 0, 2, 0, 2]
