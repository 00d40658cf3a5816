"""Sums of Euclidean distances from rows to whole clusters, without a matrix of distances."""

from __future__ import annotations

import numpy as np

from separatrix.compilation import compiled

#: Points whose distances to a row are computed together, in first-level cache.
TILE = 512


@compiled(fastmath={"contract", "nsz", "reassoc", "nnan"})
def _summed(columns, i, a, m, acc):
    """Σ ‖xᵢ − z‖ over the m points from a on, four features a time."""
    for j in range(m):
        acc[j] = np.float32(0.0)
    for f in range(0, columns.shape[0], 4):
        q, r, s, t = columns[f, i], columns[f + 1, i], columns[f + 2, i], columns[f + 3, i]
        # views start at zero: an index that might be negative is not vectorized
        one, two = columns[f, a : a + m], columns[f + 1, a : a + m]
        three, four = columns[f + 2, a : a + m], columns[f + 3, a : a + m]
        for j in range(m):
            u, v, w, z = q - one[j], r - two[j], s - three[j], t - four[j]
            acc[j] += (u * u + v * v) + (w * w + z * z)
    total = np.float32(0.0)
    for j in range(m):
        total += np.sqrt(acc[j])
    return total


@compiled
def distance_sums(columns, ends, start, stop, sums):
    """sums[i, j] = Σ ‖xᵢ − z‖ over the points z of cluster j, for the points i = ``start:stop``.

    ``columns`` (d x n, float32, d a multiple of 4) is the points by column, those of a cluster
    together, cluster j at ``ends[j]:ends[j + 1]``. Differences are squared as they are, so near
    points keep their digits; tiles are summed in double precision.
    """
    acc = np.empty(TILE, dtype=np.float32)
    for i in range(start, stop):
        for j in range(ends.size - 1):
            total = 0.0
            for a in range(ends[j], ends[j + 1], TILE):
                m = ends[j + 1] - a
                total += _summed(columns, i, a, m if m < TILE else TILE, acc)
            sums[i, j] = total
