"""What a distance offers: whole tables of distances, a pair at a time, and rows on demand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from separatrix.kernels.base import n_items
from separatrix.messages import InputError
from separatrix.rows.block import Floats

#: Pairs of numbers below which a second thread costs more than it saves.
WORTH_A_THREAD = 1_000_000


class Metric(ABC):
    """A distance. Most are metrics in the strict sense; ``is_metric`` says which are not.

    Values are immutable: what has to be learned from data (a covariance, the range of a column) is
    learned by :meth:`fitted`, which returns a new metric.
    """

    of_vectors: ClassVar[bool] = True  #: rows of numbers; otherwise lists of any objects

    @property
    def is_metric(self) -> bool:
        """Whether zero to itself, positive to others, symmetric, and no detour is a shortcut."""
        return True

    def fitted(self, x: Any, w: Floats | None = None) -> Metric:  # noqa: ARG002
        """The metric with what it needs to learn from a sample; row i counts w[i] times."""
        return self

    def rounding_error(self, x: Any) -> float:  # noqa: ARG002
        """Distances between these points that differ by less may differ by rounding alone."""
        return 0.0

    def validate(self, x: Any) -> Any:
        """A sample in the form that this metric measures, checked."""
        return vectors(x)

    @abstractmethod
    def precompute(self, z: Any) -> Any:
        """What is computed once for points that will be measured against many times."""

    @abstractmethod
    def fill(self, x: Any, prepared: Any, out: Floats) -> None:
        """Write the distances of x to the prepared points into ``out``."""

    def prepare(self, z: Any) -> PreparedMetric:
        """These points, ready to be measured against."""
        z = self.validate(z)
        return PreparedMetric(self, z, self.precompute(z))

    def distances(self, x: Any, z: Any = None) -> Floats:
        """Distance of every row of x to every row of z, or of x to itself."""
        return self.prepare(x if z is None else z).rows(x)

    def __call__(self, a: Any, b: Any) -> float:
        """The distance of two points."""
        return float(self.distances([a], [b])[0, 0])


@dataclass(frozen=True)
class PreparedMetric:
    """Points z, with what their metric computes once."""

    metric: Metric
    points: Any
    state: Any

    def __len__(self) -> int:
        return n_items(self.points)

    def rows(self, x: Any, out: Floats | None = None) -> Floats:
        """Distances of every row of x to all points, on two threads where that pays."""
        return self.validated_rows(self.metric.validate(x), out)

    def blocks(self, x: Any, budget: int = 1 << 25) -> Iterator[tuple[slice, Floats]]:
        """Distances a few rows at a time, at most ``budget`` bytes of them together."""
        x = self.metric.validate(x)
        step = max(1, budget // (8 * max(1, len(self))))
        for start in range(0, n_items(x), step):
            part = slice(start, min(start + step, n_items(x)))
            yield part, self.validated_rows(x[part])

    def validated_rows(self, x: Any, out: Floats | None = None) -> Floats:
        """The same, for rows that the metric has accepted already."""
        self._same_columns(x)
        n = n_items(x)
        out = np.empty((n, len(self))) if out is None else out
        width = x.shape[1] if isinstance(x, np.ndarray) and x.ndim == 2 else 16
        if n < 2 or n * len(self) * width < WORTH_A_THREAD:
            self.metric.fill(x, self.state, out)
            return out
        half = n // 2
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(self.metric.fill, x[half:], self.state, out[half:])
            self.metric.fill(x[:half], self.state, out[:half])
            other.result()
        return out

    def _same_columns(self, x: Any) -> None:
        numbers = isinstance(x, np.ndarray), isinstance(self.points, np.ndarray)
        if numbers == (True, True) and x.shape[1:] != self.points.shape[1:]:
            raise InputError(
                f"Points with {x.shape[1]} columns cannot be measured against points with "
                f"{self.points.shape[1]}."
            )
        if any(numbers) and not all(numbers):
            raise InputError("Rows of a matrix and lists of objects have no distance.")


def vectors(x: Any, gaps: bool = False) -> Floats:
    """A matrix of floats, points in rows; NaN only where gaps are allowed."""
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
            f"Points come as rows of a matrix; this has {x.ndim} dimension(s).",
            remedy="A single column of numbers: x.reshape(-1, 1).",
        )
    if np.isinf(x).any() or (not gaps and np.isnan(x).any()):
        where = np.argwhere(~np.isfinite(x))[0]
        raise InputError(
            f"Row {where[0]}, column {where[1]} is {x[tuple(where)]}: no distance to it exists.",
            remedy="Fill or drop gaps first; Gower() skips them.",
        )
    return np.asarray(x)
