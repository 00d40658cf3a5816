"""Reading of unlabeled points: tables, matrices, precomputed distances, or any objects.

Neighbors and clusterers compare points by a metric or a kernel. Tables and matrices become rows of
numbers; anything else stays a list of objects, which the metric or kernel alone understands.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints, Matrix
from separatrix.distances.gower import Gower, NanEuclidean
from separatrix.distances.graphs import reachable_pairs
from separatrix.distances.metrics import Metric, SquaredEuclidean
from separatrix.distances.names import FunctionMetric, PrecomputedDistances, metric_from
from separatrix.estimators.base import RowsEstimator, validate_data
from separatrix.formula import nodes
from separatrix.formula.values import NoFormula
from separatrix.messages import InputError
from separatrix.rows import schema
from separatrix.rows.rows import ArrayRows, Rows, column_means
from separatrix.rows.scan import rows_like
from separatrix.statistics.moments import Standardizer, prepare


def holds_objects(metric: Metric, X: Any) -> bool:
    """Whether X is a collection of objects rather than a table or matrix of numbers."""
    if metric.of_vectors or isinstance(metric, PrecomputedDistances):
        return False
    if isinstance(X, Rows) or sparse.issparse(X):
        return False
    if isinstance(metric, FunctionMetric) and _is_table(X):
        return False  # a function of two rows, as arrays
    return not (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub")


def _is_table(X: Any) -> bool:
    """Whether X is a list of lists of numbers of one length, or a data frame of numbers."""
    if isinstance(X, list) and X and all(isinstance(row, list | np.ndarray) for row in X):
        shape = {np.shape(row) for row in X} if all(map(len, X)) else set()
        return len(shape) == 1 and np.asarray(X).ndim == 2 and np.asarray(X).dtype.kind in "fiub"
    dtypes = getattr(X, "dtypes", None)
    return hasattr(X, "columns") and all(
        getattr(dtype, "kind", "O") in "fiub" for dtype in np.atleast_1d(np.asarray(dtypes))
    )


def is_precomputed(model: Any) -> bool:
    """Whether an estimator takes distances in place of rows."""
    return isinstance(getattr(model, "metric", None), str) and model.metric == "precomputed"


def as_objects(X: Any) -> list[Any]:
    """The items of a collection; rows of data frames and arrays as tuples."""
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return list(frame.iter_rows())
    return [tuple(item) if isinstance(item, np.ndarray) else item for item in X]


def as_dense(x: Matrix) -> Floats:
    """A matrix as a contiguous array of floats."""
    return np.ascontiguousarray(x.toarray() if sparse.issparse(x) else x, dtype=np.float64)


class PointsEstimator(RowsEstimator):
    """An estimator that compares points by a metric or a kernel.

    ``standardizer_`` is fitted to the training points where ``standardize`` is set, else None.
    ``precomputed_columns_`` are the columns of precomputed distances or similarities that belong
    to stored training points, or None.
    """

    _sparse_points = False  # whether CSR matrices stay sparse
    _searches = False  # the model only searches: graphs and rows of points may stay sparse
    metric: Any
    standardize: bool
    points_: Any
    sample_weight_: Floats
    metric_: Metric
    standardizer_: Standardizer | None
    precomputed_columns_: Ints | None = None

    def _chosen_metric(self) -> Metric:
        """The metric, before it has learned anything from the rows."""
        return metric_from(self.metric)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = tags.input_tags.positive_only = is_precomputed(self)
        return tags

    @property
    def _skips_missing(self) -> bool:
        """Whether the metric skips missing values of tables, which are then not filled."""
        return skips_missing(getattr(self, "metric", None))

    @property
    def _missing_ok(self) -> bool:  # type: ignore[override]
        """Whether the metric takes NaN for a missing value."""
        metric = getattr(self, "metric", None)
        named = isinstance(metric, str) and metric == "nan_euclidean"
        return named or isinstance(metric, NanEuclidean) or self._skips_missing

    @property
    def _any_size(self) -> bool:  # type: ignore[override]
        """Whether only a metric sees the points, which scales what it squares."""
        metric = getattr(self, "metric", None)
        if metric is None or self.standardize:
            return False
        return type(metric_from(metric)) is not SquaredEuclidean

    def _use_of_frames(self) -> str:
        """A metric on objects takes rows as they are, and a distance matrix is a matrix."""
        metric = getattr(self, "metric", None)
        if metric is None:
            return super()._use_of_frames()
        metric = metric_from(metric)
        if isinstance(metric, PrecomputedDistances):
            return "matrix"
        return "encode" if metric.of_vectors else "objects"

    # -- training points ---------------------------------------------------------------------------

    def _unlabeled_rows(self, X: Any, sample_weight: Any) -> Rows:
        """X without a target: Rows as they are, a matrix checked as scikit-learn does."""
        if isinstance(X, Rows):
            if sample_weight is not None:
                raise InputError("Rows carry their own weights.", remedy="scan(…, weight=…).")
            self._name_columns(X)
            return X
        finite: Any = "allow-nan" if self._missing_ok else True
        x = validate_data(self, X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=finite)
        names = getattr(self, "feature_names_in_", None)
        schema.check_sizes(x, names, any_size=self._any_size)
        w = schema.check_sample_weight(sample_weight, x.shape[0])
        return ArrayRows(
            sparse.csr_array(x) if sparse.issparse(x) else x,
            None,
            w,
            names=None if names is None else [str(name) for name in names],
            placeholders=column_means(x, w) if schema.is_frame(X) else None,
        )

    def _read_points(
        self, X: Any, sample_weight: Any, *, objects: bool
    ) -> tuple[Any, Floats | None]:
        """The points in memory, a matrix or a list of ``objects``, and their weights if any."""
        if objects:
            if isinstance(X, Rows):
                raise InputError("This kernel compares objects in a list, not rows of a table.")
            items = as_objects(X)
            for name in ("feature_names_in_", "encoding_"):
                self.__dict__.pop(name, None)
            self.n_features_in_ = 1  # one object for each row
            return items, schema.check_sample_weight(sample_weight, len(items))
        rows = self._unlabeled_rows(X, sample_weight)
        if isinstance(rows, ArrayRows):
            self.encoding_ = schema.identity(rows.schema)
        else:
            prepared = prepare(rows)
            self.encoding_ = prepared.encoding
            if self._skips_missing:
                raw = rows.collect()
                return with_missing(self.encoding_, raw), raw.w
            rows = prepared.rows
        block = rows.collect()
        keep = self._sparse_points or self._searches
        return block.x if keep else as_dense(block.x), block.w

    def _fit_standardize(self, x: Any, w: Floats | None, *, numeric: bool) -> Any:
        """The training points, standardized if ``standardize``, which needs ``numeric`` columns."""
        self.standardizer_ = None
        if not self.standardize:
            return x
        if not numeric:
            raise InputError("standardize=True needs numeric columns, and there are none.")
        x = as_dense(x)
        self.standardizer_ = Standardizer.from_rows(x, schema.unit_weights(w, len(x)))
        return self.standardizer_.transform(x)

    # -- new points --------------------------------------------------------------------------------

    @property
    def _fitted_to_objects(self) -> bool:
        """Whether the training points were objects, which have no columns to encode."""
        return "encoding_" not in vars(self)

    def _query_points(self, X: Any) -> Any:
        """New points in the form of the training points."""
        check_is_fitted(self)
        if self._fitted_to_objects:
            return as_objects(X)
        if is_precomputed(self):
            X = reachable_pairs(X)
        encoding: schema.Encoding = self.encoding_
        if self._skips_missing and not encoding.is_identity:
            return with_missing(encoding, rows_like(X, encoding.schema).collect())
        x = self._design(X)
        columns = self.precomputed_columns_
        if columns is not None and self._reads_graph(x):
            return x if len(columns) == x.shape[1] else x[:, columns]
        if sparse.issparse(vars(self).get("points_")):
            function = isinstance(vars(self).get("metric_"), FunctionMetric)  # of two sparse rows
            return sparse.csr_array(x) if function else x
        if not self._sparse_points or columns is not None:
            x = as_dense(x)
        return self._standardize(x) if columns is None else x[:, columns]

    def _reads_graph(self, x: Any) -> bool:
        """Whether these are distances in a sparse graph of neighbors, which stays one."""
        if not self._searches or not sparse.issparse(x):
            return False
        return is_precomputed(self)

    def _standardize(self, x: Matrix) -> Matrix:
        """New rows standardized as the training rows were."""
        return x if self.standardizer_ is None else self.standardizer_.transform(as_dense(x))

    def _query_node(self) -> nodes.Node:
        """New rows in the form of the stored ones."""
        if self.precomputed_columns_ is not None:
            raise NoFormula("A model of precomputed distances has no rows to compare with.")
        if self._fitted_to_objects:
            raise NoFormula("A metric of objects compares what a formula has no numbers for.")
        return nodes.standardize_rows(self.standardizer_, nodes.design_of(self))


# -------------------------------------------------------------------------------------------------
# Tables for Gower's distance: missing values stay missing, and a category is one column.
#
# The encoding of a table fills missing values and gives a category a column for each level. Gower's
# distance skips what is missing and compares categories as a whole, so that a table gives the same
# distances read by ``scan`` as it does given as a data frame.


def skips_missing(metric: Any) -> bool:
    """Whether a metric, given by name or itself, is Gower's."""
    return isinstance(metric, Gower) or (isinstance(metric, str) and metric == "gower")


