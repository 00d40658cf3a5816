"""Coordinate descent for the elastic net on a Gram matrix, and its duality gap.

    ½ ‖y − Xb‖² + Σ ℓⱼ|bⱼ| + ½ Σ qⱼ bⱼ²        with G = XᵀX and g = Xᵀ(y − Xb),  ‖y‖ = 1

A step on one coordinate adds a multiple of one row of G, so that its cost is the number of
coordinates, however many rows the table has.
"""

from __future__ import annotations

import numpy as np

from separatrix.compilation import compiled

#: A coordinate becomes nonzero only beyond its threshold by more than a rounding error.
THRESHOLD = 1.0 + 1e-14
#: A step shorter than this, for columns and target of length one, is a rounding error.
ROUNDING = 1e-15

#: The dual point is no longer than the residual by more than this.
LONGEST = 1.1


@compiled
def duality_gap(square, grad, beta, l1, l2, positive):
    """Primal value and gap at ``beta``, given ‖y − Xb‖² and g = Xᵀ(y − Xb).

    With r = y − Xb the dual point is θ = t r, and no two large numbers are subtracted:

        gap(t) = ½ (1 − t)² ‖r‖² + Σ [pⱼ(bⱼ) + pⱼ*(t gⱼ) − t gⱼ bⱼ]

    where every bracket is a Fenchel–Young difference, at least zero. The ℓ₂ part is treated either
    as further rows of X (then t is scaled until |gⱼ − qⱼbⱼ| t ≤ ℓⱼ) or by its conjugate (then
    t = 1); the smaller gap is returned.
    """
    norm, square_l2, conjugate, inner, ratio = 0.0, 0.0, 0.0, 0.0, np.inf
    for j in range(beta.shape[0]):
        b = beta[j]
        residual = grad[j] - l2[j] * b
        norm += l1[j] * abs(b)
        square_l2 += l2[j] * b * b
        inner += residual * b
        if positive:
            residual = max(residual, 0.0)
        if abs(residual) * ratio > l1[j]:
            ratio = l1[j] / abs(residual)
        over = (grad[j] if positive else abs(grad[j])) - l1[j]
        if over > 0.0:
            conjugate += 0.5 * over * over / l2[j] if l2[j] > 0.0 else np.inf
    rows = square + square_l2
    best = max(1.0 + inner / rows, 0.0) if rows > 0.0 else 1.0
    t = min(ratio, best, LONGEST)
    gap = 0.5 * (1.0 - t) ** 2 * rows + norm - t * inner
    through_conjugate = conjugate + norm - inner - 0.5 * square_l2
    primal = 0.5 * rows + norm
    return primal, max(min(gap, through_conjugate), 0.0)


@compiled
def sweep(gram, grad, beta, l1, l2, positive):
    """Minimize over each coordinate in turn; returns the largest violation that was met."""
    m = beta.shape[0]
    worst = 0.0
    for j in range(m):
        old = beta[j]
        if old == 0.0 and abs(grad[j]) <= l1[j] * THRESHOLD:
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


@compiled
def descend(gram, target, grad, beta, l1, l2, positive, sweeps, gap_tol, kkt_tol):
    """Sweep until solved, stationary, or out of sweeps; ``beta`` and ``grad`` change in place.

    Returns the number of sweeps and whether to stop: the gap is at most ``gap_tol`` and the
    last sweep met no violation above ``kkt_tol``, or steps are of the size of rounding.
    """
    for done in range(1, sweeps + 1):
        worst = sweep(gram, grad, beta, l1, l2, positive)
        if worst <= ROUNDING:
            return done, True
        if worst <= kkt_tol and (done % 4 == 0 or worst * worst <= gap_tol):
            square = 1.0
            for j in range(beta.shape[0]):
                square -= (target[j] + grad[j]) * beta[j]
            if duality_gap(max(square, 0.0), grad, beta, l1, l2, positive)[1] <= gap_tol:
                return done, True
    return sweeps, False
