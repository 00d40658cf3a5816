"""Nearest points from distances that are given: a matrix, or a sparse graph of neighbors.

In a sparse graph only the stored entries are neighbors; a stored zero is a distance of zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from separatrix.distances.loops.k_smallest import push_columns, sort_heap
from separatrix.distances.names import PrecomputedDistances
from separatrix.distances.search import NeighborLists, Neighbors
from separatrix.messages import InputError


def as_graph(x: Any) -> Any:
    """A sparse graph of neighbors in rows, checked; stored zeros are kept."""
    graph = x if x.format == "csr" else sparse.csr_array(x)
    if not np.isfinite(graph.data).all():
        raise InputError("Distances in a graph are finite numbers, none negative.")
    if (graph.data < 0.0).any():
        raise InputError("Negative values in data passed to precomputed distance matrix.")
    return graph


class GivenSearch:
    """Neighbors by distances that queries bring along: all of them, or those in a sparse graph."""

    def __init__(self, n: int) -> None:
        self.n = n

    def _lists(self, x: Any) -> NeighborLists:
        """The neighbors that every row of distances names, nearest first."""
        if x.shape[1] != self.n:
            raise InputError(f"Distances to {self.n} points are expected, not {x.shape[1]}.")
        graph = as_graph(x)
        starts = graph.indptr.astype(np.int64)
        found = NeighborLists(starts, graph.indices.astype(np.int64), graph.data.astype(float))
        return found.nearest_first()

    def nearest(self, x: Any, k: int) -> Neighbors:
        """The first k neighbors of every row, which must have as many."""
        if not sparse.issparse(x):
            x = np.ascontiguousarray(PrecomputedDistances().validate(x))
            distances, indices = np.empty((len(x), k)), np.empty((len(x), k), dtype=np.int64)
            push_columns(x, 0, distances, indices, np.zeros(len(x), dtype=np.int64))
            for i in range(len(x)):
                sort_heap(distances[i], indices[i], k)
            return Neighbors(distances, indices)
        found = self._lists(x)
        counts = np.diff(found.starts)
        if len(counts) and counts.min() < k:
            raise InputError(
                f"{k} neighbors per samples are required, but some samples have only "
                f"{counts.min()} in the precomputed graph.",
                remedy="Give a graph of more neighbors, or request fewer.",
            )
        at = found.starts[:-1, None] + np.arange(k)
        return Neighbors(found.distances[at], found.indices[at])

    def within(self, x: Any, radius: float) -> NeighborLists:
        """The neighbors up to a distance of ``radius``."""
        if not sparse.issparse(x):
            x = PrecomputedDistances().validate(x)
            rows, indices = np.nonzero(x <= radius)
            return NeighborLists.of_pairs(rows, indices, x[rows, indices], len(x))
        found = self._lists(x)
        rows, n = found.rows, len(found.starts) - 1
        return NeighborLists.of_pairs(rows, found.indices, found.distances, n).up_to(radius)
