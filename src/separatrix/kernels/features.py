"""Kernels of Python objects with an explicit, sparse feature map of counts.

    κ(x, z) = Σ_u φ_u(x) φ_u(z),    φ_u(x) = number of occurrences of the feature u in x

Mercer by construction. Features that no center has do not contribute and are not stored.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.kernels.base import Array, Items, Kernel, PreparedKernel
from separatrix.kernels.tiles import copy_to
from separatrix.messages import InputError


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
