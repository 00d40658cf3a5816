"""What models share that keep their training rows and measure new ones against them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from separatrix.distances.base import Metric
from separatrix.distances.concentration import distance_concentration
from separatrix.distances.metric_from import PrecomputedDistances, metric_from
from separatrix.estimators.base import RowsEstimator, check_sample_weight
from separatrix.estimators.class_labels import ClassLabels
from separatrix.estimators.coded_rows import coded_rows
from separatrix.estimators.metric_inputs import StandardizeMixin
from separatrix.estimators.targets import numeric, two_or_more
from separatrix.messages import InputError, warn
from separatrix.rows.block import Floats, unit_weights
from separatrix.rows.encoding import identity
from separatrix.rows.rows import Rows
from separatrix.statistics.preparation import prepare

#: Fewer columns than this do not make everybody equally far away.
MANY_COLUMNS = 20


class InstanceBasedModel(StandardizeMixin, RowsEstimator):
    """``points_`` are the training rows of positive weight, ``weights_`` what each counts.

    Columns are divided by their deviation if ``standardize``: distances then do not depend on
    units. Metrics of other things than numbers take lists of Python objects for ``X``.
    """

    metric: Any
    points_: Any
    weights_: Floats
    metric_: Metric

    # -- what fit was given ------------------------------------------------------------------------

    def _takes_objects(self, X: Any) -> bool:
        """Whether X is a list of things that only the metric understands."""
        metric = metric_from(self.metric)
        numbers = isinstance(X, Rows) or sparse.issparse(X)
        if metric.of_vectors or isinstance(metric, PrecomputedDistances) or numbers:
            return False
        return not (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub")

    def _keep_objects(self, X: Any, sample_weight: Any) -> np.ndarray:
        """Remember Python objects; returns the positions of those that count."""
        if hasattr(X, "iter_rows"):
            items = list(X.iter_rows())
        elif hasattr(X, "itertuples"):
            items = list(X.itertuples(index=False, name=None))
        else:
            items = [tuple(x) if isinstance(x, np.ndarray) else x for x in X]
        w = check_sample_weight(sample_weight, len(items))
        w = unit_weights(w, len(items))
        there = np.flatnonzero(w > 0)
        self.n_features_in_ = 1
        self._keep([items[i] for i in there], w[there])
        return there

    def _keep_rows(self, x: Any, w: Floats, rows: Any) -> None:
        """Remember rows of numbers, brought to a common footing if that was asked for.

        ``rows`` are their numbers among those given: the columns of given distances to keep.
        """
        x = np.ascontiguousarray(x.toarray() if hasattr(x, "toarray") else x, dtype=np.float64)
        self.__dict__.pop("rows_", None)
        if isinstance(metric_from(self.metric), PrecomputedDistances):
            if self.standardize:
                raise InputError("standardize=True is about columns of numbers, not distances.")
            self.rows_ = np.asarray(rows, dtype=np.int64)
            x = x[:, self.rows_]
        self._keep(self._fit_standardize(metric_from(self.metric), x, w), w)
        if x.shape[1] >= MANY_COLUMNS and len(x) >= MANY_COLUMNS:
            seen = distance_concentration(self.points_, self.metric_)
            if seen.concentrated:
                warn("SEP008", str(seen))

    def _keep(self, points: Any, w: Floats) -> None:
        self.points_, self.weights_ = points, w
        if not len(points):
            raise InputError("No rows are left to remember.")
        self.metric_ = metric_from(self.metric).fitted(points, w)

    # -- new rows ----------------------------------------------------------------------------------

    def _located(self, X: Any) -> Any:
        """New rows as the points are."""
        check_is_fitted(self)
        if isinstance(self.points_, list):
            if hasattr(X, "itertuples"):
                return list(X.itertuples(index=False, name=None))
            return list(X.iter_rows()) if hasattr(X, "iter_rows") else list(X)
        x = self._design(X)
        x = np.asarray(x.toarray() if hasattr(x, "toarray") else x)
        return x[:, self.rows_] if hasattr(self, "rows_") else self._standardized(x)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


class InstanceBasedClassifier(ClassLabels, InstanceBasedModel):
    """``codes_`` are the classes of the points, by position in ``classes_``."""

    def _remember_classes(self, X: Any, y: Any, sample_weight: Any) -> None:
        if not self._takes_objects(X):
            coded = coded_rows(self, X, y, sample_weight)
            self.encoding_, self.codes_ = coded.encoding, coded.codes
            self._keep_rows(coded.x, coded.w, coded.rows)
            return
        self._expect_labels(X, y)
        labels = column_or_1d(y)
        check_classification_targets(labels)
        check_consistent_length(X, labels)
        there = self._keep_objects(X, sample_weight)
        self.classes_, codes = np.unique(labels[there], return_inverse=True)
        two_or_more(self.classes_.tolist())
        self.codes_ = codes.astype(np.int64)


class InstanceBasedRegressor(InstanceBasedModel):
    """``targets_`` are the numbers of the points, n x k."""

    _multi_output = True
    targets_: Floats

    def _remember_targets(self, X: Any, y: Any, sample_weight: Any) -> None:
        if self._takes_objects(X):
            there = self._keep_objects(X, sample_weight)
            check_consistent_length(X, y)
            targets = np.asarray(y, dtype=np.float64)[there]
            self.flat_ = targets.ndim == 1
            self.targets_ = targets.reshape(len(there), -1)
            return
        rows = self._training_rows(X, y, sample_weight)
        encoding = identity(rows.schema)
        if isinstance(X, Rows):
            prepared = prepare(rows)
            rows, encoding = prepared.rows, prepared.encoding
        block = rows.collect()
        numeric(block.targets)
        w = block.weights
        there = np.flatnonzero(w > 0)
        self.encoding_ = encoding
        self.flat_ = isinstance(X, Rows) or np.asarray(y).ndim == 1
        self.targets_ = block.y[there].copy()
        self._keep_rows(block.x[there], w[there], there)

    def _shaped(self, predicted: Floats) -> Floats:
        """One number per row if the target came as such."""
        return predicted[:, 0] if self.flat_ and predicted.shape[1] == 1 else predicted
