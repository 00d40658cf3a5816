"""The loops of K-means, of hierarchies and of medoids, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from separatrix.arrays import NDArray
from separatrix.compilation import compiled
from separatrix.distances.loops import (
    INT,
    SINGLE,
    WHOLE,
    first_least,
    larger,
    rounded_down,
    rounded_up,
    single_root,
    smaller,
    squares_to_points,
    to_box,
    to_points,
)

# -------------------------------------------------------------------------------------------------
# One Lloyd iteration with bounds: rows that cannot change their center are skipped.
#
# For a row x with center a there is an upper bound u ≥ ‖x − c_a‖ and, for every group of centers, a
# lower bound l of the distance to any other center of the group. A center that moves by δ moves its
# bounds by δ, so while u < l the row keeps its center. Movements are summed once per center
# (``drift``) and once per group (``group_drift``), and bounds are stored relative to those sums: a
# row that is skipped costs one comparison and no write (Yinyang K-means, Ding et al. 2015).
#
# Distances are computed in single precision, sixteen centers at a time, as ½‖c‖² − x·c. Bounds
# include the rounding error; where it exceeds the difference of the two nearest centers, the row is
# assigned in double precision, from differences (the first of equally near centers).


Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]


class Centers(NamedTuple):
    """The centers, laid out for the search: lane t·16 + j is column j of tile t."""

    exact: Floats  # k x d
    group_of: Ints  # k
    single: Singles  # k x (d + 1): last, ½‖c‖²
    tiles: Singles  # tiles x (d + 1) x 16: last, ½‖c‖², infinite where a lane is empty
    lane_of: Ints  # k
    center_of: Ints  # lanes
    drift: Floats  # k: total distance that each center has moved
    group_drift: Floats  # groups + 1: sums of the largest step in each group; last, in all
    max_square: float  # largest ‖c‖²


class KMeansRows(NamedTuple):
    """The rows in double and single precision, their squared norms and weights."""

    exact: Floats
    single: Singles
    square: Singles
    weight: Floats


class KMeansState(NamedTuple):
    """Labels and bounds of the rows; bounds are relative to the drift of the centers."""

    label: NDArray[np.int32]
    upper: Singles
    lower: Singles  # n x groups
    lowest: Singles


#: Rows whose bounds are looked at together.
BATCH = 1024

# Helpers are inlined and take whole arrays with an index: a view of a row would count references,
# and threads would wait for each other's counts.


@compiled(inline="always")
def _search(x, i, u, start_center, tiles, skip, lower, group_drift, least):
    """Compare row i with the centers of every group whose bound is at most u.

    ``own`` is the value of its own center, in lane ``skip``. ``least`` becomes the smallest other
    value of every group, without the smallest of all (−∞ where a group is left out). Returns the
    smallest value, its lane (``skip`` for its own center) and the second smallest.
    """
    groups = group_drift.size - 1
    per_group = tiles.shape[0] // groups
    value, second, lane, best, runner_up = start_center, np.float32(np.inf), skip, -1, start_center
    for g in range(groups):
        least[g] = -np.inf
        if lower[i, g] - group_drift[g] > u:
            continue
        low, where, high = two_least(x, i, tiles, g * per_group, skip)
        for t in range(g * per_group + 1, (g + 1) * per_group):
            first, at, after = two_least(x, i, tiles, t, skip)
            high = smaller(smaller(high, after), larger(low, first))
            where = at if first < low else where
            low = smaller(low, first)
        least[g] = low
        second = smaller(second, larger(value, low))
        if low < value:
            second, value, lane, best, runner_up = smaller(second, high), low, where, g, high
    if best >= 0:
        least[best] = runner_up
    return value, lane, second


@compiled(inline="always")
def _move_row(x, weight, label, i, b, piece, sums):
    """Relabel a row and move it from the sums of its cluster to those of cluster b."""
    a, w, d = label[i], weight[i], x.shape[1]
    label[i] = b
    for f in range(d):
        step = w * x[i, f]
        sums[piece, a, f] -= step
        sums[piece, b, f] += step
    sums[piece, a, d] -= w
    sums[piece, b, d] += w
    sums[piece, a, d + 1] -= 1.0
    sums[piece, b, d + 1] += 1.0


@compiled(fastmath={"contract", "nsz"})
def assign_pieces(
    counter, cuts, rounding, max_square, exact, x, square, weight, label, upper, lower, lowest,
    single, tiles, lane_of, center_of, drift, group_drift, sums, moved, chosen, start_center, least,
):  # fmt: skip
    """Move rows to their nearest centers, piece by piece until ``counter`` is past the last.

    Piece p has the rows ``cuts[p]:cuts[p + 1]``; ``sums[p]`` (k x (d + 2)) is changed by its rows
    that moved: their sums, weights and number in each cluster. ``moved[p, 0]`` is their number, and
    ``moved[p, 1]`` that of rows which single precision does not decide: their upper bound becomes
    infinite. The last three are work space: ``BATCH`` + 1 numbers twice, and one for each group.
    """
    groups, d, piece = group_drift.size - 1, x.shape[1], next_piece(counter)
    above = 1.0 + 2e-7  # roots in single precision are off by less than this
    below = 1.0 - 2e-7
    while piece < moved.shape[0]:
        for first in range(cuts[piece], cuts[piece + 1], BATCH):
            # every row is written and only undecided ones are passed: no branch to mispredict
            n_found, undecided = 0, 0
            for i in range(first, smaller(first + BATCH, cuts[piece + 1])):
                chosen[n_found] = i
                n_found += upper[i] + drift[label[i]] >= lowest[i] - group_drift[groups]
            for c in range(n_found):
                i = chosen[c]
                a, norm = label[i], square[i]
                value = single[a, d] - row_product(x, i, single, a)
                u = single_root(2.0 * value + norm + rounding * (norm + max_square)) * above
                upper[i] = rounded_up(u - drift[a])
                chosen[undecided], start_center[undecided] = i, value
                undecided += u >= lowest[i] - group_drift[groups]
            for c in range(undecided):
                i = chosen[c]
                a, norm = label[i], square[i]
                error = rounding * (norm + max_square)
                u = upper[i] + drift[a]
                value, lane, second = _search(
                    x, i, u, start_center[c], tiles, lane_of[a], lower, group_drift, least
                )
                if second - value <= error:
                    upper[i] = np.inf
                    moved[piece, 1] += 1
                    continue
                near = np.inf
                for g in range(groups):
                    if least[g] > -np.inf:
                        bound = single_root(2.0 * least[g] + norm - error) * below
                        lower[i, g] = rounded_down(bound + group_drift[g])
                    near = smaller(near, lower[i, g] - group_drift[g])
                if lane != lane_of[a]:
                    g, b = lane_of[a] * groups // center_of.size, center_of[lane]
                    bound = single_root(2.0 * start_center[c] + norm - error) * below
                    lower[i, g] = smaller(lower[i, g], rounded_down(bound + group_drift[g]))
                    near = smaller(near, bound)
                    u = single_root(2.0 * value + norm + error) * above
                    upper[i] = rounded_up(u - drift[b])
                    _move_row(exact, weight, label, i, b, piece, sums)
                    moved[piece, 0] += 1
                lowest[i] = rounded_down(near + group_drift[groups])
        piece = next_piece(counter)


# -------------------------------------------------------------------------------------------------
# Pieces of work that loops on several threads take in turn, without a lock or the interpreter.


@intrinsic
def next_piece(typing_context, counter):  # noqa: ARG001
    """The number in ``counter`` (int64, one element), which is one more for the next thread."""

    def codegen(context, builder, signature, arguments):
        (kind,) = signature.args
        address = context.make_array(kind)(context, builder, arguments[0]).data
        return builder.atomic_rmw("add", address, ir.IntType(64)(1), "monotonic")

    return types.int64(counter), codegen


# -------------------------------------------------------------------------------------------------
# Products of one row with a tile of sixteen columns, in vector registers.
#
#     values = tiles[tile, d, :] − Σ_f x[row, f] · tiles[tile, f, :]
#
# The compiler's own vectorization stores and reloads every partial sum, because it cannot know that
# arrays do not overlap. Here the sums are a vector value from the first feature to the last.


#: Width of a tile, and number of independent partial sums.
LANES, CHAINS = 16, 4

_VECTOR, _INDEX = ir.VectorType(SINGLE, LANES), ir.VectorType(INT, LANES)
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
        zero = WHOLE(0)
        x_at, shape = _address(context, builder, x_kind, x_value, row, zero)
        tile_at, _ = _address(context, builder, tiles_kind, tiles_value, tile, zero, zero)
        start_at, _ = _address(context, builder, tiles_kind, tiles_value, tile, shape[1], zero)
        values = _product(builder, x_at, shape[1], start_at, tile_at)
        first = builder.mul(tile, WHOLE(LANES))
        values = _without(builder, values, builder.trunc(builder.sub(skip, first), INT))
        least = _least(builder, values)
        equal = builder.fcmp_ordered("==", values, _spread(builder, least, _VECTOR))
        mask = builder.bitcast(equal, ir.IntType(LANES))
        lane = builder.cttz(builder.zext(mask, INT), ir.IntType(1)(1))
        after = _least(builder, _without(builder, values, lane))
        where = builder.add(first, builder.zext(lane, WHOLE))
        return context.make_tuple(builder, signature.return_type, [least, where, after])

    return signature, codegen


@intrinsic
def row_product(typing_context, x, row, y, other):  # noqa: ARG001
    """x[row] · y[other] of C-contiguous float32 arrays, sixteen partial sums at a time."""
    signature = types.float32(x, types.int64, y, types.int64)

    def codegen(context, builder, signature, arguments):
        x_kind, _, y_kind, _ = signature.args
        x_value, row, y_value, other = arguments
        x_at, shape = _address(context, builder, x_kind, x_value, row, WHOLE(0))
        y_at, _ = _address(context, builder, y_kind, y_value, other, WHOLE(0))
        lanes, rest = cgutils.alloca_once(builder, _VECTOR), cgutils.alloca_once(builder, SINGLE)
        builder.store(ir.Constant(_VECTOR, [0.0] * LANES), lanes)
        builder.store(SINGLE(0.0), rest)

        def add(load, at, total):
            product = builder.fmul(
                load(builder.gep(x_at, [at])), load(builder.gep(y_at, [at])), flags=_FLAGS
            )
            builder.store(builder.fadd(builder.load(total), product, flags=_FLAGS), total)

        rounds = builder.udiv(shape[1], WHOLE(LANES))
        n_lanes = builder.mul(rounds, WHOLE(LANES))
        with cgutils.for_range(builder, rounds) as loop:
            add(lambda at: _load(builder, at), builder.mul(loop.index, WHOLE(LANES)), lanes)
        with cgutils.for_range(builder, builder.sub(shape[1], n_lanes)) as loop:
            add(builder.load, builder.add(n_lanes, loop.index), rest)
        name = f"llvm.vector.reduce.fadd.v{LANES}f32"
        kind = ir.FunctionType(SINGLE, [SINGLE, _VECTOR])
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
        column = _load(builder, builder.gep(tile_at, [builder.mul(feature, WHOLE(LANES))]))
        product = builder.fmul(_spread(builder, number, _VECTOR), column, flags=_FLAGS)
        builder.store(builder.fsub(builder.load(total), product, flags=_FLAGS), total)

    rounds = builder.udiv(width, WHOLE(CHAINS))
    n_chained = builder.mul(rounds, WHOLE(CHAINS))
    with cgutils.for_range(builder, rounds) as loop:
        first = builder.mul(loop.index, WHOLE(CHAINS))
        for chain, total in enumerate(totals):
            subtract(builder.add(first, WHOLE(chain)), total)
    with cgutils.for_range(builder, builder.sub(width, n_chained)) as loop:
        subtract(builder.add(n_chained, loop.index), totals[0])
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
    unit = builder.insert_element(empty, number, INT(0))
    return builder.shuffle_vector(unit, empty, ir.Constant(_INDEX, [0] * LANES))


def _without(builder, values, lane):
    """The values with infinity in one lane; a lane out of range changes nothing."""
    numbers = ir.Constant(_INDEX, list(range(LANES)))
    there = builder.icmp_signed("==", numbers, _spread(builder, lane, _INDEX))
    infinite = ir.Constant(_VECTOR, [float("inf")] * LANES)
    return builder.select(there, infinite, values)


def _least(builder, values):
    name = f"llvm.vector.reduce.fmin.v{LANES}f32"
    kind = ir.FunctionType(SINGLE, [_VECTOR])
    function = cgutils.get_or_insert_function(builder.module, kind, name)
    return builder.call(function, [values], fastmath=_FLAGS)


# -------------------------------------------------------------------------------------------------
# Passes over rows in clusters: centering, and the gain of moving a row.


@compiled
def center_rows(
    x, mean, unit, label, upper, lowest, drift, total_drift, exact, single, square
):  # fmt: skip
    """(x − mean)/unit in double and in single precision, and its squared norm.

    Rows whose bounds (see :mod:`separatrix.cluster.loops`) keep their center are left out.
    """
    inverse = 1.0 / unit  # a power of two
    for i in range(x.shape[0]):
        if not upper[i] + drift[label[i]] >= lowest[i] - total_drift:
            continue
        for f in range(x.shape[1]):
            exact[i, f] = (x[i, f] - mean[f]) * inverse
        total = 0.0
        for f in range(x.shape[1]):
            single[i, f] = exact[i, f]
            total += exact[i, f] * exact[i, f]
        square[i] = total


@compiled
def nearest_and_gain(product, square, norms, cluster_weight, weight, label, nearest, margin, gain):
    """Nearest center of every row, from the products x·c, and the gain of moving it to another.

    Moving a row of weight w from cluster a to b, with both means updated, lowers the inertia by

        w · (mₐ/(mₐ − w) ‖x − cₐ‖² − m_b/(m_b + w) ‖x − c_b‖²)

    ``gain`` is the largest of these over b, 0 for a row alone in its cluster. ``margin`` is by how
    much the second nearest squared distance is larger. Cluster weights m that are not known are
    infinite.
    """
    for i in range(product.shape[0]):
        best, value, second = 0, np.inf, np.inf
        for j in range(norms.size):
            v = norms[j] - 2.0 * product[i, j]
            second = smaller(second, larger(value, v))
            if v < value:
                best, value = j, v
        w, other = weight[i], np.inf
        margin[i] = second - value
        for j in range(norms.size):
            v = (norms[j] - 2.0 * product[i, j] + square[i]) * (
                cluster_weight[j] / (cluster_weight[j] + w)
            )
            if v < other and j != best:
                other = v
        label[i], nearest[i] = best, larger(value + square[i], 0.0)
        rest = cluster_weight[best] - w
        gain[i] = w * (cluster_weight[best] / rest * nearest[i] - other) if rest > 0.5 * w else 0.0


# -------------------------------------------------------------------------------------------------
# Candidates of k-means++ compared over all rows, which lie in tiles of 512 by column.


#: Rows in a tile: their distances stay in first-level cache.
TILE = 512


@compiled(fastmath={"contract", "nsz", "reassoc"})
def compare_candidates(tiles, weight, points, first, last, nearest, closer, left):
    """Losses of the tiles ``first:last`` that each of the ``points`` would leave as a center.

    ``tiles`` is t x d x 512, ``weight`` and ``nearest`` (the squared distances so far) t x 512;
    ``closer`` (points x t x 512) becomes the squared distances with each, ``left`` their sum.
    Distances are from differences, so that equal rows are at 0 exactly.
    """
    for c in range(points.shape[0]):
        left[c] = 0.0
    for t in range(first, last):
        for c in range(points.shape[0]):
            for i in range(TILE):
                closer[c, t, i] = 0.0
            for f in range(points.shape[1]):
                value = points[c, f]
                for i in range(TILE):
                    step = tiles[t, f, i] - value
                    closer[c, t, i] += step * step
            total = 0.0
            for i in range(TILE):
                near = smaller(closer[c, t, i], nearest[t, i])
                closer[c, t, i] = near
                total += weight[t, i] * near
            left[c] += total


# -------------------------------------------------------------------------------------------------
# K-means of tables that fit into the cache: plain distances, vectorized over the rows.
#
# Bounds that skip rows cost more than they save there. Distances are sums of squared differences in
# double precision, so that equal rows are at distance 0 exactly.
#
# Loops are written out: an assignment of one array to another, a search in a sorted array, or a
# function compiled by itself each take longer to compile than a whole loop here.


@compiled(inline="always")
def squares_to(columns, points, p, start, stop, out):
    """out[i] = ‖x − points[p]‖² of the rows ``start:stop``; ``columns`` is d x n."""
    for i in range(stop - start):
        out[i] = 0.0
    for f in range(columns.shape[0]):
        value, column = points[p, f], columns[f, start:stop]
        for i in range(stop - start):
            step = column[i] - value
            out[i] += step * step


@compiled(fastmath={"contract", "nsz"})
def pair_distances(rows, columns, out):
    """out[i, j] = ‖xᵢ − xⱼ‖; symmetric, with a diagonal of zeros."""
    n = rows.shape[0]
    for i in range(n):
        for start in range(0, n, TILE):
            stop = start + TILE if start + TILE < n else n
            squares_to(columns, rows, i, start, stop, out[i, start:stop])
        for j in range(n):
            out[i, j] = np.sqrt(out[i, j])


@compiled(fastmath={"contract", "nsz"})
def plusplus(rows, columns, weight, trials, u, chosen, squares):
    """Indices of k-means++ centers by the uniform numbers ``u``, ``trials`` for each but the first.

    A candidate is the row at which the cumulative loss w ‖x − c‖² passes the fraction u of its
    total, and never one of loss zero: rounding may leave the end of the sum below its total. Of the
    candidates the one that leaves the least inertia is taken. When every row equals a center
    already, centers repeat rows. ``squares`` (3 x n) is overwritten.
    """
    n, used = rows.shape[0], 0
    nearest, closer, best = squares[0], squares[1], squares[2]
    for i in range(n):
        nearest[i] = 1.0  # the first center is drawn by weight alone
    for j in range(chosen.size):
        total = 0.0
        for i in range(n):
            total += weight[i] * nearest[i]
        least = np.inf
        tried = trials if j > 0 else 1
        for t in range(used, used + tried):
            passed, candidate = 0.0, 0
            for i in range(n):
                loss = weight[i] * nearest[i]
                passed += loss
                if loss > 0.0:
                    candidate = i
                    if passed > u[t] * total:
                        break
            squares_to(columns, rows, candidate, 0, n, closer)
            left = 0.0
            for i in range(n):
                if j > 0 and nearest[i] < closer[i]:
                    closer[i] = nearest[i]
                left += weight[i] * closer[i]
            if left < least:
                least, chosen[j] = left, candidate
                closer, best = best, closer
        nearest, best = best, nearest
        used += tried


#: Centers that move by no more than this, relative to the largest, move by rounding alone.
UNMOVED = 1e-14


@compiled(fastmath={"contract", "nsz"})
def lloyd(
    rows, columns, weight, centers, max_iter, label, cluster_weight, sums, count, least,
    new, near, acc,
):  # fmt: skip
    """Lloyd iterations, up to an empty cluster; how many, and how many rows the last one moved.

    Every row moves to its nearest center, the first of equally near ones, and centers to the means
    of their rows, but for the last time; where no center moves, no row will. ``centers`` (k x d),
    ``label``, ``cluster_weight``, the ``sums`` (k x d) and ``count`` of the clusters and the
    ``least`` squares of the rows are overwritten; the last three arrays are work space of ``TILE``
    numbers.
    """
    n, d, iterations = rows.shape[0], rows.shape[1], 0
    while True:
        moved, empty = 0, 0
        for a in range(count.size):
            cluster_weight[a], count[a] = 0.0, 0
            for f in range(d):
                sums[a, f] = 0.0
        for start in range(0, n, TILE):
            stop = start + TILE if start + TILE < n else n
            for i in range(stop - start):
                near[i] = np.inf
            for c in range(centers.shape[0]):
                squares_to(columns, centers, c, start, stop, acc)
                for i in range(stop - start):
                    better = acc[i] < near[i]
                    near[i] = acc[i] if better else near[i]
                    new[i] = c if better else new[i]
            for i in range(start, stop):
                moved += label[i] != new[i - start]
                label[i], least[i] = new[i - start], near[i - start]
        for i in range(n):
            a, w = label[i], weight[i]
            cluster_weight[a] += w
            count[a] += 1
            for f in range(d):
                sums[a, f] += w * rows[i, f]
        for a in range(count.size):
            empty += count[a] == 0
        if iterations == max_iter or moved == 0 or empty > 0:
            return iterations, moved
        step, largest = 0.0, 0.0
        for a in range(count.size):
            for f in range(d):
                mean = sums[a, f] / cluster_weight[a]
                step = max(step, abs(mean - centers[a, f]))
                largest = max(largest, abs(mean))
                centers[a, f] = mean
        if step <= UNMOVED * largest:  # all rows would stay, too
            return iterations, 0
        iterations += 1


# -------------------------------------------------------------------------------------------------
# Sums of Euclidean distances from rows to whole clusters, without a matrix of distances.


@compiled(fastmath={"contract", "nsz", "reassoc", "nnan"})
def _sum_columns(columns, i, a, m, acc):
    """Σ ‖xᵢ − z‖ over the m points from a on, four features a time."""
    for j in range(m):
        acc[j] = np.float32(0.0)
    for f in range(0, columns.shape[0], 4):
        q, r, s, t = columns[f, i], columns[f + 1, i], columns[f + 2, i], columns[f + 3, i]
        # views start at zero: an index that might be negative is not vectorized
        first, two = columns[f, a : a + m], columns[f + 1, a : a + m]
        three, four = columns[f + 2, a : a + m], columns[f + 3, a : a + m]
        for j in range(m):
            u, v, w, z = q - first[j], r - two[j], s - three[j], t - four[j]
            acc[j] += (u * u + v * v) + (w * w + z * z)
    total = np.float32(0.0)
    for j in range(m):
        total += np.sqrt(acc[j])
    return total


@compiled
def distance_sums(columns, ends, start, stop, sums):
    """sums[i, j] = Σ ‖xᵢ − z‖ over the points z of cluster j, for the points i = ``start:stop``.

    ``columns`` (d x n, float32, d a multiple of 4) is the points by column, those of a cluster
    together, cluster j at ``ends[j]:ends[j + 1]``. Differences are squared as they are, so near
    points keep their digits; tiles are summed in double precision.
    """
    acc = np.empty(TILE, dtype=np.float32)
    for i in range(start, stop):
        for j in range(ends.size - 1):
            total = 0.0
            for a in range(ends[j], ends[j + 1], TILE):
                m = ends[j + 1] - a
                total += _sum_columns(columns, i, a, m if m < TILE else TILE, acc)
            sums[i, j] = total


# -------------------------------------------------------------------------------------------------
# Compressed rows: one Lloyd iteration with two bounds a row, and sums of clusters.


@compiled
def assign_compressed(
    pointers, columns, values, first, square, centers, norms, rounding, label, upper, lower, changed
):
    """Assign the rows from ``first`` on whose bounds do not exclude it; how many moved.

    ``centers`` (d x k) hold a center in each column, ``norms`` their ‖c‖²; ``changed`` becomes true
    of clusters that a row joins or leaves. Squared distances have an error of ``rounding``,
    relative to the squared norms.
    """
    k, moved, largest = norms.size, 0, norms.max()
    products = np.empty(k)
    for i in range(label.size):
        if upper[i] < lower[i]:
            continue
        products[:] = 0.0
        for s in range(pointers[first + i], pointers[first + i + 1]):
            v, f = values[s], columns[s]
            for j in range(k):
                products[j] += v * centers[f, j]
        best, near, other = 0, np.inf, np.inf
        for j in range(k):
            distance = max(square[i] + norms[j] - 2.0 * products[j], 0.0)
            if distance < near:
                best, near, other = j, distance, near
            elif distance < other:
                other = distance
        error = rounding * (square[i] + largest)
        upper[i] = np.sqrt(near + error)
        lower[i] = np.sqrt(max(other - error, 0.0))
        if label[i] != best:
            moved += 1
            changed[best] = True
            if label[i] >= 0:
                changed[label[i]] = True
            label[i] = best
    return moved


@compiled
def sum_compressed(pointers, columns, values, weight, rows, out):
    """out = Σ w x over some compressed rows."""
    out[:] = 0.0
    for i in rows:
        for s in range(pointers[i], pointers[i + 1]):
            out[columns[s]] += weight[i] * values[s]


@compiled
def square_compressed(pointers, values, out):
    """out[i] = ‖x‖² of every compressed row."""
    for i in range(out.size):
        total = 0.0
        for s in range(pointers[i], pointers[i + 1]):
            total += values[s] * values[s]
        out[i] = total


# -------------------------------------------------------------------------------------------------
# Loops of agglomerative clustering: the next two clusters to merge, and their distance.
#
# Clusters occupy slots 0 … n − 1: the union of slots a and b stays in one of them and the other is
# empty. Merges come out as (slot, slot, distance) and are sorted and numbered afterwards.


COMPLETE, AVERAGE, WEIGHTED, WARD = 0, 1, 2, 3
# An integer of NumPy: a number in the source would compile variants of its own of what is called.
FIRST = np.int64(0)
#: Slots up to which those that are empty stay where they are.
FEW_SLOTS = 256


@compiled(inline="always")
def _merge_distances(a, b, c, to_a, to_b, apart, kind):
    """The distance of the union of a and b to c, from theirs to c; all three sizes are given.

    Of Ward linkage that is the increase of the scatter, which is not less than the smaller of
    the two where a and b are nearest to each other: rounding must not make it so. It alone needs
    how far ``apart`` a and b are.
    """
    if kind == COMPLETE:
        return larger(to_a, to_b)
    if kind == WARD:
        increase = ((a + c) * to_a + (b + c) * to_b - c * apart) / (a + b + c)
        return larger(increase, smaller(to_a, to_b))
    weight = 0.5 if kind == WEIGHTED else a / (a + b)
    return weight * to_a + (1.0 - weight) * to_b


@compiled
def distances_of_pairs(rows, others, pairs, start, first, second, size, kind, out):
    """Rows of distances to points become rows of distances to pairs first[k], second[k] of points.

    Row pairs[r] is itself that of a pair, whose second point has the distances others[r]; ``start``
    is the number of the first row, ``size`` has the weights of all points. Not for Ward linkage.
    """
    for r in range(pairs.size):
        row, pair = rows[pairs[r]], start + pairs[r]
        a, b = size[first[pair]], size[second[pair]]
        for i in range(row.size):
            row[i] = _merge_distances(a, b, 0.0, row[i], others[r, i], 0.0, kind)
    for i in range(out.shape[0]):
        for k in range(first.size):
            a, b = size[first[k]], size[second[k]]
            out[i, k] = _merge_distances(
                a, b, 0.0, rows[i, first[k]], rows[i, second[k]], 0.0, kind
            )


@compiled
def merge_slots(
    d, row_of, remaining, pair_of, first, second, size, apart, kind, start, stop, nearest, distance
):  # fmt: skip
    """Merge the slots first[p] and second[p] and leave out those that are not ``remaining``.

    Row ``row_of[i]`` of ``d`` has the distances of slot i to all; of the slots remaining[s] with
    s = start … stop it gets those of the unions to all that remain, in their order. ``pair_of`` is
    the pair of a slot, or −1, and ``apart`` the distance of the two. Of equally near slots the
    first is the nearest, so that some pair is always reciprocal.
    """
    for s in range(start, stop):
        row, pair, n = row_of[remaining[s]], pair_of[remaining[s]], size[remaining[s]]
        if pair >= 0:
            other, a, b, between = row_of[second[pair]], n, size[second[pair]], apart[pair]
            n = a + b
            for i in range(pair_of.size):
                d[row, i] = _merge_distances(a, b, size[i], d[row, i], d[other, i], between, kind)
        for p in range(first.size):
            i, k = first[p], second[p]
            d[row, i] = _merge_distances(size[i], size[k], n, d[row, i], d[row, k], apart[p], kind)
        d[row, remaining[s]] = np.inf
        at, least = -1, np.inf
        for t in range(remaining.size):
            value = d[row, remaining[t]]
            d[row, t] = value
            if value < least:
                at, least = t, value
        nearest[s], distance[s] = at, least


@compiled(fastmath={"contract", "nsz"})
def ward_nearest(tiles, size, slots, start, stop, squares, nearest, increase):
    """The nearest cluster of each of ``slots[start:stop]``; of equally near ones, the first.

    Merging a and b raises the scatter within clusters by |a||b|/(|a|+|b|) ‖μ_a − μ_b‖², and
    ``increase`` becomes the least of these. ``tiles`` (t x d x 512, d even) are the means by
    column, infinite in slots that are empty, ``size`` (t x 512) their sizes; ``squares`` (512) is
    work space.
    """
    for c in range(start, stop):
        slot = slots[c]
        tile, lane = slot // TILE, slot % TILE
        at, least = -1, np.inf
        for t in range(tiles.shape[0]):
            for i in range(TILE):
                squares[i] = 0.0
            for f in range(0, tiles.shape[1], 2):
                value, two = tiles[tile, f, lane], tiles[tile, f + 1, lane]
                for i in range(TILE):
                    u, v = tiles[t, f, i] - value, tiles[t, f + 1, i] - two
                    squares[i] += u * u + v * v
            low = np.inf
            for i in range(TILE):
                squares[i] *= size[tile, lane] * size[t, i] / (size[tile, lane] + size[t, i])
            if t == tile:
                squares[lane] = np.inf
            for i in range(TILE):
                low = smaller(low, squares[i])
            if low < least:
                at, least = 0, low
                while squares[at] > low:
                    at += 1
                at += t * TILE
        nearest[slot], increase[slot] = at, least


@compiled
def nearest_neighbor_chain(d, size, kind, chain, merged, row, first, second, height):
    """Nearest-neighbor chains over a matrix of distances, which is overwritten.

    Each cluster of a chain is the nearest of the one before it. Distances along the chain decrease,
    so that it ends in two clusters that are each other's nearest, and these merge. There is room
    for a ``chain`` and a ``row`` of distances; nothing is ``merged`` at first. Returns whether all
    merged: a chain that does not end (of distances that are not symmetric, say) ends the loop.
    """
    n, length = d.shape[0], 0
    for i in range(n):
        d[i, i] = np.inf
    for merge in range(n - 1):
        if length == 0:
            chain[0] = 0
            while merged[chain[0]]:
                chain[0] += 1
            length = 1
        while True:
            tip = chain[length - 1]
            nearest = first_least(d[tip], FIRST, n)
            distance = d[tip, nearest]
            if length > 1 and d[tip, chain[length - 2]] <= distance:
                break
            if length == n:
                return False
            chain[length] = nearest
            length += 1
        other = chain[length - 2]
        length -= 2
        first[merge], second[merge], height[merge] = tip, other, distance
        a, b = size[tip], size[other]
        for s in range(n):
            row[s] = _merge_distances(a, b, size[s], d[tip, s], d[other, s], distance, kind)
        row[other] = row[tip] = np.inf
        size[other] += size[tip]
        merged[tip] = True
        for s in range(n):
            d[other, s] = d[s, other] = row[s]
            d[s, tip] = np.inf
    return True


@compiled
def nearest_later(columns, start, stop, point, near, nearest, square):
    """For the slots start … stop: the nearest slot with a larger number, and its square.

    There is room for a ``point`` and for distances ``near`` of all slots.
    """
    d, n = columns.shape
    for i in range(start, stop if stop < n else n - 1):
        for j in range(d):
            point[j] = columns[j, i]
        squares_to_points(point, columns, i + 1, n, near)
        k = first_least(near, FIRST, n - i - 1)
        square[i], nearest[i] = near[k], i + 1 + k


@compiled
def centroid_linkage(
    columns, size, name, nearest, square, exact, median, point, near, merge, first, second, height
):  # fmt: skip
    """Centroid linkage: merge the two closest centroids, from number ``merge`` on; its next one.

    For ``median`` linkage both clusters count alike, whatever their size. Ends early when many of
    more than ``FEW_SLOTS`` slots are empty. ``columns`` (d x slots) is overwritten.

    Every slot has its nearest among the later slots, or (not ``exact``) a lower bound of that
    distance: when its nearest has merged, the old distance bounds the new one. Only for the slot
    with the least bound must it be exact. Empty slots lie at infinity.
    """
    d, slots = columns.shape
    while merge < first.size:
        a = first_least(square, FIRST, slots)
        while not exact[a]:
            nearest_later(columns, a, a + 1, point, near, nearest, square)
            exact[a] = True
            a = first_least(square, FIRST, slots)
        b = nearest[a]
        first[merge], second[merge], height[merge] = name[a], name[b], np.sqrt(square[a])
        total = size[a] + size[b]
        for j in range(d):
            point[j] = (size[a] * columns[j, a] + size[b] * columns[j, b]) / total
            columns[j, b] = np.inf
            columns[j, a] = np.inf
        squares_to_points(point, columns, FIRST, slots, near)
        size[b] = 1.0 if median else total
        square[a] = np.inf
        for s in range(b):
            if near[s] < square[s]:
                square[s], nearest[s], exact[s] = near[s], b, True
            elif nearest[s] == a or nearest[s] == b:
                exact[s] = False
        for j in range(d):
            columns[j, b] = point[j]
        square[b], nearest[b], exact[b] = np.inf, -1, True
        if b + 1 < slots:
            nearest[b] = first_least(near, b + 1, slots)
            square[b] = near[nearest[b]]
        merge += 1
        if 4 * (first.size + 1 - merge) < 3 * slots and slots > FEW_SLOTS:
            break
    return merge


@compiled
def ward_chain(columns, size, name, chain, point, near, merge, first, second, height):
    """Ward linkage by nearest-neighbor chains, from number ``merge`` on; the next one.

    Merging a and b raises the scatter within clusters by |a||b|/(|a|+|b|) ‖μ_a − μ_b‖²: the
    ``height``. ``columns`` (d x slots) and ``size`` are overwritten; empty
    slots lie at infinity. Ends early, like :func:`centroid_linkage`. There is room for a ``chain``
    and a ``point`` and for distances ``near`` of all slots. −1 where a chain does not end, as of
    means that are not finite.
    """
    d, slots = columns.shape
    length = 0
    while merge < first.size:
        if length == 0:
            chain[0] = 0
            while chain[0] < slots - 1 and columns[0, chain[0]] == np.inf:
                chain[0] += 1
            length = 1
        while True:
            tip = chain[length - 1]
            for j in range(d):
                point[j] = columns[j, tip]
                columns[j, tip] = np.inf
            squares_to_points(point, columns, FIRST, slots, near)
            for j in range(d):
                columns[j, tip] = point[j]
            for s in range(slots):
                near[s] *= size[tip] * size[s] / (size[tip] + size[s])
            nearest = first_least(near, FIRST, slots)
            closest = near[nearest]
            if length > 1 and near[chain[length - 2]] <= closest:
                other = chain[length - 2]
                break
            if length == slots:
                return -1
            chain[length] = nearest
            length += 1
        length -= 2
        first[merge], second[merge], height[merge] = name[tip], name[other], closest
        total = size[tip] + size[other]
        for j in range(d):
            mean = (size[tip] * columns[j, tip] + size[other] * columns[j, other]) / total
            columns[j, other], columns[j, tip] = mean, np.inf
        size[other] = total
        merge += 1
        if length == 0 and 4 * (first.size + 1 - merge) < 3 * slots and slots > FEW_SLOTS:
            break
    return merge


@compiled
def scipy_linkage(first, second, parent, label, count, out):
    """Merges in SciPy's form: numbered from n on, with the size of each; ``out`` has the heights.

    ``first`` and ``second`` are any members of the two clusters, in the order of merging; the next
    three arrays are 0 … n − 1, the same, and ones, and are overwritten.
    """
    for step in range(first.size):
        a, b = find_root(parent, first[step]), find_root(parent, second[step])
        out[step, 0] = smaller(label[a], label[b])
        out[step, 1] = larger(label[a], label[b])
        parent[a] = b
        count[b] += count[a]
        label[b] = parent.size + step
        out[step, 3] = count[b]


@compiled
def find_root(parent, i):
    """The root of the tree of i in a union-find forest, with path halving."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


