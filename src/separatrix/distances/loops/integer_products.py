"""Products of six rows with a tile of sixteen points in integers, and bounds on distances by them.

    t = ½‖z‖² − x·z,     x·z ≈ c s Σ x̂ ẑ     with integers x̂, ẑ of sixteen bits

t orders the points z by their distance from x. Sums of integers are exact, and one instruction
multiplies and adds twice as many of them as of single-precision numbers. The sums stay in registers
from the first pair of features to the last; only the bounds leave them.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

#: Rows and points of one product: twelve sums of eight lanes, and room for their factors.
ROWS, POINTS, LANES = 6, 16, 8
#: Of every point, in this order: ½‖z‖², the bound on the error by ‖x‖, the scale s.
HALF, ERROR, SCALE = 0, 1, 2
#: Of every row: the limit, ‖x‖, the scale c.
LIMIT, NORM, FACTOR = 0, 1, 2

_WHOLE, _INT, _SHORT, _SINGLE = ir.IntType(64), ir.IntType(32), ir.IntType(16), ir.FloatType()
_SHORTS, _SUMS = ir.VectorType(_SHORT, 2 * LANES), ir.VectorType(_INT, LANES)
_WIDE, _VALUES = ir.VectorType(_INT, 2 * LANES), ir.VectorType(_SINGLE, LANES)
_FLAGS = ("contract", "nsz")


@intrinsic
def lower_bounds(typing_context, rows, group, tiles, tile, points, of_rows, out):  # noqa: ARG001
    """Lower bounds of t for the rows of ``group`` and the points of ``tile``, in ``out`` (6 x 16).

    Returns bit r for row r if any of its bounds is at most its limit. ``rows`` (g x h x 6) and
    ``tiles`` (p x h x 16) hold pairs of features, two of 16 bits in each int32; ``points``
    (p x 3 x 16) and ``of_rows`` (g x 3 x 6) are float32; all are C-contiguous.
    """
    signature = types.int64(rows, types.int64, tiles, types.int64, points, of_rows, out)

    def codegen(context, builder, signature, arguments):
        kinds = signature.args
        rows, group, tiles, tile, points, of_rows, out = arguments
        zero = _WHOLE(0)
        row_at, shape = _address(context, builder, kinds[0], rows, group)
        tile_at, _ = _address(context, builder, kinds[2], tiles, tile)
        point_at, _ = _address(context, builder, kinds[4], points, tile)
        given_at, _ = _address(context, builder, kinds[5], of_rows, group)
        out_at, _ = _address(context, builder, kinds[6], out, zero)
        sums = _products(builder, row_at, tile_at, shape[1])
        return _bounds(builder, sums, point_at, given_at, out_at)

    return signature, codegen


def _products(builder, row_at, tile_at, n_pairs):
    """Σ x̂ẑ of every row with both halves of the tile."""
    before, start = builder.block, _WHOLE(0)
    body = builder.append_basic_block("pairs")
    after = builder.append_basic_block("bounds")
    builder.branch(body)
    builder.position_at_end(body)
    at = builder.phi(_WHOLE)
    at.add_incoming(start, before)
    sums = []
    for _ in range(2 * ROWS):
        total = builder.phi(_SUMS)
        total.add_incoming(ir.Constant(_SUMS, [0] * LANES), before)
        sums.append(total)
    tile_at = builder.gep(tile_at, [builder.mul(at, _WHOLE(POINTS))])
    halves = [_load(builder, builder.gep(tile_at, [_WHOLE(h * LANES)]), _SHORTS) for h in range(2)]
    pairs = builder.gep(row_at, [builder.mul(at, _WHOLE(ROWS))])
    new = []
    for r in range(ROWS):
        pair = builder.load(builder.gep(pairs, [_WHOLE(r)]))
        both = builder.bitcast(_spread(builder, pair, _SUMS), _SHORTS)
        new += [builder.add(sums[2 * r + h], _pairwise(builder, both, halves[h])) for h in range(2)]
    following = builder.add(at, _WHOLE(1))
    at.add_incoming(following, body)
    for total, value in zip(sums, new, strict=True):
        total.add_incoming(value, body)
    builder.cbranch(builder.icmp_signed("<", following, n_pairs), body, after)
    builder.position_at_end(after)
    return new


def _pairwise(builder, a, b):
    """a₀b₀ + a₁b₁, a₂b₂ + a₃b₃ …: one instruction of most processors."""
    product = builder.mul(builder.sext(a, _WIDE), builder.sext(b, _WIDE))
    even, odd = (
        builder.shuffle_vector(
            product,
            ir.Constant(_WIDE, ir.Undefined),
            ir.Constant(_SUMS, [2 * i + j for i in range(LANES)]),
        )
        for j in range(2)
    )
    return builder.add(even, odd)


def _bounds(builder, sums, point_at, given_at, out_at):
    """Store (½‖z‖² − ‖x‖·error) − c s Σ; a bit for every row with one within its limit."""
    bits = _WHOLE(0)
    for r in range(ROWS):
        near = None
        limit, norm, factor = (
            _spread(
                builder, builder.load(builder.gep(given_at, [_WHOLE(what * ROWS + r)])), _VALUES
            )
            for what in (LIMIT, NORM, FACTOR)
        )
        for h in range(2):
            half, error, scale = (
                _load(builder, builder.gep(point_at, [_WHOLE(what * POINTS + h * LANES)]), _VALUES)
                for what in (HALF, ERROR, SCALE)
            )
            total = builder.sitofp(sums[2 * r + h], _VALUES)
            least = builder.fsub(half, builder.fmul(norm, error, flags=_FLAGS), flags=_FLAGS)
            product = builder.fmul(builder.fmul(factor, scale, flags=_FLAGS), total, flags=_FLAGS)
            bound = builder.fsub(least, product, flags=_FLAGS)
            _store(builder, bound, builder.gep(out_at, [_WHOLE(r * POINTS + h * LANES)]))
            mask = builder.fcmp_ordered("<=", bound, limit)
            near = mask if near is None else builder.or_(near, mask)
        lanes = builder.bitcast(near, ir.IntType(LANES))
        some = builder.zext(builder.icmp_unsigned("!=", lanes, lanes.type(0)), _WHOLE)
        bits = builder.or_(bits, builder.shl(some, _WHOLE(r)))
    return bits


def _address(context, builder, kind, array, first):
    """Address of ``array[first]`` of a C-contiguous array, and its shape."""
    view = context.make_array(kind)(context, builder, array)
    shape = cgutils.unpack_tuple(builder, view.shape, kind.ndim)
    offset = first
    for size in shape[1:]:
        offset = builder.mul(offset, size)
    return builder.gep(view.data, [offset]), shape


def _load(builder, at, kind):
    return builder.load(builder.bitcast(at, kind.as_pointer()), align=4)


def _store(builder, value, at):
    builder.store(value, builder.bitcast(at, value.type.as_pointer()), align=4)


def _spread(builder, value, kind):
    """The same number in every lane."""
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, _INT(0))
    return builder.shuffle_vector(
        one, ir.Constant(kind, ir.Undefined), ir.Constant(ir.VectorType(_INT, kind.count), None)
    )
