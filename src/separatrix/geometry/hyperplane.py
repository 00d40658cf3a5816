"""Hyperplanes w·x = t, one per output of an affine map.

score(x) = w·x − t,    signed distance = (w·x − t) / ‖w‖,    margin = ±1 · signed distance
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Floats, Matrix


@dataclass(frozen=True)
class Hyperplane:
    """k hyperplanes: ``coef`` (k x d) and ``intercept`` (k), scores x·coefᵀ + intercept."""

    coef: Floats
    intercept: Floats
    names: tuple[str, ...] = ()

    def score(self, x: Matrix) -> Floats:
        """Scores w·x − t of every row and output (n x k)."""
        return np.asarray(x @ self.coef.T + self.intercept)

    def signed_distance(self, x: Matrix) -> Floats:
        """Signed distances to the hyperplanes, positive on the side that w points to."""
        return _divide_by_norm(self.score(x), np.linalg.norm(self.coef, axis=1))

    def margin(self, x: Matrix, side: Floats) -> Floats:
        """Signed distance times ``side`` (±1 per row): positive where correctly classified."""
        return np.asarray(side * self.signed_distance(x)[:, 0])

    def class_margin(self, x: Matrix, code: NDArray[np.int64]) -> Floats:
        """Distance to the decision boundary of the class ``code`` (n) of the argmax rule.

        min over j ≠ k of (scoreₖ − scoreⱼ) / ‖wₖ − wⱼ‖, negative if another score is larger.
        """
        score = self.score(x)
        nearest = np.full(len(score), np.inf)
        for j, w in enumerate(self.coef):
            norm = np.linalg.norm(self.coef - w, axis=1)[code]
            difference = np.take_along_axis(score, code[:, None], axis=1)[:, 0] - score[:, j]
            nearest = np.where(
                code == j, nearest, np.minimum(nearest, _divide_by_norm(difference, norm))
            )
        return nearest

    def projection(self, x: Floats) -> Floats:
        """Orthogonal projection of every row onto the hyperplane (one output only)."""
        w = self.coef[0]
        return np.asarray(x - np.outer(self.signed_distance(x)[:, 0], w / np.linalg.norm(w)))


def _divide_by_norm(score: Floats, norm: Floats) -> Floats:
    """score / ‖w‖; ±∞ where w = 0, and 0 if the score is zero as well."""
    infinite = np.where(score == 0.0, 0.0, np.copysign(np.inf, score))
    return np.where(norm > 0.0, score / np.where(norm > 0.0, norm, 1.0), infinite)
