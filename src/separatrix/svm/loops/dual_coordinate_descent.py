"""Dual coordinate descent for hinges over sparse rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def epoch(
    indptr: Any,
    indices: Any,
    data: Any,
    square: Any,
    sign: Any,
    offset: Any,
    cost: Any,
    order: Any,
    active: int,
    alpha: Any,
    w: Any,
    b: float,
    intercept_step: float,
    threshold: float,
) -> tuple[float, float, int]:
    """One epoch over ``order[:active]``; returns (b, the worst violation, how many stay active).

    Each hinge in turn takes its optimal α with the others fixed:
    α ← clip(α − (s(w·x + b) − q)/(x² + step), 0, c), where the intercept changes by
    step = ``intercept_step`` for every unit of Σ s α. A hinge at a bound whose gradient points into
    it by more than ``threshold`` is shrunk.
    """
    n = len(cost)
    worst = 0.0
    at = 0
    while at < active:
        k = order[at]
        i = k % n
        score = b
        for p in range(indptr[i], indptr[i + 1]):
            score += w[indices[p]] * data[p]
        gradient = sign[k] * score - offset[k]
        old = alpha[k]
        if (old == 0.0 and gradient > threshold) or (old == cost[i] and gradient < -threshold):
            active -= 1
            order[at] = order[active]
            order[active] = k
            continue
        at += 1
        curvature = square[i] + intercept_step
        if curvature <= 0.0:
            new = cost[i] if gradient < 0.0 else 0.0
        else:
            new = min(max(old - gradient / curvature, 0.0), cost[i])
        if (old > 0.0 or gradient < 0.0) and (old < cost[i] or gradient > 0.0):
            worst = max(worst, abs(gradient))
        if new == old:
            continue
        alpha[k] = new
        step = sign[k] * (new - old)
        b += intercept_step * step
        for p in range(indptr[i], indptr[i + 1]):
            w[indices[p]] += step * data[p]
    return b, worst, active


@njit(cache=True, nogil=True)
def shuffle(order: Any, active: int, seed: int) -> int:
    """Shuffle the first ``active`` (linear congruential generator); returns the next seed."""
    state = np.uint64(seed)
    for at in range(active - 1, 0, -1):
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        other = int((state >> np.uint64(33)) % np.uint64(at + 1))
        order[at], order[other] = order[other], order[at]
    return int(state >> np.uint64(1))
