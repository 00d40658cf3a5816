"""Cholesky factors of large matrices: block by block on threads, the same bits on any number.

A = L Lᵀ:   the block on the diagonal, then the blocks below it, then what both leave of A
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from separatrix.threads import one_blas_thread, parallel_map

#: Rows of a block, and rows up to which a matrix is factored at once: two threads gain nothing.
BLOCK, AT_ONCE = 256, 1280


def cholesky_factor(a: NDArray[Any]) -> NDArray[Any] | None:
    """L of A = L Lᵀ, written over the lower half of ``a``; None where A is not positive."""
    n = len(a)
    if n <= AT_ONCE:
        return a if _factored(a) else None
    cuts = list(range(0, n, BLOCK))
    blocks = [slice(start, stop) for start, stop in zip(cuts, [*cuts[1:], n], strict=True)]
    for k, at in enumerate(blocks):
        diagonal = a[at, at].copy()
        if not _factored(diagonal):
            return None
        a[at, at] = diagonal
        below = blocks[k + 1 :]

        def column(rows: slice, at: slice = at, diagonal: NDArray[Any] = diagonal) -> None:
            a[rows, at] = linalg.solve_triangular(
                diagonal, a[rows, at].T, lower=True, check_finite=False
            ).T

        def rest(pair: tuple[slice, slice], at: slice = at) -> None:
            a[pair] -= a[pair[0], at] @ a[pair[1], at].T

        parallel_map(column, below)
        parallel_map(rest, [(r, c) for i, r in enumerate(below) for c in below[: i + 1]])
    return a


def _factored(a: NDArray[Any]) -> bool:
    """Write L over the lower half of ``a``; False where A is not positive definite."""
    potrf = linalg.get_lapack_funcs("potrf", (a,))
    with one_blas_thread():
        # in Fortran order our lower half is the upper triangle
        found, info = potrf(a.T, lower=0, overwrite_a=1, clean=0)
    if not np.may_share_memory(found, a):
        a[...] = found.T
    return info == 0 and bool(np.isfinite(np.diagonal(a)).all())


def cholesky_solve(factor: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """A⁻¹ B for B (n x k), from the factor L of A."""
    with one_blas_thread():
        # Lᵀ is in Fortran order, as LAPACK wants it: L itself would be copied
        found = linalg.cho_solve((factor.T, False), right, check_finite=False)
    return np.asarray(found)


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
