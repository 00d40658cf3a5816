"""Loops of the path of support vector machines: one segment, its end, and changes of the margin.

States of a point: +1 inside (α at its upper bound p + τ r), −1 outside (α = 0), 0 on the margin.
The first ``m`` of ``on`` are the points on the margin; ``inverse`` is that of
[[0, yᵀ], [y, K]] over them, where K has the signs of both labels in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def apply_inverse(
    kernel: Any, y: Any, on: Any, m: int, inverse: Any, right: Any, out: Any
) -> float:
    """``out`` = inverse · right with one correction; the size of that correction to ``out``."""
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
                total -= y[on[c]] * out[c + 1]
        else:
            i = on[a - 1]
            total -= y[i] * out[0]
            for c in range(m):
                total -= kernel[i, on[c]] * out[c + 1]
        left[a] = total
    size, change = 0.0, 0.0
    for a in range(m + 1):
        total = 0.0
        for c in range(m + 1):
            total += inverse[a, c] * left[c]
        out[a] += total
        size, change = max(size, abs(out[a])), max(change, abs(total))
    return change / size if size > 0.0 else 0.0


@njit(cache=True, nogil=True)
def segment(
    kernel: Any,
    y: Any,
    q: Any,
    h0: Any,
    h1: Any,
    s0: float,
    s1: float,
    on: Any,
    m: int,
    inverse: Any,
    fixed: Any,
    slope: Any,
    e0: Any,
    e1: Any,
) -> float:
    """(b, α) on the margin as fixed + τ slope, and every lead as e0 + τ e1; the correction made.

    A lead is y·score − q: zero on the margin. h and s are what the points inside contribute.
    """
    right = np.empty(m + 1)
    right[0] = -s0
    for c in range(m):
        right[c + 1] = q[on[c]] - h0[on[c]]
    change = apply_inverse(kernel, y, on, m, inverse, right, fixed)
    right[0] = -s1
    for c in range(m):
        right[c + 1] = -h1[on[c]]
    change = max(change, apply_inverse(kernel, y, on, m, inverse, right, slope))
    for i in range(len(y)):
        e0[i] = h0[i] + y[i] * fixed[0] - q[i]
        e1[i] = h1[i] + y[i] * slope[0]
    for c in range(m):
        a0, a1, row = fixed[c + 1], slope[c + 1], kernel[on[c]]
        for i in range(len(y)):
            e0[i] += a0 * row[i]
            e1[i] += a1 * row[i]
    return float(change)


@njit(cache=True, nogil=True)
def next_event(
    tau: float,
    state: Any,
    p: Any,
    r: Any,
    on: Any,
    m: int,
    fixed: Any,
    slope: Any,
    e0: Any,
    e1: Any,
    still: float,
) -> tuple[float, int, int]:
    """(τ, point, its new state) of the first change after τ; point −1 where there is none.

    Of changes at one τ the fastest comes first: it is the one that rounding can least reverse.
    ``still`` is the speed below which a lead does not move.
    """
    best, who, new, speed = np.inf, -1, 0, 0.0
    near = 1e-12 * abs(tau)
    for i in range(len(state)):
        if state[i] == 0 or state[i] == 2 or state[i] * e1[i] <= still:
            continue
        at = max(-e0[i] / e1[i], tau)
        fast = abs(e1[i])
        if at < best - near or (at <= best + near and fast > speed):
            best, who, new, speed = min(at, best), i, 0, fast
    for c in range(m):
        i = on[c]
        for top in range(2):
            rate = slope[c + 1] - r[i] if top else -slope[c + 1]
            room = p[i] - fixed[c + 1] if top else fixed[c + 1]
            if rate <= 1e-12 * (abs(r[i]) + abs(slope[c + 1])):
                continue
            at = max(room / rate, tau)
            if at < best - near or (at <= best + near and rate > speed):
                best, who, new, speed = min(at, best), i, 2 * top - 1, rate
    return best, who, new


@njit(cache=True, nogil=True)
def leave(on: Any, m: int, inverse: Any, place: int) -> int:
    """Take the point at ``place`` off the margin; the new number of points on it."""
    if m == 1:
        return 0
    k = place + 1
    pivot = inverse[k, k]
    column = inverse[: m + 1, k].copy()
    for a in range(m + 1):
        share = column[a] / pivot
        for c in range(m + 1):
            inverse[a, c] -= share * column[c]
    for a in range(m + 1):  # the last one moves into the gap
        inverse[a, k] = inverse[a, m]
    for c in range(m + 1):
        inverse[k, c] = inverse[m, c]
    inverse[k, k] = inverse[m, m]
    on[place] = on[m - 1]
    return m - 1


@njit(cache=True, nogil=True)
def enter(kernel: Any, y: Any, on: Any, m: int, inverse: Any, i: int, along: Any) -> float:
    """Room for point i: its squared distance from the span of those on the margin.

    ``along`` receives inverse · (yᵢ, Kᵢ): how b and α of the others answer to αᵢ, negated. Where
    there is room (more than rounding's share of Kᵢᵢ) the point is put on the margin.
    """
    if m == 0:
        inverse[0, 0], inverse[0, 1], inverse[1, 0], inverse[1, 1] = -kernel[i, i], y[i], y[i], 0.0
        on[0] = i
        return np.inf
    right = np.empty(m + 1)
    right[0] = y[i]
    size = kernel[i, i]
    for c in range(m):
        right[c + 1] = kernel[i, on[c]]
        size = max(size, kernel[on[c], on[c]])
    apply_inverse(kernel, y, on, m, inverse, right, along)
    room = kernel[i, i]
    for a in range(m + 1):
        room -= right[a] * along[a]
    if room <= 1e-11 * size:
        return 0.0
    for a in range(m + 1):
        for c in range(m + 1):
            inverse[a, c] += along[a] * along[c] / room
        inverse[a, m + 1] = inverse[m + 1, a] = -along[a] / room
    inverse[m + 1, m + 1] = 1.0 / room
    on[m] = i
    return float(room)
