"""The minimum-norm solution of least squares, where linearly dependent columns leave many.

Fitted values are unique; coefficients are not when columns depend on each other. Of all of them
the one with the smallest ‖b‖ is returned: the limit of ridge regression as its penalty vanishes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from separatrix.linear.least_squares.certificate import certify_wide
from separatrix.optimize.solution import Solution
from separatrix.rows.block import Block, Floats
from separatrix.statistics.standardizer import zero_if_constant

EPS = float(np.finfo(float).eps)


def minimum_norm(independent: NDArray[np.bool_], basic: Floats, combination: Floats) -> Floats:
    """Minimum-norm coefficients from those of a basic solution.

    With dependent columns X_D = X_I T every solution is (b − T z, z); its norm is least at
    z = argmin ‖[T; I] z − [b; 0]‖. A constant column has T = 0 and receives 0.
    """
    coef = np.zeros((len(independent), basic.shape[1]))
    coef[independent] = basic
    if not independent.all() and independent.any():
        tall = np.concatenate([combination, np.eye(combination.shape[1])])
        right = np.concatenate([basic, np.zeros((combination.shape[1], basic.shape[1]))])
        z = linalg.lstsq(tall, right)[0]
        coef[independent] = basic - combination @ z
        coef[~independent] = z
    return coef


def solve_wide(block: Block, *, fit_intercept: bool) -> Solution:
    """Least squares on no more rows than columns, by singular values of the rows.

    The rank is determined on equilibrated columns. The minimum-norm solution in the table's units
    is taken unless units differ so much that it would lose the fit; then that of the equilibrated
    columns is.
    """
    x, y, x_mean, y_mean, weight = center_rows(block, fit_intercept)
    root = np.sqrt(weight)
    scale = root * zero_if_constant(np.linalg.norm(x, axis=0) / root, x_mean)
    x[:, scale == 0] = 0.0
    scale[scale == 0] = 1.0
    cutoff = max(x.shape) * EPS
    equilibrated, _, rank, _ = linalg.lstsq(x / scale, y, cond=cutoff)
    equilibrated = equilibrated / scale[:, None]
    unscaled = linalg.lstsq(x, y, cond=cutoff)[0]
    misfit = [np.linalg.norm(y - x @ b) for b in (equilibrated, unscaled)]
    as_good = misfit[1] <= misfit[0] + 1e-10 * np.linalg.norm(y)
    coef = unscaled if as_good else equilibrated
    order = linalg.qr(x / scale, mode="r", pivoting=True)[1]
    names = [str(term) for term in block.terms]
    residual = y - x @ coef
    dependent = [names[j] for j in sorted(order[rank:])]
    certificate = certify_wide(x / scale, y, residual, int(rank), dependent)
    return Solution(coef, y_mean - x_mean @ coef, certificate)


def center_rows(block: Block, fit_intercept: bool) -> tuple[Floats, Floats, Floats, Floats, float]:
    """Rows about their mean (or the origin), times √w; the means; the total weight."""
    w = block.weights
    x, y = block.dense(), block.y
    x_mean, y_mean = np.zeros(x.shape[1]), np.zeros(y.shape[1])
    if fit_intercept:
        x_mean, y_mean = w @ x / w.sum(), w @ y / w.sum()
    root = np.sqrt(w)[:, None]
    return (x - x_mean) * root, (y - y_mean) * root, x_mean, y_mean, float(w.sum())
