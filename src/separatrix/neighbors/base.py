"""Instance-based models: training points are stored, and new points compared with them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from separatrix.distances.base import Metric
from separatrix.distances.concentration import distance_concentration
from separatrix.distances.names import PrecomputedDistances, metric_from
from separatrix.estimators.class_labels import ClassLabels, coded_items, coded_rows
from separatrix.estimators.metric_inputs import (
    PointsEstimator,
    as_dense,
    as_objects,
    holds_objects,
)
from separatrix.estimators.targets import numeric
from separatrix.kernels.base import take_items
from separatrix.messages import InputError, warn
from separatrix.rows.block import Floats, Ints, unit_weights
from separatrix.rows.encoding import identity
from separatrix.rows.rows import Rows
from separatrix.statistics.preparation import prepare

#: With fewer columns distances do not concentrate.
MANY_COLUMNS = 20


class InstanceBasedModel(PointsEstimator):
    """``points_`` are the training points of positive weight, ``sample_weight_`` their weights."""

    metric: Any
    points_: Any
    sample_weight_: Floats
    metric_: Metric

    def _fit_points(self, x: Any, w: Floats, rows: Ints) -> None:
        """Store the points of positive weight, which are the given ``rows``."""
        metric = metric_from(self.metric)
        self.precomputed_columns_ = None
        if not self._fitted_to_objects:
            x = as_dense(x)
        if isinstance(metric, PrecomputedDistances):
            self.precomputed_columns_ = np.asarray(rows, dtype=np.int64)
            x = np.ascontiguousarray(x[:, rows])
        if not len(x):
            raise InputError("There are no rows of positive weight to store.")
        self.points_ = self._fit_standardize(x, w, numeric=metric.of_vectors)
        self.sample_weight_ = w
        self.metric_ = metric.fitted(self.points_, w)
        if isinstance(x, np.ndarray) and min(x.shape) >= MANY_COLUMNS:
            found = distance_concentration(self.points_, self.metric_)
            if found.concentrated:
                warn("SEP008", str(found))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


class InstanceBasedClassifier(ClassLabels, InstanceBasedModel):
    """``codes_`` are the classes of the training points, as positions in ``classes_``."""

    codes_: Ints

    def _fit_classes(self, X: Any, y: Any, sample_weight: Any) -> None:
        if holds_objects(metric_from(self.metric), X):
            coded = coded_items(self, as_objects(X), y, sample_weight)
        else:
            coded = coded_rows(self, X, y, sample_weight)
            self.encoding_ = coded.encoding
        self.codes_ = coded.codes
        self._fit_points(coded.x, coded.w, coded.rows)


class InstanceBasedRegressor(InstanceBasedModel):
    """``targets_`` (n x k) are the targets of the training points."""

    _multi_output = True
    targets_: Floats

    def _fit_targets(self, X: Any, y: Any, sample_weight: Any) -> None:
        if holds_objects(metric_from(self.metric), X):
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
            numeric(block.targets)
            self.flat_ = isinstance(X, Rows) or np.asarray(y).ndim == 1
            x, w, targets = block.x, block.weights, block.y
        rows = np.flatnonzero(w > 0)
        self.targets_ = targets[rows].copy()
        self._fit_points(take_items(x, rows), w[rows], rows)

    def _shaped(self, predicted: Floats) -> Floats:
        """1-D if the training targets were."""
        return predicted[:, 0] if self.flat_ and predicted.shape[1] == 1 else predicted
