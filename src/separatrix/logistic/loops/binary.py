"""Binary logistic loss over many rows: value, gradient and Hessian, a block of rows at a time."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from separatrix.statistics.loops.class_sums import add_products

#: Rows of a block, in an odd number of cache lines.
BLOCK = 136


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _dot(x, center, point):
    """(x − center)·point."""
    total = 0.0
    for j in range(x.shape[0]):
        total += (x[j] - center[j]) * point[j]
    return total


@njit(cache=True, nogil=True)
def _loss(t, weight):
    """w log(1 + e^−t), the probability p of the wrong class, and p(1 − p)."""
    e = math.exp(-abs(t))
    wrong = (e if t >= 0.0 else 1.0) / (1.0 + e)
    return weight * (math.log1p(e) + max(-t, 0.0)), wrong, e / ((1.0 + e) * (1.0 + e))


@njit(cache=True, nogil=True)
def binary_hessian(x, indicators, w, center, point, gradient, hessian):
    """Σ w log(1 + e^−t), t = ±z·point, z = (x − center, 1); also the smallest margin t.

    Derivatives are added to ``gradient`` and ``hessian`` (below the diagonal, in blocks of four).
    Without an intercept the point is as long as a row; with no weights every row counts once.
    """
    n, d = x.shape
    intercept, unweighted = len(point) > d, len(w) == 0
    z = np.zeros((hessian.shape[0], BLOCK))
    total, margin = 0.0, np.inf
    for start in range(0, n, BLOCK):
        m = min(BLOCK, n - start)
        for r in range(m):
            i = start + r
            weight = 1.0 if unweighted else w[i]
            score = _dot(x[i], center, point)
            if intercept:
                score += point[d]
            positive = indicators[i, 1] > 0.5
            t = score if positive else -score
            loss, wrong, variance = _loss(t, weight)
            total += loss
            if weight > 0.0 and t < margin:
                margin = t
            residual = -weight * wrong if positive else weight * wrong
            root = math.sqrt(weight * variance)
            for j in range(d):
                v = x[i, j] - center[j]
                gradient[j] += residual * v
                z[j, r] = root * v
            if intercept:
                gradient[d] += residual
                z[d, r] = root
        add_products(z, m, hessian)
    return total, margin


@njit(cache=True, nogil=True)
def binary_dual(x, indicators, w, center, point, step, gradient, dual_gradient):
    """Loss and smallest margin at point − step, and Σ w Σ p log p of the dual probabilities.

        p′ = p (1 + (1 − p) m)         for the class whose score moves by m against the other

    They are the probabilities at the point, moved by the step to first order; the sum is +∞ where
    one is negative. The gradient at point − step is added to ``gradient``, that with p′ to
    ``dual_gradient``.
    """
    n, d = x.shape
    intercept, unweighted = len(point) > d, len(w) == 0
    total, entropy, margin = 0.0, 0.0, np.inf
    for i in range(n):
        weight = 1.0 if unweighted else w[i]
        score, move = _dot(x[i], center, point), _dot(x[i], center, step)
        if intercept:
            score, move = score + point[d], move + step[d]
        positive = indicators[i, 1] > 0.5
        t = score - move if positive else move - score
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
        residual = -weight * wrong if positive else weight * wrong
        dual_residual = -weight * q if positive else weight * p
        for j in range(d):
            v = x[i, j] - center[j]
            gradient[j] += residual * v
            dual_gradient[j] += dual_residual * v
        if intercept:
            gradient[d] += residual
            dual_gradient[d] += dual_residual
    return total, entropy, margin
