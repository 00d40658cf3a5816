"""Loops of logistic regression, compiled: coordinate descent, and the loss over wide rows."""

from __future__ import annotations

import math

import numpy as np

from separatrix.compilation import compiled
from separatrix.kernels.loops import FLAGS, LEAST, exponential
from separatrix.probability.loops import dot, total_of

# -------------------------------------------------------------------------------------------------
# Coordinate descent on a quadratic model of the logistic loss, over columns of a working set.
#
#     Σ (uᵢ − ½ hᵢ Δᵢ) Δᵢ + Σ ℓⱼ|θⱼ| + ½ Σ qⱼ θⱼ²,      Δ = Σ δⱼ xⱼ + a,   u = u₀ + h (Δ − a)
#
# A free intercept a is eliminated: after every step it is −Σu / Σh, which costs nothing since
# Σᵢ hᵢ xᵢⱼ of each column is known. So columns need not be centered, and sparse ones stay sparse.


@compiled
def _step(gradient, old, second, l1, l2):
    """How far a coordinate moves to the minimum of its quadratic model with the penalty."""
    # A coordinate becomes nonzero only beyond its threshold by more than a rounding error.
    if (second <= 0.0 and l2 <= 0.0) or (old == 0.0 and abs(gradient) <= l1 * (1.0 + 1e-14)):
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
            # below that, curvatures are rounding errors of the elimination
            square = centered if centered > 1e-12 * square else 0.0
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
        signed = s if positive[i] > 0.5 else -s
        value += w[i] * (np.log1p(e) + max(-signed, 0.0))
        wrong = (e if signed >= 0.0 else 1.0) / (1.0 + e)
        residual[i] = -w[i] * wrong if positive[i] > 0.5 else w[i] * wrong
        h[i] = w[i] * max(e / ((1.0 + e) * (1.0 + e)), floor)
    return value


# -------------------------------------------------------------------------------------------------
# The logistic loss over wide rows and over scores, compiled.
#
# A wide row is read once for its score and its part of the gradient, while it is in the cache; four
# rows at a time share the loads of the point and of the gradient. Scores may be of any size: every
# exponential is of a number that is not positive.


@compiled
def _residual(score, sign, weight):
    """Loss, and derivative of the loss by the score."""
    t = sign * score
    e = math.exp(-abs(t))
    wrong = (e if t >= 0.0 else 1.0) / (1.0 + e)
    return weight * (math.log1p(e) + max(-t, 0.0)), -sign * weight * wrong


@compiled(fastmath={"reassoc", "contract"})
def fused_rows(x, center, point, constant, sign, w, scores, gradient):
    """Σ w log(1 + e^−t), t = ±score, score = (x − center)·point + constant.

    ``scores`` are filled, and Σ (∂loss/∂score) (x − center) is added to ``gradient``; also returned
    is Σ ∂loss/∂score. Rows of one piece: sums are in the precision of ``x``.
    """
    n, d = x.shape
    total, residuals = 0.0, 0.0
    sums, zero = np.zeros(4, x.dtype), x[0, 0] * 0
    for i in range(0, n, 4):
        # at the end the last row stands for missing ones, with a residual of zero
        j1, j2, j3 = min(i + 1, n - 1), min(i + 2, n - 1), min(i + 3, n - 1)
        a, b, c, e = x[i], x[j1], x[j2], x[j3]
        s0, s1, s2, s3 = zero, zero, zero, zero
        for j in range(d):
            v, z = point[j], center[j]
            s0 += (a[j] - z) * v
            s1 += (b[j] - z) * v
            s2 += (c[j] - z) * v
            s3 += (e[j] - z) * v
        scores[i], scores[j1] = s0 + constant, s1 + constant
        scores[j2], scores[j3] = s2 + constant, s3 + constant
        for k in range(4):
            loss, r = 0.0, 0.0
            if i + k < n:
                loss, r = _residual(scores[i + k], sign[i + k], w[i + k])
            total += loss
            residuals += r
            sums[k] = r
        r0, r1, r2, r3 = sums[0], sums[1], sums[2], sums[3]
        for j in range(d):
            z = center[j]
            gradient[j] += r0 * (a[j] - z) + r1 * (b[j] - z) + r2 * (c[j] - z) + r3 * (e[j] - z)
    return total, residuals


