"""Kernel matrices by matrix products, in tiles that stay in the cache, on all processors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy import sparse

from separatrix.kernels.base import Array, Items, PreparedKernel, mirror_lower
from separatrix.messages import InputError
from separatrix.rows.sources.frames import refuse_not_finite
from separatrix.threads import MIN_PIECES, parallel_map, pieces

#: Rows and columns of a tile: multiplied, then transformed while it is still in the cache. Columns
#: of a tile whose side is a power of two would compete for the same few lines of it.
SIDE = 240
#: Fewest rows of a strip whose weighted sums are accumulated without storing the kernel matrix, and
#: entries of its tiles.
STRIP_ROWS, STRIP_ENTRIES = 64, 1 << 15
#: Multiplications below which a second thread costs more than it saves.
MIN_PARALLEL_WORK = 1 << 21


class PreparedTiles(PreparedKernel):
    """Kernel values by tiles: products of some rows with some centers, then a function of them."""

    @abstractmethod
    def _arrays(self, x: Items) -> tuple[Any, ...]:
        """The arrays that a tile needs of the rows x, as many rows in each."""

    @abstractmethod
    def _tile(self, rows: tuple[Any, ...], columns: slice, tile: Array) -> None:
        """Rows with some of the centers, in a contiguous tile."""

    def _converted(self, x: Items) -> tuple[Items, Self]:
        """The rows, and the prepared kernel, as matrices of one type."""
        x, z = common_matrices(x, self.centers)
        same = z.dtype == self.centers.dtype and type(z) is type(self.centers)
        return x, self if same else type(self)(self.kernel, z)

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """The matrix κ(xᵢ, zⱼ), tile by tile."""
        x, prepared = self._converted(x)
        block = output_block(x, prepared.centers, out)
        prepared._fill(prepared._arrays(x), block)
        return copy_to(block, out)

    def _fill(self, arrays: tuple[Any, ...], block: Array, *, symmetric: bool = False) -> None:
        """Fill the block; of a symmetric one the tiles below the diagonal, mirrored."""

        def fill(rows: slice, columns: slice) -> None:
            # a tile of its own: rows of the block are so far apart that the cache holds few
            shape = (rows.stop - rows.start, columns.stop - columns.start)
            tile = np.empty(shape, dtype=block.dtype)
            self._tile(tuple(array[rows] for array in arrays), columns, tile)
            if symmetric and rows == columns:
                mirror_lower(tile, self.diagonal[rows])
            elif symmetric:
                block[columns, rows] = tile.T
            block[rows, columns] = tile

        todo = lower_tiles(len(self)) if symmetric else tiles(*block.shape)
        for_each_tile(fill, todo, arrays[0].shape[1])

    def dot(self, x: Items, weights: Array) -> Array:
        """Weighted sums over tiles; the kernel matrix is not stored."""
        x, prepared = self._converted(x)
        arrays = prepared._arrays(x)

        def compute(rows: slice, columns: slice, tile: Array) -> None:
            prepared._tile(tuple(array[rows] for array in arrays), columns, tile)

        return weighted_sums(compute, weights, x)

    def gram(self, out: Array | None = None) -> Array:
        """The tiles below the diagonal, mirrored."""
        block = output_block(self.centers, self.centers, out)
        self._fill(self._arrays(self.centers), block, symmetric=True)
        return copy_to(block, out)


Tile = tuple[slice, slice]


def tiles(n: int, m: int, side: int = SIDE) -> list[Tile]:
    """Tiles of about equal size; few rows have wider tiles."""
    height = min(side, n)
    width = side * side // max(height, 1)
    return [
        (slice(top, min(top + height, n)), slice(left, min(left + width, m)))
        for top in range(0, n, max(height, 1))
        for left in range(0, m, width)
    ]


def lower_tiles(n: int, side: int = SIDE) -> list[Tile]:
    """Square tiles that cover the lower triangle of an n x n matrix."""
    cuts = [slice(top, min(top + side, n)) for top in range(0, n, side)]
    return [(rows, columns) for i, rows in enumerate(cuts) for columns in cuts[: i + 1]]


def for_each_tile(fill: Callable[[slice, slice], None], todo: list[Tile], depth: int) -> None:
    """Call ``fill`` for every tile, on several threads if there is enough work."""
    entries = sum((r.stop - r.start) * (c.stop - c.start) for r, c in todo)
    if entries * (depth + 16) < MIN_PARALLEL_WORK:
        for tile in todo:
            fill(*tile)
        return
    parallel_map(lambda tile: fill(*tile), todo)


def weighted_sums(compute: Callable[[slice, slice, Array], None], weights: Array, x: Any) -> Array:
    """Σⱼ κ(xᵢ, zⱼ) wⱼ by strips of rows, each on one thread; ``compute`` fills a tile."""
    n, m = int(x.shape[0]), len(weights)
    sums = np.zeros((n, weights.shape[1]))
    weights = weights.astype(x.dtype, copy=False)

    def strip(rows: slice, _: slice) -> None:
        height = rows.stop - rows.start
        width = max(1, min(m, max(SIDE, STRIP_ENTRIES // height)))
        buffer = np.empty(height * width, dtype=x.dtype)
        for left in range(0, m, width):
            columns = slice(left, min(left + width, m))
            tile = buffer[: height * (columns.stop - left)].reshape(height, -1)
            compute(rows, columns, tile)
            sums[rows] += tile @ weights[columns]

    strips = pieces(n, STRIP_ROWS, max(MIN_PIECES, n // SIDE))
    for_each_tile(strip, [(rows, slice(0, m)) for rows in strips], int(x.shape[1]))
    return sums


def product_into(x: Any, columns: Any, block: Array) -> None:
    """x times ``columns`` (the centers as columns), dense or sparse, written to ``block``."""
    if sparse.issparse(x):
        block[...] = (x @ columns).toarray()
    else:
        np.matmul(x, columns, out=block)


def output_block(x: Any, z: Any, out: Array | None) -> Array:
    """The array to compute κ(x, z) in: ``out`` if it is contiguous and of the right type."""
    shape = (x.shape[0], z.shape[0])
    if out is None:
        return np.empty(shape, dtype=x.dtype)
    if out.shape != shape or out.dtype.kind != "f":
        raise InputError(
            f"The block to write to is {out.shape} of {out.dtype}, the kernel matrix {shape}.",
            remedy="Give a float array of that shape.",
        )
    usable = out.dtype == x.dtype and out.flags.c_contiguous
    return out if usable else np.empty(shape, dtype=x.dtype)


def copy_to(block: Array, out: Array | None) -> Array:
    """``block``, copied to ``out`` if that is another array."""
    if out is None or block is out:
        return block
    out[...] = block
    return out


def common_matrices(x: Items, z: Items) -> tuple[Any, Any]:
    """Both as matrices of one type: CSR if either is, float64 unless both are float32."""
    identical = x is z
    x, z = as_matrix(x), as_matrix(z)
    if x.shape[1] != z.shape[1]:
        raise InputError(
            f"One side has {x.shape[1]} columns, the other {z.shape[1]}.",
            remedy="A kernel compares rows of equal length.",
        )
    if identical:
        return x, x
    dtype = np.result_type(x.dtype, z.dtype)
    if sparse.issparse(x) or sparse.issparse(z):
        return sparse.csr_array(x, dtype=dtype), sparse.csr_array(z, dtype=dtype)
    return x.astype(dtype, copy=False), z.astype(dtype, copy=False)


def as_matrix(x: Items) -> Any:
    """Rows of finite numbers as a C-contiguous array or as CSR, in float32 or float64."""
    if sparse.issparse(x):
        dtype = np.float32 if x.dtype == np.float32 else np.float64
        x = sparse.csr_array(x, dtype=dtype)
        refuse_not_finite(x)
        return x
    try:
        x = np.asarray(x)
        x = np.ascontiguousarray(x, dtype=np.float32 if x.dtype == np.float32 else np.float64)
    except (TypeError, ValueError) as problem:
        raise InputError(
            f"These are not rows of numbers: {problem}.",
            remedy="Strings, sets, trees and graphs have kernels of their own.",
        ) from problem
    if x.ndim != 2:
        raise InputError(
            f"A kernel of rows of numbers needs a matrix; this has {x.ndim} dimension(s).",
            remedy="One column is x.reshape(-1, 1), one row is x.reshape(1, -1).",
        )
    refuse_not_finite(x)
    return x


def are_dense_doubles(x: Items, z: Items | None) -> bool:
    """Whether κ(x, z) of these rows is of double precision, and the rows not sparse."""
    sides = [x] if z is None else [x, z]
    if any(sparse.issparse(side) for side in sides):
        return False
    return not all(getattr(side, "dtype", None) == np.float32 for side in sides)


def squared_norms(x: Any) -> Array:
    """‖x‖² of every row."""
    if sparse.issparse(x):
        return np.asarray(x.multiply(x).sum(axis=1), dtype=x.dtype).ravel()
    return np.asarray(np.einsum("ij,ij->i", x, x))
