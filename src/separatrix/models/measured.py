"""What models take that need nothing but distances: rows of numbers, distances, or any objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from separatrix.similarity.metrics.base import Metric
from separatrix.similarity.metrics.chosen import GivenDistances


def points_of(model: Any, metric: Metric, X: Any) -> Any:
    """Numbers checked as scikit-learn does; other things as they are, for the metric to take.

    Sets ``n_features_in_`` and the names of columns, which lists of objects do not have.
    """
    if metric.of_vectors or isinstance(metric, GivenDistances):
        x = validate_data(model, X, accept_sparse="csr", dtype=np.float64)
        return x.toarray() if sparse.issparse(x) else x
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub":
        return validate_data(model, X, dtype=np.float64)
    model.__dict__.pop("n_features_in_", None)
    model.__dict__.pop("feature_names_in_", None)
    return X if hasattr(X, "columns") else list(X)
