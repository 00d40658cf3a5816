"""Dendrograms: trees of merges with the distance of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints

#: A relative difference in height below this is rounding, not an inversion.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Dendrogram:
    """A tree of merges, which can be cut into clusters.

    Leaves are nodes 0 … n − 1 and merge s is node n + s. All methods take time in proportion to the
    number of leaves, but for :meth:`cophenetic`, which returns a number for every pair.

    Parameters
    ----------
    linkage : ndarray of shape (n_leaves - 1, 4)
        SciPy's table: two nodes, their distance, and the number of leaves of their union.

    See Also
    --------
    AgglomerativeClustering : Builds the tree from rows.
    silhouette : Compares the clusters of a cut.

    Examples
    --------
    >>> import separatrix as sx
    >>> tree = sx.Dendrogram([[0, 1, 1.0, 2], [2, 3, 1.5, 2], [4, 5, 4.0, 4]])
    >>> tree.cut(2).tolist(), tree.cut(level=1.2).tolist()
    ([0, 0, 1, 1], [0, 0, 1, 2])
    >>> tree.cophenetic().tolist()
    [1.0, 4.0, 4.0, 4.0, 4.0, 1.5]
    """

    linkage: Floats

    def __post_init__(self) -> None:
        table = np.ascontiguousarray(self.linkage, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != 4:
            raise InputError(
                f"A tree of merges is a table of 4 columns, not of shape {table.shape}.",
                remedy="Give linkage_ of a fitted AgglomerativeClustering, or SciPy's linkage(…).",
            )
        nodes, size = table[:, :2], np.ones(2 * len(table) + 1)
        merged = len(table) + 1 + np.arange(len(table))
        uses = np.bincount(nodes.astype(np.int64).clip(0).ravel(), minlength=2 * len(table) + 1)
        valid = np.isfinite(table).all() and bool((nodes >= 0).all())
        if not valid or (nodes >= merged[:, None]).any() or (uses[: 2 * len(table)] != 1).any():
            raise InputError(
                "Not a tree: every node but the last must merge once, after it is created."
            )
        size[merged] = table[:, 3]
        if (size[nodes.astype(np.int64)].sum(axis=1) != table[:, 3]).any():
            raise InputError("Not a tree: the size of a merge is not the sum of its parts.")
        object.__setattr__(self, "linkage", table)

    def __len__(self) -> int:
        """Number of leaves."""
        return len(self.linkage) + 1

    @property
    def left(self) -> Ints:
        """The first node of every merge."""
        return np.ascontiguousarray(self.linkage[:, 0].astype(np.int64))

    @property
    def right(self) -> Ints:
        """The second node of every merge."""
        return np.ascontiguousarray(self.linkage[:, 1].astype(np.int64))

    @property
    def sizes(self) -> Ints:
        """Leaves under every merge."""
        return np.ascontiguousarray(self.linkage[:, 3].astype(np.int64))

    @property
    def heights(self) -> Floats:
        """Distance of the two clusters of every merge, in the order of merging."""
        return np.ascontiguousarray(self.linkage[:, 2])

    @property
    def max_heights(self) -> Floats:
        """The largest height in the subtree of every merge."""
        heights = self.heights
        if (np.diff(heights) >= 0.0).all():
            return heights
        from separatrix.cluster.loops.dendrogram import subtree_heights  # compiled where needed

        out = np.empty(len(heights))
        subtree_heights(self.left, self.right, heights, out)
        return out

    @property
    def inversions(self) -> Ints:
        """Merges that are lower than one below them, as centroid linkage can have."""
        return np.flatnonzero(self.heights < self.max_heights * (1 - ROUNDING))

    @property
    def first_leaf(self) -> Ints:
        """For every node, the position of its first leaf among :attr:`leaves`."""
        n, left, right = len(self), self.left, self.right
        size = np.concatenate([np.ones(n, dtype=np.int64), self.sizes])
        offset, parent = np.zeros(2 * n - 1, dtype=np.int64), np.arange(2 * n - 1)
        offset[right] = size[left]
        parent[left] = parent[right] = np.arange(n, 2 * n - 1)
        # offsets to ever higher ancestors, twice as many levels at a time
        while (parent[:-1] != 2 * n - 2).any():
            offset += offset[parent]
            parent = parent[parent]
        return offset

    @property
    def leaves(self) -> Ints:
        """The leaves in an order in which no two branches cross."""
        order = np.empty(len(self), dtype=np.int64)
        order[self.first_leaf[: len(self)]] = np.arange(len(self))
        return order

    def cut(self, n_clusters: int | None = None, *, level: float | None = None) -> Ints:
        """Cluster labels of the leaves, for a number of clusters or a height ``level``.

        ``n_clusters`` leaves out the last merges. ``level`` makes every merge whose subtree has no
        greater height. Clusters are numbered by first appearance.
        """
        if (n_clusters is None) == (level is None):
            raise InputError("Cut by a number of clusters or at a level: give one of the two.")
        if level is not None:
            if np.isnan(level):
                raise InputError("level is NaN: not a height to cut at.")
            made = self.max_heights <= level
        else:
            if not isinstance(n_clusters, int | np.integer) or not 1 <= n_clusters <= len(self):
                raise InputError(
                    f"n_clusters={n_clusters!r} must be an integer from 1 to the "
                    f"{len(self)} leaves."
                )
            made = np.arange(len(self.linkage)) < len(self) - n_clusters
        return self._labels(made)

    def _labels(self, made: NDArray[np.bool_]) -> Ints:
        """Labels if only some merges are made; those inside a merge that is made must be too."""
        n = len(self)
        top, merge = np.arange(2 * n - 1), np.arange(n, 2 * n - 1)
        top[self.left[made]] = top[self.right[made]] = merge[made]
        while (top != (higher := top[top])).any():
            top = higher
        first = np.full(2 * n - 1, n)
        first[top[:n][::-1]] = np.arange(n)[::-1]  # of several, the last assignment counts
        label = np.empty(2 * n - 1, dtype=np.int64)
        clusters = np.flatnonzero(first < n)
        label[clusters[np.argsort(first[clusters])]] = np.arange(len(clusters))
        return label[top[:n]]

    def cophenetic(self) -> Floats:
        """Cophenetic distances: height of the first common merge, in the order of ``pdist``."""
        n, start = len(self), self.first_leaf
        size = np.concatenate([np.ones(n, dtype=np.int64), self.sizes])
        heights = np.zeros((n, n))
        for a, b, height in zip(self.left, self.right, self.heights, strict=True):
            first = slice(start[a], start[a] + size[a])
            second = slice(start[b], start[b] + size[b])
            heights[first, second] = heights[second, first] = height
        position = start[:n]
        i, k = np.triu_indices(n, 1)
        return np.asarray(heights[position[i], position[k]])
