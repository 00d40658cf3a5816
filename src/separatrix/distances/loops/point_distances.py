"""Distances from one point to many, which are stored as columns.

The innermost loop runs over the points, contiguous in memory, so that the compiler vectorizes it.
"""

from __future__ import annotations

from separatrix.compilation import compiled

#: Values of ``kind``.
EUCLIDEAN, MANHATTAN, CHEBYSHEV = 0, 1, 2


@compiled
def squares_to_points(x, columns, a, b, out):
    """Squared Euclidean distances from a point to the points a … b, which are columns.

    Squares are added four coordinates at a time, in order: a quarter of the memory traffic.
    """
    m, d, j = b - a, x.size, 0
    for s in range(m):
        out[s] = 0.0
    while j + 4 <= d:
        v0, v1, v2, v3 = x[j], x[j + 1], x[j + 2], x[j + 3]
        for s in range(m):
            t0, t1 = v0 - columns[j, a + s], v1 - columns[j + 1, a + s]
            t2, t3 = v2 - columns[j + 2, a + s], v3 - columns[j + 3, a + s]
            out[s] = (((out[s] + t0 * t0) + t1 * t1) + t2 * t2) + t3 * t3
        j += 4
    while j < d:
        v = x[j]
        for s in range(m):
            t = v - columns[j, a + s]
            out[s] += t * t
        j += 1


@compiled
def to_points(x, columns, a, b, kind, out):
    """Distances (Euclidean: squares) from a point to the points a … b, which are columns."""
    if kind == EUCLIDEAN:
        squares_to_points(x, columns, a, b, out)
        return
    for s in range(b - a):
        out[s] = 0.0
    for j in range(x.size):
        v = x[j]
        for s in range(b - a):
            t = abs(v - columns[j, a + s])
            total = out[s] + t if kind == MANHATTAN else out[s]
            out[s] = total if kind == MANHATTAN or total > t else t
