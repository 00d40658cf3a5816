"""How the curvature of the likelihood changes with the scores: the third derivative, traced.

    g = ∇_θ tr(Σ H(θ)),        H = Σ w z zᵀ ⊗ (diag p − p pᵀ)

for a fixed matrix Σ. With Bₖₗ = zᵀ Σₖₗ z of a row and h = Σ pₖ Bₖₖ − pᵀB p,

    ∂h/∂sₘ = pₘ (Bₘₘ − Σ pₖ Bₖₖ) − 2 pₘ ((B p)ₘ − pᵀB p)

which for one score is p (1 − p)(1 − 2p) zᵀ Σ z.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from separatrix.geometry.class_scores import softmax
from separatrix.probability.likelihood.derivatives import LogisticDesign
from separatrix.rows.block import Block, Floats
from separatrix.statistics.fields import FieldStatistic


class CurvatureSlope(FieldStatistic):
    """g at ``point`` (width x scores); ``covariance`` is Σ over (score, column) of the design."""

    sums = ("gradient",)

    def __init__(self, design: LogisticDesign, point: Floats, covariance: Floats) -> None:
        self.design, self.point, self.covariance = design, point, covariance
        self.gradient = np.zeros_like(point)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        for z, _, w in self.design.chunks(block):
            scores = z @ self.point
            slope = self._binary(z, scores) if scores.shape[1] == 1 else self._several(z, scores)
            self.gradient += z.T @ (w[:, None] * slope)

    def _binary(self, z: Floats, scores: Floats) -> Floats:
        p, q = expit(scores[:, 0]), expit(-scores[:, 0])
        spread = np.einsum("ij,ij->i", z @ self.covariance, z)
        return np.asarray((p * q * (q - p) * spread)[:, None])

    def _several(self, z: Floats, scores: Floats) -> Floats:
        k, m = scores.shape[1], z.shape[1]
        p, b = softmax(scores), np.empty((len(z), k, k))
        for j in range(k):
            part = (z @ self.covariance[j * m : (j + 1) * m]).reshape(len(z), k, m)
            b[:, j] = np.einsum("nkm,nm->nk", part, z)
        own = np.einsum("nkk->nk", b)
        cross = np.einsum("nkl,nl->nk", b, p)
        mean, both = np.sum(p * own, axis=1), np.sum(p * cross, axis=1)
        return np.asarray(p * (own - mean[:, None]) - 2.0 * p * (cross - both[:, None]))
