"""Permutation importance: the mean rise of a loss when one column is taken from other rows.

    importance = mean over rows i, donors j ≠ i of loss(row i with the column of row j) − loss(i)

Every row is in two roles, as itself and as a donor. With aᵢ the mean rise of row i and bᵢ that of
the rows which took their value from it, the mean ā has variance var(a + b − ā)/n. Counting rows
alone gives intervals that are too short: they cover the truth about four times in five.
"""

from __future__ import annotations

import numpy as np

from separatrix.rows.block import Floats, Ints

_Z = 1.959963984540054


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
    return mean, _Z * error
