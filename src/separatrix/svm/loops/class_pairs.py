"""Binary SVMs of pairs of classes, many of them in one call.

Rows are in order of their classes, class c from ``starts[c]`` to ``starts[c + 1]``. Coefficients of
the rows of class i in the pair with class j are ``beta[j, starts[i]:starts[i + 1]]``, and their
f = Kβ likewise; the lower class of a pair has t = +1.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from separatrix.svm.loops.smo import smo

_FAST = {"reassoc", "nsz", "arcp", "contract"}


@njit(cache=True, nogil=True)
def _pair_gram(cross, top, n, within, first, second, gram):
    """The Gram matrix of a pair in single precision: two classes within, ``cross`` between."""
    m = gram.shape[0]
    for a in range(n):
        for b in range(n):
            gram[a, b] = within[first + a * n + b]
    size = m - n
    for a in range(size):
        for b in range(n):
            value = np.float32(cross[top + a, b])
            gram[n + a, b] = value
            gram[b, n + a] = value
        for b in range(size):
            gram[n + a, n + b] = within[second + a * size + b]


@njit(cache=True, nogil=True, fastmath=_FAST)
def _add_row(row, beta, weight, f):
    """f += weight · row; the product of row and β is returned."""
    value = 0.0
    for b in range(row.shape[0]):
        value += row[b] * beta[b]
        f[b] += weight * row[b]
    return value


@njit(cache=True, nogil=True)
def solve_pairs(
    cross, within, places, starts, i, j, stop, diagonal, cost, tol, limit, beta, f, counts
):
    """SMO for the pairs of class i with the classes from j to ``stop``.

    ``cross`` holds the kernel of these classes' rows (its rows) with those of class i, in double
    precision; ``within`` the Gram matrices of the classes, one after the other from ``places``.
    What the other class of a pair adds to f is computed from ``cross``.
    """
    left, n = starts[i], starts[i + 1] - starts[i]
    largest = 0
    for c in range(j, stop):
        largest = max(largest, starts[c + 1] - starts[c])
    memory = np.empty((n + largest) ** 2, dtype=np.float32)
    for c in range(j, stop):
        begin, size = starts[c], starts[c + 1] - starts[c]
        m, top = n + size, begin - starts[j]
        gram = memory[: m * m].reshape(m, m)
        _pair_gram(cross, top, n, within, places[i], places[c], gram)
        t, low, high, own = np.empty(m), np.zeros(m), np.zeros(m), np.empty(m)
        for a in range(m):
            row = left + a if a < n else begin + a - n
            own[a] = diagonal[row]
            if a < n:
                t[a], high[a] = 1.0, cost[row]
            else:
                t[a], low[a] = -1.0, -cost[row]
        solution, gradient = np.zeros(m), np.zeros(m)
        counts[i, c], _ = smo(gram, own, t, low, high, 0.0, solution, gradient, tol, limit * m)
        for a in range(n):
            beta[c, left + a] = solution[a]
        for a in range(size):
            beta[i, begin + a] = solution[n + a]
        for a in range(size):
            f[i, begin + a] = _add_row(cross[top + a], solution, solution[n + a], f[c, left:])


@njit(cache=True, nogil=True)
def _intercept(kinks, cost, goal, noise):
    """The middle of the interval of all b of least loss: where the cost of kinks below is goal."""
    low, high = -np.inf, np.inf
    while True:
        least, most, total, count = np.inf, -np.inf, 0.0, 0
        for a in range(kinks.shape[0]):
            if low < kinks[a] <= high:
                least, most = min(least, kinks[a]), max(most, kinks[a])
                total += kinks[a]
                count += 1
        if least >= most:
            break
        pivot = total / count
        if not least <= pivot < most:
            pivot = least
        below = 0.0
        for a in range(kinks.shape[0]):
            if kinks[a] <= pivot:
                below += cost[a]
        if below >= goal - noise:
            high = pivot
        else:
            low = pivot
    below, after = 0.0, np.inf
    for a in range(kinks.shape[0]):
        if kinks[a] <= most:
            below += cost[a]
        else:
            after = min(after, kinks[a])
    if below > goal + noise or after == np.inf:
        after = most
    return 0.5 * (most + after)


@njit(cache=True, nogil=True)
def _hinge_distance(z, u):
    """Distance of (z, u) to the graph of the subdifferential of the hinge loss."""
    beyond, inside = max(z - 1.0, 0.0), max(1.0 - z, 0.0)
    to_loss, to_zero = max(beyond, abs(u + 1.0)), max(inside, abs(u))
    to_kink = max(beyond + inside, max(u, 0.0), max(-1.0 - u, 0.0))
    return min(to_loss, to_zero, to_kink)


@njit(cache=True, nogil=True)
def certify_pairs(starts, cost, beta, f, i, j, stop, figures):
    """Fill ``figures[c]`` for the pairs of class i with the classes from j to ``stop``.

    Intercept, ‖w‖², primal value, duality gap, KKT residual, violation of the worst pair of rows,
    and the objective of the best constant, all in double precision. f becomes the slack of the row.
    """
    left, n = starts[i], starts[i + 1] - starts[i]
    for c in range(j, stop):
        begin, size = starts[c], starts[c + 1] - starts[c]
        m = n + size
        kinks, weight, own = np.empty(m), np.empty(m), np.empty(m)
        square = goal = rest = imbalance = total = 0.0
        up, down = np.inf, -np.inf
        for a in range(m):
            first = a < n
            line, row = (c, left + a) if first else (i, begin + a - n)
            t = 1.0 if first else -1.0
            kinks[a], weight[a], own[a] = t - f[line, row], cost[row], beta[line, row]
            square += own[a] * f[line, row]
            imbalance += own[a]
            total += abs(own[a])
            if first:
                goal += weight[a]
            else:
                rest += weight[a]
            if own[a] < (weight[a] if first else 0.0):
                up = min(up, -kinks[a])
            if own[a] > (0.0 if first else -weight[a]):
                down = max(down, -kinks[a])
        b = _intercept(kinks, weight, goal, 1e-12 * (goal + rest))
        primal, gap, kkt = 0.5 * square, abs(b * imbalance), 0.0
        for a in range(m):
            first = a < n
            line, row = (c, left + a) if first else (i, begin + a - n)
            t = 1.0 if first else -1.0
            z, u = t * (f[line, row] + b), -t * own[a] / weight[a]
            slack = max(1.0 - z, 0.0)
            primal += weight[a] * slack
            gap += weight[a] * ((1.0 + u) * slack - u * max(z - 1.0, 0.0))
            kkt = max(kkt, _hinge_distance(z, u))
            f[line, row] = slack
        kkt = max(kkt, abs(imbalance) / (total if total > 0.0 else 1.0))
        values = (b, square, primal, gap, kkt, max(down - up, 0.0), 2.0 * min(goal, rest))
        for k in range(7):
            figures[c, k] = values[k]
