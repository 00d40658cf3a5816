"""Unions of m intervals of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from separatrix.hypotheses.classes.base import (
    Hypothesis,
    HypothesisClass,
    Labels,
    check_count,
    repeated_point,
)
from separatrix.rows.block import Floats


@dataclass(frozen=True)
class IntervalUnion(Hypothesis):
    """The numbers in one of the intervals; ``ends`` is m x 2."""

    ends: Floats

    def contains(self, points: Any) -> Labels:
        """Which of the points lie in an interval."""
        x = np.asarray(points, dtype=np.float64).reshape(-1, 1)
        return np.asarray(((x >= self.ends[:, 0]) & (x <= self.ends[:, 1])).any(axis=1))


class UnionsOfIntervals(HypothesisClass):
    """Unions of at most m intervals of numbers.

        consistent ⇔ in order, the positive points form at most m runs

    Parameters
    ----------
    m : int, default=2
        Number of intervals.

    Attributes
    ----------
    bound : int
        2m, which the VC dimension does not exceed.

    See Also
    --------
    Intervals : One interval.
    vc_dimension : The largest number of points that a class shatters.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.vc_dimension(sx.UnionsOfIntervals(3)).dimension
    6
    """

    dimension = 1
    name: ClassVar[str] = "unions of intervals"

    def __init__(self, m: int = 2) -> None:
        self.m = check_count(m, "m")
        self.bound = 2 * self.m
        self.argument = (
            f"{self.bound + 1} points with alternating labels, positive first, have {self.m + 1} "
            f"runs of positive points, and a union of {self.m} intervals has {self.m}."
        )

    def consistent(self, points: Floats, labels: Labels) -> IntervalUnion | None:
        """One interval for each run of positive points."""
        if repeated_point(points, labels) is not None:
            return None
        runs = self._runs(points, labels)
        return IntervalUnion(runs) if len(runs) <= self.m else None

    def hard_labels(self, points: Floats) -> Iterator[Labels]:
        """Alternating labels, positive first."""
        labels = np.zeros(len(points), dtype=bool)
        labels[np.argsort(points[:, 0], kind="stable")[::2]] = True
        yield labels

    def why_none(self, points: Floats, labels: Labels) -> str:
        """The number of runs."""
        twice = repeated_point(points, labels)
        if twice is not None:
            return f"Point {twice + 1} is given twice, with both labels."
        n = len(self._runs(points, labels))
        return f"In order, the positive points form {n} runs, which need {n} intervals."

    def configurations(self, n: int) -> Iterable[Floats]:
        """Only the order of the points matters: there is one."""
        return [np.arange(float(n))[:, None]]

    def truth(self, rng: np.random.Generator) -> IntervalUnion:
        """Intervals between random numbers from 0 to 1."""
        return IntervalUnion(np.sort(rng.random(2 * self.m)).reshape(-1, 2))

    def _runs(self, points: Floats, labels: Labels) -> Floats:
        """Least and greatest point of every run of positive points."""
        x, order = points[:, 0], np.argsort(points[:, 0], kind="stable")
        positive = np.concatenate([[False], labels[order], [False]])
        edges = np.flatnonzero(positive[1:] != positive[:-1]).reshape(-1, 2)
        return np.column_stack([x[order][edges[:, 0]], x[order][edges[:, 1] - 1]])

    def __repr__(self) -> str:
        return f"UnionsOfIntervals({self.m})"
