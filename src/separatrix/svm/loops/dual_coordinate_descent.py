"""Dual coordinate descent over sparse or dense rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.compilation import compiled
from separatrix.svm.loops.some_rows import sparse_dot

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
def change_coordinate(
    i: int, score: float, numbers: Array, epsilon: float, step: float, beta: Array
) -> float:
    """β of row i takes its best value with the others fixed; returns its change.

    That is the β of least ½ k (β − old)² + slope (β − old) + ε|β| between its bounds. ``numbers``
    are t, the bounds, the added diagonal and ‖x‖² of every row (n x 5).
    """
    old, low, high = beta[i], numbers[i, 1], numbers[i, 2]
    slope = score - numbers[i, 0] + numbers[i, 3] * old
    curvature = numbers[i, 4] + step + numbers[i, 3]
    if curvature <= 0.0:
        new = high if slope < -epsilon else low if slope > epsilon else old
    else:
        new, kink = old - slope / curvature, epsilon / curvature
        new = max(new - kink, 0.0) + min(new + kink, 0.0)
        new = min(max(new, low), high)
    beta[i] = new
    return new - old  # type: ignore[no-any-return]


@compiled
def sparse_epoch(
    begins: Array,
    ends: Array,
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

    ``w`` = Xᵀβ is kept up to date, and b changes by ``step`` for every unit of Σβ.
    """
    for chunk in chunks:
        for at in range(CHUNK * chunk, min(CHUNK * chunk + CHUNK, len(rows))):
            i = rows[at]
            score = b + sparse_dot(begins[i], ends[i], indices, data, w)
            change = change_coordinate(i, score, numbers, epsilon, step, beta)
            if change != 0.0:
                b += step * change
                factor = data.dtype.type(change)
                for p in range(begins[i], ends[i]):
                    w[np.uint64(indices[p])] += factor * data[p]
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
    for chunk in chunks:
        for at in range(CHUNK * chunk, min(CHUNK * chunk + CHUNK, len(rows))):
            i = rows[at]
            row, score = x[i], 0.0
            for j in range(len(w)):
                score += row[j] * w[j]
            change = change_coordinate(i, b + score, numbers, epsilon, step, beta)
            if change != 0.0:
                b += step * change
                for j in range(len(w)):
                    w[j] += change * row[j]
    return b
