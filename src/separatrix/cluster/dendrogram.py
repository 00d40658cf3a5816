"""A tree of clusters: which merged with which, and how far apart they were."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.cluster.loops.dendrogram import highest_inside, labels_under, places
from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints

#: A merge that is lower than one inside it by less than this share is rounding, not an inversion.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Dendrogram:
    """``linkage`` is SciPy's table: (n − 1) x 4, two nodes, their distance, the size of the union.

    Leaves are nodes 0 … n − 1 and merge s is node n + s. Every answer takes time in proportion to
    the leaves, but for :meth:`cophenetic`, which has a number for every pair.
    """

    linkage: Floats

    def __post_init__(self) -> None:
        table = np.ascontiguousarray(self.linkage, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != 4:
            raise InputError(
                f"A tree of clusters is a table of 4 columns, not of shape {table.shape}.",
                remedy="Give linkage_ of a fitted AgglomerativeClustering, or SciPy's linkage(…).",
            )
        nodes, size = table[:, :2], np.ones(2 * len(table) + 1)
        first = len(table) + 1 + np.arange(len(table))
        once = np.bincount(nodes.astype(np.int64).clip(0).ravel(), minlength=2 * len(table) + 1)
        whole = np.isfinite(table).all() and bool((nodes >= 0).all())
        if not whole or (nodes >= first[:, None]).any() or (once[: 2 * len(table)] != 1).any():
            raise InputError(
                "Not a tree: every node but the last must merge once, after it is made."
            )
        size[first] = table[:, 3]
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
    def highest(self) -> Floats:
        """The greatest height within every merge: the level from which it is one cluster."""
        out = np.empty(len(self.linkage))
        highest_inside(self.left, self.right, self.heights, out)
        return out

    @property
    def inversions(self) -> Ints:
        """Merges that are lower than one inside them; centroid linkage has them, and only it.

        The mean of two points may be nearer to a third than they are to each other.
        """
        return np.flatnonzero(self.heights < self.highest * (1 - ROUNDING))

    @property
    def starts(self) -> Ints:
        """For every node, the place of its first leaf among :attr:`leaves`."""
        start = np.zeros(2 * len(self) - 1, dtype=np.int64)
        places(self.left, self.right, self.sizes, start)
        return start

    @property
    def leaves(self) -> Ints:
        """The leaves in an order in which no two branches cross."""
        order = np.empty(len(self), dtype=np.int64)
        order[self.starts[: len(self)]] = np.arange(len(self))
        return order

    def cut(self, n_clusters: int | None = None, *, level: float | None = None) -> Ints:
        """The cluster of every leaf, numbered by first appearance: so many, or up to a level.

        ``n_clusters`` undoes the last merges. ``level`` makes every merge that is not higher, nor
        has a higher one inside it: with inversions a low merge of a high one stays undone.
        """
        if (n_clusters is None) == (level is None):
            raise InputError("Cut by a number of clusters or at a level: give one of the two.")
        if level is not None:
            if np.isnan(level):
                raise InputError("level is NaN: no height to cut at.")
            joined = self.highest <= level
        else:
            if not isinstance(n_clusters, int | np.integer) or not 1 <= n_clusters <= len(self):
                raise InputError(
                    f"n_clusters={n_clusters!r} must be a whole number from 1 to the "
                    f"{len(self)} leaves."
                )
            joined = np.arange(len(self.linkage)) < len(self) - n_clusters
        labels = np.empty(len(self), dtype=np.int64)
        labels_under(self.left, self.right, joined, labels)
        return labels

    def cophenetic(self) -> Floats:
        """Height of the merge at which two leaves meet, for all pairs in the order of ``pdist``."""
        n, start = len(self), self.starts
        size = np.concatenate([np.ones(n, dtype=np.int64), self.sizes])
        met = np.zeros((n, n))
        for a, b, height in zip(self.left, self.right, self.heights, strict=True):
            one = slice(start[a], start[a] + size[a])
            two = slice(start[b], start[b] + size[b])
            met[one, two] = met[two, one] = height
        place = start[:n]
        i, k = np.triu_indices(n, 1)
        return np.asarray(met[place[i], place[k]])
