"""The Gaussian kernel: a bell of width σ around every anchor.

κ(x, z) = exp(−‖x − z‖² / 2σ²),    κ(x, x) = 1: all φ(x) lie on a sphere of radius one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from separatrix.messages import InputError
from separatrix.similarity.kernels.base import Array, Items, Kernel, Prepared, hyper, mirrored
from separatrix.similarity.kernels.products import (
    block_for,
    lengths,
    matrix,
    multiply,
    on_tiles,
    rows_alike,
)
from separatrix.similarity.kernels.vectors import Linear


@dataclass(frozen=True)
class Gaussian(Kernel):
    """κ(x, z) = exp(−‖x − z‖² / 2σ²), with σ the ``bandwidth``.

    With γ = 1/2σ² it is scikit-learn's ``rbf``; :meth:`from_ab` takes a·exp(−‖x − z‖²/b).
    """

    bandwidth: float = hyper(1.0, 1e-5, 1e5)

    def __post_init__(self) -> None:
        if not 0.0 < self.bandwidth < np.inf:
            raise InputError(
                f"The bandwidth of a Gaussian kernel is {self.bandwidth!r}.",
                remedy="It is a distance between rows, above zero.",
            )

    @classmethod
    def from_ab(cls, a: float, b: float) -> Kernel:
        """a·exp(−‖x − z‖²/b): height ``a``, and width ``b`` = 2σ² in squared units."""
        if not b > 0.0:
            raise InputError(f"The width b of a Gaussian kernel is {b!r}.", remedy="Take b > 0.")
        bell = cls(float(np.sqrt(b / 2.0)))
        return bell if a == 1.0 else a * bell

    def against(self, z: Items) -> GaussianRows:
        """Anchors moved to their mean and measured in bandwidths."""
        return GaussianRows(self, matrix(z))

    def diagonal(self, x: Items) -> Array:
        """One."""
        x = matrix(x)
        return np.ones(x.shape[0], dtype=x.dtype)

    def squared_distance(self, x: Items, z: Items | None = None) -> Array:
        """2 (1 − κ) without cancellation: near points keep their digits."""
        square = Linear().squared_distance(x, z) / (2.0 * self.bandwidth**2)
        return np.asarray(-2.0 * np.expm1(-square))

    def _slopes(self, x: Items) -> list[Array]:
        square = Linear().squared_distance(x) / self.bandwidth**2
        return [self.gram(x) * square / self.bandwidth]


class GaussianRows(Prepared):
    """exp(u·v − ½‖u‖² − ½‖v‖²) with u = (x − c)/σ, v = (z − c)/σ and c the mean of the anchors.

    The kernel does not change when both sides move by c; the product loses no digits to an offset.
    """

    def __init__(self, kernel: Gaussian, anchors: Items) -> None:
        super().__init__(kernel, anchors)
        self._centre = 0.0 if sparse.issparse(anchors) else anchors.mean(axis=0, dtype=float)
        self._sigma = kernel.bandwidth
        self._placed = self._place(anchors)
        self._half = 0.5 * lengths(self._placed)

    def _place(self, x: Items) -> Items:
        if sparse.issparse(x):
            return x / self._sigma
        return ((x - self._centre) / self._sigma).astype(x.dtype, copy=False)

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """exp of minus half the squared distance in bandwidths."""
        x, _ = rows_alike(x, self.anchors)
        u = self._place(x)
        return self._fill(u, 0.5 * lengths(u), block_for(x, self.anchors, out))

    def take(self, indices: Items, out: Array | None = None) -> Array:
        """Rows of the anchors' own Gram matrix, one where an anchor meets itself."""
        indices = np.arange(len(self))[indices]
        u = self._placed[indices]
        out = self._fill(u, self._half[indices], block_for(u, self._placed, out))
        out[np.arange(len(indices)), indices] = 1.0
        return out

    def gram(self) -> Array:
        """All rows, mirrored."""
        every = np.arange(len(self))
        return mirrored(self.take(every), self.diagonal)

    def _fill(self, u: Items, half: Array, out: Array) -> Array:
        def fill(rows: slice, columns: slice) -> None:
            tile = out[rows, columns]
            multiply(u[rows], self._placed[columns], tile)
            tile -= half[rows, None]
            tile -= self._half[None, columns]
            np.minimum(tile, 0.0, out=tile)
            np.exp(tile, out=tile)

        on_tiles(fill, out.shape, u.shape[1])
        return out
