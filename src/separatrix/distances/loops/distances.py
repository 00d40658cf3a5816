"""Distances between rows of x (n x d) and columns of zt (d x m), written into ``out`` (n x m).

The points z are columns, for :func:`~separatrix.distances.loops.point_distances.to_points`.
"""

from __future__ import annotations

import numpy as np

from separatrix.compilation import compiled
from separatrix.distances.loops.point_distances import squares_to_points, to_points

#: Points of a tile: their partial sums stay in the L1 cache.
TILE = 1024


@compiled
def squares_by_coordinates(x, zt, out):
    """Squared Euclidean distances from coordinate differences."""
    for start in range(0, zt.shape[1], TILE):
        stop = start + TILE if start + TILE < zt.shape[1] else zt.shape[1]
        for i in range(x.shape[0]):
            squares_to_points(x[i], zt, start, stop, out[i, start:stop])


@compiled
def by_coordinates(x, zt, kind, out):
    """Manhattan or Chebyshev distances from coordinate differences."""
    for start in range(0, zt.shape[1], TILE):
        stop = start + TILE if start + TILE < zt.shape[1] else zt.shape[1]
        for i in range(x.shape[0]):
            to_points(x[i], zt, start, stop, kind, out[i, start:stop])


@compiled
def minkowski(x, zt, p, out):
    """(Σ |x − z|^p)^(1/p), scaled by the largest difference: no power over- or underflows."""
    n, d, m = x.shape[0], x.shape[1], zt.shape[1]
    for i in range(n):
        for k in range(m):
            largest = 0.0
            for j in range(d):
                largest = max(largest, abs(x[i, j] - zt[j, k]))
            total = 0.0
            if largest > 0.0:
                for j in range(d):
                    total += (abs(x[i, j] - zt[j, k]) / largest) ** p
            out[i, k] = largest * total ** (1.0 / p) if largest > 0.0 else 0.0


@compiled
def hamming(x, zt, out):
    """The number of coordinates that differ."""
    n, d, m = x.shape[0], x.shape[1], zt.shape[1]
    for start in range(0, m, TILE):
        stop = min(start + TILE, m)
        for i in range(n):
            row = out[i, start:stop]
            row[:] = 0.0
            for j in range(d):
                v, z = x[i, j], zt[j, start:stop]
                for k in range(stop - start):
                    row[k] += 1.0 if v != z[k] else 0.0


@compiled
def squared_from_products(x, zt, xx, zz, out):
    """‖x‖² + ‖z‖² − 2 x·z from the products in ``out``; recomputed where that cancels.

    Rounding leaves an error of about ε(‖x‖² + ‖z‖²). Where more than half of the digits would be
    lost, the coordinate differences are squared and summed instead.
    """
    n, d, m = x.shape[0], x.shape[1], zt.shape[1]
    for i in range(n):
        for k in range(m):
            size = xx[i] + zz[k]
            square = size - 2.0 * out[i, k]
            if square < 1e-7 * size:
                square = 0.0
                for j in range(d):
                    t = x[i, j] - zt[j, k]
                    square += t * t
            out[i, k] = square


@compiled
def gower(x, zt, discrete, scale, out):
    """Σ δ s / Σ δ: s = |x − z|/range or 1{x ≠ z}, δ = 0 where either value is missing (NaN).

    Two rows without a column known in both have distance 1.
    """
    n, d, m = x.shape[0], x.shape[1], zt.shape[1]
    for i in range(n):
        for k in range(m):
            total, weight = 0.0, 0.0
            for j in range(d):
                a, b = x[i, j], zt[j, k]
                if np.isnan(a) or np.isnan(b):
                    continue
                weight += 1.0
                if discrete[j]:
                    total += 1.0 if a != b else 0.0
                elif scale[j] > 0.0:
                    total += abs(a - b) / scale[j]
            out[i, k] = total / weight if weight > 0.0 else 1.0
