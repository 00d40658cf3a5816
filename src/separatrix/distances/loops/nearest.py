"""The k smallest of many numbers, kept in order while they stream by."""

from __future__ import annotations

import numpy as np
from numba import njit

from separatrix.distances.loops.extremes import some_within

CHUNK = 128


@njit(cache=True, nogil=True)
def before(d, i, e, j):
    """Whether (distance d, number i) comes before (e, j): nearer, or as near and earlier."""
    return d < e or (d == e and i < j)


@njit(cache=True, nogil=True)
def _sink(distances, numbers, size, at, d, i):
    """Place (d, i) at or below ``at`` in a heap whose top is the last in order."""
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        right = child + 1
        if right < size and before(
            distances[child], numbers[child], distances[right], numbers[right]
        ):
            child = right
        if before(distances[child], numbers[child], d, i):
            break
        distances[at], numbers[at] = distances[child], numbers[child]
        at = child
    distances[at], numbers[at] = d, i


@njit(cache=True, nogil=True)
def keep(distances, numbers, size, d, i):
    """Insert (d, i) into a heap whose top is the last in order; drop the top if it is full."""
    if size == distances.size:
        if before(d, i, distances[0], numbers[0]):
            _sink(distances, numbers, size, 0, d, i)
        return size
    at = size
    while at > 0:
        parent = (at - 1) // 2
        if before(d, i, distances[parent], numbers[parent]):
            break
        distances[at], numbers[at] = distances[parent], numbers[parent]
        at = parent
    distances[at], numbers[at] = d, i
    return size + 1


@njit(cache=True, nogil=True)
def in_order(distances, numbers, size):
    """Sort from near to far, in place."""
    for at in range(size // 2 - 1, -1, -1):
        _sink(distances, numbers, size, at, distances[at], numbers[at])
    for end in range(size - 1, 0, -1):
        d, i = distances[end], numbers[end]
        distances[end], numbers[end] = distances[0], numbers[0]
        _sink(distances, numbers, end, 0, d, i)


@njit(cache=True, nogil=True)
def sift(scores, offset, distances, numbers, sizes):
    """Offer every column of ``scores`` (q x m) to the heap of its row, numbered from ``offset``.

    Nearly all are too far, and whole chunks are passed over.
    """
    q, m = scores.shape
    k = distances.shape[1]
    for i in range(q):
        row = scores[i]
        size = sizes[i]
        for start in range(0, m, CHUNK):
            stop = min(start + CHUNK, m)
            if size == k and not some_within(row, start, stop, distances[i, 0]):
                continue
            for j in range(start, stop):
                if size < k or row[j] <= distances[i, 0]:
                    size = keep(distances[i], numbers[i], size, row[j], offset + j)
        sizes[i] = size


@njit(cache=True, nogil=True)
def measured_again(x, z, numbers, limits, distances, chosen, doubtful):
    """Exact squared distances of the candidates; the k nearest of each row, near to far.

    ``limits[i]`` is a lower bound on the distance of every point that is no candidate of row i: if
    the k-th nearest candidate is not below it, another point might be nearer: the row is marked.
    """
    k = distances.shape[1]
    m = numbers.shape[1]
    found = np.empty(m)
    for i in range(x.shape[0]):
        for c in range(m):
            total = 0.0
            for j in range(x.shape[1]):
                t = x[i, j] - z[numbers[i, c], j]
                total += t * t
            found[c] = total
        in_order(found, numbers[i], m)
        for c in range(k):
            distances[i, c], chosen[i, c] = found[c], numbers[i, c]
        doubtful[i] = found[k - 1] >= limits[i]
