"""Kernels of rooted, ordered, labelled trees: how many fragments two trees share.

A tree is a nested tuple, (label, child, child, …); a leaf may be its label alone. A *fragment* is
a node with all its children, each of which either ends there or is followed further in the same
way; a leaf by itself is a fragment, too.

    κ(T, U) = Σ_f λ^(nodes expanded in f) count_f(T) count_f(U)

Mercer: √λ^(nodes) count_f is the feature map. Pairs of nodes are compared from the leaves up,
C(a, b) = λ ∏ (1 + C(aᵢ, bᵢ)) where a and b have the same label and the same labels below them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from separatrix.kernels.base import Array, Items, Kernel, hyper
from separatrix.kernels.features import objects
from separatrix.kernels.pairs import STEP, Encoded, PairRows, pairs_with_themselves
from separatrix.kernels.strings import check_decay
from separatrix.messages import InputError


@dataclass(frozen=True)
class TreeKernel(Kernel):
    """All fragments that two trees share, each weighed by λ^(nodes expanded), λ the ``decay``.

    Large trees have so many fragments in common with themselves that everything else looks
    unlike them: a smaller ``decay`` and ``.normalised()`` are the usual remedies.
    """

    decay: float = hyper(0.5, 1e-3, 1.0)
    of_vectors = False
    #: Whether a child may end a fragment although the tree goes on below it.
    _stops: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        check_decay(self.decay)

    def prepare(self, z: Items) -> PairRows:
        """Centers as arrays of nodes, children before parents."""
        return PairRows(self, objects(z), _Nodes)

    def diagonal(self, x: Items) -> Array:
        """Every tree with itself."""
        return pairs_with_themselves(objects(x), _Nodes, self)

    def serializable(self, items: Items) -> list[Any]:
        """Trees as nested tuples."""
        return [_nested(item) for item in objects(items)]

    def _fill(self, x: Encoded, z: Encoded, top: int, bottom: int, out: Array, **how: Any) -> None:
        """Rows top … bottom of ``out``; complex numbers carry the derivative along."""
        from separatrix.kernels.loops.trees import fragments

        decay = out.dtype.type(how.get("decay", self.decay))
        work = np.zeros((x.largest, z.largest), dtype=out.dtype)
        fragments(*x.arrays, *z.arrays, top, bottom, how["part"], decay, self._stops, work, out)

    def _slopes(self, x: Items) -> list[Array]:
        complexes = self.prepare(x)._square(np.complex128, decay=complex(self.decay, STEP))
        return [complexes.imag / STEP]


@dataclass(frozen=True)
class SubtreeKernel(TreeKernel):
    """Only whole subtrees that two trees share: a node with everything below it.

    C(a, b) = λ ∏ C(aᵢ, bᵢ), with the factor one for leaves.
    """

    _stops: ClassVar[float] = 0.0


class _Nodes(Encoded):
    """Trees one after the other: of every node its production's number and its children.

    A production is a label with the labels of the children in their order. Arrays: productions,
    ends of the children's lists, children (numbers within the tree), ends of the trees.
    """

    def __init__(self, items: list[Any], known: dict[Any, int], *, learn: bool) -> None:
        productions: list[int] = []
        child_ends, children, ends = [0], [], [0]
        for item in items:
            for label, below, labels_below in _from_leaves(item):
                production = (label, labels_below)
                if learn:
                    known.setdefault(production, len(known))
                productions.append(known.get(production, -1))
                children.extend(below)
                child_ends.append(len(children))
            ends.append(len(productions))
        arrays = (productions, child_ends, children, ends)
        super().__init__(known, tuple(np.array(a, dtype=np.int64) for a in arrays))
        self.largest = int(np.diff(ends).max(initial=0))

    def __len__(self) -> int:
        return len(self.arrays[3]) - 1

    @property
    def costs(self) -> NDArray[np.int64]:
        """Nodes of every tree."""
        return np.diff(self.arrays[3])


def _from_leaves(tree: Any) -> list[tuple[Any, list[int], tuple[Any, ...]]]:
    """(label, numbers of the children, labels of the children) of every node, children first."""
    nodes: list[tuple[Any, list[int], tuple[Any, ...]]] = []
    finished: list[int] = []
    todo: list[tuple[Any, bool]] = [(tree, False)]
    while todo:
        node, seen = todo.pop()
        label, below = _split(node)
        if below and not seen:
            todo.append((node, True))
            todo.extend((child, False) for child in reversed(below))
            continue
        many = len(finished) - len(below)
        numbers, finished = finished[many:], finished[:many]
        finished.append(len(nodes))
        nodes.append((label, numbers, tuple(nodes[i][0] for i in numbers)))
    return nodes


def _split(node: Any) -> tuple[Any, tuple[Any, ...]]:
    """The label and the children of a node."""
    if not isinstance(node, list | tuple):
        return node, ()
    if not node or isinstance(node[0], list | tuple):
        raise InputError(
            f"A tree has a label first: (label, child, child, …); this is {node!r:.60}."
        )
    return node[0], tuple(node[1:])


def _nested(tree: Any) -> Any:
    label, below = _split(tree)
    return (label, *(_nested(child) for child in below))
