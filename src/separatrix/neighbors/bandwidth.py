"""The bandwidth of a local average, by leaving one row out at a time.

    loss(h) = Σᵢ wᵢ ℓ(yᵢ, Σ_{j≠i} pᵢⱼ yⱼ),     pᵢⱼ ∝ wⱼ exp(−dᵢⱼ²/2h²)

The loss is smooth in log h: a coarse scan from the closest pair to the width of the cloud finds the
valley, and a bounded line search its bottom. Distances are measured once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from separatrix.distances.base import PreparedMetric
from separatrix.messages import InputError
from separatrix.rows.block import Floats

#: Pairs of rows that are looked at; of more, an even selection of rows is judged by all others.
PAIRS = 6_000_000
SCANNED = 16

#: (mean of the others (m x k), truth (m x k)) → loss of every row.
RowLoss = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class Bandwidth:
    """The bandwidth with the least loss, and the losses along the scan (``tried``, ``losses``)."""

    value: float
    loss: float
    tried: Floats
    losses: Floats


def squared_loss(mean: Floats, truth: Floats) -> Floats:
    """(y − ŷ)², averaged over outputs."""
    return np.asarray(((mean - truth) ** 2).mean(axis=1))


def log_loss(mean: Floats, truth: Floats) -> Floats:
    """−log of the probability given to the true class; a row alone in its class costs no ∞."""
    given = (mean * truth).sum(axis=1)
    return np.asarray(-np.log(np.maximum(given, 1e-12)))


def local_mean(square: Floats, w: Floats, said: Floats, h: float) -> Floats:
    """Σ w κ y / Σ w κ, relative to the nearest point, so that far rows have an answer too."""
    nearest = square.min(axis=1, keepdims=True)
    votes = np.exp((nearest - square) / (2.0 * h * h)) * w
    return np.asarray(votes @ said / votes.sum(axis=1, keepdims=True))


def leave_one_out_bandwidth(
    points: PreparedMetric, w: Floats, said: Floats, loss: RowLoss
) -> Bandwidth:
    """Choose h for the points, whose opinions are ``said`` (n x k) and weights ``w``."""
    n = len(points)
    if n == 1 and not _copies(w).any():
        raise InputError(
            "n_samples=1: one row has no other to be compared with.",
            remedy="Give the bandwidth as a number.",
        )
    rows = np.unique(np.linspace(0, n - 1, max(2, min(n, PAIRS // n))).round().astype(int))
    square, weights = _others(points, w, rows)
    low, high = _range(square, w[rows])
    if high == 0:
        return Bandwidth(1.0, float("nan"), np.ones(1), np.full(1, np.nan))  # all points are one

    def total(log_h: float) -> float:
        mean = local_mean(square, weights, said, float(np.exp(log_h)))
        return float(w[rows] @ loss(mean, said[rows]) / w[rows].sum())

    scanned = np.linspace(np.log(low), np.log(high), SCANNED)
    losses = np.array([total(log_h) for log_h in scanned])
    at = int(losses.argmin())
    bounds = scanned[max(at - 1, 0)], scanned[min(at + 1, SCANNED - 1)]
    found = minimize_scalar(total, bounds=bounds, method="bounded", options={"xatol": 1e-3})
    best, value = (found.x, found.fun) if found.fun <= losses[at] else (scanned[at], losses[at])
    return Bandwidth(float(np.exp(best)), float(value), np.exp(scanned), losses)


def _copies(w: Floats) -> Floats:
    """What is left of a row when one is left out: of counts, the others; of other weights, none."""
    return w - 1.0 if (w == w.round()).all() else np.zeros(len(w))


def _others(points: PreparedMetric, w: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """Squared distances from the rows to all points, and weights with one of each row left out."""
    picked = points.points
    picked = picked[rows] if isinstance(picked, np.ndarray) else [picked[i] for i in rows]
    square = np.empty((len(rows), len(points)))
    points.metric.fill(picked, points.state, square)
    square **= 2
    weights = np.repeat(w[None], len(rows), axis=0)
    itself = np.arange(len(rows)), rows
    weights[itself] = _copies(w)[rows]
    square[itself] = np.where(weights[itself] > 0, square[itself], np.inf)
    return square, weights


def _range(square: Floats, w: Floats) -> tuple[float, float]:
    """From a tenth of the usual distance between neighbors to twice the widest."""
    nearest = np.where(square > 0, square, np.inf).min(axis=1)
    order = np.argsort(nearest)
    usual = nearest[order[np.searchsorted(np.cumsum(w[order]), w.sum() / 2)]]
    if not np.isfinite(usual):
        return 0.0, 0.0
    widest = float(square[np.isfinite(square)].max())
    low = 0.1 * float(np.sqrt(usual))
    return low, max(2.0 * float(np.sqrt(widest)), 2.0 * low)