@compiled(fastmath={"reassoc", "contract"})
def standard_copy(x, shift, factor, w, out, sums, squares):
    """out = (x − shift)·factor; Σ w out and Σ w out² by column are added, in double precision."""
    n, d = x.shape
    for i in range(0, n, 4):
        j1, j2, j3 = min(i + 1, n - 1), min(i + 2, n - 1), min(i + 3, n - 1)
        a, b, c, e = x[i], x[j1], x[j2], x[j3]
        a1, b1, c1, e1 = out[i], out[j1], out[j2], out[j3]
        w0 = w[i]
        w1 = w[j1] if i + 1 < n else 0.0
        w2 = w[j2] if i + 2 < n else 0.0
        w3 = w[j3] if i + 3 < n else 0.0
        for j in range(d):
            s, f = shift[j], factor[j]
            p, q, r, t = (a[j] - s) * f, (b[j] - s) * f, (c[j] - s) * f, (e[j] - s) * f
            sums[j] += w0 * p + w1 * q + w2 * r + w3 * t
            squares[j] += w0 * p * p + w1 * q * q + w2 * r * r + w3 * t * t
            a1[j], b1[j], c1[j], e1[j] = p, q, r, t


@compiled
def residuals_of_scores(scores, sign, w, residual):
    """Σ w log(1 + e^−t), t = ±score; its derivatives by row; smallest t of rows that count."""
    total, margin = 0.0, np.inf
    for i in range(scores.shape[0]):
        loss, residual[i] = _residual(scores[i], sign[i], w[i])
        total += loss
        if w[i] > 0.0:
            margin = min(margin, sign[i] * scores[i])
    return total, margin


@compiled(fastmath=FLAGS)
def _exponentials(scores, move, t, out):
    """e^−|score + t·move|; without sums in between, many at once."""
    for i in range(scores.shape[0]):
        out[i] = exponential(max(-abs(scores[i] + t * move[i]), LEAST))


@compiled(fastmath={"reassoc", "contract"})
def _sums_along(scores, move, t, sign, w, e):
    first, second = 0.0, 0.0
    for i in range(scores.shape[0]):
        inverse = 1.0 / (1.0 + e[i])
        wrong = e[i] if sign[i] * (scores[i] + t * move[i]) >= 0.0 else 1.0
        first -= w[i] * sign[i] * move[i] * wrong * inverse
        second += w[i] * move[i] * move[i] * e[i] * inverse * inverse
    return first, second


@compiled
def slopes_along(scores, move, t, sign, w):
    """First and second derivative of the loss at scores + t·move, by t."""
    e = np.empty(scores.shape[0])
    _exponentials(scores, move, t, e)
    return _sums_along(scores, move, t, sign, w, e)


@compiled
def entropy_of_scores(scores, w):
    """Σ w (p log p + q log q) with p = 1/(1 + e^−score), q = 1 − p."""
    total = 0.0
    for i in range(scores.shape[0]):
        t = abs(scores[i])
        e = math.exp(-t)
        # log p = −log(1 + e), log q = −t − log(1 + e), q = e/(1 + e)
        total -= w[i] * (math.log1p(e) + t * e / (1.0 + e))
    return total


@compiled(fastmath=FLAGS)
def softmax_rows(scores, codes, w, residual):
    """Σ w (log Σ e^score − score of the true class), Σ w Σ p log p, and the smallest margin.

    ``residual`` becomes w (p − indicators); the margin is the score of the true class minus the
    largest of the others.
    """
    n, k = scores.shape
    total, entropy, margin = 0.0, 0.0, np.inf
    for i in range(n):
        row, out, true, weight = scores[i], residual[i], codes[i], w[i]
        of_true_class = row[true]
        # Stands for the score of the true class where the largest of the others is sought.
        row[true] = -1e30
        other = row[0]
        for j in range(1, k):
            other = max(other, row[j])
        row[true] = of_true_class
        top = max(of_true_class, other)
        away = of_true_class - top
        for j in range(k):
            out[j] = exponential(max(row[j] - top, LEAST))
        out[true] = 0.0
        inner = 0.0
        for j in range(k):
            inner += out[j] * (row[j] - top)
        rest, e = total_of(out), math.exp(away)
        mass = max(rest + e, 1.0)  # the largest term is e⁰
        # what the other classes leave keeps its digits however small it is
        level = math.log1p(rest) if of_true_class >= other else math.log(mass)
        total += weight * (level - away)
        entropy += weight * ((inner + e * away) / mass - level)
        factor = weight / mass
        for j in range(k):
            out[j] *= factor
        out[true] = -factor * rest
        if weight > 0.0 and of_true_class - other < margin:
            margin = of_true_class - other
    return total, entropy, margin
