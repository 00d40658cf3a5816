"""K-means of tables that fit into the cache: plain distances, vectorized over the rows.

Bounds that skip rows cost more than they save there. Distances are sums of squared differences in
double precision, so that equal rows are at distance 0 exactly.

Loops are written out: an assignment of one array to another, a search in a sorted array, or a
function compiled by itself each take longer to compile than a whole loop here.
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


@compiled(fastmath={"contract", "nsz"})
def plusplus(rows, columns, weight, trials, u, chosen, squares):
    """Indices of k-means++ centers by the uniform numbers ``u``, ``trials`` for each but the first.

    A candidate is the row at which the cumulative loss w ‖x − c‖² passes the fraction u of its
    total, and never one of loss zero: rounding may leave the end of the sum below its total. Of the
    candidates the one that leaves the least inertia is taken. When every row equals a center
    already, centers repeat rows. ``squares`` (3 x n) is overwritten.
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
            passed, candidate = 0.0, 0
            for i in range(n):
                loss = weight[i] * nearest[i]
                passed += loss
                if loss > 0.0:
                    candidate = i
                    if passed > u[t] * total:
                        break
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


@compiled(fastmath={"contract", "nsz"})
def lloyd(
    rows, columns, weight, centers, max_iter, label, cluster_weight, sums, count, least,
    new, near, acc,
):  # fmt: skip
    """Lloyd iterations, up to an empty cluster; how many, and how many rows the last one moved.

    Every row moves to its nearest center, the first of equally near ones, and centers to the means
    of their rows, but for the last time. ``centers`` (k x d), ``label``, ``cluster_weight``, the
    ``sums`` (k x d) and ``count`` of the clusters and the ``least`` squares of the rows are
    overwritten; the last three arrays are work space of ``TILE`` numbers.
    """
    n, d, iterations = rows.shape[0], rows.shape[1], 0
    while True:
        moved, empty = 0, 0
        for a in range(count.size):
            cluster_weight[a], count[a] = 0.0, 0
            for f in range(d):
                sums[a, f] = 0.0
        for start in range(0, n, TILE):
            stop = start + TILE if start + TILE < n else n
            for i in range(stop - start):
                near[i] = np.inf
            for c in range(centers.shape[0]):
                squares_to(columns, centers, c, start, stop, acc)
                for i in range(stop - start):
                    better = acc[i] < near[i]
                    near[i] = acc[i] if better else near[i]
                    new[i] = c if better else new[i]
            for i in range(start, stop):
                moved += label[i] != new[i - start]
                label[i], least[i] = new[i - start], near[i - start]
        for i in range(n):
            a, w = label[i], weight[i]
            cluster_weight[a] += w
            count[a] += 1
            for f in range(d):
                sums[a, f] += w * rows[i, f]
        for a in range(count.size):
            empty += count[a] == 0
        if iterations == max_iter or moved == 0 or empty > 0:
            return iterations, moved
        iterations += 1
        for a in range(count.size):
            for f in range(d):
                centers[a, f] = sums[a, f] / cluster_weight[a]
