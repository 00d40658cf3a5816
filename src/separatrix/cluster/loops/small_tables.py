"""K-means of tables that fit into the cache: plain distances, vectorized over the rows.

Bounds that skip rows cost more than they save there. Distances are sums of squared differences in
double precision, so that equal rows are at distance 0 exactly.

Loops are written out and helpers are inlined: an assignment of one array to another, a search in a
sorted array, or a function compiled by itself each take longer to compile than a whole loop here.
"""

from __future__ import annotations

import numpy as np

from separatrix.compilation import compiled

#: Rows whose distances are computed together, in first-level cache.
TILE = 512


@compiled(inline="always")
def squares_to(columns, points, p, start, stop, out):
    """out[i] = ‖x − points[p]‖² of the rows ``start:stop``; ``columns`` is d x n."""
    for i in range(stop - start):
        out[i] = 0.0
    for f in range(columns.shape[0]):
        value, column = points[p, f], columns[f, start:stop]
        for i in range(stop - start):
            step = column[i] - value
            out[i] += step * step


@compiled(fastmath={"contract", "nsz"})
def pair_distances(rows, columns, out):
    """out[i, j] = ‖xᵢ − xⱼ‖; symmetric, with a diagonal of zeros."""
    n = rows.shape[0]
    for i in range(n):
        for start in range(0, n, TILE):
            stop = start + TILE if start + TILE < n else n
            squares_to(columns, rows, i, start, stop, out[i, start:stop])
        for j in range(n):
            out[i, j] = np.sqrt(out[i, j])


@compiled(inline="always")
def _draw(weight, nearest, total, u):
    """The row at which the cumulative loss w ‖x − c‖² passes the fraction u of its total.

    Never one of loss zero: rounding may leave the end of the sum below its total.
    """
    passed, found = 0.0, 0
    for i in range(weight.size):
        loss = weight[i] * nearest[i]
        passed += loss
        if loss > 0.0:
            found = i
            if passed > u * total:
                break
    return found


@compiled(fastmath={"contract", "nsz"})
def plusplus(rows, columns, weight, trials, u, chosen, squares):
    """Indices of k-means++ centers by the uniform numbers ``u``, ``trials`` for each but the first.

    Of the candidates the one that leaves the least inertia is taken. When every row equals a
    center already, centers repeat rows. ``squares`` (3 x n) is overwritten.
    """
    n, used = rows.shape[0], 0
    nearest, closer, best = squares[0], squares[1], squares[2]
    for i in range(n):
        nearest[i] = 1.0  # the first center is drawn by weight alone
    for j in range(chosen.size):
        total = 0.0
        for i in range(n):
            total += weight[i] * nearest[i]
        least = np.inf
        tried = trials if j > 0 else 1
        for t in range(used, used + tried):
            candidate = _draw(weight, nearest, total, u[t])
            squares_to(columns, rows, candidate, 0, n, closer)
            left = 0.0
            for i in range(n):
                if j > 0 and nearest[i] < closer[i]:
                    closer[i] = nearest[i]
                left += weight[i] * closer[i]
            if left < least:
                least, chosen[j] = left, candidate
                closer, best = best, closer
        nearest, best = best, nearest
        used += tried


@compiled(inline="always")
def _assign(columns, centers, label, new, least, acc):
    """Move every row to its nearest center, the first of equally near ones; how many moved."""
    n, moved = label.size, 0
    for start in range(0, n, TILE):
        stop = start + TILE if start + TILE < n else n
        near, own = least[start:stop], label[start:stop]
        for i in range(stop - start):
            near[i] = np.inf
        for c in range(centers.shape[0]):
            squares_to(columns, centers, c, start, stop, acc)
            for i in range(stop - start):
                better = acc[i] < near[i]
                near[i] = acc[i] if better else near[i]
                new[i] = c if better else new[i]
        for i in range(stop - start):
            moved += own[i] != new[i]
            own[i] = new[i]
    return moved


@compiled(inline="always")
def _totals(rows, weight, label, sums, cluster_weight, count):
    """Sums, weights and counts of the clusters, from all rows."""
    for a in range(count.size):
        cluster_weight[a], count[a] = 0.0, 0
        for f in range(rows.shape[1]):
            sums[a, f] = 0.0
    for i in range(label.size):
        a, w = label[i], weight[i]
        cluster_weight[a] += w
        count[a] += 1
        for f in range(rows.shape[1]):
            sums[a, f] += w * rows[i, f]


@compiled(inline="always")
def _fill_empty_clusters(rows, weight, label, least, sums, cluster_weight, count):
    """Every empty cluster gets the row that adds most to the inertia; how many were filled."""
    filled = 0
    for j in range(count.size):
        far, most = -1, 0.0
        for i in range(label.size if count[j] == 0 else 0):
            if weight[i] * least[i] > most and count[label[i]] > 1:
                far, most = i, weight[i] * least[i]
        if far >= 0:  # else every row equals its center
            a, w = label[far], weight[far]
            label[far], least[far] = j, 0.0
            count[a], count[j] = count[a] - 1, 1
            cluster_weight[a], cluster_weight[j] = cluster_weight[a] - w, w
            for f in range(rows.shape[1]):
                sums[j, f] = w * rows[far, f]
                sums[a, f] -= sums[j, f]
            filled += 1
    return filled


@compiled(fastmath={"contract", "nsz"})
def lloyd(
    rows, columns, weight, centers, max_iter, label, cluster_weight, sums, count, least, tile, acc
):  # fmt: skip
    """Lloyd iterations; (iterations, whether no row moved in the last, inertia).

    ``centers`` (k x d), ``label`` and ``cluster_weight`` are overwritten; the arrays after them are
    work space of k x d, k, n, ``TILE`` and ``TILE`` numbers.
    """
    iterations, converged = 0, False
    while True:
        moved = _assign(columns, centers, label, tile, least, acc)
        _totals(rows, weight, label, sums, cluster_weight, count)
        if iterations == max_iter:
            break
        iterations += 1
        moved += _fill_empty_clusters(rows, weight, label, least, sums, cluster_weight, count)
        if moved == 0:
            converged = True
            break
        for a in range(count.size):
            if count[a] > 0:
                for f in range(rows.shape[1]):
                    centers[a, f] = sums[a, f] / cluster_weight[a]
    inertia = 0.0
    for i in range(label.size):
        inertia += weight[i] * least[i]
    return iterations, converged, inertia
