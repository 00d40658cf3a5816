"""Metrics by name, by function, or as a precomputed matrix of distances."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats, Ints
from separatrix.distances import metrics
from separatrix.distances.elliptical import Elliptical, Mahalanobis, StandardizedEuclidean
from separatrix.distances.gower import Gower, NanEuclidean
from separatrix.distances.metrics import Metric, as_dense_matrix, as_square
from separatrix.distances.sequences import Edit, Hamming
from separatrix.messages import InputError, did_you_mean
from separatrix.rows.schema import n_items, take_items


@dataclass(frozen=True)
class FunctionMetric(Metric):
    """A user-defined function of two points."""

    function: Callable[[Any, Any], float]
    of_vectors: ClassVar[bool] = False

    @property
    def is_metric(self) -> bool:
        """False, since it is unknown; :func:`~separatrix.metric_axioms` tests it on a sample."""
        return False

    def validate(self, x: Any) -> list[Any]:
        """A list of anything, or of the rows of a matrix, sparse ones as matrices of one row."""
        return [x[[i]] for i in range(x.shape[0])] if sparse.issparse(x) else list(x)

    def precompute(self, z: list[Any]) -> list[Any]:
        """The points themselves."""
        return z

    def fill(self, x: list[Any], precomputed: list[Any], out: Floats) -> None:
        """One call for every pair; each must give a finite number."""
        self.evaluate(x, precomputed, out)
        _require_numbers(out)

    def evaluate(self, x: list[Any], z: list[Any], out: Floats) -> None:
        """Whatever the function gives for every pair."""
        for i, a in enumerate(x):
            for k, b in enumerate(z):
                out[i, k] = self.function(a, b)


@dataclass(frozen=True, eq=False)
class PairwiseMetric(Metric):
    """An object whose ``pairwise(x, z)`` is a distance matrix, as scikit-learn's DistanceMetric."""

    source: Any

    @property
    def is_metric(self) -> bool:
        """False, since it is unknown."""
        return False

    def precompute(self, z: Floats) -> Floats:
        """The points themselves."""
        return z

    def fill(self, x: Floats, precomputed: Floats, out: Floats) -> None:
        """Its own distance matrix."""
        dtype = getattr(self.source, "dtype", np.float64)
        out[:] = self.source.pairwise(as_dense_matrix(x).astype(dtype), precomputed.astype(dtype))
        _require_numbers(out)


def _require_numbers(distances: Floats) -> None:
    """Refuse NaN and infinity from a function of the user: no order of such distances exists."""
    if not np.isfinite(distances).all():
        row, column = np.argwhere(~np.isfinite(distances))[0]
        raise InputError(
            f"The metric gives {distances[row, column]} for two points, which is not a distance.",
            remedy="Return a finite number, none negative, for every two points.",
        )


@dataclass(frozen=True)
class PrecomputedDistances(Metric):
    """Given distances: each row of x holds the distances of one item to all points."""

    of_vectors: ClassVar[bool] = False

    @property
    def is_metric(self) -> bool:
        """False, since it is unknown."""
        return False

    def validate(self, x: Any) -> Floats:
        """A matrix of non-negative numbers, or these in condensed form; infinity is no path."""
        if sparse.issparse(x):
            raise InputError(
                "A sparse graph holds the distances to some neighbors, and all are needed here.",
                remedy="Give a full matrix of distances.",
            )
        x = np.asarray(as_square(x), dtype=np.float64)
        if x.ndim != 2 or np.isnan(x).any():
            raise InputError("Distances form a matrix of numbers, none negative.")
        if (x < 0).any():
            row, column = np.argwhere(x < 0)[0]
            raise InputError(
                f"Negative values in data: the distance from row {row + 1} to row {column + 1} is "
                f"{x[row, column]:g}, and distances form a matrix of numbers, none negative."
            )
        return np.asarray(x)

    def precompute(self, z: Floats) -> Floats:
        """The distance matrix of the points: square and symmetric."""
        require_square(z)
        largest = float(z.max(initial=0, where=np.isfinite(z)))
        if not np.allclose(z, z.T, rtol=1e-8, atol=1e-12 * max(1e-300, largest)):
            both = np.isfinite(z) & np.isfinite(z.T)
            difference = np.abs(np.subtract(z, z.T, out=np.zeros_like(z), where=both))
            difference[np.isfinite(z) != np.isfinite(z.T)] = np.inf
            i, k = np.unravel_index(difference.argmax(), z.shape)
            raise InputError(
                f"The distances are not symmetric: {z[i, k]:g} from point {i} to {k}, "
                f"{z[k, i]:g} back.",
                remedy="Take (D + D.T) / 2 if either direction is as good.",
            )
        return z

    def fill(self, x: Floats, precomputed: Floats, out: Floats) -> None:
        """A copy."""
        if x.shape[1] != len(precomputed):
            raise InputError(
                f"Distances to {len(precomputed)} points are expected, not {x.shape[1]}."
            )
        out[:] = x


