"""Sums of counts by class, and their logarithms: what naive Bayes on counts is made of."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from separatrix.compilation import compiled

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@compiled
def add_compressed_counts(
    rows: Codes,
    codes: Codes,
    first: int,
    indptr: Codes,
    indices: NDArray[np.int32],
    data: Floats,
    w: Floats,
    counts: Floats,
) -> bool:
    """Add w x of some compressed rows to ``counts[k − first]`` of their class k.

    Empty weights stand for a weight of one each. Returns whether every value is at least zero.
    """
    unweighted, good = len(w) == 0, True
    for at in range(rows.shape[0]):
        i = rows[at]
        k = codes[i] - first
        weight = 1.0 if unweighted else w[i]
        for p in range(indptr[i], indptr[i + 1]):
            v = data[p]
            good &= v >= 0.0
            counts[k, indices[p]] += weight * v
    return good


@compiled
def add_counts(x: Floats, codes: Codes, w: Floats, counts: Floats) -> bool:
    """The same for dense rows."""
    unweighted, bad = len(w) == 0, 0
    for i in range(x.shape[0]):
        k = codes[i]
        weight = 1.0 if unweighted else w[i]
        for j in range(x.shape[1]):
            v = x[i, j]
            bad |= 0 if v >= 0.0 else 1
            counts[k, j] += weight * v
    return bad == 0


@compiled
def log_counts(
    start: int, stop: int, counts: Floats, added: float, logs: Floats, minus: Floats, out: Floats
) -> None:
    """out[j, k] = ln(counts[k, j] + a) − minus[k] for the columns start to stop.

    ``logs`` holds ln(c + a) of the counts c = 0, 1, 2, …, which most counts of texts are.
    """
    most = len(logs)
    for j in range(start, stop):
        for k in range(counts.shape[0]):
            c = counts[k, j]
            whole = int(c) if c < most else most
            if whole < most and whole == c:
                out[j, k] = logs[whole] - minus[k]
            else:
                out[j, k] = math.log(c + added) - minus[k]
