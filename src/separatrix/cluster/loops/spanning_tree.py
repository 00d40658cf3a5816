"""The shortest tree that joins all points."""

from __future__ import annotations

import numpy as np
from numba import njit

from separatrix.cluster.loops.linkage import root
from separatrix.distances.loops.kd_tree import to_box
from separatrix.distances.loops.point_distances import EUCLIDEAN, to_points


@njit(cache=True, nogil=True)
def _shorter(d, i, j, e, k, m):
    """Whether edge (i, j) of length d comes before (k, m) of length e: one order for all."""
    if d != e:
        return d < e
    low, high = min(i, j), max(i, j)
    other, top = min(k, m), max(k, m)
    return low < other or (low == other and high < top)


@njit(cache=True, nogil=True)
def _color(order, starts, tree, colors):
    """The tree that all points of a node belong to, or −1 if they belong to several."""
    nodes = starts.shape[0]
    for node in range(nodes - 1, -1, -1):
        left, right = 2 * node + 1, 2 * node + 2
        if left < nodes:
            same = colors[left] == colors[right] or starts[right, 0] == starts[right, 1]
            colors[node] = colors[left] if same else -1
            continue
        colors[node] = -1
        a, b = starts[node, 0], starts[node, 1]
        if a < b:
            colors[node] = tree[order[a]]
            for s in range(a + 1, b):
                if tree[order[s]] != colors[node]:
                    colors[node] = -1
                    break


@njit(cache=True, nogil=True)
def _nearest_stranger(x, i, bound, kd, kind, tree, colors, near, stack, bounds):
    """The nearest point of another tree that is not farther than ``bound``: (distance, number)."""
    columns, order, starts, low, high = kd
    nodes = starts.shape[0]
    best, at = bound, -1
    mine = tree[i]
    top = 1
    stack[0], bounds[0] = 0, 0.0
    while top > 0:
        top -= 1
        node = stack[top]
        if bounds[top] > best or colors[node] == mine:
            continue
        left, right = 2 * node + 1, 2 * node + 2
        if left >= nodes:
            a, b = starts[node, 0], starts[node, 1]
            to_points(x, columns, a, b, kind, near)
            for s in range(b - a):
                j = order[a + s]
                if near[s] > best or tree[j] == mine:
                    continue
                if at < 0 or _shorter(near[s], i, j, best, i, at):
                    best, at = near[s], j
            continue
        to_left = to_box(x, low[left], high[left], kind)
        to_right = to_box(x, low[right], high[right], kind)
        if to_right < to_left:
            left, right = right, left
            to_left, to_right = to_right, to_left
        if to_right <= best and colors[right] != mine:
            stack[top], bounds[top] = right, to_right
            top += 1
        if to_left <= best and colors[left] != mine:
            stack[top], bounds[top] = left, to_left
            top += 1
    return best, at


@njit(cache=True, nogil=True)
def grow_together(z, kd, kind, known, numbers, first, second, height):
    """Every tree takes the shortest edge that leads out of it, until one tree is left.

    ``known`` and ``numbers`` (n x k) are the nearest others of every point, near to far: most edges
    are among them. A point whose nearest all belong to its own tree has to look further, but only
    if the last of them is nearer than the shortest way out that its tree has found.
    """
    n, k = known.shape
    order, starts = kd[1], kd[2]
    largest = 0
    for node in range(starts.shape[0]):
        if 2 * node + 1 >= starts.shape[0]:
            largest = max(largest, starts[node, 1] - starts[node, 0])
    near, stack, bounds = np.empty(largest), np.empty(128, dtype=np.int64), np.empty(128)
    parent = np.arange(n)
    tree = np.arange(n)
    colors = np.empty(starts.shape[0], dtype=np.int64)
    reach = np.zeros(n)  # no stranger is nearer than this
    stranger = np.full(n, -1)  # who was found at that distance
    seen = np.zeros(n, dtype=np.int64)
    way, source, target = np.empty(n), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    done = 0
    while done < n - 1:
        way[:] = np.inf
        source[:] = -1
        for i in range(n):
            c = tree[i]
            while seen[i] < k and tree[numbers[i, seen[i]]] == c:
                seen[i] += 1
            if seen[i] < k:
                d, j = known[i, seen[i]], numbers[i, seen[i]]
            else:
                reach[i] = max(reach[i], known[i, k - 1])
                if stranger[i] < 0 or tree[stranger[i]] == c:
                    continue
                d, j = reach[i], stranger[i]
            if source[c] < 0 or _shorter(d, i, j, way[c], source[c], target[c]):
                way[c], source[c], target[c] = d, i, j
        _color(order, starts, tree, colors)
        for s in range(n):
            i = order[s]
            c = tree[i]
            if seen[i] < k or (stranger[i] >= 0 and tree[stranger[i]] != c) or reach[i] > way[c]:
                continue
            d, j = _nearest_stranger(z[i], i, way[c], kd, kind, tree, colors, near, stack, bounds)
            reach[i] = max(reach[i], d)
            if j >= 0:
                stranger[i] = j
                if source[c] < 0 or _shorter(d, i, j, way[c], source[c], target[c]):
                    way[c], source[c], target[c] = d, i, j
        for c in range(n):
            if source[c] >= 0:
                a, b = root(parent, source[c]), root(parent, target[c])
                if a != b:
                    first[done], second[done], height[done] = source[c], target[c], way[c]
                    parent[max(a, b)] = min(a, b)
                    done += 1
        for i in range(n):
            tree[i] = root(parent, i)


@njit(cache=True, nogil=True)
def grow_from_one(columns, first, second, height):
    """One tree takes the nearest point outside it, again and again (squared Euclidean).

    ``columns`` (d x n) is overwritten: points that are in the tree leave the array.
    """
    d, n = columns.shape
    name = np.arange(n)
    square = np.full(n, np.inf)
    nearest = np.zeros(n, dtype=np.int64)
    point = columns[:, n - 1].copy()
    near = np.empty(n)
    here, left = n - 1, n - 1
    for step in range(n - 1):
        least, at = np.inf, 0
        to_points(point, columns, 0, left, EUCLIDEAN, near)
        for s in range(left):
            if near[s] < square[s]:
                square[s], nearest[s] = near[s], here
            if square[s] < least:
                least, at = square[s], s
        first[step], second[step], height[step] = nearest[at], name[at], least
        here = name[at]
        left -= 1
        for j in range(d):
            point[j] = columns[j, at]
            columns[j, at] = columns[j, left]
        name[at], square[at], nearest[at] = name[left], square[left], nearest[left]
