"""Radial kernels: functions of the distance of two rows, measured in bandwidths.

κ(x, z) = f(s),    s = Σ_c ((x_c − z_c)/σ_c)²,    ∂κ/∂log σ_c = g(s) ((x_c − z_c)/σ_c)²,  g = −2 f′

One bandwidth serves all columns, or each column has its own (automatic relevance determination: a
column whose bandwidth grows without bound no longer counts).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np
from scipy import sparse

from separatrix.kernels.base import Array, Items, Kernel, PreparedKernel
from separatrix.kernels.derivatives import KernelPairs, PairTile, pair_values, stacked_products
from separatrix.kernels.parameters.hyperparameters import Floats, check_positive
from separatrix.kernels.tiles import (
    are_dense_doubles,
    as_matrix,
    common_matrices,
    copy_to,
    output_block,
    squared_norms,
    weighted_sums,
)
from separatrix.messages import InputError

#: One number for all columns, or one for each.
Bandwidth = float | tuple[float, ...]
#: Columns from which distances are computed by products of rows, and the squared distance, as a
#: part of both squared lengths, below which they are computed from differences all the same.
WIDE, NEAR = 64, 0.05
#: Bandwidths from the mean within which differences of squares leave enough digits of a sum.
MODERATE = 50.0


class RadialKernel(Kernel):
    """κ(x, z) = f(s) with s the squared distance in bandwidths; f(0) = 1."""

    bandwidth: Bandwidth
    by_tiles = True

    def __post_init__(self) -> None:
        if isinstance(self.bandwidth, list | tuple | np.ndarray):
            values = tuple(float(value) for value in np.ravel(self.bandwidth))
            object.__setattr__(self, "bandwidth", values)
            if not values:
                raise InputError(
                    "There is no bandwidth.", remedy="Give one for every column, or one for all."
                )
        name = type(self).__name__
        several = self.bandwidth if isinstance(self.bandwidth, tuple) else (self.bandwidth,)
        for value in several:
            check_positive(value, f"The bandwidth of {name}")

    @property
    def by_column(self) -> bool:
        """Whether each column has a bandwidth of its own."""
        return isinstance(self.bandwidth, tuple)

    def inverse_bandwidths(self, d: int) -> Floats:
        """1/σ of every column."""
        if isinstance(self.bandwidth, tuple) and len(self.bandwidth) != d:
            raise InputError(
                f"{type(self).__name__} has {len(self.bandwidth)} bandwidths, the rows have {d} "
                "columns.",
                remedy="Give one bandwidth for every column, or one number for all of them.",
            )
        return np.broadcast_to(1.0 / np.asarray(self.bandwidth, dtype=float), (d,)).copy()

    def started(self, bandwidth: Any) -> Self:
        """With these bandwidths, the present one where NaN is given: nothing is known there."""
        found = np.where(np.isnan(bandwidth), self.bandwidth, bandwidth).tolist()
        bandwidth = tuple(found) if self.by_column else found
        return replace(self, bandwidth=bandwidth)  # type: ignore[type-var]

    @abstractmethod
    def apply(self, tile: Floats, slopes: Floats, a: float, b: float) -> list[Floats]:
        """f(s) in place of s, g(s)·(a + b s) in ``slopes``; returns derivatives by other θ, if any.

        Those come after the bandwidths. ``slopes`` of one row are not needed.
        """

    def prepare(self, z: Items) -> PreparedKernel:
        """The centers as a matrix."""
        return PreparedRadial(self, as_matrix(z))

    def diagonal(self, x: Items) -> Array:
        """One."""
        x = as_matrix(x)
        return np.ones(x.shape[0], dtype=x.dtype)

    def diagonal_derivatives(self, x: Items) -> Array:
        """Zero, since κ(x, x) = 1."""
        return np.zeros((as_matrix(x).shape[0], len(self._continuous())))

    def gram(self, x: Items, z: Items | None = None, out: Array | None = None) -> Array:
        """The matrix κ(xᵢ, zⱼ) from differences of coordinates, for dense rows of float64."""
        if are_dense_doubles(x, z):
            return pair_values(self.pairs(x, z), out)
        return super().gram(x, z, out)

    def pairs(self, x: Items, z: Items | None = None) -> RadialPairs:
        """Both sides as matrices."""
        return RadialPairs(self, x, z)

    def _derivatives(self, x: Items) -> list[Array]:
        pairs = self.pairs(x)
        n, d = pairs.shape[0], pairs.x.shape[1]
        tile = pairs.tile(slice(0, n), slice(0, n))
        if not self.by_column:
            found = [tile.slopes]
        else:
            found = []
            x = pairs.x.toarray() if sparse.issparse(pairs.x) else pairs.x
            for c in range(d):
                differences = (x[:, c][:, None] - x[:, c][None, :]) * pairs.inverse[c]
                found.append(tile.slopes * differences**2)
        found += tile.others
        return [one / f for one, f in zip(found, self._theta_factors(), strict=True)]


class RadialPairs(KernelPairs):
    """Rows of two tables, compared coordinate by coordinate; sparse ones by products."""

    def __init__(self, kernel: RadialKernel, x: Items, z: Items | None) -> None:
        gram = z is None or z is x
        x, z = common_matrices(x, x if gram else z)
        super().__init__(x.shape[0], z.shape[0], gram=gram)
        self.kernel = kernel
        self.x = x.astype(np.float64, copy=False)
        self.z = self.x if gram else z.astype(np.float64, copy=False)
        self.inverse = kernel.inverse_bandwidths(x.shape[1])
        self.dense = not sparse.issparse(x)
        self.wide = self.dense and x.shape[1] >= WIDE
        if self.wide:
            with np.errstate(over="ignore", invalid="ignore"):
                center = self.z.mean(axis=0) if len(self.z) else 0.0
                self.v = (self.z - center) * self.inverse
                self.u = self.v if gram else (self.x - center) * self.inverse
                self.norms = [squared_norms(self.u), squared_norms(self.v)]
            self.wide = bool(all(np.isfinite(one).all() for one in self.norms))
        #: Wide rows within so many bandwidths that weighted squares may be sums of products.
        self.moderate = self.wide and all(
            np.abs(side).max(initial=0.0) < MODERATE for side in (self.u, self.v)
        )

    def _distances(self, rows: slice, columns: slice) -> Floats:
        """s of every pair of the tile."""
        from separatrix.kernels.loops import radial as loops

        x, z = self.x[rows], self.z[columns]
        if not self.dense:
            return sparse_distances(x, z, self.inverse)
        tile = np.empty((x.shape[0], z.shape[0]))
        if self.wide:
            np.matmul(self.u[rows], self.v[columns].T, out=tile)
            norms = self.norms[0][rows], self.norms[1][columns]
            loops.distances_from_products(tile, *norms, x, z, self.inverse, NEAR)
            return tile
        loops.squared_differences(tile, x, np.ascontiguousarray(z.T), self.inverse)
        return tile

    def values(self, rows: slice, columns: slice) -> Floats:
        """f(s)."""
        tile = self._distances(rows, columns)
        self.kernel.apply(tile, np.empty((1, tile.shape[1])), 1.0, 0.0)
        return tile

    def tile(self, rows: slice, columns: slice) -> RadialTile:
        """f(s) and g(s)."""
        tile = self._distances(rows, columns)
        slopes = np.empty_like(tile)
        a, b = (1.0, 0.0) if self.kernel.by_column else (0.0, 1.0)
        others = self.kernel.apply(tile, slopes, a, b)
        return RadialTile(self, rows, columns, tile, slopes, others)


class RadialTile(PairTile):
    """f(s), g(s) (times s with one bandwidth for all), and derivatives by other parameters."""

    def __init__(
        self,
        pairs: RadialPairs,
        rows: slice,
        columns: slice,
        values: Floats,
        slopes: Floats,
        others: list[Floats],
    ) -> None:
        self.pairs, self.rows, self.columns = pairs, rows, columns
        self.values, self.slopes, self.others = values, slopes, others

    def sums(self, q: Floats) -> Floats:
        """Σ q ∂κ/∂θ."""
        from separatrix.kernels.loops import radial as loops

        others = [np.vdot(q, one) for one in self.others]
        if not self.pairs.kernel.by_column:
            return np.array([np.vdot(q, self.slopes), *others])
        weights = q * self.slopes
        x, z = self.pairs.x[self.rows], self.pairs.z[self.columns]
        inverse = self.pairs.inverse
        if self.pairs.moderate:
            sums = product_weighted_squares(
                weights, self.pairs.u[self.rows], self.pairs.v[self.columns]
            )
        elif self.pairs.dense:
            sums = np.zeros(len(inverse))
            loops.weighted_squares(weights, x, np.ascontiguousarray(z.T), inverse, sums)
        else:
            sums = sparse_weighted_squares(weights, x, z, inverse)
        return np.concatenate([sums, others])

    def products(self, right: Floats, by: Any) -> Floats:
        """Σ b ∂κ/∂θ r."""
        if not self.pairs.kernel.by_column:
            return stacked_products([self.slopes, *self.others], right, by)
        sides = self.pairs.x[self.rows], self.pairs.z[self.columns]
        x, z = (one.toarray() if sparse.issparse(one) else one for one in sides)
        center = z.mean(axis=0)
        u, v = ((one - center) * self.pairs.inverse for one in (x, z))
        weights = self.slopes if by is None else self.slopes * by
        found = squares_times(weights, u, v, right)
        if not self.others:
            return found
        return np.concatenate([found, stacked_products(self.others, right, by)], axis=1)


class PreparedRadial(PreparedKernel):
    """Rows with the centers, from differences of coordinates."""

    kernel: RadialKernel

    def _between(self, x: Items) -> tuple[Any, RadialPairs]:
        x, z = common_matrices(x, self.centers)
        return x, RadialPairs(self.kernel, x, z[:])

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """The matrix κ(xᵢ, zⱼ), tile by tile."""
        x, pairs = self._between(x)
        return copy_to(pair_values(pairs, output_block(x, self.centers, out)), out)

    def dot(self, x: Items, weights: Array) -> Array:
        """Weighted sums over tiles; the kernel matrix is not stored."""
        x, pairs = self._between(x)

        def compute(rows: slice, columns: slice, tile: Array) -> None:
            tile[...] = pairs.values(rows, columns)

        return weighted_sums(compute, weights, x)

    def gram(self, out: Array | None = None) -> Array:
        """The tiles below the diagonal, mirrored."""
        block = output_block(self.centers, self.centers, out)
        pair_values(RadialPairs(self.kernel, self.centers, None), block)
        np.fill_diagonal(block, 1.0)
        return copy_to(block, out)


def product_weighted_squares(w: Floats, u: Floats, v: Floats) -> Floats:
    """Σ w (u − v)², column by column, by products."""
    squares = w.sum(axis=1) @ u**2 + w.sum(axis=0) @ v**2
    return np.asarray(squares - 2.0 * np.einsum("ic,ic->c", u, w @ v))


def squares_times(w: Floats, u: Floats, v: Floats, right: Floats) -> Floats:
    """Σⱼ w (u − v)² rⱼ for every row, column of u and v, and column of r, by products."""
    d, k = v.shape[1], right.shape[1]
    once = v[:, :, None] * right[:, None, :]
    parts = [one.reshape(len(v), d * k) for one in (once, v[:, :, None] * once)]
    first, second = (part.reshape(-1, d, k) for part in (w @ one for one in parts))
    u = u[:, :, None]
    return np.asarray(second - 2.0 * u * first + u**2 * (w @ right)[:, None, :])


def sparse_distances(x: Any, z: Any, inverse: Floats) -> Floats:
    """Σ ((x − z)/σ)² of sparse rows, by products; pairs much nearer than far out are corrected."""
    u, v = x.multiply(inverse).tocsr(), z.multiply(inverse).tocsr()
    norms = [np.asarray(side.multiply(side).sum(axis=1)).ravel() for side in (u, v)]
    size = norms[0][:, None] + norms[1][None, :]
    square = np.maximum(size - 2.0 * (u @ v.T).toarray(), 0.0)
    near = np.nonzero(square <= 1e-3 * size)
    for start in range(0, len(near[0]), 1024):
        at = slice(start, start + 1024)
        difference = u[near[0][at]] - v[near[1][at]]
        square[near[0][at], near[1][at]] = difference.multiply(difference).sum(axis=1)
    return cast(Floats, square)


def sparse_weighted_squares(w: Floats, x: Any, z: Any, inverse: Floats) -> Floats:
    """Σ w ((x − z)/σ)² of sparse rows, column by column."""
    squares = w.sum(axis=1) @ x.multiply(x) + w.sum(axis=0) @ z.multiply(z)
    mixed = np.asarray(x.multiply(w @ z).sum(axis=0)).ravel()
    return np.asarray((squares - 2.0 * mixed) * inverse**2)
