"""Construction and queries of a k-d tree.

Node i has the children 2i + 1 and 2i + 2; the leaves, all on the last level, hold consecutive
points, stored as columns so that the distances to all points of a leaf are vectorized.
"""

from __future__ import annotations

import numpy as np

from separatrix.compilation import compiled
from separatrix.distances.loops.point_distances import EUCLIDEAN, MANHATTAN, to_points


@compiled
def split(z, order, starts, low, high, root, deepest):
    """Split the nodes below ``root`` at the median of their widest dimension, level by level.

    ``order[starts[i, 0]:starts[i, 1]]`` are the points of node i; low[i], high[i] bound its cell,
    the part of space that the splits above leave to it. ``deepest`` levels are split.
    """
    nodes, d = low.shape
    keys = np.empty(starts[root, 1] - starts[root, 0])
    first, last, base = root, root, starts[root, 0]
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
                keys[s - base] = z[order[s], widest]
            middle = (a + b) // 2
            _quickselect(keys[a - base : b - base], order[a:b], middle - a)
            left, right = 2 * node + 1, 2 * node + 2
            starts[left, 0], starts[left, 1] = a, middle
            starts[right, 0], starts[right, 1] = middle, b
            for j in range(d):
                low[left, j] = low[right, j] = low[node, j]
                high[left, j] = high[right, j] = high[node, j]
            if middle < b:
                high[left, widest] = low[right, widest] = keys[middle - base]
        first, last = 2 * first + 1, 2 * last + 2


@compiled
def shrink_boxes(columns, starts, low, high, first, stop):
    """Shrink the cells of the nodes first … stop to the bounding boxes of their points, last first.

    The boxes of their children, if not among them, are shrunk before.
    """
    nodes, d = low.shape
    for node in range(stop - 1, first - 1, -1):
        left, right = 2 * node + 1, 2 * node + 2
        for j in range(d):
            if left < nodes:
                low[node, j] = min(low[left, j], low[right, j])
                high[node, j] = max(high[left, j], high[right, j])
                continue
            low[node, j], high[node, j] = np.inf, -np.inf
            for v in columns[j, starts[node, 0] : starts[node, 1]]:
                low[node, j] = min(low[node, j], v)
                high[node, j] = max(high[node, j], v)


@compiled
def _quickselect(keys, order, middle):
    """Quickselect: the smaller keys before ``middle``, the larger from it on."""
    a, b = 0, keys.size - 1
    while a < b:
        low, high = min(keys[a], keys[b]), max(keys[a], keys[b])
        pivot = max(low, min(high, keys[(a + b) // 2]))  # the median of three
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
        t = max(max(low[j] - x[j], x[j] - high[j]), 0.0)
        if kind == EUCLIDEAN:
            total += t * t
        elif kind == MANHATTAN:
            total += t
        else:
            total = max(total, t)
    return total


@compiled
def _largest_leaf(starts):
    """The number of points in the largest leaf: the leaves are the last half of the nodes."""
    largest = 0
    for node in range(starts.shape[0] // 2, starts.shape[0]):
        largest = max(largest, starts[node, 1] - starts[node, 0])
    return largest


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
def query(x, columns, order, starts, low, high, kind, distances, indices):
    """The nearest points of every row of x, nearest first; returns the number of distances.

    Depth-first, the nearer child first. Boxes farther than the k-th nearest point so far are
    pruned; one at the very same distance is visited, since it may hold a smaller index.
    """
    nodes, k = low.shape[0], distances.shape[1]
    distance_buffer = np.empty(_largest_leaf(starts))
    stack = np.empty(128, dtype=np.int64)
    bounds = np.empty(128)
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
                to_points(x[i], columns, a, b, kind, distance_buffer)
                n_distances += b - a
                for s in range(b - a):
                    if distance_buffer[s] <= limit:
                        limit = _insert(distances, indices, i, distance_buffer[s], order[a + s])
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
def query_radius(x, columns, order, starts, low, high, kind, radius):
    """All points within ``radius`` (Euclidean: its square) of every row of x.

    Returns their number for each row, then indices and distances, row after row.
    """
    nodes, largest = low.shape[0], _largest_leaf(starts)
    distance_buffer = np.empty(largest)
    stack = np.empty(128, dtype=np.int64)
    counts = np.zeros(x.shape[0], dtype=np.int64)
    indices = np.empty(max(largest, 16 * x.shape[0]), dtype=np.int64)
    distances = np.empty(indices.size)
    size = 0
    for i in range(x.shape[0]):
        top = 1
        stack[0] = 0
        first = size
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
            to_points(x[i], columns, a, b, kind, distance_buffer)
            if size + b - a > indices.size:
                more = 2 * indices.size + b - a
                grown_indices, grown = np.empty(more, dtype=np.int64), np.empty(more)
                grown_indices[:size], grown[:size] = indices[:size], distances[:size]
                indices, distances = grown_indices, grown
            for s in range(b - a):
                if distance_buffer[s] <= radius:
                    indices[size], distances[size] = order[a + s], distance_buffer[s]
                    size += 1
        counts[i] = size - first
    return counts, indices[:size].copy(), distances[:size].copy()
