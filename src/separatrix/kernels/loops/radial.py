"""Tiles of radial kernels, f(s) with s = Σ ((x − z)/σ)², from differences of coordinates.

Differences do not cancel, however near two rows are to one another and however far from the
origin. Functions of a tile write f(s) in place of s, and the slope g(s) = −2 f′(s) times
(a + b s): ∂f/∂log σ_c = g(s) ((x_c − z_c)/σ_c)² for the bandwidth of one column, and g(s) s for one
of all. ``slopes`` of one row only are written over again and again where nobody needs them.
"""

from __future__ import annotations

import numpy as np

from separatrix.compilation import compiled
from separatrix.kernels.loops.extremes import larger, quotient, smaller
from separatrix.kernels.loops.gaussian import FLAGS, LEAST, exponential
from separatrix.kernels.loops.logarithm import log_one_plus

#: Sums in any order, so that they run on whole vectors; the order is that of the compiled loop.
SUMS = FLAGS | {"reassoc"}
#: Squared distances beyond it are taken for it: zero times infinity is no number.
FARTHEST = 1e300
#: Adding 1.5·2^52 rounds to an integer.
ROUND = 6755399441055744.0


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
def distances_from_products(tile, norms_x, norms_z, x, z, inverse, near):
    """s = ‖u‖² + ‖v‖² − 2 u·v in place of the products u·v of a tile of wide rows.

    Pairs nearer than ``near`` times ‖u‖² + ‖v‖² would lose digits: from their differences.
    """
    for i in range(tile.shape[0]):
        row, norm = tile[i], norms_x[i]
        count = 0
        for j in range(row.size):
            size = norm + norms_z[j]
            row[j] = size - 2.0 * row[j]
            count += row[j] < near * size
        if count == 0:
            continue
        for j in range(row.size):
            if row[j] < near * (norm + norms_z[j]):
                total = 0.0
                for c in range(inverse.size):
                    d = (x[i, c] - z[j, c]) * inverse[c]
                    total += d * d
                row[j] = total


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
                total += row[j] * smaller(d * d, FARTHEST)
            sums[c] += total


@compiled(fastmath=FLAGS)
def gaussian(tile, slopes, a, b):
    """f = exp(−s/2), g = f."""
    last = slopes.shape[0] - 1
    for i in range(tile.shape[0]):
        row, slope = tile[i], slopes[min(i, last)]
        for j in range(row.size):
            s = smaller(row[j], FARTHEST)
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
            s = smaller(row[j], FARTHEST)
            r = np.sqrt(s)
            e = exponential(larger(-r, LEAST))
            f = e if -r >= LEAST else 0.0
            row[j] = f
            slope[j] = quotient(f, larger(r, 1e-300)) * (a + b * s)


@compiled(fastmath=FLAGS)
def matern3(tile, slopes, a, b):
    """f = (1 + t) e^−t, g = 3 e^−t with t = √(3s)."""
    last = slopes.shape[0] - 1
    for i in range(tile.shape[0]):
        row, slope = tile[i], slopes[min(i, last)]
        for j in range(row.size):
            s = smaller(row[j], FARTHEST)
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
            s = smaller(row[j], FARTHEST)
            t = np.sqrt(5.0 * s)
            e = exponential(larger(-t, LEAST))
            f = e if -t >= LEAST else 0.0
            row[j] = (1.0 + t + t * t * (1.0 / 3.0)) * f if f > 0.0 else 0.0
            slope[j] = (5.0 / 3.0) * (1.0 + t) * f * (a + b * s) if f > 0.0 else 0.0


@compiled(fastmath=FLAGS)
def rational_quadratic(tile, slopes, others, a, b, alpha):
    """f = (1 + v)^−α, g = (1 + v)^−(α+1), ∂f/∂log α in ``others``, with v = s/2α."""
    last, half = slopes.shape[0] - 1, 0.5 / alpha
    for i in range(tile.shape[0]):
        at = min(i, last)
        row, slope, other = tile[i], slopes[at], others[at]
        for j in range(row.size):
            s = smaller(row[j], FARTHEST)
            v = smaller(s * half, FARTHEST)
            log = log_one_plus(v)
            f = exponential(larger(-alpha * log, LEAST))
            f = f if -alpha * log >= LEAST else 0.0
            rest = quotient(1.0, 1.0 + v)
            row[j] = f
            slope[j] = f * rest * (a + b * s)
            other[j] = alpha * f * (v * rest - log)


@compiled(inline="always")
def _sine(t):
    """sin t for |t| ≤ π/2, by its Taylor series."""
    z = t * t
    w = z * z
    v = w * w
    low = (1.0 + z * -0.16666666666666666) + w * (0.008333333333333333 + z * -0.0001984126984126984)
    middle = (2.7557319223985893e-06 + z * -2.505210838544172e-08) + w * (
        1.6059043836821613e-10 + z * -7.647163731819816e-13
    )
    high = (2.8114572543455206e-15 + z * -8.22063524662433e-18) + w * 1.9572941063391263e-20
    return t * (low + v * (middle + v * high))


@compiled(inline="always")
def _cosine(t):
    """cos t for |t| ≤ π/2, by its Taylor series."""
    z = t * t
    w = z * z
    v = w * w
    low = (1.0 + z * -0.5) + w * (0.041666666666666664 + z * -0.001388888888888889)
    middle = (2.48015873015873e-05 + z * -2.755731922398589e-07) + w * (
        2.08767569878681e-09 + z * -1.1470745597729725e-11
    )
    high = (4.779477332387385e-14 + z * -1.5619206968586225e-16) + w * (
        4.110317623312165e-19 + z * -8.896791392450574e-22
    )
    return low + v * (middle + v * high)


@compiled(fastmath=FLAGS)
def periodic(tile, slopes, others, scale):
    """f = exp(−scale sin² πφ), φ = √s; ∂f/∂log ℓ in ``slopes``, ∂f/∂log p in ``others``.

    Multiples of the period are subtracted from φ first, which is exact; sine and cosine of what is
    left, half a period at most, are Taylor series.
    """
    last = slopes.shape[0] - 1
    for i in range(tile.shape[0]):
        at = min(i, last)
        row, slope, other = tile[i], slopes[at], others[at]
        for j in range(row.size):
            phase = np.sqrt(row[j])
            t = np.pi * (phase - ((phase + ROUND) - ROUND))
            sine, cosine = _sine(t), _cosine(t)
            f = exponential(larger(-scale * (sine * sine), LEAST))
            f = f if -scale * (sine * sine) >= LEAST else 0.0
            row[j] = f
            slope[j] = 2.0 * scale * f * (sine * sine)
            other[j] = 2.0 * scale * f * (sine * cosine) * (np.pi * phase)
