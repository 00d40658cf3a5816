"""What is said of single columns: extremes, grids, correlation, permutation importance."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from separatrix.arrays import Floats, Ints

# -------------------------------------------------------------------------------------------------
# Smallest and largest value of every column.


def column_extremes(x: Floats) -> Floats:
    """The smallest and the largest value of every column of a dense matrix (2 x d)."""
    return np.stack([_extreme(np.minimum, x), _extreme(np.maximum, x)])


def _extreme(choose: np.ufunc, x: Floats) -> Floats:
    """The extreme of every column; of many rows at a time, since columns are few."""
    n, d = x.shape
    together = max(1, 2048 // max(d, 1))  # values that are compared at a time
    if n < 2 * together or not x.flags.c_contiguous:
        return np.asarray(choose.reduce(x, axis=0))
    whole = n // together * together
    wide = choose.reduce(x[:whole].reshape(-1, together * d), axis=0).reshape(together, d)
    return np.asarray(choose.reduce(np.concatenate([wide, x[whole:]]), axis=0))


# -------------------------------------------------------------------------------------------------
# Values along a column: a grid for curves over it, and edges for a histogram of it.


#: Points of a grid, and bins of a histogram, at most.
MOST_POINTS, MOST_BINS = 24, 24


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
    # A range so many times that of all but the outermost hundredth is cut.
    if high - low > 2.0 * (inner[1] - inner[0]) > 0:
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


# -------------------------------------------------------------------------------------------------
# Pearson's correlation of every pair of columns, each over the rows that have both.


def pairwise_correlations(x: Floats, present: Floats, w: Floats) -> Floats:
    """r of every pair; NaN where one of the two does not vary.

    ``present`` is 1 where ``x`` has a value and 0 where it is missing; ``w`` are weights of rows.
    """
    mass = present * w[:, None]
    total = np.maximum(mass.sum(axis=0), np.finfo(float).tiny)
    center = (mass * np.where(present > 0, x, 0.0)).sum(axis=0) / total
    z = np.where(present > 0, x - center, 0.0)
    scale = np.sqrt((mass * z**2).sum(axis=0) / total)
    z /= np.where(scale > 0, scale, 1.0)
    both = present.T @ mass
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (z.T @ mass) / both  # of column i over the rows that have j too
        variance = (z**2).T @ mass / both - mean**2
        product = (z.T @ (w[:, None] * z)) / both - mean * mean.T
        r = product / np.sqrt(variance * variance.T)
        # a column varies over some rows if its variance there is more than this part of its own
        varies = np.minimum(variance, variance.T) > 1e-12
    return np.asarray(np.where(varies, np.clip(r, -1.0, 1.0), np.nan))


# -------------------------------------------------------------------------------------------------
# Permutation importance: the mean rise of a loss when one column is taken from other rows.
#
#     importance = mean over rows i, donors j ≠ i of loss(row i with the column of row j) − loss(i)
#
# Every row is in two roles, as itself and as a donor. With aᵢ the mean rise of row i and bᵢ that of
# the rows which took their value from it, the mean ā has variance var(a + b − ā)/n. Counting rows
# alone gives intervals that are too short: they cover the truth about four times in five.


def donor_rows(n: int, repeats: int, seed: int) -> Ints:
    """Row i takes its value from row ``donors[r, i]``, never from itself, nor twice from another.

    Shifts along one random order; ``repeats`` is less than n.
    """
    order = np.random.default_rng(seed).permutation(n)
    donors = np.empty((repeats, n), dtype=np.int64)
    for r in range(repeats):
        donors[r, order] = np.roll(order, -(r + 1))
    return donors


def mean_rise(rise: Floats, donors: Ints, w: Floats) -> tuple[float, float]:
    """The mean of ``rise`` (repeats x rows), and half the width of its 95 % interval."""
    n, mean = rise.shape[1], float(np.average(rise.mean(axis=0), weights=w))
    influence = (w * (rise - mean)).mean(axis=0)
    for r, taken in enumerate(donors):
        influence[taken] += w * (rise[r] - mean) / len(donors)
    error = float(np.sqrt((influence**2).sum() * n / (n - 1))) / float(w.sum())
    return mean, float(ndtri(0.975)) * error
