"""One sweep of K-means with bounds: rows that cannot have changed their centre are passed over.

For a row x with centre a, keep u ≥ ‖x − c_a‖ and, for every group of centres, l ≤ the distance to
any other centre of the group. A centre that moves by δ moves its bounds by δ, so while u < l the
row stays without a look at its numbers. Movements are summed once per centre (``gone``) and once
per group (``group_gone``), and bounds are stored relative to those sums: a row that stays costs
one comparison and no write.

Distances are taken in single precision, sixteen centres at a time, as ½‖c‖² − x·c. Their error is
at most ``error``; bounds include it, and where it could decide between two centres the row is
settled in double precision (the first of equally near centres wins).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from separatrix.compiled.tiles import two_least

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Whole = NDArray[np.int64]


class Centres(NamedTuple):
    """The centres, laid out for the search: lane t·16 + j is column j of tile t."""

    exact: Floats  # k x d
    single: Singles  # k x d
    halves: Singles  # k: ½‖c‖²
    tiles: Singles  # tiles x d x 16
    norms: Singles  # tiles x 16: ½‖c‖², infinite where a lane is empty
    lane_of: Whole  # k
    centre_of: Whole  # lanes
    group_of: Whole  # k
    gone: Floats  # k: how far each centre has moved, all steps together
    group_gone: Floats  # groups + 1: the same of the fastest centre of a group; last, of all groups
    reach: float  # largest ‖c‖²


class Cloud(NamedTuple):
    """The rows: exact, in single precision, and their weights."""

    exact: Floats
    single: Singles
    square: Singles
    weight: Floats


class State(NamedTuple):
    """What is known of every row. Bounds are relative to how far the centres have gone."""

    label: NDArray[np.int32]
    upper: Singles
    lower: Singles  # n x groups
    lowest: Singles


# Helpers are inlined and take whole arrays with an index: a view of a row would count references,
# and threads would wait for each other's counts.


@njit(cache=True, nogil=True, inline="always")
def _less(a, b):
    return a if a < b else b


@njit(cache=True, nogil=True, inline="always")
def _more(a, b):
    return a if a > b else b


@njit(cache=True, nogil=True, inline="always")
def _one(x, i, centres, halves, a):
    """½‖c‖² − x·c of row i for centre a."""
    value = halves[a]
    for f in range(x.shape[1]):
        value -= x[i, f] * centres[a, f]
    return value


@njit(cache=True, nogil=True, inline="always")
def _root(square):
    """A square root in single precision: half the price, right to a part in 10⁷."""
    return np.sqrt(np.float32(_more(square, 0.0)))


@njit(cache=True, nogil=True, inline="always")
def _square(x, i, centres, a):
    """‖x − c‖² of row i and centre a, in double precision."""
    total = 0.0
    for j in range(x.shape[1]):
        step = x[i, j] - centres[a, j]
        total += step * step
    return total


@njit(cache=True, nogil=True, inline="always")
def _below(value):
    """A lower bound in single precision, never rounded up."""
    return np.float32(value - 1.2e-7 * abs(value)) if value < np.inf else np.float32(np.inf)


@njit(cache=True, nogil=True, inline="always")
def _above(value):
    """An upper bound in single precision, never rounded down."""
    return np.float32(value + 1.2e-7 * abs(value))


@njit(cache=True, nogil=True)
def _settle(x, i, centres, group_of, least):
    """Nearest centre in double precision; ``least`` gets the nearest other of every group."""
    best, value = 0, np.inf
    least[:] = np.inf
    for j in range(centres.shape[0]):
        square = _square(x, i, centres, j)
        loser, lost = j, square
        if square < value:
            loser, lost = best, value
            best, value = j, square
        if lost < least[group_of[loser]]:
            least[group_of[loser]] = lost
    return best, value


@njit(cache=True, nogil=True, inline="always")
def _search(x, i, centres, own, value, alive, least):
    """The nearest of the own centre (lane ``own``, ``value``) and those of the groups ``alive``.

    ``least`` gets the smallest value of a group without the winner and the own centre. Returns the
    lane, its value, and the next best value of all.
    """
    groups = alive.size
    per_group = centres.norms.shape[0] // groups
    best, second, winner, spare = own, np.float32(np.inf), -1, np.float32(np.inf)
    for g in range(groups):
        if not alive[g]:
            continue
        low, where, high = two_least(x, i, centres.tiles, centres.norms, g * per_group, own)
        for t in range(g * per_group + 1, (g + 1) * per_group):
            first, lane, after = two_least(x, i, centres.tiles, centres.norms, t, own)
            high = _less(_less(high, after), _more(low, first))
            where = lane if first < low else where
            low = _less(low, first)
        least[g] = low
        if low < value:
            second, value, best, winner, spare = _less(value, high), low, where, g, high
        else:
            second = _less(second, low)
    if winner >= 0:
        least[winner] = spare
    return best, value, second


@njit(cache=True, nogil=True, inline="always")
def _renew(i, cloud, centres, state, own_value, error, alive, least):
    """Nearest centre of row i among the groups that are alive; renews its bounds."""
    label, groups = state.label[i], alive.size
    square, mine = np.float64(cloud.square[i]), centres.group_of[label]
    lane, value, second = _search(
        cloud.single, i, centres, centres.lane_of[label], own_value, alive, least
    )
    best = centres.centre_of[lane]
    if second - value <= error:
        best, nearest = _settle(cloud.exact, i, centres.exact, centres.group_of, least)
        alive[:] = True
        error = 1e-7 * nearest
    else:
        nearest = 2.0 * value + square
        if best != label:
            if not alive[mine]:
                bound = max(np.float64(state.lower[i, mine]) - centres.group_gone[mine], 0.0)
                least[mine] = 0.5 * (bound * bound + error - square)
                alive[mine] = True
            least[mine] = min(least[mine], own_value)
        for g in range(groups):
            least[g] = 2.0 * least[g] + square
    state.upper[i] = _above(_root(nearest + error) * (1.0 + 2e-7) - centres.gone[best])
    lowest = np.inf
    for g in range(groups):
        if alive[g]:
            bound = _root(least[g] - error) * (1.0 - 2e-7)
            state.lower[i, g] = _below(bound + centres.group_gone[g])
        lowest = _less(lowest, np.float64(state.lower[i, g]) - centres.group_gone[g])
    state.lowest[i] = _below(lowest + centres.group_gone[groups])
    return best


@njit(cache=True, nogil=True, inline="always")
def _doubtful(cloud, centres, state, slack, start, stop, chosen, value):
    """Rows whose bounds leave a doubt, after a look at the own centre; returns their number.

    The loops write every candidate and step on only past those that stay: no branch to mispredict.
    """
    groups, found = centres.group_gone.size - 1, 0
    for i in range(start, stop):
        chosen[found] = i
        u = state.upper[i] + centres.gone[state.label[i]]
        found += u >= state.lowest[i] - centres.group_gone[groups]
    kept = 0
    for c in range(found):
        i = chosen[c]
        a = state.label[i]
        own = _one(cloud.single, i, centres.single, centres.halves, a)
        error = slack * (cloud.square[i] + centres.reach)
        u = _root(2.0 * own + cloud.square[i] + error) * (1.0 + 2e-7)
        near = np.inf
        for g in range(groups):
            near = _less(near, state.lower[i, g] - centres.group_gone[g])
        state.upper[i] = _above(u - centres.gone[a])
        state.lowest[i] = _below(near + centres.group_gone[groups])
        chosen[kept], value[kept] = i, own
        kept += u >= near
    return kept


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def sweep(cloud, centres, state, slack, start, stop, sums, mass, count):
    """Move the rows ``start:stop`` to their nearest centres; add the change to the sums.

    ``sums`` (k x d), ``mass`` and ``count`` (k) gain and lose the rows that moved; returns their
    number.
    """
    groups = centres.group_gone.size - 1
    alive = np.empty(groups, dtype=np.bool_)
    least = np.empty(groups)
    chosen = np.empty(stop - start + 1, dtype=np.int64)
    own = np.empty(stop - start + 1, dtype=np.float32)
    moved = 0
    for c in range(_doubtful(cloud, centres, state, slack, start, stop, chosen, own)):
        i = chosen[c]
        a = state.label[i]
        u = state.upper[i] + centres.gone[a]
        for g in range(groups):
            alive[g] = state.lower[i, g] - centres.group_gone[g] <= u
        error = slack * (cloud.square[i] + centres.reach)
        b = _renew(i, cloud, centres, state, own[c], error, alive, least)
        if b != a:
            moved += 1
            state.label[i] = b
            w = cloud.weight[i]
            mass[a] -= w
            mass[b] += w
            count[a] -= 1
            count[b] += 1
            for f in range(sums.shape[1]):
                step = w * cloud.exact[i, f]
                sums[a, f] -= step
                sums[b, f] += step
    return moved


@njit(cache=True, nogil=True)
def centre_rows(x, mean, unit, start, stop, exact, single, square):
    """Rows about the mean, in the given unit: exact, in single precision, and ‖x‖²."""
    for i in range(start, stop):
        total = np.float32(0.0)
        for f in range(x.shape[1]):
            value = (x[i, f] - mean[f]) / unit
            exact[i, f] = value
            small = np.float32(value)
            single[i, f] = small
            total += small * small
        square[i] = total


@njit(cache=True, nogil=True)
def add_rows(x, weight, label, start, stop, sums, mass, count):
    """Sums, weights and numbers of the rows ``start:stop`` by cluster."""
    for i in range(start, stop):
        a, w = label[i], weight[i]
        mass[a] += w
        count[a] += 1
        for f in range(x.shape[1]):
            sums[a, f] += w * x[i, f]


@njit(cache=True, nogil=True)
def own_squares(x, centres, label, start, stop, out):
    """‖x − c‖² of every row to the centre of its own cluster."""
    for i in range(start, stop):
        out[i] = _square(x, i, centres, label[i])


@njit(cache=True, nogil=True)
def judge(product, square, norms, mass, weight, label, nearest, gain):
    """From x·c of every row and centre: the nearest centre, and what a move to another would gain.

    Moving a row of weight w from cluster a to b lowers the scatter, with both means following, by

        w · (mₐ/(mₐ − w) ‖x − cₐ‖² − m_b/(m_b + w) ‖x − c_b‖²)

    ``gain`` gets the largest of these over b; a row alone in its cluster gains nothing.
    """
    for i in range(product.shape[0]):
        best, value = 0, np.inf
        for j in range(norms.size):
            v = norms[j] - 2.0 * product[i, j]
            if v < value:
                best, value = j, v
        w, other = weight[i], np.inf
        for j in range(norms.size):
            v = (norms[j] - 2.0 * product[i, j] + square[i]) * (mass[j] / (mass[j] + w))
            if v < other and j != best:
                other = v
        label[i], nearest[i] = best, max(value + square[i], 0.0)
        rest = mass[best] - w
        gain[i] = w * (mass[best] / rest * nearest[i] - other) if rest > 0.5 * w else 0.0
