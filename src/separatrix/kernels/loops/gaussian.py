"""Tiles of the Gaussian kernel, exp(−½ ‖x − z‖²).

The exponential is written out, 2^k · e^r with |r| ≤ ½ ln 2 and e^r by its Taylor series, because
calls of the C library prevent vectorization. Tiles are contiguous for the same reason.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from separatrix.compilation import compiled
from separatrix.kernels.loops.extremes import larger, smaller

_LOG2E = 1.4426950408889634
_LOG2E_32 = np.float32(_LOG2E)
#: ln 2 in two parts; the first has so few bits that k times it is exact.
_LN2, _LN2_REST = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_LN2_32, _LN2_REST_32 = np.float32(0.693359375), np.float32(-2.12194440e-4)
#: Adding 1.5·2^52 (1.5·2^23) rounds to an integer, which is then in the last bits.
_ROUND = 6755399441055744.0
_ROUND_32 = np.float32(12582912.0)
#: Exponents below which the result is zero.
LEAST, _LEAST_32 = -708.0, np.float32(-87.0)
_ZERO_32, _HALF_32 = np.float32(0.0), np.float32(0.5)


@intrinsic
def _two_to(_typing, rounded):
    """2^k, from the float whose last bits are k."""
    size, bias, shift = (32, 127, 23) if rounded == types.float32 else (64, 1023, 52)

    def code(context, builder, _signature, args):
        integer = ir.IntType(size)
        k = builder.bitcast(args[0], integer)
        exponent = builder.shl(builder.add(k, integer(bias)), integer(shift))
        return builder.bitcast(exponent, context.get_value_type(rounded))

    return rounded(rounded), code


@compiled(inline="always")
def exponential(t):
    """e^t for t of at least ``LEAST``, in vector instructions."""
    rounded = t * _LOG2E + _ROUND
    k = rounded - _ROUND
    r = (t - k * _LN2) - k * _LN2_REST
    # powers of r side by side: no sum waits for a long chain of others
    q = r * r
    w = q * q
    low = (1.0 + r) + q * (0.5 + 0.16666666666666666 * r)
    middle = 0.041666666666666664 + 0.008333333333333333 * r
    middle += q * (0.001388888888888889 + 0.0001984126984126984 * r)
    high = 2.48015873015873e-05 + 2.7557319223985893e-06 * r
    high += q * (2.755731922398589e-07 + 2.505210838544172e-08 * r) + w * 2.08767569878681e-09
    return (low + w * (middle + w * high)) * _two_to(rounded)


@compiled(inline="always")
def _exp32(t):
    rounded = t * _LOG2E_32 + _ROUND_32
    k = rounded - _ROUND_32
    r = (t - k * _LN2_32) - k * _LN2_REST_32
    q = r * r
    low = (np.float32(1.0) + r) + q * (np.float32(0.5) + np.float32(0.16666666666666666) * r)
    high = np.float32(0.041666666666666664) + np.float32(0.008333333333333333) * r
    high += q * (np.float32(0.001388888888888889) + np.float32(0.0001984126984126984) * r)
    return (low + q * q * high) * _two_to(rounded)


FLAGS = {"contract", "nnan", "nsz"}


@compiled(fastmath=FLAGS)
def gaussian_tile64(tile, half_x, half_z):
    """exp(min(0, p − ½‖x‖² − ½‖z‖²)) in place of the products p = x·z of a tile."""
    for i in range(half_x.size):
        h, row = half_x[i], tile[i]
        for j in range(row.size):
            t = smaller(row[j] - (h + half_z[j]), 0.0)
            e = exponential(larger(t, LEAST))
            row[j] = e if t >= LEAST else 0.0


@compiled(fastmath=FLAGS)
def gaussian_tile32(tile, half_x, half_z):
    """The same in single precision."""
    for i in range(half_x.size):
        h, row = half_x[i], tile[i]
        for j in range(row.size):
            t = smaller(row[j] - (h + half_z[j]), _ZERO_32)
            e = _exp32(larger(t, _LEAST_32))
            row[j] = e if t >= _LEAST_32 else _ZERO_32


@compiled(fastmath=FLAGS)
def gaussian_rows64(tile, far, x, zt, inverse):
    """exp(−½ Σ ((x − z)/σ)²) in the rows ``far``, from the differences, with 1/σ as ``inverse``.

    The centers are the columns of ``zt``. Differences do not cancel, however far the rows lie
    from the origin.
    """
    for i in far:
        row = tile[i]
        row[:] = 0.0
        for c in range(zt.shape[0]):
            at, column = x[i, c], zt[c]
            for j in range(row.size):
                d = (at - column[j]) * inverse
                row[j] += d * d
        for j in range(row.size):
            t = -0.5 * row[j]
            e = exponential(larger(t, LEAST))
            row[j] = e if t >= LEAST else 0.0


@compiled(fastmath=FLAGS)
def gaussian_rows32(tile, far, x, zt, inverse):
    """The same in single precision."""
    for i in far:
        row = tile[i]
        row[:] = _ZERO_32
        for c in range(zt.shape[0]):
            at, column = x[i, c], zt[c]
            for j in range(row.size):
                d = (at - column[j]) * inverse
                row[j] += d * d
        for j in range(row.size):
            t = -_HALF_32 * row[j]
            e = _exp32(larger(t, _LEAST_32))
            row[j] = e if t >= _LEAST_32 else _ZERO_32
