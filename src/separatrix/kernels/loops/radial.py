"""Tiles of radial kernels, f(s) with s = Σ ((x − z)/σ)², from differences of coordinates.

Differences do not cancel, however near two rows are to one another and however far from the
origin. Functions of a tile write f(s) in place of s, and the slope g(s) = −2 f′(s) times
(a + b s): ∂f/∂log σ_c = g(s) ((x_c − z_c)/σ_c)² for the bandwidth of one column, and g(s) s for one
of all. ``slopes`` of one row only are written over again and again where nobody needs them.
"""

from __future__ import annotations

import numpy as np

from separatrix.compilation import compiled
from separatrix.kernels.loops.extremes import larger
from separatrix.kernels.loops.gaussian import FLAGS, LEAST, exponential

#: Sums in any order, so that they run on whole vectors; the order is that of the compiled loop.
SUMS = FLAGS | {"reassoc"}


@compiled(fastmath=FLAGS)
def squared_differences(tile, x, zt, inverse):
    """s = Σ ((x − z)/σ)² of every pair, with the centers as columns of ``zt`` and 1/σ by column."""
    for i in range(tile.shape[0]):
        row = tile[i]
        row[:] = 0.0
        for c in range(zt.shape[0]):
            at, column, scale = x[i, c], zt[c], inverse[c]
            for j in range(row.size):
                d = (at - column[j]) * scale
                row[j] += d * d


@compiled(fastmath=SUMS)
def weighted_squares(weights, x, zt, inverse, sums):
    """Σᵢⱼ wᵢⱼ ((xᵢ − zⱼ)/σ)², column by column, added to ``sums``."""
    for i in range(weights.shape[0]):
        row = weights[i]
        for c in range(zt.shape[0]):
            at, column, scale = x[i, c], zt[c], inverse[c]
            total = 0.0
            for j in range(row.size):
                d = (at - column[j]) * scale
                total += row[j] * (d * d)
            sums[c] += total


@compiled(fastmath=FLAGS)
def gaussian(tile, slopes, a, b):
    """f = exp(−s/2), g = f."""
    last = slopes.shape[0] - 1
    for i in range(tile.shape[0]):
        row, slope = tile[i], slopes[min(i, last)]
        for j in range(row.size):
            s = row[j]
            t = -0.5 * s
            e = exponential(larger(t, LEAST))
            f = e if t >= LEAST else 0.0
            row[j] = f
            slope[j] = f * (a + b * s)


@compiled(fastmath=FLAGS)
def matern1(tile, slopes, a, b):
    """f = e^−r, g = e^−r / r with r = √s; zero slope where r = 0."""
    last = slopes.shape[0] - 1
    for i in range(tile.shape[0]):
        row, slope = tile[i], slopes[min(i, last)]
        for j in range(row.size):
            s = row[j]
            r = np.sqrt(s)
            e = exponential(larger(-r, LEAST))
            f = e if -r >= LEAST else 0.0
            row[j] = f
            slope[j] = f / larger(r, 1e-300) * (a + b * s)


@compiled(fastmath=FLAGS)
def matern3(tile, slopes, a, b):
    """f = (1 + t) e^−t, g = 3 e^−t with t = √(3s)."""
    last = slopes.shape[0] - 1
    for i in range(tile.shape[0]):
        row, slope = tile[i], slopes[min(i, last)]
        for j in range(row.size):
            s = row[j]
            t = np.sqrt(3.0 * s)
            e = exponential(larger(-t, LEAST))
            f = e if -t >= LEAST else 0.0
            row[j] = (1.0 + t) * f if f > 0.0 else 0.0
            slope[j] = 3.0 * f * (a + b * s) if f > 0.0 else 0.0


@compiled(fastmath=FLAGS)
def matern5(tile, slopes, a, b):
    """f = (1 + t + t²/3) e^−t, g = 5/3 (1 + t) e^−t with t = √(5s)."""
    last = slopes.shape[0] - 1
    for i in range(tile.shape[0]):
        row, slope = tile[i], slopes[min(i, last)]
        for j in range(row.size):
            s = row[j]
            t = np.sqrt(5.0 * s)
            e = exponential(larger(-t, LEAST))
            f = e if -t >= LEAST else 0.0
            row[j] = (1.0 + t + t * t * (1.0 / 3.0)) * f if f > 0.0 else 0.0
            slope[j] = (5.0 / 3.0) * (1.0 + t) * f * (a + b * s) if f > 0.0 else 0.0
