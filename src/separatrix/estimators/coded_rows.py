"""Training rows of a classifier in memory: design matrix, class codes and weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from separatrix.estimators.base import check_sample_weight
from separatrix.estimators.class_labels import ClassLabels
from separatrix.estimators.targets import two_or_more
from separatrix.kernels.base import take_items
from separatrix.messages import InputError
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Block, Floats, Ints, Matrix, unit_weights
from separatrix.rows.encoding import Encoding, identity
from separatrix.rows.rows import Rows
from separatrix.statistics.preparation import prepare


@dataclass(frozen=True)
class CodedRows:
    """Design matrix, class codes and weights of the rows of positive weight, and the encoding.

    ``rows`` are their numbers among all ``n_samples`` rows.
    """

    x: Matrix
    codes: Ints
    w: Floats
    encoding: Encoding
    rows: Ints
    n_samples: int


def coded_rows(model: ClassLabels, X: Any, y: Any, sample_weight: Any) -> CodedRows:
    """Coded rows of the arguments of ``fit``; sets ``classes_``."""
    if not isinstance(X, Rows):
        return coded_arrays(model._coded_rows(X, y, sample_weight))
    rows = model._class_rows(X, y, sample_weight)
    prepared = prepare(rows)
    terms = model._class_terms(rows, prepared.moments.targets)
    block = prepared.rows.collect()
    return _positive_weight(block, block.codes(terms), prepared.encoding)


def coded_items(model: ClassLabels, X: Any, y: Any, sample_weight: Any) -> CodedRows:
    """Coded Python objects, for a kernel on structures; sets ``classes_``."""
    model._expect_labels(X, y)
    if isinstance(X, Rows):
        raise InputError("A kernel on structures takes lists of objects, no tables.")
    for name in ("feature_names_in_", "encoding_"):
        model.__dict__.pop(name, None)
    model.n_features_in_ = 1  # one object for each row
    labels = column_or_1d(y)
    check_classification_targets(labels)
    check_consistent_length(X, labels)
    w = check_sample_weight(sample_weight, len(labels))
    w = unit_weights(w, len(labels))
    rows = np.flatnonzero(w > 0.0)
    model.classes_, codes = np.unique(labels[rows], return_inverse=True)
    two_or_more(model.classes_.tolist())
    items: Any = take_items(list(X), rows)
    no_columns: Any = None
    return CodedRows(items, codes.astype(np.int64), w[rows], no_columns, rows, len(w))


def coded_arrays(rows: ArrayRows) -> CodedRows:
    """Coded rows of arrays, whose parts are the class codes."""
    return _positive_weight(rows.block, rows.block.parts, identity(rows.schema))


def _positive_weight(block: Block, codes: Any, encoding: Encoding) -> CodedRows:
    w = block.weights
    x, codes = block.x, np.asarray(codes, dtype=np.int64)
    rows = np.flatnonzero(w > 0.0)
    if len(rows) < block.n:
        x, codes, w = x[rows], codes[rows], w[rows]
    return CodedRows(x, codes, np.asarray(w, dtype=np.float64), encoding, rows, block.n)


def outputs_of(classes: int) -> Ints:
    """The positive class of each output: the second of two, or each of several."""
    return np.array([1]) if classes == 2 else np.arange(classes)
