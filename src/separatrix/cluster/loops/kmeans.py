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

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from separatrix.cluster.loops.assignments import larger, smaller
from separatrix.cluster.loops.pieces import next_piece
from separatrix.cluster.loops.tiles import two_least
from separatrix.compilation import compiled

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]


class Centers(NamedTuple):
    """The centers, laid out for the search: lane t·16 + j is column j of tile t."""

    exact: Floats  # k x d
    single: Singles  # k x d
    halves: Singles  # k: ½‖c‖²
    tiles: Singles  # tiles x d x 16
    norms: Singles  # tiles x 16: ½‖c‖², infinite where a lane is empty
    lane_of: Ints  # k
    center_of: Ints  # lanes
    group_of: Ints  # k
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


#: Rows that are assigned together, so that their state stays in the cache.
BATCH = 1024

# Helpers are inlined, so that they are compiled once, and take whole arrays with an index: a view
# of a row would count references, and threads would wait for each other's counts.


@compiled(inline="always")
def _root(square):
    """A square root in single precision: half the cost, with a relative error of 1e-7."""
    return np.sqrt(np.float32(larger(square, 0.0)))


@compiled(inline="always")
def _below(value):
    """A lower bound in single precision, never rounded up."""
    return np.float32(value - 1.2e-7 * abs(value)) if value < np.inf else np.float32(np.inf)


@compiled(inline="always")
def _above(value):
    """An upper bound in single precision, never rounded down."""
    return np.float32(value + 1.2e-7 * abs(value))


@compiled(inline="always")
def _undecided(
    x, square, single, halves, drift, group_drift, label, upper, lower, lowest,
    rounding, max_square, start, stop, chosen, value,
):  # fmt: skip
    """Rows whose bounds do not decide, after the upper bound is made exact; returns their number.

    The loops write every candidate and advance only past undecided ones: no branch to mispredict.
    """
    groups, found = group_drift.size - 1, 0
    for i in range(start, stop):
        chosen[found] = i
        u = upper[i] + drift[label[i]]
        found += u >= lowest[i] - group_drift[groups]
    n_undecided = 0
    for c in range(found):
        i = chosen[c]
        a = label[i]
        own = halves[a]
        for f in range(x.shape[1]):
            own -= x[i, f] * single[a, f]
        u = _root(2.0 * own + square[i] + rounding * (square[i] + max_square)) * (1.0 + 2e-7)
        near = np.inf
        for g in range(groups):
            near = smaller(near, lower[i, g] - group_drift[g])
        upper[i] = _above(u - drift[a])
        lowest[i] = _below(near + group_drift[groups])
        chosen[n_undecided], value[n_undecided] = i, own
        n_undecided += u >= near
    return n_undecided


@compiled(inline="always")
def _search_group(
    x, tiles, norms, lane_of, drift, group_drift, label, upper, lower,
    g, n_undecided, chosen, value, second, runner_up, lane, group, searched, group_least, selected,
):  # fmt: skip
    """Compare undecided rows with the centers of group g where their bounds overlap.

    ``group_least`` is the smallest value of the group without the own center; ``value`` and
    ``second`` are the two smallest of all, ``runner_up`` the next in the group of the smallest.
    """
    per_group = norms.shape[0] // searched.shape[1]
    many = 0
    for c in range(n_undecided):
        i = chosen[c]
        near = lower[i, g] - group_drift[g] <= upper[i] + drift[label[i]]
        searched[c, g] = near
        selected[many] = c
        many += near
    for q in range(many):
        c = selected[q]
        i = chosen[c]
        own = lane_of[label[i]]
        low, where, high = two_least(x, i, tiles, norms, g * per_group, own)
        for t in range(g * per_group + 1, (g + 1) * per_group):
            first, at, after = two_least(x, i, tiles, norms, t, own)
            high = smaller(smaller(high, after), larger(low, first))
            where = at if first < low else where
            low = smaller(low, first)
        group_least[c, g] = low
        before = value[c]
        better = low < before
        second[c] = smaller(before, high) if better else smaller(second[c], low)
        value[c] = low if better else before
        runner_up[c] = high if better else runner_up[c]
        lane[c] = where if better else lane[c]
        group[c] = g if better else group[c]


@compiled(inline="always")
def _assign_exactly(
    i, c, exact, centers, group_of, drift, group_drift, upper, lower, lowest, group_least
):  # fmt: skip
    """The nearest center of row i in double precision; its bounds are updated."""
    groups, best, least = group_least.shape[1], 0, np.inf
    for g in range(groups):
        group_least[c, g] = np.inf
    for a in range(centers.shape[0]):
        total = 0.0
        for f in range(centers.shape[1]):
            step = exact[i, f] - centers[a, f]
            total += step * step
        better = total < least
        g = group_of[best] if better else group_of[a]
        group_least[c, g] = smaller(group_least[c, g], least if better else total)
        best, least = a if better else best, smaller(least, total)
    upper[i] = _above(np.sqrt(least) * (1.0 + 1e-7) - drift[best])
    limit = np.inf
    for g in range(groups):
        bound = np.sqrt(group_least[c, g]) * (1.0 - 1e-7)
        lower[i, g] = _below(bound + group_drift[g])
        limit = smaller(limit, bound)
    lowest[i] = _below(limit + group_drift[groups])
    return best


