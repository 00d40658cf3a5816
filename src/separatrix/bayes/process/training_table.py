"""What ``fit`` of a process was given: rows of numbers of any source, or Python objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length

from separatrix.estimators.base import RowsEstimator, check_sample_weight
from separatrix.estimators.targets import numeric
from separatrix.kernels.features import as_list
from separatrix.rows.block import Floats, to_array, unit_weights
from separatrix.rows.encoding import identity
from separatrix.rows.rows import ArrayRows
from separatrix.statistics.preparation import prepare


def given_rows(
    model: RowsEstimator, X: Any, y: Any, sample_weight: Any
) -> tuple[Any, Floats, Floats]:
    """All rows (n x d) or objects, targets (n x k) and weights; sets the encoding of the rows."""
    if getattr(model, "_structures", False):
        for name in ("feature_names_in_", "encoding_"):
            model.__dict__.pop(name, None)
        model.n_features_in_ = 1  # one object for each row
        y = check_array(y, ensure_2d=False, dtype=np.float64)
        check_consistent_length(X, y)
        w = check_sample_weight(sample_weight, len(y))
        return as_list(X), y.reshape(len(y), -1), unit_weights(w, len(y))
    rows = model._training_rows(X, y, sample_weight)
    if isinstance(rows, ArrayRows):
        block, model.encoding_ = rows.block, identity(rows.schema)
    else:
        prepared = prepare(rows)
        block, model.encoding_ = prepared.rows.collect(), prepared.encoding
    numeric(block.targets)
    return np.ascontiguousarray(to_array(block.x)), block.y, block.weights
