"""A box: one interval for each column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Floats


@dataclass(frozen=True)
class Box:
    """The points with lower ≤ x ≤ upper in every column, or lower < x < upper if ``open``.

    A face that is infinite leaves its side free. A box of no points has lower > upper.
    """

    lower: Floats
    upper: Floats
    open: bool = False

    @property
    def empty(self) -> bool:
        """Whether it contains no points."""
        return bool((self.lower > self.upper).any())

    def contains(self, x: Floats) -> NDArray[np.bool_]:
        """Whether each row is inside."""
        if self.open:
            inside = (x > self.lower) & (x < self.upper)
        else:
            inside = (x >= self.lower) & (x <= self.upper)
        return np.asarray(inside.all(axis=1))

    def margins(self, x: Floats, scale: Floats) -> Floats:
        """The distance to the nearest face inside, at most 1, and minus the total excess outside.

        Distances are in units of ``scale``, one for each column; where it is 0, a column without
        any spread, all that is outside exceeds by 1.
        """
        if self.empty:
            return np.full(len(x), -np.inf)
        depth = np.ones(len(x))
        excess = np.zeros(len(x))
        for j, unit in enumerate(scale.tolist()):
            inner = np.minimum(x[:, j] - self.lower[j], self.upper[j] - x[:, j])
            inner = inner / unit if unit > 0.0 else np.where(inner < 0.0, -1.0, 1.0)
            np.minimum(depth, inner, out=depth)
            excess += np.maximum(-inner, 0.0)
        least = np.finfo(float).tiny  # a point on a face is inside or outside, not undecided
        inside = np.maximum(depth, least)
        return np.where(self.contains(x), inside, np.minimum(-excess, -least))


def nothing(d: int) -> Box:
    """The box of no points."""
    return Box(np.full(d, np.inf), np.full(d, -np.inf))
