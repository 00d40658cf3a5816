"""Parameters and input that clusterers share."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_random_state

from separatrix.arrays import Floats
from separatrix.distances.graphs import require_reachable
from separatrix.distances.metrics import Metric, as_square
from separatrix.distances.names import PrecomputedDistances, metric_from
from separatrix.estimators.metric_inputs import (
    PointsEstimator,
    as_dense,
    holds_objects,
    metric_of_table,
)
from separatrix.formula import nodes
from separatrix.messages import InputError
from separatrix.mixins import ClusterMixin
from separatrix.optimize.convex import Certificate
from separatrix.rows.schema import Encoding, Kind


def _positive_integer(name: str, value: Any, also: str = "") -> int:
    if not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name}={value!r} must be a positive integer{also}.")
    return int(value)


def columns_by_level(encoding: Encoding) -> list[list[int]]:
    """Positions in the design of the levels of each discrete column."""
    columns: dict[str, list[int]] = {}
    for j, term in enumerate(encoding.terms):
        if term.level is not None:
            columns.setdefault(term.column, []).append(j)
    return list(columns.values())


def zero_one_columns(encoding: Encoding) -> list[list[int]]:
    """Positions of all 0/1 columns: levels of a column together, truth and missing values alone."""
    booleans = {c.name for c in encoding.schema.columns if c.kind is Kind.BOOLEAN}
    alone = [
        [j]
        for j, term in enumerate(encoding.terms)
        if term.level is None and (term.missing or term.column in booleans)
    ]
    return [*columns_by_level(encoding), *alone]


class Clusterer(ClusterMixin, PointsEstimator):
    """An estimator of a partition into ``n_clusters``."""

    n_clusters: int | None
    certificate_: Certificate

    def _fit_standardize(self, x: Any, w: Floats | None, *, numeric: bool) -> Any:
        """The training points, standardized if ``standardize``; a discrete column has one scale."""
        z = super()._fit_standardize(x, w, numeric=numeric)
        groups = zero_one_columns(self.encoding_) if self.standardizer_ is not None else []
        if self.standardizer_ is None or not groups:
            return z
        self.standardizer_ = self.standardizer_.with_pooled_scales(groups)
        return self.standardizer_.transform(as_dense(x))

    def _check_n_clusters(self, n: int) -> int:
        """``n_clusters``, refused if it is not an integer from 1 to the number of rows."""
        k = _positive_integer("n_clusters", self.n_clusters)
        if n < k:
            raise InputError(
                f"n_samples={n} should be >= n_clusters={k}: every cluster needs a row.",
                remedy="Use fewer clusters.",
            )
        return k


class IterativeClusterer(Clusterer):
    """A clusterer that iterates from several random initializations."""

    n_clusters: int
    n_init: Any
    max_iter: int
    random_state: Any

    def _check_iterations(self, default_n_init: int) -> int:
        """The number of initializations, "auto" being ``default_n_init``; checks ``max_iter``."""
        _positive_integer("max_iter", self.max_iter)
        if isinstance(self.n_init, str) and self.n_init == "auto":
            return default_n_init
        return _positive_integer("n_init", self.n_init, ", or 'auto'")

    def _generator(self) -> np.random.Generator:
        """A random generator seeded by ``random_state``."""
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))


class MetricClusterer(Clusterer):
    """A clusterer of points that a metric compares."""

    metric: Any
    metric_: Metric

    def _fit_metric(self, X: Any, sample_weight: Any = None) -> tuple[Any, Floats | None]:
        """Fit ``metric_``; the points as it compares them, and their weights if any."""
        metric = metric_from(self.metric)
        if isinstance(metric, PrecomputedDistances):
            X = as_square(X)
            if sparse.issparse(X) or np.isposinf(np.asarray(X)).any():
                require_reachable(metric, metric.validate(X))
        x, w = self._read_points(X, sample_weight, objects=holds_objects(metric, X))
        x = self._fit_standardize(x, w, numeric=metric.of_vectors)
        self.metric_ = metric_of_table(metric, vars(self).get("encoding_")).fitted(x, w)
        points = self.metric_.validate(x)
        if isinstance(metric, PrecomputedDistances):
            metric.precompute(points)  # refuses a matrix that is not square and symmetric
        require_reachable(self.metric_, points)
        return points, w


# -------------------------------------------------------------------------------------------------
# The formula of a clustering: the nearest of several.


def cluster_names(k: int) -> tuple[str, ...]:
    """Names of distances to clusters."""
    return tuple(f"distance {c}" for c in range(k))


def nearest_cluster(distances: nodes.Node, k: int) -> nodes.ClassFormula:
    """The cluster of the least distance, the first of equals."""
    against = nodes.Affine(distances, -np.eye(k))
    return nodes.ClassFormula(
        nodes.Cheapest(distances), np.arange(k), decided_by=against, is_clustering=True
    )
