"""A matrix that solvers multiply with, dense or sparse: X v, Xᵀ r, Σ w x², some of its columns.

Work is cut by rows or columns at places that depend on the shape alone, and every entry of a
product is summed by one thread in one order: results are the same bits on any number of threads.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats, Ints, Matrix
from separatrix.matrices.loops import (
    add_centered_squares,
    add_rows,
    rows_times,
    rows_times_columns,
    weighted_squares,
)
from separatrix.threads import PIECE_NUMBERS, parallel_map, pieces

#: Multiplications of a dense matrix that are worth another thread: its products run in BLAS so fast
#: that smaller pieces wait for the interpreter.
DENSE_WORK = 400_000


class Products(Protocol):
    """What a solver needs of a matrix X (n x d); ``v`` and ``r`` may have several columns."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        ...

    def times(self, v: Floats) -> Floats:
        """X v."""
        ...

    def transposed_times(self, r: Floats) -> Floats:
        """Xᵀ r."""
        ...

    def weighted_squares(self, w: Floats) -> Floats:
        """Σᵢ wᵢ xᵢⱼ² of every column j."""
        ...

    def columns(self, index: Ints) -> Floats:
        """Some columns, dense and contiguous each (Fortran order)."""
        ...


def products(x: Matrix) -> Products:
    """The products of a dense or sparse matrix; a sparse one is never filled in."""
    return SparseProducts(x) if sparse.issparse(x) else DenseProducts(np.asarray(x))


def multiply(x: Matrix, v: Any) -> Floats:
    """X v as a dense array, X and v dense or sparse; the rows of dense ones on threads."""
    if sparse.issparse(x) or sparse.issparse(v):
        product = x @ v
        return product.toarray() if sparse.issparse(product) else np.asarray(product)
    return DenseProducts(x).times(v)


class DenseProducts:
    """A dense matrix in C or Fortran order, in float64 or float32."""

    def __init__(self, x: Floats) -> None:
        self.x = x

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.x.shape[0], self.x.shape[1]

    def times(self, v: Floats) -> Floats:
        """X v, rows on threads."""
        n, d = self.shape
        out = np.empty((n, *v.shape[1:]), dtype=np.result_type(self.x, v))

        def part(rows: slice) -> None:
            np.matmul(self.x[rows], v, out=out[rows])

        parallel_map(part, pieces(n, _smallest(d * _width(v), DENSE_WORK)))
        return out

    def transposed_times(self, r: Floats) -> Floats:
        """Xᵀ r: columns on threads; rows of a tall C-ordered matrix, their sums added in order."""
        n, d = self.shape
        if self.x.flags.f_contiguous or n <= d:
            out = np.empty((d, *r.shape[1:]), dtype=np.result_type(self.x, r))

            def part(columns: slice) -> None:
                np.matmul(self.x[:, columns].T, r, out=out[columns])

            parallel_map(part, pieces(d, _smallest(n * _width(r), DENSE_WORK)))
            return out
        sums = parallel_map(
            lambda rows: self.x[rows].T @ r[rows], pieces(n, _smallest(d * _width(r), DENSE_WORK))
        )
        total = sums[0]
        for term in sums[1:]:
            total += term
        return np.asarray(total)

    def weighted_squares(self, w: Floats) -> Floats:
        """Σᵢ wᵢ xᵢⱼ² of every column j."""
        n, d = self.shape
        sums = parallel_map(
            lambda rows: np.einsum("i,ij,ij->j", w[rows], self.x[rows], self.x[rows]),
            pieces(n, _smallest(d, DENSE_WORK)),
        )
        return np.asarray(np.sum(sums, axis=0))

    def columns(self, index: Ints) -> Floats:
        """Some columns, dense and contiguous each."""
        return np.asfortranarray(self.x[:, index], dtype=np.float64)

    def round_trip(self, r: Floats, shift: Floats) -> tuple[Floats, Floats]:
        """f = Xᵀ r − shift, and X f: columns on threads, both products while they are in cache."""
        n, d = self.shape
        forward = np.empty((d, *r.shape[1:]))

        def part(columns: slice) -> Floats:
            x, f = self.x[:, columns], forward[columns]
            np.matmul(x.T, r, out=f)
            f -= shift[columns]
            return np.asarray(x @ f)

        sums = parallel_map(part, pieces(d, _smallest(n * _width(r), DENSE_WORK)))
        total = sums[0]
        for term in sums[1:]:
            total += term
        return forward, total


