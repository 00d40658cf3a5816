"""Swaps of PAM: the change of the loss by replacing a medoid by another row.

With the distances of every row to its nearest and second nearest medoid, replacing medoid m by row
c changes the loss by

    common(c) + removal(m) + Σ over rows of m of what c makes up for

so that one pass over the distances d(c, ·) gives the changes for all k medoids at once (Schubert
and Rousseeuw 2021, FasterPAM).
"""

from __future__ import annotations

import numpy as np

from separatrix.compilation import compiled


@compiled
def two_nearest(distance, medoids, near, next_near, first, second, start, stop):
    """Nearest and second nearest medoid of the rows ``start:stop``, as positions in ``medoids``."""
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
        common, found, best = 0.0, 0, 0
        for m in range(removal.size):
            total[m] = removal[m]
        for i in range(near.size):
            hits[found] = i
            found += distance[c, i] < second[i]
        for h in range(found):
            i = hits[h]
            d, one = np.float64(distance[c, i]), first[i]
            common += weight[i] * ((d if d < one else one) - one)
            total[near[i]] += weight[i] * ((one if d < one else d) - second[i])
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
