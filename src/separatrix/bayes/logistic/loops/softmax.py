"""Normalizing sums and probabilities of scores against those of the first class, compiled.

    log(1 + Σ e^tₖ),        pₖ = e^tₖ / (1 + Σ e^tₗ),        tₖ = sₖ − s₀

Scores are sets x classes x columns, where a column is a row of a table or a node of a rule; those
of a class are contiguous, so that exponentials of many columns are computed at once.
"""

from __future__ import annotations

import math

import numpy as np

from separatrix.compilation import compiled
from separatrix.kernels.loops.gaussian import FLAGS, LEAST, exponential

#: Sums of exponentials are multiplied side by side before logarithms are taken; of this many
#: columns at most, so that a product, of 64 factors then, does not overflow.
LANES, MOST_COLUMNS = 64, 4096


@compiled(fastmath=FLAGS)
def normalize(scores, top, total):
    """The largest score t of every column, or 0, and e^−top + Σ e^(t − top)."""
    for r in range(top.shape[0]):
        top[r], total[r] = 0.0, 1.0
    for k in range(scores.shape[0]):
        row = scores[k]
        for r in range(top.shape[0]):
            e = exponential(max(-abs(row[r] - top[r]), LEAST))
            total[r] = total[r] * e + 1.0 if row[r] > top[r] else total[r] + e
            top[r] = max(row[r], top[r])


@compiled(fastmath={"reassoc", "contract"})
def add_log_sums(scores, w, out):
    """Add Σ w log(1 + Σ e^t) of every set to ``out``; no weights stand for ones."""
    columns = scores.shape[2]
    top, total, products = np.empty(columns), np.empty(columns), np.empty(LANES)
    for i in range(scores.shape[0]):
        normalize(scores[i], top, total)
        value = 0.0
        if w.shape[0]:
            for r in range(columns):
                value += w[r] * (top[r] + math.log(total[r]))
        else:
            for r in range(columns):
                value += top[r]
            for r in range(LANES):
                products[r] = 1.0
            for start in range(0, columns, LANES):
                for r in range(min(LANES, columns - start)):
                    products[r] *= total[start + r]
            for r in range(LANES):
                value += math.log(products[r])
        out[i] += value


@compiled(fastmath=FLAGS)
def to_probabilities(scores, w):
    """Scores become w p in place; no weights stand for ones."""
    columns = scores.shape[2]
    top, total = np.empty(columns), np.empty(columns)
    for i in range(scores.shape[0]):
        normalize(scores[i], top, total)
        for r in range(columns):
            # a quotient of Python's looks whether it divides by zero, one column after the other
            total[r] = np.divide(w[r] if w.shape[0] else 1.0, total[r])
        for k in range(scores.shape[1]):
            row = scores[i, k]
            for r in range(columns):
                row[r] = total[r] * exponential(max(row[r] - top[r], LEAST))
