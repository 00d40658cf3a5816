"""Kernels of structures: strings, sets, trees, graphs and terms of logic."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from itertools import combinations, pairwise
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from separatrix.arrays import Ints
from separatrix.kernels.base import (
    Array,
    Items,
    Kernel,
    PreparedKernel,
    check_integer,
    copy_to,
    for_each_tile,
    hyperparameter,
    mirror_lower,
)
from separatrix.messages import InputError
from separatrix.parameters import describe_parameters

# -------------------------------------------------------------------------------------------------
# Kernels of Python objects with an explicit, sparse feature map of counts.
#
#     κ(x, z) = Σ_u φ_u(x) φ_u(z),    φ_u(x) = number of occurrences of the feature u in x
#
# Mercer by construction. Features that no center has do not contribute and are not stored.


class FeatureKernel(Kernel):
    """The inner product of feature counts."""

    of_vectors = False

    @abstractmethod
    def features(self, item: Any) -> Mapping[Hashable, float]:
        """The features of an item with their counts."""

    def prepare(self, z: Items) -> PreparedFeatures:
        """The centers as a sparse matrix of counts."""
        return PreparedFeatures(self, as_list(z))

    def diagonal(self, x: Items) -> Array:
        """Σ_u φ_u(x)²."""
        squares = [sum(c * c for c in self.features(item).values()) for item in as_list(x)]
        return np.array(squares, dtype=float)


class PreparedFeatures(PreparedKernel):
    """Sparse counts of the centers, with the column of every feature."""

    def __init__(self, kernel: FeatureKernel, centers: list[Any]) -> None:
        super().__init__(kernel, centers)
        self._features = kernel.features
        counts = [self._features(item) for item in centers]
        self._column: dict[Hashable, int] = {}
        for features in counts:
            for feature in features:
                self._column.setdefault(feature, len(self._column))
        self._counts = self._matrix(counts)

    def _matrix(self, counts: list[Mapping[Hashable, float]]) -> Any:
        values: list[float] = []
        columns: list[int] = []
        ends = [0]
        for features in counts:
            for feature, count in features.items():
                column = self._column.get(feature)
                if column is not None:
                    columns.append(column)
                    values.append(count)
            ends.append(len(columns))
        shape = (len(counts), max(1, len(self._column)))
        data = np.array(values, dtype=float)
        return sparse.csr_array((data, np.array(columns, dtype=np.int64), ends), shape=shape)

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """Sparse matrix product of counts."""
        counts = self._matrix([self._features(item) for item in as_list(x)])
        return copy_to((counts @ self._counts.T).toarray(), out)

    def take(self, indices: Any, out: Array | None = None) -> Array:
        """Rows of the Gram matrix, from the stored counts."""
        rows = np.arange(len(self))[indices]
        return copy_to((self._counts[rows] @ self._counts.T).toarray(), out)


def as_list(x: Items) -> list[Any]:
    """The items in a list; a single string is refused, since its letters are not the items."""
    if isinstance(x, str | bytes | dict):
        raise InputError(
            f"A kernel of structures needs a list of items; this is one {type(x).__name__}.",
            remedy="Put it in a list: [item].",
        )
    if hasattr(x, "columns"):  # a dataframe
        x = np.asarray(x)
    if isinstance(x, np.ndarray):
        if x.ndim == 2 and x.shape[1] == 1:
            x = x[:, 0]
        if x.ndim != 1:
            raise InputError(
                f"A kernel of structures needs a list of items; this array is {x.shape}.",
                remedy="Kernels of rows of numbers are Linear, Polynomial and Gaussian.",
            )
    return list(x)


def holds_objects(x: Items) -> bool:
    """Whether a list or array holds strings or other objects instead of rows of numbers."""
    if sparse.issparse(x) or hasattr(x, "columns") or not isinstance(x, list | tuple | np.ndarray):
        return False
    try:
        values = np.asarray(x)
    except ValueError:  # lists of different length
        return True
    return bool(values.ndim < 2 or values.dtype.kind not in "fiub")


# -------------------------------------------------------------------------------------------------
# Kernels of structures that are computed pair by pair, by dynamic programming.


#: Step h of the complex-step derivative: f(λ + ih) = f(λ) + ih f′(λ) + … for a polynomial f. No
#: difference is taken, so h can be as small as floats allow.
IMAGINARY_STEP = 1e-30

#: Which pairs of a block to compute.
ALL, LOWER, DIAGONAL = 0, 1, 2


class EncodedItems:
    """Items as integer arrays; labels are numbered by ``vocabulary``.

    ``sizes`` holds the size of every item.
    """

    def __init__(self, vocabulary: dict[Any, int], arrays: tuple[Ints, ...], sizes: Ints) -> None:
        self.vocabulary, self.arrays, self.sizes = vocabulary, arrays, sizes
        self.max_size = int(sizes.max(initial=0))


class PairwiseKernel(Kernel):
    """A kernel with a ``decay`` λ whose values are polynomials in λ, computed pair by pair."""

    decay: float
    of_vectors = False

    @abstractmethod
    def encode(self, items: list[Any], vocabulary: dict[Any, int], *, extend: bool) -> EncodedItems:
        """Items as integer arrays; new labels extend the vocabulary, or are numbered −1."""

    @abstractmethod
    def fill(
        self, x: EncodedItems, z: EncodedItems, rows: slice, part: int, decay: complex, out: Array
    ) -> None:
        """Compute some rows of ``out``, real or complex."""

    def prepare(self, z: Items) -> PreparedPairs:
        """The centers as integer arrays."""
        return PreparedPairs(self, as_list(z))

    def diagonal(self, x: Items) -> Array:
        """Every item with itself."""
        encoding = self.encode(as_list(x), {}, extend=True)
        block = np.empty((len(encoding.sizes), 1))
        _fill_parallel(self, encoding, encoding, DIAGONAL, self.decay, block)
        return block[:, 0]

    def diagonal_derivatives(self, x: Items) -> Array:
        """By one complex step, every item with itself."""
        encoding = self.encode(as_list(x), {}, extend=True)
        block = np.empty((len(encoding.sizes), 1), dtype=np.complex128)
        _fill_parallel(self, encoding, encoding, DIAGONAL, self._shifted_decay, block)
        return self._theta_factors() * block.imag / IMAGINARY_STEP

    @property
    def _shifted_decay(self) -> complex:
        return complex(self.decay, IMAGINARY_STEP)

    def _derivatives(self, x: Items) -> list[Array]:
        shifted = self.prepare(x).gram_at(self._shifted_decay, np.complex128)
        return [shifted.imag / IMAGINARY_STEP]


class PreparedPairs(PreparedKernel):
    """The encoded centers of a pairwise kernel."""

    kernel: PairwiseKernel

    def __init__(self, kernel: PairwiseKernel, centers: list[Any]) -> None:
        super().__init__(kernel, centers)
        self._encoding = kernel.encode(centers, {}, extend=True)

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """Every item of x with every center."""
        new = self.kernel.encode(as_list(x), self._encoding.vocabulary, extend=False)
        block = np.empty((len(new.sizes), len(self)))
        _fill_parallel(self.kernel, new, self._encoding, ALL, self.kernel.decay, block)
        return copy_to(block, out)

    def gram(self, out: Array | None = None) -> Array:
        """The lower triangle, mirrored."""
        return copy_to(self.gram_at(self.kernel.decay, np.float64), out)

    def gram_at(self, decay: complex, dtype: Any) -> Array:
        """The Gram matrix for another, possibly complex decay."""
        block = np.zeros((len(self), len(self)), dtype=dtype)
        _fill_parallel(self.kernel, self._encoding, self._encoding, LOWER, decay, block)
        return mirror_lower(block, np.diagonal(block).copy())


def _fill_parallel(
    kernel: PairwiseKernel,
    x: EncodedItems,
    z: EncodedItems,
    part: int,
    decay: complex,
    block: Array,
) -> None:
    """Rows in groups of about equal work, on all processors."""
    if block.size == 0:
        return
    column_work = z.sizes.max() if part == DIAGONAL else z.sizes.sum()
    work = np.cumsum(x.sizes * max(1, int(column_work)))
    groups = np.searchsorted(work, np.linspace(0, work[-1], 33)[1:-1])
    bounds = np.unique(np.concatenate([[0], groups, [len(x.sizes)]]))

    def fill(rows: slice, _: slice) -> None:
        kernel.fill(x, z, rows, part, decay, block)

    columns = slice(0, block.shape[1])
    strips = [(slice(a, b), columns) for a, b in pairwise(bounds.tolist())]
    for_each_tile(fill, strips, int(work[-1]) // block.size)


def check_decay(decay: float) -> None:
    """Refuse a decay outside (0, 1]."""
    if not 0.0 < decay <= 1.0:
        raise InputError(
            f"The decay is {decay!r}.", remedy="Take a number above 0, up to 1 (no decay)."
        )


# -------------------------------------------------------------------------------------------------
# Kernels of strings, or of any sequences of comparable symbols (words, events).
#
# Spectrum       common substrings of one length
# Subsequence    common subsequences, with gaps discounted


@dataclass(frozen=True)
class Spectrum(FeatureKernel):
    """Spectrum kernel of strings: common substrings of a fixed length.

        κ(s, t) = Σ_u count_u(s) · count_u(t),    over all substrings u of ``length`` letters

    Mercer: the counts are the feature map. A string shorter than ``length`` has no features.

    Parameters
    ----------
    length : int, default=3
        Length of the substrings, a positive integer.

    See Also
    --------
    Subsequence : subsequences with gaps.
    Edit : edit distance of strings.

    References
    ----------
    C. Leslie, E. Eskin and W. S. Noble, The spectrum kernel: a string kernel for SVM protein
    classification, 2002.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.Spectrum(2).gram(["abab", "abba"])
    array([[5., 3.],
           [3., 3.]])
    """

    length: int = hyperparameter(3, 1, 20, continuous=False)

    def __post_init__(self) -> None:
        check_integer(self.length, "The length of Spectrum", 1)

    def features(self, item: Any) -> Mapping[Hashable, float]:
        """The substrings with their counts."""
        s, k = as_sequence(item, "Spectrum"), int(self.length)
        return Counter(s[i : i + k] for i in range(len(s) - k + 1))

    def serializable(self, items: Items) -> list[Any]:
        """Strings as str, other sequences as tuples."""
        return _serializable_sequences(items)


@describe_parameters
@dataclass(frozen=True)
class Subsequence(PairwiseKernel):
    """Subsequence kernel of strings: common subsequences, with gaps discounted.

        κ(s, t) = Σ λ^(span(i) + span(j)),    over all i and j with s[i] = t[j]

    The index tuples i and j have n positions, increasing and not necessarily contiguous; their span
    counts the letters from the first to the last. Mercer: the feature of every string u of n
    letters is Σ λ^span(i) over all i with s[i] = u. Values are of the order λ^2n and grow with the
    strings: use ``.normalized()``.

    Parameters
    ----------
    length : int, default=3
        n, a positive integer.
    decay : float, default=0.5

    See Also
    --------
    Spectrum : contiguous substrings.
    Edit : edit distance of strings.

    Notes
    -----
    Computed in n·|s|·|t| steps by dynamic programming.

    References
    ----------
    H. Lodhi et al., Text classification using string kernels, 2002.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.Subsequence(2, decay=0.5).gram(["cat"], ["car"])
    array([[0.0625]])
    """

    length: int = hyperparameter(3, 1, 20, continuous=False)
    decay: float = hyperparameter(0.5, 1e-3, 1.0, bounded=True)

    def __post_init__(self) -> None:
        check_integer(self.length, "The length of Subsequence", 1)
        check_decay(self.decay)

    def serializable(self, items: Items) -> list[Any]:
        """Strings as str, other sequences as tuples."""
        return _serializable_sequences(items)

    def encode(self, items: list[Any], vocabulary: dict[Any, int], *, extend: bool) -> EncodedItems:
        """Concatenated codes of the letters, and the ends of the strings."""
        texts = [as_sequence(item, "Subsequence") for item in items]
        if extend:
            for text in texts:
                for letter in text:
                    vocabulary.setdefault(letter, len(vocabulary))
        codes = [vocabulary.get(letter, -1) for text in texts for letter in text]
        sizes = np.array([len(text) for text in texts], dtype=np.int64)
        ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return EncodedItems(vocabulary, (np.array(codes, dtype=np.int64), ends), sizes)

    def fill(
        self, x: EncodedItems, z: EncodedItems, rows: slice, part: int, decay: complex, out: Array
    ) -> None:
        """Dynamic programming for every pair."""
        from separatrix.kernels.loops import subsequence_kernel

        work = np.zeros((self.length, z.max_size + 1), dtype=out.dtype)
        decay = out.dtype.type(decay)
        subsequence_kernel(*x.arrays, *z.arrays, rows.start, rows.stop, part, decay, work, out)


def as_sequence(item: Any, kernel: str) -> Any:
    """A string, or another sequence as a tuple."""
    if isinstance(item, str):
        return item
    if isinstance(item, list | tuple | np.ndarray):
        return tuple(item)
    raise InputError(
        f"{kernel} compares strings or sequences; this is {type(item).__name__}: {item!r:.60}."
    )


def _serializable_sequences(items: Items) -> list[Any]:
    return [str(item) if isinstance(item, str) else tuple(item) for item in as_list(items)]


# -------------------------------------------------------------------------------------------------
# Kernels of sets, from the sizes of intersections.


@dataclass(frozen=True)
class SetKernel(FeatureKernel):
    """Intersection kernel of sets.

        κ(A, B) = |A ∩ B|

    Mercer: it is the inner product of indicator vectors. ``SetKernel().normalized()`` is
    |A ∩ B| / √(|A| |B|), and ``(log(2) * SetKernel()).exp()`` is 2^|A ∩ B|, the number of common
    subsets.

    See Also
    --------
    Jaccard : the intersection over the union.
    Spectrum : counts of substrings.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.SetKernel().gram([{"milk", "eggs"}, {"milk", "beer", "coal"}])
    array([[2., 1.],
           [1., 3.]])
    """

    def features(self, item: Any) -> Mapping[Hashable, float]:
        """The elements, once each."""
        return dict.fromkeys(_elements(item), 1.0)

    def serializable(self, items: Items) -> list[Any]:
        """Sets as sorted tuples."""
        return _serializable_sets(items)


@dataclass(frozen=True)
class Jaccard(Kernel):
    """Jaccard kernel of sets: the size of the intersection over that of the union.

        κ(A, B) = |A ∩ B| / |A ∪ B|,    1 for two empty sets

    See Also
    --------
    SetKernel : the size of the intersection.
    Hamming : a distance of indicator vectors.

    Notes
    -----
    Mercer: with q = |A ∩ B| / (|A| + |B|) it is q + q² + q³ + … The numerator of q is Mercer, and
    1/(|A| + |B|) = ∫ e^(−t|A|) e^(−t|B|) dt is an integral of products of functions of one set
    each; products, powers and sums of Mercer kernels are Mercer.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.Jaccard().gram([{"milk", "eggs"}, {"milk", "beer", "coal"}])
    array([[1.  , 0.25],
           [0.25, 1.  ]])
    """

    of_vectors = False

    def prepare(self, z: Items) -> PreparedJaccard:
        """The centers with their sizes."""
        return PreparedJaccard(self, as_list(z))

    def diagonal(self, x: Items) -> Array:
        """One."""
        return np.ones(len(as_list(x)))

    def serializable(self, items: Items) -> list[Any]:
        """Sets as sorted tuples."""
        return _serializable_sets(items)


class PreparedJaccard(PreparedKernel):
    """Intersections by products of indicators, unions from the sizes."""

    def __init__(self, kernel: Jaccard, centers: list[Any]) -> None:
        super().__init__(kernel, centers)
        self._intersection = PreparedFeatures(SetKernel(), centers)
        self._sizes = SetKernel().diagonal(centers)

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """|A ∩ B| / |A ∪ B|."""
        x = as_list(x)
        return self._divide(self._intersection.rows(x, out), SetKernel().diagonal(x))

    def take(self, indices: Any, out: Array | None = None) -> Array:
        """Rows of the Gram matrix."""
        return self._divide(self._intersection.take(indices, out), self._sizes[indices])

    def _divide(self, intersection: Array, sizes: Array) -> Array:
        union = sizes[:, None] + self._sizes[None, :] - intersection
        intersection[union == 0.0] = 1.0
        intersection /= np.maximum(union, 1.0)
        return intersection


def _serializable_sets(items: Items) -> list[Any]:
    """Every set as a tuple of its elements, sorted by type and representation."""
    return [
        tuple(sorted(_elements(i), key=lambda e: (type(e).__name__, repr(e))))
        for i in as_list(items)
    ]


def _elements(item: Any) -> frozenset[Any]:
    if isinstance(item, str) or not hasattr(item, "__iter__"):
        raise InputError(
            f"A kernel of sets compares sets; this is {type(item).__name__}: {item!r:.60}.",
            remedy="The words of a text are the set {*text.split()}.",
        )
    return frozenset(item)


# -------------------------------------------------------------------------------------------------
# Kernels of rooted, ordered, labeled trees: common fragments.
#
# A tree is a nested tuple, (label, child, child, …); a leaf may be its label alone. A *fragment* is
# a node with all its children, each of which either ends there or is expanded in the same way; a
# leaf by itself is a fragment, too.
#
#     κ(T, U) = Σ_f λ^(nodes expanded in f) count_f(T) count_f(U)
#
# Mercer: √λ^(nodes) count_f is the feature map. Pairs of nodes are compared from the leaves up,
# C(a, b) = λ ∏ (1 + C(aᵢ, bᵢ)) where a and b have the same label and the same labels of children.


@describe_parameters
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

    decay: float = hyperparameter(0.5, 1e-3, 1.0, bounded=True)
    #: 1 if a child may end a fragment although the tree goes on below it, else 0.
    _partial: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        check_decay(self.decay)

    def serializable(self, items: Items) -> list[Any]:
        """Trees as nested tuples."""
        return [_serializable_tree(item) for item in as_list(items)]

    def encode(self, items: list[Any], vocabulary: dict[Any, int], *, extend: bool) -> EncodedItems:
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
        return EncodedItems(vocabulary, arrays, np.diff(arrays[3]))

    def fill(
        self, x: EncodedItems, z: EncodedItems, rows: slice, part: int, decay: complex, out: Array
    ) -> None:
        """Dynamic programming for every pair."""
        from separatrix.kernels.loops import tree_kernel

        work = np.zeros((x.max_size, z.max_size), dtype=out.dtype)
        decay, bounds = out.dtype.type(decay), (rows.start, rows.stop)
        tree_kernel(*x.arrays, *z.arrays, *bounds, part, decay, self._partial, work, out)


@describe_parameters
@dataclass(frozen=True)
class SubtreeKernel(TreeKernel):
    """Subtree kernel: whole subtrees that two labeled, ordered trees have in common.

        κ(T, U) = Σ_f λ^(nodes expanded in f) count_f(T) count_f(U)

    A subtree is a node with all its descendants: C(a, b) = λ ∏ C(aᵢ, bᵢ), with the factor one for
    leaves.

    Parameters
    ----------
    decay : float, default=0.5

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


