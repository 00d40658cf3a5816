"""Probabilities of every row, by a model that has not seen it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.estimators.base import codes_of
from separatrix.estimators.class_labels import two_or_more
from separatrix.estimators.wrapped import LabeledRows, fit_wrapped, labeled_rows, warn_once
from separatrix.messages import InputError
from separatrix.selection.folds import folds_of


@dataclass(frozen=True)
class CrossValidatedProbabilities:
    """``probabilities`` (n x K) of ``classes``, and the position of each row's own class."""

    classes: NDArray[Any]
    truth: Ints
    probabilities: Floats


def cross_validated_probabilities(
    estimator: Any, X: Any, y: Any = None, *, cv: Any = 5
) -> CrossValidatedProbabilities:
    """Probabilities of the rows of each fold by a copy fitted to the other folds.

        p(row) = model fitted without the fold of the row

    Parameters
    ----------
    estimator : classifier
        A classifier with ``predict_proba``; a :class:`~separatrix.CalibratedClassifier` is
        calibrated within the training rows of each fold.
    X : array-like of shape (n, d) or Rows
        Features, or a table with its labels.
    y : array-like of shape (n,), default=None
        Labels, where ``X`` is not a table.
    cv : int, splitter or iterable of (train, test), default=5
        A number of folds is stratified by class.

    Returns
    -------
    CrossValidatedProbabilities
        ``classes``, ``truth`` and ``probabilities``, in the order of the rows.

    See Also
    --------
    separatrix.CalibratedClassifier : Calibrated probabilities for any classifier.
    separatrix.RejectOption : Decisions of least expected cost.

    Examples
    --------
    >>> import separatrix as sx
    >>> from separatrix.estimators.cross_validated import cross_validated_probabilities
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], ["a", "a", "b", "a", "b", "b"]
    >>> found = cross_validated_probabilities(sx.LogisticRegression(), X, y, cv=3)
    >>> found.probabilities[:, 1].round(1)
    array([0. , 0.3, 0.2, 0.8, 0.7, 1. ])
    """
    rows = labeled_rows(estimator, X, y, None)
    labels = np.unique(rows.y)
    two_or_more(labels.tolist())
    codes = codes_of(rows.y, labels)
    every = np.arange(len(codes))
    folds = folds_of(cv, len(codes), codes=codes, copied=lambda: rows.copies(every))
    with warn_once():
        parts = folds.map(lambda train, test: _of_fold(estimator, rows, train, test, labels))
    return CrossValidatedProbabilities(labels, codes, folds.out_of_fold(parts))


def _of_fold(
    estimator: Any, rows: LabeledRows, train: Ints, test: Ints, classes: NDArray[Any]
) -> Floats:
    train_rows, other = rows.split(estimator, train, test)
    model = fit_wrapped(estimator, train_rows)
    if len(model.classes_) != len(classes):
        known = set(model.classes_.tolist())
        absent = next(label for label in classes.tolist() if label not in known)
        raise InputError(
            f"Class {absent!r} is absent from the training rows of a fold.",
            remedy="Give at least two rows of each class.",
        )
    return np.asarray(model.predict_proba(other.x), dtype=float)
