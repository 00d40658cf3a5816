"""Loops of distances, compiled: tiles, k-d trees, bounds from integer products."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from separatrix.compilation import compiled

# -------------------------------------------------------------------------------------------------
# Operations on single numbers, each a few instructions.
#
# A compiled helper of one line takes longer to compile than the line; these take almost none.


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
    return types.float32(types.float64), _round_direction("fadd")


@intrinsic
def rounded_down(typing_context, value):  # noqa: ARG001
    """A lower bound in single precision of a double, never rounded up."""
    return types.float32(types.float64), _round_direction("fsub")


def _round_direction(direction):
    def codegen(context, builder, signature, arguments):  # noqa: ARG001
        (value,) = arguments
        size = _call(builder, "llvm.fabs", value)
        # A little more than the relative error of rounding to single precision.
        slack = builder.fmul(size, value.type(1.2e-7))
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


# -------------------------------------------------------------------------------------------------
# Where a minimum is, and whether any value is below a bound; both loops are vectorized.


CHUNK = 128


@compiled
def first_least(values, start, stop):
    """The first index in start … stop of the minimum: ``start`` where all are infinite."""
    at, least = start, np.inf
    for first in range(start, stop, CHUNK):
        last = first + CHUNK if first + CHUNK < stop else stop
        part, low = values[first:last], np.inf
        for i in range(part.size):
            low = smaller(low, part[i])
        if low < least:
            at, least = first, low
    while values[at] > least:
        at += 1
    return at


@compiled
def some_within(values, start, stop, limit):
    """Whether any of values[start:stop] is at most ``limit``; a count, which vectorizes."""
    part = values[start:stop]
    count = np.int32(0)
    for i in range(part.size):
        count += np.int32(part[i] <= limit)
    return count > 0


# -------------------------------------------------------------------------------------------------
# Distances from one point to many, which are stored as columns.
#
# The innermost loop runs over the points, contiguous in memory, so that the compiler vectorizes it.


#: Values of ``kind``.
EUCLIDEAN, MANHATTAN, CHEBYSHEV = 0, 1, 2


@compiled
def squares_to_points(x, columns, a, b, out):
    """Squared Euclidean distances from a point to the points a … b, which are columns.

    Squares are added four coordinates at a time, in order: a quarter of the memory traffic.
    """
    m, d, j = b - a, x.size, 0
    for s in range(m):
        out[s] = 0.0
    while j + 4 <= d:
        v0, v1, v2, v3 = x[j], x[j + 1], x[j + 2], x[j + 3]
        for s in range(m):
            t0, t1 = v0 - columns[j, a + s], v1 - columns[j + 1, a + s]
            t2, t3 = v2 - columns[j + 2, a + s], v3 - columns[j + 3, a + s]
            out[s] = (((out[s] + t0 * t0) + t1 * t1) + t2 * t2) + t3 * t3
        j += 4
    while j < d:
        v = x[j]
        for s in range(m):
            t = v - columns[j, a + s]
            out[s] += t * t
        j += 1


@compiled
def to_points(x, columns, a, b, kind, out):
    """Distances (Euclidean: squares) from a point to the points a … b, which are columns."""
    if kind == EUCLIDEAN:
        squares_to_points(x, columns, a, b, out)
        return
    for s in range(b - a):
        out[s] = 0.0
    for j in range(x.size):
        v = x[j]
        for s in range(b - a):
            t = abs(v - columns[j, a + s])
            total = out[s] + t if kind == MANHATTAN else out[s]
            out[s] = total if kind == MANHATTAN or total > t else t


# -------------------------------------------------------------------------------------------------
# Distances between rows of x (n x d) and columns of zt (d x m), written into ``out`` (n x m).
#
# The points z are columns, for :func:`~separatrix.distances.loops.to_points`.


#: Points of a tile: their partial sums stay in the L1 cache.
TILE = 1024


@compiled
def squares_by_coordinates(x, zt, out):
    """Squared Euclidean distances from coordinate differences."""
    for start in range(0, zt.shape[1], TILE):
        stop = start + TILE if start + TILE < zt.shape[1] else zt.shape[1]
        for i in range(x.shape[0]):
            squares_to_points(x[i], zt, start, stop, out[i, start:stop])


@compiled
def by_coordinates(x, zt, kind, out):
    """Manhattan or Chebyshev distances from coordinate differences."""
    for start in range(0, zt.shape[1], TILE):
        stop = start + TILE if start + TILE < zt.shape[1] else zt.shape[1]
        for i in range(x.shape[0]):
            to_points(x[i], zt, start, stop, kind, out[i, start:stop])


@compiled
def minkowski(x, zt, p, out):
    """(Σ |x − z|^p)^(1/p), scaled by the largest difference: no power over- or underflows."""
    n, d, m = x.shape[0], x.shape[1], zt.shape[1]
    for i in range(n):
        for k in range(m):
            largest = 0.0
            for j in range(d):
                largest = max(largest, abs(x[i, j] - zt[j, k]))
            total = 0.0
            if largest > 0.0:
                for j in range(d):
                    total += (abs(x[i, j] - zt[j, k]) / largest) ** p
            out[i, k] = largest * total ** (1.0 / p) if largest > 0.0 else 0.0


@compiled
def hamming(x, zt, out):
    """The number of coordinates that differ."""
    n, d, m = x.shape[0], x.shape[1], zt.shape[1]
    for start in range(0, m, TILE):
        stop = min(start + TILE, m)
        for i in range(n):
            row = out[i, start:stop]
            row[:] = 0.0
            for j in range(d):
                v, z = x[i, j], zt[j, start:stop]
                for k in range(stop - start):
                    row[k] += 1.0 if v != z[k] else 0.0


@compiled
def squared_from_products(x, z, xx, zz, out):
    """‖x‖² + ‖z‖² − 2 x·z from the products in ``out``; recomputed where that cancels.

    Rounding leaves an error of about ε(‖x‖² + ‖z‖²). Where more than half of the digits would be
    lost, the coordinate differences are squared and summed instead.
    """
    n, d, m = x.shape[0], x.shape[1], z.shape[0]
    for i in range(n):
        for k in range(m):
            size = xx[i] + zz[k]
            square = size - 2.0 * out[i, k]
            if square < 1e-7 * size:
                square = 0.0
                for j in range(d):
                    t = x[i, j] - z[k, j]
                    square += t * t
            out[i, k] = square


@compiled
def gower(x, zt, discrete, scale, out):
    """Σ δ s / Σ δ: s = |x − z|/range or 1{x ≠ z}, δ = 0 where either value is missing (NaN).

    Two rows without a column known in both have distance 1.
    """
    n, d, m = x.shape[0], x.shape[1], zt.shape[1]
    for i in range(n):
        for k in range(m):
            total, weight = 0.0, 0.0
            for j in range(d):
                a, b = x[i, j], zt[j, k]
                if np.isnan(a) or np.isnan(b):
                    continue
                weight += 1.0
                if discrete[j]:
                    total += 1.0 if a != b else 0.0
                elif scale[j] > 0.0:
                    total += abs(a - b) / scale[j]
            out[i, k] = total / weight if weight > 0.0 else 1.0


# -------------------------------------------------------------------------------------------------
# Levenshtein distance by the bit-parallel algorithm of Myers (1999), 64 symbols per word.


WORD = 64


@compiled
def edit_distances(symbols, starts, others, other_starts, alphabet, out):
    """Levenshtein distance of every sequence to every other.

    Sequence i is ``symbols[starts[i]:starts[i + 1]]``, codes below ``alphabet``.
    """
    n, m = starts.size - 1, other_starts.size - 1
    for i in range(n):
        first = symbols[starts[i] : starts[i + 1]]
        words = max(1, (first.size + WORD - 1) // WORD)
        matches = np.zeros((alphabet, words), dtype=np.uint64)
        for a in range(first.size):
            matches[first[a], a // WORD] |= np.uint64(1) << np.uint64(a % WORD)
        positive = np.empty(words, dtype=np.uint64)
        negative = np.empty(words, dtype=np.uint64)
        for k in range(m):
            second = others[other_starts[k] : other_starts[k + 1]]
            out[i, k] = _distance(first.size, matches, second, positive, negative)


@compiled
def _distance(length, matches, second, positive, negative):
    """The dynamic-programming table, one column at a time, as bits.

    Down a column the distance changes by +1, 0 or −1. The bits of ``positive`` and ``negative``
    hold these differences, so that one word operation updates 64 cells; the carry of the sum
    propagates along a diagonal of matches.
    """
    if length == 0:
        return second.size
    words = positive.size
    bit = np.uint64(1)
    top = np.uint64(WORD - 1)
    last = np.uint64((length - 1) % WORD)
    positive[:] = ~np.uint64(0)
    negative[:] = np.uint64(0)
    distance = length
    for b in range(second.size):
        up, down = bit, np.uint64(0)  # row 0 of the table grows by one with each symbol
        for w in range(words):
            equal = matches[second[b], w]
            up_bits, down_bits = positive[w], negative[w]
            vertical = equal | down_bits
            equal |= down
            horizontal = (((equal & up_bits) + up_bits) ^ up_bits) | equal
            plus = down_bits | ~(horizontal | up_bits)
            minus = up_bits & horizontal
            if w == words - 1:
                distance += np.int64((plus >> last) & bit) - np.int64((minus >> last) & bit)
            next_up, next_down = (plus >> top) & bit, (minus >> top) & bit
            plus = (plus << bit) | up
            minus = (minus << bit) | down
            positive[w] = minus | ~(vertical | plus)
            negative[w] = plus & vertical
            up, down = next_up, next_down
    return distance


# -------------------------------------------------------------------------------------------------
# The k smallest of many distances, in a max-heap of (distance, index) pairs.


@compiled
def precedes(d, i, e, j):
    """Whether (distance d, index i) < (e, j) in lexicographic order."""
    return d < e or (d == e and i < j)


@compiled
def _sift_down(distances, indices, size, at, d, i):
    """Insert (d, i) at position ``at`` or below, restoring the max-heap."""
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        right = child + 1
        if right < size and precedes(
            distances[child], indices[child], distances[right], indices[right]
        ):
            child = right
        if precedes(distances[child], indices[child], d, i):
            break
        distances[at], indices[at] = distances[child], indices[child]
        at = child
    distances[at], indices[at] = d, i


@compiled
def push(distances, indices, size, d, i):
    """Push (d, i) on the max-heap, which drops its maximum if it is full; the new size."""
    if size == distances.size:
        if precedes(d, i, distances[0], indices[0]):
            _sift_down(distances, indices, size, np.int64(0), d, i)  # no variant of a literal
        return size
    at = size
    while at > 0:
        parent = (at - 1) // 2
        if precedes(d, i, distances[parent], indices[parent]):
            break
        distances[at], indices[at] = distances[parent], indices[parent]
        at = parent
    distances[at], indices[at] = d, i
    return size + 1


@compiled
def sort_heap(distances, indices, size):
    """Heapsort in place, smallest distance first."""
    for at in range(size // 2 - 1, -1, -1):
        _sift_down(distances, indices, size, at, distances[at], indices[at])
    for end in range(size - 1, 0, -1):
        d, i = distances[end], indices[end]
        distances[end], indices[end] = distances[0], indices[0]
        _sift_down(distances, indices, end, np.int64(0), d, i)


@compiled
def push_columns(scores, offset, distances, indices, sizes):
    """Push every column of ``scores`` (q x m) on the heap of its row, with indices from ``offset``.

    Chunks without a distance below the heap's maximum are skipped as a whole.
    """
    q, m = scores.shape
    k = distances.shape[1]
    for i in range(q):
        row = scores[i]
        size = sizes[i]
        for start in range(0, m, CHUNK):
            stop = min(start + CHUNK, m)
            if size == k and not some_within(row, start, stop, distances[i, 0]):
                continue
            for j in range(start, stop):
                if size < k or row[j] <= distances[i, 0]:
                    size = push(distances[i], indices[i], size, row[j], offset + j)
        sizes[i] = size


# -------------------------------------------------------------------------------------------------
# Construction and queries of a k-d tree.
#
# Node i has the children 2i + 1 and 2i + 2; the leaves, all on the last level, hold consecutive
# points, stored as columns so that the distances to all points of a leaf are vectorized.


@compiled
def split(z, order, keys, starts, low, high, root, deepest):
    """Split the nodes below ``root`` at the median of their widest dimension, level by level.

    ``order[starts[i, 0]:starts[i, 1]]`` are the points of node i; low[i], high[i] bound its cell,
    the part of space that the splits above leave to it. ``deepest`` levels are split. ``keys`` has
    room for a number of every point.
    """
    nodes, d = low.shape
    first, last = root, root
    for _ in range(deepest):
        for node in range(first, last + 1):
            if 2 * node + 1 >= nodes:
                return
            a, b = starts[node, 0], starts[node, 1]
            widest = 0
            for j in range(1, d):
                if high[node, j] - low[node, j] > high[node, widest] - low[node, widest]:
                    widest = j
            for s in range(a, b):
                keys[s] = z[order[s], widest]
            middle = (a + b) // 2
            _quickselect(keys, order, a, b - 1, middle)
            left, right = 2 * node + 1, 2 * node + 2
            starts[left, 0], starts[left, 1] = a, middle
            starts[right, 0], starts[right, 1] = middle, b
            for j in range(d):
                low[left, j] = low[right, j] = low[node, j]
                high[left, j] = high[right, j] = high[node, j]
            if middle < b:
                high[left, widest] = low[right, widest] = keys[middle]
        first, last = 2 * first + 1, 2 * last + 2


@compiled
def _quickselect(keys, order, a, b, middle):
    """Quickselect among a … b: the smaller keys before ``middle``, the larger from it on."""
    while a < b:
        low, pivot, high = keys[a], keys[(a + b) // 2], keys[b]  # the median of three
        if low > high:
            low, high = high, low
        pivot = low if pivot < low else high if pivot > high else pivot
        i, j = a, b
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            b = j
        elif middle >= i:
            a = i
        else:
            return


@compiled
def to_box(x, low, high, kind):
    """Distance (Euclidean: its square) from a point to the nearest point of a box."""
    total = 0.0
    for j in range(x.size):
        below, above = low[j] - x[j], x[j] - high[j]
        t = below if below > above else above
        if t > 0.0:
            if kind == EUCLIDEAN:
                total += t * t
            elif kind == MANHATTAN:
                total += t
            elif t > total:
                total = t
    return total


@compiled
def _insert(distances, indices, i, distance, index):
    """Insert a neighbor of row i in its place, if it has one; the k-th distance."""
    s = distances.shape[1]
    while s > 0 and (
        distances[i, s - 1] > distance
        or (distances[i, s - 1] == distance and indices[i, s - 1] > index)
    ):
        s -= 1
        if s + 1 < distances.shape[1]:
            distances[i, s + 1], indices[i, s + 1] = distances[i, s], indices[i, s]
    if s < distances.shape[1]:
        distances[i, s], indices[i, s] = distance, index
    return distances[i, distances.shape[1] - 1]


@compiled
def query(
    x, columns, order, starts, low, high, kind, to_leaf, stack, bounds, distances, indices
):  # fmt: skip
    """The nearest points of every row of x, nearest first; returns the number of distances.

    Depth-first, the nearer child first. Boxes farther than the k-th nearest point so far are
    pruned; one at the very same distance is visited, since it may hold a smaller index. There is
    room for the distances ``to_leaf`` of the largest leaf, and for a ``stack`` of nodes with their
    ``bounds``.
    """
    nodes, k = low.shape[0], distances.shape[1]
    n_distances = 0
    for i in range(x.shape[0]):
        limit, top = np.inf, 1
        for s in range(k):
            distances[i, s], indices[i, s] = np.inf, order.size
        stack[0], bounds[0] = 0, 0.0
        while top > 0:
            top -= 1
            node = stack[top]
            if bounds[top] > limit:
                continue
            left, right = 2 * node + 1, 2 * node + 2
            if left >= nodes:
                a, b = starts[node, 0], starts[node, 1]
                to_points(x[i], columns, a, b, kind, to_leaf)
                n_distances += b - a
                for s in range(b - a):
                    if to_leaf[s] <= limit:
                        limit = _insert(distances, indices, i, to_leaf[s], order[a + s])
                continue
            to_left = to_box(x[i], low[left], high[left], kind)
            to_right = to_box(x[i], low[right], high[right], kind)
            if to_right < to_left:
                left, right = right, left
                to_left, to_right = to_right, to_left
            if to_right <= limit:
                stack[top], bounds[top] = right, to_right
                top += 1
            stack[top], bounds[top] = left, to_left
            top += 1
    return n_distances


@compiled
def query_radius(
    x, columns, order, starts, low, high, kind, to_leaf, stack, radius, first, size, counts,
    indices, distances,
):  # fmt: skip
    """All points within ``radius`` (Euclidean: its square) of the rows of x from ``first`` on.

    ``counts`` of every row, indices and distances of its points are written from ``size`` on.
    Returns the row for which the room did not suffice, or the number of rows, and the new size.
    """
    nodes = low.shape[0]
    for i in range(first, x.shape[0]):
        top, before = 1, size
        stack[0] = 0
        while top > 0:
            top -= 1
            node = stack[top]
            if to_box(x[i], low[node], high[node], kind) > radius:
                continue
            left = 2 * node + 1
            if left < nodes:
                stack[top], stack[top + 1] = left + 1, left
                top += 2
                continue
            a, b = starts[node, 0], starts[node, 1]
            if size + b - a > indices.size:
                return i, before
            to_points(x[i], columns, a, b, kind, to_leaf)
            for s in range(b - a):
                if to_leaf[s] <= radius:
                    indices[size], distances[size] = order[a + s], to_leaf[s]
                    size += 1
        counts[i] = size - before
    return x.shape[0], size


# -------------------------------------------------------------------------------------------------
# Products of six rows with a tile of sixteen points in integers, and bounds on distances by them.
#
#     t = ½‖z‖² − x·z,     x·z ≈ c s Σ x̂ ẑ     with integers x̂, ẑ of sixteen bits
#
# t orders the points z by their distance from x. Sums of integers are exact, and one instruction
# multiplies and adds twice as many of them as of single-precision numbers. The sums stay in
# registers from the first pair of features to the last; only the bounds leave them.


#: Rows and points of one product: twelve sums of eight lanes, and room for their factors.
ROWS, POINTS, LANES = 6, 16, 8
#: Of every point, in this order: ½‖z‖², the bound on the error by ‖x‖, the scale s.
HALF, ERROR, SCALE = 0, 1, 2
#: Of every row: the limit, ‖x‖, the scale c.
LIMIT, NORM, FACTOR = 0, 1, 2

WHOLE, INT, SHORT, SINGLE = ir.IntType(64), ir.IntType(32), ir.IntType(16), ir.FloatType()
_SUMS, _VALUES = ir.VectorType(INT, LANES), ir.VectorType(SINGLE, LANES)
_SHORTS, _WIDE = (ir.VectorType(each, 2 * LANES) for each in (SHORT, INT))
_INTEGER_FLAGS = ("contract", "nsz")


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
        zero = WHOLE(0)
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
    before, start = builder.block, WHOLE(0)
    body = builder.append_basic_block("pairs")
    after = builder.append_basic_block("bounds")
    builder.branch(body)
    builder.position_at_end(body)
    at = builder.phi(WHOLE)
    at.add_incoming(start, before)
    sums = []
    for _ in range(2 * ROWS):
        total = builder.phi(_SUMS)
        total.add_incoming(ir.Constant(_SUMS, [0] * LANES), before)
        sums.append(total)
    tile_at = builder.gep(tile_at, [builder.mul(at, WHOLE(POINTS))])
    halves = [_load(builder, builder.gep(tile_at, [WHOLE(h * LANES)]), _SHORTS) for h in range(2)]
    pairs = builder.gep(row_at, [builder.mul(at, WHOLE(ROWS))])
    new = []
    for r in range(ROWS):
        pair = builder.load(builder.gep(pairs, [WHOLE(r)]))
        both = builder.bitcast(_spread(builder, pair, _SUMS), _SHORTS)
        new += [builder.add(sums[2 * r + h], _pairwise(builder, both, halves[h])) for h in range(2)]
    following = builder.add(at, WHOLE(1))
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
    bits = WHOLE(0)
    for r in range(ROWS):
        near = None
        limit, norm, factor = (
            _spread(builder, builder.load(builder.gep(given_at, [WHOLE(what * ROWS + r)])), _VALUES)
            for what in (LIMIT, NORM, FACTOR)
        )
        for h in range(2):
            half, error, scale = (
                _load(builder, builder.gep(point_at, [WHOLE(what * POINTS + h * LANES)]), _VALUES)
                for what in (HALF, ERROR, SCALE)
            )
            total = builder.sitofp(sums[2 * r + h], _VALUES)
            least = builder.fsub(
                half, builder.fmul(norm, error, flags=_INTEGER_FLAGS), flags=_INTEGER_FLAGS
            )
            product = builder.fmul(
                builder.fmul(factor, scale, flags=_INTEGER_FLAGS), total, flags=_INTEGER_FLAGS
            )
            bound = builder.fsub(least, product, flags=_INTEGER_FLAGS)
            _store(builder, bound, builder.gep(out_at, [WHOLE(r * POINTS + h * LANES)]))
            mask = builder.fcmp_ordered("<=", bound, limit)
            near = mask if near is None else builder.or_(near, mask)
        lanes = builder.bitcast(near, ir.IntType(LANES))
        some = builder.zext(builder.icmp_unsigned("!=", lanes, lanes.type(0)), WHOLE)
        bits = builder.or_(bits, builder.shl(some, WHOLE(r)))
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
    filled = builder.insert_element(ir.Constant(kind, ir.Undefined), value, INT(0))
    return builder.shuffle_vector(
        filled, ir.Constant(kind, ir.Undefined), ir.Constant(ir.VectorType(INT, kind.count), None)
    )


# -------------------------------------------------------------------------------------------------
# Nearest points by bounds from integer products: packing, the scan, and exact distances.
#
# Candidates of a row have bounds low ≤ t ≤ high on t = ½‖z‖² − x·z. The k-th smallest upper
# bound limits what can still be among the k nearest. Where bounds leave too many candidates, and at
# the end, their distances are computed in double precision, feature after feature.


#: The norm of a vector of integers: no sum of products leaves 32 bits, no integer 16.
LARGEST_NORM = 32766.0
#: Relative rounding error of bounds in single precision, with room to spare.
ROUNDING = 1e-6


@compiled(fastmath={"reassoc", "contract"})
def _sum_of_squares(values):
    total = 0.0
    for j in range(values.size):
        total += values[j] * values[j]
    return total


@compiled
def pack(x, center, inverse, first, stop, row, packed, measures):
    """Rows in groups first … stop as pairs of integers: x ≈ center + scale · integers / inverse.

    ``packed`` is (groups x pairs x width); ``measures[i]`` are the norm of row i, its scale, and
    the norm of what the integers leave. ``row`` has room for one row, with zeros beyond it.
    """
    n, d = x.shape
    width, pairs = packed.shape[2], packed.shape[1]
    for i in range(first * width, stop * width):
        group, lane = i // width, i % width
        scale = factor = 0.0
        if i < n:
            for j in range(d):
                row[j] = (x[i, j] - center[j]) * inverse
            measures[i, 0] = np.sqrt(_sum_of_squares(row))
            measures[i, 1] = scale = measures[i, 0] / LARGEST_NORM
            factor = 1.0 / scale if scale > 0.0 else 0.0
        for h in range(pairs):
            even, odd = np.rint(row[2 * h] * factor), np.rint(row[2 * h + 1] * factor)
            packed[group, h, lane] = (np.int64(odd) << 16) | (np.int64(even) & 0xFFFF)
            row[2 * h] -= even * scale
            row[2 * h + 1] -= odd * scale
        if i < n:
            measures[i, 2] = np.sqrt(_sum_of_squares(row))


@compiled
def squares(x, i, z, at, size, out):
    """‖x − z‖² of row i and its candidates, summed in the order of features, four side by side."""
    for s in range(0, size, 4):
        following = s + 1 if s + 1 < size else size - 1
        two = s + 2 if s + 2 < size else size - 1
        three = s + 3 if s + 3 < size else size - 1
        a, b, c, e = at[i, s], at[i, following], at[i, two], at[i, three]
        p = q = r = u = 0.0
        for j in range(x.shape[1]):
            v = x[i, j]
            p += (v - z[a, j]) * (v - z[a, j])
            q += (v - z[b, j]) * (v - z[b, j])
            r += (v - z[c, j]) * (v - z[c, j])
            u += (v - z[e, j]) * (v - z[e, j])
        out[three] = u
        out[two] = r
        out[following] = q
        out[s] = p


@compiled
def count_near(products, norms, others, error, reach, counts):
    """How many points of each row ‖x‖² + ‖z‖² − 2 x·z, less the bound on its error, is in reach."""
    left = 1.0 - error
    for i in range(products.shape[0]):
        limit = reach - left * norms[i]
        count = 0
        for k in range(products.shape[1]):
            count += left * others[k] - 2.0 * products[i, k] <= limit
        counts[i] = count


@compiled
def measure_near(x, z, products, norms, others, error, reach, starts, indices, distances):
    """Those points of each row, and ‖x − z‖² by differences of coordinates."""
    left = 1.0 - error
    for i in range(products.shape[0]):
        limit = reach - left * norms[i]
        first, last = starts[i], starts[i + 1]
        at = indices[first:last].reshape(1, last - first)
        size = 0
        for k in range(products.shape[1]):
            if size < last - first and left * others[k] - 2.0 * products[i, k] <= limit:
                at[0, size] = k
                size += 1
        squares(x[i : i + 1], 0, z, at, last - first, distances[first:last])


@compiled
def _sort(values, at, i, size):
    """Shell's sort of candidates by (value, index)."""
    gap = 1
    while gap < size // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for s in range(gap, size):
            v, j, t = values[s], at[i, s], s
            while t >= gap and (
                values[t - gap] > v or (values[t - gap] == v and at[i, t - gap] > j)
            ):
                values[t], at[i, t] = values[t - gap], at[i, t - gap]
                t -= gap
            values[t], at[i, t] = v, j
        gap //= 3


