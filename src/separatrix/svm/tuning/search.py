"""The search for bandwidth, C and ε.

    for each bandwidth h:  the SVMs of all C, each started from the last, on every fold

Bandwidths start at the total standard deviation of the rows, h² = Σ variances of the columns, and
go on by factors of two to whichever side is better, then by a half step. Values of C are multiples
of 1/variance of the rows in the feature space, so that the same ones serve every bandwidth.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from separatrix.svm.tuning.validation import C_GRID, Point, Validation

#: Least and largest number of doublings of the first bandwidth; beyond, the kernel is linear.
LEAST_DOUBLINGS, MOST_DOUBLINGS = -6.0, 3.0
#: Places of C below the best of the nearest bandwidth at which the next one starts.
BELOW = 2


@dataclass
class GaussianSearch:
    """Bandwidths that were visited, by their doublings of the first one."""

    squared: NDArray[np.float32]
    first_bandwidth: float
    validation: Validation
    deadline: float = np.inf
    found: dict[float, list[Point]] = field(default_factory=dict)

    def run(self) -> list[Point]:
        """Downhill from the first bandwidth by factors of two, then half a step to either side."""
        self._visit((0.0, -1.0, 1.0))
        for _ in range(int(-LEAST_DOUBLINGS)):
            here = self._best()
            self._visit((here - 1.0, here + 1.0))
        here = self._best()
        self._visit((here - 0.5, here + 0.5))
        return [point for points in self.found.values() for point in points]

    def gram(self, bandwidth: float) -> NDArray[np.float32]:
        """exp(−d²/2h²), in single precision."""
        gram = np.multiply(self.squared, np.float32(-0.5 / bandwidth**2))
        return np.asarray(np.exp(gram, out=gram))

    def _best(self) -> float:
        """The bandwidth of least loss; of equals the largest."""
        return min(self.found, key=lambda at: (least(self.found[at]).loss, -at))

    def _visit(self, places: Iterable[float]) -> None:
        for place in places:
            late = self.found and time.perf_counter() >= self.deadline
            if LEAST_DOUBLINGS <= place <= MOST_DOUBLINGS and place not in self.found and not late:
                self.found[place] = self._points(place)

    def _points(self, place: float) -> list[Point]:
        """All C of one bandwidth, from a little below the best of the nearest bandwidth on."""
        bandwidth = self.first_bandwidth * 2.0**place
        gram, start = self.gram(bandwidth), 0
        if self.found:
            nearest = min(self.found, key=lambda at: abs(at - place))
            start = max(0, least(self.found[nearest]).at - BELOW)
        points = self.validation.points(gram, range(start, len(C_GRID)), bandwidth)
        if start and least(points).at == start:
            points = self.validation.points(gram, range(start), bandwidth) + points
        return points


def least(points: list[Point]) -> Point:
    """The point of least mean loss; of equals the first."""
    return min(points, key=lambda point: point.loss)


def simplest_first(points: Iterable[Point]) -> list[Point]:
    """Wide bandwidths first, of each the small C, of each the large ε."""
    return sorted(points, key=lambda p: (-p.bandwidth, p.C, -p.epsilon))


def gaussian_search(validation: Validation, deadline: float) -> GaussianSearch:
    """The search that starts at the total standard deviation, 1 for rows that are all the same."""
    sample, order = validation.sample, validation.order
    squared = sample.squared_distances
    p = sample.w / sample.w.sum()
    variance = float(0.5 * (p @ (squared @ p)))  # half the mean squared distance of two rows
    first = float(np.sqrt(variance)) if variance > 0.0 else 1.0
    single = np.ascontiguousarray(squared[np.ix_(order, order)], dtype=np.float32)
    return GaussianSearch(single, first, validation, deadline)
