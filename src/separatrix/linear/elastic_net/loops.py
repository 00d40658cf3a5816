"""Newton steps on the support of a lasso solution; coordinate descent on sparse columns.

    RᵀR = G + diag(q) + δI,      RᵀR Δ = g − ℓ sign(b) − q b

As long as no sign changes the objective is quadratic and b + Δ is its minimum. The first
coefficient to reach zero on the way is dropped: one row and column are removed from the factor by
Givens rotations, at the cost of a triangular solve and not of a new factor.
"""

from __future__ import annotations

import math

from separatrix.compilation import compiled


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
