"""Construction and queries of a k-d tree.

Node i has the children 2i + 1 and 2i + 2; the leaves, all on the last level, hold consecutive
points, stored as columns so that the distances to all points of a leaf are vectorized.
"""

from __future__ import annotations

import numpy as np

from separatrix.compilation import compiled
from separatrix.distances.loops.point_distances import EUCLIDEAN, MANHATTAN, to_points


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
