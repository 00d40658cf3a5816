"""Inner products of all pairs of rows, Z Zᵀ, of columns centered and scaled: z = √w (x − c) / s.

A dense table is read once where its rows are few: a tile of columns is centered while it is in the
cache, and its products are added to those of the tiles before. Where rows are many, the centered
table is written once and its products are made block by block. Pieces depend on the shape alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse

from separatrix.arrays import Floats, Ints, Matrix, NDArray
from separatrix.matrices.loops import center_columns, center_rows, sparse_gram_rows
from separatrix.threads import parallel_map, pieces

#: Rows up to which all pairs are one block; a block of more rows has this many.
BLOCK = 768


def row_gram(
    x: Matrix, center: Floats, scale: Floats, root_weight: Floats, dtype: Any = np.float64
) -> Floats:
    """Z Zᵀ (n x n). In float32 the products of a piece are single, and their sums double."""
    if sparse.issparse(x):
        return _sparse(x, center, scale, root_weight)
    n, d = x.shape
    columns = _Columns(x, center, scale, root_weight)
    smallest = 384  # the fewest columns of a piece
    if n > BLOCK:
        z = np.empty((n, d), dtype, order=columns.order)
        parallel_map(lambda part: columns.write(part, z[:, part]), pieces(d, smallest))
        return _by_blocks(z)

    def product(part: slice) -> NDArray[Any]:
        total, buffer = np.empty((n, n), dtype), np.empty(n * (part.stop - part.start), dtype)
        tile = 800  # columns that are centered at a time
        for start in range(part.start, part.stop, tile):
            these = slice(start, min(start + tile, part.stop))
            width = these.stop - start
            z = buffer[: n * width].reshape((n, width), order=columns.order)
            columns.write(these, z)
            if start == part.start:
                np.matmul(z, z.T, out=total)
            else:
                total += z @ z.T
        return total

    # new pages cost as much as products: the fewer sums of large matrices, the better
    return _sum_parts(parallel_map(product, pieces(d, smallest, int(np.clip(10_000 // n, 16, 32)))))


def _sum_parts(parts: list[NDArray[Any]]) -> Floats:
    """The sum of square matrices in their order, in double precision; rows on threads."""
    out = np.empty(parts[0].shape)

    def add(rows: slice) -> None:
        out[rows] = parts[0][rows]
        for part in parts[1:]:
            out[rows] += part[rows]

    parallel_map(add, pieces(len(out), 64))
    return out


def column_gram(z: Floats) -> Floats:
    """ZᵀZ of a dense matrix: rows on threads, or pairs of blocks where columns are many."""
    n, d = z.shape
    if d > 2 * BLOCK:
        return _by_blocks(z.T)
    return _sum_parts(
        parallel_map(lambda rows: z[rows].T @ z[rows], pieces(n, max(256, 2 * d), 16))
    )


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


# -------------------------------------------------------------------------------------------------
# Columns whose units differ so much that products of rows lose the small ones.
#
#     Z P = Q R,      b = P Rᵀc,      (R Rᵀ + αI) c = Qᵀy
#
# Q is orthogonal, and P puts the columns in order so that the rows of R decrease. An entry of R Rᵀ
# is then the sum of products no larger than the smaller of its two rows allows, where an entry of Z
# Zᵀ is mostly the largest column: rounding is relative to every column, whatever its units (Cox and
# Higham, Stability of Householder QR factorization for weighted least squares problems, 1998).
# Singular values by Jacobi's method keep as many digits (Drmač and Veselić, New fast and accurate
# Jacobi SVD algorithm, 2008).


@dataclass(frozen=True)
class GradedRows:
    """Q (n x r), R (r x d) and the order of the columns, for Z of rank r."""

    q: Floats
    r: Floats
    order: Ints

    @classmethod
    def of(cls, z: Floats) -> GradedRows:
        """The rank is the last row of R that is more than the rounding of its own column."""
        lengths = np.linalg.norm(z, axis=0)
        q, r, order = linalg.qr(z, mode="economic", pivoting=True, check_finite=False)
        diagonal, eps = np.abs(np.diag(r)), np.finfo(float).eps
        sure = np.flatnonzero(diagonal > 10 * len(z) * eps * lengths[order[: len(diagonal)]])
        rank = int(sure[-1]) + 1 if len(sure) else 0
        return cls(q[:, :rank], r[:rank], order)

    @classmethod
    def of_products(cls, products: Floats) -> GradedRows:
        """The same R, from ZᵀZ = P RᵀR Pᵀ, with Q left out; dependent columns add no row to it."""
        rest, diagonal = products.copy(), np.diag(products).copy()
        eps, rows = 10 * len(diagonal) * np.finfo(float).eps, []
        while (free := np.diag(rest) > eps * diagonal).any():
            j = int(np.argmax(np.where(free, np.diag(rest), 0.0)))
            rows.append(rest[j] / np.sqrt(rest[j, j]))
            rest -= np.multiply.outer(rows[-1], rows[-1])
            rest[j], rest[:, j], diagonal[j] = 0.0, 0.0, np.inf
        r = np.array(rows).reshape(-1, len(diagonal))
        return cls(np.eye(len(r)), r, np.arange(len(diagonal)))

    def solve(self, z: Floats, y: Floats, alpha: Floats) -> tuple[Floats, Floats]:
        """The solution (d x k) with one α > 0 per target, refined by its residual, and the dual."""
        coef, dual = np.zeros((len(self.order), y.shape[1])), np.zeros((len(self.r), y.shape[1]))
        levels, which = np.unique(alpha, return_inverse=True)
        systems = [self._system(float(level)) for level in levels]
        before = np.inf
        # Rounds of refinement at most; without dependent columns the first solution is exact.
        for _ in range(3):
            left = self.q.T @ (y - z @ coef) - alpha * dual
            size = float(np.linalg.norm(left))
            if not size < 0.1 * before:
                break
            before = size
            step = np.empty_like(left)
            for i, (factor, scale) in enumerate(systems):
                right = left[:, which == i] / scale
                solution = linalg.cho_solve((factor, True), right, check_finite=False)
                step[:, which == i] = solution / scale
            dual += step
            coef[self.order] += self.r.T @ step
        return coef, y + self.q @ (alpha * dual - self.q.T @ y)

    def _system(self, alpha: float) -> tuple[Floats, Floats]:
        """The Cholesky factor of R Rᵀ + αI on equilibrated rows, and their scale."""
        scale = np.sqrt((self.r**2).sum(axis=1) + alpha)[:, None]
        matrix = self.r @ self.r.T
        matrix[np.diag_indices_from(matrix)] += alpha
        return linalg.cholesky(matrix / (scale * scale.T), lower=True, check_finite=False), scale

    def singular(self) -> tuple[Floats, Floats, Floats]:
        """U (n x r), the singular values, and V (d x r) of Z."""
        rank, d = self.r.shape
        if not rank:
            return self.q, np.zeros(0), np.zeros((d, 0))
        decomposition = linalg.lapack.dgejsv(
            np.asfortranarray(self.r.T), joba=0, jobu=0, jobv=0, jobr=0
        )
        values, u, v, work = decomposition[:4]
        directions = np.empty((d, rank))
        directions[self.order] = u[:, :rank]
        return self.q @ v, values * (work[0] / work[1]), directions
