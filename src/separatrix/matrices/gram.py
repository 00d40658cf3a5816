"""Inner products of all pairs of rows, Z Zᵀ, of columns centered and scaled: z = √w (x − c) / s.

A dense table is read once where its rows are few: a tile of columns is centered while it is in the
cache, and its products are added to those of the tiles before. Where rows are many, the centered
table is written once and its products are made block by block. Pieces depend on the shape alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from separatrix.matrices.loops.gram import center_columns, center_rows, sparse_gram_rows
from separatrix.rows.block import Floats, Matrix
from separatrix.threads import parallel_map, pieces

#: Rows up to which all pairs are one block; a block of more rows has this many.
BLOCK = 768
#: The fewest columns of a piece, and those that are centered at a time.
SMALLEST, TILE = 384, 800


def row_gram(
    x: Matrix, center: Floats, scale: Floats, root_weight: Floats, dtype: Any = np.float64
) -> Floats:
    """Z Zᵀ (n x n). In float32 the products of a piece are single, and their sums double."""
    if sparse.issparse(x):
        return _sparse(x, center, scale, root_weight)
    n, d = x.shape
    columns = _Columns(x, center, scale, root_weight)
    if n > BLOCK:
        z = np.empty((n, d), dtype, order=columns.order)
        parallel_map(lambda part: columns.write(part, z[:, part]), pieces(d, SMALLEST))
        return _by_blocks(z)

    def product(part: slice) -> NDArray[Any]:
        total, buffer = np.empty((n, n), dtype), np.empty(n * (part.stop - part.start), dtype)
        for start in range(part.start, part.stop, TILE):
            these = slice(start, min(start + TILE, part.stop))
            width = these.stop - start
            z = buffer[: n * width].reshape((n, width), order=columns.order)
            columns.write(these, z)
            if start == part.start:
                np.matmul(z, z.T, out=total)
            else:
                total += z @ z.T
        return total

    # new pages cost as much as products: the fewer sums of large matrices, the better
    return _summed(parallel_map(product, pieces(d, SMALLEST, int(np.clip(10_000 // n, 16, 32)))))


def _summed(parts: list[NDArray[Any]]) -> Floats:
    """The sum of square matrices in their order, in double precision; rows on threads."""
    out = np.empty(parts[0].shape)

    def add(rows: slice) -> None:
        out[rows] = parts[0][rows]
        for one in parts[1:]:
            out[rows] += one[rows]

    parallel_map(add, pieces(len(out), 64))
    return out


def column_gram(z: Floats) -> Floats:
    """ZᵀZ of a dense matrix: rows on threads, or pairs of blocks where columns are many."""
    n, d = z.shape
    if d > 2 * BLOCK:
        return _by_blocks(z.T)
    return _summed(parallel_map(lambda rows: z[rows].T @ z[rows], pieces(n, max(256, 2 * d), 16)))


def column_squares(x: Floats, center: Floats, w: Floats) -> Floats:
    """Σ w (x − c)² of every column of a dense matrix."""
    columns = _Columns(x, center, np.ones(x.shape[1]), np.sqrt(w))
    out = np.empty(x.shape[1])

    def part(these: slice) -> None:
        z = np.empty((x.shape[0], these.stop - these.start), order=columns.order)
        columns.write(these, z)
        np.einsum("ij,ij->j", z, z, out=out[these])

    parallel_map(part, pieces(x.shape[1], 64))
    return out


def standardized_copy(x: Floats, center: Floats, scale: Floats, root_weight: Floats) -> Floats:
    """Z itself, each column contiguous."""
    columns = _Columns(x, center, scale, root_weight)
    z = np.empty(x.shape, order="F")

    def part(these: slice) -> None:
        tile = np.empty((len(x), these.stop - these.start), order=columns.order)
        columns.write(these, tile)
        z[:, these] = tile

    parallel_map(part, pieces(x.shape[1], 64))
    return z


def unit_columns(
    x: Floats, center: Floats, root_weight: Floats, right: Floats
) -> tuple[NDArray[Any], Floats, Floats]:
    """The columns √w (x − c) with length one in single precision, each contiguous.

    Their lengths, and their products with ``right``, are those of double precision.
    """
    columns = _Columns(x, center, np.ones(x.shape[1]), root_weight)
    units: NDArray[Any] = np.empty(x.shape, np.float32, order="F")
    lengths, inner = np.empty(x.shape[1]), np.empty(x.shape[1])

    def part(these: slice) -> None:
        z = np.empty((len(x), these.stop - these.start), order=columns.order)
        columns.write(these, z)
        length = np.sqrt(np.einsum("ij,ij->j", z, z))
        factor = 1.0 / np.where(length > 0.0, length, 1.0)
        np.multiply(z, factor, out=units[:, these], casting="same_kind")
        lengths[these], inner[these] = length, (right @ z) * factor

    parallel_map(part, pieces(x.shape[1], 64))
    return units, lengths, inner


class _Columns:
    """The columns of Z, a few at a time."""

    def __init__(self, x: Floats, center: Floats, scale: Floats, root: Floats) -> None:
        self.order: Any = "F" if x.flags.f_contiguous and not x.flags.c_contiguous else "C"
        self.x = x if self.order == "F" else np.ascontiguousarray(x)
        self.center, self.factor, self.root = center, 1.0 / scale, root

    def write(self, columns: slice, out: NDArray[Any]) -> None:
        """Write these columns."""
        bounds = (columns.start, columns.stop, self.center, self.factor, self.root)
        if self.order == "F":
            center_columns(self.x.T, *bounds, out.T)
        else:
            center_rows(self.x, *bounds, out)


def _by_blocks(z: NDArray[Any]) -> NDArray[Any]:
    """Z Zᵀ, a block of rows with another at a time; mirrored."""
    n, d = z.shape
    rows = pieces(n, 512)
    chunks = pieces(d, 4096, most=max(1, 64 // len(rows)))
    out = np.empty((n, n), dtype=np.float64)

    def part(pair: tuple[slice, slice]) -> None:
        a, b = pair
        total = np.zeros((a.stop - a.start, b.stop - b.start))
        for columns in chunks:
            total += z[a, columns] @ z[b, columns].T
        out[a, b] = total
        out[b, a] = total.T

    parallel_map(part, [(a, b) for i, a in enumerate(rows) for b in rows[: i + 1]])
    return out


def _sparse(x: Any, center: Floats, scale: Floats, root: Floats) -> Floats:
    """From compressed rows and columns, never filled in; centered afterwards."""
    n = x.shape[0]
    by_row = sparse.csr_array(x.multiply(1.0 / scale[None, :]))
    by_row.sum_duplicates()
    by_column = by_row.tocsc()
    out = np.zeros((n, n))

    def part(rows: slice) -> None:
        sparse_gram_rows(
            rows.start, rows.stop, by_row.indptr, by_row.indices, by_row.data,
            by_column.indptr, by_column.indices, by_column.data, out,
        )  # fmt: skip

    parallel_map(part, pieces(n))
    middle = by_row @ (center / scale)
    square = float((center / scale) @ (center / scale))
    out -= middle[:, None]
    out -= middle[None, :]
    out += square
    out *= root[:, None]
    out *= root[None, :]
    return out
