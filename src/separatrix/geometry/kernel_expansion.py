"""A function made of bells around centers: f(x) = Σⱼ aⱼ κ(xⱼ, x) + b.

In the feature space it is a hyperplane with the normal w = Σⱼ aⱼ φ(xⱼ); in the space of the rows
its level sets bend. Only centers whose weight is not zero are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.kernels.base import MAX_VALUES, Items, Kernel, PreparedKernel, n_items, take_items
from separatrix.kernels.precomputed import Precomputed
from separatrix.kernels.tiles import as_matrix
from separatrix.messages import InputError
from separatrix.rows.block import Floats


@dataclass(frozen=True)
class KernelExpansion:
    """``centers`` (m items), ``weights`` (m x k) and ``intercept`` (k): k functions at once.

    Centers whose weights all vanish are dropped here. With a precomputed kernel the centers are
    the numbers of the columns to read, in blocks of ``trained`` columns.
    """

    kernel: Kernel
    centers: Any
    weights: Floats
    intercept: Floats
    trained: int = 0

    def __post_init__(self) -> None:
        weights = np.asarray(self.weights, dtype=float)
        weights = weights.reshape(len(weights), -1)
        intercept = np.broadcast_to(np.asarray(self.intercept, dtype=float), weights.shape[1:])
        centers = self.centers
        if isinstance(self.kernel, Precomputed):
            columns = np.ndim(centers) == 1  # already numbers of columns
            centers = np.asarray(centers) if columns else np.arange(len(weights))
        else:
            centers = self.kernel.serializable(centers)
        count = n_items(centers)
        if count != len(weights):
            raise InputError(f"There are {len(weights)} weights for {count} centers.")
        kept = np.flatnonzero((weights != 0.0).any(axis=1))
        object.__setattr__(self, "trained", int(self.trained) or len(weights))
        if len(kept) < len(weights):
            centers, weights = take_items(centers, kept), weights[kept]
        object.__setattr__(self, "centers", centers)
        object.__setattr__(self, "weights", np.ascontiguousarray(weights))
        object.__setattr__(self, "intercept", intercept.copy())

    def __len__(self) -> int:
        """How many centers were kept."""
        return len(self.weights)

    def scores(self, x: Items) -> Floats:
        """f(x) for every item and function (n x k), a bounded number of kernel values at a time."""
        if isinstance(self.kernel, Precomputed):
            return self._looked_up(x)
        x = as_matrix(x) if self.kernel.of_vectors else x
        if len(self) == 0:
            n = n_items(x)
            return np.tile(self.intercept, (n, 1))
        return np.asarray(self._prepared.dot(x, self.weights) + self.intercept)

    def _looked_up(self, x: Items) -> Floats:
        x = as_matrix(x)
        if x.shape[1] != self.trained:
            raise InputError(
                f"The block of similarities has {x.shape[1]} columns.",
                remedy=f"One is needed for each of the {self.trained} rows that were trained on.",
            )
        return np.asarray(x[:, self.centers] @ self.weights + self.intercept)

    @cached_property
    def _prepared(self) -> PreparedKernel:
        return self.kernel.prepare(self.centers)

    @property
    def size(self) -> str:
        """How many centers there are, and what they take, in words."""
        many = f"{len(self)} of {self.trained} rows kept"
        if isinstance(self.kernel, Precomputed) or not hasattr(self.centers, "nbytes"):
            if not sparse.issparse(self.centers):
                return many
            return f"{many}, {self.centers.data.nbytes / 1e6:.1f} MB"
        return f"{many}, {self.centers.nbytes / 1e6:.1f} MB"

    def squared_norm(self) -> Floats:
        """‖w‖² = Σᵢⱼ aᵢ aⱼ κ(xᵢ, xⱼ) of every function, by blocks of rows."""
        total = np.zeros(self.weights.shape[1])
        if isinstance(self.kernel, Precomputed):
            raise InputError("The centers' own similarities are not kept by a precomputed kernel.")
        step = max(1, MAX_VALUES // max(1, len(self)))
        for start in range(0, len(self), step):
            rows = np.arange(start, min(start + step, len(self)))
            total += np.einsum(
                "ik,ik->k", self.weights[rows], self._prepared.take(rows) @ self.weights
            )
        return total