class SparseProducts:
    """A sparse matrix, by compressed rows for X v and by compressed columns for Xᵀ r.

    The other copy is made when it is first needed: twice the memory of the data at most.
    """

    def __init__(self, x: Any) -> None:
        given = x if x.format == "csc" else sparse.csr_array(x)
        if not given.has_canonical_format:  # the arrays are the caller's
            given = given.copy()
            given.sum_duplicates()
        if max(*given.shape, given.nnz) < 2**31:  # half the memory to read
            given = _with_indices(given, np.int32)
        self.shape: tuple[int, int] = given.shape
        self.__dict__["by_column" if given.format == "csc" else "by_row"] = given

    @cached_property
    def by_row(self) -> Any:
        """Compressed rows."""
        return self.by_column.tocsr()

    @cached_property
    def by_column(self) -> Any:
        """Compressed columns."""
        return self.by_row.tocsc()

    def times(self, v: Floats) -> Floats:
        """X v, rows on threads."""
        return _compressed_times(self.by_row, self.shape[0], v)

    def transposed_times(self, r: Floats) -> Floats:
        """Xᵀ r, columns on threads; from the rows where there is little work in short columns."""
        # Stored entries of a column below which its loop takes longer than they do, and of a table
        # that is too small for threads to gain more.
        short, few = 8 * self.shape[1], 4 * PIECE_NUMBERS
        if r.ndim == 1 and "by_row" in self.__dict__ and self.by_row.nnz < min(short, few):
            x, out = self.by_row, np.zeros(self.shape[1])
            add_rows(x.indptr, _as_unsigned(x.indices), x.data, np.ascontiguousarray(r), out)
            return out
        return _compressed_times(self.by_column, self.shape[1], r)

    def weighted_squares(self, w: Floats) -> Floats:
        """Σᵢ wᵢ xᵢⱼ² of every column j."""
        out = np.empty(self.shape[1])
        _on_threads(weighted_squares, self.by_column, np.ascontiguousarray(w), out, 1)
        return out

    def columns(self, index: Ints) -> Floats:
        """Some columns, dense and contiguous each."""
        return np.asfortranarray(self.by_column[:, index].toarray(), dtype=np.float64)


def _with_indices(x: Any, number: Any) -> Any:
    """The rows with indices of this type; values are not copied."""
    if x.indices.dtype == number and x.indptr.dtype == number:
        return x
    indices, indptr = x.indices.astype(number), x.indptr.astype(number)
    changed = type(x)((x.data, indices, indptr), x.shape)
    changed.has_canonical_format = True
    return changed


def _compressed_times(compressed: Any, count: int, v: Floats) -> Floats:
    v = np.ascontiguousarray(v)
    out = np.empty((count, *v.shape[1:]))
    loop = rows_times if v.ndim == 1 else rows_times_columns
    _on_threads(loop, compressed, v, out, _width(v))
    return out


def _on_threads(loop: Any, compressed: Any, v: Floats, out: Floats, width: int) -> None:
    """Run a loop over compressed rows, cut so that every piece has about as many entries."""
    indptr, count, indices = compressed.indptr, len(out), _as_unsigned(compressed.indices)
    if indptr[-1] < 2 * _smallest(width):  # one piece
        loop(0, count, indptr, indices, compressed.data, v, out)
        return
    starts = [at.start for at in pieces(int(indptr[-1]), _smallest(width))]
    cuts = np.clip(np.searchsorted(indptr, starts), 0, count)
    bounds = np.unique([0, *cuts, count]).tolist()

    def part(index: int) -> None:
        start, stop = bounds[index], bounds[index + 1]
        loop(start, stop, indptr, indices, compressed.data, v, out)

    parallel_map(part, range(len(bounds) - 1))


