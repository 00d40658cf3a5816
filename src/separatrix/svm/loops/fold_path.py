"""Loops of the SVMs of one fold along C: all binary problems in one call.

    min over β of  ½ βᵀKβ − tᵀβ + ε Σ|βᵢ|      with Σ β = 0, C low ≤ β ≤ C high

Rows are sorted by class, so that a problem has the rows of two segments of the Gram matrix, which
is read where it is. A row of the test fold has low = high = 0: it never moves, and its f = Kβ comes
with the others.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from separatrix.svm.loops.smo import FAR, smo_segments

#: Iterations at one C that a problem of any size may have.
LEAST_LIMIT = 2_000


@njit(cache=True, nogil=True)
def next_C(gram, diagonal, segments, starts, t, low, high, eps, C, before, beta, f, b, tol, limit):
    """Every problem at another C, started from β · C/before; returns the sum of iterations x rows.

    ``segments`` (problems x 4) bound the rows of each problem, ``starts`` its part of t, low, high,
    β and f; ``b`` receives the intercepts. ``limit`` is that of iterations, for each row.
    """
    work = 0
    for p in range(segments.shape[0]):
        here, end = starts[p], starts[p + 1]
        own, score = beta[here:end], f[here:end]
        least, most = C * low[here:end], C * high[here:end]
        for k in range(end - here):  # what rounding adds is cut off
            own[k] = min(max(own[k] * (C / before), least[k]), most[k])
            score[k] *= C / before
        s = segments[p]
        rows = (s[0], s[1], s[2], s[3])
        own_diagonal = np.concatenate((diagonal[s[0] : s[1]], diagonal[s[2] : s[3]]))
        most_steps = LEAST_LIMIT + limit * (end - here)
        count, floor, ceiling = smo_segments(
            gram, rows, own_diagonal, t[here:end], least, most, eps, own, score, tol, most_steps
        )
        b[p] = _intercept(floor, ceiling)
        work += (count + 10) * (end - here)
    return work


@njit(cache=True, nogil=True)
def _intercept(least, most):
    """The middle between the least up and the greatest down gradient; one class alone has one."""
    if least < 0.5 * FAR and most > -0.5 * FAR:
        return -0.5 * (least + most)
    if least < 0.5 * FAR:
        return -least
    return -most if most > -0.5 * FAR else 0.0
