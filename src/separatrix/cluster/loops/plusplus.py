"""Candidates of k-means++ compared over all rows, which lie in tiles of 512 by column."""

from __future__ import annotations

from separatrix.compilation import compiled
from separatrix.distances.loops.scalars import smaller

#: Rows in a tile: their distances stay in first-level cache.
TILE = 512


@compiled(fastmath={"contract", "nsz", "reassoc"})
def compare_candidates(tiles, weight, points, first, last, nearest, closer, left):
    """Losses of the tiles ``first:last`` that each of the ``points`` would leave as a center.

    ``tiles`` is t x d x 512, ``weight`` and ``nearest`` (the squared distances so far) t x 512;
    ``closer`` (points x t x 512) becomes the squared distances with each, ``left`` their sum.
    Distances are from differences, so that equal rows are at 0 exactly.
    """
    for c in range(points.shape[0]):
        left[c] = 0.0
    for t in range(first, last):
        for c in range(points.shape[0]):
            for i in range(TILE):
                closer[c, t, i] = 0.0
            for f in range(points.shape[1]):
                value = points[c, f]
                for i in range(TILE):
                    step = tiles[t, f, i] - value
                    closer[c, t, i] += step * step
            total = 0.0
            for i in range(TILE):
                near = smaller(closer[c, t, i], nearest[t, i])
                closer[c, t, i] = near
                total += weight[t, i] * near
            left[c] += total
