"""Means of the softmax of normal scores over fixed nodes, compiled."""

from __future__ import annotations

import math

import numpy as np

from separatrix.compilation import compiled
from separatrix.kernels.loops.gaussian import FLAGS, LEAST, exponential


@compiled
def lower_factor(matrix, factor):
    """Cholesky factor of a covariance; a direction without variance has a zero column."""
    n = matrix.shape[0]
    for j in range(n):
        for i in range(n):
            factor[i, j] = 0.0
    for j in range(n):
        rest = matrix[j, j]
        for k in range(j):
            rest -= factor[j, k] * factor[j, k]
        if rest <= 1e-14 * matrix[j, j]:
            continue
        root = math.sqrt(rest)
        factor[j, j] = root
        for i in range(j + 1, n):
            total = matrix[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            factor[i, j] = total / root


@compiled(fastmath=FLAGS)
def add_softmax(scores, weights, out):
    """Add Σ over nodes of weight · softmax of the scores (classes x nodes), which are lost."""
    n_classes, nodes = scores.shape
    top, total = np.empty(nodes), np.empty(nodes)
    for q in range(nodes):
        top[q], total[q] = scores[0, q], 0.0
    for k in range(1, n_classes):
        row = scores[k]
        for q in range(nodes):
            top[q] = max(top[q], row[q])
    for k in range(n_classes):
        row = scores[k]
        for q in range(nodes):
            row[q] = exponential(max(row[q] - top[q], LEAST))
            total[q] += row[q]
    for q in range(nodes):
        total[q] = weights[q] / total[q]
    for k in range(n_classes):
        row, mass = scores[k], 0.0
        for q in range(nodes):
            mass += row[q] * total[q]
        out[k] += mass


@compiled
def mean_softmax(mean, covariance, basis, nodes, weights, out):
    """E softmax(C f), f ~ N(mean, covariance) by row; ``nodes`` (c x q) are those of N(0, I)."""
    n, c = mean.shape
    n_classes, count = basis.shape[0], nodes.shape[1]
    factor, scores = np.empty((c, c)), np.empty((n_classes, count))
    for i in range(n):
        lower_factor(covariance[i], factor)
        for k in range(n_classes):
            row, center = scores[k], 0.0
            for a in range(c):
                center += basis[k, a] * mean[i, a]
            for q in range(count):
                row[q] = center
            for b in range(c):
                slope = 0.0
                for a in range(b, c):
                    slope += basis[k, a] * factor[a, b]
                for q in range(count):
                    row[q] += slope * nodes[b, q]
        add_softmax(scores, weights, out[i])
