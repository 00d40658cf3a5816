"""Cholesky factors of large matrices: block by block on threads, the same bits on any number.

A = L Lᵀ:   the block on the diagonal, then the blocks below it, then what both leave of A
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from separatrix.threads import one_blas_thread, parallel_map

#: Rows of a block; a matrix of fewer than two is factored at once.
BLOCK = 256


def cholesky_factor(a: NDArray[Any]) -> NDArray[Any] | None:
    """L of A = L Lᵀ, written over the lower half of ``a``; None where A is not positive."""
    n = len(a)
    cuts = list(range(0, n, BLOCK)) if n >= 2 * BLOCK else [0]
    blocks = [slice(start, stop) for start, stop in zip(cuts, [*cuts[1:], n], strict=True)]
    for k, at in enumerate(blocks):
        with one_blas_thread():
            try:
                diagonal = np.linalg.cholesky(a[at, at])
            except np.linalg.LinAlgError:
                return None
        if not np.isfinite(diagonal).all():
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
