"""Two classes over many rows: value, slope and curvature, a panel of rows at a time."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from separatrix.statistics.loops.class_sums import add_products

#: Rows of a panel, in an odd number of cache lines.
PANEL = 136


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _dot(x, centre, point):
    """(x − centre)·point."""
    total = 0.0
    for j in range(x.shape[0]):
        total += (x[j] - centre[j]) * point[j]
    return total


@njit(cache=True, nogil=True)
def _loss(t, weight):
    """log(1 + e^−t) times the weight, the probability of being wrong, and that times the other."""
    e = math.exp(-abs(t))
    wrong = (e if t >= 0.0 else 1.0) / (1.0 + e)
    return weight * (math.log1p(e) + max(-t, 0.0)), wrong, e / ((1.0 + e) * (1.0 + e))


@njit(cache=True, nogil=True)
def curvature_of_two(x, hot, w, centre, point, gradient, gram):
    """Σ w log(1 + e^−t), t = ±z·point, z = (x − centre, 1); also the least t.

    Slope and curvature are added to ``gradient`` and ``gram`` (below the diagonal, in blocks of
    four). Without a constant the point is as long as a row; with no weights every row counts once.
    """
    n, d = x.shape
    constant, even = len(point) > d, len(w) == 0
    z = np.zeros((gram.shape[0], PANEL))
    total, margin = 0.0, np.inf
    for start in range(0, n, PANEL):
        m = min(PANEL, n - start)
        for r in range(m):
            i = start + r
            weight = 1.0 if even else w[i]
            score = _dot(x[i], centre, point)
            if constant:
                score += point[d]
            own = hot[i, 1] > 0.5
            t = score if own else -score
            loss, wrong, bend = _loss(t, weight)
            total += loss
            if weight > 0.0 and t < margin:
                margin = t
            residual = -weight * wrong if own else weight * wrong
            root = math.sqrt(weight * bend)
            for j in range(d):
                v = x[i, j] - centre[j]
                gradient[j] += residual * v
                z[j, r] = root * v
            if constant:
                gradient[d] += residual
                z[d, r] = root
        add_products(z, m, gram)
    return total, margin


@njit(cache=True, nogil=True)
def dual_of_two(x, hot, w, centre, point, step, gradient, balance):
    """Value at point − step and least t there, and Σ w Σ p log p of the dual probabilities.

        p′ = p (1 + (1 − p) m)         for the class whose score moves by m against the other

    They are those at the point, moved by the step to first order; the sum is +∞ where one is
    negative. Slopes at point − step go to ``gradient``, those of p′ to ``balance``.
    """
    n, d = x.shape
    constant, even = len(point) > d, len(w) == 0
    total, entropy, margin = 0.0, 0.0, np.inf
    for i in range(n):
        weight = 1.0 if even else w[i]
        score, move = _dot(x[i], centre, point), _dot(x[i], centre, step)
        if constant:
            score, move = score + point[d], move + step[d]
        own = hot[i, 1] > 0.5
        t = score - move if own else move - score
        loss, wrong, _ = _loss(t, weight)
        total += loss
        if weight > 0.0 and t < margin:
            margin = t
        e = math.exp(-abs(score))
        p = (1.0 if score >= 0.0 else e) / (1.0 + e)
        q = (e if score >= 0.0 else 1.0) / (1.0 + e)
        p, q = p * (1.0 - q * move), q * (1.0 + p * move)
        if p < 0.0 or q < 0.0:
            entropy = np.inf
        if p > 0.0:
            entropy += weight * p * math.log(p)
        if q > 0.0:
            entropy += weight * q * math.log(q)
        slope = -weight * wrong if own else weight * wrong
        lack = -weight * q if own else weight * p
        for j in range(d):
            v = x[i, j] - centre[j]
            gradient[j] += slope * v
            balance[j] += lack * v
        if constant:
            gradient[d] += slope
            balance[d] += lack
    return total, entropy, margin
