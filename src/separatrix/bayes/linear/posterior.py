"""The posterior of the coefficients, as a factor that needs no d x d matrix.

    b ~ N(m, Σ),    Σ = D (V diag(v) Vᵀ + ω (I − VVᵀ)) D,    D = diag(scale)

V holds the directions that the rows inform about, ω is the prior's variance in all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.rows.block import Floats, Matrix
from separatrix.threads import parallel_map, pieces

#: Rows of new tables in a piece.
PIECE = 512


@dataclass(frozen=True)
class Posterior:
    """Normal posterior of the coefficients about their mean.

    ``directions`` are V (d x r) for columns times ``scale``, orthonormal unless ``rest`` is 0;
    ``variances`` are v, and ``rest`` is ω. ``center`` is subtracted from new rows, and
    ``intercept_variance`` is that of the intercept at the center.
    """

    center: Floats
    scale: Floats
    directions: Floats
    variances: Floats
    rest: float = 0.0
    intercept_variance: float = 0.0

    def variance_of(self, x: Matrix) -> Floats:
        """Variance of a + b·x for every row."""
        out = np.empty(x.shape[0])

        def part(rows: slice) -> None:
            out[rows] = self._variance(x[rows])

        parallel_map(part, pieces(x.shape[0], PIECE))
        return out + self.intercept_variance

    def covariance_of(self, x: Matrix) -> Floats:
        """Covariance of a + b·x between all pairs of rows."""
        u = self._scaled(x)
        inner = u @ self.directions
        found = (inner * self.variances) @ inner.T + self.intercept_variance
        if self.rest:
            left = u - inner @ self.directions.T
            found += self.rest * (left @ left.T)
        return np.asarray(found)

    @property
    def covariance(self) -> Floats:
        """Σ (d x d)."""
        v, d = self.directions, len(self.scale)
        found = (v * self.variances) @ v.T
        if self.rest:
            found += self.rest * (np.eye(d) - v @ v.T)
        return np.asarray(found * np.multiply.outer(self.scale, self.scale))

    @property
    def column_variances(self) -> Floats:
        """The diagonal of Σ."""
        square = self.directions**2
        found = square @ self.variances
        if self.rest:
            found = found + self.rest * np.maximum(1.0 - square.sum(axis=1), 0.0)
        return np.asarray(found * self.scale**2)

    def draws(self, count: int, rng: np.random.Generator) -> Floats:
        """Draws (count x d) of b − m."""
        v = self.directions
        found = (rng.standard_normal((count, v.shape[1])) * np.sqrt(self.variances)) @ v.T
        if self.rest:
            free = np.sqrt(self.rest) * rng.standard_normal((count, len(self.scale)))
            found += free - (free @ v) @ v.T
        return np.asarray(found * self.scale)

    def _scaled(self, x: Matrix) -> Floats:
        dense = x.toarray() if sparse.issparse(x) else x
        return np.asarray((dense - self.center) * self.scale)

    def _variance(self, x: Any) -> Floats:
        if sparse.issparse(x):
            return self._sparse_variance(x)
        u = self._scaled(x)
        inner = u @ self.directions
        found = inner**2 @ self.variances
        if self.rest:
            left = u - inner @ self.directions.T
            found += self.rest * np.einsum("ij,ij->i", left, left)
        return np.asarray(found)

    def _sparse_variance(self, x: Any) -> Floats:
        """The same without filling in: ‖u − VVᵀu‖² = ‖u‖² − ‖Vᵀu‖²."""
        middle = self.center * self.scale
        inner = x @ (self.scale[:, None] * self.directions) - middle @ self.directions
        found = inner**2 @ self.variances
        if self.rest:
            square = x.multiply(x) @ self.scale**2 - 2.0 * (x @ (self.scale * middle))
            left = square + middle @ middle - np.einsum("ij,ij->i", inner, inner)
            found += self.rest * np.maximum(left, 0.0)
        return np.asarray(found)
