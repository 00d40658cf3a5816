"""Sequential minimal optimization: the inner loop of kernel support vector machines.

    min over β of  ½ βᵀKβ − tᵀβ + ε Σ|βᵢ|      with Σ β fixed, low ≤ β ≤ high

An iteration increases βᵢ by δ and decreases βⱼ by δ. The gradient is fᵢ − tᵢ ± ε with f = Kβ, the
sign of ε depending on the direction; the offsets ``up`` and ``down`` are what it adds to f, ±FAR
where β is at its bound and cannot move. The loops have no branches, so that they run on whole
vectors: K may be of single precision, f is not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.compilation import compiled

#: Gradient offset of a move that is not allowed.
FAR = 1e300
#: Least curvature along a pair, for equal rows and for kernels that are not Mercer.
FLAT = 1e-12
#: Numbers that are compared at a time.
BLOCK = 256
_FAST = {"reassoc", "nsz", "arcp", "contract", "nnan"}


@compiled
def up_offset(beta, high, eps, t):
    """What to add to f for the gradient as β increases."""
    if beta >= high:
        return FAR
    return (eps if beta >= 0.0 else -eps) - t


@compiled
def down_offset(beta, low, eps, t):
    """What to add to f for the gradient as β decreases."""
    if beta <= low:
        return -FAR
    return (eps if beta > 0.0 else -eps) - t


@compiled
def gradient_offsets(beta, low, high, eps, t, up, down):
    """``up`` and ``down`` for every coefficient."""
    for i in range(beta.shape[0]):
        up[i] = up_offset(beta[i], high[i], eps, t[i])
        down[i] = down_offset(beta[i], low[i], eps, t[i])


@compiled(fastmath=_FAST)
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


@compiled(fastmath=_FAST)
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


@compiled(fastmath=_FAST)
def _decreases(row, f, down, diagonal, own, floor, unit, scale, decrease):
    """The decrease of the objective for each partner: (gradient difference)² / curvature.

    In the precision of the Gram matrix, gradients in ``unit`` and kernel values in 1/``scale``: no
    size over- or underflows. The largest is returned.
    """
    kind = decrease.dtype.type
    zero, flat = kind(0.0), kind(FLAT)
    for j in range(f.shape[0]):
        ahead = max(kind((f[j] + down[j] - floor) * unit), zero)
        curvature = max(own + diagonal[j] - row[j] * scale, flat)
        decrease[j] = ahead * ahead / curvature
    a = b = c = d = zero
    whole = f.shape[0] // 4 * 4
    for j in range(0, whole, 4):
        a, b = max(a, decrease[j]), max(b, decrease[j + 1])
        c, d = max(c, decrease[j + 2]), max(d, decrease[j + 3])
    for j in range(whole, f.shape[0]):
        a = max(a, decrease[j])
    return max(max(a, b), max(c, d))


@compiled
def _partner(row, f, down, diagonal, own, floor, unit, scale, decrease, best):
    """The place of the largest decrease if it is above ``best``, else −1, and the largest."""
    place = -1
    for start in range(0, f.shape[0], BLOCK):
        stop = min(start + BLOCK, f.shape[0])
        part = decrease[: stop - start]
        largest = _decreases(
            row[start:stop],
            f[start:stop],
            down[start:stop],
            diagonal[start:stop],
            own,
            floor,
            unit,
            scale,
            part,
        )
        if largest > best:
            best = largest
            for j in range(stop - start):
                if part[j] == largest:
                    place = start + j
                    break
    return place, best


@compiled
def _extremes(f, up, down, raised, lowered, step, ends):
    """f moved by ``step`` (K[i] − K[j]); ``ends`` receives min f + up, its block, max f + down.

    A block at a time, while it is in the nearest cache.
    """
    for start in range(0, f.shape[0], BLOCK):
        stop = min(start + BLOCK, f.shape[0])
        part = f[start:stop]
        if step != 0.0:
            _move(part, raised[start:stop], lowered[start:stop], step)
        least = _least(part, up[start:stop])
        if least < ends[0]:
            ends[0], ends[1] = least, start
        ends[2] = max(ends[2], _most(part, down[start:stop]))


@compiled(fastmath=_FAST)
def _move(f, raised, lowered, step):
    """f += step (K[i] − K[j])."""
    for k in range(f.shape[0]):
        f[k] += step * np.float64(raised[k] - lowered[k])


@compiled(fastmath=_FAST)
def add_rows(f, gram, rows, change, left):
    """f += Σ change · K[i] over some rows, from the column ``left`` on."""
    for k in range(rows.shape[0]):
        row, step = gram[rows[k]], change[k]
        for j in range(f.shape[0]):
            f[j] += step * np.float64(row[left + j])


@compiled
def smo_segments(gram, rows, diagonal, t, low, high, eps, beta, f, tol, limit):
    """SMO on two segments of the rows of the Gram matrix, (a, b, c, d): a ≤ i < b and c ≤ i < d.

    The first of a pair has the least up gradient, the second decreases the objective most. Returns
    the number of iterations, the least up gradient and the greatest down gradient.
    """
    a, b, c, _ = rows
    m, n = beta.shape[0], b - a
    up, down, ends = np.empty(m), np.empty(m), np.empty(3)
    gradient_offsets(beta, low, high, eps, t, up, down)
    kind, size = gram.dtype.type, max(diagonal.max(), 1e-300)
    scaled, decrease = np.empty(m, dtype=gram.dtype), np.empty(BLOCK, dtype=gram.dtype)
    for k in range(m):
        scaled[k] = diagonal[k] / size
    scale = kind(2.0 / size)
    segments = ((0, n, a), (n, m, c))
    count, step = 0, 0.0
    row = other = gram[0]
    while True:
        ends[0], ends[1], ends[2], start = FAR, -1.0, -FAR, -1
        for p, q, left in segments:
            ends[1] = -1.0
            first, second = row[left : left + q - p], other[left : left + q - p]
            _extremes(f[p:q], up[p:q], down[p:q], first, second, step, ends)
            if ends[1] >= 0.0:
                start = p + int(ends[1])
        least, most = ends[0], ends[2]
        if most - least <= tol or count >= limit or start < 0:
            break
        i = start
        while f[i] + up[i] != least:
            i += 1
        row, own = gram[a + i if i < n else c + i - n], scaled[i]
        unit = 1.0 / (most - least)
        j, best = -1, kind(0.0)
        for p, q, left in segments:
            place, best = _partner(
                row[left : left + q - p],
                f[p:q],
                down[p:q],
                scaled[p:q],
                own,
                least,
                unit,
                scale,
                decrease,
                best,
            )
            if place >= 0:
                j = p + place
        if j < 0 or i == j:
            break
        other = gram[a + j if j < n else c + j - n]
        between = np.float64(row[a + j if j < n else c + j - n])
        curvature = max(diagonal[i] + diagonal[j] - 2.0 * between, FLAT * size)
        step = (f[j] + down[j] - least) / curvature
        raised, lowered, step = _pair_step(beta[i], beta[j], high[i], low[j], eps, step)
        if raised == beta[i] and lowered == beta[j]:
            break
        beta[i], beta[j] = raised, lowered
        up[i] = up_offset(raised, high[i], eps, t[i])
        down[i] = down_offset(raised, low[i], eps, t[i])
        up[j] = up_offset(lowered, high[j], eps, t[j])
        down[j] = down_offset(lowered, low[j], eps, t[j])
        count += 1
    return count, least, most


@compiled
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


def smo(
    gram: Any,
    diagonal: Any,
    t: Any,
    low: Any,
    high: Any,
    eps: float,
    beta: Any,
    f: Any,
    tol: float,
    limit: int,
) -> tuple[int, float]:
    """Optimize pairs until max down − min up gradient is at most ``tol``; β and f change in place.

    Returns the number of iterations and the violation that is left.
    """
    m = beta.shape[0]
    rows = (0, m, m, m)
    count, least, most = smo_segments(gram, rows, diagonal, t, low, high, eps, beta, f, tol, limit)
    return count, max(most - least, 0.0)


@compiled(fastmath=_FAST)
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