# -------------------------------------------------------------------------------------------------
# Minimum spanning trees: Borůvka with a k-d tree, and Prim.


@compiled(inline="always")
def _shorter(d, i, j, e, k, m):
    """Whether edge (i, j) of length d precedes (k, m) of length e: ties are broken by index."""
    low, high = (i, j) if i < j else (j, i)
    other, top = (k, m) if k < m else (m, k)
    return d < e or (d == e and (low < other or (low == other and high < top)))


@compiled(inline="always")
def _component_of_nodes(order, starts, component, components):
    """The component that all points of a k-d node belong to, or −1 if they belong to several."""
    nodes = starts.shape[0]
    for node in range(nodes - 1, -1, -1):
        left, right = 2 * node + 1, 2 * node + 2
        if left < nodes:
            same = components[left] == components[right] or starts[right, 0] == starts[right, 1]
            components[node] = components[left] if same else -1
            continue
        components[node] = -1
        a, b = starts[node, 0], starts[node, 1]
        if a < b:
            components[node] = component[order[a]]
            for s in range(a + 1, b):
                if component[order[s]] != components[node]:
                    components[node] = -1
                    break


@compiled
def _nearest_outside(x, i, bound, kd, kind, component, components, near, stack, bounds):
    """The nearest point of another component within ``bound``: (distance, index)."""
    columns, order, starts, low, high = kd
    nodes = starts.shape[0]
    best, at = bound, -1
    mine = component[i]
    top = 1
    stack[0], bounds[0] = 0, 0.0
    while top > 0:
        top -= 1
        node = stack[top]
        if bounds[top] > best or components[node] == mine:
            continue
        left, right = 2 * node + 1, 2 * node + 2
        if left >= nodes:
            a, b = starts[node, 0], starts[node, 1]
            to_points(x, columns, a, b, kind, near)
            for s in range(b - a):
                j = order[a + s]
                if near[s] > best or component[j] == mine:
                    continue
                if at < 0 or _shorter(near[s], i, j, best, i, at):
                    best, at = near[s], j
            continue
        to_left = to_box(x, low[left], high[left], kind)
        to_right = to_box(x, low[right], high[right], kind)
        if to_right < to_left:
            left, right = right, left
            to_left, to_right = to_right, to_left
        if to_right <= best and components[right] != mine:
            stack[top], bounds[top] = right, to_right
            top += 1
        if to_left <= best and components[left] != mine:
            stack[top], bounds[top] = left, to_left
            top += 1
    return best, at


