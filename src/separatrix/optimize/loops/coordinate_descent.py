"""Coordinate descent for the elastic net on a Gram matrix, and its duality gap.

    ½ ‖y − Xb‖² + Σ ℓⱼ|bⱼ| + ½ Σ qⱼ bⱼ²        seen through G = XᵀX and g = Xᵀ(y − Xb),  ‖y‖ = 1

A step on one coordinate moves along one row of G, so it costs as many operations as there are
coordinates, however many rows the table has.
"""

from __future__ import annotations

import numpy as np
from numba import njit

#: A coordinate leaves zero only for more than a rounding error beyond its threshold.
EDGE = 1.0 + 1e-14
#: A step shorter than this, for columns and target of length one, is a rounding error.
STILL = 1e-15


@njit(cache=True, nogil=True)
def duality_gap(square, grad, beta, l1, l2, positive):
    """Primal value and gap at ``beta``, given ‖y − Xb‖² and g = Xᵀ(y − Xb).

    With r = y − Xb the dual point is θ = t r, and no two large numbers are subtracted:

        gap(t) = ½ (1 − t)² ‖r‖² + Σ [pⱼ(bⱼ) + pⱼ*(t gⱼ) − t gⱼ bⱼ]

    where every bracket is a Fenchel–Young difference, at least zero. The ℓ₂ part is read either as
    further rows of X (then t shrinks until |gⱼ − qⱼbⱼ| t ≤ ℓⱼ) or through its conjugate (then
    t = 1); the smaller gap counts.
    """
    norm, square_l2, conjugate, inner, ratio = 0.0, 0.0, 0.0, 0.0, np.inf
    for j in range(beta.shape[0]):
        b = beta[j]
        slope = grad[j] - l2[j] * b
        norm += l1[j] * abs(b)
        square_l2 += l2[j] * b * b
        inner += slope * b
        if positive:
            slope = max(slope, 0.0)
        if abs(slope) * ratio > l1[j]:
            ratio = l1[j] / abs(slope)
        over = (grad[j] if positive else abs(grad[j])) - l1[j]
        if over > 0.0:
            conjugate += 0.5 * over * over / l2[j] if l2[j] > 0.0 else np.inf
    rows = square + square_l2
    best = max(1.0 + inner / rows, 0.0) if rows > 0.0 else 1.0
    t = min(ratio, best)
    gap = 0.5 * (1.0 - t) ** 2 * rows + norm - t * inner
    through_conjugate = conjugate + norm - inner - 0.5 * square_l2
    primal = 0.5 * rows + norm
    return primal, max(min(gap, through_conjugate), 0.0)


@njit(cache=True, nogil=True)
def sweep(gram, grad, beta, l1, l2, positive):
    """Minimise over each coordinate in turn; returns how far the furthest was from its optimum."""
    m = beta.shape[0]
    worst = 0.0
    for j in range(m):
        old = beta[j]
        if old == 0.0 and abs(grad[j]) <= l1[j] * EDGE:
            continue
        curvature = gram[j, j] + l2[j]
        z = grad[j] + old * gram[j, j]
        new = 0.0
        if z > l1[j]:
            new = (z - l1[j]) / curvature
        elif z < -l1[j] and not positive:
            new = (z + l1[j]) / curvature
        if new != old:
            step = new - old
            beta[j] = new
            for k in range(m):
                grad[k] -= step * gram[j, k]
            worst = max(worst, abs(step) * curvature)
    return worst


@njit(cache=True, nogil=True)
def descend(gram, target, grad, beta, l1, l2, positive, sweeps, gap_wanted, kkt_wanted):
    """Sweep until solved, still, or out of sweeps; ``beta`` and ``grad`` change in place.

    Returns the number of sweeps and whether to stop: the gap is at most ``gap_wanted`` and the
    last sweep moved nothing by more than ``kkt_wanted``, or nothing moves any more.
    """
    for done in range(1, sweeps + 1):
        worst = sweep(gram, grad, beta, l1, l2, positive)
        if worst <= STILL:
            return done, True
        if worst <= kkt_wanted and (done % 4 == 0 or worst * worst <= gap_wanted):
            square = 1.0
            for j in range(beta.shape[0]):
                square -= (target[j] + grad[j]) * beta[j]
            if duality_gap(max(square, 0.0), grad, beta, l1, l2, positive)[1] <= gap_wanted:
                return done, True
    return sweeps, False
