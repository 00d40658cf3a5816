"""What models take that need nothing but distances: rows of numbers, distances, or any objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from separatrix.distances.base import Metric
from separatrix.distances.names import PrecomputedDistances
from separatrix.messages import InputError
from separatrix.rows.block import Floats, unit_weights
from separatrix.statistics.standardizer import Standardizer


def points_of(model: Any, metric: Metric, X: Any) -> Any:
    """Numbers checked as scikit-learn does; other things as they are, for the metric to take.

    Sets ``n_features_in_`` and the names of columns, which lists of objects do not have.
    """
    if metric.of_vectors or isinstance(metric, PrecomputedDistances):
        x = validate_data(model, X, accept_sparse="csr", dtype=np.float64)
        return x.toarray() if sparse.issparse(x) else x
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub":
        return validate_data(model, X, dtype=np.float64)
    model.__dict__.pop("n_features_in_", None)
    model.__dict__.pop("feature_names_in_", None)
    return X if hasattr(X, "columns") else list(X)


def starts_of(n_init: Any, usual: int, max_iter: Any) -> int:
    """How many starts; ``n_init`` may be "auto", which is the usual number."""
    if not isinstance(max_iter, int | np.integer) or max_iter < 1:
        raise InputError(f"max_iter={max_iter!r} must be a whole number from 1 up.")
    if isinstance(n_init, str) and n_init == "auto":
        return usual
    if not isinstance(n_init, int | np.integer) or n_init < 1:
        raise InputError(f"n_init={n_init!r} must be a whole number from 1 up, or 'auto'.")
    return int(n_init)


class StandardizeMixin:
    """Standardized columns where the parameter ``standardize`` asks for them.

    ``standardizer_`` is learned from the training rows and serves for new ones.
    """

    standardize: bool
    standardizer_: Standardizer | None

    def _fit_standardize(self, metric: Any, x: Any, w: Floats | None) -> Any:
        """The training rows, standardized if asked; ``metric`` is the metric or kernel in use."""
        self.standardizer_ = None
        if not self.standardize:
            return x
        precomputed = isinstance(metric, PrecomputedDistances) or metric == "precomputed"
        if precomputed or not getattr(metric, "of_vectors", True) or not hasattr(x, "shape"):
            raise InputError("standardize=True needs numeric columns, and there are none.")
        x = x.toarray() if sparse.issparse(x) else x
        self.standardizer_ = Standardizer.from_rows(x, unit_weights(w, len(x)))
        return self._standardized(x)

    def _standardized(self, x: Any) -> Any:
        """New rows as the training rows were."""
        if self.standardizer_ is None:
            return x
        return self.standardizer_.transform(x.toarray() if sparse.issparse(x) else x)
