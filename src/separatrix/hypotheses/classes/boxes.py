"""Boxes with sides parallel to the axes; in one dimension, intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import permutations, product
from math import factorial
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

#: Relative orders of the points along the axes that are enumerated at most.
MAX_ORDERS = 20_000


@dataclass(frozen=True)
class Box(Hypothesis):
    """The points x with low ≤ x ≤ high in every coordinate; empty where low > high."""

    low: Floats
    high: Floats

    def contains(self, points: Any) -> Labels:
        """Which of the points lie in the box."""
        x = np.asarray(points, dtype=np.float64)
        return np.asarray(((x >= self.low) & (x <= self.high)).all(axis=1))


class Boxes(HypothesisClass):
    """Boxes with sides parallel to the axes: lⱼ ≤ xⱼ ≤ uⱼ for every column j.

        consistent ⇔ the tightest box around the positive points holds no negative one

    Parameters
    ----------
    dimension : int, default=2
        Number of columns.

    Attributes
    ----------
    bound : int
        2d, which the VC dimension does not exceed.

    See Also
    --------
    Intervals : Boxes in one dimension.
    vc_dimension : The largest number of points that a class shatters.
    pac_sample_size : Rows enough for the tightest box.

    References
    ----------
    A. Blumer, A. Ehrenfeucht, D. Haussler and M. K. Warmuth, Learnability and the
    Vapnik–Chervonenkis dimension, Journal of the ACM 36, 1989.

    Examples
    --------
    >>> import separatrix as sx
    >>> found = sx.vc_dimension(sx.Boxes(2))
    >>> found.dimension, found.shattered.points.tolist()
    (4, [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    """

    name: ClassVar[str] = "boxes"

    dimension: int

    def __init__(self, dimension: int = 2) -> None:
        self.dimension = check_count(dimension, "dimension")
        self.bound = 2 * self.dimension
        self.argument = (
            f"Of {self.bound + 1} points, one that is lowest and one that is highest in each "
            f"column are {self.bound} at most; every box that contains those contains the others."
        )

    @property
    def n_strips(self) -> int:
        """Sides of a box: the strips between the tightest box and the true one."""
        return 2 * self.dimension

    def tightest(self, points: Floats, labels: Labels) -> Box:
        """The smallest box around the positive points; empty if there are none."""
        positive = points[labels]
        return Box(positive.min(axis=0, initial=np.inf), positive.max(axis=0, initial=-np.inf))

    def consistent(self, points: Floats, labels: Labels) -> Box | None:
        """The tightest box around the positive points, unless it holds a negative one."""
        box = self.tightest(points, labels)
        return None if box.contains(points[~labels]).any() else box

    def hard_labels(self, points: Floats) -> Iterator[Labels]:
        """The lowest and highest point of every column positive, the others negative."""
        labels = np.zeros(len(points), dtype=bool)
        labels[points.argmin(axis=0)] = labels[points.argmax(axis=0)] = True
        yield labels

    def why_none(self, points: Floats, labels: Labels) -> str:
        """The negative point that every box around the positive ones contains."""
        twice = repeated_point(points, labels)
        if twice is not None:
            return f"Point {twice + 1} is given twice, with both labels."
        inside = self.tightest(points, labels).contains(points) & ~labels
        return (
            f"Every box that contains the positive points contains point "
            f"{int(np.flatnonzero(inside)[0]) + 1} too."
        )

    def configurations(self, n: int) -> Iterable[Floats] | None:
        """Every order of n points along the axes; only orders matter, and ties never help."""
        if factorial(n) ** (self.dimension - 1) > MAX_ORDERS:
            return None
        first = tuple(range(n))
        orders = product(permutations(first), repeat=self.dimension - 1)
        return (np.array([first, *others], dtype=float).T for others in orders)

    def truth(self, rng: np.random.Generator) -> Box:  # noqa: ARG002
        """The box in the middle of the unit cube that has half of its volume."""
        half = 0.5 ** (1.0 + 1.0 / self.dimension)
        return Box(np.full(self.dimension, 0.5 - half), np.full(self.dimension, 0.5 + half))

    def uniform_error(self, truth: Box, found: Box) -> float:
        """Probability of their difference for points that are uniform in the unit cube."""
        return (
            _volume(truth)
            + _volume(found)
            - 2.0
            * _volume(Box(np.maximum(truth.low, found.low), np.minimum(truth.high, found.high)))
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.dimension})"


class Intervals(Boxes):
    """Intervals l ≤ x ≤ u of numbers.

    Attributes
    ----------
    bound : int
        2, which the VC dimension does not exceed.

    See Also
    --------
    UnionsOfIntervals : Several intervals.
    Boxes : Intervals in every column.

    Examples
    --------
    >>> import separatrix as sx
    >>> found = sx.shatters(sx.Intervals(), [1.0, 2.0, 3.0])
    >>> found.shattered, found.failing.tolist()
    (False, [True, False, True])
    >>> print(found.reason)
    Every box that contains the positive points contains point 2 too.
    """

    name: ClassVar[str] = "intervals"

    def __init__(self) -> None:
        super().__init__(1)

    def __repr__(self) -> str:
        return "Intervals()"


def _volume(box: Box) -> float:
    sides = np.minimum(box.high, 1.0) - np.maximum(box.low, 0.0)
    return float(np.prod(np.maximum(sides, 0.0)))
