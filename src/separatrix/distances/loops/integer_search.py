"""Nearest points by bounds from integer products: packing, the scan, and exact distances.

Candidates of a row have bounds low ≤ t ≤ high on t = ½‖z‖² − x·z. The k-th smallest upper
bound limits what can still be among the k nearest. Where bounds leave too many candidates, and at
the end, their distances are computed in double precision, feature after feature.
"""

from __future__ import annotations

import numpy as np

from separatrix.compilation import compiled
from separatrix.distances.loops.integer_products import (
    ERROR,
    HALF,
    LIMIT,
    POINTS,
    ROWS,
    lower_bounds,
)

#: The norm of a vector of integers: no sum of products leaves 32 bits, no integer 16.
LARGEST_NORM = 32766.0
#: Relative rounding error of bounds in single precision, with room to spare.
ROUNDING = 1e-6


@compiled(fastmath={"reassoc", "contract"})
def _sum_of_squares(values):
    total = 0.0
    for j in range(values.size):
        total += values[j] * values[j]
    return total


@compiled
def pack(x, center, inverse, first, stop, row, packed, measures):
    """Rows in groups first … stop as pairs of integers: x ≈ center + scale · integers / inverse.

    ``packed`` is (groups x pairs x width); ``measures[i]`` are the norm of row i, its scale, and
    the norm of what the integers leave. ``row`` has room for one row, with zeros beyond it.
    """
    n, d = x.shape
    width, pairs = packed.shape[2], packed.shape[1]
    for i in range(first * width, stop * width):
        group, lane = i // width, i % width
        scale = factor = 0.0
        if i < n:
            for j in range(d):
                row[j] = (x[i, j] - center[j]) * inverse
            measures[i, 0] = np.sqrt(_sum_of_squares(row))
            measures[i, 1] = scale = measures[i, 0] / LARGEST_NORM
            factor = 1.0 / scale if scale > 0.0 else 0.0
        for h in range(pairs):
            even, odd = np.rint(row[2 * h] * factor), np.rint(row[2 * h + 1] * factor)
            packed[group, h, lane] = (np.int64(odd) << 16) | (np.int64(even) & 0xFFFF)
            row[2 * h] -= even * scale
            row[2 * h + 1] -= odd * scale
        if i < n:
            measures[i, 2] = np.sqrt(_sum_of_squares(row))


@compiled
def squares(x, i, z, at, size, out):
    """‖x − z‖² of row i and its candidates, summed in the order of features, four side by side."""
    for s in range(0, size, 4):
        one = s + 1 if s + 1 < size else size - 1
        two = s + 2 if s + 2 < size else size - 1
        three = s + 3 if s + 3 < size else size - 1
        a, b, c, e = at[i, s], at[i, one], at[i, two], at[i, three]
        p = q = r = u = 0.0
        for j in range(x.shape[1]):
            v = x[i, j]
            p += (v - z[a, j]) * (v - z[a, j])
            q += (v - z[b, j]) * (v - z[b, j])
            r += (v - z[c, j]) * (v - z[c, j])
            u += (v - z[e, j]) * (v - z[e, j])
        out[three] = u
        out[two] = r
        out[one] = q
        out[s] = p


@compiled
def _sort(values, at, i, size):
    """Shell's sort of candidates by (value, index)."""
    gap = 1
    while gap < size // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for s in range(gap, size):
            v, j, t = values[s], at[i, s], s
            while t >= gap and (
                values[t - gap] > v or (values[t - gap] == v and at[i, t - gap] > j)
            ):
                values[t], at[i, t] = values[t - gap], at[i, t - gap]
                t -= gap
            values[t], at[i, t] = v, j
        gap //= 3


@compiled
def _limit(low, high, at, i, size, k, slack, work):
    """Drop candidates of row i that k others certainly precede; the new size, and the new limit."""
    if size <= k:
        return size, np.inf
    for s in range(size):
        work[s] = high[i, s]
    first, last = 0, size - 1
    while first < last:  # quickselect of the k-th smallest upper bound
        pivot = work[(first + last) // 2]
        s, t = first, last
        while s <= t:
            while work[s] < pivot:
                s += 1
            while work[t] > pivot:
                t -= 1
            if s <= t:
                work[s], work[t] = work[t], work[s]
                s += 1
                t -= 1
        if k - 1 <= t:
            last = t
        elif k - 1 >= s:
            first = s
        else:
            break
    limit = work[k - 1] + slack
    left = 0
    for s in range(size):
        if low[i, s] <= limit:
            low[i, left], high[i, left], at[i, left] = low[i, s], high[i, s], at[i, s]
            left += 1
    return left, limit


@compiled
def scan(
    x, z, rows, tiles, points, of_rows, norms, slack, inverse, first, last, block,
    low, high, at, sizes, bounds, work, found, nearest,
):  # fmt: skip
    """The k nearest points of every row of x, of those in the tiles first … last.

    ``found`` are squared distances, ``nearest`` indices, nearest first; ``slack`` is a bound on the
    rounding errors of distances. ``low``, ``high`` and ``at`` have room for the candidates of each
    row, of which there are ``sizes``, ``bounds`` for those of a product and ``work`` for one row.
    """
    q, k, room = x.shape[0], found.shape[1], work.size
    for start in range(first, last, block):
        stop = start + block if start + block < last else last
        for group in range(rows.shape[0]):
            for tile in range(start, stop):
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
                        left, limit = _limit(low, high, at, i, room, k, slack[i], work)
                        if left > room - k:  # bounds do not tell them apart
                            squares(x, i, z, at, left, work)
                            _sort(work, at, i, left)
                            left = k
                            for t in range(k):
                                exact = work[t] * inverse * inverse - norms[i] * norms[i]
                                low[i, t] = high[i, t] = 0.5 * exact
                            limit = high[i, k - 1] + slack[i]
                        # in single precision, rounded up
                        of_rows[group, LIMIT, r] = limit + 2e-7 * abs(limit)
                        sizes[i] = left
    for i in range(q):
        size, _ = _limit(low, high, at, i, sizes[i], k, slack[i], work)
        squares(x, i, z, at, size, work)
        _sort(work, at, i, size)
        for s in range(k):
            found[i, s], nearest[i, s] = work[s], at[i, s]
