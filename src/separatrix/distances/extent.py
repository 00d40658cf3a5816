"""The least and the largest number of a matrix, in one pass on threads."""

from __future__ import annotations

import numpy as np

from separatrix.rows.block import Floats
from separatrix.threads import parallel_map, pieces

#: Numbers that are worth another piece.
MIN_NUMBERS = 1 << 17


def extent(x: Floats) -> tuple[float, float]:
    """Minimum and maximum; NaN if there is any, and zeros of a matrix without entries."""
    if not x.size:
        return 0.0, 0.0
    rows = max(1, MIN_NUMBERS // max(1, x[0].size))
    found = parallel_map(lambda part: (x[part].min(), x[part].max()), pieces(len(x), rows))
    low, high = np.array(found).T
    return float(low.min()), float(high.max())


def largest_magnitude(x: Floats) -> float:
    """max |x|, without a copy of x."""
    low, high = extent(x)
    return max(high, -low)
