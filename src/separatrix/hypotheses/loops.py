"""The loops of boxes and ellipsoids, compiled."""

from __future__ import annotations

import numpy as np

from separatrix.compilation import compiled

# -------------------------------------------------------------------------------------------------
# Loops over the negative rows that bound a version space of boxes.
#
# A negative row is NaN in the columns where the most specific box contains its value: only a face
# in another column can leave it out.


@compiled
def filter_dominated(rows, lower, upper, chosen, most):
    """Mark the rows that no other implies: (how many, how many were looked at).

    A row is implied by one that is nearer in every column where that one is outside: a box without
    the nearer row is without the farther one. Rows come nearest first, so that only earlier rows
    can imply a row. After ``most`` comparisons the rest is marked unseen.
    """
    n, d = rows.shape
    count, work = 0, 0
    for i in range(n):
        implied = False
        if work < most:
            for k in range(count):
                work += 1
                at = chosen[k]
                implied = True
                for j in range(d):
                    v = rows[at, j]
                    if (v < lower[j] and not rows[i, j] <= v) or (
                        v > upper[j] and not rows[i, j] >= v
                    ):
                        implied = False
                        break
                if implied:
                    break
        if not implied:
            chosen[count] = i
            count += 1
    return count


@compiled
def free_of_rows(x, rows, lower, upper, result):
    """Whether the box around the most specific one and a point contains no negative row."""
    n, d = x.shape
    for i in range(n):
        result[i] = True
        for k in range(len(rows)):
            inside = True
            for j in range(d):
                v = rows[k, j]
                if v < min(lower[j], x[i, j]) or v > max(upper[j], x[i, j]):
                    inside = False
                    break
            if inside:
                result[i] = False
                break


@compiled
def can_stop_at(rows, lower, upper, at, column):
    """Whether some most general box has its face of this column at the negative row ``at``.

    It has if the box around the most specific one and the row, open at this face, contains no other
    negative row: it can then grow everywhere else without leaving the row out by another face.
    """
    d = rows.shape[1]
    face = rows[at, column]
    below = face < lower[column]
    for k in range(len(rows)):
        inside = True
        for j in range(d):
            v = rows[k, j]
            if j == column:
                if (v <= face or v > upper[j]) if below else (v >= face or v < lower[j]):
                    inside = False
                    break
                continue
            low, high = lower[j], upper[j]
            if rows[at, j] < low:
                low = rows[at, j]
            if rows[at, j] > high:
                high = rows[at, j]
            if v < low or v > high:
                inside = False
                break
        if inside:
            return False
    return True


@compiled
def common_faces(rows, lower, upper, common):
    """The faces of the box common to all most general ones, open; infinite where none has any."""
    n, d = rows.shape
    for j in range(d):
        common[0, j], common[1, j] = -np.inf, np.inf
        for i in range(n):
            v = rows[i, j]
            if v < lower[j] and v > common[0, j]:
                if can_stop_at(rows, lower, upper, i, j):
                    common[0, j] = v
            elif v > upper[j] and v < common[1, j] and can_stop_at(rows, lower, upper, i, j):
                common[1, j] = v


# -------------------------------------------------------------------------------------------------
# Branch and bound for the box of largest gain.
#
# A box is a range of positions lower … upper in every column. Positions number the distinct values
# of positive rows; a row between two of them has an odd code, 2·position + 1, and one at a position
# the code 2·position. The gain of a box is the sum of the signed weights of the rows inside.
#
# A node holds four positions for each column: the least and the largest lower face, the least and
# the largest upper face. Its boxes lie within its outer box and contain its inner box.


@compiled
def best_range(sums, first, first_last, last_first, last):
    """The range of largest sum, its ends within given limits: (sum, lower, upper)."""
    total, best = 0.0, -np.inf
    lowest, at = np.inf, first
    lower, upper = first, last
    for p in range(first, last + 1):
        if p <= first_last and total < lowest:
            lowest, at = total, p
        total += sums[2 * p]
        if p >= last_first and total - lowest > best:
            best, lower, upper = total - lowest, at, p
        if p < last:
            total += sums[2 * p + 1]
    return best, lower, upper


