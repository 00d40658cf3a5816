"""The negative log likelihood and its gradient for whole chains, compiled.

Rows are stored in blocks, column by column within a block (blocks x width x ``BLOCK``), so that
scores of many rows are computed at once; rows that fill the last block have weight zero, or are
zero where all weights are one. Losses are without Σ w s_y, which is linear in the coefficients:

    Σ w log(1 + e^s)   for the one score of two classes,      Σ w log Σₖ e^sₖ   for several
"""

from __future__ import annotations

import math

import numpy as np

from separatrix.compilation import compiled
from separatrix.kernels.loops.gaussian import FLAGS, LEAST, exponential

#: Rows of a block.
BLOCK = 64
#: Blocks after which a product of sums of exponentials becomes a logarithm: far below overflow.
PRODUCTS = 64


@compiled(fastmath={"reassoc", "contract"})
def block_scores(z, theta, scores):
    """Scores of the rows of a block; four columns at a time."""
    width, rows = z.shape
    for r in range(rows):
        scores[r] = 0.0
    whole = width - width % 4
    for j in range(0, whole, 4):
        a, b, c, d = theta[j], theta[j + 1], theta[j + 2], theta[j + 3]
        z0, z1, z2, z3 = z[j], z[j + 1], z[j + 2], z[j + 3]
        for r in range(rows):
            scores[r] += (a * z0[r] + b * z1[r]) + (c * z2[r] + d * z3[r])
    for j in range(whole, width):
        a, z0 = theta[j], z[j]
        for r in range(rows):
            scores[r] += a * z0[r]


@compiled(fastmath={"reassoc", "contract"})
def add_columns(z, residual, gradient):
    """Add Σ over rows of residual · z to the gradient."""
    width, rows = z.shape
    for j in range(width):
        column, total = z[j], 0.0
        for r in range(rows):
            total += column[r] * residual[r]
        gradient[j] += total


@compiled(fastmath=FLAGS)
def softplus_factors(scores, products, positive):
    """log(1 + e^s) = max(s, 0) + log(1 + e^−|s|): multiply the second factor, add the first."""
    for r in range(scores.shape[0]):
        s = scores[r]
        products[r] *= 1.0 + exponential(max(-abs(s), LEAST))
        positive[r] += max(s, 0.0)


@compiled(fastmath=FLAGS)
def sigmoids(scores):
    """Scores become probabilities in place."""
    for r in range(scores.shape[0]):
        t = min(max(-scores[r], LEAST), -LEAST)
        # a quotient of Python's looks whether it divides by zero, one row after the other
        scores[r] = np.divide(1.0, 1.0 + exponential(t))


@compiled
def log_sum(products, positive):
    """Σ log of the products plus Σ of the rest; both start again."""
    total = 0.0
    for r in range(products.shape[0]):
        total += math.log(products[r]) + positive[r]
        products[r], positive[r] = 1.0, 0.0
    return total


@compiled(fastmath=FLAGS)
def exponentials(scores, top, total):
    """Scores (classes x rows) become e^(s − top) with the largest ``top``, and their sums."""
    n_classes, rows = scores.shape
    for r in range(rows):
        top[r], total[r] = scores[0, r], 0.0
    for k in range(1, n_classes):
        row = scores[k]
        for r in range(rows):
            top[r] = max(top[r], row[r])
    for k in range(n_classes):
        row = scores[k]
        for r in range(rows):
            e = exponential(max(row[r] - top[r], LEAST))
            row[r] = e
            total[r] += e


@compiled
def weighted_log_sum(products, positive, w):
    """Σ w (log of the products + the rest) of one block; both start again."""
    total = 0.0
    for r in range(products.shape[0]):
        total += w[r] * (math.log(products[r]) + positive[r])
        products[r], positive[r] = 1.0, 0.0
    return total


