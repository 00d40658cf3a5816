"""The smaller, the larger and the quotient of two numbers, for loops that run on whole vectors.

Python's ``min`` and ``max`` compile to comparisons, whose order LLVM must keep; its own minimum of
numbers that are not NaN has no order. Python's division raises an error where it divides by zero.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.extending import intrinsic


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
