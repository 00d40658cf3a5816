"""Dual coordinate descent over sparse or dense rows, and products with some of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.compilation import compiled

Array = Any
#: Neighboring rows that are taken one after the other: their entries arrive in the cache together.
CHUNK = 16


@compiled
def shuffle(order: Array, count: int, seed: int) -> int:
    """Shuffle the first ``count`` (linear congruential generator); returns the next seed."""
    state = np.uint64(seed)
    for at in range(count - 1, 0, -1):
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        other = int((state >> np.uint64(33)) % np.uint64(at + 1))
        order[at], order[other] = order[other], order[at]
    return int(state >> np.uint64(1))


@compiled
def best_coordinate(
    old: float, slope: float, curvature: float, epsilon: float, low: float, high: float
) -> float:
    """The β of least ½ k (β − old)² + slope (β − old) + ε|β| from ``low`` to ``high``."""
    if curvature <= 0.0:
        return high if slope < -epsilon else low if slope > epsilon else old
    new = old - slope / curvature
    kink = epsilon / curvature
    new = max(new - kink, 0.0) + min(new + kink, 0.0)
    return min(max(new, low), high)


@compiled
def sparse_dot(start: int, stop: int, indices: Array, data: Array, v: Array) -> float:
    """Σ x v over the entries ``start`` to ``stop``; four sums, so that none waits for another."""
    s0 = s1 = s2 = s3 = 0.0
    at = start
    while at + 4 <= stop:
        s0 += data[at] * v[np.uint64(indices[at])]
        s1 += data[at + 1] * v[np.uint64(indices[at + 1])]
        s2 += data[at + 2] * v[np.uint64(indices[at + 2])]
        s3 += data[at + 3] * v[np.uint64(indices[at + 3])]
        at += 4
    while at < stop:
        s0 += data[at] * v[np.uint64(indices[at])]
        at += 1
    return (s0 + s1) + (s2 + s3)


@compiled
def sparse_epoch(
    indptr: Array,
    indices: Array,
    data: Array,
    numbers: Array,
    rows: Array,
    chunks: Array,
    epsilon: float,
    beta: Array,
    w: Array,
    b: float,
    step: float,
) -> float:
    """Every one of ``rows``, in chunks, takes its best β with the others fixed; returns b.

    ``numbers`` are t, the bounds, the added diagonal and ‖x‖² of every row (n x 5). ``w`` = Xᵀβ is
    kept up to date, and b changes by ``step`` for every unit of Σβ.
    """
    for chunk in chunks:
        for at in range(CHUNK * chunk, min(CHUNK * chunk + CHUNK, len(rows))):
            i = rows[at]
            start, stop, old = indptr[i], indptr[i + 1], beta[i]
            slope = b + sparse_dot(start, stop, indices, data, w) - numbers[i, 0]
            slope += numbers[i, 3] * old
            curvature = numbers[i, 4] + step + numbers[i, 3]
            new = best_coordinate(old, slope, curvature, epsilon, numbers[i, 1], numbers[i, 2])
            if new == old:
                continue
            beta[i] = new
            b += step * (new - old)
            change = data.dtype.type(new - old)
            for p in range(start, stop):
                w[np.uint64(indices[p])] += change * data[p]
    return b


@compiled(fastmath={"reassoc", "contract"})
def dense_epoch(
    x: Array,
    numbers: Array,
    rows: Array,
    chunks: Array,
    epsilon: float,
    beta: Array,
    w: Array,
    b: float,
    step: float,
) -> float:
    """As :func:`sparse_epoch`, over dense rows."""
    d = len(w)
    for chunk in chunks:
        for at in range(CHUNK * chunk, min(CHUNK * chunk + CHUNK, len(rows))):
            i = rows[at]
            old = beta[i]
            score = 0.0
            for j in range(d):
                score += x[i, j] * w[j]
            slope = b + score - numbers[i, 0] + numbers[i, 3] * old
            curvature = numbers[i, 4] + step + numbers[i, 3]
            new = best_coordinate(old, slope, curvature, epsilon, numbers[i, 1], numbers[i, 2])
            if new == old:
                continue
            beta[i] = new
            b += step * (new - old)
            change = x.dtype.type(new - old)
            for j in range(d):
                w[j] += change * x[i, j]
    return b


@compiled
def some_rows_times(
    start: int,
    stop: int,
    rows: Array,
    indptr: Array,
    indices: Array,
    data: Array,
    v: Array,
    out: Array,
) -> None:
    """out[k] = x·v for the rows number ``start`` to ``stop`` of a list."""
    for k in range(start, stop):
        i = rows[k]
        out[k] = sparse_dot(indptr[i], indptr[i + 1], indices, data, v)


@compiled
def some_rows_sum(
    start: int,
    stop: int,
    rows: Array,
    indptr: Array,
    indices: Array,
    data: Array,
    r: Array,
    out: Array,
) -> None:
    """Out += Σ r[k] x over the rows number ``start`` to ``stop`` of a list."""
    for k in range(start, stop):
        i, factor = rows[k], r[k]
        if factor != 0.0:
            for p in range(indptr[i], indptr[i + 1]):
                out[np.uint64(indices[p])] += factor * data[p]


@compiled
def in_single(
    start: int, stop: int, indptr: Array, data: Array, single: Array, square: Array
) -> tuple[float, float]:
    """Copy rows to ``single`` and sum their squares; the least and the largest size of an entry."""
    least, most = np.inf, 0.0
    for i in range(start, stop):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            value = data[p]
            single[p] = value
            total += value * value
            if value != 0.0:
                least = min(least, abs(value))
                most = max(most, abs(value))
        square[i] = total
    return least, most
