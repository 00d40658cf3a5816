"""Pairs of coefficients, changed one pair after the other: the inner loop of support vectors.

    min over β of  ½ βᵀKβ − tᵀβ + ε Σ|βᵢ|      with Σ β kept, low ≤ β ≤ high

Raising βᵢ by δ and lowering βⱼ by δ keeps the sum. The slope of a rise is fᵢ − tᵢ ± ε, of a fall
its negative, with f = Kβ; a coefficient at its bound gets the slope ±FAR and is never chosen. The
loops have no branches, so that they run on whole vectors: K may be of single precision, f is not.
"""

from __future__ import annotations

import numpy as np
from numba import njit

#: Slope of a move that is not allowed.
FAR = 1e300
#: Least curvature along a pair, for rows that are alike and kernels that are no inner products.
FLAT = 1e-12
#: Numbers that are compared together.
STRETCH = 128
_FAST = {"reassoc", "nsz", "arcp", "contract", "nnan"}


@njit(cache=True, nogil=True)
def rise(beta, high, eps, t):
    """What to add to f for the slope of a rise."""
    if beta >= high:
        return FAR
    return (eps if beta >= 0.0 else -eps) - t


@njit(cache=True, nogil=True)
def fall(beta, low, eps, t):
    """What to add to f for the slope of a fall, as a rise."""
    if beta <= low:
        return -FAR
    return (eps if beta > 0.0 else -eps) - t


@njit(cache=True, nogil=True)
def slopes(beta, low, high, eps, t, up, down):
    """``up`` and ``down`` for every coefficient."""
    for i in range(beta.shape[0]):
        up[i] = rise(beta[i], high[i], eps, t[i])
        down[i] = fall(beta[i], low[i], eps, t[i])


@njit(cache=True, nogil=True, fastmath=_FAST)
def _least(f, up):
    """min f + up, eight running minima: none waits for the one before."""
    a = b = c = d = p = q = r = s = FAR
    whole = f.shape[0] // 8 * 8
    for i in range(0, whole, 8):
        a, b = min(a, f[i] + up[i]), min(b, f[i + 1] + up[i + 1])
        c, d = min(c, f[i + 2] + up[i + 2]), min(d, f[i + 3] + up[i + 3])
        p, q = min(p, f[i + 4] + up[i + 4]), min(q, f[i + 5] + up[i + 5])
        r, s = min(r, f[i + 6] + up[i + 6]), min(s, f[i + 7] + up[i + 7])
    for i in range(whole, f.shape[0]):
        a = min(a, f[i] + up[i])
    return min(min(min(a, b), min(c, d)), min(min(p, q), min(r, s)))


@njit(cache=True, nogil=True, fastmath=_FAST)
def _most(f, down):
    """max f + down, likewise."""
    a = b = c = d = p = q = r = s = -FAR
    whole = f.shape[0] // 8 * 8
    for i in range(0, whole, 8):
        a, b = max(a, f[i] + down[i]), max(b, f[i + 1] + down[i + 1])
        c, d = max(c, f[i + 2] + down[i + 2]), max(d, f[i + 3] + down[i + 3])
        p, q = max(p, f[i + 4] + down[i + 4]), max(q, f[i + 5] + down[i + 5])
        r, s = max(r, f[i + 6] + down[i + 6]), max(s, f[i + 7] + down[i + 7])
    for i in range(whole, f.shape[0]):
        a = max(a, f[i] + down[i])
    return max(max(max(a, b), max(c, d)), max(max(p, q), max(r, s)))


@njit(cache=True, nogil=True, fastmath=_FAST)
def _gains(row, f, down, diagonal, own, floor, flat, gain, nothing):
    """Half the fall of the objective by pairing with each, (slopes' difference)² / curvature."""
    for j in range(f.shape[0]):
        ahead = max(f[j] + down[j] - floor, 0.0)
        curvature = max(own + diagonal[j] - 2.0 * row[j], flat)
        gain[j] = ahead * ahead / curvature
    return _most(gain, nothing)


