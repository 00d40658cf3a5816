"""Columns of a working set, dense or sparse, in units of one: moments, sweeps, scores.

Sparse columns are scaled and not centered, dense ones are centered; with a free intercept, which
coordinate descent eliminates, that makes no difference to the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from separatrix.logistic.lasso.loops import (
    dense_moments,
    dense_sweep,
    sparse_moments,
    sparse_sweep,
)
from separatrix.matrices.products import SparseProducts
from separatrix.matrices.standardized import Standardized
from separatrix.rows.block import Floats, Ints
from separatrix.threads import parallel_map, pieces

#: Multiplications that are worth another thread.
MIN_WORK = 50_000


@dataclass(frozen=True)
class Model:
    """A quadratic model of one score: slopes ``u``, curvatures ``h`` by row, and penalties.

    ``first`` and ``second`` are Σ h x and the curvature of each column; ``state`` is that of
    :func:`sparse_sweep`.
    """

    u: Floats
    h: Floats
    first: Floats
    second: Floats
    state: Floats


class Columns(Protocol):
    """The columns of a working set.

    ``center`` is what centering would still subtract from each column, in its unit.
    """

    count: int
    center: Floats

    def grow(self, new: Ints) -> None:
        """Add columns."""
        ...

    def moments(self, h: Floats, total: float) -> tuple[Floats, Floats]:
        """Σ h x, and the curvature with the intercept eliminated if ``total`` = Σ h is not 0."""
        ...

    def sweep(
        self, order: Ints, model: Model, l1: Floats, l2: Floats, theta: Floats, move: Floats
    ) -> float:
        """Minimize the model over each column in turn; the largest violation met."""
        ...

    def times(self, theta: Floats) -> Floats:
        """Σ θⱼ xⱼ (scores x n); θ has a column for every score."""
        ...


def columns_of(z: Standardized, *, ones: bool) -> Columns:
    """A working set without columns of ``z`` yet, or with a column of ones."""
    if isinstance(z.x, SparseProducts):
        return _SparseColumns(z, z.x, ones=ones)
    return _DenseColumns(z, ones=ones)


def _in_parts(count: int, work: int, part: Any) -> None:
    """Run ``part(start, stop)`` over ``count`` columns of ``work`` each, on threads."""
    cuts = pieces(count, max(1, MIN_WORK // max(work, 1)))
    parallel_map(lambda cut: part(cut.start, cut.stop), cuts)


class _DenseColumns:
    """Dense columns, one in each row of a buffer that doubles."""

    def __init__(self, z: Standardized, *, ones: bool) -> None:
        self.z, self.buffer = z, np.ones((64, z.shape[0]))
        self.count = int(ones)
        self.center = np.zeros(self.count)

    @property
    def columns(self) -> Floats:
        return self.buffer[: self.count]

    def grow(self, new: Ints) -> None:
        first, self.count = self.count, self.count + len(new)
        if self.count > len(self.buffer):
            buffer = np.empty((2 * self.count, self.buffer.shape[1]))
            buffer[:first] = self.buffer[:first]
            self.buffer = buffer
        out = self.buffer[first : self.count]

        def part(cut: slice) -> None:
            out[cut] = self.z.columns(new[cut]).T

        parallel_map(part, pieces(len(new), max(8, MIN_WORK // max(out.shape[1], 1))))
        self.center = np.zeros(self.count)

    def moments(self, h: Floats, total: float) -> tuple[Floats, Floats]:
        count, n = self.columns.shape
        first, second = np.empty(count), np.empty(count)
        _in_parts(count, n, lambda i, j: dense_moments(i, j, self.columns, h, total, first, second))
        return first, second

    def sweep(
        self, order: Ints, model: Model, l1: Floats, l2: Floats, theta: Floats, move: Floats
    ) -> float:
        m = model
        return float(
            dense_sweep(
                order, self.columns, m.first, m.second, l1, l2, m.h, m.u, theta, move, m.state
            )
        )

    def times(self, theta: Floats) -> Floats:
        out = np.empty((theta.shape[1], self.buffer.shape[1]))
        used = np.flatnonzero(theta.any(axis=1))
        weights = np.ascontiguousarray(theta[used].T)

        def part(rows: slice) -> None:
            out[:, rows] = weights @ self.buffer[used, rows]

        parallel_map(part, pieces(out.shape[1], max(1, MIN_WORK // max(len(used), 1))))
        return out


class _SparseColumns:
    """Compressed columns, divided by their units."""

    def __init__(self, z: Standardized, x: SparseProducts, *, ones: bool) -> None:
        n = z.shape[0]
        self.z, self.x, self.n, self.count = z, x, n, int(ones)
        self.data = np.ones(n * self.count)
        self.indices = np.arange(n * self.count, dtype=np.int32)
        self.indptr = np.arange(self.count + 1, dtype=np.int64) * n
        self.center = np.zeros(self.count)

    def grow(self, new: Ints) -> None:
        some, unit = self.x.by_column[:, new], self.z.scale[new]
        data = some.data / np.repeat(unit, np.diff(some.indptr))
        self.data = np.concatenate([self.data, data])
        self.indices = np.concatenate([self.indices, some.indices.astype(np.int32)])
        self.indptr = np.concatenate([self.indptr, self.indptr[-1] + some.indptr[1:]])
        self.center = np.concatenate([self.center, self.z.center[new] / unit])
        self.count += len(new)

    def moments(self, h: Floats, total: float) -> tuple[Floats, Floats]:
        first, second = np.empty(self.count), np.empty(self.count)
        entries = len(self.data) // max(self.count, 1)
        _in_parts(
            self.count,
            4 * entries,
            lambda i, j: sparse_moments(
                i, j, self.indptr, self.indices, self.data, h, total, first, second
            ),
        )
        return first, second

    def sweep(
        self, order: Ints, model: Model, l1: Floats, l2: Floats, theta: Floats, move: Floats
    ) -> float:
        m, here = model, (self.indptr, self.indices, self.data)
        return float(
            sparse_sweep(order, *here, m.first, m.second, l1, l2, m.h, m.u, theta, move, m.state)
        )

    def times(self, theta: Floats) -> Floats:
        lengths = np.diff(self.indptr)
        used = np.repeat(theta.any(axis=1), lengths)
        at = np.repeat(np.arange(self.count, dtype=np.int32), lengths)[used]
        data, indices = self.data[used], self.indices[used]
        return np.array(
            [np.bincount(indices, data * theta[at, k], self.n) for k in range(theta.shape[1])]
        )
