"""Passes over a tree of merges. Merge s makes node n + s of the nodes left[s] and right[s]."""

from __future__ import annotations

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
