"""Smallest and largest value of every column."""

from __future__ import annotations

import numpy as np

from separatrix.rows.block import Floats

#: Values that are compared at a time.
WIDTH = 2048


def column_extremes(x: Floats) -> Floats:
    """The smallest and the largest value of every column of a dense matrix (2 x d)."""
    return np.stack([_extreme(np.minimum, x), _extreme(np.maximum, x)])


def _extreme(choose: np.ufunc, x: Floats) -> Floats:
    """The extreme of every column; of many rows at a time, since columns are few."""
    n, d = x.shape
    together = max(1, WIDTH // max(d, 1))
    if n < 2 * together or not x.flags.c_contiguous:
        return np.asarray(choose.reduce(x, axis=0))
    whole = n // together * together
    wide = choose.reduce(x[:whole].reshape(-1, together * d), axis=0).reshape(together, d)
    return np.asarray(choose.reduce(np.concatenate([wide, x[whole:]]), axis=0))
