"""A function made of bells around anchors: f(x) = Σⱼ aⱼ κ(xⱼ, x) + b.

In the feature space it is a hyperplane with the normal w = Σⱼ aⱼ φ(xⱼ); in the space of the rows
its level sets bend. Only anchors whose weight is not zero are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.kernels.base import BLOCK, Items, Kernel, Prepared, pick
from separatrix.kernels.precomputed import Precomputed
from separatrix.kernels.tiles import matrix
from separatrix.messages import InputError
from separatrix.rows.block import Floats


@dataclass(frozen=True)
class KernelExpansion:
    """``anchors`` (m items), ``weights`` (m x k) and ``intercept`` (k): k functions at once.

    Anchors whose weights all vanish are dropped here. With a precomputed kernel the anchors are
    the numbers of the columns to read, in blocks of ``trained`` columns.
    """

    kernel: Kernel
    anchors: Any
    weights: Floats
    intercept: Floats
    trained: int = 0

    def __post_init__(self) -> None:
        weights = np.asarray(self.weights, dtype=float)
        weights = weights.reshape(len(weights), -1)
        intercept = np.broadcast_to(np.asarray(self.intercept, dtype=float), weights.shape[1:])
        anchors = self.anchors
        if isinstance(self.kernel, Precomputed):
            columns = np.ndim(anchors) == 1  # already numbers of columns
            anchors = np.asarray(anchors) if columns else np.arange(len(weights))
        else:
            anchors = self.kernel.plain(anchors)
        count = anchors.shape[0] if hasattr(anchors, "shape") else len(anchors)
        if count != len(weights):
            raise InputError(f"There are {len(weights)} weights for {count} anchors.")
        kept = np.flatnonzero((weights != 0.0).any(axis=1))
        object.__setattr__(self, "trained", int(self.trained) or len(weights))
        if len(kept) < len(weights):
            anchors, weights = pick(anchors, kept), weights[kept]
        object.__setattr__(self, "anchors", anchors)
        object.__setattr__(self, "weights", np.ascontiguousarray(weights))
        object.__setattr__(self, "intercept", intercept.copy())

    def __len__(self) -> int:
        """How many anchors were kept."""
        return len(self.weights)

    def scores(self, x: Items) -> Floats:
        """f(x) for every item and function (n x k), a bounded number of kernel values at a time."""
        if isinstance(self.kernel, Precomputed):
            return self._looked_up(x)
        x = matrix(x) if self.kernel.of_vectors else x
        if len(self) == 0:
            n = x.shape[0] if hasattr(x, "shape") else len(x)
            return np.tile(self.intercept, (n, 1))
        return np.asarray(self._prepared.times(x, self.weights) + self.intercept)

    def _looked_up(self, x: Items) -> Floats:
        x = matrix(x)
        if x.shape[1] != self.trained:
            raise InputError(
                f"The block of similarities has {x.shape[1]} columns.",
                remedy=f"One is needed for each of the {self.trained} rows that were trained on.",
            )
        return np.asarray(x[:, self.anchors] @ self.weights + self.intercept)

    @cached_property
    def _prepared(self) -> Prepared:
        return self.kernel.against(self.anchors)

    @property
    def size(self) -> str:
        """How many anchors there are, and what they take, in words."""
        many = f"{len(self)} of {self.trained} rows kept"
        if isinstance(self.kernel, Precomputed) or not hasattr(self.anchors, "nbytes"):
            if not sparse.issparse(self.anchors):
                return many
            return f"{many}, {self.anchors.data.nbytes / 1e6:.1f} MB"
        return f"{many}, {self.anchors.nbytes / 1e6:.1f} MB"

    def squared_norm(self) -> Floats:
        """‖w‖² = Σᵢⱼ aᵢ aⱼ κ(xᵢ, xⱼ) of every function, by blocks of rows."""
        total = np.zeros(self.weights.shape[1])
        if isinstance(self.kernel, Precomputed):
            raise InputError("The anchors' own similarities are not kept by a precomputed kernel.")
        step = max(1, BLOCK // max(1, len(self)))
        for start in range(0, len(self), step):
            rows = np.arange(start, min(start + step, len(self)))
            total += np.einsum(
                "ik,ik->k", self.weights[rows], self._prepared.take(rows) @ self.weights
            )
        return total
