"""All distances among some points in single precision, in a unit of their own size."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.blas_threads import one_blas_thread
from separatrix.rows.block import Floats
from separatrix.similarity.metrics.base import Metric
from separatrix.similarity.metrics.chosen import GivenDistances
from separatrix.similarity.metrics.vectors import Euclidean

#: Distances that one thread holds at once.
PIECE = 500_000


def pair_distances(metric: Metric, points: Any, index: NDArray[np.int64]) -> NDArray[np.float32]:
    """d(x, z) for all pairs of the points ``index``, in a unit that keeps them near 1."""
    if isinstance(metric, GivenDistances):
        given = points[np.ix_(index, index)]
        return np.asarray(given / (given.max(initial=0.0) or 1.0), dtype=np.float32)
    some = points[index] if isinstance(points, np.ndarray) else [points[i] for i in index]
    if type(metric) is Euclidean:
        return _euclidean(np.asarray(some))
    out = np.empty((len(some), len(some)), dtype=np.float32)
    unit = 0.0
    for rows, block in metric.against(some).blocks(some):
        unit = unit or float(block.max(initial=0.0))
        out[rows] = block / (unit or 1.0)
    return out


def _euclidean(x: Floats) -> NDArray[np.float32]:
    """Products in double precision about the mean, roots in single; equal rows are 0 apart."""
    z = x - x.mean(axis=0)
    unit = float(np.abs(z).max(initial=0.0)) or 1.0
    z /= unit
    square = np.einsum("ij,ij->i", z, z)
    noise = 4 * np.finfo(float).eps * (z.shape[1] + 4) * float(square.max(initial=0.0))
    out = np.empty((len(z), len(z)), dtype=np.float32)
    step = max(1, PIECE // len(z))
    half, twice = 0.5 * square, z.T * -1.0

    def fill(a: int) -> None:
        part = z[a : a + step] @ twice
        part += half
        part += half[a : a + step, None]
        part[part <= noise] = 0.0
        rows = out[a : a + step]
        rows[:] = part
        np.sqrt(rows, out=rows)

    with one_blas_thread(), ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(fill, range(0, len(z), step)))
    return out
