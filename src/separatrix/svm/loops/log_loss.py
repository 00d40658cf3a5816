"""Log loss of scores, by a sigmoid (two classes) or one temperature (several) fitted to them."""

from __future__ import annotations

import numpy as np

from separatrix.compilation import compiled

#: Newton steps at most, the decrease that ends them (relative to the weight), and halvings.
STEPS, ENOUGH, HALVINGS = 30, 1e-12, 30


@compiled
def sigmoid_losses(score, codes, w, loss):
    """Fit Platt's sigmoid, p = 1/(1 + e^{−γ z − b}); ``loss`` receives −log p of the true class.

    z are the standardized scores, and targets are smoothed by one row of each class.
    """
    n, weight = score.shape[0], w.sum()
    mean = (w * score).sum() / weight
    spread = np.sqrt((w * (score - mean) ** 2).sum() / weight)
    z = (score - mean) / spread if spread > 1e-14 * abs(mean) else np.zeros(n)
    positive = (w * codes).sum()
    high, low = (positive + 1.0) / (positive + 2.0), 1.0 / (weight - positive + 2.0)
    slope, offset = 0.0, np.log((positive + 1.0) / (weight - positive + 1.0))
    value = _sigmoid_value(slope, offset, z, codes, w, high, low)
    for _ in range(STEPS):
        g0 = g1 = h00 = h01 = h11 = 0.0
        for i in range(n):
            p = 1.0 / (1.0 + np.exp(-slope * z[i] - offset))
            r = w[i] * (p - (high if codes[i] else low))
            c = w[i] * p * (1.0 - p)
            g0, g1 = g0 + r * z[i], g1 + r
            h00, h01, h11 = h00 + c * z[i] * z[i], h01 + c * z[i], h11 + c
        h00, h11 = h00 + 1e-12 * weight, h11 + 1e-12 * weight
        determinant = h00 * h11 - h01 * h01
        d0, d1 = (h01 * g1 - h11 * g0) / determinant, (h01 * g0 - h00 * g1) / determinant
        if -(d0 * g0 + d1 * g1) <= ENOUGH * weight:
            break
        length = 1.0
        for _ in range(HALVINGS):
            there = _sigmoid_value(
                slope + length * d0, offset + length * d1, z, codes, w, high, low
            )
            if there <= value:
                break
            length *= 0.5
        if there > value:
            break
        slope, offset, value = slope + length * d0, offset + length * d1, there
    for i in range(n):
        m = slope * z[i] + offset
        loss[i] = _log_one_plus_exp(-m if codes[i] else m)


@compiled
def _sigmoid_value(slope, offset, z, codes, w, high, low):
    total = 0.0
    for i in range(z.shape[0]):
        m = slope * z[i] + offset
        total += w[i] * (_log_one_plus_exp(m) - (high if codes[i] else low) * m)
    return total


@compiled
def _log_one_plus_exp(m):
    return max(m, 0.0) + np.log1p(np.exp(-abs(m)))


@compiled
def softmax_losses(scores, codes, w, loss):
    """Fit β of p ∝ e^{β s}, β ≥ 0; ``loss`` receives −log p of the true class of every row.

    Newton steps in log β from a start in the units of the scores, halved until the sum decreases.
    Targets are smoothed by one row of each class.
    """
    n, k, weight = scores.shape[0], scores.shape[1], w.sum()
    top, target, size, class_weight = np.empty(n), np.empty(n), 0.0, np.zeros(k)
    for i in range(n):
        class_weight[codes[i]] += w[i]
    for i in range(n):
        top[i], mean = scores[i].max(), scores[i].mean()
        own, total = scores[i, codes[i]], class_weight[codes[i]]
        target[i] = (total * own + k * mean) / (total + k) - top[i]
        size += w[i] * (top[i] - mean)
    if size <= 0.0:
        loss[:] = np.log(k)
        return
    beta = weight / size
    value, gradient, curvature = _softmax_value(beta, scores, top, target, w)
    for _ in range(STEPS):
        slope, bend = beta * gradient, beta * beta * curvature + abs(beta * gradient)
        step = min(max(-slope / max(bend, 1e-300), -1.0), 1.0)
        if -slope * step <= ENOUGH * weight:
            break
        for _ in range(HALVINGS):
            there = beta * np.exp(step)
            found = _softmax_value(there, scores, top, target, w)
            if found[0] <= value:
                break
            step *= 0.5
        if found[0] > value:
            break
        beta, value, gradient, curvature = there, found[0], found[1], found[2]
    for i in range(n):
        total = 0.0
        for c in range(k):
            total += np.exp(beta * (scores[i, c] - top[i]))
        loss[i] = np.log(total) - beta * (scores[i, codes[i]] - top[i])


@compiled
def _softmax_value(beta, scores, top, target, w):
    """Σ w (log Σₖ e^{β sₖ} − β target) with its first two derivatives in β."""
    value = gradient = curvature = 0.0
    for i in range(scores.shape[0]):
        total = first = second = 0.0
        for k in range(scores.shape[1]):
            s = scores[i, k] - top[i]
            e = np.exp(beta * s)
            total, first, second = total + e, first + e * s, second + e * s * s
        mean = first / total
        value += w[i] * (np.log(total) - beta * target[i])
        gradient += w[i] * (mean - target[i])
        curvature += w[i] * (second / total - mean * mean)
    return value, gradient, curvature