@njit(cache=True, nogil=True)
def _find(values, other, sought):
    """The first place where values + other is ``sought``; stretches without it are counted past."""
    for start in range(0, values.shape[0], STRETCH):
        a, b = values[start : start + STRETCH], other[start : start + STRETCH]
        count = np.int32(0)
        for i in range(a.shape[0]):
            count += np.int32(a[i] + b[i] == sought)
        if count > 0:
            for i in range(a.shape[0]):
                if a[i] + b[i] == sought:
                    return start + i
    return -1


@njit(cache=True, nogil=True, fastmath=_FAST)
def _move(f, raised, lowered, step):
    """f += step (K[i] − K[j])."""
    for k in range(f.shape[0]):
        f[k] += step * np.float64(raised[k] - lowered[k])


@njit(cache=True, nogil=True)
def descend(gram, diagonal, t, low, high, eps, beta, f, tol, limit):
    """Change pairs until rises and falls differ by at most ``tol``; β and f change in place.

    The raised coefficient has the least slope, the lowered one promises most. Returned are the
    number of pairs and the violation that is left.
    """
    m = beta.shape[0]
    up, down, gain, nothing = np.empty(m), np.empty(m), np.empty(m), np.zeros(m)
    slopes(beta, low, high, eps, t, up, down)
    flat = max(FLAT * diagonal.max(), 1e-290)
    count, violation = 0, 0.0
    while True:
        floor = _least(f, up)
        violation = _most(f, down) - floor
        if violation <= tol or count >= limit:
            break
        i = _find(f, up, floor)
        best = _gains(gram[i], f, down, diagonal, diagonal[i], floor, flat, gain, nothing)
        j = _find(gain, nothing, best)
        if i < 0 or j < 0 or best <= 0.0 or i == j:
            break
        curvature = max(diagonal[i] + diagonal[j] - 2.0 * gram[i, j], flat)
        wanted = (f[j] + down[j] - floor) / curvature
        above = high[i] - beta[i]
        below = beta[j] - low[j]
        if eps > 0.0:  # |β| has a corner at zero: stop there and look again
            if beta[i] < 0.0:
                above = min(above, -beta[i])
            if beta[j] > 0.0:
                below = min(below, beta[j])
        step = min(wanted, above, below)
        raised, lowered = beta[i] + step, beta[j] - step
        if step == above:
            raised = 0.0 if eps > 0.0 and beta[i] < 0.0 and -beta[i] == above else high[i]
        if step == below:
            lowered = 0.0 if eps > 0.0 and beta[j] > 0.0 and beta[j] == below else low[j]
        if raised == beta[i] and lowered == beta[j]:
            break
        beta[i], beta[j] = raised, lowered
        _move(f, gram[i], gram[j], step)
        up[i], down[i] = rise(raised, high[i], eps, t[i]), fall(raised, low[i], eps, t[i])
        up[j], down[j] = rise(lowered, high[j], eps, t[j]), fall(lowered, low[j], eps, t[j])
        count += 1
    return count, max(violation, 0.0)


@njit(cache=True, nogil=True, fastmath=_FAST)
def accumulate(store, slots, change, f, start, stop):
    """f[start:stop] += Σ change · rows of ``store``, a stretch of columns at a time.

    A stretch of f stays in the nearest cache while the rows stream past it.
    """
    stretch = 1024
    for left in range(start, stop, stretch):
        right = min(left + stretch, stop)
        part = f[left:right]
        k = 0
        while k + 3 < slots.shape[0]:  # four rows a sweep: f is read and written less often
            a, b = store[slots[k], left:right], store[slots[k + 1], left:right]
            c, d = store[slots[k + 2], left:right], store[slots[k + 3], left:right]
            p, q, r, s = change[k], change[k + 1], change[k + 2], change[k + 3]
            for col in range(right - left):
                part[col] += p * a[col] + q * b[col] + r * c[col] + s * d[col]
            k += 4
        while k < slots.shape[0]:
            a, p = store[slots[k], left:right], change[k]
            for col in range(right - left):
                part[col] += p * a[col]
            k += 1
