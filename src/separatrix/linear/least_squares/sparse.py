"""Least squares and ridge for sparse rows with so many columns that XᵀX would not fit in memory.

Conjugate gradients use products with X and Xᵀ alone; centering is part of the product, so that
the rows stay sparse. One run per target.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from separatrix.messages import warn
from separatrix.optimize.conjugate_gradient import CenteredMap, conjugate_gradient
from separatrix.optimize.solution import Solution, Status
from separatrix.rows.block import Block, Floats

#: Columns beyond which a columns x columns matrix is not formed from sparse rows.
MANY_COLUMNS = 5_000


def too_many_columns(block: Block) -> bool:
    """Whether the rows are sparse and XᵀX would be out of proportion to them."""
    return bool(sparse.issparse(block.x) and block.x.shape[1] > MANY_COLUMNS)


def from_rows(block: Block) -> bool:
    """Whether to solve from the rows: no more rows than columns, or too many sparse columns."""
    return bool(block.n <= block.x.shape[1]) or too_many_columns(block)


def solve_sparse(
    block: Block, alphas: Floats, *, fit_intercept: bool, standardize: bool = False
) -> Solution:
    """One α per target; 0 is least squares. The certificate is the worst of the targets'."""
    w = block.weights
    x_mean = (block.x.T @ w) / w.sum() if fit_intercept else np.zeros(block.x.shape[1])
    y_mean = w @ block.y / w.sum() if fit_intercept else np.zeros(block.y.shape[1])
    rows, scale = CenteredMap(block.x, x_mean, np.sqrt(w)), np.ones(block.x.shape[1])
    if standardize:
        squares = rows.column_squares()
        scale = np.sqrt(np.where(squares > 0, squares / w.sum(), 1.0))
        scaled = sparse.csr_array(block.x.multiply(1.0 / scale))
        rows = CenteredMap(scaled, x_mean / scale, np.sqrt(w))
    targets = np.sqrt(w)[:, None] * (block.y - y_mean)
    found = [
        conjugate_gradient(rows, targets[:, j], alpha=float(alpha), tol=1e-9)
        for j, alpha in enumerate(alphas)
    ]
    worst = max(found, key=lambda solution: solution.certificate.kkt)
    if worst.status != Status.SOLVED:
        warn(
            "SEP003",
            f"conjugate gradients stopped after {worst.iterations} steps with a KKT residual of "
            f"{worst.certificate.kkt:.1e}. A penalty (Ridge) makes it faster.",
        )
    coef = np.concatenate([solution.coef for solution in found], axis=1) / scale[:, None]
    return replace(worst, coef=coef, intercept=y_mean - x_mean @ coef)
