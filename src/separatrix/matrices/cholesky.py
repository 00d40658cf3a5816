"""Cholesky factors of large matrices: block by block on threads, the same bits on any number.

A = L Lᵀ:   the block on the diagonal, then the blocks below it, then what both leave of A
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from separatrix.arrays import NDArray
from separatrix.threads import on_one_blas_thread, one_blas_thread, parallel_map

#: Rows of a block.
BLOCK = 256


def cholesky_factor(a: NDArray[Any]) -> NDArray[Any] | None:
    """L of A = L Lᵀ, written over the lower half of ``a``; None where A is not positive."""
    n = len(a)
    if n <= 5 * BLOCK:  # a matrix that is factored at once: two threads gain nothing
        return a if _factor_in_place(a) else None
    cuts = list(range(0, n, BLOCK))
    blocks = [slice(start, stop) for start, stop in zip(cuts, [*cuts[1:], n], strict=True)]
    for k, block in enumerate(blocks):
        diagonal = a[block, block].copy()
        if not _factor_in_place(diagonal):
            return None
        a[block, block] = diagonal
        below = blocks[k + 1 :]

        def column(rows: slice, block: slice = block, diagonal: NDArray[Any] = diagonal) -> None:
            a[rows, block] = linalg.solve_triangular(
                diagonal, a[rows, block].T, lower=True, check_finite=False
            ).T

        def rest(pair: tuple[slice, slice], block: slice = block) -> None:
            a[pair] -= a[pair[0], block] @ a[pair[1], block].T

        parallel_map(column, below)
        parallel_map(rest, [(r, c) for i, r in enumerate(below) for c in below[: i + 1]])
    return a


def _factor_in_place(a: NDArray[Any]) -> bool:
    """Write L over the lower half of ``a``; False where A is not positive definite."""
    potrf = linalg.get_lapack_funcs("potrf", (a,))
    with one_blas_thread():
        # in Fortran order our lower half is the upper triangle
        factor, info = potrf(a.T, lower=0, overwrite_a=1, clean=0)
    if not np.may_share_memory(factor, a):
        a[...] = factor.T
    return info == 0 and bool(np.isfinite(np.diagonal(a)).all())


def cholesky_solve(factor: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """A⁻¹ B for B (n x k), from the factor L of A."""
    with one_blas_thread():
        # Lᵀ is in Fortran order, as LAPACK wants it: L itself would be copied
        solution = linalg.cho_solve((factor.T, False), right, check_finite=False)
    return np.asarray(solution)


def forward_substitution(factor: NDArray[Any], columns: NDArray[Any]) -> NDArray[Any]:
    """L⁻¹ B, written over the columns of B, which are the rows of ``columns`` (m x n).

    Block by block, by products: BLAS's own solve would hold the interpreter, and with it other
    threads that solve for other columns.
    """
    for top in range(0, len(factor), BLOCK):
        at = slice(top, min(top + BLOCK, len(factor)))
        if top:
            columns[:, at] -= columns[:, :top] @ factor[at, :top].T
        columns[:, at] = linalg.solve_triangular(
            factor[at, at], columns[:, at].T, lower=True, check_finite=False
        ).T
    return columns


# -------------------------------------------------------------------------------------------------
# Inverses of positive definite matrices from their Cholesky factors, in place and on threads.
#
# A⁻¹ = Wᵀ W,   W = L⁻¹:   block rows of W from the first to the last, then of WᵀW likewise
#
# Pieces depend on the size alone and every block is computed by one thread: the same bits on any
# number of threads.


@on_one_blas_thread
def cholesky_inverse(factor: NDArray[Any]) -> NDArray[Any]:
    """A⁻¹ from L of A = L Lᵀ, written over ``factor``: its lower half, the upper holds anything."""
    n = len(factor)
    if n <= 1280:  # rows up to which a matrix is inverted at once
        return _at_once(factor)
    height = 192  # rows of a block
    starts = list(range(0, n, height))
    for top in starts:
        _invert_rows(factor, top, min(top + height, n))
    for top in starts:
        _multiply_rows(factor, top, min(top + height, n))
    return factor


@on_one_blas_thread
def inverse_diagonal(factor: NDArray[Any]) -> NDArray[Any]:
    """The diagonal of A⁻¹ = WᵀW from L of A = L Lᵀ, which is overwritten: column sums of W²."""
    n = len(factor)
    if n <= 1280:
        return np.diagonal(_at_once(factor)).copy()
    total = np.zeros(n, dtype=factor.dtype)
    for top in range(0, n, 192):
        rows = slice(top, min(top + 192, n))
        _invert_rows(factor, top, rows.stop)
        total[: rows.stop] += np.square(np.tril(factor[rows, : rows.stop], top)).sum(axis=0)
    return total


def _at_once(factor: NDArray[Any]) -> NDArray[Any]:
    potri = linalg.get_lapack_funcs("potri", (factor,))
    # in Fortran order the factor is the upper triangle, and its upper triangle is our lower
    inverse, _ = potri(factor.T, lower=0, overwrite_c=1)
    if not np.may_share_memory(inverse, factor):
        factor[...] = inverse.T
    return factor


def _columns(stop: int) -> list[slice]:
    columns = 384  # columns of the product that one thread computes
    return [slice(left, min(left + columns, stop)) for left in range(0, stop, columns)]


def _invert_rows(w: NDArray[Any], top: int, bottom: int) -> None:
    """Rows of W: −Lᵢᵢ⁻¹ Σ over k < i of Lᵢₖ Wₖⱼ, and Lᵢᵢ⁻¹ on the diagonal."""
    rows = slice(top, bottom)
    trtri = linalg.get_lapack_funcs("trtri", (w,))
    inverse = np.tril(trtri(np.array(w[rows, rows], order="F"), lower=1)[0])
    left = -inverse @ w[rows, :top]

    def part(columns: slice) -> None:
        # rows of W above the first of these columns are zero, and not stored
        w[rows, columns] = _lower_product(left, w, columns, top)

    parallel_map(part, _columns(top))
    w[rows, rows] = inverse


def _lower_product(left: NDArray[Any], w: NDArray[Any], columns: slice, stop: int) -> NDArray[Any]:
    """left W for some columns of the lower triangular W, whose upper half holds anything."""
    middle = min(columns.stop, stop)
    square = np.tril(w[columns.start : middle, columns])
    product = left[:, columns.start : middle] @ square
    if middle < stop:
        product += left[:, middle:stop] @ w[middle:stop, columns]
    return np.asarray(product)


def _multiply_rows(w: NDArray[Any], top: int, bottom: int) -> None:
    """Rows of WᵀW, up to the diagonal: Σ over k ≥ i of Wₖᵢᵀ Wₖⱼ."""
    rows = slice(top, bottom)
    copy = w[top:, rows].copy()  # others read it while its first block is written
    copy[: bottom - top] = np.tril(copy[: bottom - top])

    def part(columns: slice) -> None:
        other = copy if columns == rows else w[top:, columns]
        w[rows, columns] = copy.T @ other

    parallel_map(part, [*_columns(top), rows])
