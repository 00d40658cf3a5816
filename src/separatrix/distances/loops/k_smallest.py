"""The k smallest of many distances, in a max-heap of (distance, index) pairs."""

from __future__ import annotations

import numpy as np

from separatrix.compilation import compiled
from separatrix.distances.loops.extremes import some_within

CHUNK = 128


@compiled
def precedes(d, i, e, j):
    """Whether (distance d, index i) < (e, j) in lexicographic order."""
    return d < e or (d == e and i < j)


@compiled
def _sift_down(distances, indices, size, at, d, i):
    """Insert (d, i) at position ``at`` or below, restoring the max-heap."""
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        right = child + 1
        if right < size and precedes(
            distances[child], indices[child], distances[right], indices[right]
        ):
            child = right
        if precedes(distances[child], indices[child], d, i):
            break
        distances[at], indices[at] = distances[child], indices[child]
        at = child
    distances[at], indices[at] = d, i


@compiled
def push(distances, indices, size, d, i):
    """Push (d, i) on the max-heap, which drops its maximum if it is full; the new size."""
    if size == distances.size:
        if precedes(d, i, distances[0], indices[0]):
            _sift_down(distances, indices, size, np.int64(0), d, i)  # no variant of a literal
        return size
    at = size
    while at > 0:
        parent = (at - 1) // 2
        if precedes(d, i, distances[parent], indices[parent]):
            break
        distances[at], indices[at] = distances[parent], indices[parent]
        at = parent
    distances[at], indices[at] = d, i
    return size + 1


@compiled
def sort_heap(distances, indices, size):
    """Heapsort in place, smallest distance first."""
    for at in range(size // 2 - 1, -1, -1):
        _sift_down(distances, indices, size, at, distances[at], indices[at])
    for end in range(size - 1, 0, -1):
        d, i = distances[end], indices[end]
        distances[end], indices[end] = distances[0], indices[0]
        _sift_down(distances, indices, end, np.int64(0), d, i)


@compiled
def push_columns(scores, offset, distances, indices, sizes):
    """Push every column of ``scores`` (q x m) on the heap of its row, with indices from ``offset``.

    Chunks without a distance below the heap's maximum are skipped as a whole.
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
                    size = push(distances[i], indices[i], size, row[j], offset + j)
        sizes[i] = size