@compiled(inline="always")
def _update_bounds(
    square, exact, centers, center_of, group_of, drift, group_drift, label, upper, lower, lowest,
    rounding, max_square, n_undecided, chosen, own, value, second, runner_up, lane, group, searched,
    group_least,
):  # fmt: skip
    """Write the nearest centers of the undecided rows to ``group``, and update their bounds."""
    groups = group_least.shape[1]
    for c in range(n_undecided):
        i = chosen[c]
        best, own_group, norm = label[i], group_of[label[i]], np.float64(square[i])
        error = rounding * (square[i] + max_square)
        if second[c] - value[c] <= error:
            group[c] = _assign_exactly(
                i, c, exact, centers, group_of, drift, group_drift, upper, lower, lowest,
                group_least,
            )  # fmt: skip
            continue
        if group[c] >= 0:
            best = center_of[lane[c]]
            group_least[c, group[c]] = runner_up[c]
            if not searched[c, own_group]:
                bound = larger(np.float64(lower[i, own_group]) - group_drift[own_group], 0.0)
                group_least[c, own_group] = 0.5 * (bound * bound + error - norm)
                searched[c, own_group] = True
            group_least[c, own_group] = smaller(group_least[c, own_group], own[c])
        upper[i] = _above(_root(2.0 * value[c] + norm + error) * (1.0 + 2e-7) - drift[best])
        limit = np.inf
        for g in range(groups):
            if searched[c, g]:
                bound = _root(2.0 * group_least[c, g] + norm - error) * (1.0 - 2e-7)
                lower[i, g] = _below(bound + group_drift[g])
            limit = smaller(limit, np.float64(lower[i, g]) - group_drift[g])
        lowest[i] = _below(limit + group_drift[groups])
        group[c] = best


@compiled(inline="always")
def _move_rows(x, weight, label, n_undecided, chosen, new, piece, sums):
    """Relabel rows and move them from the old sums to the new; returns how many moved."""
    moved, d = 0, x.shape[1]
    for c in range(n_undecided):
        i, b = chosen[c], new[c]
        a = label[i]
        if a == b:
            continue
        moved += 1
        label[i] = b
        w = weight[i]
        for f in range(d):
            step = w * x[i, f]
            sums[piece, a, f] -= step
            sums[piece, b, f] += step
        sums[piece, a, d] -= w
        sums[piece, b, d] += w
        sums[piece, a, d + 1] -= 1.0
        sums[piece, b, d + 1] += 1.0
    return moved


@compiled(fastmath={"contract", "nsz"})
def assign_pieces(
    counter, cuts, rounding, max_square, exact, x, square, weight, label, upper, lower, lowest,
    centers, single, halves, tiles, norms, lane_of, center_of, group_of, drift, group_drift, sums,
    moved, chosen, selected, lane, group, own, value, second, runner_up, searched, group_least,
):  # fmt: skip
    """Move rows to their nearest centers, piece by piece until ``counter`` is past the last.

    Piece p has the rows ``cuts[p]:cuts[p + 1]``; ``sums[p]`` (k x (d + 2)) is changed by its rows
    that moved: their sums, weights and number in each cluster. ``moved[p]`` is their number. The
    arrays after it are work space (:func:`work_space`). Rows go through in batches, one group of
    centers after the other, so that operations on different rows overlap.
    """
    piece = next_piece(counter)
    while piece < moved.size:
        moved[piece], stop = 0, cuts[piece + 1]
        for first in range(cuts[piece], stop, BATCH):
            n_undecided = _undecided(
                x, square, single, halves, drift, group_drift, label, upper, lower, lowest,
                rounding, max_square, first, first + BATCH if first + BATCH < stop else stop,
                chosen, own,
            )  # fmt: skip
            for r in range(n_undecided):
                value[r], second[r], group[r] = own[r], np.inf, -1
            for g in range(group_drift.size - 1):
                _search_group(
                    x, tiles, norms, lane_of, drift, group_drift, label, upper, lower, g,
                    n_undecided, chosen, value, second, runner_up, lane, group, searched,
                    group_least, selected,
                )  # fmt: skip
            _update_bounds(
                square, exact, centers, center_of, group_of, drift, group_drift, label, upper,
                lower, lowest, rounding, max_square, n_undecided, chosen, own, value, second,
                runner_up, lane, group, searched, group_least,
            )  # fmt: skip
            moved[piece] += _move_rows(
                exact, weight, label, n_undecided, chosen, group, piece, sums
            )
        piece = next_piece(counter)


def work_space(groups: int) -> tuple[NDArray[Any], ...]:
    """Arrays that :func:`assign_pieces` overwrites, for so many groups of centers."""
    whole = [np.empty(BATCH + 1, np.int64) for _ in range(4)]
    single = [np.empty(BATCH + 1, np.float32) for _ in range(4)]
    return (*whole, *single, np.empty((BATCH, groups), np.bool_), np.empty((BATCH, groups)))
