"""Residuals and entropies of several classes from their scores, on threads."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from separatrix.logistic.loops import softmax_loss
from separatrix.rows.block import Floats, Ints
from separatrix.threads import parallel_map, pieces

#: Scores that are worth a thread.
MIN_SCORES = 20_000
#: Rows at once, so that indicators and probabilities stay in cache.
CHUNK = 64


def residuals_of_classes(
    scores: Floats, codes: Ints, w: Floats, residual: Floats
) -> tuple[float, float]:
    """Σ w (log Σ e^score − score of the true class) and the smallest margin.

    ``residual`` becomes w (p − indicators); the scores are kept.
    """
    n, k = scores.shape

    def part(rows: slice) -> tuple[float, float]:
        value, margin = 0.0, np.inf
        identity = np.eye(k) if k <= CHUNK else None
        for start in range(rows.start, rows.stop, CHUNK):
            here = slice(start, min(start + CHUNK, rows.stop))
            p = scores[here].copy()
            if identity is not None:
                indicators = identity[codes[here]]
            else:
                indicators = np.zeros_like(p)
                indicators[np.arange(len(p)), codes[here]] = 1.0
            found = softmax_loss(p, indicators, w[here], residual[here])
            value, margin = value + found[0], min(margin, found[1])
        return value, margin

    found = parallel_map(part, pieces(n, max(1, MIN_SCORES // k)))
    return float(sum(value for value, _ in found)), float(min(margin for _, margin in found))


def entropy_of_classes(scores: Floats, w: Floats) -> float:
    """Σ w Σ p log p of the probabilities."""

    def part(rows: slice) -> float:
        p = np.exp(scores[rows] - scores[rows].max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        return float(w[rows] @ xlogy(p, p).sum(axis=1))

    return float(sum(parallel_map(part, pieces(len(w), max(1, MIN_SCORES // scores.shape[1])))))
