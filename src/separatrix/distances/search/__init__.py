"""Exact nearest-neighbor search: k-d tree in few dimensions, matrix products in many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from separatrix.rows.block import Floats, Ints


@dataclass(frozen=True)
class Neighbors:
    """The k nearest points of every row, nearest first; ties in the order of the points."""

    distances: Floats
    indices: Ints


class Search(Protocol):
    """A nearest-neighbor index over a set of points."""

    def nearest(self, x: Any, k: int) -> Neighbors:
        """The k nearest points of every row of x."""
