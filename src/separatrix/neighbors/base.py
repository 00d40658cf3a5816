"""Instance-based models: training points are stored, and new points compared with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_consistent_length

from separatrix.distances.base import Metric
from separatrix.distances.concentration import MAX_POINTS, distance_concentration
from separatrix.distances.missing import NanEuclidean
from separatrix.distances.names import PrecomputedDistances, evenly_spaced, metric_from
from separatrix.distances.search.given import as_graph
from separatrix.distances.search.sparse_rows import stays_sparse
from separatrix.estimators.class_labels import ClassLabels, coded_items, coded_rows
from separatrix.estimators.metric_inputs import (
    PointsEstimator,
    as_dense,
    as_objects,
    holds_objects,
)
from separatrix.estimators.skipped_values import metric_of_table, with_missing
from separatrix.estimators.targets import numeric
from separatrix.kernels.base import n_items, take_items
from separatrix.messages import InputError, warn
from separatrix.rows.block import Floats, Ints, unit_weights
from separatrix.rows.encoding import identity
from separatrix.rows.rows import Rows
from separatrix.statistics.preparation import prepare

#: With fewer columns distances do not concentrate.
MANY_COLUMNS = 20
#: Trees of scikit-learn, which hold their points.
_TREES = ("KDTree", "BallTree", "KDTree64", "BallTree64", "KDTree32", "BallTree32")


class InstanceBasedModel(PointsEstimator):
    """``points_`` are the training points of positive weight, ``sample_weight_`` their weights."""

    metric: Any
    points_: Any
    sample_weight_: Floats
    metric_: Metric

    def _chosen_metric(self) -> Metric:
        """The metric, before it has learned anything from the rows."""
        return metric_from(self.metric)

    def _fit_points(self, x: Any, w: Floats, rows: Ints, n_samples: int) -> None:
        """Store the points of positive weight, which are the given ``rows`` of ``n_samples``."""
        metric = self._chosen_metric()
        self.precomputed_columns_ = None
        if isinstance(metric, PrecomputedDistances):
            x = self._precomputed_points(x, rows, n_samples)
        elif not self._fitted_to_objects:
            keep = self._searches and not self.standardize and stays_sparse(x, metric)
            x = sparse.csr_array(x, copy=True) if keep else as_dense(x)
        if not n_items(x):
            raise InputError("There are no rows of positive weight to store.")
        self.points_ = self._fit_standardize(x, w, numeric=metric.of_vectors)
        self.sample_weight_ = w
        metric = metric_of_table(metric, vars(self).get("encoding_"))
        self.metric_ = metric.fitted(self.points_, w)
        if isinstance(x, np.ndarray) and min(x.shape) >= MANY_COLUMNS:
            if isinstance(metric, NanEuclidean):
                return
            sample = self.points_[evenly_spaced(len(x), MAX_POINTS)]
            found = distance_concentration(sample, self.metric_)
            if found.concentrated:
                warn("SEP008", str(found))

    def _precomputed_points(self, x: Any, rows: Ints, n_samples: int) -> Any:
        """Distances among the rows of positive weight; a sparse graph stays sparse."""
        if x.shape[1] != n_samples:
            raise InputError(
                f"Precomputed distances among {n_samples} rows are a square matrix, not "
                f"{n_samples}x{x.shape[1]}.",
                remedy="Give the distance of every training row to every training row.",
            )
        if sparse.issparse(x) and not self._searches:
            raise InputError(
                "A sparse graph holds the distances to some neighbors, and all are needed here.",
                remedy="Give a full matrix of distances.",
            )
        self.precomputed_columns_ = np.asarray(rows, dtype=np.int64)
        chosen = x if len(rows) == n_samples else x[:, rows]
        return as_graph(chosen).copy() if sparse.issparse(x) else as_dense(chosen)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.metric, str) and self.metric == "precomputed"
        tags.input_tags.positive_only = tags.input_tags.pairwise
        return tags


def stored_points(X: Any) -> Any:
    """The points of a fitted search, ours or a tree of scikit-learn's; anything else as it is."""
    if isinstance(X, InstanceBasedModel):
        return X.points_
    return np.asarray(X.data) if type(X).__name__ in _TREES else X


def chosen_items(x: Any, rows: Ints) -> Any:
    """The items at ``rows``; all of them without a copy."""
    return x if len(rows) == n_items(x) else take_items(x, rows)


class InstanceBasedClassifier(ClassLabels, InstanceBasedModel):
    """``codes_`` are the classes of the training points, as positions in ``classes_``."""

    codes_: Ints

    def _fit_classes(self, X: Any, y: Any, sample_weight: Any) -> None:
        X = stored_points(X)
        if holds_objects(self._chosen_metric(), X):
            coded = coded_items(self, as_objects(X), y, sample_weight)
        else:
            coded = coded_rows(self, X, y, sample_weight)
            self.encoding_ = coded.encoding
            if self._skips_missing and not coded.encoding.is_identity:
                raw = with_missing(coded.encoding, X.collect())
                coded = replace(coded, x=raw[coded.rows])
        self.codes_ = coded.codes
        self._fit_points(coded.x, coded.w, coded.rows, coded.n_samples)


class InstanceBasedRegressor(InstanceBasedModel):
    """``targets_`` (n x k) are the targets of the training points."""

    _multi_output = True
    targets_: Floats

    def _fit_targets(self, X: Any, y: Any, sample_weight: Any) -> None:
        X = stored_points(X)
        if holds_objects(self._chosen_metric(), X):
            x, given = self._read_points(X, sample_weight, objects=True)
            check_consistent_length(x, y)
            targets, w = np.asarray(y, dtype=np.float64), unit_weights(given, len(x))
            self.flat_ = targets.ndim == 1
            targets = targets.reshape(len(x), -1)
        else:
            table = self._training_rows(X, y, sample_weight)
            self.encoding_ = identity(table.schema)
            if isinstance(X, Rows):
                prepared = prepare(table)
                table, self.encoding_ = prepared.rows, prepared.encoding
            block = table.collect()
            if self._skips_missing and not self.encoding_.is_identity:
                block = replace(block, x=with_missing(self.encoding_, X.collect()))
            numeric(block.targets)
            self.flat_ = isinstance(X, Rows) or np.asarray(y).ndim == 1
            x, w, targets = block.x, block.weights, block.y
        rows = np.flatnonzero(w > 0)
        self.targets_ = targets[rows].copy()
        self._fit_points(chosen_items(x, rows), w[rows], rows, len(w))

    def _shaped(self, predicted: Floats) -> Floats:
        """1-D if the training targets were."""
        return predicted[:, 0] if self.flat_ and predicted.shape[1] == 1 else predicted
