"""Columns for a ridge penalty: as they are, or principal components where they are many.

An orthogonal map changes neither scores nor penalty. With more columns than rows it leads into the
span of the rows, where every solution lies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from separatrix.logistic.ridge_path import MAX_HESSIAN
from separatrix.rows.block import Floats, Matrix, to_array

#: Coefficients of several scores up to which the Hessian of each preconditions; with more, or one
#: score and a Hessian too large, columns become principal components.
MAX_BLOCKS = 3000


@dataclass(frozen=True)
class Components:
    """Rows ``z`` of columns measured from ``mean``, or of components with their ``variances``.

    ``rotate`` makes coefficients of columns from those of components.
    """

    z: Floats
    mean: Floats
    variances: Floats | None = None
    rotate: Callable[[Floats], Floats] | None = None

    @classmethod
    def of(cls, x: Matrix, w: Floats, n_scores: int, *, centered: bool) -> Components:
        """The columns themselves where a Hessian of all scores is small enough."""
        x = to_array(x)
        n, d = x.shape
        mean = np.zeros(d)
        if centered:
            mean = w @ x / w.sum()
            x = x - mean
        if d < n and (d + 1) * n_scores <= (MAX_BLOCKS if n_scores > 1 else MAX_HESSIAN):
            return cls(x, mean)
        if d < n:
            root = x * np.sqrt(w)[:, None]
            values, vectors = linalg.eigh(root.T @ root)
            variances = np.maximum(values, 0.0) / w.sum()
            return cls(x @ vectors, mean, variances, lambda theta: vectors @ theta)
        values, vectors = linalg.eigh(x @ x.T)
        nonzero = values > 1e-12 * max(float(values[-1]), np.finfo(float).tiny)
        singular, vectors = np.sqrt(values[nonzero])[:, None], vectors[:, nonzero]
        z = vectors * singular.T
        variances = np.asarray(w @ z**2 / w.sum())
        return cls(z, mean, variances, lambda theta: x.T @ (vectors @ (theta / singular)))

    def coefficients(self, theta: Floats, *, intercept: bool) -> tuple[Floats, Floats]:
        """Coefficients of the columns (d x scores) and intercepts, which θ ends with if any."""
        inner = theta[:-1] if intercept else theta
        coef = inner if self.rotate is None else self.rotate(inner)
        constant = theta[-1] if intercept else np.zeros(theta.shape[1])
        return coef, constant - self.mean @ coef
