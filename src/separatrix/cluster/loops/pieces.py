"""Pieces of work that loops on several threads take in turn, without a lock or the interpreter."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def next_piece(typing_context, counter):  # noqa: ARG001
    """The number in ``counter`` (int64, one element), which is one more for the next thread."""

    def codegen(context, builder, signature, arguments):
        (kind,) = signature.args
        address = context.make_array(kind)(context, builder, arguments[0]).data
        return builder.atomic_rmw("add", address, ir.IntType(64)(1), "monotonic")

    return types.int64(counter), codegen
