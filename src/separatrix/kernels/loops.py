"""The loops of kernels, compiled: tiles of radial kernels, and dynamic programs."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from separatrix.compilation import compiled

# -------------------------------------------------------------------------------------------------
# The smaller, the larger and the quotient of two numbers, for loops that run on whole vectors.
#
# Python's ``min`` and ``max`` compile to comparisons, whose order LLVM must keep; its own minimum
# of numbers that are not NaN has no order. Python's division raises an error where it divides by
# zero.


def _of_two(name: str) -> Any:
    def of_two(_typing, a, b):
        def code(_context, builder, _signature, args):
            kind = args[0].type
            signature = ir.FunctionType(kind, [kind, kind])
            function = builder.module.declare_intrinsic(f"llvm.{name}", [kind], signature)
            return builder.call(function, args)

        return (a(a, b), code) if a == b else None

    return intrinsic(of_two)


smaller, larger = _of_two("minnum"), _of_two("maxnum")


@intrinsic
def quotient(_typing, a, b):
    """a / b of two numbers of one type."""

    def code(_context, builder, _signature, args):
        return builder.fdiv(args[0], args[1])

    return (a(a, b), code) if a == b else None


# -------------------------------------------------------------------------------------------------
# The logarithm of 1 + u for u ≥ 0, in vector instructions.
#
# 1 + u = 2^k m with √½ ≤ m < √2; ln m = 2 artanh t = 2 (t + t³/3 + t⁵/5 + …), t = (m − 1)/(m + 1).
# Calls of the C library prevent vectorization.


#: ln 2 in two parts; the first has so few bits that k times it is exact.
_LN2, _LN2_REST = 6.93147180369123816490e-01, 1.90821492927058770002e-10
#: The bits of √½, and of 2^52, whose last bits hold a small integer.
_ROOT_HALF, _INTEGER = 0x3FE6A09E667F3BCD, 0x4330000000000000


@intrinsic
def _exponent(_typing, _number):
    """k of a number of at least √½, plus 2^52."""

    def code(_context, builder, _signature, args):
        integer = ir.IntType(64)
        bits = builder.sub(builder.bitcast(args[0], integer), integer(_ROOT_HALF))
        k = builder.lshr(bits, integer(52))
        return builder.bitcast(builder.or_(k, integer(_INTEGER)), ir.DoubleType())

    return types.float64(types.float64), code


@intrinsic
def _mantissa(_typing, _number):
    """m of a number of at least √½."""

    def code(_context, builder, _signature, args):
        integer = ir.IntType(64)
        bits = builder.bitcast(args[0], integer)
        k = builder.lshr(builder.sub(bits, integer(_ROOT_HALF)), integer(52))
        return builder.bitcast(builder.sub(bits, builder.shl(k, integer(52))), ir.DoubleType())

    return types.float64(types.float64), code


@compiled(inline="always")
def _log_of_mantissa(f):
    """ln(1 + f) for √½ ≤ 1 + f < √2."""
    t = quotient(f, 2.0 + f)
    z = t * t
    w = z * z
    low = 0.3333333333333333 + z * 0.2 + w * (0.14285714285714285 + z * 0.1111111111111111)
    high = 0.09090909090909091 + z * 0.07692307692307693
    high += w * (0.06666666666666667 + z * 0.058823529411764705)
    high += (w * w) * (0.05263157894736842 + z * 0.047619047619047616)
    return 2.0 * t * (1.0 + z * (low + (w * w) * high))


@compiled(inline="always")
def log_one_plus(u):
    """ln(1 + u) for u of 0 or more, to the last digits also where u is tiny."""
    y = 1.0 + u
    lost = quotient(u - (y - 1.0), y)
    k = _exponent(y) - 4503599627370496.0
    series = _log_of_mantissa(_mantissa(y) - 1.0)
    return k * _LN2 + (series + (lost + k * _LN2_REST))


# -------------------------------------------------------------------------------------------------
# Tiles of the Gaussian kernel, exp(−½ ‖x − z‖²).
#
# The exponential is written out, 2^k · e^r with |r| ≤ ½ ln 2 and e^r by its Taylor series, because
# calls of the C library prevent vectorization. Tiles are contiguous for the same reason.


_LOG2E = 1.4426950408889634
_LOG2E_32 = np.float32(_LOG2E)
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


# -------------------------------------------------------------------------------------------------
# Tiles of radial kernels, f(s) with s = Σ ((x − z)/σ)², from differences of coordinates.
#
# Differences do not cancel, however near two rows are to one another and however far from the
# origin. Functions of a tile write f(s) in place of s, and the slope g(s) = −2 f′(s) times (a + b
# s): ∂f/∂log σ_c = g(s) ((x_c − z_c)/σ_c)² for the bandwidth of one column, and g(s) s for one of
# all. ``slopes`` of one row only are written over again and again where nobody needs them.


#: Sums in any order, so that they run on whole vectors; the order is that of the compiled loop.
SUMS = FLAGS | {"reassoc"}
#: Squared distances beyond it are taken for it: zero times infinity is not a number.
FARTHEST = 1e300


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
        value = min(i, last)
        row, slope, other = tile[i], slopes[value], others[value]
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
def _log(s):
    """ln s of a number above 10⁻⁹⁰, in vector instructions: that of 2³⁰⁰ s less 300 ln 2."""
    y = s * 2.037035976334486e90
    k = _exponent(y) - 4503599627370496.0
    k -= 300.0
    return k * _LN2 + (_log_of_mantissa(_mantissa(y) - 1.0) + k * _LN2_REST)


@compiled(fastmath=FLAGS)
def exponential_power(tile, slopes, a, b, power, factor):
    """f = exp(−s^q), g = c q s^(q−1) f with q the ``power`` and c a factor; zero slope at s = 0."""
    last = slopes.shape[0] - 1
    for i in range(tile.shape[0]):
        row, slope = tile[i], slopes[min(i, last)]
        for j in range(row.size):
            s = smaller(row[j], 1e200)
            inside = larger(s, 1e-85)
            t = exponential(smaller(power * _log(inside), 700.0))
            e = exponential(larger(-t, LEAST))
            f = e if t <= -LEAST else 0.0
            row[j] = f if s > 1e-85 else 1.0
            g = factor * power * f * quotient(t, inside) * (a + b * s)
            slope[j] = g if s > 1e-85 else 0.0


@compiled(fastmath=SUMS)
def absolute_differences(tile, x, zt, inverse):
    """t = Σ |x − z|/σ of every pair, with the centers as columns of ``zt`` and 1/σ by column."""
    for i in range(tile.shape[0]):
        row = tile[i]
        row[:] = 0.0
        for c in range(zt.shape[0]):
            at, column, scale = x[i, c], zt[c], inverse[c]
            for j in range(row.size):
                row[j] += abs(at - column[j]) * scale


@compiled(fastmath=SUMS)
def weighted_absolutes(weights, x, zt, inverse, right, sums):
    """Σⱼ wᵢⱼ |xᵢ − zⱼ|/σ rⱼ of every row, column and row of ``right`` (n x d x k)."""
    for i in range(weights.shape[0]):
        row = weights[i]
        for c in range(zt.shape[0]):
            at, column, scale = x[i, c], zt[c], inverse[c]
            for r in range(right.shape[0]):
                factor, total = right[r], 0.0
                for j in range(row.size):
                    total += row[j] * factor[j] * abs(at - column[j])
                sums[i, c, r] = scale * total


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
        value = min(i, last)
        row, slope, other = tile[i], slopes[value], others[value]
        for j in range(row.size):
            phase = np.sqrt(row[j])
            t = np.pi * (phase - ((phase + _ROUND) - _ROUND))
            sine, cosine = _sine(t), _cosine(t)
            f = exponential(larger(-scale * (sine * sine), LEAST))
            f = f if -scale * (sine * sine) >= LEAST else 0.0
            row[j] = f
            slope[j] = 2.0 * scale * f * (sine * sine)
            other[j] = 2.0 * scale * f * (sine * cosine) * (np.pi * phase)


# -------------------------------------------------------------------------------------------------
# Subsequence kernel of all pairs of two lists of strings, by dynamic programming.


@compiled
def _pair(s, t, decay, work):
    """Σ over common subsequences of decay^(spans).

    ``work[p, j]`` is the sum over all matches of p letters that end before the current letter of s
    and within the first j letters of t; every letter since counts one more ``decay``. Each letter
    of s updates it from large p to small, so that row p − 1 still belongs to the letter before.
    """
    length, n = work.shape[0], t.size
    work[0, : n + 1] = 1.0
    work[1:, : n + 1] = 0.0
    square = decay * decay
    total = decay * 0.0
    for i in range(s.size):
        for j in range(n):
            if s[i] == t[j]:
                total += square * work[length - 1, j]
        for p in range(length - 1, 0, -1):
            run = decay * 0.0
            for j in range(n):
                run *= decay
                if s[i] == t[j]:
                    run += square * work[p - 1, j]
                work[p, j + 1] = decay * work[p, j + 1] + run
    return total


@compiled
def subsequence_kernel(x, x_ends, z, z_ends, top, bottom, part, decay, work, out):
    """Rows top … bottom: all pairs (part 0), the lower triangle (1), the diagonal (2).

    ``decay``, ``work`` and ``out`` are real, or complex for the complex-step derivative.
    """
    for i in range(top, bottom):
        s = x[x_ends[i] : x_ends[i + 1]]
        if part == 2:
            out[i, 0] = _pair(s, s, decay, work)
            continue
        for j in range(i + 1 if part == 1 else out.shape[1]):
            out[i, j] = _pair(s, z[z_ends[j] : z_ends[j + 1]], decay, work)


# -------------------------------------------------------------------------------------------------
# Tree kernel of all pairs of two lists of trees, by dynamic programming.


@compiled
def _tree_pair(px, cx, kx, py, cy, ky, decay, partial, work):
    """Σ over pairs of nodes of C(a, b), children before parents.

    p: productions; c: where the children of every node begin in the list k (nodes + 1 entries).
    """
    total = decay * 0.0
    for a in range(px.size):
        first, many = cx[a], cx[a + 1] - cx[a]
        for b in range(py.size):
            value = decay * 0.0
            if px[a] == py[b] and px[a] >= 0:
                value = decay
                for i in range(many):
                    u, v = kx[first + i], ky[cy[b] + i]
                    if cx[u + 1] > cx[u] or cy[v + 1] > cy[v]:  # two leaves: the factor is one
                        value *= partial + work[u, v]
            work[a, b] = value
            total += value
    return total


@compiled
def tree_kernel(
    px, cx, kx, ends_x, pz, cz, kz, ends_z, top, bottom, part, decay, partial, work, out
):
    """Rows top … bottom: all pairs (part 0), the lower triangle (1), the diagonal (2)."""
    for i in range(top, bottom):
        a, b = ends_x[i], ends_x[i + 1]
        if part == 2:
            out[i, 0] = _tree_pair(
                px[a:b], cx[a : b + 1], kx, px[a:b], cx[a : b + 1], kx, decay, partial, work
            )
            continue
        for j in range(i + 1 if part == 1 else out.shape[1]):
            c, d = ends_z[j], ends_z[j + 1]
            out[i, j] = _tree_pair(
                px[a:b], cx[a : b + 1], kx, pz[c:d], cz[c : d + 1], kz, decay, partial, work
            )
