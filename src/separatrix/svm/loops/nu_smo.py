"""SMO with the sum of every group of coefficients fixed: the inner loop of ν-SVMs.

    min over γ of  ½ βᵀKβ − tᵀγ      β the sums of γ by row, Σ γ of each group fixed, low ≤ γ ≤ high

A pair of coefficients of one group moves at a time: the one of least gradient that may increase,
and the one that then lowers the objective most. Of two groups the better pair is taken.
"""

from __future__ import annotations

import numpy as np

from separatrix.compilation import compiled

#: Least curvature along a pair, relative to the diagonal.
FLAT = 1e-12


@compiled
def nu_smo(gram, row, group, t, low, high, gamma, f, tol, limit):
    """Optimize pairs until every group's violation is at most ``tol``; γ and f change in place.

    ``row`` is the row of K of each coefficient, ``group`` its group, 0 or 1. Returns the number of
    iterations.
    """
    m = gamma.shape[0]
    largest = 0.0
    for k in range(gram.shape[0]):
        largest = max(largest, abs(gram[k, k]))
    flat = max(FLAT * largest, 1e-290)
    first = np.empty(2, dtype=np.int64)
    least, most, best = np.empty(2), np.empty(2), np.empty(2)
    second = np.empty(2, dtype=np.int64)
    count = 0
    while count < limit:
        for g in range(2):
            first[g], second[g], least[g], most[g], best[g] = -1, -1, np.inf, -np.inf, 0.0
        for k in range(m):
            g, gradient = group[k], f[row[k]] - t[k]
            if gamma[k] < high[k] and gradient < least[g]:
                least[g], first[g] = gradient, k
            if gamma[k] > low[k] and gradient > most[g]:
                most[g] = gradient
        if max(most[0] - least[0], most[1] - least[1]) <= tol:
            break
        for k in range(m):
            g = group[k]
            i = first[g]
            if i < 0 or gamma[k] <= low[k]:
                continue
            ahead = f[row[k]] - t[k] - least[g]
            if ahead <= 0.0:
                continue
            a, b = row[i], row[k]
            curvature = max(gram[a, a] + gram[b, b] - 2.0 * gram[a, b], flat)
            decrease = ahead * ahead / curvature
            if decrease > best[g]:
                best[g], second[g] = decrease, k
        g = 0 if best[0] >= best[1] else 1
        i, j = first[g], second[g]
        if i < 0 or j < 0:
            break
        a, b = row[i], row[j]
        curvature = max(gram[a, a] + gram[b, b] - 2.0 * gram[a, b], flat)
        above, below = high[i] - gamma[i], gamma[j] - low[j]
        step = min((f[b] - t[j] - least[g]) / curvature, above, below)
        raised = high[i] if step == above else gamma[i] + step
        lowered = low[j] if step == below else gamma[j] - step
        if raised == gamma[i] and lowered == gamma[j]:
            break
        gamma[i], gamma[j] = raised, lowered
        for k in range(f.shape[0]):
            f[k] += step * (gram[a, k] - gram[b, k])
        count += 1
    return count
