"""Points that stand for groups, and the distance by which others join them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.distances.base import Metric
from separatrix.rows.block import Floats


@dataclass(frozen=True)
class Exemplars:
    """``points`` (rows of a matrix, or any objects in a list) under a ``metric``."""

    points: Any
    metric: Metric

    def __len__(self) -> int:
        return len(self.points)

    def distances(self, x: Any) -> Floats:
        """Distance of every row of x to every point."""
        return self.metric.distances(x, self.points)

    def nearest(self, x: Any) -> tuple[NDArray[np.int64], Floats]:
        """The nearest point of every row, the first of equally near ones, and its distance."""
        labels, distances = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
        for _, block in self.metric.prepare(self.points).blocks(x):
            labels.append(block.argmin(axis=1))
            distances.append(block.min(axis=1))
        return np.concatenate(labels), np.concatenate(distances)