def with_missing(encoding: schema.Encoding, raw: schema.Block) -> Floats:
    """The design of raw rows, NaN where the table has no value."""
    x = np.array(schema.to_array(encoding.apply(raw).x), dtype=np.float64)
    terms = schema.to_array(raw.x)
    for j, term in enumerate(encoding.terms):
        at = raw.terms.position.get(schema.Term(term.column, missing=True))
        if term.missing:
            x[:, j] = np.nan  # a column that says which values are missing is none of the table
        elif at is not None:
            x[terms[:, at] != 0.0, j] = np.nan
    return x


def metric_of_table(metric: Metric, encoding: schema.Encoding | None) -> Metric:
    """Gower's distance with the levels of a category in one group; other metrics as they are."""
    if not isinstance(metric, Gower) or metric.groups or encoding is None or encoding.is_identity:
        return metric
    levels: dict[str, list[int]] = {}
    for j, term in enumerate(encoding.terms):
        if term.level is not None:
            levels.setdefault(term.column, []).append(j)
    groups = tuple(tuple(columns) for columns in levels.values())
    return Gower(groups=groups) if groups else metric


def points_of_table(rows: Rows, metric: Metric) -> tuple[Floats, Metric]:
    """The design of a table as a metric compares it, and the metric for it."""
    prepared = prepare(rows)
    metric = metric_of_table(metric, prepared.encoding)
    if skips_missing(metric) and not prepared.encoding.is_identity:
        return with_missing(prepared.encoding, rows.collect()), metric
    return prepared.rows.collect().dense(), metric
