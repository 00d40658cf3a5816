"""Interface of a metric d(x, z): distance matrices, single distances, and blocks of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats
from separatrix.messages import InputError
from separatrix.rows.schema import all_finite, n_items
from separatrix.statistics.columns import column_extremes
from separatrix.threads import PIECE_NUMBERS, parallel_map, pieces


class Metric(ABC):
    """A distance d(x, z) ≥ 0; ``is_metric`` says whether it satisfies the axioms of a metric.

    Metrics are immutable. Parameters estimated from data (a covariance, the range of a column) are
    set by :meth:`fitted`, which returns a new metric.
    """

    of_vectors: ClassVar[bool] = True  #: rows of numbers; otherwise lists of any objects

    @property
    def is_metric(self) -> bool:
        """Whether d(x, x) = 0, d > 0 otherwise, symmetry and the triangle inequality hold."""
        return True

    def fitted(self, x: Any, w: Floats | None = None) -> Metric:  # noqa: ARG002
        """A copy with its parameters estimated from a sample; row i counts w[i] times."""
        return self

    def rounding_error(self, x: Any) -> float:  # noqa: ARG002
        """Distances among these points that differ by less may differ by rounding alone."""
        return 0.0

    def validate(self, x: Any) -> Any:
        """The sample in the form that :meth:`fill` reads, checked."""
        return as_dense_matrix(x)

    @abstractmethod
    def precompute(self, z: Any) -> Any:
        """Whatever about the validated points z is computed once for many calls of :meth:`fill`."""

    @abstractmethod
    def fill(self, x: Any, precomputed: Any, out: Floats) -> None:
        """Write the distances of x to the precomputed points into ``out``."""

    def prepare(self, z: Any) -> PreparedMetric:
        """The metric with its second argument fixed to the points z."""
        z = self.validate(z)
        return PreparedMetric(self, z, self.precompute(z))

    def distances(self, x: Any, z: Any = None) -> Floats:
        """Distance matrix between the rows of x and those of z, or among the rows of x."""
        return self.prepare(x if z is None else z).rows(x)

    def __call__(self, a: Any, b: Any) -> float:
        """The distance of two points."""
        return float(self.distances([a], [b])[0, 0])


@dataclass(frozen=True)
class PreparedMetric:
    """A metric with its second argument fixed to ``points``; ``state`` is computed once."""

    metric: Metric
    points: Any
    state: Any

    def __len__(self) -> int:
        return n_items(self.points)

    def rows(self, x: Any) -> Floats:
        """Distances of every row of x to all points."""
        return self.validated_rows(self.metric.validate(x))

    def blocks(self, x: Any, budget: int = 1 << 25) -> Iterator[tuple[slice, Floats]]:
        """Distances by blocks of rows, each of at most ``budget`` bytes."""
        x = self.metric.validate(x)
        step = max(1, budget // (8 * max(1, len(self))))
        for start in range(0, n_items(x), step):
            part = slice(start, min(start + step, n_items(x)))
            yield part, self.validated_rows(x[part])

    def validated_rows(self, x: Any) -> Floats:
        """Distances of rows that the metric has validated already; large blocks on threads."""
        self._check_columns(x)
        n = n_items(x)
        out = np.empty((n, len(self)))
        columns = x.shape[1] if isinstance(x, np.ndarray) and x.ndim == 2 else 16
        # Coordinate differences below which a second thread costs more than it saves.
        if n < 2 or n * len(self) * columns < 1_000_000:
            self.metric.fill(x, self.state, out)
            return out
        # Coordinate differences of a piece, and rows of a wide one: each reads all points again.
        smallest = max(32 if columns > 256 else 1, 200_000 // max(1, len(self) * columns))

        def fill(part: slice) -> None:
            self.metric.fill(x[part], self.state, out[part])

        parallel_map(fill, pieces(n, smallest))
        return out

    def _check_columns(self, x: Any) -> None:
        matrices = isinstance(x, np.ndarray), isinstance(self.points, np.ndarray)
        if matrices == (True, True) and x.shape[1:] != self.points.shape[1:]:
            raise InputError(
                f"Points with {x.shape[1]} columns have no distance to points with "
                f"{self.points.shape[1]}.",
                remedy="Give both the same columns.",
            )
        if any(matrices) and not all(matrices):
            raise InputError(
                "Rows of a matrix and lists of objects have no distance.",
                remedy="Give both in the same form.",
            )


def as_dense_matrix(x: Any, *, allow_missing: bool = False) -> Floats:
    """A float64 matrix with points in rows; NaN only if missing values are allowed."""
    if sparse.issparse(x):
        x = x.toarray()
    try:
        x = np.ascontiguousarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "This distance is between rows of numbers, and something else was given.",
            remedy="Use Edit() for strings, Gower() for mixed columns, or a function of two "
            "objects.",
        ) from None
    if x.ndim != 2:
        raise InputError(
            f"Points are the rows of a matrix; this has {x.ndim} dimension(s).",
            remedy="A single column of numbers: x.reshape(-1, 1).",
        )
    if not all_finite(x) and (np.isinf(x).any() or (not allow_missing and np.isnan(x).any())):
        row, column = np.argwhere(~np.isfinite(x))[0]
        raise InputError(
            f"Row {row}, column {column} is {x[row, column]}: no distance to it exists.",
            remedy="Impute or drop missing values first; Gower() skips them.",
        )
    return np.asarray(x)


# -------------------------------------------------------------------------------------------------
# Distance matrices in condensed form: the entries above the diagonal, row by row.
#
#     v = (d₀₁, d₀₂, …, d₀ₙ₋₁, d₁₂, …),     n (n − 1) / 2 numbers
#
# This is the form of SciPy's ``pdist``.


def is_condensed(distances: Any) -> bool:
    """Whether these are distances in condensed form: one dimension, and numbers."""
    if isinstance(distances, str) or hasattr(distances, "columns"):
        return False
    if not isinstance(distances, np.ndarray | list | tuple):
        return False
    return np.ndim(distances) == 1 and np.asarray(distances).dtype.kind in "fiub"


def condensed_size(length: int) -> int:
    """n, of which n (n − 1) / 2 is this length; refused if there is none."""
    n = int((1.0 + np.sqrt(1.0 + 8.0 * length)) / 2.0 + 0.5)
    if n * (n - 1) // 2 != length:
        raise InputError(
            f"{length} distances in a vector belong to no number of points: n points have "
            "n (n − 1) / 2 pairs.",
            remedy="Give the vector of scipy.spatial.distance.pdist, or a square matrix.",
        )
    return n


def as_square(distances: Any) -> Any:
    """The square matrix of distances in condensed form; anything else as it is."""
    if not is_condensed(distances):
        return distances
    vector = np.asarray(distances, dtype=np.float64)
    n = condensed_size(len(vector))
    square: Floats = np.zeros((n, n))
    square[np.triu_indices(n, 1)] = vector
    square += square.T
    return square


# -------------------------------------------------------------------------------------------------
# Centers of rows and how far they reach, in one pass on threads.


def center_and_reach(x: Floats) -> tuple[Floats, float]:
    """The mean of the rows, and the largest deviation of any number from that of its column."""
    found = parallel_map(lambda part: (x[part].sum(axis=0), *column_extremes(x[part])), _parts(x))
    sums, least, most = zip(*found, strict=True)
    center = sum(total / len(x) for total in sums)
    low, high = np.min(least, axis=0), np.max(most, axis=0)
    return center, float(np.maximum(high - center, center - low).max(initial=0.0))


def _parts(x: Floats) -> list[slice]:
    return pieces(len(x), max(1, PIECE_NUMBERS // max(1, x[0].size)))