@compiled
def boruvka(z, kd, kind, near_distances, near_indices, first, second, height):
    """Borůvka: every component adds the shortest edge that leaves it, until one is left.

    ``near_distances`` and ``near_indices`` (n x k) are the nearest others of every point, near to
    far: most edges are among them. A point whose nearest all belong to its own component is
    searched in the k-d tree, but only if the last of them is nearer than the shortest edge found.
    """
    n, k = near_distances.shape
    order, starts = kd[1], kd[2]
    largest = 0
    for node in range(starts.shape[0]):
        if 2 * node + 1 >= starts.shape[0]:
            size = starts[node, 1] - starts[node, 0]
            largest = size if size > largest else largest
    near, stack, bounds = np.empty(largest), np.empty(128, dtype=np.int64), np.empty(128)
    parent = np.arange(n)
    component = np.arange(n)
    components = np.empty(starts.shape[0], dtype=np.int64)
    lower_bound = np.zeros(n)  # no point outside the component is nearer
    outside = np.full(n, -1)  # the point found at that distance
    used = np.zeros(n, dtype=np.int64)
    shortest, source, target = np.empty(n), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    n_merged = 0
    while n_merged < n - 1:
        for c in range(n):
            shortest[c], source[c] = np.inf, -1
        for i in range(n):
            c = component[i]
            while used[i] < k and component[near_indices[i, used[i]]] == c:
                used[i] += 1
            if used[i] < k:
                d, j = near_distances[i, used[i]], near_indices[i, used[i]]
            else:
                if near_distances[i, k - 1] > lower_bound[i]:
                    lower_bound[i] = near_distances[i, k - 1]
                if outside[i] < 0 or component[outside[i]] == c:
                    continue
                d, j = lower_bound[i], outside[i]
            if source[c] < 0 or _shorter(d, i, j, shortest[c], source[c], target[c]):
                shortest[c], source[c], target[c] = d, i, j
        _component_of_nodes(order, starts, component, components)
        for s in range(n):
            i = order[s]
            c = component[i]
            if (
                used[i] < k
                or (outside[i] >= 0 and component[outside[i]] != c)
                or lower_bound[i] > shortest[c]
            ):
                continue
            d, j = _nearest_outside(
                z[i], i, shortest[c], kd, kind, component, components, near, stack, bounds
            )
            lower_bound[i] = d if d > lower_bound[i] else lower_bound[i]
            if j >= 0:
                outside[i] = j
                if source[c] < 0 or _shorter(d, i, j, shortest[c], source[c], target[c]):
                    shortest[c], source[c], target[c] = d, i, j
        n_merged = _merge_components(
            source, target, shortest, parent, component, first, second, height, n_merged
        )


