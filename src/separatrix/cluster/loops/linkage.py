"""Loops of agglomerative clustering: the next two clusters to merge, and their distance.

Clusters occupy slots 0 … n − 1: the union of slots a and b stays in one of them and the other is
empty. Merges come out as (slot, slot, distance) and are sorted and numbered afterwards.
"""

from __future__ import annotations

import numpy as np

from separatrix.cluster.loops.plusplus import TILE
from separatrix.compilation import compiled
from separatrix.distances.loops.extremes import first_least
from separatrix.distances.loops.point_distances import squares_to_points
from separatrix.distances.loops.scalars import larger, smaller

COMPLETE, AVERAGE, WEIGHTED = 0, 1, 2
# An integer of NumPy: a number in the source would compile variants of its own of what is called.
FIRST = np.int64(0)
#: Slots up to which those that are empty stay where they are.
FEW_SLOTS = 256


@compiled
def pair_distances(rows, others, pairs, start, first, second, weight, kind, out):
    """Rows of distances to points become rows of distances to pairs first[k], second[k] of points.

    Row pairs[r] is itself that of a pair, whose second point has the distances others[r]; ``start``
    is the number of the first row. ``weight`` is the fraction of the first point in its pair.
    """
    for r in range(pairs.size):
        row = rows[pairs[r]]
        _merged_row(row, others[r], weight[start + pairs[r]], kind, row)
    for i in range(out.shape[0]):
        if kind == COMPLETE:
            for k in range(first.size):
                a, b = rows[i, first[k]], rows[i, second[k]]
                out[i, k] = a if a > b else b
        else:
            for k in range(first.size):
                a, b = rows[i, first[k]], rows[i, second[k]]
                out[i, k] = weight[k] * a + (1.0 - weight[k]) * b


@compiled
def merge_slots(
    d, row_of, remaining, pair_of, first, second, weight, kind, start, stop, nearest, distance
):  # fmt: skip
    """Merge the slots first[p] and second[p] and leave out those that are not ``remaining``.

    Row ``row_of[i]`` of ``d`` has the distances of slot i to all; of the slots remaining[s] with
    s = start … stop it gets those of the unions to all that remain, in their order. ``pair_of`` is
    the pair of a slot, or −1. Of equally near slots the first is the nearest, so that some pair is
    always reciprocal.
    """
    for s in range(start, stop):
        row, pair = row_of[remaining[s]], pair_of[remaining[s]]
        if pair >= 0:
            other, w = row_of[second[pair]], weight[pair]
            for i in range(pair_of.size):
                a, b = d[row, i], d[other, i]
                d[row, i] = larger(a, b) if kind == COMPLETE else w * a + (1.0 - w) * b
        for p in range(first.size):
            a, b, w = d[row, first[p]], d[row, second[p]], weight[p]
            d[row, first[p]] = larger(a, b) if kind == COMPLETE else w * a + (1.0 - w) * b
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
        own, lane = slot // TILE, slot % TILE
        at, least = -1, np.inf
        for t in range(tiles.shape[0]):
            for i in range(TILE):
                squares[i] = 0.0
            for f in range(0, tiles.shape[1], 2):
                one, two = tiles[own, f, lane], tiles[own, f + 1, lane]
                for i in range(TILE):
                    u, v = tiles[t, f, i] - one, tiles[t, f + 1, i] - two
                    squares[i] += u * u + v * v
            low = np.inf
            for i in range(TILE):
                squares[i] *= size[own, lane] * size[t, i] / (size[own, lane] + size[t, i])
            if t == own:
                squares[lane] = np.inf
            for i in range(TILE):
                low = smaller(low, squares[i])
            if low < least:
                at, least = 0, low
                while squares[at] > low:
                    at += 1
                at += t * TILE
        nearest[slot], increase[slot] = at, least


@compiled(inline="always")
def _merged_row(a, b, weight, kind, out):
    if kind == COMPLETE:
        for s in range(out.size):
            out[s] = a[s] if a[s] > b[s] else b[s]
    else:
        for s in range(out.size):
            out[s] = weight * a[s] + (1.0 - weight) * b[s]


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
        weight = 0.5 if kind == WEIGHTED else size[tip] / (size[tip] + size[other])
        _merged_row(d[tip], d[other], weight, kind, row)
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

    Merging a and b raises the scatter within clusters by |a||b|/(|a|+|b|) ‖μ_a − μ_b‖²; the height
    is the square root of twice that. ``columns`` (d x slots) and ``size`` are overwritten; empty
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
        first[merge], second[merge], height[merge] = name[tip], name[other], np.sqrt(2.0 * closest)
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
