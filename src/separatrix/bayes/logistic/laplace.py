"""The Laplace approximation of a posterior: a normal distribution of all coefficients.

    θ ~ N(θ̂, A⁻¹),        scores of a row z:  N(C V̂ z, C S Cᵀ),   Sₐᵦ = zᵀ (A⁻¹)ₐᵦ z

Where there are more columns than rows, a row has a part outside of the span of the training rows,
of which these say nothing: it adds the prior's variance σ² times its square.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg, sparse

from separatrix.bayes.logistic.coordinates import Coordinates
from separatrix.rows.block import Floats, Matrix
from separatrix.threads import parallel_map, pieces

#: Numbers that a chunk of rows may take, and the fewest rows of a piece of work.
CHUNK_VALUES, PIECE = 2_000_000, 512


@dataclass(frozen=True)
class LaplacePosterior:
    """The normal distribution of the coefficients V (scores x width) in standardized coordinates.

    ``covariance`` is over V row by row.
    """

    coordinates: Coordinates
    prior_scale: float
    mean: Floats
    covariance: Floats

    @cached_property
    def factor(self) -> Floats:
        """F with F Fᵀ = A⁻¹."""
        unit = np.sqrt(np.diag(self.covariance))
        values, vectors = linalg.eigh(self.covariance / np.outer(unit, unit))
        return np.asarray(unit[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)))

    def logits(self, x: Matrix) -> tuple[Floats, Floats]:
        """Means (n x c) and covariances (n x c x c) of V z for the rows of a table."""
        n, c = x.shape[0], self.coordinates.n_scores
        mean, covariance = np.empty((n, c)), np.empty((n, c, c))
        each = max(len(self.mean[0]), len(self.coordinates.center), c * c, 1)
        parts = pieces(n, PIECE, max(64, -(-n * each // CHUNK_VALUES)))

        def part(rows: slice) -> None:
            mean[rows], covariance[rows] = self._logits(_dense(x, rows))

        parallel_map(part, parts)
        return mean, covariance

    def _logits(self, x: Floats) -> tuple[Floats, Floats]:
        c, m = self.mean.shape
        z = self.coordinates.design(x)
        spread = np.empty((c, len(z), self.factor.shape[1]))
        for a in range(c):
            np.matmul(z, self.factor[a * m : (a + 1) * m], out=spread[a])
        covariance = np.einsum("anp,bnp->nab", spread, spread)
        if self.coordinates.span is not None:
            whole = self.coordinates.standardized(x)
            inside = whole @ self.coordinates.span
            outside = np.sum((whole - inside @ self.coordinates.span.T) ** 2, axis=1)
            np.einsum("naa->na", covariance)[:] += self.prior_scale**2 * outside[:, None]
        return z @ self.mean.T, covariance

    def draws(self, n_samples: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Coefficients (n_samples x scores x d) and intercepts in the units of the table."""
        normal = rng.standard_normal((n_samples, self.mean.size))
        v = self.mean + (normal @ self.factor.T).reshape(n_samples, *self.mean.shape)
        return self.to_table(v, rng)

    def to_table(self, v: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """V (… x scores x width) in the units of the table, with what the span leaves out."""
        at = self.coordinates
        if at.span is None:
            return at.unscale(v)
        r = at.span.shape[1]
        columns = v[..., :r] @ at.span.T
        free = self.prior_scale * rng.standard_normal(columns.shape)
        columns += free - (free @ at.span) @ at.span.T
        return at.to_table(columns, v[..., r] if at.intercept else np.zeros(v.shape[:-1]))

    def standard_deviations(self) -> tuple[Floats, Floats]:
        """Standard deviations of the coefficients (scores x d) and the intercepts of the table."""
        at, basis = self.coordinates, self.coordinates.basis
        c, m = self.mean.shape
        blocks = self.covariance.reshape(c, m, c, m)
        by_score = np.einsum("ka,ambn,kb->kmn", basis, blocks, basis, optimize=True)
        d, r = len(at.center), m - int(at.intercept)
        columns = by_score[:, :r, :r]
        free = self.prior_scale**2 * np.sum(basis**2, axis=1)
        if at.span is None:
            variance = np.einsum("kmm->km", columns)
        else:
            variance = np.einsum("dr,krs,ds->kd", at.span, columns, at.span, optimize=True)
            variance = variance + free[:, None] * np.maximum(1.0 - np.sum(at.span**2, axis=1), 0.0)
        # the intercept of the table: that of z, minus the centers
        shift = at.center / at.scale
        within = shift if at.span is None else shift @ at.span
        row = np.append(-within, np.ones(int(at.intercept)))
        constant = np.einsum("m,kmn,n->k", row, by_score, row)
        if at.span is not None:
            outside = float(np.sum((shift - at.span @ within) ** 2))
            constant = constant + free * outside
        coef = np.sqrt(variance) / at.scale if d else np.sqrt(variance)
        return coef, np.sqrt(np.maximum(constant, 0.0))


def _dense(x: Matrix, rows: slice) -> Floats:
    part = x[rows]
    return np.asarray(part.toarray() if sparse.issparse(part) else part)