def _as_unsigned(indices: Ints) -> Any:
    """Indices without a sign need no test for counting from the end."""
    return indices.view(f"u{indices.itemsize}")


def _width(v: Floats) -> int:
    return 1 if v.ndim == 1 else v.shape[1]


def _smallest(work: int, least: int = PIECE_NUMBERS) -> int:
    """Rows of so much work that are worth a piece of their own."""
    return max(1, least // max(work, 1))


def sparse_variances(x: Matrix, c: Floats, mean: Floats) -> Floats:
    """Σ c (x − x̄)² by column of compressed rows, Σ c = 1: stored entries, then all the zeros."""
    rows = sparse.csr_array(x)
    squares, stored = np.zeros(len(mean)), np.zeros(len(mean))
    add_centered_squares(rows.indptr, rows.indices, rows.data, c, mean, squares, stored)
    return np.asarray(squares + mean**2 * np.maximum(1.0 - stored, 0.0))


# -------------------------------------------------------------------------------------------------
# Means and standard deviations of columns, dense or sparse, on threads.


def column_scales(x: Products, w: Floats) -> tuple[Floats, Floats]:
    """Weighted mean and standard deviation (1/N) of every column.

    Dense columns are measured from their first row, so that a mean far from zero costs no digits;
    rows are read once.
    """
    total = float(w.sum())
    if isinstance(x, DenseProducts):
        shift, sums, squares = _shifted_sums(x.x, w)
    else:
        shift = np.zeros(x.shape[1])
        sums, squares = x.transposed_times(w), x.weighted_squares(w)
    offset = sums / total
    variance = np.maximum(squares / total - offset**2, 0.0)
    return shift + offset, np.sqrt(variance)


def _shifted_sums(x: Floats, w: Floats) -> tuple[Floats, Floats, Floats]:
    n, d = x.shape
    counted = np.flatnonzero(w > 0.0)
    shift = np.asarray(x[counted[:: max(1, len(counted) // 8)][:8]].mean(axis=0), dtype=np.float64)

    def part(rows: slice) -> tuple[Floats, Floats]:
        sums, squares = np.zeros(d), np.zeros(d)
        chunk = 32  # rows that stay in cache while they are summed
        for start in range(rows.start, rows.stop, chunk):
            here = slice(start, min(start + chunk, rows.stop))
            z = x[here] - shift
            sums += w[here] @ z
            np.multiply(z, z, out=z)
            squares += w[here] @ z
        return sums, squares

    found = parallel_map(part, pieces(n, max(1, 100_000 // max(d, 1))))
    sums, squares = found[0]
    for term in found[1:]:
        sums, squares = sums + term[0], squares + term[1]
    return shift, sums, squares


# -------------------------------------------------------------------------------------------------
# Columns centered and scaled without becoming dense: z = (x − c) / s.
#
# Z v = X (v/s) − c·(v/s),        Zᵀ r = (Xᵀ r − c Σ r) / s


class Standardized:
    """The matrix of z: ``center`` and ``scale`` of every column of ``x``."""

    def __init__(self, x: Products, center: Floats, scale: Floats) -> None:
        self.x, self.center, self.scale = x, center, scale
        self.scaled = bool((scale != 1.0).any())

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.x.shape

    def times(self, v: Floats) -> Floats:
        """Z v."""
        u = (v.T / self.scale).T if self.scaled else v
        return self.x.times(u) - self.center @ u

    def transposed_times(self, r: Floats) -> Floats:
        """Zᵀ r."""
        sums = self.x.transposed_times(r)
        sums -= np.multiply.outer(self.center, r.sum(axis=0))
        return np.asarray((sums.T / self.scale).T) if self.scaled else sums

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
        if not isinstance(self.x, DenseProducts) or self.scaled:
            forward = self.transposed_times(r)
            return forward, self.times(forward)
        forward, back = self.x.round_trip(r, np.multiply.outer(self.center, r.sum(axis=0)))
        return forward, back - self.center @ forward
