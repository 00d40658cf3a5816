"""Ridge regression from whatever a fit has: moments, few rows, or sparse rows with many columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from separatrix.estimators.additive import TrainingData
from separatrix.linear.elastic_net.solve import solve_non_negative
from separatrix.linear.least_squares.solve import solve_least_squares
from separatrix.linear.least_squares.sparse import solve_sparse, too_many_columns
from separatrix.linear.ridge.spectrum import RidgeOptions, ridge_from_block, ridge_from_moments
from separatrix.messages import InputError
from separatrix.optimize.solution import Solution
from separatrix.rows.block import Floats


def solve_ridge(
    data: TrainingData, alpha: Floats, options: RidgeOptions, *, positive: bool = False
) -> Solution:
    """Solve for every target, one α each; α = 0 is least squares, by its own solver."""
    if positive:
        return _non_negative(data, alpha, options)
    if data.block is not None and too_many_columns(data.block):
        return solve_sparse(
            data.block,
            alpha,
            fit_intercept=options.fit_intercept,
            standardize=options.standardize,
        )
    if not alpha.any():
        return solve_least_squares(data, fit_intercept=options.fit_intercept)
    found = _penalized(data, np.where(alpha > 0, alpha, 1.0), options)
    if alpha.all():
        return found
    plain = solve_least_squares(data, fit_intercept=options.fit_intercept)
    return replace(
        found,
        coef=np.where(alpha > 0, found.coef, plain.coef),
        intercept=np.where(alpha > 0, found.intercept, plain.intercept),
        certificate=max(found.certificate, plain.certificate, key=lambda c: c.kkt),
    )


def _penalized(data: TrainingData, alpha: Floats, options: RidgeOptions) -> Solution:
    if data.block is not None:
        return ridge_from_block(data.block, alpha, options)
    assert data.moments is not None
    m, scale = options.scaled(data.moments)
    solution = ridge_from_moments(m, alpha)
    return replace(solution, coef=solution.coef / scale[:, None])


def _non_negative(data: TrainingData, alpha: Floats, options: RidgeOptions) -> Solution:
    if alpha.min() < alpha.max():
        raise InputError("With positive=True all targets need the same alpha.")
    source = data.source if data.block is None else data.block
    return solve_non_negative(
        source,
        float(alpha[0]),
        fit_intercept=options.fit_intercept,
        standardize=options.standardize,
    )
