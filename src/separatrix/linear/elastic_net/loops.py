"""The duality gap of an elastic net; descent; Newton steps on the support of a solution.

    ½ ‖y − Xb‖² + Σ ℓⱼ|bⱼ| + ½ Σ qⱼ bⱼ²        with g = Xᵀr,  r = y − Xb,  ‖y‖ = 1

    RᵀR = G + diag(q) + δI,      RᵀR Δ = g − ℓ sign(b) − q b

As long as no sign changes the objective is quadratic and b + Δ is its minimum. The first
coefficient to reach zero on the way is dropped: one row and column are removed from the factor by
Givens rotations, at the cost of a triangular solve and not of a new factor.
"""

from __future__ import annotations

import math

from separatrix.compilation import compiled
from separatrix.optimize.loops import sweep

#: The dual point is no longer than the residual by more than this.
LONGEST = 1.1
#: A step shorter than this, for columns and target of length one, is a rounding error.
ROUNDING = 1e-15


@compiled
def duality_gap(square, grad, beta, l1, l2, positive):
    """Primal value and gap at ``beta``, given ‖r‖² and g.

    The dual point is θ = t r, and no two large numbers are subtracted:

        gap(t) = ½ (1 − t)² ‖r‖² + Σ [pⱼ(bⱼ) + pⱼ*(t gⱼ) − t gⱼ bⱼ]

    where every bracket is a Fenchel–Young difference, at least zero. The ℓ₂ part is treated either
    as further rows of X (then t is scaled until |gⱼ − qⱼbⱼ| t ≤ ℓⱼ) or by its conjugate (then
    t = 1); the smaller gap is returned.
    """
    norm, inner, rows, ratio, conjugate = 0.0, 0.0, square, math.inf, 0.0
    for j in range(beta.shape[0]):
        b, shrunk = beta[j], l2[j] * beta[j]
        residual = grad[j] - shrunk
        norm += l1[j] * abs(b)
        inner += residual * b
        rows += shrunk * b
        size = residual if positive else abs(residual)
        if size > 0.0:
            ratio = min(ratio, l1[j] / size)
        over = (grad[j] if positive else abs(grad[j])) - l1[j]
        conjugate += l1[j] * abs(b) - (residual + 0.5 * shrunk) * b
        if over > 0.0:
            conjugate += 0.5 * over * over / l2[j] if l2[j] > 0.0 else math.inf
    best = max(1.0 + inner / rows, 0.0) if rows > 0.0 else 1.0
    t = min(ratio, best, LONGEST)
    gap = 0.5 * (1.0 - t) ** 2 * rows
    for j in range(beta.shape[0]):
        gap += l1[j] * abs(beta[j]) - t * (grad[j] - l2[j] * beta[j]) * beta[j]
    return 0.5 * rows + norm, max(min(gap, conjugate), 0.0)


@compiled
def gap_on_gram(target, grad, beta, l1, l2, positive):
    """The gap where ‖r‖² follows from Xᵀy and Xᵀr."""
    explained = 0.0
    for j in range(beta.shape[0]):
        explained += (target[j] + grad[j]) * beta[j]
    return duality_gap(max(1.0 - explained, 0.0), grad, beta, l1, l2, positive)[1]


@compiled
def descend(gram, target, grad, beta, l1, l2, positive, most, gap, kkt):
    """Sweep until solved, stationary, or out of sweeps.

    Returns the number of sweeps and whether to stop: the gap is at most ``gap`` and the last sweep
    met no violation above ``kkt``, or steps are of the size of rounding.
    """
    for done in range(1, most + 1):
        worst = sweep(gram, grad, beta, l1, l2, positive)
        if worst <= ROUNDING:
            return done, True
        measured = worst <= kkt and (done % 4 == 0 or worst * worst <= gap)
        if measured and gap_on_gram(target, grad, beta, l1, l2, positive) <= gap:
            return done, True
    return most, False


@compiled
def solve_upper(r, k, x):
    """x ← (RᵀR)⁻¹ x with the leading k x k part of R."""
    for j in range(k):
        x[j] /= r[j, j]
        value = x[j]
        for i in range(j + 1, k):
            x[i] -= value * r[j, i]
    for j in range(k - 1, -1, -1):
        total = x[j]
        for i in range(j + 1, k):
            total -= r[j, i] * x[i]
        x[j] = total / r[j, j]


@compiled
def drop(r, k, out):
    """Remove column ``out`` from the k x k factor: shift, then rotate to a triangle."""
    for i in range(k):
        for j in range(out if i <= out else i - 1, k - 1):
            r[i, j] = r[i, j + 1]
    for j in range(out, k - 1):
        a, b = r[j, j], r[j + 1, j]
        h = math.sqrt(a * a + b * b)
        c, s = a / h, b / h
        r[j, j], r[j + 1, j] = h, 0.0
        for i in range(j + 1, k - 1):
            upper, lower = r[j, i], r[j + 1, i]
            r[j, i] = c * upper + s * lower
            r[j + 1, i] = c * lower - s * upper


@compiled
def gather(gram, support, l2, damping, out):
    """The upper triangle of G + diag(q) + δI on the support, q being that of the support."""
    for i in range(support.shape[0]):
        row = gram[support[i]]
        for j in range(i, support.shape[0]):
            out[i, j] = row[support[j]]
        out[i, i] += l2[i] + damping


@compiled
def sparse_sweep(at, starts, rows, values, mean, scale, l1, l2, positive, beta, r, shift):
    """Minimize over each coordinate of ``at`` in turn; the largest violation, and the new shift.

    The columns are uⱼ = (aⱼ − μⱼ v)/sⱼ with sparse aⱼ, the residual is r + shift·v. Centered
    columns and residuals are orthogonal to v, so that uⱼ·ρ = (aⱼ·r + shift μⱼ)/sⱼ: a step costs the
    stored entries of one column.
    """
    worst = 0.0
    for j in at:
        total = shift * mean[j]
        for k in range(starts[j], starts[j + 1]):
            total += values[k] * r[rows[k]]
        old = beta[j]
        z = total / scale[j] + old
        new = 0.0
        if z > l1[j]:
            new = (z - l1[j]) / (1.0 + l2[j])
        elif z < -l1[j] and not positive:
            new = (z + l1[j]) / (1.0 + l2[j])
        if new != old:
            beta[j] = new
            step = (new - old) / scale[j]
            shift += step * mean[j]
            for k in range(starts[j], starts[j + 1]):
                r[rows[k]] -= step * values[k]
            if abs(new - old) * (1.0 + l2[j]) > worst:
                worst = abs(new - old) * (1.0 + l2[j])
    return worst, shift
