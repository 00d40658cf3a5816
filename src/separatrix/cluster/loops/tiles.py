"""Products of one row with a tile of sixteen columns, in vector registers.

    values = tiles[tile, d, :] − Σ_f x[row, f] · tiles[tile, f, :]

The compiler's own vectorization stores and reloads every partial sum, because it cannot know that
arrays do not overlap. Here the sums are a vector value from the first feature to the last.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

#: Width of a tile, and number of independent partial sums.
LANES, CHAINS = 16, 4

_SINGLE, _WHOLE, _SHORT = ir.FloatType(), ir.IntType(64), ir.IntType(32)
_VECTOR, _INDEX = ir.VectorType(_SINGLE, LANES), ir.VectorType(_SHORT, LANES)
_FLAGS = ("contract", "nsz", "nnan")


@intrinsic
def two_least(typing_context, x, row, tiles, tile, skip):  # noqa: ARG001
    """The least of the sixteen values of ``tile`` for ``row``, its lane, and the second least.

    ``x`` (n x d) and ``tiles`` (t x (d + 1) x 16) are float32 and C-contiguous. Lane ``skip``,
    counted from the first tile, is excluded.
    """
    result = types.Tuple((types.float32, types.int64, types.float32))
    signature = result(x, types.int64, tiles, types.int64, types.int64)

    def codegen(context, builder, signature, arguments):
        x_kind, _, tiles_kind, _, _ = signature.args
        x_value, row, tiles_value, tile, skip = arguments
        zero = _WHOLE(0)
        x_at, shape = _address(context, builder, x_kind, x_value, row, zero)
        tile_at, _ = _address(context, builder, tiles_kind, tiles_value, tile, zero, zero)
        start_at, _ = _address(context, builder, tiles_kind, tiles_value, tile, shape[1], zero)
        values = _product(builder, x_at, shape[1], start_at, tile_at)
        first = builder.mul(tile, _WHOLE(LANES))
        values = _without(builder, values, builder.trunc(builder.sub(skip, first), _SHORT))
        least = _least(builder, values)
        equal = builder.fcmp_ordered("==", values, _spread(builder, least, _VECTOR))
        mask = builder.bitcast(equal, ir.IntType(LANES))
        lane = builder.cttz(builder.zext(mask, _SHORT), ir.IntType(1)(1))
        after = _least(builder, _without(builder, values, lane))
        where = builder.add(first, builder.zext(lane, _WHOLE))
        return context.make_tuple(builder, signature.return_type, [least, where, after])

    return signature, codegen


@intrinsic
def row_product(typing_context, x, row, y, other):  # noqa: ARG001
    """x[row] · y[other] of C-contiguous float32 arrays, sixteen partial sums at a time."""
    signature = types.float32(x, types.int64, y, types.int64)

    def codegen(context, builder, signature, arguments):
        x_kind, _, y_kind, _ = signature.args
        x_value, row, y_value, other = arguments
        x_at, shape = _address(context, builder, x_kind, x_value, row, _WHOLE(0))
        y_at, _ = _address(context, builder, y_kind, y_value, other, _WHOLE(0))
        lanes, rest = cgutils.alloca_once(builder, _VECTOR), cgutils.alloca_once(builder, _SINGLE)
        builder.store(ir.Constant(_VECTOR, [0.0] * LANES), lanes)
        builder.store(_SINGLE(0.0), rest)

        def add(load, at, total):
            product = builder.fmul(
                load(builder.gep(x_at, [at])), load(builder.gep(y_at, [at])), flags=_FLAGS
            )
            builder.store(builder.fadd(builder.load(total), product, flags=_FLAGS), total)

        rounds = builder.udiv(shape[1], _WHOLE(LANES))
        done = builder.mul(rounds, _WHOLE(LANES))
        with cgutils.for_range(builder, rounds) as loop:
            add(lambda at: _load(builder, at), builder.mul(loop.index, _WHOLE(LANES)), lanes)
        with cgutils.for_range(builder, builder.sub(shape[1], done)) as loop:
            add(builder.load, builder.add(done, loop.index), rest)
        name = f"llvm.vector.reduce.fadd.v{LANES}f32"
        kind = ir.FunctionType(_SINGLE, [_SINGLE, _VECTOR])
        function = cgutils.get_or_insert_function(builder.module, kind, name)
        summed = [builder.load(rest), builder.load(lanes)]
        return builder.call(function, summed, fastmath=("reassoc", *_FLAGS))

    return signature, codegen


def _product(builder, x_at, width, start_at, tile_at):
    """start − Σ x·tile, sixteen lanes in a register; four independent chains hide latency."""
    totals = [cgutils.alloca_once(builder, _VECTOR) for _ in range(CHAINS)]
    builder.store(_load(builder, start_at), totals[0])
    for total in totals[1:]:
        builder.store(ir.Constant(_VECTOR, [0.0] * LANES), total)

    def subtract(feature, total):
        number = builder.load(builder.gep(x_at, [feature]))
        column = _load(builder, builder.gep(tile_at, [builder.mul(feature, _WHOLE(LANES))]))
        product = builder.fmul(_spread(builder, number, _VECTOR), column, flags=_FLAGS)
        builder.store(builder.fsub(builder.load(total), product, flags=_FLAGS), total)

    rounds = builder.udiv(width, _WHOLE(CHAINS))
    done = builder.mul(rounds, _WHOLE(CHAINS))
    with cgutils.for_range(builder, rounds) as loop:
        first = builder.mul(loop.index, _WHOLE(CHAINS))
        for chain, total in enumerate(totals):
            subtract(builder.add(first, _WHOLE(chain)), total)
    with cgutils.for_range(builder, builder.sub(width, done)) as loop:
        subtract(builder.add(done, loop.index), totals[0])
    first, second, third, fourth = (builder.load(total) for total in totals)
    return builder.fadd(
        builder.fadd(first, second, flags=_FLAGS),
        builder.fadd(third, fourth, flags=_FLAGS),
        flags=_FLAGS,
    )


def _address(context, builder, kind, array, *index):
    """Address of an element of a C-contiguous array; no wrap-around, no reference counted."""
    view = context.make_array(kind)(context, builder, array)
    shape = cgutils.unpack_tuple(builder, view.shape, kind.ndim)
    offset = index[0]
    for size, at in zip(shape[1:], index[1:], strict=True):
        offset = builder.add(builder.mul(offset, size), at)
    return builder.gep(view.data, [offset]), shape


def _load(builder, address):
    """Sixteen numbers from an address that need not be aligned to them."""
    return builder.load(builder.bitcast(address, _VECTOR.as_pointer()), align=4)


def _spread(builder, number, vector):
    """The same number in every lane."""
    empty = ir.Constant(vector, ir.Undefined)
    one = builder.insert_element(empty, number, _SHORT(0))
    return builder.shuffle_vector(one, empty, ir.Constant(_INDEX, [0] * LANES))


def _without(builder, values, lane):
    """The values with infinity in one lane; a lane out of range changes nothing."""
    numbers = ir.Constant(_INDEX, list(range(LANES)))
    there = builder.icmp_signed("==", numbers, _spread(builder, lane, _INDEX))
    infinite = ir.Constant(_VECTOR, [float("inf")] * LANES)
    return builder.select(there, infinite, values)


def _least(builder, values):
    name = f"llvm.vector.reduce.fmin.v{LANES}f32"
    kind = ir.FunctionType(_SINGLE, [_VECTOR])
    function = cgutils.get_or_insert_function(builder.module, kind, name)
    return builder.call(function, [values], fastmath=_FLAGS)
