"""Rows about the center of their class."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from separatrix.compilation import compiled

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@compiled
def shift_rows(
    x: Floats, rows: Codes, codes: Codes, w: Floats, shift: Floats, first: Floats, z: Floats
) -> None:
    """z = √w (x − sₖ) of some rows, each of class k, and Σ w (x − sₖ) added to ``first[k]``.

    Empty weights stand for a weight of one each.
    """
    unweighted = len(w) == 0
    for r in range(rows.shape[0]):
        i = rows[r]
        k = codes[i]
        weight = 1.0 if unweighted else w[i]
        root = math.sqrt(weight)
        for j in range(x.shape[1]):
            v = x[i, j] - shift[k, j]
            first[k, j] += weight * v
            z[r, j] = root * v
