"""Bandwidth of a kernel smoother by leave-one-out cross-validation.

    loss(h) = Σᵢ wᵢ ℓ(yᵢ, Σ_{j≠i} pᵢⱼ yⱼ) / Σᵢ wᵢ,     pᵢⱼ ∝ wⱼ exp(−dᵢⱼ²/2h²)

The loss is smooth in log h: a grid from a tenth of the typical nearest-neighbor distance to twice
the diameter brackets the minimum, and a bounded line search refines it. Distances are computed
once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from separatrix.distances.base import PreparedMetric
from separatrix.kernels.base import take_items
from separatrix.messages import InputError
from separatrix.neighbors.weights import gaussian_weights
from separatrix.rows.block import Floats, Ints

#: Pairs of rows for which distances are computed; above, evenly spaced rows are predicted.
MAX_PAIRS = 6_000_000
GRID_SIZE = 16

#: (prediction (m x k), target (m x k)) → loss of every row.
RowLoss = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class BandwidthSearch:
    """The ``bandwidth`` of least leave-one-out ``loss``, and the losses on the grid."""

    bandwidth: float
    loss: float
    grid: Floats
    losses: Floats


def squared_loss(prediction: Floats, target: Floats) -> Floats:
    """(y − ŷ)², averaged over outputs."""
    return np.asarray(((prediction - target) ** 2).mean(axis=1))


def log_loss(probability: Floats, target: Floats) -> Floats:
    """−log of the probability of the true class, clipped so that it is finite."""
    true_class = (probability * target).sum(axis=1)
    return np.asarray(-np.log(np.maximum(true_class, 1e-12)))


def kernel_mean(distances: Floats, w: Floats, y: Floats, h: float) -> Floats:
    """Σ w κ y / Σ w κ with κ = exp(−d²/2h²), relative to the nearest point against underflow."""
    weights = gaussian_weights(distances, h)
    weights *= w
    return np.asarray(weights @ y / weights.sum(axis=1, keepdims=True))


def leave_one_out_bandwidth(
    points: PreparedMetric, w: Floats, y: Floats, loss: RowLoss
) -> BandwidthSearch:
    """Choose h for training ``points`` of weight ``w`` and targets ``y`` (n x k)."""
    n = len(points)
    if n == 1 and not _remaining_weight(w).any():
        raise InputError(
            "n_samples=1: leave-one-out needs another row.",
            remedy="Give the bandwidth as a number.",
        )
    rows = np.unique(np.linspace(0, n - 1, max(2, min(n, MAX_PAIRS // n))).round().astype(int))
    distances, weights = _distances_to_others(points, w, rows)
    low, high = _search_interval(distances, w[rows])
    if high == 0:  # all points are equal, and every bandwidth gives their mean
        return BandwidthSearch(1.0, float("nan"), np.ones(1), np.full(1, np.nan))

    def mean_loss(log_h: float) -> float:
        prediction = kernel_mean(distances, weights, y, float(np.exp(log_h)))
        return float(w[rows] @ loss(prediction, y[rows]) / w[rows].sum())

    grid = np.linspace(np.log(low), np.log(high), GRID_SIZE)
    losses = np.array([mean_loss(log_h) for log_h in grid])
    at = int(losses.argmin())
    bounds = grid[max(at - 1, 0)], grid[min(at + 1, GRID_SIZE - 1)]
    found = minimize_scalar(mean_loss, bounds=bounds, method="bounded", options={"xatol": 1e-3})
    best, value = (found.x, found.fun) if found.fun <= losses[at] else (grid[at], losses[at])
    return BandwidthSearch(float(np.exp(best)), float(value), np.exp(grid), losses)


def _remaining_weight(w: Floats) -> Floats:
    """Weight of a row that one copy is left out of: w − 1 of counts, else zero."""
    return w - 1.0 if (w == w.round()).all() else np.zeros(len(w))


def _distances_to_others(points: PreparedMetric, w: Floats, rows: Ints) -> tuple[Floats, Floats]:
    """Distances from the rows to all points, and weights with the row itself left out."""
    distances = np.empty((len(rows), len(points)))
    points.metric.fill(take_items(points.points, rows), points.state, distances)
    weights = np.repeat(w[None], len(rows), axis=0)
    itself = np.arange(len(rows)), rows
    weights[itself] = _remaining_weight(w)[rows]
    distances[itself] = np.where(weights[itself] > 0, distances[itself], np.inf)
    return distances, weights


def _search_interval(distances: Floats, w: Floats) -> tuple[float, float]:
    """From a tenth of the median nearest-neighbor distance to twice the largest distance."""
    nearest = np.where(distances > 0, distances, np.inf).min(axis=1)
    order = np.argsort(nearest)
    median = nearest[order[np.searchsorted(np.cumsum(w[order]), w.sum() / 2)]]
    if not np.isfinite(median):
        return 0.0, 0.0
    largest = float(distances[np.isfinite(distances)].max())
    low = 0.1 * float(median)
    return low, max(2.0 * largest, 2.0 * low)
