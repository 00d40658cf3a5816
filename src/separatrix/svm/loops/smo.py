"""Sequential minimal optimization: the inner loop of kernel support vector machines.

    min over β of  ½ βᵀKβ − tᵀβ + ε Σ|βᵢ|      with Σ β fixed, low ≤ β ≤ high

An iteration increases βᵢ by δ and decreases βⱼ by δ. The gradient is fᵢ − tᵢ ± ε with f = Kβ, the
sign of ε depending on the direction; the offsets ``up`` and ``down`` are what it adds to f, ±FAR
where β is at its bound and cannot move. The loops have no branches, so that they run on whole
vectors: K may be of single precision, f is not.
"""

from __future__ import annotations

import numpy as np
from numba import njit

#: Gradient offset of a move that is not allowed.
FAR = 1e300
#: Least curvature along a pair, for equal rows and for kernels that are not Mercer.
FLAT = 1e-12
#: Numbers that are compared at a time.
BLOCK = 128
_FAST = {"reassoc", "nsz", "arcp", "contract", "nnan"}


@njit(cache=True, nogil=True)
def up_offset(beta, high, eps, t):
    """What to add to f for the gradient as β increases."""
    if beta >= high:
        return FAR
    return (eps if beta >= 0.0 else -eps) - t


@njit(cache=True, nogil=True)
def down_offset(beta, low, eps, t):
    """What to add to f for the gradient as β decreases."""
    if beta <= low:
        return -FAR
    return (eps if beta > 0.0 else -eps) - t


@njit(cache=True, nogil=True)
def gradient_offsets(beta, low, high, eps, t, up, down):
    """``up`` and ``down`` for every coefficient."""
    for i in range(beta.shape[0]):
        up[i] = up_offset(beta[i], high[i], eps, t[i])
        down[i] = down_offset(beta[i], low[i], eps, t[i])


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
def _decreases(row, f, down, diagonal, own, floor, flat, decrease, nothing):
    """Twice the decrease of the objective for each partner: (gradient difference)² / curvature."""
    for j in range(f.shape[0]):
        ahead = max(f[j] + down[j] - floor, 0.0)
        curvature = max(own + diagonal[j] - 2.0 * row[j], flat)
        decrease[j] = ahead * ahead / curvature
    return _most(decrease, nothing)


@njit(cache=True, nogil=True)
def _find(values, other, sought):
    """The first index at which values + other is ``sought``, a block at a time."""
    for start in range(0, values.shape[0], BLOCK):
        a, b = values[start : start + BLOCK], other[start : start + BLOCK]
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


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_row(f, row, change):
    """f += change · K[i]."""
    for k in range(f.shape[0]):
        f[k] += change * np.float64(row[k])


@njit(cache=True, nogil=True)
def smo_segments(gram, rows, diagonal, t, low, high, eps, beta, f, tol, limit):
    """SMO on two segments of the rows of the Gram matrix, (a, b, c, d): a ≤ i < b and c ≤ i < d.

    The first of a pair has the least up gradient, the second decreases the objective most. Returns
    the number of iterations, the least up gradient and the greatest down gradient.
    """
    a, b, c, d = rows
    m, n = beta.shape[0], b - a
    up, down, decrease, nothing = np.empty(m), np.empty(m), np.empty(m), np.zeros(m)
    gradient_offsets(beta, low, high, eps, t, up, down)
    flat = max(FLAT * diagonal.max(), 1e-290)
    count, least, most = 0, 0.0, 0.0
    while True:
        least, most = _least(f, up), _most(f, down)
        if most - least <= tol or count >= limit:
            break
        i = _find(f, up, least)
        row, own = gram[a + i if i < n else c + i - n], diagonal[i]
        best = _decreases(
            row[a:b], f[:n], down[:n], diagonal[:n], own, least, flat, decrease[:n], nothing[:n]
        )
        if n < m:
            second = _decreases(
                row[c:d], f[n:], down[n:], diagonal[n:], own, least, flat, decrease[n:], nothing[n:]
            )
            best = max(best, second)
        j = _find(decrease, nothing, best)
        if i < 0 or j < 0 or best <= 0.0 or i == j:
            break
        other = gram[a + j if j < n else c + j - n]
        curvature = max(own + diagonal[j] - 2.0 * row[a + j if j < n else c + j - n], flat)
        step = (f[j] + down[j] - least) / curvature
        raised, lowered, step = _pair_step(beta[i], beta[j], high[i], low[j], eps, step)
        if raised == beta[i] and lowered == beta[j]:
            break
        beta[i], beta[j] = raised, lowered
        _move(f[:n], row[a:b], other[a:b], step)
        _move(f[n:], row[c:d], other[c:d], step)
        up[i] = up_offset(raised, high[i], eps, t[i])
        down[i] = down_offset(raised, low[i], eps, t[i])
        up[j] = up_offset(lowered, high[j], eps, t[j])
        down[j] = down_offset(lowered, low[j], eps, t[j])
        count += 1
    return count, least, most


@njit(cache=True, nogil=True)
def _pair_step(first, second, high, low, eps, wanted):
    """The first coefficient raised and the second lowered by the step wanted, or up to a bound."""
    above, below = high - first, second - low
    if eps > 0.0:  # |β| has a kink at zero: stop there first
        if first < 0.0:
            above = min(above, -first)
        if second > 0.0:
            below = min(below, second)
    step = min(wanted, above, below)
    raised, lowered = first + step, second - step
    if step == above:
        raised = 0.0 if eps > 0.0 and first < 0.0 and -first == above else high
    if step == below:
        lowered = 0.0 if eps > 0.0 and second > 0.0 and second == below else low
    return raised, lowered, step


@njit(cache=True, nogil=True)
def smo(gram, diagonal, t, low, high, eps, beta, f, tol, limit):
    """Optimize pairs until max down − min up gradient is at most ``tol``; β and f change in place.

    Returns the number of iterations and the violation that is left.
    """
    m = beta.shape[0]
    rows = (0, m, m, m)
    count, least, most = smo_segments(gram, rows, diagonal, t, low, high, eps, beta, f, tol, limit)
    return count, max(most - least, 0.0)


@njit(cache=True, nogil=True, fastmath=_FAST)
def accumulate(store, slots, change, f, start, stop):
    """f[start:stop] += Σ change · rows of ``store``, a block of columns at a time.

    A block of f stays in the nearest cache while the rows are read.
    """
    block = 1024
    for left in range(start, stop, block):
        right = min(left + block, stop)
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
