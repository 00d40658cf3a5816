"""The negative log posterior for chains: many points at once, or one with its gradient.

    Ψ(θ) = Σ w log(1 + Σₖ e^tₖ) − θ·Σ w y z + ½ Σ λⱼ θⱼ²,        tₖ = sₖ − s₀ = (D V z)ₖ

up to a constant, over rows in memory: scores by products, exponentials in compiled loops. D holds
the differences of the class basis from its first row, and is 1 for two classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.bayes.logistic.laplace import LaplacePosterior
from separatrix.bayes.logistic.loops.softmax import MOST_COLUMNS, add_log_sums, to_probabilities
from separatrix.rows.block import Block, Floats
from separatrix.rows.schema import Terms

#: Scores computed at a time, which stay in cache.
CHUNK = 65_536


@dataclass(frozen=True)
class Potential:
    """Rows z (n x m) with their weights (none if all are 1), the prior, and the approximation.

    ``differences`` is D, ``linear`` is Σ w y z, ``precision`` λ; ``mean`` and ``factor`` are those
    of the Laplace approximation.
    """

    z: Floats
    w: Floats
    differences: Floats
    linear: Floats
    precision: Floats
    mean: Floats
    factor: Floats

    @classmethod
    def of(
        cls, block: Block, targets: Terms, posterior: LaplacePosterior, intercept_scale: float
    ) -> Potential:
        """Of rows of positive weight."""
        at = posterior.coordinates
        z, w = np.ascontiguousarray(at.design(block.dense())), block.weights
        y = block.aligned(block.terms, targets).y[:, 1:]
        differences = at.basis if at.n_classes == 2 else at.basis[1:] - at.basis[0]
        precision = np.full(at.width, posterior.prior_scale**-2)
        if at.intercept:
            precision[-1] = intercept_scale**-2
        return cls(
            z,
            np.empty(0) if (w == 1.0).all() else w,
            differences,
            (differences.T @ ((w[:, None] * y).T @ z)).ravel(),
            np.tile(precision, at.n_scores),
            posterior.mean.ravel(),
            posterior.factor,
        )

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.differences) + 1

    def values(self, thetas: Floats) -> Floats:
        """Ψ of every θ (q x p)."""
        out: Floats = np.sum(thetas * (0.5 * self.precision * thetas - self.linear), axis=1)
        for rows in self._chunks(len(thetas)):
            add_log_sums(self._scores(thetas, rows), self.w[rows], out)
        return out

    def gradient(self, theta: Floats) -> Floats:
        """∇Ψ by u at θ = θ̂ + F u: Fᵀ ∇Ψ(θ)."""
        sums = np.zeros((len(self.differences), self.z.shape[1]))
        for rows in self._chunks(1):
            scores = self._scores(theta[None], rows)
            to_probabilities(scores, self.w[rows])
            sums += scores[0] @ self.z[rows]
        by_theta = (self.differences.T @ sums).ravel() + self.precision * theta - self.linear
        return np.asarray(by_theta @ self.factor)

    def to_theta(self, u: Floats) -> Floats:
        """θ = θ̂ + F u of every u (q x p)."""
        return np.asarray(self.mean + u @ self.factor.T)

    def _chunks(self, points: int) -> list[slice]:
        size = min(max(CHUNK // (points * len(self.differences)), 64), MOST_COLUMNS)
        return [slice(start, start + size) for start in range(0, len(self.z), size)]

    def _scores(self, thetas: Floats, rows: slice) -> Floats:
        """D V z (q x classes x rows)."""
        c, m = len(self.differences), self.z.shape[1]
        coef = self.differences @ thetas.reshape(-1, c, m)
        return (coef.reshape(-1, m) @ self.z[rows].T).reshape(len(thetas), c, -1)
