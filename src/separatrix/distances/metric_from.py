"""A metric from what users write: a name, a metric, a function of two points, a matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from separatrix.distances.base import Metric
from separatrix.distances.elliptical import Mahalanobis
from separatrix.distances.gower import Gower
from separatrix.distances.sequences import Edit, Hamming
from separatrix.distances.vectors import (
    Chebyshev,
    Cosine,
    Euclidean,
    Manhattan,
    Minkowski,
    SquaredEuclidean,
)
from separatrix.kernels.base import n_items
from separatrix.messages import InputError, did_you_mean
from separatrix.rows.block import Floats


@dataclass(frozen=True)
class FunctionMetric(Metric):
    """A distance that the user wrote, one pair of points at a time."""

    function: Callable[[Any, Any], float]
    of_vectors: ClassVar[bool] = False

    @property
    def is_metric(self) -> bool:
        """Not known; :func:`~separatrix.metric_axioms` can look for a counterexample."""
        return False

    def validate(self, x: Any) -> list[Any]:
        """A list of anything, or the rows of a matrix."""
        return list(x)

    def precompute(self, z: list[Any]) -> list[Any]:
        """As they are."""
        return z

    def fill(self, x: list[Any], prepared: list[Any], out: Floats) -> None:
        """One call for every pair."""
        for i, a in enumerate(x):
            for k, b in enumerate(prepared):
                out[i, k] = self.function(a, b)


@dataclass(frozen=True)
class PrecomputedDistances(Metric):
    """Distances that are known already: x is the matrix of its distances to the points."""

    of_vectors: ClassVar[bool] = False

    @property
    def is_metric(self) -> bool:
        """Not known: a detour may be shorter than what was given."""
        return False

    def validate(self, x: Any) -> Floats:
        """A matrix of finite distances, none negative."""
        x = np.asarray(x, dtype=np.float64)
        if x.ndim != 2 or not np.isfinite(x).all() or (x < 0).any():
            raise InputError("Distances come as a matrix of finite numbers, none negative.")
        return np.asarray(x)

    def precompute(self, z: Floats) -> Floats:
        """The distances among the points: square, symmetric, zero to themselves."""
        if z.shape[0] != z.shape[1]:
            raise InputError(f"Distances among points form a square, not {z.shape}.")
        if not np.allclose(z, z.T, rtol=1e-8, atol=1e-12 * max(1e-300, float(z.max(initial=0)))):
            i, k = np.unravel_index(np.abs(z - z.T).argmax(), z.shape)
            raise InputError(
                f"The distances are not symmetric: {z[i, k]:g} from point {i} to {k}, "
                f"{z[k, i]:g} back.",
                remedy="Take (D + D.T) / 2 if either direction is as good.",
            )
        return z

    def fill(self, x: Floats, prepared: Floats, out: Floats) -> None:
        """As they are given."""
        if x.shape[1] != len(prepared):
            raise InputError(f"Distances to {len(prepared)} points are expected, not {x.shape[1]}.")
        out[:] = x


def distances_among_some(metric: Metric, x: Any, most: int) -> tuple[Any, Floats]:
    """An even selection of at most ``most`` accepted points, and all distances among them."""
    kept = np.unique(np.linspace(0, n_items(x) - 1, min(n_items(x), most)).round().astype(int))
    if isinstance(metric, PrecomputedDistances):
        if x.shape[0] != x.shape[1]:
            raise InputError(f"Distances among points form a square, not {x.shape}.")
        some = x[np.ix_(kept, kept)]
        return some, some.copy()
    some = x[kept] if isinstance(x, np.ndarray) else [x[i] for i in kept]
    square = np.empty((len(kept), len(kept)))
    metric.fill(some, metric.precompute(some), square)
    return some, square


NAMES: dict[str, Callable[[], Metric]] = {
    "euclidean": Euclidean,
    "l2": Euclidean,
    "sqeuclidean": SquaredEuclidean,
    "squared_euclidean": SquaredEuclidean,
    "manhattan": Manhattan,
    "cityblock": Manhattan,
    "l1": Manhattan,
    "chebyshev": Chebyshev,
    "minkowski": Minkowski,
    "hamming": Hamming,
    "cosine": Cosine,
    "mahalanobis": Mahalanobis,
    "gower": Gower,
    "edit": Edit,
    "levenshtein": Edit,
    "precomputed": PrecomputedDistances,
}


def metric_from(metric: Any) -> Metric:
    """The metric that is meant by a name, a :class:`Metric` or a function of two points."""
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, str):
        if metric not in NAMES:
            raise InputError(f"No metric {metric!r}.", remedy=did_you_mean(metric, list(NAMES)))
        return NAMES[metric]()
    if isinstance(metric, type) and issubclass(metric, Metric):
        return metric()
    if callable(metric):
        return FunctionMetric(metric)
    raise InputError(f"A metric is a name, a Metric or a function of two points, not {metric!r}.")
