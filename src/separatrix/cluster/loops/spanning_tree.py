"""Minimum spanning trees: Borůvka with a k-d tree, and Prim."""

from __future__ import annotations

import numpy as np

from separatrix.cluster.loops.linkage import FIRST, find_root
from separatrix.compilation import compiled
from separatrix.distances.loops.kd_tree import to_box
from separatrix.distances.loops.point_distances import squares_to_points, to_points


@compiled(inline="always")
def _shorter(d, i, j, e, k, m):
    """Whether edge (i, j) of length d precedes (k, m) of length e: ties are broken by index."""
    low, high = (i, j) if i < j else (j, i)
    other, top = (k, m) if k < m else (m, k)
    return d < e or (d == e and (low < other or (low == other and high < top)))


@compiled(inline="always")
def _component_of_nodes(order, starts, component, components):
    """The component that all points of a k-d node belong to, or −1 if they belong to several."""
    nodes = starts.shape[0]
    for node in range(nodes - 1, -1, -1):
        left, right = 2 * node + 1, 2 * node + 2
        if left < nodes:
            same = components[left] == components[right] or starts[right, 0] == starts[right, 1]
            components[node] = components[left] if same else -1
            continue
        components[node] = -1
        a, b = starts[node, 0], starts[node, 1]
        if a < b:
            components[node] = component[order[a]]
            for s in range(a + 1, b):
                if component[order[s]] != components[node]:
                    components[node] = -1
                    break


@compiled
def _nearest_outside(x, i, bound, kd, kind, component, components, near, stack, bounds):
    """The nearest point of another component within ``bound``: (distance, index)."""
    columns, order, starts, low, high = kd
    nodes = starts.shape[0]
    best, at = bound, -1
    mine = component[i]
    top = 1
    stack[0], bounds[0] = 0, 0.0
    while top > 0:
        top -= 1
        node = stack[top]
        if bounds[top] > best or components[node] == mine:
            continue
        left, right = 2 * node + 1, 2 * node + 2
        if left >= nodes:
            a, b = starts[node, 0], starts[node, 1]
            to_points(x, columns, a, b, kind, near)
            for s in range(b - a):
                j = order[a + s]
                if near[s] > best or component[j] == mine:
                    continue
                if at < 0 or _shorter(near[s], i, j, best, i, at):
                    best, at = near[s], j
            continue
        to_left = to_box(x, low[left], high[left], kind)
        to_right = to_box(x, low[right], high[right], kind)
        if to_right < to_left:
            left, right = right, left
            to_left, to_right = to_right, to_left
        if to_right <= best and components[right] != mine:
            stack[top], bounds[top] = right, to_right
            top += 1
        if to_left <= best and components[left] != mine:
            stack[top], bounds[top] = left, to_left
            top += 1
    return best, at


@compiled
def boruvka(z, kd, kind, near_distances, near_indices, first, second, height):
    """Borůvka: every component adds the shortest edge that leaves it, until one is left.

    ``near_distances`` and ``near_indices`` (n x k) are the nearest others of every point, near to
    far: most edges are among them. A point whose nearest all belong to its own component is
    searched in the k-d tree, but only if the last of them is nearer than the shortest edge found.
    """
    n, k = near_distances.shape
    order, starts = kd[1], kd[2]
    largest = 0
    for node in range(starts.shape[0]):
        if 2 * node + 1 >= starts.shape[0]:
            size = starts[node, 1] - starts[node, 0]
            largest = size if size > largest else largest
    near, stack, bounds = np.empty(largest), np.empty(128, dtype=np.int64), np.empty(128)
    parent = np.arange(n)
    component = np.arange(n)
    components = np.empty(starts.shape[0], dtype=np.int64)
    lower_bound = np.zeros(n)  # no point outside the component is nearer
    outside = np.full(n, -1)  # the point found at that distance
    used = np.zeros(n, dtype=np.int64)
    shortest, source, target = np.empty(n), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    done = 0
    while done < n - 1:
        for c in range(n):
            shortest[c], source[c] = np.inf, -1
        for i in range(n):
            c = component[i]
            while used[i] < k and component[near_indices[i, used[i]]] == c:
                used[i] += 1
            if used[i] < k:
                d, j = near_distances[i, used[i]], near_indices[i, used[i]]
            else:
                if near_distances[i, k - 1] > lower_bound[i]:
                    lower_bound[i] = near_distances[i, k - 1]
                if outside[i] < 0 or component[outside[i]] == c:
                    continue
                d, j = lower_bound[i], outside[i]
            if source[c] < 0 or _shorter(d, i, j, shortest[c], source[c], target[c]):
                shortest[c], source[c], target[c] = d, i, j
        _component_of_nodes(order, starts, component, components)
        for s in range(n):
            i = order[s]
            c = component[i]
            if (
                used[i] < k
                or (outside[i] >= 0 and component[outside[i]] != c)
                or lower_bound[i] > shortest[c]
            ):
                continue
            d, j = _nearest_outside(
                z[i], i, shortest[c], kd, kind, component, components, near, stack, bounds
            )
            lower_bound[i] = d if d > lower_bound[i] else lower_bound[i]
            if j >= 0:
                outside[i] = j
                if source[c] < 0 or _shorter(d, i, j, shortest[c], source[c], target[c]):
                    shortest[c], source[c], target[c] = d, i, j
        done = _merge_components(
            source, target, shortest, parent, component, first, second, height, done
        )


@compiled(inline="always")
def _merge_components(source, target, shortest, parent, component, first, second, height, done):
    """Add the shortest edge of every component and relabel; returns the number of edges so far."""
    for c in range(source.size):
        if source[c] >= 0:
            a, b = find_root(parent, source[c]), find_root(parent, target[c])
            if a != b:
                first[done], second[done], height[done] = source[c], target[c], shortest[c]
                parent[a if a > b else b] = b if a > b else a
                done += 1
    for i in range(source.size):
        component[i] = find_root(parent, i)
    return done


@compiled
def prim(columns, name, square, nearest, point, near, first, second, height):
    """Prim: one tree adds the nearest point outside it, by squared Euclidean distance.

    ``columns`` (d x n) and ``name`` (0 … n − 1) are overwritten: points of the tree are removed
    from the arrays. ``square`` is infinite; there is room for the ``nearest`` of each point in the
    tree, for a ``point``, and for distances ``near`` of all points.
    """
    d, n = columns.shape
    for j in range(d):
        point[j] = columns[j, n - 1]
    here, left = n - 1, n - 1
    for step in range(n - 1):
        least, at = np.inf, 0
        squares_to_points(point, columns, FIRST, left, near)
        for s in range(left):
            value = square[s]
            if near[s] < value:
                value = near[s]
                square[s], nearest[s] = value, here
            if value < least:
                least, at = value, s
        first[step], second[step], height[step] = nearest[at], name[at], least
        here = name[at]
        left -= 1
        for j in range(d):
            point[j] = columns[j, at]
            columns[j, at] = columns[j, left]
        name[at], square[at], nearest[at] = name[left], square[left], nearest[left]
