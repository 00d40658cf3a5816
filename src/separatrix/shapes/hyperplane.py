"""The hyperplane w·x = t, and affine maps x ↦ W x + a with one hyperplane per output.

score(x) = w·x − t,     signed distance = (w·x − t) / ‖w‖
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
        return np.asarray(self.score(x) / np.linalg.norm(self.coef, axis=1))

    def projection(self, x: Floats) -> Floats:
        """The nearest point of the hyperplane to every row (one output only)."""
        w = self.coef[0]
        return np.asarray(x - np.outer(self.signed_distance(x)[:, 0], w / np.linalg.norm(w)))