@compiled
def node_bound(codes, gains, node, sums, n_found):
    """An upper bound on the gain of the boxes of a node; ``found`` is a box of each column's best.

    In one column ranges are compared exactly: a positive row counts if it is in the outer box, a
    negative one if the other columns put it inside every box of the node.
    """
    n, d = codes.shape
    for j in range(d):
        for c in range(2 * node[0, j], 2 * node[3, j] + 1):
            sums[j, c] = 0.0
    for i in range(n):
        misses, which = 0, 0
        for j in range(d):
            c = codes[i, j]
            if c < 2 * node[0, j] or c > 2 * node[3, j]:
                misses = d + 2
                break
            if c < 2 * node[1, j] or c > 2 * node[2, j]:
                misses += 1
                which = j
        if misses > d:
            continue
        if gains[i] > 0.0 or misses == 0:
            for j in range(d):
                sums[j, codes[i, j]] += gains[i]
        elif misses == 1:
            sums[which, codes[i, which]] += gains[i]
    bound = np.inf
    for j in range(d):
        value, lower, upper = best_range(sums[j], node[0, j], node[1, j], node[2, j], node[3, j])
        n_found[0, j], n_found[1, j] = lower, upper
        bound = min(bound, value)
    return bound


@compiled
def gain_of(codes, gains, box):
    """The sum of the signed weights of the rows in a box."""
    n, d = codes.shape
    total = 0.0
    for i in range(n):
        inside = True
        for j in range(d):
            if codes[i, j] < 2 * box[0, j] or codes[i, j] > 2 * box[1, j]:
                inside = False
                break
        if inside:
            total += gains[i]
    return total


@compiled
def ascend(codes, gains, sizes, box, sums, misses):
    """Improve a box column by column, each range exactly, until none gains; returns its gain."""
    n, d = codes.shape
    for i in range(n):
        misses[i] = 0
        for j in range(d):
            if codes[i, j] < 2 * box[0, j] or codes[i, j] > 2 * box[1, j]:
                misses[i] += 1
    best = 0.0
    for i in range(n):
        if misses[i] == 0:
            best += gains[i]
    idle, j = 0, 0
    while idle < d:
        low, high = box[0, j], box[1, j]
        for c in range(2 * sizes[j] - 1):
            sums[j, c] = 0.0
        for i in range(n):
            c = codes[i, j]
            outside = c < 2 * low or c > 2 * high
            if misses[i] == 0 or (misses[i] == 1 and outside):
                sums[j, c] += gains[i]
        value, lower, upper = best_range(sums[j], 0, sizes[j] - 1, 0, sizes[j] - 1)
        if value > best + 1e-12 * abs(best):
            best, idle = value, 0
            box[0, j], box[1, j] = lower, upper
            for i in range(n):
                c = codes[i, j]
                before = c < 2 * low or c > 2 * high
                after = c < 2 * lower or c > 2 * upper
                misses[i] += (1 if after else 0) - (1 if before else 0)
        else:
            idle += 1
        j = j + 1 if j + 1 < d else 0
    return best


@compiled
def widest(codes, node, spread):
    """The face with the most rows between its two limits: (column, 0 for lower, 1 for upper)."""
    n, d = codes.shape
    for j in range(d):
        spread[0, j] = spread[1, j] = 0
    for i in range(n):
        inside = True
        for j in range(d):
            if codes[i, j] < 2 * node[0, j] or codes[i, j] > 2 * node[3, j]:
                inside = False
                break
        if not inside:
            continue
        for j in range(d):
            if codes[i, j] < 2 * node[1, j]:
                spread[0, j] += 1
            if codes[i, j] > 2 * node[2, j]:
                spread[1, j] += 1
    column, side, most = -1, 0, -1
    for j in range(d):
        for s in range(2):
            open_ = node[1, j] > node[0, j] if s == 0 else node[3, j] > node[2, j]
            if open_ and spread[s, j] > most:
                column, side, most = j, s, spread[s, j]
    return column, side


@compiled
def sift_up(order, bounds, k):
    """Restore a heap, largest bound first, after an entry was added at ``k``."""
    while k > 0:
        above = (k - 1) // 2
        if bounds[order[above]] >= bounds[order[k]]:
            break
        order[above], order[k] = order[k], order[above]
        k = above


