"""Exact nearest-neighbor search: k-d tree in few dimensions, matrix products in many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from separatrix.rows.block import Floats, Ints


@dataclass(frozen=True)
class Neighbors:
    """The k nearest points of every row, nearest first; ties in the order of the points."""

    distances: Floats
    indices: Ints


@dataclass(frozen=True)
class NeighborLists:
    """Points within a radius of every row, in their order; as many as there are.

    The points of row i are ``indices[starts[i]:starts[i + 1]]``.
    """

    starts: Ints
    indices: Ints
    distances: Floats

    @classmethod
    def of_pairs(cls, rows: Ints, indices: Ints, distances: Floats, n: int) -> NeighborLists:
        """From pairs of a row and a point, in any order."""
        order = np.lexsort((indices, rows))
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
        return cls(starts.astype(np.int64), indices[order], distances[order])

    @property
    def rows(self) -> Ints:
        """The row of every pair."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def where(self, chosen: Any) -> NeighborLists:
        """Some of the pairs only."""
        n = len(self.starts) - 1
        return NeighborLists.of_pairs(
            self.rows[chosen], self.indices[chosen], self.distances[chosen], n
        )

    def up_to(self, radius: float) -> NeighborLists:
        """Pairs at most ``radius`` apart."""
        near = self.distances <= radius
        return self if near.all() else self.where(near)

    def nearest_first(self) -> NeighborLists:
        """The points of every row from near to far; ties in the order of the points."""
        order = np.lexsort((self.indices, self.distances, self.rows))
        return NeighborLists(self.starts, self.indices[order], self.distances[order])

    def split(self, values: Any) -> Any:
        """Values of pairs as one array for each row, in an array of objects."""
        parts = np.empty(len(self.starts) - 1, dtype=object)
        for i in range(len(parts)):
            parts[i] = values[self.starts[i] : self.starts[i + 1]]
        return parts


class Search(Protocol):
    """A nearest-neighbor index over a set of points."""

    def nearest(self, x: Any, k: int) -> Neighbors:
        """The k nearest points of every row of x."""

    def within(self, x: Any, radius: float) -> NeighborLists:
        """All points within a radius of every row of x."""
