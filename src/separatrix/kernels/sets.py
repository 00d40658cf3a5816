"""Kernels of sets: how much two sets have in common."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.kernels.base import Array, Items, Kernel, PreparedKernel
from separatrix.kernels.features import FeatureKernel, FeatureRows, objects
from separatrix.messages import InputError


@dataclass(frozen=True)
class SetKernel(FeatureKernel):
    """κ(A, B) = |A ∩ B|.

    Mercer: it is the inner product of the sets' indicators. Its cosine, |A ∩ B| / √(|A| |B|), is
    ``SetKernel().normalised()``; 2^|A ∩ B|, the number of subsets in common, is
    ``(log(2) * SetKernel()).exp()``.
    """

    def features(self, item: Any) -> Mapping[Hashable, float]:
        """The elements, once each."""
        return dict.fromkeys(_elements(item), 1.0)

    def serializable(self, items: Items) -> list[Any]:
        """Sets as tuples of their elements, in an order that does not depend on the run."""
        return plain_sets(items)


@dataclass(frozen=True)
class Jaccard(Kernel):
    """κ(A, B) = |A ∩ B| / |A ∪ B|, and 1 for two empty sets.

    Mercer: with |A ∪ B| = |A| + |B| − |A ∩ B| it is the sum over p ≥ 1 of qᵖ, where
    q = |A ∩ B| / (|A| + |B|). The numerator is Mercer, 1/(|A| + |B|) = ∫ e^(−t|A|) e^(−t|B|) dt is
    an integral of products of functions of one set each, and products, powers and sums of Mercer
    kernels are Mercer.
    """

    of_vectors = False

    def prepare(self, z: Items) -> JaccardRows:
        """Centers with their sizes."""
        return JaccardRows(self, objects(z))

    def diagonal(self, x: Items) -> Array:
        """One."""
        return np.ones(len(objects(x)))

    def serializable(self, items: Items) -> list[Any]:
        """Sets as tuples of their elements, in an order that does not depend on the run."""
        return plain_sets(items)


class JaccardRows(PreparedKernel):
    """Intersections from products of indicators, unions from the sizes."""

    def __init__(self, kernel: Jaccard, centers: list[Any]) -> None:
        super().__init__(kernel, centers)
        self._common = FeatureRows(SetKernel(), centers)
        self._sizes = SetKernel().diagonal(centers)

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """|A ∩ B| / |A ∪ B|."""
        x = objects(x)
        return self._over_union(self._common.rows(x, out), SetKernel().diagonal(x))

    def take(self, indices: Any, out: Array | None = None) -> Array:
        """The same among the centers."""
        return self._over_union(self._common.take(indices, out), self._sizes[indices])

    def _over_union(self, common: Array, sizes: Array) -> Array:
        union = sizes[:, None] + self._sizes[None, :] - common
        common[union == 0.0] = 1.0
        common /= np.maximum(union, 1.0)
        return common


def plain_sets(items: Items) -> list[Any]:
    """Every set as a tuple of its elements, sorted by type and name."""
    return [
        tuple(sorted(_elements(i), key=lambda e: (type(e).__name__, repr(e))))
        for i in objects(items)
    ]


def _elements(item: Any) -> frozenset[Any]:
    if isinstance(item, str) or not hasattr(item, "__iter__"):
        raise InputError(
            f"A kernel of sets compares sets; this is {type(item).__name__}: {item!r:.60}.",
            remedy="The words of a text are the set {*text.split()}.",
        )
    return frozenset(item)
