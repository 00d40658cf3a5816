"""Passes over a tree of merges. Merge s makes node n + s of the nodes left[s] and right[s]."""

from __future__ import annotations

import numpy as np

from separatrix.compilation import compiled


@compiled
def subtree_heights(left, right, height, out):
    """The largest height of all merges in the subtree of every merge, its own included."""
    n = left.size + 1
    for s in range(n - 1):
        highest = height[s]
        for side in range(2):
            child = left[s] if side == 0 else right[s]
            if child >= n and out[child - n] > highest:
                highest = out[child - n]
        out[s] = highest


@compiled
def labels_of_merges(left, right, made, out):
    """Cluster labels of the leaves if only the merges ``made`` are; numbered by first appearance.

    The merges inside a merge that is made must be made too.
    """
    n = left.size + 1
    top = np.arange(2 * n - 1)
    for s in range(n - 2, -1, -1):
        if made[s]:
            top[left[s]] = top[right[s]] = top[n + s]
    label = np.full(2 * n - 1, -1)
    found = 0
    for i in range(n):
        r = top[i]
        if label[r] < 0:
            label[r] = found
            found += 1
        out[i] = label[r]


@compiled
def first_leaf_position(left, right, size, start):
    """Position of the first leaf of every node if the tree is drawn with left before right."""
    n = left.size + 1
    start[2 * n - 2] = 0
    for s in range(n - 2, -1, -1):
        a, b = left[s], right[s]
        start[a] = start[n + s]
        start[b] = start[a] + (size[a - n] if a >= n else 1)
