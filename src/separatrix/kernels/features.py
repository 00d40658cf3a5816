"""Kernels of Python objects that are inner products of counted features.

κ(x, z) = Σ_u φ_u(x) φ_u(z), with φ_u(x) how often the feature u occurs in x: Mercer, because the
map φ is written out. Features of the centers are numbered once; others can meet none of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.kernels.base import Array, Items, Kernel, PreparedKernel
from separatrix.kernels.tiles import handed
from separatrix.messages import InputError


class FeatureKernel(Kernel):
    """The inner product of counts."""

    of_vectors = False

    @abstractmethod
    def features(self, item: Any) -> Mapping[Hashable, float]:
        """Which features an item has, and how often."""

    def prepare(self, z: Items) -> FeatureRows:
        """Centers as a sparse matrix of counts."""
        return FeatureRows(self, objects(z))

    def diagonal(self, x: Items) -> Array:
        """Σ_u φ_u(x)²."""
        squares = [sum(c * c for c in self.features(item).values()) for item in objects(x)]
        return np.array(squares, dtype=float)


class FeatureRows(PreparedKernel):
    """Counts of the centers, and the number of every feature among them."""

    def __init__(self, kernel: FeatureKernel, centers: list[Any]) -> None:
        super().__init__(kernel, centers)
        self._features = kernel.features
        counted = [self._features(item) for item in centers]
        self._column: dict[Hashable, int] = {}
        for features in counted:
            for feature in features:
                self._column.setdefault(feature, len(self._column))
        self._counts = self._matrix(counted)

    def _matrix(self, counted: list[Mapping[Hashable, float]]) -> Any:
        values: list[float] = []
        columns: list[int] = []
        ends = [0]
        for features in counted:
            for feature, count in features.items():
                column = self._column.get(feature)
                if column is not None:
                    columns.append(column)
                    values.append(count)
            ends.append(len(columns))
        shape = (len(counted), max(1, len(self._column)))
        data = np.array(values, dtype=float)
        return sparse.csr_array((data, np.array(columns, dtype=np.int64), ends), shape=shape)

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """A product of two sparse matrices of counts."""
        counts = self._matrix([self._features(item) for item in objects(x)])
        return handed((counts @ self._counts.T).toarray(), out)

    def take(self, indices: Any, out: Array | None = None) -> Array:
        """The centers' counts are known already."""
        chosen = np.arange(len(self))[indices]
        return handed((self._counts[chosen] @ self._counts.T).toarray(), out)


def objects(x: Items) -> list[Any]:
    """The items in a list. One string alone is a mistake: its letters are not the items."""
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


def sequence(item: Any, kernel: str) -> Any:
    """A string, or any other sequence of things that can be compared."""
    if isinstance(item, str):
        return item
    if isinstance(item, list | tuple | np.ndarray):
        return tuple(item)
    raise InputError(
        f"{kernel} compares strings or sequences; this is {type(item).__name__}: {item!r:.60}."
    )
