"""Agglomerative clustering: which two clusters meet next, and how far apart they are.

Clusters live in slots 0 … n − 1: a merger of slots a and b stays in one of them and the other is
empty. Merges come out as (slot, slot, distance) and are numbered in order of distance afterwards.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from separatrix.distances.loops.extremes import least, where
from separatrix.distances.loops.point_distances import EUCLIDEAN, to_points

COMPLETE, AVERAGE = 0, 1


@njit(cache=True, nogil=True)
def unite(rows, others, apart, start, one, two, share, kind, out):
    """Rows of distances to points become rows of distances to pairs one[k], two[k] of points.

    Row apart[r] is itself that of a pair, whose second point has the distances others[r]; ``start``
    is the number of the first row. ``share`` is that of the first point in its pair.
    """
    for r in range(apart.size):
        row = rows[apart[r]]
        _join(row, others[r], share[start + apart[r]], kind, row)
    for i in range(out.shape[0]):
        if kind == COMPLETE:
            for k in range(one.size):
                out[i, k] = max(rows[i, one[k]], rows[i, two[k]])
        else:
            for k in range(one.size):
                near, far = rows[i, one[k]], rows[i, two[k]]
                out[i, k] = share[k] * near + (1.0 - share[k]) * far


@njit(cache=True, nogil=True)
def nearest_in_rows(d, slots, start, stop, stale, nearest, distance):
    """The nearest slot of those rows start … stop whose nearest is ``stale``: merged or unknown.

    The others keep theirs: under these linkages nobody comes nearer by merging. Of equals the first
    is taken, so that some two slots are always nearest to each other.
    """
    for i in range(start, stop):
        if nearest[i] < 0 or stale[nearest[i]]:
            distance[i] = least(d[i], 0, slots)
            nearest[i] = where(d[i], 0, slots, distance[i])


@njit(cache=True, nogil=True)
def join_rows(d, slots, one, two, share, kind, start, stop):
    """Pairs start … stop: row one[p] becomes that of the union of one[p] and two[p]."""
    for p in range(start, stop):
        a, b = d[one[p], :slots], d[two[p], :slots]
        _join(a, b, share[p], kind, a)
        d[two[p], :slots] = np.inf


@njit(cache=True, nogil=True)
def join_columns(d, one, two, share, kind, start, stop):
    """The same for the columns of the rows start … stop; what was column two[p] is empty."""
    for i in range(start, stop):
        row = d[i]
        if kind == COMPLETE:
            for p in range(one.size):
                row[one[p]] = max(row[one[p]], row[two[p]])
        else:
            for p in range(one.size):
                row[one[p]] = share[p] * row[one[p]] + (1.0 - share[p]) * row[two[p]]
        for p in range(one.size):
            row[two[p]] = np.inf


@njit(cache=True, nogil=True)
def pack(d, kept):
    """Move the rows and columns ``kept``, in order, to the corner of the square."""
    for i in range(kept.size):
        for j in range(kept.size):
            d[i, j] = d[kept[i], kept[j]]


@njit(cache=True, nogil=True)
def _join(a, b, share, kind, out):
    if kind == COMPLETE:
        for s in range(out.size):
            out[s] = max(a[s], b[s])
    else:
        for s in range(out.size):
            out[s] = share * a[s] + (1.0 - share) * b[s]


@njit(cache=True, nogil=True)
def chain_of_distances(d, size, kind, first, second, height):
    """Nearest-neighbor chains over a square of distances, which is overwritten.

    From any cluster go to its nearest, from there to the nearest of that, and so on: distances only
    shrink, so that two clusters are met that are nearest to each other, and merge.
    """
    n = d.shape[0]
    chain = np.empty(n, dtype=np.int64)
    empty = np.zeros(n, dtype=np.bool_)
    row = np.empty(n)
    length = 0
    for i in range(n):
        d[i, i] = np.inf
    for merge in range(n - 1):
        if length == 0:
            chain[0] = 0
            while empty[chain[0]]:
                chain[0] += 1
            length = 1
        while True:
            tip = chain[length - 1]
            distance = least(d[tip], 0, n)
            if length > 1 and d[tip, chain[length - 2]] <= distance:
                break
            chain[length] = where(d[tip], 0, n, distance)
            length += 1
        other = chain[length - 2]
        length -= 2
        first[merge], second[merge], height[merge] = tip, other, distance
        _join(d[tip], d[other], size[tip] / (size[tip] + size[other]), kind, row)
        row[other] = row[tip] = np.inf
        size[other] += size[tip]
        empty[tip] = True
        for s in range(n):
            d[other, s] = d[s, other] = row[s]
            d[s, tip] = np.inf


@njit(cache=True, nogil=True)
def nearest_later(columns, start, stop, nearest, square):
    """For the slots start … stop: the nearest slot with a larger number, and its square."""
    d, n = columns.shape
    near = np.empty(n)
    point = np.empty(d)
    for i in range(start, min(stop, n - 1)):
        for j in range(d):
            point[j] = columns[j, i]
        to_points(point, columns, i + 1, n, EUCLIDEAN, near[i + 1 :])
        square[i] = least(near, i + 1, n)
        nearest[i] = where(near, i + 1, n, square[i])


@njit(cache=True, nogil=True)
def centroids(columns, nearest, square, first, second, height):
    """Always merge the two closest centroids. ``columns`` (d x n) is overwritten.

    Every slot knows its nearest among the later ones, or at least a lower bound on how near that
    is: when its nearest has moved away, the old distance still bounds what is left. Only the slot
    with the least bound must know for certain. An empty slot lies at infinity.
    """
    d, n = columns.shape
    size = np.ones(n)
    name = np.arange(n)
    near = np.empty(n)
    point = np.empty(d)
    slots = n
    square[n - 1] = np.inf
    sure = np.ones(n, dtype=np.bool_)
    for merge in range(n - 1):
        while True:
            closest = least(square, 0, slots)
            a = where(square, 0, slots, closest)
            if sure[a]:
                break
            for j in range(d):
                point[j] = columns[j, a]
            to_points(point, columns, a + 1, slots, EUCLIDEAN, near[a + 1 :])
            square[a] = least(near, a + 1, slots)
            nearest[a] = where(near, a + 1, slots, square[a])
            sure[a] = True
        b = nearest[a]
        first[merge], second[merge], height[merge] = name[a], name[b], np.sqrt(closest)
        total = size[a] + size[b]
        for j in range(d):
            point[j] = (size[a] * columns[j, a] + size[b] * columns[j, b]) / total
            columns[j, b] = np.inf
            columns[j, a] = np.inf
        to_points(point, columns, 0, slots, EUCLIDEAN, near)
        size[b] = total
        square[a] = np.inf
        for s in range(b):
            if near[s] < square[s]:
                square[s], nearest[s], sure[s] = near[s], b, True
            elif nearest[s] == a or nearest[s] == b:
                sure[s] = False
        for j in range(d):
            columns[j, b] = point[j]
        square[b] = least(near, b + 1, slots) if b + 1 < slots else np.inf
        nearest[b] = where(near, b + 1, slots, square[b]) if b + 1 < slots else -1
        sure[b] = True
        if 4 * (n - 1 - merge) < 3 * slots and slots > 64:
            slots = _packed(columns, size, name, nearest, square, sure, slots)


@njit(cache=True, nogil=True)
def _packed(columns, size, name, nearest, square, sure, slots):
    """Close the gaps that empty slots leave; returns how many slots there are now."""
    to = np.full(slots, -1)
    kept = 0
    for s in range(slots):
        if columns[0, s] < np.inf:
            to[s] = kept
            kept += 1
    for s in range(slots):
        k = to[s]
        if k < 0:
            continue
        for j in range(columns.shape[0]):
            columns[j, k] = columns[j, s]
        size[k], name[k], square[k], sure[k] = size[s], name[s], square[s], sure[s]
        nearest[k] = to[nearest[s]] if nearest[s] >= 0 else -1
        if nearest[k] < 0 and k < kept - 1:
            sure[k] = False
    return kept


@njit(cache=True, nogil=True)
def ward_chain(columns, size, first, second, height):
    """Nearest-neighbor chains by the rise of the scatter, from centroids alone.

    Merging a and b raises the scatter by |a||b|/(|a|+|b|) ‖μ_a − μ_b‖²; the height is the root of
    twice that. ``columns`` (d x n) and ``size`` are overwritten; empty slots lie at infinity.
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
            to_points(point, columns, 0, slots, EUCLIDEAN, near)
            for j in range(d):
                columns[j, tip] = point[j]
            for s in range(slots):
                near[s] *= size[tip] * size[s] / (size[tip] + size[s])
            closest = least(near, 0, slots)
            if length > 1 and near[chain[length - 2]] <= closest:
                other = chain[length - 2]
                break
            chain[length] = where(near, 0, slots, closest)
            length += 1
        length -= 2
        first[merge], second[merge], height[merge] = name[tip], name[other], np.sqrt(2.0 * closest)
        total = size[tip] + size[other]
        for j in range(d):
            mean = (size[tip] * columns[j, tip] + size[other] * columns[j, other]) / total
            columns[j, other], columns[j, tip] = mean, np.inf
        size[other] = total
        if length == 0 and 4 * (n - 1 - merge) < 3 * slots and slots > 64:
            slots = _packed_plain(columns, size, name, slots)


@njit(cache=True, nogil=True)
def _packed_plain(columns, size, name, slots):
    kept = 0
    for s in range(slots):
        if columns[0, s] < np.inf:
            for j in range(columns.shape[0]):
                columns[j, kept] = columns[j, s]
            size[kept], name[kept] = size[s], name[s]
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def numbered(first, second, height, order, out):
    """Merges in SciPy's form: sorted, mergers numbered from n on, with the size of each.

    ``first`` and ``second`` are any members of the two clusters.
    """
    n = first.size + 1
    parent = np.arange(n)
    label = np.arange(n)
    count = np.ones(n)
    for step in range(n - 1):
        m = order[step]
        a, b = root(parent, first[m]), root(parent, second[m])
        out[step, 0] = min(label[a], label[b])
        out[step, 1] = max(label[a], label[b])
        out[step, 2] = height[m]
        parent[a] = b
        count[b] += count[a]
        label[b] = n + step
        out[step, 3] = count[b]


@njit(cache=True, nogil=True)
def root(parent, i):
    """The last of the ancestors of i; the way to it is halved for the next who asks."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i
