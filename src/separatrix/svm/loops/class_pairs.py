"""Binary SVMs of pairs of classes, many of them in one call.

Rows are in order of their classes, class c from ``starts[c]`` to ``starts[c + 1]``. Coefficients of
the rows of class i in the pair with class j are ``beta[j, starts[i]:starts[i + 1]]``, and their
f = Kβ likewise; the lower class of a pair has t = +1.
"""

from __future__ import annotations

import numpy as np

from separatrix.compilation import compiled

#: Rows that are transposed at a time.
_SQUARE = 16
_FAST = {"reassoc", "nsz", "arcp", "contract"}


@compiled
def fill_pair(cross, top, n, within, first, second, gram):
    """The Gram matrix of a pair in single precision: two classes within, ``cross`` between."""
    size = gram.shape[0] - n
    for a in range(n):
        for b in range(n):
            gram[a, b] = within[first + a * n + b]
    for a in range(size):
        for b in range(n):
            gram[n + a, b] = cross[top + a, b]
        for b in range(size):
            gram[n + a, n + b] = within[second + a * size + b]
    for left in range(0, size, _SQUARE):  # transposed in squares that stay in the cache
        right = min(left + _SQUARE, size)
        for b in range(n):
            for a in range(left, right):
                gram[b, n + a] = gram[n + a, b]


@compiled(fastmath=_FAST)
def _add_row(row, beta, weight, f):
    """f += weight · row; the product of row and β is returned."""
    value = 0.0
    for b in range(row.shape[0]):
        value += row[b] * beta[b]
        f[b] += weight * row[b]
    return value


@compiled
def add_products(cross, top, starts, i, c, beta, f):
    """f of the rows of classes i and c, each from the coefficients of the other class."""
    left, n = starts[i], starts[i + 1] - starts[i]
    begin = starts[c]
    own, sums = beta[c, left : left + n], f[c, left : left + n]
    for a in range(starts[c + 1] - begin):
        f[i, begin + a] = _add_row(cross[top + a], own, beta[i, begin + a], sums)


@compiled
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


@compiled
def _hinge_distance(z, u):
    """Distance of (z, u) to the graph of the subdifferential of the hinge loss."""
    beyond, inside = max(z - 1.0, 0.0), max(1.0 - z, 0.0)
    to_loss, to_zero = max(beyond, abs(u + 1.0)), max(inside, abs(u))
    to_kink = max(beyond + inside, max(u, 0.0), max(-1.0 - u, 0.0))
    return min(to_loss, to_zero, to_kink)


@compiled
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
