"""One sweep of K-means with bounds: rows that cannot have changed their center are passed over.

For a row x with center a, keep u ≥ ‖x − c_a‖ and, for every group of centers, l ≤ the distance to
any other center of the group. A center that moves by δ moves its bounds by δ, so while u < l the
row stays without a look at its numbers. Movements are summed once per center (``gone``) and once
per group (``group_gone``), and bounds are stored relative to those sums: a row that stays costs
one comparison and no write.

Distances are taken in single precision, sixteen centers at a time, as ½‖c‖² − x·c. Their error is
at most ``error``; bounds include it, and where it could decide between two centers the row is
settled in double precision (the first of equally near centers wins).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from separatrix.cluster.loops.assignments import less, more, square_to
from separatrix.cluster.loops.tiles import two_least

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Whole = NDArray[np.int64]


class Centers(NamedTuple):
    """The centers, laid out for the search: lane t·16 + j is column j of tile t."""

    exact: Floats  # k x d
    single: Singles  # k x d
    halves: Singles  # k: ½‖c‖²
    tiles: Singles  # tiles x d x 16
    norms: Singles  # tiles x 16: ½‖c‖², infinite where a lane is empty
    lane_of: Whole  # k
    center_of: Whole  # lanes
    group_of: Whole  # k
    gone: Floats  # k: how far each center has moved, all steps together
    group_gone: Floats  # groups + 1: the same of the fastest center of a group; last, of all groups
    reach: float  # largest ‖c‖²


class Cloud(NamedTuple):
    """The rows: exact, in single precision, and their weights."""

    exact: Floats
    single: Singles
    square: Singles
    weight: Floats


class State(NamedTuple):
    """What is known of every row. Bounds are relative to how far the centers have gone."""

    label: NDArray[np.int32]
    upper: Singles
    lower: Singles  # n x groups
    lowest: Singles


#: Rows that go through a sweep together; what is known of them stays in the cache.
BATCH = 1024

# Helpers are inlined and take whole arrays with an index: a view of a row would count references,
# and threads would wait for each other's counts.


@njit(cache=True, nogil=True, inline="always")
def _root(square):
    """A square root in single precision: half the price, right to a part in 10⁷."""
    return np.sqrt(np.float32(more(square, 0.0)))


@njit(cache=True, nogil=True, inline="always")
def _below(value):
    """A lower bound in single precision, never rounded up."""
    return np.float32(value - 1.2e-7 * abs(value)) if value < np.inf else np.float32(np.inf)


@njit(cache=True, nogil=True, inline="always")
def _above(value):
    """An upper bound in single precision, never rounded down."""
    return np.float32(value + 1.2e-7 * abs(value))


@njit(cache=True, nogil=True)
def _settle(x, i, centers, group_of, least):
    """Nearest center in double precision; ``least`` gets the nearest other of every group."""
    best, value = 0, np.inf
    least[:] = np.inf
    for j in range(centers.shape[0]):
        square = square_to(x, i, centers, j)
        loser, lost = j, square
        if square < value:
            loser, lost = best, value
            best, value = j, square
        if lost < least[group_of[loser]]:
            least[group_of[loser]] = lost
    return best, value


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def _doubtful(
    x, square, single, halves, gone, group_gone, label, upper, lower, lowest,
    slack, reach, start, stop, chosen, value,
):  # fmt: skip
    """Rows whose bounds leave a doubt, after a look at the own center; returns their number.

    The loops write every candidate and step on only past those that stay: no branch to mispredict.
    """
    groups, found = group_gone.size - 1, 0
    for i in range(start, stop):
        chosen[found] = i
        u = upper[i] + gone[label[i]]
        found += u >= lowest[i] - group_gone[groups]
    kept = 0
    for c in range(found):
        i = chosen[c]
        a = label[i]
        own = halves[a]
        for f in range(x.shape[1]):
            own -= x[i, f] * single[a, f]
        u = _root(2.0 * own + square[i] + slack * (square[i] + reach)) * (1.0 + 2e-7)
        near = np.inf
        for g in range(groups):
            near = less(near, lower[i, g] - group_gone[g])
        upper[i] = _above(u - gone[a])
        lowest[i] = _below(near + group_gone[groups])
        chosen[kept], value[kept] = i, own
        kept += u >= near
    return kept


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def _search(
    x, tiles, norms, lane_of, gone, group_gone, label, upper, lower,
    g, kept, chosen, value, second, spare, lane, group, alive, least, listed,
):  # fmt: skip
    """Compare the doubtful rows whose bound for group g is below their distance with its centers.

    ``least`` gets the smallest value of the group without the own center; ``value`` and ``second``
    are the two smallest of all, ``spare`` the next in the group of the smallest.
    """
    per_group = norms.shape[0] // alive.shape[1]
    many = 0
    for c in range(kept):
        i = chosen[c]
        near = lower[i, g] - group_gone[g] <= upper[i] + gone[label[i]]
        alive[c, g] = near
        listed[many] = c
        many += near
    for q in range(many):
        c = listed[q]
        i = chosen[c]
        own = lane_of[label[i]]
        low, where, high = two_least(x, i, tiles, norms, g * per_group, own)
        for t in range(g * per_group + 1, (g + 1) * per_group):
            first, at, after = two_least(x, i, tiles, norms, t, own)
            high = less(less(high, after), more(low, first))
            where = at if first < low else where
            low = less(low, first)
        least[c, g] = low
        before = value[c]
        better = low < before
        second[c] = less(before, high) if better else less(second[c], low)
        value[c] = low if better else before
        spare[c] = high if better else spare[c]
        lane[c] = where if better else lane[c]
        group[c] = g if better else group[c]


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def _renew(
    x, square, exact, center_of, group_of, gone, group_gone, label, upper, lower, lowest,
    slack, reach, kept, chosen, own, value, second, spare, lane, group, alive, least, nearest_of,
):  # fmt: skip
    """Nearest centers of the doubtful rows after the search, to ``group``; renews their bounds."""
    groups = least.shape[1]
    for c in range(kept):
        i = chosen[c]
        best, mine, norm = label[i], group_of[label[i]], np.float64(square[i])
        error = slack * (square[i] + reach)
        settled = second[c] - value[c] <= error
        nearest = 2.0 * value[c] + norm
        if settled:
            best, nearest = _settle(x, i, exact, group_of, nearest_of)
            error = 1e-7 * nearest
        elif group[c] >= 0:
            best = center_of[lane[c]]
            least[c, group[c]] = spare[c]
            if not alive[c, mine]:
                bound = more(np.float64(lower[i, mine]) - group_gone[mine], 0.0)
                least[c, mine] = 0.5 * (bound * bound + error - norm)
                alive[c, mine] = True
            least[c, mine] = less(least[c, mine], own[c])
        upper[i] = _above(_root(nearest + error) * (1.0 + 2e-7) - gone[best])
        limit = np.inf
        for g in range(groups):
            if settled or alive[c, g]:
                away = nearest_of[g] if settled else 2.0 * least[c, g] + norm
                bound = _root(away - error) * (1.0 - 2e-7)
                lower[i, g] = _below(bound + group_gone[g])
            limit = less(limit, np.float64(lower[i, g]) - group_gone[g])
        lowest[i] = _below(limit + group_gone[groups])
        group[c] = best


@njit(cache=True, nogil=True)
def _move(x, weight, label, kept, chosen, new, sums, mass, count):
    """Give the rows their new labels; take them from the old sums to the new. How many moved."""
    moved = 0
    for c in range(kept):
        i, b = chosen[c], new[c]
        a = label[i]
        if a == b:
            continue
        moved += 1
        label[i] = b
        w = weight[i]
        mass[a] -= w
        mass[b] += w
        count[a] -= 1
        count[b] += 1
        for f in range(sums.shape[1]):
            step = w * x[i, f]
            sums[a, f] -= step
            sums[b, f] += step
    return moved


@njit(cache=True, nogil=True)
def sweep(cloud, centers, state, slack, start, stop, sums, mass, count):
    """Move the rows ``start:stop`` to their nearest centers; add the change to the sums.

    ``sums`` (k x d), ``mass`` and ``count`` (k) gain and lose the rows that moved; returns their
    number. Rows go through in batches, one group of centers after the other: work on one row does
    not wait for another's.
    """
    x, square, reach = cloud.single, cloud.square, centers.reach
    gone, group_gone = centers.gone, centers.group_gone
    label, upper, lower, lowest = state.label, state.upper, state.lower, state.lowest
    groups, moved = group_gone.size - 1, 0
    chosen, listed = np.empty(BATCH + 1, np.int64), np.empty(BATCH + 1, np.int64)
    lane, group = np.empty(BATCH, np.int64), np.empty(BATCH, np.int64)
    own, value = np.empty(BATCH + 1, np.float32), np.empty(BATCH, np.float32)
    second, spare = np.empty(BATCH, np.float32), np.empty(BATCH, np.float32)
    alive, least = np.empty((BATCH, groups), np.bool_), np.empty((BATCH, groups))
    nearest_of = np.empty(groups)
    for first in range(start, stop, BATCH):
        kept = _doubtful(
            x, square, centers.single, centers.halves, gone, group_gone, label, upper, lower,
            lowest, slack, reach, first, min(first + BATCH, stop), chosen, own,
        )  # fmt: skip
        for r in range(kept):
            value[r], second[r], group[r] = own[r], np.inf, -1
        for g in range(groups):
            _search(
                x, centers.tiles, centers.norms, centers.lane_of, gone, group_gone, label, upper,
                lower, g, kept, chosen, value, second, spare, lane, group, alive, least, listed,
            )  # fmt: skip
        _renew(
            cloud.exact, square, centers.exact, centers.center_of, centers.group_of, gone,
            group_gone, label, upper, lower, lowest, slack, reach, kept, chosen, own, value,
            second, spare, lane, group, alive, least, nearest_of,
        )  # fmt: skip
        moved += _move(cloud.exact, cloud.weight, label, kept, chosen, group, sums, mass, count)
    return moved
