"""Weights of models that minimize the loss of their average out of fold (stacking).

Every fold is predicted by copies of the models that are fitted to the other folds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.estimators.averages.several import class_probabilities
from separatrix.estimators.targets import codes_of
from separatrix.estimators.wrapped import LabeledRows, fitted, fitted_to_numbers
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats, unit_weights
from separatrix.selection.averaging import Average, log_loss_average, squared_error_average
from separatrix.selection.folds import Folds, folds_of

#: A bound on the loss left to gain, relative to the loss, at which weights count as optimal.
TOLERANCE = 1e-5


def stacked_classes(
    models: list[Any], rows: LabeledRows, classes: NDArray[Any], cv: Any
) -> Average:
    """The mixture of least log loss out of fold."""
    used, codes = rows.positive_weight, codes_of(rows.y, classes)
    own, copied = codes[used], lambda: rows.copies(used)
    folds = folds_of(cv, len(codes), rows=used, codes=own, copied=copied)

    def true_class(train: Any, test: Any) -> Floats:
        parts = [rows.split(model, used[train], used[test]) for model in models]
        columns = [
            class_probabilities(fitted(model, own), outside.x, classes)
            for model, (own, outside) in zip(models, parts, strict=True)
        ]
        own = codes[used[test]]
        return np.stack([p[np.arange(len(own)), own] for p in columns], axis=1)

    p = np.concatenate(folds.map(true_class))
    return log_loss_average(p, _weights_of_tests(rows, used, folds)[1])


def stacked_numbers(models: list[Any], rows: LabeledRows, cv: Any) -> Average:
    """The average of least squared error out of fold."""
    used = rows.positive_weight
    folds = folds_of(cv, len(rows.y), rows=used, copied=lambda: rows.copies(used))

    def predictions(train: Any, test: Any) -> Floats:
        parts = [rows.split(model, used[train], used[test]) for model in models]
        columns = [
            fitted_to_numbers(model, own).predict(outside.x)
            for model, (own, outside) in zip(models, parts, strict=True)
        ]
        return np.stack(columns, axis=1)

    found = np.concatenate(folds.map(predictions))
    tests, w = _weights_of_tests(rows, used, folds)
    return squared_error_average(found, rows.y[tests], w)


def _weights_of_tests(
    rows: LabeledRows, used: NDArray[np.int64], folds: Folds
) -> tuple[NDArray[np.int64], Floats]:
    """The test rows of all folds in their order, and their weights."""
    tests = used[np.concatenate([test for _, test in folds.pairs])]
    return tests, unit_weights(None if rows.w is None else rows.w[tests], len(tests))


def stacking_certificate(average: Average) -> Certificate:
    """That the weights are optimal."""
    return Certificate(
        "The weights minimize the loss of the average out of fold",
        gap=average.gap / max(abs(average.value), TOLERANCE),
        tolerance=TOLERANCE,
        promised=("gap",),
    )
