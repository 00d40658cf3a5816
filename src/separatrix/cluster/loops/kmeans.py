"""The loops of K-means, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from separatrix.arrays import NDArray
from separatrix.compilation import compiled
from separatrix.distances.loops import larger, rounded_down, rounded_up, single_root, smaller

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
        n_lanes = builder.mul(rounds, _WHOLE(LANES))
        with cgutils.for_range(builder, rounds) as loop:
            add(lambda at: _load(builder, at), builder.mul(loop.index, _WHOLE(LANES)), lanes)
        with cgutils.for_range(builder, builder.sub(shape[1], n_lanes)) as loop:
            add(builder.load, builder.add(n_lanes, loop.index), rest)
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
    n_chained = builder.mul(rounds, _WHOLE(CHAINS))
    with cgutils.for_range(builder, rounds) as loop:
        first = builder.mul(loop.index, _WHOLE(CHAINS))
        for chain, total in enumerate(totals):
            subtract(builder.add(first, _WHOLE(chain)), total)
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
    unit = builder.insert_element(empty, number, _SHORT(0))
    return builder.shuffle_vector(unit, empty, ir.Constant(_INDEX, [0] * LANES))


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


# -------------------------------------------------------------------------------------------------
# Passes over rows in clusters: centering, and the gain of moving a row.


@compiled
def center_rows(
    x, mean, unit, label, upper, lowest, drift, total_drift, exact, single, square
):  # fmt: skip
    """(x − mean)/unit in double and in single precision, and its squared norm.

    Rows whose bounds (see :mod:`separatrix.cluster.loops.kmeans`) keep their center are left out.
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