# -------------------------------------------------------------------------------------------------
# The Weisfeiler–Lehman subtree kernel of labeled graphs.
#
# In every round each node's label becomes a hash of (its label, the sorted labels of its
# neighbors); after r rounds it identifies the tree of all walks of r steps from the node.


#: Labels of the nodes; edges (u, v, label) between node indices.
Graph = tuple[tuple[Any, ...], tuple[tuple[int, int, Any], ...]]


@dataclass(frozen=True)
class GraphKernel(FeatureKernel):
    """Weisfeiler–Lehman subtree kernel of labeled graphs.

        κ(G, H) = Σ Σ n(u, r, G) · n(u, r, H),    over r = 0 … h rounds and all labels u

    with n(u, r, G) the number of nodes of G that have the label u after r rounds.

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
                _hash((node_hash, *sorted((edge, hashes[other]) for edge, other in neighbors)))
                for node_hash, neighbors in zip(hashes, adjacency, strict=True)
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
    numbered: dict[tuple[int, int], Any] = {}
    for edge in edges:
        ends = [number.get(node) for node in edge[:2]]
        if len(edge) not in (2, 3) or None in ends:
            raise InputError(
                f"The edge {edge!r} does not connect two nodes of its graph.",
                remedy="Every node needs a label, and an edge is (node, node) or with a label.",
            )
        u, v = sorted(end for end in ends if end is not None)
        numbered[u, v] = edge[2] if len(edge) == 3 else None
    return tuple(labels.values()), tuple((u, v, numbered[u, v]) for u, v in sorted(numbered))


def _hash(value: Any) -> str:
    """A hash of any label or neighborhood, the same in every process."""
    return blake2b(f"{type(value).__name__} {value!r}".encode(), digest_size=16).hexdigest()


# -------------------------------------------------------------------------------------------------
# The kernel of first-order terms and of conjunctions of literals.
#
# A term is a variable, held as a string, or a tuple (functor, argument, …). Features are terms that
# are cut: below a depth every argument is left open. Variables are numbered in the order of a term,
# so that a feature is the same whatever their names.


#: A variable, or (functor, argument, …).
LogicTerm = Any

#: A name in quotes, a number, or a word; before a parenthesis it is a functor.
_NAME = r"'[^']*'|[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|\w+"
_TOKEN = re.compile(
    rf"\s*(?:(?P<functor>{_NAME})\s*\(|(?P<negation>not\b|¬|\\\+)|(?P<name>{_NAME})"
    r"|(?P<close>\))|(?P<comma>[,∧&]))"
)


@dataclass(frozen=True)
class TermKernel(FeatureKernel):
    r"""Kernel of first-order terms and conjunctions of literals: common sub-terms.

        κ(s, t) = Σ_u count_u(s) · count_u(t)

    u runs over all terms up to names of variables, those of at most ``depth`` levels of functors
    and those that are cut there, with arguments left open; count_u(s) is how often s has the
    sub-term u. Literals of a conjunction that share a variable have the pair of its places as a
    further feature. Mercer: the counts are the feature map. They grow with the items: use
    ``.normalized()``.

    An item is a string as in Prolog: ``"f(a, g(X))"``, ``"p(a, X), not q(X, 'New York')"``.
    Variables begin with a capital or an underscore, and ``_`` alone is another one each time.
    ``not``, ``¬`` or ``\+`` negate a literal, which then has another predicate; commas, ``∧`` or
    ``&`` join literals, whose order does not count.

    Parameters
    ----------
    depth : int, default=3
        Levels of functors that sub-terms are compared to, a positive integer: at 1 a sub-term is
        its functor with the number of its arguments.

    See Also
    --------
    SubtreeKernel : whole subtrees of trees.
    GraphKernel : neighborhoods in labeled graphs.

    References
    ----------
    T. Gärtner, J. W. Lloyd and P. A. Flach, Kernels and distances for structured data, Machine
    Learning 57, 2004.

    Examples
    --------
    >>> import separatrix as sx
    >>> kernel = sx.TermKernel(depth=2)
    >>> kernel.gram(["f(a, X)", "f(a, b)", "f(Y, b)"])
    array([[4., 2., 2.],
           [2., 4., 2.],
           [2., 2., 4.]])
    >>> kernel.normalized().gram(["p(X), not q(X)"], ["not q(Z), p(Z)"]).round(6)
    array([[1.]])
    """

    depth: int = hyperparameter(3, 1, 20, continuous=False)

    def __post_init__(self) -> None:
        check_integer(self.depth, "The depth of TermKernel", 1)

    def features(self, item: Any) -> Mapping[Hashable, float]:
        """Sub-terms up to the depth, and places that share a variable, with their counts."""
        literals = parse_literals(item)
        counts: Counter[Hashable] = Counter()
        places: dict[str, list[tuple[int, Hashable]]] = {}
        for i, literal in enumerate(literals):
            for term, path in _subterms(literal):
                counts.update(_cut_terms(term, int(self.depth)))
                if isinstance(term, str):
                    predicate = None if isinstance(literal, str) else (literal[0], len(literal))
                    place = (predicate, path)
                    places.setdefault(term, []).append((i, place))
        for occurrences in places.values():
            for (i, first), (j, second) in combinations(occurrences, 2):
                if i != j:
                    counts["shared", *sorted((first, second), key=repr)] += 1
        return counts

    def serializable(self, items: Items) -> list[str]:
        """Terms as str."""
        return [str(item) for item in as_list(items)]


def parse_literals(text: Any) -> list[LogicTerm]:
    """The literals of a conjunction, or the one term; the predicate of a negation is a pair."""
    if not isinstance(text, str):
        raise InputError(
            f"TermKernel compares terms written as strings; this is {type(text).__name__}: "
            f"{text!r:.60}.",
            remedy="Write 'f(a, g(X))' or 'p(a, X), not q(X)'.",
        )
    literals: list[LogicTerm] = []
    if not text.strip():  # the conjunction of no literals, which is true
        return literals
    open_: list[list[Any]] = [[]]  # the conjunction, and the terms whose arguments are being read
    negations, expects_term, position = 0, True, 0
    while position < len(text.rstrip()):
        token = _TOKEN.match(text, position)
        kind = token.lastgroup if token else None
        if token is None or expects_term != (kind in ("functor", "negation", "name")):
            raise _syntax_error(text, position, "a term" if expects_term else "a comma or ')'")
        if kind == "negation":
            if len(open_) > 1:
                raise _syntax_error(text, position, "a term, as only literals can be negated,")
            negations += 1
        elif kind == "functor":
            open_.append([token["functor"].strip("'")])
        elif kind == "name":
            open_[-1].append(_symbol(token["name"], position))
            expects_term = False
        elif kind == "close":
            if len(open_) == 1:
                raise _syntax_error(text, position, "a comma or the end")
            term = tuple(open_.pop())
            open_[-1].append(term)
        else:
            expects_term = True
        position = token.end()
        if len(open_) == 1 and not expects_term and kind != "comma":
            literals.append(_negate(open_[0].pop(), negations))
            negations = 0
    if expects_term or len(open_) > 1:
        raise _syntax_error(text, len(text), "a term" if expects_term else "a comma or ')'")
    return literals


def _symbol(name: str, position: int) -> LogicTerm:
    """A variable as a string, a constant as a functor without arguments."""
    if name == "_":
        return f"_ {position}"  # no other variable has a space
    return name if name[0] == "_" or name[0].isupper() else (name.strip("'"),)


def _negate(literal: LogicTerm, negations: int) -> LogicTerm:
    """A literal with a predicate ("not", p) for every negation."""
    if isinstance(literal, str):  # a variable by itself
        return literal if not negations else (("not",) * negations, literal)
    predicate = literal[0]
    for _ in range(negations):
        predicate = ("not", predicate)
    return (predicate, *literal[1:])


def _syntax_error(text: str, position: int, expected: str) -> InputError:
    """What stands where something else was expected."""
    rest = text[position:].strip()
    there = f"{rest!r:.40} stands there" if rest else "the text ends"
    return InputError(
        f"{text!r:.60} is not a term or conjunction: {expected} is expected after "
        f"{text[:position].strip()!r:.40}, and {there}.",
        remedy="Write 'f(a, g(X))' or 'p(a, X), not q(X)'; other names in quotes: 'New York'.",
    )


def _subterms(literal: LogicTerm) -> Iterator[tuple[LogicTerm, tuple[int, ...]]]:
    """All sub-terms with the positions of the arguments that lead to them."""
    stack: list[tuple[LogicTerm, tuple[int, ...]]] = [(literal, ())]
    while stack:
        term, path = stack.pop()
        yield term, path
        if not isinstance(term, str):
            stack.extend((argument, (*path, i)) for i, argument in enumerate(term[1:]))


def _cut_terms(term: LogicTerm, depth: int) -> list[Hashable]:
    """A term cut at every depth up to ``depth``, until it is whole."""
    terms: list[Hashable] = []
    for levels in range(1, depth + 1):
        variables: dict[str, int] = {}
        cut, whole = _cut(term, levels, variables)
        terms.append(cut)
        if whole:
            break
    return terms


def _cut(term: LogicTerm, levels: int, variables: dict[str, int]) -> tuple[Hashable, bool]:
    """A term with its arguments below some levels left open, and whether none had to be."""
    if levels == 0:
        return None, False
    if isinstance(term, str):
        return variables.setdefault(term, len(variables)), True
    arguments = [_cut(argument, levels - 1, variables) for argument in term[1:]]
    return (term[0], *(cut for cut, _ in arguments)), all(whole for _, whole in arguments)
