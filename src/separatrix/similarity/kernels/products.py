"""Kernel rows by matrix products: tiles that stay in the cache, on every processor."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.blas_threads import one_blas_thread
from separatrix.messages import InputError
from separatrix.similarity.kernels.base import Array, Items, Kernel, Prepared, mirrored

#: Entries of one tile: it is multiplied, then transformed while it is still in the cache.
TILE = 1 << 17
#: Multiplications below which a second thread costs more than it brings.
ALONE = 1 << 21


class Products(Prepared):
    """κ(x, z) = f(x·z): anchors as a matrix, f applied in place to every tile of products."""

    def __init__(self, kernel: Kernel, anchors: Any, entries: Callable[[Array], None]) -> None:
        super().__init__(kernel, anchors)
        self._entries = entries

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """f(x·z) tile by tile."""
        x, z = rows_alike(x, self.anchors)
        out = block_for(x, z, out)

        def fill(rows: slice, columns: slice) -> None:
            multiply(x[rows], z[columns], out[rows, columns])
            self._entries(out[rows, columns])

        on_tiles(fill, out.shape, x.shape[1])
        return out

    def gram(self) -> Array:
        """The tiles below the diagonal, mirrored."""
        z = self.anchors
        out = block_for(z, z, None)

        def fill(rows: slice, columns: slice) -> None:
            if columns.start < rows.stop:
                multiply(z[rows], z[columns], out[rows, columns])
                self._entries(out[rows, columns])

        on_tiles(fill, out.shape, z.shape[1])
        return mirrored(out, self.diagonal)


def on_tiles(fill: Callable[[slice, slice], None], shape: tuple[int, ...], depth: int) -> None:
    """Call ``fill`` for every tile of a matrix, on as many threads as its size is worth."""
    tiles = list(_tiles(shape[0], shape[1]))
    threads = min(os.cpu_count() or 1, len(tiles))
    if threads < 2 or shape[0] * shape[1] * (depth + 16) < ALONE:
        for tile in tiles:
            fill(*tile)
        return
    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(lambda tile: fill(*tile), tiles):
            pass


def _tiles(n: int, m: int) -> Iterator[tuple[slice, slice]]:
    """Tiles of about equal size; long rows are cut so that a few of them still make many tiles."""
    height = max(1, min(n, 256))
    width = max(256, TILE // height)
    for start in range(0, n, height):
        for left in range(0, m, width):
            yield slice(start, min(start + height, n)), slice(left, min(left + width, m))


def multiply(x: Any, z: Any, out: Array) -> None:
    """x·zᵀ into ``out``, whatever the two are stored as."""
    if sparse.issparse(x):
        out[...] = (x @ z.T).toarray()
    else:
        np.matmul(x, z.T, out=out)


def block_for(x: Any, z: Any, out: Array | None) -> Array:
    """Where κ(x, z) will be written."""
    shape = (x.shape[0], z.shape[0])
    if out is None:
        return np.empty(shape, dtype=x.dtype)
    if out.shape != shape or out.dtype.kind != "f":
        raise InputError(
            f"The block to write to is {out.shape} of {out.dtype}, the kernel rows are {shape}."
        )
    return out


def rows_alike(x: Items, z: Items) -> tuple[Any, Any]:
    """Both as matrices of one type: CSR if either is, float64 unless both are float32."""
    same = x is z
    x, z = matrix(x), matrix(z)
    if x.shape[1] != z.shape[1]:
        raise InputError(
            f"One side has {x.shape[1]} columns, the other {z.shape[1]}.",
            remedy="A kernel compares rows of equal length.",
        )
    if same:
        return x, x
    dtype = np.result_type(x.dtype, z.dtype)
    if sparse.issparse(x) or sparse.issparse(z):
        return sparse.csr_array(x, dtype=dtype), sparse.csr_array(z, dtype=dtype)
    return x.astype(dtype, copy=False), z.astype(dtype, copy=False)


def matrix(x: Items) -> Any:
    """Rows of numbers as a C-contiguous array or as CSR, in float32 or float64."""
    if sparse.issparse(x):
        kept = np.float32 if x.dtype == np.float32 else np.float64
        return sparse.csr_array(x, dtype=kept)
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
            f"A kernel of rows needs a matrix; this has {x.ndim} dimension(s).",
            remedy="One column is x.reshape(-1, 1), one row is x.reshape(1, -1).",
        )
    return x


def lengths(x: Any) -> Array:
    """‖x‖² of every row."""
    if sparse.issparse(x):
        return np.asarray(x.multiply(x).sum(axis=1), dtype=x.dtype).ravel()
    return np.asarray(np.einsum("ij,ij->i", x, x))
