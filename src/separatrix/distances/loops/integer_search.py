"""Nearest points by bounds from integer products: packing, the scan, and exact distances.

Candidates of a row have bounds low ≤ t ≤ high on t = ½‖z‖² − x·z. The k-th smallest upper
bound limits what can still be among the k nearest. Where bounds leave too many candidates, and at
the end, their distances are computed in double precision, feature after feature.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from separatrix.distances.loops.integer_products import (
    ERROR,
    HALF,
    LIMIT,
    POINTS,
    ROWS,
    lower_bounds,
)
from separatrix.distances.loops.k_smallest import sort_heap

#: The norm of a vector of integers: no sum of products leaves 32 bits, no integer 16.
LARGEST_NORM = 32766.0
#: Relative rounding error of bounds in single precision, with room to spare.
ROUNDING = 1e-6


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _sum_of_squares(values):
    total = 0.0
    for j in range(values.size):
        total += values[j] * values[j]
    return total


@njit(cache=True, nogil=True)
def pack(x, center, inverse, first, stop, packed, measures):
    """Rows in groups first … stop as pairs of integers: x ≈ center + scale · integers / inverse.

    ``packed`` is (groups x pairs x width); ``measures[i]`` are the norm of row i, its scale, and
    the norm of what the integers leave.
    """
    n, d = x.shape
    width, pairs = packed.shape[2], packed.shape[1]
    row = np.empty(d)
    whole = np.zeros((width, 2 * pairs), dtype=np.int16)
    joined = whole.view(np.int32)
    for group in range(first, stop):
        for lane in range(width):
            i = group * width + lane
            if i >= n:
                for j in range(d):
                    whole[lane, j] = 0
                continue
            for j in range(d):
                row[j] = (x[i, j] - center[j]) * inverse
            norm = np.sqrt(_sum_of_squares(row))
            scale = norm / LARGEST_NORM
            factor = 1.0 / scale if scale > 0.0 else 0.0
            for j in range(d):
                nearest = np.rint(row[j] * factor)
                whole[lane, j] = np.int16(nearest)
                row[j] -= nearest * scale
            measures[i, 0], measures[i, 1] = norm, scale
            measures[i, 2] = np.sqrt(_sum_of_squares(row))
        for h in range(pairs):
            for lane in range(width):
                packed[group, h, lane] = joined[lane, h]


@njit(cache=True, nogil=True)
def squares(x, z, at, size, out):
    """‖x − z‖² of the candidates ``at``, summed in the order of features, four side by side."""
    d, s = x.size, 0
    while s + 4 <= size:
        a, b, c, e = z[at[s]], z[at[s + 1]], z[at[s + 2]], z[at[s + 3]]
        p = q = r = u = 0.0
        for j in range(d):
            v = x[j]
            p += (v - a[j]) * (v - a[j])
            q += (v - b[j]) * (v - b[j])
            r += (v - c[j]) * (v - c[j])
            u += (v - e[j]) * (v - e[j])
        out[s], out[s + 1], out[s + 2], out[s + 3] = p, q, r, u
        s += 4
    while s < size:
        a, p = z[at[s]], 0.0
        for j in range(d):
            p += (x[j] - a[j]) * (x[j] - a[j])
        out[s] = p
        s += 1


@njit(cache=True, nogil=True)
def _kth(values, size, k):
    """The k-th smallest of the first ``size`` values, which are reordered: quickselect."""
    a, b, middle = 0, size - 1, k - 1
    while a < b:
        pivot = values[(a + b) // 2]
        i, j = a, b
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if middle <= j:
            b = j
        elif middle >= i:
            a = i
        else:
            break
    return values[middle]


@njit(cache=True, nogil=True)
def _limit(low, high, at, size, k, slack, work):
    """Drop candidates that k others certainly precede; the new size, and the new limit."""
    if size <= k:
        return size, np.inf
    for s in range(size):
        work[s] = high[s]
    limit = _kth(work, size, k) + slack
    left = 0
    for s in range(size):
        if low[s] <= limit:
            low[left], high[left], at[left] = low[s], high[s], at[s]
            left += 1
    return left, limit


@njit(cache=True, nogil=True)
def _measure(x, z, norm, inverse, low, high, at, size, k, work):
    """The k nearest candidates by their distances, which give t up to rounding."""
    squares(x, z, at, size, work)
    sort_heap(work, at, size)
    for s in range(k):
        low[s] = high[s] = 0.5 * (work[s] * inverse * inverse - norm * norm)


@njit(cache=True, nogil=True)
def scan(
    x, z, rows, tiles, points, of_rows, norms, slack, inverse, first, last, block, k, room,
    found, nearest,
):  # fmt: skip
    """The k nearest points of every row of x, of those in the tiles first … last.

    ``found`` are squared distances, ``nearest`` indices, nearest first. ``room`` candidates of each
    row are held at most; ``slack`` is a bound on the rounding errors of distances.
    """
    q = x.shape[0]
    low, high, at = np.empty((q, room)), np.empty((q, room)), np.empty((q, room), dtype=np.int64)
    sizes = np.zeros(q, dtype=np.int64)
    bounds, work = np.empty((ROWS, POINTS), dtype=np.float32), np.empty(room)
    for start in range(first, last, block):
        for group in range(rows.shape[0]):
            for tile in range(start, min(start + block, last)):
                near = lower_bounds(rows, group, tiles, tile, points, of_rows, bounds)
                if near == 0:
                    continue
                for r in range(ROWS):
                    if not (near >> r) & 1:
                        continue
                    i = group * ROWS + r
                    for p in range(POINTS):
                        if not bounds[r, p] <= of_rows[group, LIMIT, r]:
                            continue
                        s = sizes[i]
                        error = norms[i] * points[tile, ERROR, p] + ROUNDING * points[tile, HALF, p]
                        low[i, s], at[i, s] = bounds[r, p], tile * POINTS + p
                        high[i, s] = bounds[r, p] + 2.001 * error
                        sizes[i] = s + 1
                        if s + 1 < room:
                            continue
                        left, limit = _limit(low[i], high[i], at[i], room, k, slack[i], work)
                        if left > room - k:
                            _measure(
                                x[i], z, norms[i], inverse, low[i], high[i], at[i], left, k, work
                            )
                            left, limit = k, high[i, k - 1] + slack[i]
                        # in single precision, rounded up
                        of_rows[group, LIMIT, r] = limit + 2e-7 * abs(limit)
                        sizes[i] = left
    for i in range(q):
        size, _ = _limit(low[i], high[i], at[i], sizes[i], k, slack[i], work)
        squares(x[i], z, at[i], size, work)
        sort_heap(work, at[i], size)
        for s in range(k):
            found[i, s], nearest[i, s] = work[s], at[i, s]
