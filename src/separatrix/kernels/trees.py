"""Kernels of rooted, ordered, labeled trees: common fragments.

A tree is a nested tuple, (label, child, child, …); a leaf may be its label alone. A *fragment* is
a node with all its children, each of which either ends there or is expanded in the same way; a
leaf by itself is a fragment, too.

    κ(T, U) = Σ_f λ^(nodes expanded in f) count_f(T) count_f(U)

Mercer: √λ^(nodes) count_f is the feature map. Pairs of nodes are compared from the leaves up,
C(a, b) = λ ∏ (1 + C(aᵢ, bᵢ)) where a and b have the same label and the same labels of children.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from separatrix.kernels.base import Array, Items
from separatrix.kernels.features import as_list
from separatrix.kernels.pairs import Encoding, PairwiseKernel, check_decay
from separatrix.kernels.parameters.hyperparameters import hyperparameter
from separatrix.messages import InputError


@dataclass(frozen=True)
class TreeKernel(PairwiseKernel):
    """Subset tree kernel: all fragments that two labeled, ordered trees have in common.

        κ(T, U) = Σ_f λ^(nodes expanded in f) count_f(T) count_f(U)

    A tree is a nested tuple (label, child, child, …). A fragment is a node with all its children,
    each of which ends there or is expanded in the same way. Large trees have very many fragments
    in common with themselves: use a small ``decay`` and ``.normalized()``.

    Parameters
    ----------
    decay : float, default=0.5
        λ, above 0 and at most 1.

    See Also
    --------
    SubtreeKernel : whole subtrees only.
    GraphKernel : a kernel of labeled graphs.

    References
    ----------
    M. Collins and N. Duffy, Convolution kernels for natural language, 2001.

    Examples
    --------
    >>> import separatrix as sx
    >>> trees = [("S", ("NP", "cats"), ("VP", "run")), ("S", ("NP", "dogs"), ("VP", "run"))]
    >>> sx.TreeKernel(1.0).gram(trees)
    array([[8., 4.],
           [4., 8.]])
    """

    decay: float = hyperparameter(0.5, 1e-3, 1.0)
    #: 1 if a child may end a fragment although the tree goes on below it, else 0.
    _partial: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        check_decay(self.decay)

    def serializable(self, items: Items) -> list[Any]:
        """Trees as nested tuples."""
        return [_serializable_tree(item) for item in as_list(items)]

    def encode(self, items: list[Any], vocabulary: dict[Any, int], *, extend: bool) -> Encoding:
        """Productions of all nodes, ends of the children's lists, children, ends of the trees.

        A production is a label with the labels of the children in their order.
        """
        productions: list[int] = []
        child_ends, children, ends = [0], [], [0]
        for item in items:
            for label, child_indices, child_labels in _postorder(item):
                production = (label, child_labels)
                if extend:
                    vocabulary.setdefault(production, len(vocabulary))
                productions.append(vocabulary.get(production, -1))
                children.extend(child_indices)
                child_ends.append(len(children))
            ends.append(len(productions))
        lists = (productions, child_ends, children, ends)
        arrays = tuple(np.array(values, dtype=np.int64) for values in lists)
        return Encoding(vocabulary, arrays, np.diff(arrays[3]))

    def fill(
        self, x: Encoding, z: Encoding, rows: slice, part: int, decay: complex, out: Array
    ) -> None:
        """Dynamic programming for every pair."""
        from separatrix.kernels.loops.trees import tree_kernel

        work = np.zeros((x.max_size, z.max_size), dtype=out.dtype)
        decay, bounds = out.dtype.type(decay), (rows.start, rows.stop)
        tree_kernel(*x.arrays, *z.arrays, *bounds, part, decay, self._partial, work, out)


@dataclass(frozen=True)
class SubtreeKernel(TreeKernel):
    """Subtree kernel: whole subtrees that two labeled, ordered trees have in common.

        κ(T, U) = Σ_f λ^(nodes expanded in f) count_f(T) count_f(U)

    A subtree is a node with all its descendants: C(a, b) = λ ∏ C(aᵢ, bᵢ), with the factor one for
    leaves.

    Parameters
    ----------
    decay : float, default=0.5
        λ, above 0 and at most 1.

    See Also
    --------
    TreeKernel : fragments that need not reach the leaves.
    GraphKernel : a kernel of labeled graphs.

    References
    ----------
    S. V. N. Vishwanathan and A. J. Smola, Fast kernels for string and tree matching, NIPS,
    2002.

    Examples
    --------
    >>> import separatrix as sx
    >>> trees = [("S", ("NP", "cats"), ("VP", "run")), ("S", ("NP", "dogs"), ("VP", "run"))]
    >>> sx.SubtreeKernel(1.0).gram(trees)
    array([[5., 2.],
           [2., 5.]])
    """

    _partial: ClassVar[float] = 0.0


def _postorder(tree: Any) -> list[tuple[Any, list[int], tuple[Any, ...]]]:
    """(label, indices of the children, labels of the children) of every node in postorder."""
    nodes: list[tuple[Any, list[int], tuple[Any, ...]]] = []
    pending: list[int] = []  # nodes whose parent has not been visited
    stack: list[tuple[Any, bool]] = [(tree, False)]
    while stack:
        node, expanded = stack.pop()
        label, children = _split(node)
        if children and not expanded:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(children))
            continue
        first = len(pending) - len(children)
        indices, pending = pending[first:], pending[:first]
        pending.append(len(nodes))
        nodes.append((label, indices, tuple(nodes[i][0] for i in indices)))
    return nodes


def _split(node: Any) -> tuple[Any, tuple[Any, ...]]:
    """The label and the children of a node."""
    if not isinstance(node, list | tuple):
        return node, ()
    if not node or isinstance(node[0], list | tuple):
        raise InputError(
            f"A tree is (label, child, child, …), the label first; this is {node!r:.60}."
        )
    return node[0], tuple(node[1:])


def _serializable_tree(tree: Any) -> Any:
    label, children = _split(tree)
    return (label, *(_serializable_tree(child) for child in children))
