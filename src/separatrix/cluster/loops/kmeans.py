"""One Lloyd iteration with bounds: rows that cannot change their center are skipped.

For a row x with center a there is an upper bound u ≥ ‖x − c_a‖ and, for every group of centers, a
lower bound l of the distance to any other center of the group. A center that moves by δ moves its
bounds by δ, so while u < l the row keeps its center. Movements are summed once per center
(``drift``) and once per group (``group_drift``), and bounds are stored relative to those sums: a
row that is skipped costs one comparison and no write (Yinyang K-means, Ding et al. 2015).

Distances are computed in single precision, sixteen centers at a time, as ½‖c‖² − x·c. Bounds
include the rounding error; where it exceeds the difference of the two nearest centers, the row is
assigned in double precision, from differences (the first of equally near centers).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from separatrix.cluster.loops.pieces import next_piece
from separatrix.cluster.loops.tiles import row_product, two_least
from separatrix.compilation import compiled
from separatrix.distances.loops.scalars import (
    larger,
    rounded_down,
    rounded_up,
    single_root,
    smaller,
)

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


class Points(NamedTuple):
    """The rows in double and single precision, their squared norms and weights."""

    exact: Floats
    single: Singles
    square: Singles
    weight: Floats


class State(NamedTuple):
    """Labels and bounds of the rows; bounds are relative to the drift of the centers."""

    label: NDArray[np.int32]
    upper: Singles
    lower: Singles  # n x groups
    lowest: Singles


#: Rows whose bounds are looked at together.
BATCH = 1024
#: Roots in single precision are off by less than this.
ABOVE, BELOW = 1.0 + 2e-7, 1.0 - 2e-7

# Helpers are inlined and take whole arrays with an index: a view of a row would count references,
# and threads would wait for each other's counts.


@compiled(inline="always")
def _search(x, i, u, own, tiles, skip, lower, group_drift, least):
    """Compare row i with the centers of every group whose bound is at most u.

    ``own`` is the value of its own center, in lane ``skip``. ``least`` becomes the smallest other
    value of every group, without the smallest of all (−∞ where a group is left out). Returns the
    smallest value, its lane (``skip`` for its own center) and the second smallest.
    """
    groups = group_drift.size - 1
    per_group = tiles.shape[0] // groups
    value, second, lane, best, runner_up = own, np.float32(np.inf), skip, -1, own
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
    single, tiles, lane_of, center_of, drift, group_drift, sums, moved, chosen, own, least,
):  # fmt: skip
    """Move rows to their nearest centers, piece by piece until ``counter`` is past the last.

    Piece p has the rows ``cuts[p]:cuts[p + 1]``; ``sums[p]`` (k x (d + 2)) is changed by its rows
    that moved: their sums, weights and number in each cluster. ``moved[p, 0]`` is their number, and
    ``moved[p, 1]`` that of rows which single precision does not decide: their upper bound becomes
    infinite. The last three are work space: ``BATCH`` + 1 numbers twice, and one for each group.
    """
    groups, d, piece = group_drift.size - 1, x.shape[1], next_piece(counter)
    while piece < moved.shape[0]:
        for first in range(cuts[piece], cuts[piece + 1], BATCH):
            # every row is written and only undecided ones are passed: no branch to mispredict
            found, undecided = 0, 0
            for i in range(first, smaller(first + BATCH, cuts[piece + 1])):
                chosen[found] = i
                found += upper[i] + drift[label[i]] >= lowest[i] - group_drift[groups]
            for c in range(found):
                i = chosen[c]
                a, norm = label[i], square[i]
                value = single[a, d] - row_product(x, i, single, a)
                u = single_root(2.0 * value + norm + rounding * (norm + max_square)) * ABOVE
                upper[i] = rounded_up(u - drift[a])
                chosen[undecided], own[undecided] = i, value
                undecided += u >= lowest[i] - group_drift[groups]
            for c in range(undecided):
                i = chosen[c]
                a, norm = label[i], square[i]
                error = rounding * (norm + max_square)
                u = upper[i] + drift[a]
                value, lane, second = _search(
                    x, i, u, own[c], tiles, lane_of[a], lower, group_drift, least
                )
                if second - value <= error:
                    upper[i] = np.inf
                    moved[piece, 1] += 1
                    continue
                near = np.inf
                for g in range(groups):
                    if least[g] > -np.inf:
                        bound = single_root(2.0 * least[g] + norm - error) * BELOW
                        lower[i, g] = rounded_down(bound + group_drift[g])
                    near = smaller(near, lower[i, g] - group_drift[g])
                if lane != lane_of[a]:
                    g, b = lane_of[a] * groups // center_of.size, center_of[lane]
                    bound = single_root(2.0 * own[c] + norm - error) * BELOW
                    lower[i, g] = smaller(lower[i, g], rounded_down(bound + group_drift[g]))
                    near = smaller(near, bound)
                    u = single_root(2.0 * value + norm + error) * ABOVE
                    upper[i] = rounded_up(u - drift[b])
                    _move_row(exact, weight, label, i, b, piece, sums)
                    moved[piece, 0] += 1
                lowest[i] = rounded_down(near + group_drift[groups])
        piece = next_piece(counter)
