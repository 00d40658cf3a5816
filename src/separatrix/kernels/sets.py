"""Kernels of sets, from the sizes of intersections."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.kernels.base import Array, Items, Kernel, PreparedKernel
from separatrix.kernels.features import FeatureKernel, PreparedFeatures, as_list
from separatrix.messages import InputError


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
    Mercer: with q = |A ∩ B| / (|A| + |B|) it is Σ_{p ≥ 1} qᵖ. The numerator of q is Mercer, and
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
