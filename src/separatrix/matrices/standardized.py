"""Columns centered and scaled without filling in: z = (x − c) / s.

Z v = X (v/s) − c·(v/s),        Zᵀ r = (Xᵀ r − c Σ r) / s
"""

from __future__ import annotations

import numpy as np

from separatrix.matrices.products import DenseProducts, Products
from separatrix.rows.block import Floats, Ints


class Standardized:
    """The matrix of z: ``center`` and ``scale`` of every column of ``x``."""

    def __init__(self, x: Products, center: Floats, scale: Floats) -> None:
        self.x, self.center, self.scale = x, center, scale

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.x.shape

    def times(self, v: Floats) -> Floats:
        """Z v."""
        u = (v.T / self.scale).T
        return self.x.times(u) - self.center @ u

    def transposed_times(self, r: Floats) -> Floats:
        """Zᵀ r."""
        sums = self.x.transposed_times(r)
        sums -= np.multiply.outer(self.center, r.sum(axis=0))
        return np.asarray((sums.T / self.scale).T)

    def weighted_squares(self, w: Floats) -> Floats:
        """Σᵢ wᵢ zᵢⱼ² of every column j."""
        c, plain = self.center, self.x.weighted_squares(w)
        sums = plain - 2.0 * c * self.x.transposed_times(w) + c**2 * w.sum()
        return np.asarray(np.maximum(sums, 0.0) / self.scale**2)

    def columns(self, index: Ints) -> Floats:
        """Some columns of Z, dense and contiguous each."""
        chosen = self.x.columns(index)
        chosen -= self.center[index]
        chosen /= self.scale[index]
        return chosen

    def round_trip(self, r: Floats) -> tuple[Floats, Floats]:
        """f = Zᵀ r, and Z f."""
        if not isinstance(self.x, DenseProducts) or (self.scale != 1.0).any():
            forward = self.transposed_times(r)
            return forward, self.times(forward)
        forward, back = self.x.round_trip(r, np.multiply.outer(self.center, r.sum(axis=0)))
        return forward, back - self.center @ forward
