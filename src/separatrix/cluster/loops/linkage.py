"""Loops of agglomerative clustering: the next two clusters to merge, and their distance.

Clusters occupy slots 0 … n − 1: the union of slots a and b stays in one of them and the other is
empty. Merges come out as (slot, slot, distance) and are sorted and numbered afterwards.
"""

from __future__ import annotations

import numpy as np

from separatrix.cluster.loops.plusplus import TILE
from separatrix.cluster.loops.scalars import larger, smaller
from separatrix.compilation import compiled
from separatrix.distances.loops.extremes import least, where
from separatrix.distances.loops.point_distances import EUCLIDEAN, to_points

COMPLETE, AVERAGE, WEIGHTED = 0, 1, 2
# Integers of NumPy: a number in the source would compile variants of its own of what is called.
FIRST, SQUARES = np.int64(0), np.int64(EUCLIDEAN)


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
def nearest_neighbor_chain(d, size, kind, first, second, height):
    """Nearest-neighbor chains over a matrix of distances, which is overwritten.

    Each cluster of a chain is the nearest of the one before it. Distances along the chain decrease,
    so that it ends in two clusters that are each other's nearest, and these merge.
    """
    n = d.shape[0]
    chain = np.empty(n, dtype=np.int64)
    merged = np.zeros(n, dtype=np.bool_)
    row = np.empty(n)
    length = 0
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
            distance = least(d[tip], FIRST, n)
            if length > 1 and d[tip, chain[length - 2]] <= distance:
                break
            chain[length] = where(d[tip], FIRST, n, distance)
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


@compiled
def nearest_later(columns, start, stop, nearest, square):
    """For the slots start … stop: the nearest slot with a larger number, and its square."""
    d, n = columns.shape
    near = np.empty(n)
    point = np.empty(d)
    for i in range(start, stop if stop < n else n - 1):
        for j in range(d):
            point[j] = columns[j, i]
        to_points(point, columns, i + 1, n, SQUARES, near[i + 1 :])
        square[i] = least(near, i + 1, n)
        nearest[i] = where(near, i + 1, n, square[i])


@compiled
def centroid_linkage(columns, nearest, square, median, first, second, height):
    """Centroid linkage: merge the two closest centroids. ``columns`` (d x n) is overwritten.

    For ``median`` linkage both clusters count alike, whatever their size.

    Every slot has its nearest among the later slots, or (not ``exact``) a lower bound of that
    distance: when its nearest has merged, the old distance bounds the new one. Only for the slot
    with the least bound must it be exact. Empty slots lie at infinity.
    """
    d, n = columns.shape
    size = np.ones(n)
    name = np.arange(n)
    near = np.empty(n)
    point = np.empty(d)
    slots = n
    square[n - 1] = np.inf
    exact = np.ones(n, dtype=np.bool_)
    for merge in range(n - 1):
        while True:
            closest = least(square, FIRST, slots)
            a = where(square, FIRST, slots, closest)
            if exact[a]:
                break
            for j in range(d):
                point[j] = columns[j, a]
            to_points(point, columns, a + 1, slots, SQUARES, near[a + 1 :])
            square[a] = least(near, a + 1, slots)
            nearest[a] = where(near, a + 1, slots, square[a])
            exact[a] = True
        b = nearest[a]
        first[merge], second[merge], height[merge] = name[a], name[b], np.sqrt(closest)
        total = size[a] + size[b]
        for j in range(d):
            point[j] = (size[a] * columns[j, a] + size[b] * columns[j, b]) / total
            columns[j, b] = np.inf
            columns[j, a] = np.inf
        to_points(point, columns, FIRST, slots, SQUARES, near)
        size[b] = 1.0 if median else total
        square[a] = np.inf
        for s in range(b):
            if near[s] < square[s]:
                square[s], nearest[s], exact[s] = near[s], b, True
            elif nearest[s] == a or nearest[s] == b:
                exact[s] = False
        for j in range(d):
            columns[j, b] = point[j]
        square[b] = least(near, b + 1, slots) if b + 1 < slots else np.inf
        nearest[b] = where(near, b + 1, slots, square[b]) if b + 1 < slots else -1
        exact[b] = True
        if 4 * (n - 1 - merge) < 3 * slots and slots > 64:
            slots = _compact_slots(columns, size, name, nearest, square, exact, slots)


@compiled(inline="always")
def _compact_slots(columns, size, name, nearest, square, exact, slots):
    """Move the occupied slots to the front; returns their number."""
    new_slot = np.full(slots, -1)
    occupied = 0
    for s in range(slots):
        if columns[0, s] < np.inf:
            new_slot[s] = occupied
            occupied += 1
    for s in range(slots):
        k = new_slot[s]
        if k < 0:
            continue
        for j in range(columns.shape[0]):
            columns[j, k] = columns[j, s]
        size[k], name[k], square[k], exact[k] = size[s], name[s], square[s], exact[s]
        nearest[k] = new_slot[nearest[s]] if nearest[s] >= 0 else -1
        if nearest[k] < 0 and k < occupied - 1:
            exact[k] = False
    return occupied


@compiled
def ward_chain(columns, size, first, second, height):
    """Ward linkage by nearest-neighbor chains, from centroids and sizes alone.

    Merging a and b raises the scatter within clusters by |a||b|/(|a|+|b|) ‖μ_a − μ_b‖²; the height
    is the square root of twice that. ``columns`` (d x n) and ``size`` are overwritten; empty slots
    lie at infinity.
    """
    d, n = columns.shape
    name = np.arange(n)
    near = np.empty(n)
    point = np.empty(d)
    chain = np.empty(n, dtype=np.int64)
    length, slots = 0, n
    for merge in range(n - 1):
        if length == 0:
            chain[0] = 0
            while columns[0, chain[0]] == np.inf:
                chain[0] += 1
            length = 1
        while True:
            tip = chain[length - 1]
            for j in range(d):
                point[j] = columns[j, tip]
                columns[j, tip] = np.inf
            to_points(point, columns, FIRST, slots, SQUARES, near)
            for j in range(d):
                columns[j, tip] = point[j]
            for s in range(slots):
                near[s] *= size[tip] * size[s] / (size[tip] + size[s])
            closest = least(near, FIRST, slots)
            if length > 1 and near[chain[length - 2]] <= closest:
                other = chain[length - 2]
                break
            chain[length] = where(near, FIRST, slots, closest)
            length += 1
        length -= 2
        first[merge], second[merge], height[merge] = name[tip], name[other], np.sqrt(2.0 * closest)
        total = size[tip] + size[other]
        for j in range(d):
            mean = (size[tip] * columns[j, tip] + size[other] * columns[j, other]) / total
            columns[j, other], columns[j, tip] = mean, np.inf
        size[other] = total
        if length == 0 and 4 * (n - 1 - merge) < 3 * slots and slots > 64:
            slots = _compact_means(columns, size, name, slots)


@compiled(inline="always")
def _compact_means(columns, size, name, slots):
    occupied = 0
    for s in range(slots):
        if columns[0, s] < np.inf:
            for j in range(columns.shape[0]):
                columns[j, occupied] = columns[j, s]
            size[occupied], name[occupied] = size[s], name[s]
            occupied += 1
    return occupied


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
