"""Values along a column: a grid for curves over it, and edges for a histogram of it."""

from __future__ import annotations

import numpy as np

from separatrix.rows.block import Floats

#: Points of a grid, and bins of a histogram, at most.
MOST_POINTS, MOST_BINS = 24, 24
#: A range so many times that of all but the outermost hundredth is cut.
LONG_TAIL = 2.0


def value_grid(values: Floats, most: int = MOST_POINTS) -> Floats:
    """All distinct values of few; of many, two thirds at quantiles and one third at even steps.

    The outermost hundredth on either side is left out: few rows are there.
    """
    distinct = np.unique(values)
    if len(distinct) <= most:
        return distinct
    at = np.linspace(0.01, 0.99, 2 * most // 3)
    steps = np.quantile(values, at, method="inverted_cdf")
    even = np.linspace(steps[0], steps[-1], most // 3 + 2)[1:-1]
    if (distinct == np.round(distinct)).all():
        even = np.round(even)
    return np.unique(np.concatenate([steps, even]))


def histogram_edges(values: Floats, most: int = MOST_BINS) -> Floats:
    """Edges of bins of equal width: integers in the middle of theirs, long tails cut."""
    low, high = float(values.min()), float(values.max())
    inner = np.quantile(values, [0.005, 0.995])
    if high - low > LONG_TAIL * (inner[1] - inner[0]) > 0:
        low, high = float(inner[0]), float(inner[1])
    if low == high:
        return np.array([low - 0.5, low + 0.5])
    integer = bool((values == np.round(values)).all())
    bins = int(np.clip(np.sqrt(len(values)), 6, most))
    if not integer:
        return np.linspace(low, high, bins + 1)
    low, high = np.floor(low), np.ceil(high)
    step = 1.0 if high - low < most else np.ceil((high - low + 1) / bins)
    return np.asarray(low - 0.5 + step * np.arange(np.ceil((high - low + 1) / step) + 1))
