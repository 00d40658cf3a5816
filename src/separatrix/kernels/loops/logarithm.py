"""The logarithm of 1 + u for u ≥ 0, in vector instructions.

1 + u = 2^k m with √½ ≤ m < √2; ln m = 2 artanh t = 2 (t + t³/3 + t⁵/5 + …), t = (m − 1)/(m + 1).
Calls of the C library prevent vectorization.
"""

from __future__ import annotations

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from separatrix.compilation import compiled
from separatrix.kernels.loops.extremes import quotient

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
def log_one_plus(u):
    """ln(1 + u) for u of 0 or more, to the last digits also where u is tiny."""
    y = 1.0 + u
    lost = quotient(u - (y - 1.0), y)
    k = _exponent(y) - 4503599627370496.0
    f = _mantissa(y) - 1.0
    t = quotient(f, 2.0 + f)
    z = t * t
    w = z * z
    low = 0.3333333333333333 + z * 0.2 + w * (0.14285714285714285 + z * 0.1111111111111111)
    high = 0.09090909090909091 + z * 0.07692307692307693
    high += w * (0.06666666666666667 + z * 0.058823529411764705)
    high += (w * w) * (0.05263157894736842 + z * 0.047619047619047616)
    series = 2.0 * t * (1.0 + z * (low + (w * w) * high))
    return k * _LN2 + (series + (lost + k * _LN2_REST))
