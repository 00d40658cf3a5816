"""What models take that need nothing but distances: rows of numbers, distances, or any objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from separatrix.distances.base import Metric
from separatrix.distances.metric_from import PrecomputedDistances
from separatrix.estimators.scaling import deviation
from separatrix.messages import InputError
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Floats
from separatrix.statistics.moments import Moments


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


class StandardFooting:
    """Columns in units of their deviation, if the parameter ``standardize`` asks for it.

    ``centre_`` and ``scale_`` are learned from the training rows and serve for new ones.
    """

    standardize: bool
    centre_: Floats
    scale_: Floats

    def _learn_footing(self, measure: Any, x: Any, w: Floats | None) -> Any:
        """The training rows on their footing; ``measure`` is the metric or kernel to be used."""
        for name in ("centre_", "scale_"):
            self.__dict__.pop(name, None)
        if not self.standardize:
            return x
        given = isinstance(measure, PrecomputedDistances) or measure == "precomputed"
        if given or not getattr(measure, "of_vectors", True) or not hasattr(x, "shape"):
            raise InputError("standardize=True is about columns of numbers, and there are none.")
        x = x.toarray() if sparse.issparse(x) else x
        moments = ArrayRows(x, None, w).reduce(Moments())
        spread = deviation(moments)
        self.centre_ = moments.x_mean.copy()
        self.scale_ = np.where(spread > 0, spread, np.inf)  # a column that never varies is no help
        return self._footed(x)

    def _footed(self, x: Any) -> Any:
        if not self.standardize:
            return x
        x = x.toarray() if sparse.issparse(x) else x
        return np.ascontiguousarray((x - self.centre_) / self.scale_)
