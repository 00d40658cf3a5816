"""Sums by class and column, and scores of naive Bayes; NaN is a missing value."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from separatrix.compilation import compiled

Floats = NDArray[np.float64]


@compiled
def add_by_class(
    x: Floats,
    codes: NDArray[np.int64],
    w: Floats,
    shift: Floats,
    seen: Floats,
    first: Floats,
    second: Floats,
) -> None:
    """Add Σw, Σw(x − shift) and Σw(x − shift)² of every class and column, without missing values.

    ``shift`` is a value of the class itself, so that the squares lose no digits.
    """
    for i in range(x.shape[0]):
        k, weight = codes[i], w[i]
        for j in range(x.shape[1]):
            v = x[i, j] - shift[k, j]
            present = v == v  # NaN is not equal to itself
            u = weight if present else 0.0
            v = v if present else 0.0
            seen[k, j] += u
            first[k, j] += u * v
            second[k, j] += u * v * v


@compiled
def add_squares(
    x: Floats, codes: NDArray[np.int64], w: Floats, shift: Floats, first: Floats, second: Floats
) -> None:
    """Add Σw(x − shift) and Σw(x − shift)² of every class and column where no value is missing.

    Empty weights stand for a weight of one each.
    """
    unweighted = len(w) == 0
    for i in range(x.shape[0]):
        k = codes[i]
        weight = 1.0 if unweighted else w[i]
        for j in range(x.shape[1]):
            v = x[i, j] - shift[k, j]
            first[k, j] += weight * v
            second[k, j] += weight * v * v


@compiled(fastmath={"reassoc", "contract"})
def add_gaussian_scores(
    x: Floats, mean: Floats, precision: Floats, constant: Floats, scores: Floats
) -> None:
    """Add Σⱼ cₖⱼ − ½ pₖⱼ (xⱼ − μₖⱼ)² to the score of every row and class, over observed values.

    Computed from the differences, so that no digits are lost far from the origin.
    """
    for i in range(x.shape[0]):
        for k in range(mean.shape[0]):
            total = 0.0
            for j in range(x.shape[1]):
                v = x[i, j] - mean[k, j]
                term = constant[k, j] - 0.5 * precision[k, j] * v * v
                total += term if v == v else 0.0
            scores[i, k] += total


@compiled
def add_level_scores(
    x: Floats,
    columns: NDArray[np.int64],
    values: Floats,
    starts: NDArray[np.int64],
    logs: Floats,
    scores: Floats,
) -> bool:
    """Add the row of ``logs`` (levels x K) of each value's level to the scores of its row.

    The levels of ``columns[c]`` are ``values[starts[c]:starts[c + 1]]``, ascending. NaN adds
    nothing. Returns False at the first value that is no level; the scores are then incomplete.
    """
    for i in range(x.shape[0]):
        for c in range(columns.shape[0]):
            v = x[i, columns[c]]
            if v != v:
                continue
            low, high = starts[c], starts[c + 1] - 1
            if not (low <= high and values[low] <= v <= values[high]):
                return False
            at = min(low + int(v - values[low]), high)  # exact for levels 0, 1, 2, …
            if values[at] != v:
                while low < high:
                    at = (low + high) // 2
                    if values[at] < v:
                        low = at + 1
                    else:
                        high = at
                at = low
                if values[at] != v:
                    return False
            for k in range(scores.shape[1]):
                scores[i, k] += logs[at, k]
    return True
