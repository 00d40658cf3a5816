"""Least squares from whatever a fit has: moments, few rows, or sparse rows with many columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from separatrix.estimators.additive import TrainingData
from separatrix.linear.elastic_net.solve import solve_non_negative
from separatrix.linear.least_squares.certificate import warn_if_not_unique
from separatrix.linear.least_squares.minimum_norm import solve_wide
from separatrix.linear.least_squares.moments import solve_moments
from separatrix.messages import warn
from separatrix.optimize.conjugate_gradient import CenteredMap, conjugate_gradient
from separatrix.optimize.solution import Solution, Status
from separatrix.rows.block import Block, Floats

#: Columns beyond which a columns x columns matrix is not formed from sparse rows.
MANY_COLUMNS = 5_000


def solve_least_squares(
    data: TrainingData, *, fit_intercept: bool, positive: bool = False
) -> Solution:
    """Solve by the route that suits the data; a ``LeastSquares`` where inference is possible.

    With ``positive`` set, by an active-set method; from moments where there are more rows than
    columns; by conjugate gradients where XᵀX would not fit; else by singular values of the rows.
    """
    if positive:
        return solve_non_negative(data.block or data.source, 0.0, fit_intercept=fit_intercept)
    if data.block is None:
        assert data.moments is not None
        return solve_moments(data.rows, data.moments, fit_intercept=fit_intercept)
    if too_many_columns(data.block):
        none = np.zeros(data.block.y.shape[1])
        return solve_sparse(data.block, none, fit_intercept=fit_intercept)
    solution = solve_wide(data.block, fit_intercept=fit_intercept)
    warn_if_not_unique(solution.certificate)
    return solution


def too_many_columns(block: Block) -> bool:
    """Whether the rows are sparse and XᵀX would be out of proportion to them."""
    return bool(sparse.issparse(block.x) and block.x.shape[1] > MANY_COLUMNS)


def from_rows(block: Block) -> bool:
    """Whether to solve from the rows: no more rows than columns, or too many sparse columns."""
    return bool(block.n <= block.x.shape[1]) or too_many_columns(block)


def solve_sparse(
    block: Block, alphas: Floats, *, fit_intercept: bool, standardize: bool = False
) -> Solution:
    """Least squares or ridge for sparse rows with so many columns that XᵀX would not fit in memory.

    One α per target; 0 is least squares. Conjugate gradients use products with X and Xᵀ alone;
    centering is part of the product, so that the rows stay sparse. The certificate is the worst of
    the targets'.
    """
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
