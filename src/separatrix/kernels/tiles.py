"""Kernel rows by matrix products: tiles that stay in the cache, on every processor."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.kernels.base import Array, Items, Kernel, PreparedKernel, reflect
from separatrix.messages import InputError
from separatrix.threads import one_blas_thread

#: Entries of one tile: it is multiplied, then transformed while it is still in the cache.
TILE = 1 << 17
HEIGHT = 128
#: Side of a tile that is copied to the other side of the diagonal while it is in the cache.
SIDE = 256
#: Rows of a strip whose entries are summed as they come.
STRIP = 64
#: Multiplications below which a second thread costs more than it brings.
ALONE = 1 << 21


class Products(PreparedKernel):
    """κ(x, z) = f(x·z): centers as a matrix, f applied in place to every tile of products."""

    def __init__(self, kernel: Kernel, centers: Any, entries: Callable[[Array], None]) -> None:
        super().__init__(kernel, centers)
        self._entries = entries

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """f(x·z) tile by tile."""
        x, z = rows_alike(x, self.centers)
        block = own_block(x, z, out)

        def fill(rows: slice, columns: slice) -> None:
            multiply(x[rows], z[columns].T, block[rows, columns])
            self._entries(block[rows, columns])

        on_tiles(fill, tiles(*block.shape), x.shape[1])
        return handed(block, out)

    def times(self, x: Items, weights: Array) -> Array:
        """Sums over tiles, none of which is kept."""
        x, z = rows_alike(x, self.centers)

        def part(rows: slice, columns: slice, tile: Array) -> None:
            multiply(x[rows], z[columns].T, tile)
            self._entries(tile)

        return summed(part, weights, x)

    def gram(self) -> Array:
        """The tiles below the diagonal, mirrored."""
        z = self.centers
        block = own_block(z, z, None)

        def fill(rows: slice, columns: slice) -> None:
            multiply(z[rows], z[columns].T, block[rows, columns])
            self._entries(block[rows, columns])
            reflect(block, rows, columns)

        on_tiles(fill, below_diagonal(len(self)), z.shape[1])
        np.fill_diagonal(block, self.diagonal)
        return block


Tile = tuple[slice, slice]


def tiles(n: int, m: int) -> list[Tile]:
    """Tiles of about equal size; long rows are cut so that a few of them still make many tiles."""
    height = max(1, min(n, HEIGHT))
    width = max(256, TILE // height)
    return [
        (slice(top, min(top + height, n)), slice(left, min(left + width, m)))
        for top in range(0, n, height)
        for left in range(0, m, width)
    ]


def below_diagonal(n: int) -> list[Tile]:
    """Square tiles that hold the lower triangle of a square."""
    cuts = [slice(top, min(top + SIDE, n)) for top in range(0, n, SIDE)]
    return [(rows, columns) for i, rows in enumerate(cuts) for columns in cuts[: i + 1]]


def on_tiles(fill: Callable[[slice, slice], None], todo: list[Tile], depth: int) -> None:
    """Call ``fill`` for every tile, on as many threads as the work is worth."""
    entries = sum((r.stop - r.start) * (c.stop - c.start) for r, c in todo)
    threads = min(os.cpu_count() or 1, len(todo))
    if threads < 2 or entries * (depth + 16) < ALONE:
        for tile in todo:
            fill(*tile)
        return
    queue, lock = iter(todo), Lock()

    def work() -> None:
        while True:
            with lock:
                tile = next(queue, None)
            if tile is None:
                return
            fill(*tile)

    with one_blas_thread():
        helpers = [_pool().submit(work) for _ in range(threads - 1)]
        work()
        for helper in helpers:
            helper.result()


def summed(part: Callable[[slice, slice, Array], None], weights: Array, x: Any) -> Array:
    """Σⱼ κ(xᵢ, zⱼ) wⱼ, with ``part`` to compute a tile: strips of rows, each on one thread."""
    n, m = int(x.shape[0]), len(weights)
    sums = np.zeros((n, weights.shape[1]))
    weights = weights.astype(x.dtype, copy=False)
    width = max(1, min(m, TILE // STRIP))

    def strip(rows: slice, _: slice) -> None:
        room = np.empty(STRIP * width, dtype=x.dtype)
        height = rows.stop - rows.start
        for left in range(0, m, width):
            columns = slice(left, min(left + width, m))
            tile = room[: height * (columns.stop - left)].reshape(height, -1)
            part(rows, columns, tile)
            sums[rows] += tile @ weights[columns]

    todo = [(slice(top, min(top + STRIP, n)), slice(0, m)) for top in range(0, n, STRIP)]
    on_tiles(strip, todo, int(x.shape[1]))
    return sums


@cache
def _pool() -> ThreadPoolExecutor:
    """Threads that wait for tiles: starting new ones takes longer than many a block of rows."""
    return ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 1), "separatrix-tiles")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def multiply(x: Any, columns: Any, block: Array) -> None:
    """x times the matrix ``columns`` (centers as columns), whatever the two are stored as."""
    if sparse.issparse(x):
        block[...] = (x @ columns).toarray()
    else:
        np.matmul(x, columns, out=block)


def own_block(x: Any, z: Any, out: Array | None) -> Array:
    """Where κ(x, z) is computed: in ``out`` itself if it is contiguous and of the right type."""
    shape = (x.shape[0], z.shape[0])
    if out is None:
        return np.empty(shape, dtype=x.dtype)
    if out.shape != shape or out.dtype.kind != "f":
        raise InputError(
            f"The block to write to is {out.shape} of {out.dtype}, the kernel rows are {shape}."
        )
    fit = out.dtype == x.dtype and out.flags.c_contiguous
    return out if fit else np.empty(shape, dtype=x.dtype)


def handed(block: Array, out: Array | None) -> Array:
    """The block, copied to ``out`` if it was computed elsewhere."""
    if out is None or block is out:
        return block
    out[...] = block
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
