"""Least squares from whatever a fit has: moments, few rows, or sparse rows with many columns."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from separatrix.estimators.additive import TrainingData
from separatrix.linear.elastic_net.solve import solve_non_negative
from separatrix.linear.least_squares.certificate import warn_if_not_unique
from separatrix.linear.least_squares.minimum_norm import solve_wide
from separatrix.linear.least_squares.moments import solve_moments
from separatrix.linear.ridge.implicit import MANY_COLUMNS, solve_sparse
from separatrix.optimize.solution import Solution
from separatrix.rows.block import Block


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
