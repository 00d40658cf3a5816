"""Dual coordinate descent for the multi-class SVM of Crammer and Singer, over sparse rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.compilation import compiled


@compiled
def multiclass_epoch(
    indptr: Any,
    indices: Any,
    data: Any,
    square: Any,
    code: Any,
    cost: Any,
    order: Any,
    active: int,
    alpha: Any,
    w: Any,
    threshold: float,
) -> tuple[float, int]:
    """One epoch over ``order[:active]``; returns the worst violation and how many stay active.

    Row i takes its optimal α with those of the others fixed: with g the scores plus one for each
    wrong class, αₖ = min(c [k = y], αₖ − (gₖ − θ)/‖x‖²) with θ such that Σ α = 0. ``w`` is d x K.
    A row with α = 0 whose own class leads by more than ``threshold`` is shrunk.
    """
    classes = w.shape[1]
    g, base, new = np.empty(classes), np.empty(classes), np.empty(classes)
    worst = 0.0
    at = 0
    while at < active:
        i = order[at]
        y = code[i]
        for k in range(classes):
            g[k] = 0.0 if k == y else 1.0
        for p in range(indptr[i], indptr[i + 1]):
            j, value = indices[p], data[p]
            for k in range(classes):
                g[k] += w[j, k] * value
        best, low, idle = -np.inf, np.inf, True
        for k in range(classes):
            best = max(best, g[k])
            if alpha[i, k] < (cost[i] if k == y else 0.0):
                low = min(low, g[k])
            if alpha[i, k] != 0.0:
                idle = False
        if idle and best == g[y]:
            second = -np.inf
            for k in range(classes):
                if k != y:
                    second = max(second, g[k])
            if g[y] - second > threshold:
                active -= 1
                order[at] = order[active]
                order[active] = i
                continue
        at += 1
        violation = best - low
        if violation <= 0.0 or square[i] <= 0.0:
            continue
        worst = max(worst, violation)
        for k in range(classes):
            base[k] = g[k] - square[i] * alpha[i, k]
            new[k] = base[k] + (square[i] * cost[i] if k == y else 0.0)
        new.sort()
        theta = new[classes - 1] - square[i] * cost[i]
        count = 1
        while count < classes and theta < count * new[classes - 1 - count]:
            theta += new[classes - 1 - count]
            count += 1
        theta /= count
        for k in range(classes):
            new[k] = min(cost[i] if k == y else 0.0, (theta - base[k]) / square[i])
            new[k] -= alpha[i, k]
            alpha[i, k] += new[k]
        for p in range(indptr[i], indptr[i + 1]):
            j, value = indices[p], data[p]
            for k in range(classes):
                w[j, k] += new[k] * value
    return worst, active