@compiled
def binary_losses(z, w, thetas, work, out):
    """Loss of every θ (q x width); empty weights stand for one each.

    ``work`` has 2 q + 1 rows of ``BLOCK`` numbers.
    """
    count, blocks = thetas.shape[0], z.shape[0]
    scores = work[2 * count]
    for q in range(count):
        out[q] = 0.0
        for r in range(BLOCK):
            work[q, r], work[count + q, r] = 1.0, 0.0
    for b in range(blocks):
        for q in range(count):
            block_scores(z[b], thetas[q], scores)
            softplus_factors(scores, work[q], work[count + q])
        if w.shape[0]:
            for q in range(count):
                out[q] += weighted_log_sum(work[q], work[count + q], w[b])
        elif b % PRODUCTS == PRODUCTS - 1 or b == blocks - 1:
            for q in range(count):
                out[q] += log_sum(work[q], work[count + q])


@compiled
def binary_gradient(z, w, theta, work, gradient):
    """Gradient of the loss at θ; ``work`` has one row of ``BLOCK`` numbers."""
    scores = work[0]
    for j in range(theta.shape[0]):
        gradient[j] = 0.0
    for b in range(z.shape[0]):
        block_scores(z[b], theta, scores)
        sigmoids(scores)
        if w.shape[0]:
            for r in range(BLOCK):
                scores[r] *= w[b, r]
        add_columns(z[b], scores, gradient)


@compiled
def class_coefficients(basis, theta, coef):
    """Coefficients of all scores (classes x width) from those of the basis."""
    n_classes, c = basis.shape
    width = coef.shape[1]
    for k in range(n_classes):
        for j in range(width):
            total = 0.0
            for a in range(c):
                total += basis[k, a] * theta[a * width + j]
            coef[k, j] = total


@compiled
def softmax_losses(z, w, basis, thetas, work, coef, out):
    """Loss of every θ (q x (c · width)) with K classes.

    ``work`` has K + 4 rows of ``BLOCK`` numbers, ``coef`` K rows as wide as the design.
    """
    n_classes, blocks = basis.shape[0], z.shape[0]
    scores, top, total = work[:n_classes], work[n_classes], work[n_classes + 1]
    products, positive = work[n_classes + 2], work[n_classes + 3]
    for r in range(BLOCK):
        products[r], positive[r] = 1.0, 0.0
    for q in range(thetas.shape[0]):
        class_coefficients(basis, thetas[q], coef)
        out[q] = 0.0
        for b in range(blocks):
            for k in range(n_classes):
                block_scores(z[b], coef[k], scores[k])
            exponentials(scores, top, total)
            for r in range(BLOCK):
                products[r] *= total[r]
                positive[r] += top[r]
            if w.shape[0]:
                out[q] += weighted_log_sum(products, positive, w[b])
            elif b % PRODUCTS == PRODUCTS - 1 or b == blocks - 1:
                out[q] += log_sum(products, positive)


@compiled
def softmax_gradient(z, w, basis, theta, work, coef, gradient):
    """Gradient of the loss at θ with K classes; ``coef`` has 2 K rows as wide as the design."""
    n_classes, c, width = basis.shape[0], basis.shape[1], z.shape[1]
    scores, top, total = work[:n_classes], work[n_classes], work[n_classes + 1]
    sums = coef[n_classes:]
    class_coefficients(basis, theta, coef[:n_classes])
    for k in range(n_classes):
        for j in range(width):
            sums[k, j] = 0.0
    for b in range(z.shape[0]):
        for k in range(n_classes):
            block_scores(z[b], coef[k], scores[k])
        exponentials(scores, top, total)
        for r in range(BLOCK):
            total[r] = (w[b, r] if w.shape[0] else 1.0) / total[r]
        for k in range(n_classes):
            for r in range(BLOCK):
                scores[k, r] *= total[r]
            add_columns(z[b], scores[k], sums[k])
    for a in range(c):
        for j in range(width):
            slope = 0.0
            for k in range(n_classes):
                slope += basis[k, a] * sums[k, j]
            gradient[a * width + j] = slope
