"""K-means of tables that fit into the cache: plain distances, vectorized over the rows.

Bounds that skip rows cost more than they save there. Distances are sums of squared differences in
double precision, so that equal rows are at distance 0 exactly.
"""

from __future__ import annotations

import numpy as np
from numba import njit

#: Rows whose distances are computed together, in first-level cache.
TILE = 512


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def squares_to(columns, point, start, stop, acc):
    """acc[i] = ‖x − point‖² of the rows ``start:stop``; ``columns`` is d x n."""
    m = stop - start
    out = acc[:m]
    out[:] = 0.0
    for f in range(columns.shape[0]):
        value, column = point[f], columns[f, start:stop]
        for i in range(m):
            step = column[i] - value
            out[i] += step * step


@njit(cache=True, nogil=True)
def pair_distances(rows, columns, out):
    """out[i, j] = ‖xᵢ − xⱼ‖; symmetric, with a diagonal of zeros."""
    n = rows.shape[0]
    for i in range(n):
        for start in range(0, n, TILE):
            stop = min(start + TILE, n)
            squares_to(columns, rows[i], start, stop, out[i, start:stop])
        for j in range(n):
            out[i, j] = np.sqrt(out[i, j])


@njit(cache=True, nogil=True)
def _draw(loss, cumulative, u):
    """The row at which the cumulative loss passes the fraction u; never one of loss zero."""
    last = loss.size - 1
    while last > 0 and loss[last] == 0.0:
        last -= 1
    found = np.searchsorted(cumulative, u * cumulative[-1], side="right")
    return min(found, last)


@njit(cache=True, nogil=True)
def plusplus(rows, columns, weight, k, trials, u):
    """Indices of k-means++ centers by the uniform numbers ``u``, ``trials`` for each but the first.

    Of the candidates the one that leaves the least inertia is taken. When every row equals a
    center already, centers repeat rows.
    """
    n = rows.shape[0]
    chosen = np.empty(k, np.int64)
    nearest, closer, best = np.empty(n), np.empty(n), np.empty(n)
    heavy = np.cumsum(weight)
    chosen[0] = _draw(weight, heavy, u[0])
    squares_to(columns, rows[chosen[0]], 0, n, nearest)
    used = 1
    for j in range(1, k):
        loss = weight * nearest
        cumulative = np.cumsum(loss)
        if cumulative[-1] <= 0.0:
            chosen[j] = _draw(weight, heavy, u[used])
            used += trials
            continue
        least = np.inf
        for t in range(trials):
            candidate = _draw(loss, cumulative, u[used + t])
            squares_to(columns, rows[candidate], 0, n, closer)
            total = 0.0
            for i in range(n):
                closer[i] = min(closer[i], nearest[i])
                total += weight[i] * closer[i]
            if total < least:
                least, chosen[j] = total, candidate
                best[:] = closer
        nearest[:] = best
        used += trials
    return chosen


@njit(cache=True, nogil=True)
def _assign(columns, centers, label, least, acc):
    """Move every row to its nearest center, the first of equally near ones; how many moved."""
    n, moved = label.size, 0
    new = np.empty(TILE, np.int32)
    for start in range(0, n, TILE):
        stop = min(start + TILE, n)
        m = stop - start
        near = least[start:stop]
        near[:] = np.inf
        for c in range(centers.shape[0]):
            squares_to(columns, centers[c], start, stop, acc)
            for i in range(m):
                better = acc[i] < near[i]
                near[i] = acc[i] if better else near[i]
                new[i] = c if better else new[i]
        own = label[start:stop]
        for i in range(m):
            moved += own[i] != new[i]
            own[i] = new[i]
    return moved


@njit(cache=True, nogil=True)
def _totals(rows, weight, label, sums, cluster_weight, count):
    """Sums, weights and counts of the clusters, from all rows."""
    sums[:], cluster_weight[:], count[:] = 0.0, 0.0, 0
    for i in range(label.size):
        a, w = label[i], weight[i]
        cluster_weight[a] += w
        count[a] += 1
        for f in range(rows.shape[1]):
            sums[a, f] += w * rows[i, f]


@njit(cache=True, nogil=True)
def _fill_empty_clusters(rows, weight, label, least, sums, cluster_weight, count):
    """Every empty cluster gets the row that adds most to the inertia; how many were filled."""
    filled = 0
    for j in range(count.size):
        if count[j] > 0:
            continue
        i, most = -1, 0.0
        for r in range(label.size):
            if weight[r] * least[r] > most and count[label[r]] > 1:
                i, most = r, weight[r] * least[r]
        if i < 0:
            return filled  # every row equals its center
        label[i], least[i] = j, 0.0
        _totals(rows, weight, label, sums, cluster_weight, count)
        filled += 1
    return filled


@njit(cache=True, nogil=True)
def lloyd(rows, columns, weight, centers, max_iter, label, cluster_weight):
    """Lloyd iterations; (iterations, whether no row moved in the last, inertia).

    ``centers`` (k x d), ``label`` and ``cluster_weight`` are overwritten.
    """
    (n, d), k = rows.shape, centers.shape[0]
    least, acc = np.empty(n), np.empty(TILE)
    sums, count = np.empty((k, d)), np.empty(k, np.int64)
    label[:] = -1
    iterations, converged = 0, False
    while iterations < max_iter:
        iterations += 1
        moved = _assign(columns, centers, label, least, acc)
        _totals(rows, weight, label, sums, cluster_weight, count)
        moved += _fill_empty_clusters(rows, weight, label, least, sums, cluster_weight, count)
        if moved == 0:
            converged = True
            break
        for a in range(k):
            if count[a] > 0:
                for f in range(d):
                    centers[a, f] = sums[a, f] / cluster_weight[a]
    if not converged:
        _assign(columns, centers, label, least, acc)
        _totals(rows, weight, label, sums, cluster_weight, count)
    inertia = 0.0
    for i in range(n):
        inertia += weight[i] * least[i]
    return iterations, converged, inertia