def sample_distances(metric: Metric, x: Any, max_points: int) -> tuple[Any, Floats]:
    """At most ``max_points`` evenly spaced, validated points, and their distance matrix."""
    rows = space_evenly(n_items(x), max_points)
    if isinstance(metric, PrecomputedDistances):
        require_square(x)
        sample = x[np.ix_(rows, rows)]
        return sample, sample.copy()
    sample = take_items(x, rows)
    distances = np.empty((len(rows), len(rows)))
    if isinstance(metric, FunctionMetric):  # what is not a distance is for the caller to judge
        metric.evaluate(sample, sample, distances)
    else:
        metric.fill(sample, metric.precompute(sample), distances)
    return sample, distances


def space_evenly(n: int, most: int) -> Ints:
    """At most ``most`` of n positions, the first and the last among them."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))


def require_square(distances: Any) -> None:
    """Refuse a distance matrix of points that is not square."""
    if distances.shape[0] != distances.shape[1]:
        raise InputError(
            f"Distance matrix should be square, got matrix of shape {distances.shape}."
        )


NAMES: dict[str, Callable[[], Metric]] = {
    "euclidean": metrics.Euclidean,
    "l2": metrics.Euclidean,
    "sqeuclidean": metrics.SquaredEuclidean,
    "squared_euclidean": metrics.SquaredEuclidean,
    "manhattan": metrics.Manhattan,
    "cityblock": metrics.Manhattan,
    "l1": metrics.Manhattan,
    "chebyshev": metrics.Chebyshev,
    "infinity": metrics.Chebyshev,
    "minkowski": metrics.Minkowski,
    "p": metrics.Minkowski,
    "hamming": lambda: Hamming(relative=True),
    "cosine": metrics.Cosine,
    "correlation": metrics.Correlation,
    "canberra": metrics.Canberra,
    "braycurtis": metrics.BrayCurtis,
    "jaccard": metrics.JaccardDistance,
    "haversine": metrics.Haversine,
    "seuclidean": StandardizedEuclidean,
    "nan_euclidean": NanEuclidean,
    "mahalanobis": Mahalanobis,
    "gower": Gower,
    "edit": Edit,
    "levenshtein": Edit,
    "precomputed": PrecomputedDistances,
    **{
        kind: partial(metrics.BooleanDistance, kind)
        for kind in (
            *("dice", "matching", "rogerstanimoto", "russellrao"),
            *("sokalmichener", "sokalsneath", "yule"),
        )
    },
}


def metric_from(metric: Any) -> Metric:
    """The metric given by a name, a :class:`Metric` or a function of two points."""
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, str):
        if metric not in NAMES:
            raise InputError(f"No metric {metric!r}.", remedy=did_you_mean(metric, list(NAMES)))
        return NAMES[metric]()
    if isinstance(metric, type) and issubclass(metric, Metric):
        return metric()
    if callable(getattr(metric, "pairwise", None)):
        return PairwiseMetric(metric)
    if callable(metric):
        return FunctionMetric(metric)
    raise InputError(f"A metric is a name, a Metric or a function of two points, not {metric!r}.")


#: Names of parameters as scikit-learn has them: name of the metric → class, parameter → ours.
_PARAMETERS: dict[str, tuple[Callable[..., Metric], dict[str, str]]] = {
    "minkowski": (metrics.Minkowski, {"p": "p", "w": "w"}),
    "p": (metrics.Minkowski, {"p": "p", "w": "w"}),
    "seuclidean": (StandardizedEuclidean, {"V": "variances"}),
    "mahalanobis": (Mahalanobis, {"V": "covariance"}),
}


def metric_with(metric: Any, parameters: Mapping[str, Any] | None) -> Metric:
    """A metric with the ``metric_params`` of scikit-learn: p and w, V, VI, arguments of functions.

    Parameters that are None, and p of a metric without one, are as if they were not given.
    """
    given = {key: value for key, value in (parameters or {}).items() if value is not None}
    if not given:
        return metric_from(metric)
    if isinstance(metric, str):
        if metric == "mahalanobis" and set(given) == {"VI"}:
            return Elliptical(given["VI"])
        create, names = _PARAMETERS.get(metric, (lambda: metric_from(metric), {}))
        given = {key: value for key, value in given.items() if key != "p" or "p" in names}
        unknown = sorted(set(given) - set(names))
        if unknown:
            known = f"takes {', '.join(names)}" if names else "has no parameters"
            raise InputError(f"metric={metric!r} {known}, not {', '.join(unknown)}.")
        return create(**{names[key]: value for key, value in given.items()})
    if callable(metric) and not isinstance(metric, Metric | type):
        return FunctionMetric(partial(metric, **given))
    raise InputError(
        f"metric_params={given!r} are for metrics by name and for functions.",
        remedy="Give the parameters to the metric itself.",
    )
