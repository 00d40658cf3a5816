"""Walks of a perceptron: row after row, and a step wherever a row is on the wrong side.

    side · (w·x + b) ≤ 0   ⇒   w += rate · side · x,   b += rate · side

Several outputs share the pass, one against the rest. ``drift`` sums each step times the number of
rows seen before it: after T rows, w − drift/T is the mean of the weights over all of them.

A walk pauses in front of the step that would end the longest run of rows an output has had right,
so that its weights can be compared with the best ones so far; ``at`` (position in the order,
output, rows seen) tells where to go on.
"""

from __future__ import annotations

from numba import njit

#: Sums over columns may be taken in any order, which lets them run side by side.
LOOSE = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, fastmath=LOOSE)
def walk_dense(x, code, own, rate, order, constant, w, drift, mistakes, runs, record, at):
    """Rows ``x`` (n x d); ``w`` and ``drift`` (outputs x (1 + d)), the constant in front.

    ``constant`` is 1 with an intercept, else 0. False if the walk paused.
    """
    outputs, d = w.shape[0], x.shape[1]
    while at[0] < order.shape[0]:
        i = order[at[0]]
        while at[1] < outputs:
            k = at[1]
            side = 1.0 if code[i] == own[k] else -1.0
            score = w[k, 0]
            for j in range(d):
                score += w[k, j + 1] * x[i, j]
            if side * score > 0.0:
                runs[k] += 1
            else:
                if runs[k] > record[k]:
                    record[k] = runs[k]
                    return False
                step, seen = rate[i] * side, float(at[2])
                w[k, 0] += step * constant
                drift[k, 0] += seen * step * constant
                for j in range(d):
                    w[k, j + 1] += step * x[i, j]
                    drift[k, j + 1] += seen * step * x[i, j]
                mistakes[k] += 1
                runs[k] = 0
            at[1] += 1
        at[0] += 1
        at[1] = 0
        at[2] += 1
    return True


@njit(cache=True, nogil=True)
def walk_sparse(
    data,
    column,
    start,
    shared,
    code,
    own,
    rate,
    order,
    constant,
    w,
    drift,
    mistakes,
    runs,
    record,
    at,
):
    """CSR rows measured from a centre c: the row is x − c, but only x is stored.

    Steps add up to v − m c with v sparse and m a number. ``w`` (outputs x (3 + d)) holds the
    constant, m, v·c and v; ``shared`` (n) is c·(x − c) for every row.
    """
    outputs = w.shape[0]
    while at[0] < order.shape[0]:
        i = order[at[0]]
        while at[1] < outputs:
            k = at[1]
            side = 1.0 if code[i] == own[k] else -1.0
            score = w[k, 0] - w[k, 1] * shared[i] - w[k, 2]
            for e in range(start[i], start[i + 1]):
                score += w[k, column[e] + 3] * data[e]
            if side * score > 0.0:
                runs[k] += 1
            else:
                if runs[k] > record[k]:
                    record[k] = runs[k]
                    return False
                step, seen = rate[i] * side, float(at[2])
                along = shared[i] + shared[rate.shape[0]]
                w[k, 0] += step * constant
                w[k, 1] += step
                w[k, 2] += step * along
                drift[k, 0] += seen * step * constant
                drift[k, 1] += seen * step
                for e in range(start[i], start[i + 1]):
                    w[k, column[e] + 3] += step * data[e]
                    drift[k, column[e] + 3] += seen * step * data[e]
                mistakes[k] += 1
                runs[k] = 0
            at[1] += 1
        at[0] += 1
        at[1] = 0
        at[2] += 1
    return True


@njit(cache=True, nogil=True, fastmath=LOOSE)
def walk_regression(x, y, rate, order, constant, w, drift, seen):
    """w += rate · (y − w·x) x for every row; returns Σ rate-free squared residuals met."""
    d, total = x.shape[1], 0.0
    for i in order:
        residual = y[i] - w[0]
        for j in range(d):
            residual -= w[j + 1] * x[i, j]
        total += residual * residual
        step = rate[i] * residual
        w[0] += step * constant
        drift[0] += seen * step * constant
        for j in range(d):
            w[j + 1] += step * x[i, j]
            drift[j + 1] += seen * step * x[i, j]
        seen += 1.0
    return total


@njit(cache=True, nogil=True)
def next_mistake(scores, code, own, order, at):
    """Moves ``at`` (position in the order, output) to the next row on the wrong side.

    ``scores`` is outputs x n. False if there is none any more.
    """
    outputs = scores.shape[0]
    while at[0] < order.shape[0]:
        i = order[at[0]]
        while at[1] < outputs:
            side = 1.0 if code[i] == own[at[1]] else -1.0
            if side * scores[at[1], i] <= 0.0:
                return True
            at[1] += 1
        at[0] += 1
        at[1] = 0
    return False
