"""Loops of calibrations: the edges of the ROC convex hull, and Newton steps of a sigmoid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from separatrix.compilation import compiled

Vector = NDArray[np.float64]


@compiled(inline="always")
def _lesser(pos, i, neg, j):
    """The next score in order, after i positives and j negatives."""
    if j == neg.size or (i < pos.size and pos[i] <= neg[j]):
        return pos[i]
    return neg[j]


@compiled
def hull_edges(
    pos: Vector, pos_w: Vector, neg: Vector, neg_w: Vector
) -> tuple[Vector, Vector, Vector, Vector]:
    """Edges of the hull by score: lowest and highest score, weight of positives, of negatives.

    Both vectors of scores are sorted. An empty vector of weights stands for ones. Rows of equal
    score are one step of the curve. Two adjacent edges that are not concave, or collinear, are
    replaced by their sum: edges are compared by their own weights, so that a light edge loses no
    digits however much weight lies before it.
    """
    most = pos.size + neg.size
    low, high = np.empty(most), np.empty(most)
    up, right = np.empty(most), np.empty(most)
    top, i, j = -1, 0, 0
    while i < pos.size or j < neg.size:
        score = _lesser(pos, i, neg, j)
        rise, run = 0.0, 0.0
        while i < pos.size and pos[i] == score:
            rise += pos_w[i] if pos_w.size else 1.0
            i += 1
        while j < neg.size and neg[j] == score:
            run += neg_w[j] if neg_w.size else 1.0
            j += 1
        first = score
        while top >= 0 and up[top] * run >= rise * right[top]:
            rise += up[top]
            run += right[top]
            first = low[top]
            top -= 1
        top += 1
        low[top], high[top], up[top], right[top] = first, score, rise, run
    size = top + 1
    return low[:size].copy(), high[:size].copy(), up[:size].copy(), right[:size].copy()


@compiled
def isotonic_violation(
    pos: Vector, pos_w: Vector, neg: Vector, neg_w: Vector, high: Vector, value: Vector
) -> float:
    """The largest violation of the optimality conditions of constant pieces.

    A piece has ``value`` up to score ``high``. With r the sum of w·(y − value) over the rows up to
    a score, y being 1 for positives: r ≥ 0 at every score, r = 0 at the end of every piece, and
    values increase. Relative to the weight of all rows.
    """
    worst, r, weight = 0.0, 0.0, 0.0
    i, j, at = 0, 0, 0
    while i < pos.size or j < neg.size:
        score = _lesser(pos, i, neg, j)
        if score > high[at]:
            worst = max(worst, abs(r))
            at += 1
            worst = max(worst, (value[at - 1] - value[at]) * weight)
        while i < pos.size and pos[i] == score:
            w = pos_w[i] if pos_w.size else 1.0
            r += w * (1.0 - value[at])
            weight += w
            i += 1
        while j < neg.size and neg[j] == score:
            w = neg_w[j] if neg_w.size else 1.0
            r -= w * value[at]
            weight += w
            j += 1
        worst = max(worst, -r)
    return max(worst, abs(r)) / weight


@compiled
def sigmoid_newton(z: Vector, t: Vector, w: Vector, offset: float, tol: float, most: int) -> Vector:
    """(γ, b) of least Σ w [log(1 + e^m) − t m], m = γ z + b, by Newton steps that are halved.

    Starts at (0, ``offset``); ends where both derivatives are at most ``tol`` Σ w, after ``most``
    steps, or where rounding hides any decrease.
    """
    slope, weight = 0.0, w.sum()
    value = _sigmoid_loss(z, t, w, slope, offset)
    for _ in range(most):
        g0, g1, h00, h01, h11 = 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(z.size):
            m = slope * z[i] + offset
            e = np.exp(-abs(m))
            p = 1.0 / (1.0 + e) if m >= 0 else e / (1.0 + e)
            r, c = w[i] * (p - t[i]), w[i] * e / ((1.0 + e) * (1.0 + e))
            g0 += r * z[i]
            g1 += r
            h00 += c * z[i] * z[i]
            h01 += c * z[i]
            h11 += c
        if max(abs(g0), abs(g1)) <= tol * weight:
            break
        damping = 1e-12 * (h00 + h11) + 1e-300
        a, d = h00 + damping, h11 + damping
        determinant = a * d - h01 * h01
        if determinant <= 0.0:
            break
        step0, step1 = -(d * g0 - h01 * g1) / determinant, -(a * g1 - h01 * g0) / determinant
        length, improved = 1.0, False
        while length > 1e-10 and not improved:
            new = _sigmoid_loss(z, t, w, slope + length * step0, offset + length * step1)
            if new < value + 1e-4 * length * (g0 * step0 + g1 * step1):
                slope, offset, value = slope + length * step0, offset + length * step1, new
                improved = True
            length *= 0.5
        if not improved:
            break
    return np.array([slope, offset])


@compiled
def _sigmoid_loss(z, t, w, slope, offset):
    total = 0.0
    for i in range(z.size):
        m = slope * z[i] + offset
        total += w[i] * (max(m, 0.0) + np.log1p(np.exp(-abs(m))) - t[i] * m)
    return total
