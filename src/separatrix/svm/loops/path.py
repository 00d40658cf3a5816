"""Loops of the SVM path: one segment, its end, and updates of the set of free rows.

States of a row: +1 bound (α at its upper bound p + τ r), 0 free (on the margin), −1 no support
vector (α = 0), 2 fixed. The first ``m`` of ``free`` are the free rows; ``inverse`` is that of
[[0, yᵀ], [y, K]] over them, where K includes the signs of both labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.compilation import compiled


@compiled
def apply_inverse(
    kernel: Any, y: Any, free: Any, m: int, inverse: Any, right: Any, out: Any
) -> float:
    """``out`` = inverse · right, refined once; returns the relative size of the refinement."""
    left = np.empty(m + 1)
    for a in range(m + 1):
        total = 0.0
        for c in range(m + 1):
            total += inverse[a, c] * right[c]
        out[a] = total
    for a in range(m + 1):
        total = right[a]
        if a == 0:
            for c in range(m):
                total -= y[free[c]] * out[c + 1]
        else:
            i = free[a - 1]
            total -= y[i] * out[0]
            for c in range(m):
                total -= kernel[i, free[c]] * out[c + 1]
        left[a] = total
    size, change = 0.0, 0.0
    for a in range(m + 1):
        total = 0.0
        for c in range(m + 1):
            total += inverse[a, c] * left[c]
        out[a] += total
        size = abs(out[a]) if abs(out[a]) > size else size
        change = abs(total) if abs(total) > change else change
    return change / size if size > 0.0 else 0.0


@compiled
def segment(
    kernel: Any,
    y: Any,
    q: Any,
    h0: Any,
    h1: Any,
    s0: float,
    s1: float,
    free: Any,
    m: int,
    inverse: Any,
    fixed: Any,
    slope: Any,
    e0: Any,
    e1: Any,
) -> float:
    """(b, α) of free rows as fixed + τ slope, all gradients as e0 + τ e1; returns the refinement.

    A gradient is y·score − q: zero on the margin. h and s are the sums over bound rows.
    """
    right = np.empty(m + 1)
    right[0] = -s0
    for c in range(m):
        right[c + 1] = q[free[c]] - h0[free[c]]
    change = apply_inverse(kernel, y, free, m, inverse, right, fixed)
    right[0] = -s1
    for c in range(m):
        right[c + 1] = -h1[free[c]]
    other = apply_inverse(kernel, y, free, m, inverse, right, slope)
    for i in range(len(y)):
        e0[i] = h0[i] + y[i] * fixed[0] - q[i]
        e1[i] = h1[i] + y[i] * slope[0]
    for c in range(m):
        a0, a1, row = fixed[c + 1], slope[c + 1], kernel[free[c]]
        for i in range(len(y)):
            e0[i] += a0 * row[i]
            e1[i] += a1 * row[i]
    return float(change if change > other else other)


@compiled
def next_event(
    tau: float,
    state: Any,
    p: Any,
    r: Any,
    free: Any,
    m: int,
    fixed: Any,
    slope: Any,
    e0: Any,
    e1: Any,
    min_rate: float,
) -> tuple[float, int, int]:
    """(τ, row, its new state) of the first event after τ; row −1 where there is none.

    Of events at one τ the fastest comes first, which rounding can least reverse. A gradient with a
    derivative below ``min_rate`` is constant.
    """
    best, chosen, new, speed = np.inf, -1, 0, 0.0
    near = 1e-12 * abs(tau)
    for i in range(len(state)):
        if state[i] == 0 or state[i] == 2 or state[i] * e1[i] <= min_rate:
            continue
        at = -e0[i] / e1[i]
        at = at if at > tau else tau
        fast = abs(e1[i])
        if at < best - near or (at <= best + near and fast > speed):
            best, chosen, new, speed = at if at < best else best, i, 0, fast
    for c in range(m):
        i = free[c]
        for top in range(2):
            rate = slope[c + 1] - r[i] if top else -slope[c + 1]
            room = p[i] - fixed[c + 1] if top else fixed[c + 1]
            if rate <= 1e-12 * (abs(r[i]) + abs(slope[c + 1])):
                continue
            at = room / rate
            at = at if at > tau else tau
            if at < best - near or (at <= best + near and rate > speed):
                best, chosen, new, speed = at if at < best else best, i, 2 * top - 1, rate
    return best, chosen, new


@compiled
def leave(free: Any, m: int, inverse: Any, place: int) -> int:
    """Remove the row at ``place`` from the free ones; returns their new number."""
    if m == 1:
        return 0
    k = place + 1
    pivot = inverse[k, k]
    column = np.empty(m + 1)
    for a in range(m + 1):
        column[a] = inverse[a, k]
    for a in range(m + 1):
        fraction = column[a] / pivot
        for c in range(m + 1):
            inverse[a, c] -= fraction * column[c]
    for a in range(m + 1):  # the last one moves to its place
        inverse[a, k] = inverse[a, m]
    for c in range(m + 1):
        inverse[k, c] = inverse[m, c]
    inverse[k, k] = inverse[m, m]
    free[place] = free[m - 1]
    return m - 1


@compiled
def enter(kernel: Any, y: Any, free: Any, m: int, inverse: Any, i: int, along: Any) -> float:
    """Make row i free, unless it depends on the free rows; returns the Schur complement, or zero.

    The Schur complement is the squared distance of the row from the span of the free ones.
    ``along`` receives inverse · (yᵢ, Kᵢ): minus the derivatives of b and α in αᵢ.
    """
    if m == 0:
        inverse[0, 0], inverse[0, 1], inverse[1, 0], inverse[1, 1] = -kernel[i, i], y[i], y[i], 0.0
        free[0] = i
        return np.inf
    right = np.empty(m + 1)
    right[0] = y[i]
    size = kernel[i, i]
    for c in range(m):
        right[c + 1] = kernel[i, free[c]]
        own = kernel[free[c], free[c]]
        size = own if own > size else size
    apply_inverse(kernel, y, free, m, inverse, right, along)
    schur = kernel[i, i]
    for a in range(m + 1):
        schur -= right[a] * along[a]
    if schur <= 1e-11 * size:
        return 0.0
    for a in range(m + 1):
        for c in range(m + 1):
            inverse[a, c] += along[a] * along[c] / schur
        inverse[a, m + 1] = inverse[m + 1, a] = -along[a] / schur
    inverse[m + 1, m + 1] = 1.0 / schur
    free[m] = i
    return float(schur)
