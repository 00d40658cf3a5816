"""Distances from one point to many, which are stored as columns.

The innermost loop runs over the points, contiguous in memory, so that the compiler vectorizes it.
"""

from __future__ import annotations

from separatrix.compilation import compiled

#: Values of ``kind``.
EUCLIDEAN, MANHATTAN, CHEBYSHEV = 0, 1, 2


@compiled
def to_points(x, columns, a, b, kind, out):
    """Distances (Euclidean: squares) from a point to the points a … b, which are columns.

    Squares are added four coordinates at a time, in order: a quarter of the memory traffic.
    """
    m, d, j = b - a, x.size, 0
    out[:m] = 0.0
    if kind == EUCLIDEAN:
        while j + 4 <= d:
            v0, v1, v2, v3 = x[j], x[j + 1], x[j + 2], x[j + 3]
            z0, z1 = columns[j, a:b], columns[j + 1, a:b]
            z2, z3 = columns[j + 2, a:b], columns[j + 3, a:b]
            for s in range(m):
                t0, t1, t2, t3 = v0 - z0[s], v1 - z1[s], v2 - z2[s], v3 - z3[s]
                out[s] = (((out[s] + t0 * t0) + t1 * t1) + t2 * t2) + t3 * t3
            j += 4
    while j < d:
        v, z = x[j], columns[j, a:b]
        if kind == EUCLIDEAN:
            for s in range(m):
                t = v - z[s]
                out[s] += t * t
        elif kind == MANHATTAN:
            for s in range(m):
                out[s] += abs(v - z[s])
        else:
            for s in range(m):
                out[s] = max(out[s], abs(v - z[s]))
        j += 1
