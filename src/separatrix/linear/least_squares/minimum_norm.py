"""The shortest answer where least squares has many.

Fitted values are unique; coefficients are not when columns depend on each other. Of all of them
the one with the smallest ‖b‖ is returned: the limit of ridge regression as its penalty vanishes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from separatrix.linear.least_squares.certificate import certify_wide
from separatrix.optimize.solution import LeastSquares
from separatrix.rows.block import Block, Floats

EPS = float(np.finfo(float).eps)


def shortest_coefficients(kept: NDArray[np.bool_], basis: Floats, combination: Floats) -> Floats:
    """Spread the coefficients of a basis over the columns that depend on it.

    With dependent columns X_D = X_K T every answer is (b − T z, z); its length is least at
    z = argmin ‖[T; I] z − [b; 0]‖. A constant column has T = 0 and receives 0.
    """
    coef = np.zeros((len(kept), basis.shape[1]))
    coef[kept] = basis
    if not kept.all() and kept.any():
        tall = np.concatenate([combination, np.eye(combination.shape[1])])
        right = np.concatenate([basis, np.zeros((combination.shape[1], basis.shape[1]))])
        z = linalg.lstsq(tall, right)[0]
        coef[kept] = basis - combination @ z
        coef[~kept] = z
    return coef


def solve_wide(block: Block, *, fit_intercept: bool) -> LeastSquares:
    """No more rows than columns: the rows themselves are the small side.

    The rank is judged on equilibrated columns. The shortest answer in the table's units is taken
    unless units differ so much that it would lose the fit; then the equilibrated one is.
    """
    x, y, x_mean, y_mean, weight = centred(block, fit_intercept)
    scale = np.linalg.norm(x, axis=0)
    floor = 4.0 * EPS * np.sqrt(weight) * np.abs(x_mean)
    x[:, scale <= floor] = 0.0
    scale[scale <= floor] = 1.0
    cut = max(x.shape) * EPS
    even, _, rank, _ = linalg.lstsq(x / scale, y, cond=cut)
    even = even / scale[:, None]
    short = linalg.lstsq(x, y, cond=cut)[0]
    misfit = [np.linalg.norm(y - x @ b) for b in (even, short)]
    coef = short if misfit[1] <= misfit[0] + 1e-10 * np.linalg.norm(y) else even
    order = linalg.qr(x / scale, mode="r", pivoting=True)[1]
    names = [str(term) for term in block.terms]
    residual = y - x @ coef
    size = x.shape[1] + int(fit_intercept)
    return LeastSquares(
        coef,
        y_mean - x_mean @ coef,
        certify_wide(x / scale, y, residual, int(rank), [names[j] for j in sorted(order[rank:])]),
        rss=(residual**2).sum(axis=0),
        inverse=np.zeros((size, size)),
        identified=np.zeros(size, dtype=bool),
        rank=int(rank),
    )


def centred(block: Block, fit_intercept: bool) -> tuple[Floats, Floats, Floats, Floats, float]:
    """Rows about their mean (or the origin), times √w; the means; the total weight."""
    w = block.weights
    x, y = block.dense(), block.y
    x_mean, y_mean = np.zeros(x.shape[1]), np.zeros(y.shape[1])
    if fit_intercept:
        x_mean, y_mean = w @ x / w.sum(), w @ y / w.sum()
    root = np.sqrt(w)[:, None]
    return (x - x_mean) * root, (y - y_mean) * root, x_mean, y_mean, float(w.sum())
