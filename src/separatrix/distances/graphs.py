"""Shortest paths of a graph as a distance, and points that no path leads to.

Where no path leads from one node to another the distance is infinite: such points are never
neighbors, and whatever needs the distance of all pairs says which two have none.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from separatrix.arrays import Floats, Ints
from separatrix.distances.metrics import Metric
from separatrix.distances.names import PrecomputedDistances
from separatrix.messages import InputError
from separatrix.rows.schema import take_items


@dataclass(frozen=True, eq=False)
class GraphDistance(Metric):
    """Length of the shortest path between two nodes of a graph; infinite where there is none.

        d(a, b) = min over paths a = v₀, v₁, …, vₘ = b of Σ length(vᵢ₋₁, vᵢ)

    An edge may be taken in both directions, so that this is a metric of the nodes of a connected
    part; a pseudo-metric if edges of length zero are given.

    Parameters
    ----------
    edges : mapping, sparse matrix or square array
        ``{node: {neighbor: length}}`` or ``{node: [neighbors]}`` with edges of length one; or a
        matrix of lengths, in which what is not stored (of a dense array: zero, infinity, NaN) is no
        edge. Of two lengths for both directions the shorter one counts.
    nodes : sequence, optional
        The names of the rows of a matrix; their numbers if None.

    See Also
    --------
    KNeighborsTransformer : a graph of nearest rows.
    metric_axioms : tests the axioms on a sample.

    Notes
    -----
    Points are nodes by name. Paths are found by Dijkstra's algorithm from the nodes that are asked
    for (SciPy), in time m log n for m edges and each of them.

    Examples
    --------
    >>> import separatrix as sx
    >>> roads = sx.GraphDistance({"a": {"b": 2.0, "c": 9.0}, "b": {"c": 3.0}, "island": {}})
    >>> roads("a", "c"), roads("a", "island")
    (5.0, inf)
    """

    edges: Any
    nodes: Sequence[Hashable] | None = None

    of_vectors: ClassVar[bool] = False

    @cached_property
    def _graph(self) -> tuple[dict[Hashable, int], Any]:
        """The position of every node, and the lengths of edges in both directions."""
        if isinstance(self.edges, Mapping):
            if self.nodes is not None:
                raise InputError("A mapping names its nodes itself.", remedy="Leave nodes away.")
            return _of_mapping(self.edges)
        matrix = sparse.coo_array(self.edges)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise InputError(f"Edges form a square matrix, not one of shape {matrix.shape}.")
        names = range(matrix.shape[0]) if self.nodes is None else list(self.nodes)
        position = {name: i for i, name in enumerate(names)}
        if len(position) != matrix.shape[0]:
            raise InputError(f"{matrix.shape[0]} nodes need as many different names.")
        there = np.ones(len(matrix.data), dtype=bool)
        if not sparse.issparse(self.edges):
            there = np.isfinite(matrix.data.astype(np.float64))
        return position, _both_ways(
            matrix.row[there], matrix.col[there], matrix.data[there], matrix.shape[0]
        )

    @property
    def is_metric(self) -> bool:
        """Whether all edges have a length, so that different nodes are apart."""
        return bool((self._graph[1].data > 0.0).all())

    def validate(self, x: Any) -> list[Any]:
        """The nodes, each of which must be one of the graph."""
        position = self._graph[0]
        items = [item.item() if isinstance(item, np.generic) else item for item in x]
        for i, item in enumerate(items):
            if item not in position:
                raise InputError(f"{item!r} is not a node of the graph.", row=i + 1)
        return items

    def precompute(self, z: list[Any]) -> Ints:
        """Positions of the nodes."""
        return np.array([self._graph[0][item] for item in z], dtype=np.int64)

    def fill(self, x: list[Any], precomputed: Ints, out: Floats) -> None:
        """Shortest paths from the fewer of the two."""
        starts, ends = self.precompute(x), precomputed
        few, which = np.unique(starts if len(starts) <= len(ends) else ends, return_inverse=True)
        paths = csgraph.dijkstra(self._graph[1], directed=False, indices=few)
        if len(starts) <= len(ends):
            out[:] = paths[which.ravel()][:, ends]
        else:
            out[:] = paths[which.ravel()][:, starts].T


def _of_mapping(edges: Mapping[Any, Any]) -> tuple[dict[Hashable, int], Any]:
    """The nodes in the order in which they are named, and the matrix of lengths."""
    position: dict[Hashable, int] = {node: i for i, node in enumerate(edges)}
    rows, columns, lengths = [], [], []
    for node, neighbors in edges.items():
        for neighbor in neighbors:
            position.setdefault(neighbor, len(position))
            rows.append(position[node])
            columns.append(position[neighbor])
            lengths.append(neighbors[neighbor] if isinstance(neighbors, Mapping) else 1.0)
    return position, _both_ways(rows, columns, lengths, len(position))


def _both_ways(rows: Any, columns: Any, lengths: Any, n: int) -> Any:
    """The shortest edge of every pair, in both directions; edges of length zero are stored."""
    length = np.asarray(lengths, dtype=np.float64)
    if not (np.isfinite(length) & (length >= 0.0)).all():
        raise InputError(
            "The length of an edge is a finite number, not negative.",
            remedy="Leave out edges that do not exist.",
        )
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    order = np.lexsort((length, high, low))
    low, high, length = low[order], high[order], length[order]
    first = np.ones(len(low), dtype=bool)
    first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    first &= low != high
    return sparse.csr_array((length[first], (low[first], high[first])), shape=(n, n))


# -------------------------------------------------------------------------------------------------
# Precomputed distances of which some are infinite.


def reachable_pairs(distances: Any) -> Any:
    """A matrix of distances, of which some are infinite, as a graph of those that are finite."""
    if sparse.issparse(distances) or not isinstance(distances, np.ndarray):
        return distances
    if distances.ndim != 2 or distances.dtype.kind != "f" or not np.isposinf(distances).any():
        return distances
    there = ~np.isposinf(distances)
    starts = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    return sparse.csr_array((distances[there], np.nonzero(there)[1], starts), distances.shape)


def require_reachable(metric: Metric, points: Any) -> None:
    """Refuse validated points of which two are infinitely far apart."""
    if isinstance(metric, PrecomputedDistances):
        distances = points
    elif isinstance(metric, GraphDistance) and len(points):
        distances = metric.distances(take_items(points, [0]), points)  # to one is to all
    else:
        return
    unreachable = np.argwhere(np.isposinf(distances))
    if len(unreachable):
        i, j = unreachable[0]
        raise InputError(
            f"Rows {i + 1} and {j + 1} are infinitely far apart, and here all pairs need a "
            "distance.",
            remedy="Take each connected part by itself; "
            "scipy.sparse.csgraph.connected_components finds them.",
        )
