"""Linkage of points that a graph connects: only neighbors merge.

The distance of two connected clusters A, B combines those of their parts, over the parts that are
connected:

    single min    complete max    average by size    weighted halves    ward, others: by means

The closest connected pair is kept in a heap; a merged cluster inherits the neighbors of both.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from separatrix.distances.base import Metric
from separatrix.distances.names import PrecomputedDistances
from separatrix.kernels.base import n_items, take_items
from separatrix.messages import InputError, warn
from separatrix.rows.block import Floats, Ints

Neighbors = list[dict[int, float]]
#: Linkages by the distances of connected parts (a, b) of sizes (m, n); others are by means.
COMBINE: dict[str, Callable[[float, float, float, float], float]] = {
    "single": lambda a, b, *_: min(a, b),
    "complete": lambda a, b, *_: max(a, b),
    "average": lambda a, b, m, n: (m * a + n * b) / (m + n),
    "weighted": lambda a, b, *_: 0.5 * (a + b),
}


class ConnectedPoints:
    """Points with the graph that connects them, completed to a single component.

    ``n_components`` counts those of the given graph: the nearest points of every two are joined.
    """

    def __init__(self, points: Any, metric: Metric, connectivity: Any) -> None:
        self.points, self.metric, self.n = points, metric, n_items(points)
        graph = sparse.csr_array(connectivity)
        if graph.shape != (self.n, self.n):
            raise InputError(
                f"Wrong shape for connectivity matrix: {graph.shape} for {self.n} rows.",
                remedy="Row i marks the neighbors of point i, as in kneighbors_graph.",
            )
        graph = sparse.coo_array(graph + graph.T)
        self.n_components, component = connected_components(graph, directed=False)
        keep = (graph.row > graph.col) & (graph.data != 0)
        first, second = graph.row[keep].astype(np.int64), graph.col[keep].astype(np.int64)
        if self.n_components > 1:
            warn(
                "SEP015",
                f"the number of connected components of the connectivity matrix is "
                f"{self.n_components} > 1. Completing it to avoid stopping the tree early: the "
                "nearest points of every two are joined.",
            )
            added = self._bridges(component)
            first, second = np.r_[first, added[:, 0]], np.r_[second, added[:, 1]]
        self.first, self.second = first, second

    def _bridges(self, component: Ints) -> Ints:
        """The nearest points of every two components, the later point first."""
        members = [np.flatnonzero(component == c) for c in range(self.n_components)]
        found = []
        for c, own in enumerate(members):
            for other in members[:c]:
                d = self.distances(own, other)
                i, k = np.unravel_index(int(d.argmin()), d.shape)
                found.append(sorted((int(own[i]), int(other[k])), reverse=True))
        return np.asarray(found, dtype=np.int64)

    def distances(self, rows: Ints, others: Ints) -> Floats:
        """Distances of some points to some others."""
        if isinstance(self.metric, PrecomputedDistances):
            return np.asarray(self.points[np.ix_(rows, others)])
        out = np.empty((len(rows), len(others)))
        state = self.metric.precompute(take_items(self.points, others))
        self.metric.fill(take_items(self.points, rows), state, out)
        return out

    def edge_lengths(self) -> Floats:
        """The distance of the points of every edge."""
        out = np.empty(len(self.first))
        order = np.argsort(self.first, kind="stable")
        cuts = np.flatnonzero(np.diff(self.first[order], prepend=-1))
        for edges in np.split(order, cuts[1:]) if len(order) else []:
            out[edges] = self.distances(self.first[edges[:1]], self.second[edges])[0]
        return out


def connected_linkage(connected: ConnectedPoints, method: str) -> Floats:
    """(n − 1) x 4 as in SciPy, in the order of merging, in which distances may decrease."""
    n = connected.n
    rule = _ByParts(connected, method) if method in COMBINE else _ByMeans(connected, method)
    near: Neighbors = [{} for _ in range(2 * n - 1)]
    first, second = connected.first.tolist(), connected.second.tolist()
    lengths = rule.lengths().tolist()
    for i, k, length in zip(first, second, lengths, strict=True):
        near[i][k] = near[k][i] = length
    heap = list(zip(lengths, first, second, strict=True))
    heapify(heap)
    live, size = [True] * n + [False] * (n - 1), [1.0] * (2 * n - 1)
    table = np.empty((n - 1, 4))
    for node in range(n, 2 * n - 1):
        while True:
            length, i, k = heappop(heap)
            if live[i] and live[k]:
                break
        live[i] = live[k] = False
        live[node], size[node] = True, size[i] + size[k]
        table[node - n] = min(i, k), max(i, k), length, size[node]
        near[node] = rule.merged(near, i, k, node, size)
        for other, distance in near[node].items():
            for part in (i, k):
                near[other].pop(part, None)
            near[other][node] = distance
            heappush(heap, (distance, node, other))
        near[i] = near[k] = {}
    return table


class _ByParts:
    """Distances of a union from those of its connected parts."""

    def __init__(self, connected: ConnectedPoints, method: str) -> None:
        self.connected, self.combine = connected, COMBINE[method]

    def lengths(self) -> Floats:
        return self.connected.edge_lengths()

    def merged(
        self, near: Neighbors, i: int, k: int, _: int, size: list[float]
    ) -> dict[int, float]:
        a, b = near[i], near[k]
        both = {
            other: self.combine(a[other], b[other], size[i], size[k]) if other in b else a[other]
            for other in a
        }
        both.update((other, d) for other, d in b.items() if other not in a)
        both.pop(i, None)
        both.pop(k, None)
        return both


class _ByMeans:
    """Distances of a union from its mean: ward, centroid, median."""

    def __init__(self, connected: ConnectedPoints, method: str) -> None:
        self.connected, self.method = connected, method
        x = connected.points
        self.mean = np.zeros((2 * connected.n - 1, x.shape[1]))
        self.mean[: connected.n] = x - x.mean(axis=0)

    def lengths(self) -> Floats:
        return self._distances(self.connected.first, self.connected.second, 1.0, 1.0)

    def _distances(self, a: Any, b: Any, m: Any, n: Any) -> Floats:
        away = np.sqrt(((self.mean[a] - self.mean[b]) ** 2).sum(axis=-1))
        return np.asarray(away * np.sqrt(2.0 * m * n / (m + n)) if self.method == "ward" else away)

    def merged(
        self, near: Neighbors, i: int, k: int, node: int, size: list[float]
    ) -> dict[int, float]:
        m, n = (1.0, 1.0) if self.method == "median" else (size[i], size[k])
        self.mean[node] = (m * self.mean[i] + n * self.mean[k]) / (m + n)
        others = sorted((near[i].keys() | near[k].keys()) - {i, k})
        sizes = np.array([size[other] for other in others])
        away = self._distances(node, np.array(others, dtype=np.int64), size[node], sizes)
        return dict(zip(others, away.tolist(), strict=True))
