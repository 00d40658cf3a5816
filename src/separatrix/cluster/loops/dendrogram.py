"""Walks through a tree of merges. Merge s makes node n + s of the nodes left[s] and right[s]."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def highest_inside(left, right, height, out):
    """For every merge the greatest height of all merges inside it, its own included."""
    n = left.size + 1
    for s in range(n - 1):
        out[s] = height[s]
        for child in (left[s], right[s]):
            if child >= n:
                out[s] = max(out[s], out[child - n])


@njit(cache=True, nogil=True)
def labels_under(left, right, joined, out):
    """Clusters of the leaves if only some merges are made; numbered by first appearance.

    ``joined`` must hold for everything inside a merge for which it holds.
    """
    n = left.size + 1
    root = np.arange(2 * n - 1)
    for s in range(n - 2, -1, -1):
        if joined[s]:
            root[left[s]] = root[right[s]] = root[n + s]
    number = np.full(2 * n - 1, -1)
    found = 0
    for i in range(n):
        r = root[i]
        if number[r] < 0:
            number[r] = found
            found += 1
        out[i] = number[r]


@njit(cache=True, nogil=True)
def places(left, right, size, start):
    """Where the leaves of every node begin if a tree is drawn with left before right."""
    n = left.size + 1
    start[2 * n - 2] = 0
    for s in range(n - 2, -1, -1):
        a, b = left[s], right[s]
        start[a] = start[n + s]
        start[b] = start[a] + (size[a - n] if a >= n else 1)
