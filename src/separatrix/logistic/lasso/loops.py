"""Coordinate descent on a quadratic model of the logistic loss, over columns of a working set.

    Σ (uᵢ − ½ hᵢ Δᵢ) Δᵢ + Σ ℓⱼ|θⱼ| + ½ Σ qⱼ θⱼ²,      Δ = Σ δⱼ xⱼ + a,   u = u₀ + h (Δ − a)

A free intercept a is eliminated: after every step it is −Σu / Σh, which costs nothing since
Σᵢ hᵢ xᵢⱼ of each column is known. So columns need not be centered, and sparse ones stay sparse.
"""

from __future__ import annotations

import numpy as np

from separatrix.compilation import compiled
from separatrix.probability.likelihood.loops import dot

#: A coordinate becomes nonzero only beyond its threshold by more than a rounding error.
THRESHOLD = 1.0 + 1e-14
#: Curvatures below this fraction of Σ h x² are rounding errors of the elimination.
ROUNDING = 1e-12


@compiled
def _step(gradient, old, second, l1, l2):
    """How far a coordinate moves to the minimum of its quadratic model with the penalty."""
    if (second <= 0.0 and l2 <= 0.0) or (old == 0.0 and abs(gradient) <= l1 * THRESHOLD):
        return 0.0
    z, curvature = second * old - gradient, second + l2
    if z > l1:
        return (z - l1) / curvature - old
    if z < -l1:
        return (z + l1) / curvature - old
    return -old


@compiled
def sparse_moments(start, stop, indptr, indices, data, h, total, first, second):
    """Σ h x and Σ h (x − mean)² of columns; ``total`` is Σ h, or 0 without a free intercept."""
    for j in range(start, stop):
        here, mass = 0.0, 0.0
        for at in range(indptr[j], indptr[j + 1]):
            weight = h[indices[at]]
            here += weight * data[at]
            mass += weight
        mean = here / total if total > 0.0 else 0.0
        square = max(total - mass, 0.0) * mean * mean
        for at in range(indptr[j], indptr[j + 1]):
            away = data[at] - mean
            square += h[indices[at]] * away * away
        first[j], second[j] = here, square


@compiled
def sparse_sweep(order, indptr, indices, data, first, second, l1, l2, h, u, theta, move, state):
    """Minimize over each column of ``order`` in turn; the largest violation met.

    ``state`` holds the intercept a, Σ u, and Σ h (0 without a free intercept); ``move`` is Σ δⱼ xⱼ.
    """
    a, total, mass = state[0], state[1], state[2]
    worst = 0.0
    for k in range(order.shape[0]):
        j = order[k]
        gradient = a * first[j]
        for at in range(indptr[j], indptr[j + 1]):
            gradient += data[at] * u[indices[at]]
        step = _step(gradient, theta[j], second[j], l1[j], l2[j])
        if step == 0.0:
            continue
        theta[j] += step
        for at in range(indptr[j], indptr[j + 1]):
            i, change = indices[at], step * data[at]
            move[i] += change
            u[i] += h[i] * change
        total += step * first[j]
        if mass > 0.0:
            a = -total / mass
        worst = max(worst, abs(step) * (second[j] + l2[j]))
    state[0], state[1] = a, total
    return worst


@compiled(fastmath={"reassoc", "contract"})
def dense_moments(start, stop, columns, h, total, first, second):
    """Σ h x and Σ h (x − mean)² of dense columns, one in each row of ``columns``."""
    n = columns.shape[1]
    for j in range(start, stop):
        here, square = 0.0, 0.0
        for i in range(n):
            here += h[i] * columns[j, i]
            square += h[i] * columns[j, i] * columns[j, i]
        if total > 0.0:
            centered = square - here * here / total
            square = centered if centered > ROUNDING * square else 0.0
        first[j], second[j] = here, square


@compiled
def dense_sweep(order, columns, first, second, l1, l2, h, u, theta, move, state):
    """As :func:`sparse_sweep`, for dense columns, one in each row of ``columns``."""
    a, total, mass = state[0], state[1], state[2]
    worst = 0.0
    for k in range(order.shape[0]):
        j = order[k]
        x = columns[j]
        gradient = a * first[j] + dot(x, u)
        step = _step(gradient, theta[j], second[j], l1[j], l2[j])
        if step == 0.0:
            continue
        theta[j] += step
        for i in range(x.shape[0]):
            change = step * x[i]
            move[i] += change
            u[i] += h[i] * change
        total += step * first[j]
        if mass > 0.0:
            a = -total / mass
        worst = max(worst, abs(step) * (second[j] + l2[j]))
    state[0], state[1] = a, total
    return worst


@compiled
def two_class_model(scores, move, t, positive, w, floor, residual, h):
    """Σ w log(1 + e^−margin) at scores + t·move, with w (p − y) and w max(p(1 − p), floor) by row.

    ``positive`` is 1 for rows of the second class, whose score it is.
    """
    value = 0.0
    for i in range(scores.shape[0]):
        s = scores[i] + t * move[i]
        e = np.exp(-abs(s))
        own = s if positive[i] > 0.5 else -s
        value += w[i] * (np.log1p(e) + max(-own, 0.0))
        wrong = (e if own >= 0.0 else 1.0) / (1.0 + e)
        residual[i] = -w[i] * wrong if positive[i] > 0.5 else w[i] * wrong
        h[i] = w[i] * max(e / ((1.0 + e) * (1.0 + e)), floor)
    return value
