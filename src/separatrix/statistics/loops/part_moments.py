"""Sums of products by part in one call: rows are gathered by part, centered and multiplied.

One call without the interpreter for a whole block: many short ones would wait for it in turn.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from separatrix.compilation import compiled
from separatrix.statistics.loops.class_sums import add_products

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Rows whose mean is the provisional center of their part.
CENTER_ROWS = 64


@compiled
def _part_order(labels: Ints, start: int, stop: int, low: int, ends: Ints, order: Ints) -> None:
    """Rows start … stop in stable order of their labels; those of low + k end at ends[k]."""
    for k in range(len(ends)):
        ends[k] = 0
    for i in range(start, stop):
        ends[labels[i] - low] += 1
    for k in range(1, len(ends)):
        ends[k] += ends[k - 1]
    for i in range(stop - 1, start - 1, -1):
        k = labels[i] - low
        ends[k] -= 1
        order[ends[k]] = i
    for k in range(len(ends) - 1):
        ends[k] = ends[k + 1]
    ends[len(ends) - 1] = stop - start


@compiled
def _gather(x: Floats, at: Ints, z: Floats) -> None:
    """z[j, i] = x[at[i], j]."""
    for j in range(x.shape[1]):
        for i in range(len(at)):
            z[j, i] = x[at[i], j]


@compiled
def add_parts(
    x: Floats,
    y: Floats,
    w: Floats,
    labels: Ints,
    low: int,
    order: Ints,
    z: Floats,
    counts: Ints,
    shift: Floats,
    sums: Floats,
) -> None:
    """Add z zᵀ to sums[k] over the rows labeled low + k, z = √w ((x, y) − shift[k], 1).

    As many rows as ``order`` has room for are sorted by part at a time, so that gathering stays in
    cache, and then multiplied in chunks for which ``z`` has room; its rows beyond those used are
    zero. ``shift[k]`` becomes the mean of the first rows of the part. No w stands for ones.
    """
    d, p, chunk = x.shape[1], shift.shape[1], z.shape[1]
    ends = np.empty(len(counts), np.int64)
    for first in range(0, len(labels), len(order)):
        _part_order(labels, first, min(first + len(order), len(labels)), low, ends, order)
        start = 0
        for k in range(len(ends)):
            while start < ends[k]:
                m = min(chunk, ends[k] - start)
                at = order[start : start + m]
                _gather(x, at, z[:d])
                _gather(y, at, z[d:p])
                if counts[k] == 0:
                    _first_means(z, min(m, CENTER_ROWS), shift[k])
                for j in range(p):
                    center = shift[k, j]
                    for i in range(m):
                        z[j, i] -= center
                for i in range(m):
                    z[p, i] = 1.0
                if len(w):
                    for i in range(m):
                        root = math.sqrt(w[at[i]])
                        for j in range(p + 1):
                            z[j, i] *= root
                add_products(z, m, sums[k])
                counts[k] += m
                start += m


@compiled
def _first_means(z: Floats, m: int, means: Floats) -> None:
    """means[j] = the mean of the first m of z[j]; 0 where it is not finite."""
    for j in range(len(means)):
        total = 0.0
        for i in range(m):
            total += z[j, i] / m
        means[j] = total if math.isfinite(total) else 0.0
