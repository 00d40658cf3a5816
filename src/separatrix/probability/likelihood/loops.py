"""The logistic loss over rows, compiled: values, gradients, Hessians and dual probabilities.

Two classes have loops over whole tables, a block of rows at a time; any number of classes has loops
over the scores of a chunk of rows. Scores may be of any size: every exponential is of a number that
is not positive.
"""

from __future__ import annotations

import math

import numpy as np

from separatrix.compilation import compiled
from separatrix.kernels.loops.gaussian import FLAGS, LEAST, exponential
from separatrix.statistics.loops.class_sums import add_products

#: Rows of a block, in an odd number of cache lines.
BLOCK = 136
#: Stands for the score of the true class where the largest of the others is sought.
FAR_BELOW = 1e300


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
        own = positive[i] > 0.5
        t = scores[i] if own else -scores[i]
        loss, wrong, variance = _loss(t, w[i])
        total += loss
        residual[i] = -w[i] * wrong if own else w[i] * wrong
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
        own = row[true]
        row[true] = -FAR_BELOW
        other = row[0]
        for j in range(1, k):
            other = max(other, row[j])
        top = max(own, other)
        for j in range(k):
            row[j] = exponential(max(row[j] - top, LEAST))
        row[true] = 0.0
        rest = total_of(row)
        e = math.exp(own - top)
        mass = max(rest + e, 1.0)  # the largest term is e⁰
        # what the other classes leave keeps its digits however small it is
        total += weight * (math.log1p(rest) if own >= other else math.log(mass) + top - own)
        scale = 1.0 / mass
        for j in range(k):
            p = scale * row[j]
            row[j] = p
            out[j] = weight * p
        row[true] = scale * e
        out[true] = -weight * scale * rest
        if weight > 0.0 and own - other < margin:
            margin = own - other
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
    top, own, rest = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    value = 0.0
    for start in range(0, n, BLOCK):
        m = min(BLOCK, n - start)
        top[:m] = scores[0, start : start + m]
        for k in range(1, n_classes):
            row = scores[k, start : start + m]
            for r in range(m):
                top[r] = max(top[r], row[r])
        for r in range(m):
            own[r] = scores[codes[start + r], start + r] - top[r]
        rest[:] = 0.0
        for k in range(n_classes):
            row = scores[k, start : start + m]
            for r in range(m):
                e = exponential(max(row[r] - top[r], LEAST))
                row[r] = e
                rest[r] += e if codes[start + r] != k else 0.0
        for r in range(m):
            # what the other classes leave keeps its digits however small it is
            e = math.exp(own[r])
            level = math.log1p(rest[r]) if own[r] >= 0.0 else math.log(rest[r] + e)
            value += w[start + r] * (level - own[r])
            top[r] = 1.0 / (rest[r] + e)
        for k in range(n_classes):
            row, out = scores[k, start : start + m], residual[k, start : start + m]
            for r in range(m):
                row[r] *= top[r]
                out[r] = w[start + r] * row[r]
        for r in range(m):
            residual[codes[start + r], start + r] = -w[start + r] * rest[r] * top[r]
    return value
