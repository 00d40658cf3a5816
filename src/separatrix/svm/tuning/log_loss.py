"""Log loss of scores, by a sigmoid (two classes) or one temperature (several) fitted to them."""

from __future__ import annotations

import numpy as np

from separatrix.rows.block import Floats, Ints

#: Newton steps at most, the decrease that ends them (relative to the weight), and halvings.
STEPS, ENOUGH, HALVINGS = 30, 1e-12, 30


def sigmoid_losses(score: Floats, codes: Ints, w: Floats) -> Floats:
    """Fit Platt's sigmoid, p = 1/(1 + e^{−γ z − b}); −log p of the true class of every row.

    z are the standardized scores, and targets are smoothed by one row of each class.
    """
    weight, positive = float(w.sum()), float(w @ codes)
    z = _standardized(score, w)
    target = np.where(codes, (positive + 1.0) / (positive + 2.0), 1.0 / (weight - positive + 2.0))
    slope, offset = 0.0, float(np.log((positive + 1.0) / (weight - positive + 1.0)))

    def value(slope: float, offset: float) -> float:
        m = slope * z + offset
        return float(w @ (np.logaddexp(0.0, m) - target * m))

    now = value(slope, offset)
    for _ in range(STEPS):
        p = _sigmoid(slope * z + offset)
        r, c = w * (p - target), w * p * (1.0 - p)
        cz = c * z
        g0, g1, h01 = float(r @ z), float(r.sum()), float(cz.sum())
        h00, h11 = float(cz @ z) + 1e-12 * weight, float(c.sum()) + 1e-12 * weight
        determinant = h00 * h11 - h01 * h01
        d0, d1 = (h01 * g1 - h11 * g0) / determinant, (h01 * g0 - h00 * g1) / determinant
        if -(d0 * g0 + d1 * g1) <= ENOUGH * weight:
            break
        length = 1.0
        for _ in range(HALVINGS):
            there = value(slope + length * d0, offset + length * d1)
            if there <= now:
                break
            length *= 0.5
        else:
            break
        slope, offset, now = slope + length * d0, offset + length * d1, there
    m = slope * z + offset
    return np.asarray(np.logaddexp(0.0, np.where(codes, -m, m)))


def _standardized(score: Floats, w: Floats) -> Floats:
    """Scores of mean zero and spread one; zeros where all are equal."""
    mean = float(np.average(score, weights=w))
    away = score - mean
    spread = float(np.sqrt(np.average(away**2, weights=w)))
    return away / spread if spread > 1e-14 * abs(mean) else np.zeros(len(score))


def _sigmoid(m: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-m)))


def softmax_losses(scores: Floats, codes: Ints, w: Floats) -> Floats:
    """Fit β of p ∝ e^{β s}, β ≥ 0; −log p of the true class of every row.

    Newton steps in log β from a start in the units of the scores, halved until the sum decreases.
    Targets are smoothed by one row of each class.
    """
    k, weight = scores.shape[1], float(w.sum())
    away = scores - scores.max(axis=1, keepdims=True)
    mean, own = away.mean(axis=1), away[np.arange(len(codes)), codes]
    total = np.bincount(codes, w, minlength=k)[codes]
    target = (total * own + k * mean) / (total + k)
    size = -float(w @ mean)
    if size <= 0.0:
        return np.full(len(codes), np.log(k))

    def value(beta: float) -> tuple[float, float, float]:
        e = np.exp(beta * away)
        sums = e.sum(axis=1)
        e *= away
        first = e.sum(axis=1) / sums
        second = np.einsum("ij,ij->i", e, away) / sums
        loss = float(w @ (np.log(sums) - beta * target))
        return loss, float(w @ (first - target)), float(w @ (second - first**2))

    beta = weight / size
    now = value(beta)
    for _ in range(STEPS):
        slope = beta * now[1]
        bend = beta * beta * now[2] + abs(slope)
        step = min(max(-slope / max(bend, 1e-300), -1.0), 1.0)
        if -slope * step <= ENOUGH * weight:
            break
        for _ in range(HALVINGS):
            there = beta * float(np.exp(step))
            found = value(there)
            if found[0] <= now[0]:
                break
            step *= 0.5
        else:
            break
        beta, now = there, found
    return np.asarray(np.log(np.exp(beta * away).sum(axis=1)) - beta * own)