@compiled
def sift_down(order, bounds, size):
    """Restore a heap after its first entry was replaced."""
    k = 0
    while 2 * k + 1 < size:
        below = 2 * k + 1
        if below + 1 < size and bounds[order[below + 1]] > bounds[order[below]]:
            below += 1
        if bounds[order[k]] >= bounds[order[below]]:
            break
        order[below], order[k] = order[k], order[below]
        k = below


@compiled
def split(node, column, side, half, child):
    """One half of a node: ``half`` 0 has the smaller positions of the face."""
    for f in range(4):
        for j in range(node.shape[1]):
            child[f, j] = node[f, j]
    least = 2 * side
    most = least + 1
    middle = (node[least, column] + node[most, column]) // 2
    if half == 0:
        child[most, column] = middle
    else:
        child[least, column] = middle + 1
    # A lower face is not above the upper one, whatever they are.
    if child[1, column] > child[3, column]:
        child[1, column] = child[3, column]
    if child[2, column] < child[0, column]:
        child[2, column] = child[0, column]


@compiled
def largest_gain(codes, gains, slack, box, best, nodes, bounds, order, sums, n_found, spread):
    """Best first, from a box of gain ``best``: (gain, bound, nodes); ``box`` becomes the best one.

    The bound is at least the gain of every box; it equals the gain, but for ``slack``, unless there
    were not ``nodes`` enough. The first node is given, the other arrays are to work in.
    """
    d = codes.shape[1]
    bounds[0] = node_bound(codes, gains, nodes[0], sums, n_found)
    size, made = 1, 1
    while size > 0 and bounds[order[0]] > best + slack and made + 2 <= len(bounds):
        at = order[0]
        size -= 1
        order[0] = order[size]
        sift_down(order, bounds, size)
        column, side = widest(codes, nodes[at], spread)
        if column < 0:  # one box alone, which ``found`` was: no bound above its gain
            continue
        for half in range(2):
            split(nodes[at], column, side, half, nodes[made])
            bound = node_bound(codes, gains, nodes[made], sums, n_found)
            bound = min(bound, bounds[at])
            value = gain_of(codes, gains, n_found)
            if value > best + slack:
                best = value
                for j in range(d):
                    box[0, j], box[1, j] = n_found[0, j], n_found[1, j]
            if bound > best + slack:
                bounds[made] = bound
                order[size] = made
                sift_up(order, bounds, size)
                size, made = size + 1, made + 1
    left = bounds[order[0]] if size > 0 else best
    return best, max(best, left), made


# -------------------------------------------------------------------------------------------------
# Steps of Khachiyan's method on points that are lifted by a 1.


@compiled
def weighted_steps(z, inverse, u, near, most, g, product):
    """At most ``most`` steps toward a point or away from one; changes ``u``; returns how many.

    ``inverse`` is that of M(u) = Σ u z zᵀ; it and gᵢ = zᵢᵀ M⁻¹ zᵢ are updated by rank one.
    ``product`` is to work in.
    """
    n, d = z.shape
    for i in range(n):
        g[i] = 0.0
        for a in range(d):
            for b in range(d):
                g[i] += z[i, a] * inverse[a, b] * z[i, b]
    for step in range(most):
        far, close = 0, -1
        for i in range(n):
            if g[i] > g[far]:
                far = i
            if u[i] > 0.0 and (close < 0 or g[i] < g[close]):
                close = i
        above, below = g[far] / d - 1.0, 1.0 - g[close] / d
        if above <= near and below <= near:
            return step
        at = far if above > below else close
        beta = -1.0
        if g[at] > 1.0:
            beta = (g[at] - d) / (d * (g[at] - 1.0))
        if at == close:
            beta = max(beta, -u[at] / (1.0 - u[at]))
        for a in range(d):
            product[a] = 0.0
            for b in range(d):
                product[a] += inverse[a, b] * z[at, b]
        # M ← (1 − β) M + β z zᵀ
        rest = 1.0 - beta
        shrink = beta / (rest + beta * g[at])
        for a in range(d):
            for b in range(d):
                inverse[a, b] = (inverse[a, b] - shrink * product[a] * product[b]) / rest
        for i in range(n):
            cross = 0.0
            for a in range(d):
                cross += product[a] * z[i, a]
            g[i] = (g[i] - shrink * cross * cross) / rest
            u[i] *= rest
        u[at] += beta
        if u[at] < 1e-15:
            u[at] = 0.0
    return most
