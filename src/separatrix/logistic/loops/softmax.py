"""The logistic loss over a chunk of rows: probabilities, residuals and sums in one pass.

Scores may be of any size: every exponential is of a number that is not positive.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def binary_loss(scores, positive, w, residual, second_derivative):
    """Σ w log(1 + e^−t) with t = ±score, its derivatives by row; also the smallest margin t.

    ``positive`` is 1 for rows of the second class, whose score it is.
    """
    total, margin = 0.0, np.inf
    for i in range(scores.shape[0]):
        own = positive[i] > 0.5
        t = scores[i] if own else -scores[i]
        e = math.exp(-abs(t))
        wrong = (e if t >= 0.0 else 1.0) / (1.0 + e)
        total += w[i] * (math.log1p(e) + max(-t, 0.0))
        residual[i] = -w[i] * wrong if own else w[i] * wrong
        second_derivative[i] = w[i] * e / ((1.0 + e) * (1.0 + e))
        if w[i] > 0.0 and t < margin:
            margin = t
    return total, margin


@njit(cache=True, nogil=True)
def softmax_loss(scores, indicators, w, residual):
    """Σ w (log Σ e^score − score of the true class); ``scores`` become probabilities in place.

    ``residual`` is w (p − indicators). Also returned: the smallest margin, the score of the true
    class minus the largest of the others.
    """
    total, margin = 0.0, np.inf
    n, k = scores.shape
    for i in range(n):
        top, other, own, true = -np.inf, -np.inf, 0.0, 0
        for j in range(k):
            top = max(top, scores[i, j])
            if indicators[i, j] > 0.5:
                own, true = scores[i, j], j
        mass = 0.0
        for j in range(k):
            if j != true:
                other = max(other, scores[i, j])
            e = math.exp(scores[i, j] - top)
            scores[i, j] = e
            mass += e
        total += w[i] * (math.log(mass) + top - own)
        for j in range(k):
            scores[i, j] /= mass
            residual[i, j] = w[i] * (scores[i, j] - indicators[i, j])
        if w[i] > 0.0 and own - other < margin:
            margin = own - other
    return total, margin


@njit(cache=True, nogil=True)
def dual_probabilities(probability, step, indicators, w):
    """Probabilities after a small step of the scores, to first order, and Σ w Σ p log p of them.

        p′ = p (1 − (t − Σ p t))        for the step −t of the scores

    They add up to one exactly, and are a point of the dual problem while none is negative (else
    the sum is +∞). ``probability`` becomes w (p′ − indicators) in place.
    """
    total = 0.0
    n, k = probability.shape
    for i in range(n):
        mean = 0.0
        for j in range(k):
            mean += probability[i, j] * step[i, j]
        for j in range(k):
            p = probability[i, j] * (1.0 - (step[i, j] - mean))
            if p < 0.0:
                total = np.inf
            elif p > 0.0:
                total += w[i] * p * math.log(p)
            probability[i, j] = w[i] * (p - indicators[i, j])
    return total