@compiled(inline="always")
def _merge_components(source, target, shortest, parent, component, first, second, height, n_merged):
    """Add the shortest edge of every component and relabel; returns the number of edges so far."""
    for c in range(source.size):
        if source[c] >= 0:
            a, b = find_root(parent, source[c]), find_root(parent, target[c])
            if a != b:
                first[n_merged], second[n_merged], height[n_merged] = (
                    source[c],
                    target[c],
                    shortest[c],
                )
                parent[a if a > b else b] = b if a > b else a
                n_merged += 1
    for i in range(source.size):
        component[i] = find_root(parent, i)
    return n_merged


@compiled
def prim(columns, name, square, nearest, point, near, first, second, height):
    """Prim: one tree adds the nearest point outside it, by squared Euclidean distance.

    ``columns`` (d x n) and ``name`` (0 … n − 1) are overwritten: points of the tree are removed
    from the arrays. ``square`` is infinite; there is room for the ``nearest`` of each point in the
    tree, for a ``point``, and for distances ``near`` of all points.
    """
    d, n = columns.shape
    for j in range(d):
        point[j] = columns[j, n - 1]
    here, left = n - 1, n - 1
    for step in range(n - 1):
        least, at = np.inf, 0
        squares_to_points(point, columns, FIRST, left, near)
        for s in range(left):
            value = square[s]
            if near[s] < value:
                value = near[s]
                square[s], nearest[s] = value, here
            if value < least:
                least, at = value, s
        first[step], second[step], height[step] = nearest[at], name[at], least
        here = name[at]
        left -= 1
        for j in range(d):
            point[j] = columns[j, at]
            columns[j, at] = columns[j, left]
        name[at], square[at], nearest[at] = name[left], square[left], nearest[left]


