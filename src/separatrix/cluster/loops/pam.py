"""Swaps of k-medoids: what every exchange of a medoid for another row would change, row by row.

For every row keep the distance to its nearest and second nearest medoid. Taking row c as a medoid
in place of medoid m changes the loss by

    shared(c) + removal(m) + Σ over rows of m of what c makes up for

so one look at the distances from c, d(c, ·), prices the exchange with all k medoids at once
(Schubert and Rousseeuw, FasterPAM).
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def two_nearest(distance, medoids, near, next_near, first, second, start, stop):
    """Position among the medoids of the nearest and second nearest of rows ``start:stop``."""
    for i in range(start, stop):
        a, b = -1, -1
        one, two = np.inf, np.inf
        for m in range(medoids.size):
            d = np.float64(distance[medoids[m], i])
            if d < one:
                b, two = a, one
                a, one = m, d
            elif d < two:
                b, two = m, d
        near[i], next_near[i], first[i], second[i] = a, b, one, two


@njit(cache=True, nogil=True)
def exchanged(distance, medoids, m, near, next_near, first, second):
    """After medoid m became another row: the same as :func:`two_nearest`, which is only needed
    for rows that had m among their two; the others compare the new medoid with what they have."""
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


@njit(cache=True, nogil=True)
def removals(near, first, second, weight, out):
    """What the loss would gain by dropping each medoid: its rows go to their second nearest."""
    out[:] = 0.0
    for i in range(near.size):
        out[near[i]] += weight[i] * (second[i] - first[i])


@njit(cache=True, nogil=True)
def price(distance, near, first, second, weight, removal, start, stop, change, which):
    """Best exchange of every candidate row ``start:stop``: change of the loss, and the medoid."""
    total = np.empty(removal.size)
    for c in range(start, stop):
        shared = 0.0
        for m in range(removal.size):
            total[m] = removal[m]
        for i in range(near.size):
            d = np.float64(distance[c, i])
            if d < second[i]:
                if d < first[i]:
                    shared += weight[i] * (d - first[i])
                    total[near[i]] += weight[i] * (first[i] - second[i])
                else:
                    total[near[i]] += weight[i] * (d - second[i])
        best = total.argmin()
        change[c], which[c] = total[best] + shared, best


@njit(cache=True, nogil=True)
def relief(distance, first, weight, start, stop, out):
    """What each candidate row ``start:stop`` would take off the loss as one more medoid."""
    for c in range(start, stop):
        gain = 0.0
        for i in range(first.size):
            short = first[i] - np.float64(distance[c, i])
            if short > 0.0:
                gain += weight[i] * short
        out[c] = gain


@njit(cache=True, nogil=True)
def totals_within(distance, members, weight, out):
    """Σ w d(c, ·) over the members of a cluster, for each of them."""
    for a in range(members.size):
        total = 0.0
        row = members[a]
        for b in range(members.size):
            total += weight[members[b]] * np.float64(distance[row, members[b]])
        out[a] = total
