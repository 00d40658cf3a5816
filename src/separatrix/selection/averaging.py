"""Weights of an average of models: non-negative, summing to one, from out-of-fold predictions.

    classes:  min over a of −Σ w log Σₘ aₘ pₘ(true class)      by expectation maximization
    numbers:  min over a of  Σ w (y − Σₘ aₘ ŷₘ)²               by non-negative least squares

Both are convex over the simplex, where f(a) − f* ≤ max over m of ⟨∇f(a), a − eₘ⟩ bounds what is
left to gain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from separatrix.rows.block import Floats

MAX_ITER, TOLERANCE = 5_000, 1e-7
#: A probability below this counts as this.
SMALLEST = float(np.finfo(float).eps)
#: Weight of the row that asks for a sum of one, in norms of the other rows.
SUM_TO_ONE = 1e5


@dataclass(frozen=True)
class Average:
    """Weights by model, the objective (a mean over rows), and a bound on what is left to gain."""

    weights: Floats
    value: float
    gap: float


def log_loss_average(probabilities: Floats, w: Floats) -> Average:
    """The mixture of least log loss; ``probabilities`` of the true class, rows x models."""
    p, share = np.maximum(probabilities, SMALLEST), w / w.sum()
    a = np.full(p.shape[1], 1.0 / p.shape[1])
    for _ in range(MAX_ITER):
        gains = share @ (p / (p @ a)[:, None])  # minus the gradient; its mean under a is 1
        if gains.max() - 1.0 <= TOLERANCE:
            break
        a *= gains
        a /= a.sum()
    gains = share @ (p / (p @ a)[:, None])
    return Average(a, float(-share @ np.log(p @ a)), float(max(gains.max() - 1.0, 0.0)))


def squared_error_average(predictions: Floats, y: Floats, w: Floats) -> Average:
    """The average of least squared error; ``predictions`` are rows x models."""
    share = w / w.sum()
    root = np.sqrt(share)[:, None]
    # residuals of each model: with weights that sum to one, those of the average are their average
    residuals = root * (predictions - y[:, None])
    heavy = SUM_TO_ONE * (float(np.linalg.norm(residuals)) or 1.0)
    rows = np.vstack([residuals, np.full((1, residuals.shape[1]), heavy)])
    a, _ = nnls(rows, np.append(np.zeros(len(residuals)), heavy))
    a = a / a.sum()
    error = residuals @ a
    slope = 2.0 * residuals.T @ error
    return Average(a, float(error @ error), float(max(slope @ a - slope.min(), 0.0)))