@compiled
def _limit(low, high, at, i, size, k, slack, work):
    """Drop candidates of row i that k others certainly precede; the new size, and the new limit."""
    if size <= k:
        return size, np.inf
    for s in range(size):
        work[s] = high[i, s]
    first, last = 0, size - 1
    while first < last:  # quickselect of the k-th smallest upper bound
        pivot = work[(first + last) // 2]
        s, t = first, last
        while s <= t:
            while work[s] < pivot:
                s += 1
            while work[t] > pivot:
                t -= 1
            if s <= t:
                work[s], work[t] = work[t], work[s]
                s += 1
                t -= 1
        if k - 1 <= t:
            last = t
        elif k - 1 >= s:
            first = s
        else:
            break
    limit = work[k - 1] + slack
    left = 0
    for s in range(size):
        if low[i, s] <= limit:
            low[i, left], high[i, left], at[i, left] = low[i, s], high[i, s], at[i, s]
            left += 1
    return left, limit


@compiled
def scan(
    x, z, rows, tiles, points, of_rows, norms, slack, inverse, first, last, block,
    low, high, at, sizes, bounds, work, n_found, nearest,
):  # fmt: skip
    """The k nearest points of every row of x, of those in the tiles first … last.

    ``found`` are squared distances, ``nearest`` indices, nearest first; ``slack`` is a bound on the
    rounding errors of distances. ``low``, ``high`` and ``at`` have room for the candidates of each
    row, of which there are ``sizes``, ``bounds`` for those of a product and ``work`` for one row.
    """
    q, k, room = x.shape[0], n_found.shape[1], work.size
    for start in range(first, last, block):
        stop = start + block if start + block < last else last
        for group in range(rows.shape[0]):
            for tile in range(start, stop):
                near = lower_bounds(rows, group, tiles, tile, points, of_rows, bounds)
                if near == 0:
                    continue
                for r in range(ROWS):
                    if not (near >> r) & 1:
                        continue
                    i = group * ROWS + r
                    for p in range(POINTS):
                        if not bounds[r, p] <= of_rows[group, LIMIT, r]:
                            continue
                        s = sizes[i]
                        error = norms[i] * points[tile, ERROR, p] + ROUNDING * points[tile, HALF, p]
                        low[i, s], at[i, s] = bounds[r, p], tile * POINTS + p
                        high[i, s] = bounds[r, p] + 2.001 * error
                        sizes[i] = s + 1
                        if s + 1 < room:
                            continue
                        left, limit = _limit(low, high, at, i, room, k, slack[i], work)
                        if left > room - k:  # bounds do not tell them apart
                            squares(x, i, z, at, left, work)
                            _sort(work, at, i, left)
                            left = k
                            for t in range(k):
                                exact = work[t] * inverse * inverse - norms[i] * norms[i]
                                low[i, t] = high[i, t] = 0.5 * exact
                            limit = high[i, k - 1] + slack[i]
                        # in single precision, rounded up
                        of_rows[group, LIMIT, r] = limit + 2e-7 * abs(limit)
                        sizes[i] = left
    for i in range(q):
        size, _ = _limit(low, high, at, i, sizes[i], k, slack[i], work)
        squares(x, i, z, at, size, work)
        _sort(work, at, i, size)
        for s in range(k):
            n_found[i, s], nearest[i, s] = work[s], at[i, s]


# -------------------------------------------------------------------------------------------------
# Distances of pairs of sparse rows.


@compiled
def pair_squares(pairs, row_starts, columns, values, starts, others, entries, out):
    """out[p] = ‖x − z‖² of the row pairs[0, p] and the point pairs[1, p], both compressed by rows.

    Columns of a row ascend, each once.
    """
    for p in range(pairs.shape[1]):
        a, last = row_starts[pairs[0, p]], row_starts[pairs[0, p] + 1]
        b, end = starts[pairs[1, p]], starts[pairs[1, p] + 1]
        total = 0.0
        while a < last or b < end:
            if b == end or (a < last and columns[a] < others[b]):
                v = values[a]
                a += 1
            elif a == last or others[b] < columns[a]:
                v = entries[b]
                b += 1
            else:
                v = values[a] - entries[b]
                a += 1
                b += 1
            total += v * v
        out[p] = total
