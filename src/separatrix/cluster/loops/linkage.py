"""The loops of hierarchies and of medoids, compiled."""

from __future__ import annotations

import numpy as np

from separatrix.cluster.loops.kmeans import TILE
from separatrix.compilation import compiled
from separatrix.distances.loops import (
    first_least,
    larger,
    smaller,
    squares_to_points,
    to_box,
    to_points,
)

# -------------------------------------------------------------------------------------------------
# Loops of agglomerative clustering: the next two clusters to merge, and their distance.
#
# Clusters occupy slots 0 … n − 1: the union of slots a and b stays in one of them and the other is
# empty. Merges come out as (slot, slot, distance) and are sorted and numbered afterwards.


COMPLETE, AVERAGE, WEIGHTED, WARD = 0, 1, 2, 3
# An integer of NumPy: a number in the source would compile variants of its own of what is called.
FIRST = np.int64(0)
#: Slots up to which those that are empty stay where they are.
FEW_SLOTS = 256


@compiled(inline="always")
def _merge_distances(a, b, c, to_a, to_b, apart, kind):
    """The distance of the union of a and b to c, from theirs to c; all three sizes are given.

    Of Ward linkage that is the increase of the scatter, which is not less than the smaller of
    the two where a and b are nearest to each other: rounding must not make it so. It alone needs
    how far ``apart`` a and b are.
    """
    if kind == COMPLETE:
        return larger(to_a, to_b)
    if kind == WARD:
        increase = ((a + c) * to_a + (b + c) * to_b - c * apart) / (a + b + c)
        return larger(increase, smaller(to_a, to_b))
    weight = 0.5 if kind == WEIGHTED else a / (a + b)
    return weight * to_a + (1.0 - weight) * to_b


@compiled
def pair_distances(rows, others, pairs, start, first, second, size, kind, out):
    """Rows of distances to points become rows of distances to pairs first[k], second[k] of points.

    Row pairs[r] is itself that of a pair, whose second point has the distances others[r]; ``start``
    is the number of the first row, ``size`` has the weights of all points. Not for Ward linkage.
    """
    for r in range(pairs.size):
        row, pair = rows[pairs[r]], start + pairs[r]
        a, b = size[first[pair]], size[second[pair]]
        for i in range(row.size):
            row[i] = _merge_distances(a, b, 0.0, row[i], others[r, i], 0.0, kind)
    for i in range(out.shape[0]):
        for k in range(first.size):
            a, b = size[first[k]], size[second[k]]
            out[i, k] = _merge_distances(
                a, b, 0.0, rows[i, first[k]], rows[i, second[k]], 0.0, kind
            )


@compiled
def merge_slots(
    d, row_of, remaining, pair_of, first, second, size, apart, kind, start, stop, nearest, distance
):  # fmt: skip
    """Merge the slots first[p] and second[p] and leave out those that are not ``remaining``.

    Row ``row_of[i]`` of ``d`` has the distances of slot i to all; of the slots remaining[s] with
    s = start … stop it gets those of the unions to all that remain, in their order. ``pair_of`` is
    the pair of a slot, or −1, and ``apart`` the distance of the two. Of equally near slots the
    first is the nearest, so that some pair is always reciprocal.
    """
    for s in range(start, stop):
        row, pair, n = row_of[remaining[s]], pair_of[remaining[s]], size[remaining[s]]
        if pair >= 0:
            other, a, b, between = row_of[second[pair]], n, size[second[pair]], apart[pair]
            n = a + b
            for i in range(pair_of.size):
                d[row, i] = _merge_distances(a, b, size[i], d[row, i], d[other, i], between, kind)
        for p in range(first.size):
            i, k = first[p], second[p]
            d[row, i] = _merge_distances(size[i], size[k], n, d[row, i], d[row, k], apart[p], kind)
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
        tile, lane = slot // TILE, slot % TILE
        at, least = -1, np.inf
        for t in range(tiles.shape[0]):
            for i in range(TILE):
                squares[i] = 0.0
            for f in range(0, tiles.shape[1], 2):
                value, two = tiles[tile, f, lane], tiles[tile, f + 1, lane]
                for i in range(TILE):
                    u, v = tiles[t, f, i] - value, tiles[t, f + 1, i] - two
                    squares[i] += u * u + v * v
            low = np.inf
            for i in range(TILE):
                squares[i] *= size[tile, lane] * size[t, i] / (size[tile, lane] + size[t, i])
            if t == tile:
                squares[lane] = np.inf
            for i in range(TILE):
                low = smaller(low, squares[i])
            if low < least:
                at, least = 0, low
                while squares[at] > low:
                    at += 1
                at += t * TILE
        nearest[slot], increase[slot] = at, least


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
        a, b = size[tip], size[other]
        for s in range(n):
            row[s] = _merge_distances(a, b, size[s], d[tip, s], d[other, s], distance, kind)
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

    Merging a and b raises the scatter within clusters by |a||b|/(|a|+|b|) ‖μ_a − μ_b‖²: the
    ``height``. ``columns`` (d x slots) and ``size`` are overwritten; empty
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
        first[merge], second[merge], height[merge] = name[tip], name[other], closest
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