# -------------------------------------------------------------------------------------------------
# Passes over a tree of merges. Merge s makes node n + s of the nodes left[s] and right[s].


@compiled
def subtree_heights(left, right, height, out):
    """The largest height of all merges in the subtree of every merge, its own included."""
    n = left.size + 1
    for s in range(n - 1):
        highest = height[s]
        for side in range(2):
            child = left[s] if side == 0 else right[s]
            if child >= n and out[child - n] > highest:
                highest = out[child - n]
        out[s] = highest


# -------------------------------------------------------------------------------------------------
# Swaps of PAM: the change of the loss by replacing a medoid by another row.
#
# With the distances of every row to its nearest and second nearest medoid, replacing medoid m by
# row c changes the loss by
#
#     common(c) + removal(m) + Σ over rows of m of what c makes up for
#
# so that one pass over the distances d(c, ·) gives the changes for all k medoids at once (Schubert
# and Rousseeuw 2021, FasterPAM).


@compiled
def two_nearest(distance, medoids, near, next_near, first, second, start, stop):
    """Nearest and second nearest medoid of the rows ``start:stop``, as positions in ``medoids``."""
    for i in range(start, stop):
        a, b = -1, -1
        nearest, two = np.inf, np.inf
        for m in range(medoids.size):
            d = np.float64(distance[medoids[m], i])
            if d < nearest:
                b, two = a, nearest
                a, nearest = m, d
            elif d < two:
                b, two = m, d
        near[i], next_near[i], first[i], second[i] = a, b, nearest, two


