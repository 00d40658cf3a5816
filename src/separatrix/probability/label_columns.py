"""Targets of several labels a row: a matrix of zeros and ones, a column for each label."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_consistent_length

from separatrix.estimators.base import check_sample_weight, validate_data
from separatrix.rows.block import Floats, Ints


def label_columns(
    model: Any, X: Any, y: Any, sample_weight: Any, *, structures: bool
) -> tuple[Any, Ints, Floats | None]:
    """Rows, labels (n x L) and weights; ``structures`` are lists of objects."""
    labels = np.asarray(y.toarray() if sparse.issparse(y) else y)
    check_consistent_length(X, labels)
    labels = (labels > 0).astype(np.int64)
    model.__dict__.pop("encoding_", None)
    if structures:
        model.n_features_in_ = 1
        return list(X), labels, check_sample_weight(sample_weight, len(labels))
    x = validate_data(model, X, accept_sparse="csr", dtype=np.float64)
    return x, labels, check_sample_weight(sample_weight, len(labels))
