"""Sums of Euclidean distances from rows to whole clusters, without a matrix of distances."""

from __future__ import annotations

import numpy as np
from numba import njit

#: Points whose distances to a row are held together: they stay in the nearest cache.
TILE = 512


@njit(cache=True, nogil=True, fastmath={"contract", "nsz", "reassoc", "nnan"})
def distance_sums(columns, ends, start, stop, sums):
    """sums[i, j] = Σ ‖xᵢ − z‖ over the points z of cluster j, for the points i = ``start:stop``.

    ``columns`` (d x n, float32, d a multiple of 2) holds the points by column, those of a cluster
    together, cluster j at ``ends[j]:ends[j + 1]``. Differences are squared as they are, so near
    points keep their digits; tiles are summed in double precision.
    """
    acc = np.empty(TILE, dtype=np.float32)
    for i in range(start, stop):
        for j in range(ends.size - 1):
            total = 0.0
            for a in range(ends[j], ends[j + 1], TILE):
                m = min(TILE, ends[j + 1] - a)
                acc[:m] = np.float32(0.0)
                for f in range(0, columns.shape[0], 2):
                    u, v = columns[f, i], columns[f + 1, i]
                    for t in range(m):
                        p = u - columns[f, a + t]
                        q = v - columns[f + 1, a + t]
                        acc[t] += p * p + q * q
                part = np.float32(0.0)
                for t in range(m):
                    part += np.sqrt(acc[t])
                total += part
            sums[i, j] = total
