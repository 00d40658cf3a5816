"""Operations on single numbers, each a few instructions.

A compiled helper of one line takes longer to compile than the line; these take next to nothing.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

#: A little more than the relative error of rounding to single precision.
_UNIT = 1.2e-7
#: Without these a minimum of many numbers is not vectorized.
_FLAGS = ("nnan", "nsz")


@intrinsic
def smaller(typing_context, a, b):
    """min(a, b) without a branch; NaN is not considered."""
    return _choice(typing_context, a, b, "<")


@intrinsic
def larger(typing_context, a, b):
    """max(a, b) without a branch; NaN is not considered."""
    return _choice(typing_context, a, b, ">")


def _choice(typing_context, a, b, comparison):
    kind = types.unliteral(typing_context.unify_types(a, b))

    def codegen(context, builder, signature, arguments):  # noqa: ARG001
        a, b = arguments
        if not isinstance(kind, types.Float):
            return builder.select(builder.icmp_signed(comparison, a, b), a, b)
        first = builder.fcmp_ordered(comparison, a, b, flags=_FLAGS)
        return builder.select(first, a, b, flags=_FLAGS)

    return kind(kind, kind), codegen


@intrinsic
def rounded_up(typing_context, value):  # noqa: ARG001
    """An upper bound in single precision of a double, never rounded down."""
    return types.float32(types.float64), _rounded("fadd")


@intrinsic
def rounded_down(typing_context, value):  # noqa: ARG001
    """A lower bound in single precision of a double, never rounded up."""
    return types.float32(types.float64), _rounded("fsub")


def _rounded(direction):
    def codegen(context, builder, signature, arguments):  # noqa: ARG001
        (value,) = arguments
        size = _call(builder, "llvm.fabs", value)
        slack = builder.fmul(size, value.type(_UNIT))
        moved = getattr(builder, direction)(value, slack)
        finite = builder.fcmp_ordered("<", size, value.type(float("inf")))
        return builder.fptrunc(builder.select(finite, moved, value), ir.FloatType())

    return codegen


@intrinsic
def single_root(typing_context, square):  # noqa: ARG001
    """√max(square, 0) in single precision: half the cost, with a relative error of 1e-7."""

    def codegen(context, builder, signature, arguments):  # noqa: ARG001
        value = builder.fptrunc(arguments[0], ir.FloatType())
        zero = value.type(0.0)
        positive = builder.select(builder.fcmp_ordered(">", value, zero), value, zero)
        return _call(builder, "llvm.sqrt", positive)

    return types.float32(types.float64), codegen


def _call(builder, name, value):
    suffix = "f32" if isinstance(value.type, ir.FloatType) else "f64"
    kind = ir.FunctionType(value.type, [value.type])
    function = cgutils.get_or_insert_function(builder.module, kind, f"{name}.{suffix}")
    return builder.call(function, [value])
