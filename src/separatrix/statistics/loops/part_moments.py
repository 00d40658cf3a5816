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
# An integer of NumPy: a number in the source would compile a variant of its own.
FIRST = np.int64(0)


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
def _gather(x: Floats, order: Ints, start: int, m: int, z: Floats, first: int) -> None:
    """z[first + j, i] = x[order[start + i], j] of m rows."""
    for j in range(x.shape[1]):
        for i in range(m):
            z[first + j, i] = x[order[start + i], j]


@compiled
def add_parts(
    x: Floats,
    y: Floats,
    w: Floats,
    labels: Ints,
    low: int,
    order: Ints,
    ends: Ints,
    z: Floats,
    counts: Ints,
    shift: Floats,
    sums: Floats,
) -> None:
    """Add z zᵀ to sums[k] over the rows labeled low + k, z = √w ((x, y) − shift[k], 1).

    As many rows as ``order`` has room for are sorted by part at a time, so that gathering stays in
    cache, and then multiplied in chunks for which ``z`` has room; its rows beyond those used are
    zero. There is room for the ``ends`` of the parts. ``shift[k]`` becomes the mean of the first
    rows of the part. No w stands for ones.
    """
    d, p, chunk = x.shape[1], shift.shape[1], z.shape[1]
    for first in range(0, len(labels), len(order)):
        last = first + len(order) if first + len(order) < len(labels) else len(labels)
        _part_order(labels, first, last, low, ends, order)
        start = 0
        for k in range(len(ends)):
            while start < ends[k]:
                m = chunk if chunk < ends[k] - start else ends[k] - start
                _gather(x, order, start, m, z, FIRST)
                _gather(y, order, start, m, z, d)
                for j in range(p):
                    if counts[k] == 0:
                        shift[k, j] = _mean(z, j, m if m < CENTER_ROWS else CENTER_ROWS)
                    center = shift[k, j]
                    for i in range(m):
                        z[j, i] -= center
                for i in range(m):
                    z[p, i] = 1.0
                if len(w):
                    for i in range(m):
                        root = math.sqrt(w[order[start + i]])
                        for j in range(p + 1):
                            z[j, i] *= root
                add_products(z, m, sums[k])
                counts[k] += m
                start += m


@compiled
def _mean(z: Floats, j: int, m: int) -> float:
    """The mean of the first m of z[j]; 0 where it is not finite."""
    total = 0.0
    for i in range(m):
        total += z[j, i] / m
    return total if math.isfinite(total) else 0.0
