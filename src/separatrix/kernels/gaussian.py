"""The Gaussian kernel: a bell of width σ around every center.

κ(x, z) = exp(−‖x − z‖² / 2σ²),    κ(x, x) = 1: all φ(x) lie on a sphere of radius one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.kernels.base import Array, Items, Kernel, PreparedKernel, hyper, reflect
from separatrix.kernels.tiles import (
    below_diagonal,
    handed,
    lengths,
    matrix,
    multiply,
    on_tiles,
    own_block,
    rows_alike,
    summed,
    tiles,
)
from separatrix.kernels.vectors import Linear
from separatrix.messages import InputError


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

    def prepare(self, z: Items) -> GaussianRows:
        """Centers moved to their mean and measured in bandwidths."""
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


class GaussianRows(PreparedKernel):
    """exp(u·v − ½‖u‖² − ½‖v‖²) with u = (x − c)/σ, v = (z − c)/σ and c the mean of the centers.

    The kernel does not change when both sides move by c, and the product loses no digits to an
    offset. Rows further out than a limit, where ‖u‖² dwarfs the squared distance between
    neighbours, are compared with the centers coordinate by coordinate.
    """

    def __init__(self, kernel: Gaussian, centers: Items) -> None:
        super().__init__(kernel, centers)
        self._sigma = kernel.bandwidth
        self._centre = 0.0 if sparse.issparse(centers) else _middle(centers)
        self._placed = self._place(centers)
        self._half = _half_lengths(self._placed)
        dense = isinstance(centers, np.ndarray)
        self._columns = np.ascontiguousarray(self._placed.T) if dense else self._placed.T
        self._limit = _LIMIT[centers.dtype.name] if dense else np.inf
        self._spread = bool((self._half > self._limit).any())

    def _place(self, x: Items) -> Items:
        if sparse.issparse(x):
            return (x / self._sigma).astype(x.dtype)
        return ((x - self._centre) / self._sigma).astype(x.dtype, copy=False)

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """exp of minus half the squared distance in bandwidths."""
        x, z = rows_alike(x, self.centers)
        if x.dtype != self.centers.dtype or type(z) is not type(self.centers):
            return GaussianRows(self.kernel, z).rows(x, out)  # type: ignore[arg-type]
        u, block = self._place(x), own_block(x, z, out)
        self._fill(x, u, _half_lengths(u), block)
        return handed(block, out)

    def take(self, indices: Any, out: Array | None = None) -> Array:
        """Rows of the centers' own Gram matrix, one where an center meets itself."""
        indices = np.arange(len(self))[indices]
        u = self._placed[indices]
        block = own_block(u, self._placed, out)
        x = self.centers[indices] if self._spread else u
        self._fill(x, u, self._half[indices], block)
        block[np.arange(len(indices)), indices] = 1.0
        return handed(block, out)

    def times(self, x: Items, weights: Array) -> Array:
        """Sums over tiles, none of which is kept."""
        x, z = rows_alike(x, self.centers)
        if x.dtype != self.centers.dtype or type(z) is not type(self.centers):
            return GaussianRows(self.kernel, z).times(x, weights)  # type: ignore[arg-type]
        u = self._place(x)
        half = _half_lengths(u)

        def part(rows: slice, columns: slice, tile: Array) -> None:
            self._tile(x[rows], u[rows], half[rows], columns, tile, (0, 0))

        return summed(part, weights, x)

    def gram(self) -> Array:
        """The tiles below the diagonal, mirrored."""
        z, u, half = self.centers, self._placed, self._half
        block = own_block(u, u, None)

        def fill(rows: slice, columns: slice) -> None:
            corner = rows.start, columns.start
            self._tile(z[rows], u[rows], half[rows], columns, block, corner)
            reflect(block, rows, columns)

        on_tiles(fill, below_diagonal(len(self)), u.shape[1])
        np.fill_diagonal(block, 1.0)
        return block

    def _fill(self, x: Items, u: Items, half: Array, block: Array) -> None:
        """The block of rows ``x``, in bandwidths ``u``."""

        def fill(rows: slice, columns: slice) -> None:
            corner = rows.start, columns.start
            self._tile(x[rows], u[rows], half[rows], columns, block, corner)

        on_tiles(fill, tiles(*block.shape), u.shape[1])

    def _tile(
        self, x: Items, u: Items, half: Array, columns: slice, block: Array, at: tuple[int, int]
    ) -> None:
        """Rows x (u in bandwidths) with some of the centers, in the block from corner ``at``."""
        from separatrix.kernels.loops import gaussian as bells

        single = block.dtype == np.float32
        far = np.flatnonzero(half > self._limit) if self._spread else np.empty(0, dtype=np.int64)
        if len(far) < len(half):
            tile = block[at[0] : at[0] + len(half), at[1] : at[1] + columns.stop - columns.start]
            with np.errstate(over="ignore", invalid="ignore"):
                multiply(u, self._columns[:, columns], tile)
            (bells.bells32 if single else bells.bells64)(block, *at, half, self._half[columns])
        if len(far):
            recompute = bells.differences32 if single else bells.differences64
            centers = np.ascontiguousarray(self.centers[columns].T)
            recompute(block, *at, far, x, centers, block.dtype.type(1.0 / self._sigma))


#: ½‖u‖² up to which a product keeps enough digits: 5 in single precision, 10 in double. Pairs of a
#: row within the limit and an center far beyond it are so far apart that their entry vanishes.
_LIMIT = {"float32": 128.0, "float64": 1e5}


def _middle(x: Array) -> Array:
    """The mean of every column, in double precision."""
    return np.asarray(x.mean(axis=0, dtype=float)) if len(x) else np.zeros(x.shape[1])


def _half_lengths(x: Items) -> Array:
    with np.errstate(over="ignore"):
        return 0.5 * lengths(x)
