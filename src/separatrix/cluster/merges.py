"""The merges of a linkage, as they are found."""

from __future__ import annotations

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints

Columns = tuple[Ints, Ints, Floats]


class Merges:
    """Pairs of points whose clusters merge, and the distance at which they do."""

    def __init__(self, n: int) -> None:
        if n < 1:
            raise InputError("No points: nothing to cluster.")
        self.first, self.second = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64)
        self.height = np.empty(n - 1)
        self.count = 0

    @property
    def remaining(self) -> Columns:
        """Views of the merges that are still to be filled in."""
        rest = slice(self.count, None)
        return self.first[rest], self.second[rest], self.height[rest]

    def append(self, first: Ints, second: Ints, height: Floats | float) -> None:
        """Add merges."""
        added = slice(self.count, self.count + len(first))
        self.first[added], self.second[added], self.height[added] = first, second, height
        self.count += len(first)
