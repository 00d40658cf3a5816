"""Loops of the SVMs of one fold along C: all binary problems in one call.

    min over β of  ½ βᵀKβ − tᵀβ + ε Σ|βᵢ|      with Σ β = 0, C low ≤ β ≤ C high

Rows are sorted by class, so that a problem has the rows of two segments of the Gram matrix, which
is read where it is. A row of the test fold has low = high = 0: it never moves, and its f = Kβ comes
with the others.
"""

from __future__ import annotations

import numpy as np

from separatrix.compilation import compiled
from separatrix.svm.loops.smo import (
    FAR,
    add_row,
    down_offset,
    gradient_offsets,
    smo_segments,
    up_offset,
)

#: Iterations at one C that a problem of any size may have.
LEAST_LIMIT = 2_000
#: Iterations on all rows before some are left out: so many, and this fraction of the rows.
LEAST_BURST, BURST = 50, 4
#: Rows are left out if no more than this fraction remain; how far from violating they must be,
#: in units of the violation; and the tolerance on the others.
SHRINK, WIDTH, REDUCTION = 0.7, 0.2, 0.5
#: Rows that are optimized at a time where more than that cannot be left out.
WORKING_SET = 1_000


@compiled
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
        done, floor, ceiling = _solve(
            gram, rows, own_diagonal, t[here:end], least, most, eps, own, score, tol, most_steps
        )
        b[p] = _intercept(floor, ceiling)
        work += done
    return work


@compiled
def _solve(gram, rows, diagonal, t, low, high, eps, beta, f, tol, limit):
    """SMO on all rows, then on those that may still move, in turn until no row violates.

    Returns the work, the least up gradient and the greatest down gradient.
    """
    m, count, work = beta.shape[0], 0, 0
    burst = max(LEAST_BURST, m // BURST)
    while True:
        steps = min(burst, limit - count)
        done, least, most = smo_segments(
            gram, rows, diagonal, t, low, high, eps, beta, f, tol, steps
        )
        count, work = count + done, work + (done + 10) * m
        if most - least <= tol or done < steps or count >= limit:
            return work, least, most
        active = _active(beta, low, high, eps, t, f, least, most)
        goal, most_steps = REDUCTION * tol, limit - count
        if active.shape[0] > SHRINK * m:
            if m <= WORKING_SET:
                continue
            active = _working_set(beta, low, high, eps, t, f)
            goal, most_steps = max(goal, REDUCTION * (most - least)), min(most_steps, 10 * m)
        done, more = _solve_active(
            gram, rows, diagonal, t, low, high, eps, beta, f, active, goal, most_steps
        )
        count, work = count + done * active.shape[0] // m, work + more


@compiled
def _active(beta, low, high, eps, t, f, least, most):
    """Rows that belong to a violating pair, or would if gradients changed by half the violation."""
    room = WIDTH * (most - least)
    chosen = np.empty(beta.shape[0], dtype=np.int64)
    count = 0
    for i in range(beta.shape[0]):
        up = f[i] + up_offset(beta[i], high[i], eps, t[i])
        down = f[i] + down_offset(beta[i], low[i], eps, t[i])
        if low[i] < high[i] and (up < most + room or down > least - room):
            chosen[count] = i
            count += 1
    return chosen[:count]


@compiled
def _working_set(beta, low, high, eps, t, f):
    """The rows of least up and of greatest down gradient."""
    m = beta.shape[0]
    up, down = np.empty(m), np.empty(m)
    gradient_offsets(beta, low, high, eps, t, up, down)
    chosen = np.zeros(m, dtype=np.bool_)
    chosen[np.argsort(f + up)[: WORKING_SET // 2]] = True
    chosen[np.argsort(-f - down)[: WORKING_SET // 2]] = True
    return np.flatnonzero(chosen)


@compiled
def _solve_active(gram, rows, diagonal, t, low, high, eps, beta, f, active, tol, limit):
    """SMO on the active rows alone, then f of all rows; returns iterations and work."""
    a, b, c, d = rows
    m, n, k = beta.shape[0], b - a, active.shape[0]
    place = np.where(active < n, active + a, active - n + c)
    part = np.empty((k, k), dtype=gram.dtype)
    for i in range(k):
        row, own = gram[place[i]], part[i]
        for j in range(k):
            own[j] = row[place[j]]
    inner, score = beta[active], f[active]
    rows, bounds = (0, k, k, k), (low[active], high[active])
    done, _, _ = smo_segments(
        part, rows, diagonal[active], t[active], *bounds, eps, inner, score, tol, limit
    )
    changed = 0
    for i in range(k):
        change = inner[i] - beta[active[i]]
        if change != 0.0:
            row = gram[place[i]]
            add_row(f[:n], row[a:b], change)
            add_row(f[n:], row[c:d], change)
            changed += 1
    beta[active] = inner
    f[active] = score
    return done, done * k + k * k + changed * m // 8


@compiled
def _intercept(least, most):
    """The middle between the least up and the greatest down gradient; one class alone has one."""
    if least < 0.5 * FAR and most > -0.5 * FAR:
        return -0.5 * (least + most)
    if least < 0.5 * FAR:
        return -least
    return -most if most > -0.5 * FAR else 0.0
