"""The hyperplane w·x = t, and affine maps x ↦ W x + a with one hyperplane per output.

score(x) = w·x − t,     signed distance = (w·x − t) / ‖w‖,     margin = ±1 · signed distance
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Floats, Matrix


@dataclass(frozen=True)
class Hyperplane:
    """``coef`` (k x d) and ``intercept`` (k): scores are x·coefᵀ + intercept, so t = −intercept."""

    coef: Floats
    intercept: Floats
    names: tuple[str, ...] = ()

    def score(self, x: Matrix) -> Floats:
        """w·x − t for every row and output (n x k)."""
        return np.asarray(x @ self.coef.T + self.intercept)

    def signed_distance(self, x: Matrix) -> Floats:
        """Distance to the hyperplane, positive on the side that w points to."""
        return over(self.score(x), np.linalg.norm(self.coef, axis=1))

    def margin(self, x: Matrix, side: Floats) -> Floats:
        """How far every row is on the right side: ``side`` (n) is +1 where w points, else −1."""
        return np.asarray(side * self.signed_distance(x)[:, 0])

    def class_margin(self, x: Matrix, code: NDArray[np.int64]) -> Floats:
        """Distance to the nearest boundary of the class ``code`` (n), where the largest score wins.

        min over j ≠ k of (scoreₖ − scoreⱼ) / ‖wₖ − wⱼ‖, negative where another class wins.
        """
        score = self.score(x)
        nearest = np.full(len(score), np.inf)
        for j, w in enumerate(self.coef):
            apart = np.linalg.norm(self.coef - w, axis=1)[code]
            lead = np.take_along_axis(score, code[:, None], axis=1)[:, 0] - score[:, j]
            nearest = np.where(code == j, nearest, np.minimum(nearest, over(lead, apart)))
        return nearest

    def projection(self, x: Floats) -> Floats:
        """The nearest point of the hyperplane to every row (one output only)."""
        w = self.coef[0]
        return np.asarray(x - np.outer(self.signed_distance(x)[:, 0], w / np.linalg.norm(w)))


def over(score: Floats, length: Floats) -> Floats:
    """score / ‖w‖; where w vanishes the boundary is infinitely far, or everywhere (score 0)."""
    far = np.where(score == 0.0, 0.0, np.copysign(np.inf, score))
    return np.where(length > 0.0, score / np.where(length > 0.0, length, 1.0), far)
