"""The search for bandwidth and C.

    for each bandwidth h:  the SVMs of all C, each started from the last, on every fold

Bandwidths start at the total standard deviation of the rows, h² = Σ variances of the columns, and
go on by factors of two to whichever side is better, then by a half step. Values of C are multiples
of 1/variance of the rows in the feature space, so that the same ones serve every bandwidth. Of many
rows a part is searched in this way, and all of them from its best combination on, by half steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from separatrix.svm.tuning.sample import Sample, sample
from separatrix.svm.tuning.validation import C_GRID, Point, Validation
from separatrix.svm.tuning.work import ROW_ITERATION, SEARCH_SHARE

#: Least and largest number of doublings of the first bandwidth; beyond, the kernel is linear.
LEAST_DOUBLINGS, MOST_DOUBLINGS = -6.0, 3.0
#: Places of C below the best of the nearest bandwidth at which the next one starts.
BELOW = 1
#: Half steps from the best combination of a part of the rows.
MOVES = 3
#: Relative decrease of the loss by which another bandwidth becomes the center of the search.
DECREASE = 2e-3


@dataclass
class GaussianSearch:
    """Bandwidths that were visited, by their doublings of the first one."""

    squared: NDArray[np.float32]
    first_bandwidth: float
    validation: Validation
    deadline: float = np.inf
    most_work: float = np.inf
    found: dict[float, list[Point]] = field(default_factory=dict)

    def run(self) -> list[Point]:
        """Downhill from the first bandwidth by factors of two, then half a step to either side."""
        self._visit((0.0, -1.0, 1.0))
        here = 0.0
        while (there := self._better_than(here)) != here:
            here = there
            self._visit((here - 1.0, here + 1.0))
        self._visit((here - 0.5, here + 0.5))
        return self.points

    def refine(self, bandwidth: float, at: int) -> list[Point]:
        """From one combination on to better neighbors, by half steps of the bandwidth."""
        here = float(np.round(2.0 * np.log2(bandwidth / self.first_bandwidth)) / 2.0)
        self.found[here] = self._points(here, at)
        for _ in range(MOVES):
            self._visit((here - 0.5, here + 0.5))
            here, before = self._better_than(here), here
            if here == before:
                break
        return self.points

    @property
    def points(self) -> list[Point]:
        """All combinations that were visited."""
        return [point for points in self.found.values() for point in points]

    def gram(self, bandwidth: float) -> NDArray[np.float32]:
        """exp(−d²/2h²), in single precision."""
        gram = np.multiply(self.squared, np.float32(-0.5 / bandwidth**2))
        return np.asarray(np.exp(gram, out=gram))

    def _better_than(self, here: float) -> float:
        """The bandwidth of least loss if that is clearly less than the loss here."""
        best = min(self.found, key=lambda at: (least(self.found[at]).loss, -at))
        goal = (1.0 - DECREASE) * least(self.found[here]).loss
        return best if least(self.found[best]).loss < goal else here

    def _visit(self, places: Iterable[float]) -> None:
        for place in places:
            late = time.perf_counter() >= self.deadline or self.validation.work >= self.most_work
            inside = LEAST_DOUBLINGS <= place <= MOST_DOUBLINGS
            if inside and place not in self.found and not (self.found and late):
                nearest = min(self.found, key=lambda at: abs(at - place)) if self.found else None
                at = None if nearest is None else least(self.found[nearest]).at
                self.found[place] = self._points(place, at)

    def _points(self, place: float, at: int | None) -> list[Point]:
        """All C of one bandwidth, from a little below the best of another one (``at``) on."""
        bandwidth = self.first_bandwidth * 2.0**place
        gram, start = self.gram(bandwidth), 0 if at is None else max(0, at - BELOW)
        enough = len(C_GRID) if at is None else at + 1
        points = self.validation.points(gram, range(start, len(C_GRID)), bandwidth, enough=enough)
        while start and least(points).at == start:
            start, end = max(0, start - 2), start
            points = self.validation.points(gram, range(start, end), bandwidth) + points
        return points


def staged_search(
    validation: Callable[[Sample], Validation], whole: Sample, first: int, deadline: float
) -> GaussianSearch:
    """All combinations on the ``first`` rows at most; from the best on, those of the whole."""
    most = SEARCH_SHARE * whole.data.work / ROW_ITERATION
    if whole.n <= 1.5 * first:
        search = gaussian_search(validation(whole), deadline, most)
        search.run()
        return search
    start = least(gaussian_search(validation(sample(whole.data, first)), deadline, most).run())
    search = gaussian_search(validation(whole), deadline, most)
    search.refine(start.bandwidth, start.at)
    return search


def least(points: list[Point]) -> Point:
    """The point of least mean loss; of equals the first."""
    return min(points, key=lambda point: point.loss)


def simplest_first(points: Iterable[Point]) -> list[Point]:
    """Wide bandwidths first, of each the small C, of each the large ε."""
    return sorted(points, key=lambda p: (-p.bandwidth, p.C, -p.epsilon))


def gaussian_search(
    validation: Validation, deadline: float = np.inf, most_work: float = np.inf
) -> GaussianSearch:
    """The search that starts at the total standard deviation, 1 for rows that are all the same."""
    rows, order = validation.sample, validation.order
    squared = rows.squared_distances
    p = rows.w / rows.w.sum()
    variance = float(0.5 * (p @ (squared @ p)))  # half the mean squared distance of two rows
    first = float(np.sqrt(variance)) if variance > 0.0 else 1.0
    single = np.ascontiguousarray(squared[np.ix_(order, order)], dtype=np.float32)
    return GaussianSearch(single, first, validation, deadline, most_work)
