"""A kernel of labelled graphs: neighbourhoods that two graphs share.

Weisfeiler–Lehman: in every round each node's label becomes the name of (its label, the sorted
labels of its neighbours); after h rounds it stands for the tree of walks of h steps from there.
κ(G, H) = Σ_{r=0…h} Σ_u count_u(G after r rounds) · count_u(H after r rounds).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from separatrix.kernels.base import Items, hyper
from separatrix.kernels.features import FeatureKernel, objects
from separatrix.messages import InputError

#: Labels of the nodes; edges (u, v, label) between nodes by number.
Graph = tuple[tuple[Any, ...], tuple[tuple[int, int, Any], ...]]


@dataclass(frozen=True)
class GraphKernel(FeatureKernel):
    """The Weisfeiler–Lehman subtree kernel with ``rounds`` rounds; Mercer, as counts are.

    A graph is a pair (labels, edges): labels a list, or a dictionary by node; edges pairs (u, v),
    triples (u, v, label), or a dictionary {node: its neighbours}. Such a dictionary alone is a
    graph without labels, and objects with ``nodes`` and ``adj`` (as NetworkX makes them) are read
    with their attribute "label". Edges have no direction.
    """

    rounds: int = hyper(3, 0, 10, smooth=False)

    def __post_init__(self) -> None:
        if self.rounds != int(self.rounds) or self.rounds < 0:
            raise InputError(
                f"GraphKernel has {self.rounds!r} rounds.",
                remedy="It is a whole number, 0 or more.",
            )

    def features(self, item: Any) -> Mapping[Hashable, float]:
        """Names of the neighbourhoods of every size, with their counts."""
        labels, edges = plain_graph(item)
        from_fitted: list[list[tuple[str, int]]] = [[] for _ in labels]
        for u, v, label in edges:
            from_fitted[u].append((_name(label), v))
            if u != v:
                from_fitted[v].append((_name(label), u))
        names = [_name(label) for label in labels]
        counts: Counter[Hashable] = Counter((0, name) for name in names)
        for turn in range(1, int(self.rounds) + 1):
            names = [
                _name((own, *sorted((edge, names[other]) for edge, other in near)))
                for own, near in zip(names, from_fitted, strict=True)
            ]
            counts.update((turn, name) for name in names)
        return counts

    def serializable(self, items: Items) -> list[Graph]:
        """Graphs as (labels, edges), nodes by number."""
        return [plain_graph(item) for item in objects(items)]


def plain_graph(item: Any) -> Graph:
    """Any of the forms of a graph as labels and numbered edges, each edge once."""
    if hasattr(item, "adj") and hasattr(item, "nodes"):
        labels = {node: item.nodes[node].get("label", "") for node in item.nodes}
        return _numbered(labels, _neighbours(item.adj))
    if isinstance(item, Mapping):
        return _numbered(dict.fromkeys(item, ""), _neighbours(item))
    if isinstance(item, list | tuple) and len(item) == 2:
        labels, edges = item
        named = labels if isinstance(labels, Mapping) else dict(enumerate(labels))
        return _numbered(named, _neighbours(edges) if isinstance(edges, Mapping) else edges)
    raise InputError(
        f"This is not a graph: {item!r:.60}.",
        remedy="A graph is (labels, edges), or a dictionary {node: its neighbours}.",
    )


def _neighbours(from_fitted: Mapping[Any, Any]) -> Iterable[tuple[Any, ...]]:
    """The edges of {node: neighbours}; neighbours may carry attributes, {neighbour: {…}}."""
    for node, near in from_fitted.items():
        for other in near:
            data = near[other] if isinstance(near, Mapping) else None
            yield node, other, data.get("label") if isinstance(data, Mapping) else data


def _numbered(labels: Mapping[Any, Any], edges: Iterable[tuple[Any, ...]]) -> Graph:
    number = {node: i for i, node in enumerate(labels)}
    found: dict[tuple[int, int], Any] = {}
    for edge in edges:
        ends = [number.get(node) for node in edge[:2]]
        if len(edge) not in (2, 3) or None in ends:
            raise InputError(
                f"The edge {edge!r} does not join two nodes of its graph.",
                remedy="Every node needs a label, and an edge is (node, node) or with a label.",
            )
        u, v = sorted(end for end in ends if end is not None)
        found[u, v] = edge[2] if len(edge) == 3 else None
    return tuple(labels.values()), tuple((u, v, found[u, v]) for u, v in sorted(found))


def _name(of: Any) -> str:
    """A short name of any label or neighbourhood: the same in every process and every graph."""
    return blake2b(f"{type(of).__name__} {of!r}".encode(), digest_size=16).hexdigest()
