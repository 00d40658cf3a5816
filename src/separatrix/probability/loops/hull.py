"""The upper convex hull of points that are sorted already."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def upper_hull(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.int64]:
    """Positions of the vertices of the least concave curve above the points, by x then y.

    Walking to the right the curve may only turn clockwise: a vertex at which it would go straight
    on or turn the other way lies on or under the chord of its neighbours, and is dropped.
    """
    hull = np.empty(x.size, dtype=np.int64)
    size = 0
    for i in range(x.size):
        while size > 1:
            a, b = hull[size - 2], hull[size - 1]
            turn = (x[b] - x[a]) * (y[i] - y[a]) - (y[b] - y[a]) * (x[i] - x[a])
            if turn < 0.0:
                break
            size -= 1
        hull[size] = i
        size += 1
    return hull[:size].copy()
