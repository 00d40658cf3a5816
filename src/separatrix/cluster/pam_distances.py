"""All distances among some points in single precision, in a unit of their own size."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.distances.base import Metric
from separatrix.distances.names import PrecomputedDistances
from separatrix.distances.vectors import Euclidean, SquaredEuclidean
from separatrix.rows.block import Floats
from separatrix.threads import one_blas_thread

#: Distances that one thread holds at once.
PIECE = 500_000
#: Squares below this share of the largest come out of products with less than single precision.
NEAR = 1e-8


def pair_distances(metric: Metric, points: Any, index: NDArray[np.int64]) -> NDArray[np.float32]:
    """d(x, z) for all pairs of the points ``index``, in a unit that keeps them near 1."""
    if isinstance(metric, PrecomputedDistances):
        given = points[np.ix_(index, index)]
        return np.asarray(given / (given.max(initial=0.0) or 1.0), dtype=np.float32)
    some = points[index] if isinstance(points, np.ndarray) else [points[i] for i in index]
    if type(metric) is Euclidean:
        return _euclidean(np.asarray(some))
    out = np.empty((len(some), len(some)), dtype=np.float32)
    unit = 0.0
    for rows, block in metric.prepare(some).blocks(some):
        unit = unit or float(block.max(initial=0.0))
        out[rows] = block / (unit or 1.0)
    return out


def _euclidean(x: Floats) -> NDArray[np.float32]:
    """Products in double precision about the mean, roots in single.

    Squares that are small beside the largest lose their digits in the products: such pairs, and
    all pairs of a piece with many of them, are measured coordinate by coordinate.
    """
    z = x - x.mean(axis=0)
    unit = float(np.abs(z).max(initial=0.0)) or 1.0
    z /= unit
    square = np.einsum("ij,ij->i", z, z)
    few_digits = NEAR * float(square.max(initial=0.0))
    out = np.empty((len(z), len(z)), dtype=np.float32)
    step = max(1, PIECE // len(z))
    half, twice = 0.5 * square, z.T * -1.0

    def fill(a: int) -> None:
        part = z[a : a + step] @ twice
        part += half
        part += half[a : a + step, None]
        _measured_again(part, z, a, few_digits)
        rows = out[a : a + step]
        rows[:] = part
        np.sqrt(rows, out=rows)

    with one_blas_thread(), ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(fill, range(0, len(z), step)))
    return out


def _measured_again(halves: Floats, z: Floats, start: int, few_digits: float) -> None:
    """½ ‖x − z‖² of pairs nearer than products can tell; rows from ``start`` on to all."""
    i, j = np.nonzero(halves <= few_digits)
    if len(i) > 4 * len(z):
        metric = SquaredEuclidean()
        metric.fill(z[start : start + len(halves)], metric.precompute(z), halves)
        halves *= 0.5
    else:
        away = z[start + i] - z[j]
        halves[i, j] = 0.5 * np.einsum("ij,ij->i", away, away)