@compiled
def update_after_swap(distance, medoids, m, near, next_near, first, second):
    """Update the two nearest medoids after medoid m was replaced.

    Only rows that had m among their two need :func:`two_nearest`; for the others the new medoid is
    compared with those two.
    """
    row = distance[medoids[m]]
    for i in range(near.size):
        if near[i] == m or next_near[i] == m:
            two_nearest(distance, medoids, near, next_near, first, second, i, i + 1)
            continue
        d = np.float64(row[i])
        if d < first[i] or (d == first[i] and m < near[i]):
            next_near[i], second[i] = near[i], first[i]
            near[i], first[i] = m, d
        elif d < second[i] or (d == second[i] and m < next_near[i]):
            next_near[i], second[i] = m, d


@compiled
def removal_losses(near, first, second, weight, out):
    """Increase of the loss by removing each medoid: its rows go to their second nearest."""
    for m in range(out.size):
        out[m] = 0.0
    for i in range(near.size):
        out[near[i]] += weight[i] * (second[i] - first[i])


@compiled
def swap_changes(distance, near, first, second, weight, removal, start, stop, change, which):
    """Best swap of every candidate row ``start:stop``: change of the loss, and the medoid.

    Rows for which the candidate is nearer than the second nearest medoid are listed first, without
    a branch to mispredict.
    """
    total, hits = np.empty(removal.size), np.empty(near.size + 1, np.int64)
    for c in range(start, stop):
        common, n_shared, best = 0.0, 0, 0
        for m in range(removal.size):
            total[m] = removal[m]
        for i in range(near.size):
            hits[n_shared] = i
            n_shared += distance[c, i] < second[i]
        for h in range(n_shared):
            i = hits[h]
            d, nearest = np.float64(distance[c, i]), first[i]
            common += weight[i] * ((d if d < nearest else nearest) - nearest)
            total[near[i]] += weight[i] * ((nearest if d < nearest else d) - second[i])
        for m in range(removal.size):
            if total[m] < total[best]:
                best = m
        change[c], which[c] = total[best] + common, best


@compiled
def total_reductions(distance, first, weight, start, stop, out):
    """Reduction of the loss by each candidate row ``start:stop`` as an additional medoid."""
    for c in range(start, stop):
        gain = 0.0
        for i in range(first.size):
            reduction = first[i] - np.float64(distance[c, i])
            if reduction > 0.0:
                gain += weight[i] * reduction
        out[c] = gain


@compiled
def within_totals(distance, members, weight, out):
    """Σ w d(c, ·) over the members of a cluster, for each of them."""
    for a in range(members.size):
        total = 0.0
        row = members[a]
        for b in range(members.size):
            total += weight[members[b]] * np.float64(distance[row, members[b]])
        out[a] = total
