"""Levels counted by class, looked up by their codes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from separatrix.compilation import compiled

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@compiled
def largest_codes(x: Floats, columns: Codes, most: float, found: Codes) -> None:
    """Raise ``found`` to the largest value of each column; −1 where one is no code."""
    for i in range(x.shape[0]):
        for c in range(columns.shape[0]):
            v = x[i, columns[c]]
            if v != v:
                continue
            if not 0.0 <= v <= most or v != int(v):
                found[c] = -1
                return
            found[c] = max(found[c], int(v))


@compiled
def add_levels(
    x: Floats, codes: Codes, w: Floats, columns: Codes, starts: Codes, counts: Floats
) -> None:
    """Add the weight of a row to ``counts[level, class]`` of each of its values.

    The levels of ``columns[c]`` are ``starts[c]``, ``starts[c] + 1``, …; NaN is the last of them.
    """
    for i in range(x.shape[0]):
        k, weight = codes[i], w[i]
        for c in range(columns.shape[0]):
            v = x[i, columns[c]]
            at = starts[c + 1] - 1 if v != v else starts[c] + int(v)
            counts[at, k] += weight
