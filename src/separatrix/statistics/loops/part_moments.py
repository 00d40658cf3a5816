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


@compiled
def part_order(labels: Ints, low: int, ends: Ints, order: Ints) -> None:
    """Positions of the rows in stable order of their labels; those of low + k end at ends[k]."""
    for i in range(len(labels)):
        ends[labels[i] - low] += 1
    for k in range(1, len(ends)):
        ends[k] += ends[k - 1]
    for i in range(len(labels) - 1, -1, -1):
        k = labels[i] - low
        ends[k] -= 1
        order[ends[k]] = i
    for k in range(len(ends) - 1):
        ends[k] = ends[k + 1]
    ends[len(ends) - 1] = len(labels)


@compiled
def add_parts(
    x: Floats, y: Floats, w: Floats, shift: Floats, order: Ints, ends: Ints, z: Floats, sums: Floats
) -> None:
    """Add z zᵀ to sums[k] over the rows of part k, z = √w ((x, y) − shift, 1), chunk by chunk.

    ``z`` has the room of a chunk, its rows beyond those are zero; no w stands for ones.
    """
    d, p, chunk = x.shape[1], len(shift), z.shape[1]
    start = 0
    for k in range(len(ends)):
        while start < ends[k]:
            m = min(chunk, ends[k] - start)
            for j in range(p):
                center = shift[j]
                if j < d:
                    for i in range(m):
                        z[j, i] = x[order[start + i], j] - center
                else:
                    for i in range(m):
                        z[j, i] = y[order[start + i], j - d] - center
            for i in range(m):
                z[p, i] = 1.0
            if len(w):
                for i in range(m):
                    root = math.sqrt(w[order[start + i]])
                    for j in range(p + 1):
                        z[j, i] *= root
            add_products(z, m, sums[k])
            start += m
