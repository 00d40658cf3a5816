"""The least and the largest numbers of a matrix and of its columns, in one pass on threads."""

from __future__ import annotations

import numpy as np

from separatrix.rows.block import Floats
from separatrix.statistics.column_extremes import column_extremes
from separatrix.threads import parallel_map, pieces

#: Numbers that are worth another piece.
MIN_NUMBERS = 1 << 17


def extent(x: Floats) -> tuple[float, float]:
    """Minimum and maximum; NaN if there is any, and zeros of a matrix without entries."""
    if not x.size:
        return 0.0, 0.0
    found = parallel_map(lambda part: (x[part].min(), x[part].max()), _parts(x))
    low, high = np.array(found).T
    return float(low.min()), float(high.max())


def largest_magnitude(x: Floats) -> float:
    """max |x|, without a copy of x."""
    low, high = extent(x)
    return max(high, -low)


def center_and_reach(x: Floats) -> tuple[Floats, float]:
    """The mean of the rows, and the largest deviation of any number from that of its column."""
    found = parallel_map(lambda part: (x[part].sum(axis=0), *column_extremes(x[part])), _parts(x))
    sums, least, most = zip(*found, strict=True)
    center = sum(total / len(x) for total in sums)
    low, high = np.min(least, axis=0), np.max(most, axis=0)
    return center, float(np.maximum(high - center, center - low).max(initial=0.0))


def _parts(x: Floats) -> list[slice]:
    return pieces(len(x), max(1, MIN_NUMBERS // max(1, x[0].size)))
