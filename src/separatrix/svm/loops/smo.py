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
from separatrix.kernels.loops.extremes import larger, smaller

#: Gradient offset of a move that is not allowed.
FAR = 1e300
#: Least curvature along a pair, for equal rows and for kernels that are not Mercer.
FLAT = 1e-12
#: Numbers of f that stay in the nearest cache while rows are added to them.
BLOCK = 1024
_FAST = {"nsz", "arcp", "contract", "nnan"}


@compiled
def _set_offsets(k, beta, low, high, eps, t, up, down):
    """What to add to f for the gradient of a coefficient as it increases, and as it decreases."""
    b = beta[k]
    up[k] = FAR if b >= high[k] else (eps if b >= 0.0 else -eps) - t[k]
    down[k] = -FAR if b <= low[k] else (eps if b > 0.0 else -eps) - t[k]


@compiled(fastmath=_FAST)
def _pair_steps(
    gram, diagonal, scaled, t, low, high, eps, size, up, down, decrease, beta, f, tol, limit, ends
):
    """Optimize pairs; ``ends`` receives the least up and the greatest down gradient.

    The first of a pair has the least up gradient, the second decreases the objective most: by
    (gradient difference)² / curvature. That is computed in the precision of the Gram matrix,
    gradients in units of their range and kernel values in ``size``: none over- or underflows.
    """
    m, kind = beta.shape[0], decrease.dtype.type
    zero, flat, scale = kind(0.0), kind(FLAT), kind(2.0 / size)
    for k in range(m):
        _set_offsets(k, beta, low, high, eps, t, up, down)
    count, step = 0, 0.0
    row = other = gram[0]
    while True:
        least, most = FAR, -FAR
        for k in range(m):
            value = f[k] + step * np.float64(row[k] - other[k])
            f[k] = value
            least, most = smaller(least, value + up[k]), larger(most, value + down[k])
        ends[0], ends[1] = least, most
        if most - least <= tol or count >= limit:
            return count
        i = 0
        while i < m - 1 and f[i] + up[i] != least:
            i += 1
        row, own, unit, best = gram[i], scaled[i], 1.0 / (most - least), zero
        for k in range(m):
            ahead = larger(kind((f[k] + down[k] - least) * unit), zero)
            gain = ahead * ahead / larger(own + scaled[k] - row[k] * scale, flat)
            decrease[k] = gain
            best = larger(best, gain)
        j = 0
        while j < m - 1 and decrease[j] != best:
            j += 1
        if not best > zero or i == j:
            return count
        other = gram[j]
        along = diagonal[i] + diagonal[j] - 2.0 * np.float64(row[j])
        along = along if along > FLAT * size else FLAT * size
        step = (f[j] + down[j] - least) / along
        first, second, above, below = beta[i], beta[j], high[i] - beta[i], beta[j] - low[j]
        end, start = high[i], low[j]
        if eps > 0.0:  # |β| has a kink at zero: stop there first
            if first < 0.0 and -first <= above:
                above, end = -first, 0.0
            if second > 0.0 and second <= below:
                below, start = second, 0.0
        step = above if above < step else step
        step = below if below < step else step
        beta[i] = end if step == above else first + step
        beta[j] = start if step == below else second - step
        if beta[i] == first and beta[j] == second:
            return count
        _set_offsets(i, beta, low, high, eps, t, up, down)
        _set_offsets(j, beta, low, high, eps, t, up, down)
        count += 1


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
) -> tuple[int, float, float]:
    """Optimize pairs until max down − min up gradient is at most ``tol``; β and f change in place.

    Returns the number of iterations, the least up and the greatest down gradient.
    """
    size = max(float(diagonal.max(initial=0.0)), 1e-300)
    scaled = (diagonal / size).astype(gram.dtype)
    up, down = np.empty((2, len(beta)))
    decrease, ends = np.empty(len(beta), dtype=gram.dtype), np.empty(2)
    bounds = (t, low, high, float(eps), size)
    count = _pair_steps(
        gram, diagonal, scaled, *bounds, up, down, decrease, beta, f, float(tol), int(limit), ends
    )
    return count, float(ends[0]), float(ends[1])


@compiled(fastmath={"contract"})
def add_rows(gram, rows, change, f, start, stop):
    """f[start:stop] += Σ change · K[i] over some rows, a block of columns at a time."""
    for left in range(start, stop, BLOCK):
        right = stop if stop < left + BLOCK else left + BLOCK
        part = f[left:right]
        for k in range(rows.shape[0]):
            row, step = gram[rows[k], left:right], change[k]
            for j in range(part.shape[0]):
                part[j] += step * np.float64(row[j])
