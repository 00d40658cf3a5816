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
    """min f + up."""
    least = FAR
    for i in range(f.shape[0]):
        least = min(least, f[i] + up[i])
    return least


@njit(cache=True, nogil=True, fastmath=_FAST)
def _most(f, down):
    """max f + down."""
    most = -FAR
    for i in range(f.shape[0]):
        most = max(most, f[i] + down[i])
    return most


@njit(cache=True, nogil=True, fastmath=_FAST)
def _gains(row, f, down, diagonal, own, floor, flat, gain):
    """Half the fall of the objective by pairing with each, (slopes' difference)² / curvature."""
    best = 0.0
    for j in range(f.shape[0]):
        ahead = max(f[j] + down[j] - floor, 0.0)
        curvature = max(own + diagonal[j] - 2.0 * row[j], flat)
        gain[j] = ahead * ahead / curvature
        best = max(best, gain[j])
    return best


@njit(cache=True, nogil=True)
def _find(values, other, sought):
    """The first place where values + other is ``sought``."""
    for i in range(values.shape[0]):
        if values[i] + other[i] == sought:
            return i
    return -1


@njit(cache=True, nogil=True)
def _position(values, sought):
    for i in range(values.shape[0]):
        if values[i] == sought:
            return i
    return -1


@njit(cache=True, nogil=True, fastmath=_FAST)
def _move(f, raised, lowered, step):
    """f += step (K[i] − K[j])."""
    for k in range(f.shape[0]):
        f[k] += step * (np.float64(raised[k]) - np.float64(lowered[k]))


@njit(cache=True, nogil=True)
def descend(gram, diagonal, t, low, high, eps, beta, f, tol, limit):
    """Change pairs until rises and falls differ by at most ``tol``; β and f change in place.

    The raised coefficient has the least slope, the lowered one promises most. Returned are the
    number of pairs and the violation that is left.
    """
    m = beta.shape[0]
    up, down, gain = np.empty(m), np.empty(m), np.empty(m)
    slopes(beta, low, high, eps, t, up, down)
    flat = max(FLAT * diagonal.max(), 1e-290)
    count, violation = 0, 0.0
    while True:
        floor = _least(f, up)
        violation = _most(f, down) - floor
        if violation <= tol or count >= limit:
            break
        i = _find(f, up, floor)
        best = _gains(gram[i], f, down, diagonal, diagonal[i], floor, flat, gain)
        j = _position(gain, best)
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
