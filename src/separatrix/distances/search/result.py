"""What a search returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Floats


@dataclass(frozen=True)
class Neighbors:
    """The k nearest points of every row, near to far; among equals the smaller number first."""

    distances: Floats
    indices: NDArray[np.int64]


class Search(Protocol):
    """Points that can be asked for the nearest of them."""

    def nearest(self, x: Any, k: int) -> Neighbors:
        """The k nearest points of every row of x."""