# -------------------------------------------------------------------------------------------------
# Minimum spanning trees: Borůvka with a k-d tree, and Prim.


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
    n_merged = 0
    while n_merged < n - 1:
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
        n_merged = _merge_components(
            source, target, shortest, parent, component, first, second, height, n_merged
        )


@compiled(inline="always")
def _merge_components(source, target, shortest, parent, component, first, second, height, n_merged):
    """Add the shortest edge of every component and relabel; returns the number of edges so far."""
    for c in range(source.size):
        if source[c] >= 0:
            a, b = find_root(parent, source[c]), find_root(parent, target[c])
            if a != b:
                first[n_merged], second[n_merged], height[n_merged] = (
                    source[c],
                    target[c],
                    shortest[c],
                )
                parent[a if a > b else b] = b if a > b else a
                n_merged += 1
    for i in range(source.size):
        component[i] = find_root(parent, i)
    return n_merged


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


# -------------------------------------------------------------------------------------------------
# Passes over a tree of merges. Merge s makes node n + s of the nodes left[s] and right[s].


@compiled
def subtree_heights(left, right, height, out):
    """The largest height of all merges in the subtree of every merge, its own included."""
    n = left.size + 1
    for s in range(n - 1):
        highest = height[s]
        for side in range(2):
            child = left[s] if side == 0 else right[s]
            if child >= n and out[child - n] > highest:
                highest = out[child - n]
        out[s] = highest


# -------------------------------------------------------------------------------------------------
# Swaps of PAM: the change of the loss by replacing a medoid by another row.
#
# With the distances of every row to its nearest and second nearest medoid, replacing medoid m by
# row c changes the loss by
#
#     common(c) + removal(m) + Σ over rows of m of what c makes up for
#
# so that one pass over the distances d(c, ·) gives the changes for all k medoids at once (Schubert
# and Rousseeuw 2021, FasterPAM).


@compiled
def two_nearest(distance, medoids, near, next_near, first, second, start, stop):
    """Nearest and second nearest medoid of the rows ``start:stop``, as positions in ``medoids``."""
    for i in range(start, stop):
        a, b = -1, -1
        nearest, two = np.inf, np.inf
        for m in range(medoids.size):
            d = np.float64(distance[medoids[m], i])
            if d < nearest:
                b, two = a, nearest
                a, nearest = m, d
            elif d < two:
                b, two = m, d
        near[i], next_near[i], first[i], second[i] = a, b, nearest, two


@compiled
def update_after_swap(distance, medoids, m, near, next_near, first, second):
    """Update the two nearest medoids after medoid m was replaced.

    Only rows that had m among their two need :func:`two_nearest`; for the others the new medoid is
    compared with those two.
    """
    row = distance[medoids[m]]
    for i in range(near.size):
        if near[i] == m or next_near[i] == m:
            two_nearest(distance, medoids, near, next_near, first, second, i, i + 1)
            continue
        d = np.float64(row[i])
        if d < first[i] or (d == first[i] and m < near[i]):
            next_near[i], second[i] = near[i], first[i]
            near[i], first[i] = m, d
        elif d < second[i] or (d == second[i] and m < next_near[i]):
            next_near[i], second[i] = m, d


@compiled
def removal_losses(near, first, second, weight, out):
    """Increase of the loss by removing each medoid: its rows go to their second nearest."""
    for m in range(out.size):
        out[m] = 0.0
    for i in range(near.size):
        out[near[i]] += weight[i] * (second[i] - first[i])


@compiled
def swap_changes(distance, near, first, second, weight, removal, start, stop, change, which):
    """Best swap of every candidate row ``start:stop``: change of the loss, and the medoid.

    Rows for which the candidate is nearer than the second nearest medoid are listed first, without
    a branch to mispredict.
    """
    total, hits = np.empty(removal.size), np.empty(near.size + 1, np.int64)
    for c in range(start, stop):
        common, n_shared, best = 0.0, 0, 0
        for m in range(removal.size):
            total[m] = removal[m]
        for i in range(near.size):
            hits[n_shared] = i
            n_shared += distance[c, i] < second[i]
        for h in range(n_shared):
            i = hits[h]
            d, nearest = np.float64(distance[c, i]), first[i]
            common += weight[i] * ((d if d < nearest else nearest) - nearest)
            total[near[i]] += weight[i] * ((nearest if d < nearest else d) - second[i])
        for m in range(removal.size):
            if total[m] < total[best]:
                best = m
        change[c], which[c] = total[best] + common, best


@compiled
def total_reductions(distance, first, weight, start, stop, out):
    """Reduction of the loss by each candidate row ``start:stop`` as an additional medoid."""
    for c in range(start, stop):
        gain = 0.0
        for i in range(first.size):
            reduction = first[i] - np.float64(distance[c, i])
            if reduction > 0.0:
                gain += weight[i] * reduction
        out[c] = gain


@compiled
def within_totals(distance, members, weight, out):
    """Σ w d(c, ·) over the members of a cluster, for each of them."""
    for a in range(members.size):
        total = 0.0
        row = members[a]
        for b in range(members.size):
            total += weight[members[b]] * np.float64(distance[row, members[b]])
        out[a] = total
