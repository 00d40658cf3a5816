"""The loops of probabilities, compiled: the logistic loss over rows, and calibrations."""

from __future__ import annotations

import math

import numpy as np

from separatrix.arrays import NDArray
from separatrix.compilation import compiled
from separatrix.kernels.loops import FLAGS, LEAST, exponential
from separatrix.statistics.loops import add_products

# -------------------------------------------------------------------------------------------------
# The logistic loss over rows, compiled: values, gradients, Hessians and dual probabilities.
#
# Two classes have loops over whole tables, a block of rows at a time; any number of classes has
# loops over the scores of a chunk of rows. Scores may be of any size: every exponential is of a
# number that is not positive.


#: Rows of a block, in an odd number of cache lines.
BLOCK = 136


@compiled(fastmath={"reassoc", "contract"})
def _dot(x, center, point):
    """(x − center)·point."""
    total = 0.0
    for j in range(x.shape[0]):
        total += (x[j] - center[j]) * point[j]
    return total


@compiled(fastmath={"reassoc", "contract"})
def dot(x, y):
    """x·y."""
    total = 0.0
    for j in range(x.shape[0]):
        total += x[j] * y[j]
    return total


@compiled(fastmath={"reassoc"})
def total_of(x):
    """Σ x."""
    total = 0.0
    for j in range(x.shape[0]):
        total += x[j]
    return total


@compiled
def _loss(t, weight):
    """w log(1 + e^−t), the probability p of the wrong class, and p(1 − p)."""
    e = math.exp(-abs(t))
    wrong = (e if t >= 0.0 else 1.0) / (1.0 + e)
    return weight * (math.log1p(e) + max(-t, 0.0)), wrong, e / ((1.0 + e) * (1.0 + e))


@compiled
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


@compiled
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
        less = min(p, q)
        if less < 0.0:
            entropy = np.inf
        elif less > 0.0:  # the logarithm of the larger one, which may be 1 to the last digit
            entropy += weight * (less * math.log(less) + max(p, q) * math.log1p(-less))
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


@compiled
def binary_loss(scores, positive, w, residual, second_derivative):
    """Σ w log(1 + e^−t) with t = ±score, its derivatives by row; also the smallest margin t.

    ``positive`` is 1 for rows of the second class, whose score it is.
    """
    total, margin = 0.0, np.inf
    for i in range(scores.shape[0]):
        is_positive = positive[i] > 0.5
        t = scores[i] if is_positive else -scores[i]
        loss, wrong, variance = _loss(t, w[i])
        total += loss
        residual[i] = -w[i] * wrong if is_positive else w[i] * wrong
        second_derivative[i] = w[i] * variance
        if w[i] > 0.0 and t < margin:
            margin = t
    return total, margin


@compiled(fastmath=FLAGS)
def softmax_loss(scores, indicators, w, residual):
    """Σ w (log Σ e^score − score of the true class); ``scores`` become probabilities in place.

    ``residual`` is w (p − indicators). Also returned: the smallest margin, the score of the true
    class minus the largest of the others.
    """
    total, margin = 0.0, np.inf
    n, k = scores.shape
    for i in range(n):
        row, own_class, out, weight = scores[i], indicators[i], residual[i], w[i]
        true = 0
        for j in range(1, k):
            if own_class[j] > 0.5:
                true = j
        of_true_class = row[true]
        # Stands for the score of the true class where the largest of the others is sought.
        row[true] = -1e300
        other = row[0]
        for j in range(1, k):
            other = max(other, row[j])
        top = max(of_true_class, other)
        for j in range(k):
            row[j] = exponential(max(row[j] - top, LEAST))
        row[true] = 0.0
        rest = total_of(row)
        e = math.exp(of_true_class - top)
        mass = max(rest + e, 1.0)  # the largest term is e⁰
        # what the other classes leave keeps its digits however small it is
        total += weight * (
            math.log1p(rest) if of_true_class >= other else math.log(mass) + top - of_true_class
        )
        scale = 1.0 / mass
        for j in range(k):
            p = scale * row[j]
            row[j] = p
            out[j] = weight * p
        row[true] = scale * e
        out[true] = -weight * scale * rest
        if weight > 0.0 and of_true_class - other < margin:
            margin = of_true_class - other
    return total, margin


@compiled
def dual_probabilities(probability, step, indicators, w):
    """Probabilities after a small step of the scores, to first order, and Σ w Σ p log p of them.

        p′ = p (1 − (t − Σ p t))        for the step −t of the scores

    They add up to one exactly, and are a point of the dual problem while none is negative (else
    the sum is +∞). ``probability`` becomes w (p′ − indicators) in place.
    """
    total = 0.0
    n, k = probability.shape
    for i in range(n):
        mean, top, true = 0.0, 0, 0
        for j in range(k):
            mean += probability[i, j] * step[i, j]
            if probability[i, j] > probability[i, top]:
                top = j
            if indicators[i, j] > 0.5:
                true = j
        rest, largest = 0.0, probability[i, top] * (1.0 - (step[i, top] - mean))
        for j in range(k):
            p = probability[i, j] * (1.0 - (step[i, j] - mean))
            probability[i, j] = w[i] * p
            if p < 0.0:
                total = np.inf
            elif p > 0.0 and j != top:
                total += w[i] * p * math.log(p)
                rest += p
        # the largest is 1 less the rest, which may be all that is known of it
        if rest < 1.0:
            total += w[i] * largest * math.log1p(-rest)
        probability[i, true] = -w[i] * rest if true == top else probability[i, true] - w[i]
    return total


@compiled(fastmath=FLAGS)
def softmax_by_class(scores, codes, w, residual):
    """Σ w (log Σ e^score − score of the true class); ``scores`` (K x n) become probabilities.

    ``residual`` is w (p − indicators). Scores of one class are contiguous, so that exponentials of
    many rows are computed at once.
    """
    n_classes, n = scores.shape
    top, true_scores, rest = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    value = 0.0
    for start in range(0, n, BLOCK):
        m = min(BLOCK, n - start)
        for r in range(m):
            top[r] = scores[0, start + r]
        for k in range(1, n_classes):
            row = scores[k, start : start + m]
            for r in range(m):
                top[r] = max(top[r], row[r])
        for r in range(m):
            true_scores[r] = scores[codes[start + r], start + r] - top[r]
        rest[:] = 0.0
        for k in range(n_classes):
            row = scores[k, start : start + m]
            for r in range(m):
                e = exponential(max(row[r] - top[r], LEAST))
                row[r] = e
                rest[r] += e if codes[start + r] != k else 0.0
        for r in range(m):
            # what the other classes leave keeps its digits however small it is
            e = math.exp(true_scores[r])
            level = math.log1p(rest[r]) if true_scores[r] >= 0.0 else math.log(rest[r] + e)
            value += w[start + r] * (level - true_scores[r])
            top[r] = 1.0 / (rest[r] + e)
        for k in range(n_classes):
            row, out = scores[k, start : start + m], residual[k, start : start + m]
            for r in range(m):
                row[r] *= top[r]
                out[r] = w[start + r] * row[r]
        for r in range(m):
            residual[codes[start + r], start + r] = -w[start + r] * rest[r] * top[r]
    return value


# -------------------------------------------------------------------------------------------------
# Loops of calibrations: the edges of the ROC convex hull, and Newton steps of a sigmoid.


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
