"""The Weisfeiler–Lehman subtree kernel of labeled graphs.

In every round each node's label becomes a hash of (its label, the sorted labels of its neighbors);
after r rounds it identifies the tree of all walks of r steps from the node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from separatrix.kernels.base import Items
from separatrix.kernels.features import FeatureKernel, as_list
from separatrix.kernels.parameters.hyperparameters import check_integer, hyperparameter
from separatrix.messages import InputError

#: Labels of the nodes; edges (u, v, label) between node indices.
Graph = tuple[tuple[Any, ...], tuple[tuple[int, int, Any], ...]]


@dataclass(frozen=True)
class GraphKernel(FeatureKernel):
    """Weisfeiler–Lehman subtree kernel of labeled graphs.

        κ(G, H) = Σ_{r=0…h} Σ_u count_u(G after r rounds) · count_u(H after r rounds)

    In every round each node's label becomes a hash of its label and the sorted labels of its
    neighbors. Mercer: the counts are the feature map.

    A graph is a pair (labels, edges): labels a list, or a dictionary by node; edges pairs (u, v),
    triples (u, v, label), or a dictionary {node: neighbors}. Such a dictionary alone is a graph
    without labels, and objects with ``nodes`` and ``adj`` (NetworkX) are read with their attribute
    "label". Edges are undirected.

    Parameters
    ----------
    rounds : int, default=3
        h, the number of relabelings, 0 or more.

    See Also
    --------
    TreeKernel : a kernel of labeled trees.
    SetKernel : the kernel of node labels alone, if they are unique.

    References
    ----------
    N. Shervashidze et al., Weisfeiler–Lehman graph kernels, 2011.

    Examples
    --------
    >>> import separatrix as sx
    >>> path = (["C", "C", "O"], [(0, 1), (1, 2)])
    >>> ring = (["C", "C", "O"], [(0, 1), (1, 2), (2, 0)])
    >>> sx.GraphKernel(1).gram([path, ring])
    array([[ 8.,  7.],
           [ 7., 10.]])
    """

    rounds: int = hyperparameter(3, 0, 10, continuous=False)

    def __post_init__(self) -> None:
        check_integer(self.rounds, "The number of rounds of GraphKernel", 0)

    def features(self, item: Any) -> Mapping[Hashable, float]:
        """Hashed labels of all rounds, with their counts."""
        labels, edges = as_graph(item)
        adjacency: list[list[tuple[str, int]]] = [[] for _ in labels]
        for u, v, label in edges:
            adjacency[u].append((_hash(label), v))
            if u != v:
                adjacency[v].append((_hash(label), u))
        hashes = [_hash(label) for label in labels]
        counts: Counter[Hashable] = Counter((0, h) for h in hashes)
        for iteration in range(1, int(self.rounds) + 1):
            hashes = [
                _hash((own, *sorted((edge, hashes[other]) for edge, other in neighbors)))
                for own, neighbors in zip(hashes, adjacency, strict=True)
            ]
            counts.update((iteration, h) for h in hashes)
        return counts

    def serializable(self, items: Items) -> list[Graph]:
        """Graphs as (labels, edges) with node indices."""
        return [as_graph(item) for item in as_list(items)]


def as_graph(item: Any) -> Graph:
    """Any form of a graph as labels and edges between node indices, each edge once."""
    if hasattr(item, "adj") and hasattr(item, "nodes"):
        labels = {node: item.nodes[node].get("label", "") for node in item.nodes}
        return _with_numbered_nodes(labels, _edges(item.adj))
    if isinstance(item, Mapping):
        return _with_numbered_nodes(dict.fromkeys(item, ""), _edges(item))
    if isinstance(item, list | tuple) and len(item) == 2:
        labels, edges = item
        by_node = labels if isinstance(labels, Mapping) else dict(enumerate(labels))
        return _with_numbered_nodes(by_node, _edges(edges) if isinstance(edges, Mapping) else edges)
    raise InputError(
        f"This is not a graph: {item!r:.60}.",
        remedy="A graph is (labels, edges), or a dictionary {node: neighbors}.",
    )


def _edges(adjacency: Mapping[Any, Any]) -> Iterable[tuple[Any, ...]]:
    """The edges of {node: neighbors}; neighbors may carry attributes, {neighbor: {…}}."""
    for node, neighbors in adjacency.items():
        for other in neighbors:
            data = neighbors[other] if isinstance(neighbors, Mapping) else None
            yield node, other, data.get("label") if isinstance(data, Mapping) else data


def _with_numbered_nodes(labels: Mapping[Any, Any], edges: Iterable[tuple[Any, ...]]) -> Graph:
    number = {node: i for i, node in enumerate(labels)}
    found: dict[tuple[int, int], Any] = {}
    for edge in edges:
        ends = [number.get(node) for node in edge[:2]]
        if len(edge) not in (2, 3) or None in ends:
            raise InputError(
                f"The edge {edge!r} does not connect two nodes of its graph.",
                remedy="Every node needs a label, and an edge is (node, node) or with a label.",
            )
        u, v = sorted(end for end in ends if end is not None)
        found[u, v] = edge[2] if len(edge) == 3 else None
    return tuple(labels.values()), tuple((u, v, found[u, v]) for u, v in sorted(found))


def _hash(value: Any) -> str:
    """A hash of any label or neighborhood, the same in every process."""
    return blake2b(f"{type(value).__name__} {value!r}".encode(), digest_size=16).hexdigest()
