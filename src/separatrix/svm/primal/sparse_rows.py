"""Products with some rows of a sparse matrix, and epochs of coordinate descent over them.

Sums over rows are cut at places that depend on the shape alone and added in order, so that results
are the same bits on any number of threads. Epochs and conjugate gradients take the numbers in
single precision, which is half of the memory to read; their beginnings and results are in double.

Columns of heavy weight are numbered first, and come first in every row: they are what makes rows of
text depend on each other, and what the preconditioner takes together
(:mod:`separatrix.svm.primal.preconditioner`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.rows.block import Floats, Ints
from separatrix.svm.loops.dual_coordinate_descent import sparse_epoch
from separatrix.svm.loops.some_rows import (
    heavy_first,
    in_single,
    some_rows_gram,
    some_rows_sum,
    some_rows_times,
    with_own_columns,
)
from separatrix.threads import parallel_map, pieces

#: Entries that are worth a piece of their own; parts that a sum over rows has at most.
_WORK, _PARTS = 60_000, 16
#: Entries from which on single precision saves more time than its loops take to compile.
_LARGE = 500_000
#: Columns are heavy from this sum of x²/‖x‖² over the rows on; this many at most.
_HEAVY, _MOST = 1.0, 256
#: Rows from whose sums heavy columns are told, and how many of these have an entry there.
_SAMPLE, _ENTRIES = 2_000, 30
#: Steps of conjugate gradients at most, and multiplications that take as long as one begins.
_STEPS, _OVERHEAD = 150, 3_000_000
#: Rows are copied with their own columns where they are fewer than this share of all.
_FEW = 0.2


@dataclass(frozen=True)
class Entries:
    """Compressed rows whose first entries are those of heavy columns."""

    begins: Ints
    heavy_ends: Ints
    ends: Ints
    indices: Ints
    data: Any
    width: int

    @property
    def rows(self) -> tuple[Any, ...]:
        """What loops over whole rows take."""
        return self.begins, self.ends, self.indices, self.data

    @property
    def heavy(self) -> tuple[Any, ...]:
        """What loops over the heavy columns of rows take."""
        return self.begins, self.heavy_ends, self.indices, self.data


class SparsePart:
    """Some rows, in single precision: few of them are copied, with columns of their own."""

    def __init__(self, entries: Entries, rows: Ints, mean: int, heavy: int) -> None:
        self.entries, self.rows, self.mean, self.heavy = entries, rows, mean, heavy

    def times(self, v: Floats) -> Floats:
        """x·v of the rows."""
        return _times(self.entries.rows, self.rows, v, self.mean)

    def weighted_sum(self, r: Floats) -> Floats:
        """Σ r x over the rows, in the columns that they have."""
        entries = self.entries
        return _sum(entries.rows, self.rows, r, self.mean, entries.width)

    def heavy_times(self, v: Floats) -> Floats:
        """x·v of the rows over heavy columns alone."""
        return _times(self.entries.heavy, self.rows, v, self.mean)

    def heavy_sum(self, r: Floats) -> Floats:
        """Σ r x over the rows in heavy columns alone."""
        return _sum(self.entries.heavy, self.rows, r, self.mean, self.heavy)


class SparseRows:
    """Compressed rows, their columns divided by ``root``."""

    most_in_system = 2_500

    def __init__(self, x: Any, root: Floats) -> None:
        x = sparse.csr_array(x)
        x.sum_duplicates()
        data = x.data if (root == 1.0).all() else x.data / root[x.indices]
        small = x.shape[1] < np.iinfo(np.int32).max
        indices = x.indices.astype(np.int32 if small else np.int64, copy=False)
        indptr, data = x.indptr.astype(np.int64), np.asarray(data, dtype=np.float64)
        self.x = sparse.csr_array((data, x.indices, x.indptr), x.shape)
        self.d, self.mean = x.shape[1], max(1, x.nnz // max(x.shape[0], 1))
        single, self.square = _in_single(indptr, data, self.mean)
        self.order, self.heavy = self._heavy_columns()
        self.alike = self.heavy > 0
        self.light = self.square
        ends = indptr[:-1]
        if self.heavy:
            indices, data, ends, self.light = self._heavy_first(indptr, indices, data)
            single = data.astype(single.dtype, copy=False)
        self.double = Entries(indptr[:-1], ends, indptr[1:], indices, data, self.d)
        self.single = Entries(indptr[:-1], ends, indptr[1:], indices, single, self.d)

    def _heavy_columns(self) -> tuple[Ints, int]:
        """The columns in order, the heavy ones first, and how many these are."""
        n = len(self.square)
        every = max(1, n // _SAMPLE)
        sample = self.x[::every]
        square = np.where(self.square > 0.0, self.square, 1.0)[::every]
        share = sample.data**2 / np.repeat(square, np.diff(sample.indptr))
        weight = every * np.bincount(sample.indices, share, self.d)
        often = np.bincount(sample.indices, minlength=self.d) >= _ENTRIES
        heavy = np.flatnonzero(often & (weight > _HEAVY))
        heavy = heavy[np.argsort(-weight[heavy], kind="stable")[:_MOST]]
        rest = np.ones(self.d, dtype=bool)
        rest[heavy] = False
        return np.concatenate([heavy, np.flatnonzero(rest)]), len(heavy)

    def _heavy_first(
        self, indptr: Ints, indices: Ints, data: Floats
    ) -> tuple[Ints, Floats, Ints, Floats]:
        """Indices and data with heavy columns first, where these end, and Σ x² of the others."""
        label = np.empty(self.d, dtype=indices.dtype)
        label[self.order] = np.arange(self.d)
        labels, values = np.empty_like(indices), np.empty_like(data)
        ends, light = np.empty_like(indptr[:-1]), np.empty(len(self.square))

        def part(at: slice) -> None:
            heavy_first(
                at.start, at.stop, indptr, indices, data, label, self.heavy,
                labels, values, ends, light,
            )  # fmt: skip

        parallel_map(part, pieces(len(light), -(-_WORK // self.mean)))
        return labels, values, ends, light

    def times(self, rows: Ints, v: Floats) -> Floats:
        """x·v of some rows."""
        return _times(self.double.rows, rows, v, self.mean)

    def weighted_sum(self, rows: Ints, r: Floats) -> Floats:
        """Σ r x over some rows."""
        return _sum(self.double.rows, rows, r, self.mean, self.d)

    def heavy_gram(self, rows: Ints, r: Floats) -> Floats:
        """Σ r x xᵀ over some rows in heavy columns alone."""
        most = int(np.clip(len(rows) * self.mean // self.heavy, 1, _PARTS))
        cuts = pieces(len(rows), -(-_WORK // self.mean**2), most)

        def part(at: slice) -> Floats:
            out = np.zeros((self.heavy, self.heavy))
            some_rows_gram(at.start, at.stop, rows, *self.double.heavy, r, out)
            return out

        return np.asarray(sum(parallel_map(part, cuts)))

    def part(self, rows: Ints) -> SparsePart:
        """Some rows for many products, in single precision."""
        entries, mean = self.single, self.mean
        if len(rows) > _FEW * len(self.square):
            return SparsePart(entries, rows, mean, self.heavy)
        begins = np.append(0, np.cumsum(entries.ends[rows] - entries.begins[rows]))
        label = np.full(self.d, -1, dtype=np.int64)
        label[: self.heavy] = np.arange(self.heavy)
        labels = np.empty(begins[-1], dtype=entries.indices.dtype)
        values = np.empty(begins[-1], dtype=entries.data.dtype)
        width = with_own_columns(rows, *entries.rows, label, self.heavy, labels, values)
        heavy_ends = begins[:-1] + entries.heavy_ends[rows] - entries.begins[rows]
        own = Entries(begins[:-1], heavy_ends, begins[1:], labels, values, max(int(width), 1))
        return SparsePart(own, np.arange(len(rows)), mean, self.heavy)

    def epoch(
        self, numbers: Floats, rows: Ints, chunks: Ints, epsilon: float, step: float, state: Any
    ) -> None:
        """One epoch of coordinate descent over some rows, which changes β, w and b of ``state``."""
        state.w = state.w.astype(self.single.data.dtype, copy=False)
        state.b = sparse_epoch(
            *self.single.rows, numbers, rows, chunks, epsilon, state.beta, state.w, state.b, step
        )

    def in_double(self) -> bool:
        """Take double precision from now on; whether that was not so before."""
        changed = bool(self.single.data.dtype == np.float32)
        self.single = self.double
        return changed

    def most_steps(self, count: int) -> int:
        """Steps of conjugate gradients that take as long as factors of a system of ``count``."""
        if count > self.most_in_system:
            return _STEPS
        factors = count**3 / 3 + 10 * count**2 * self.mean
        return int(np.clip(factors / (_OVERHEAD + 40 * count * self.mean), 10, _STEPS))

    def gram(self, rows: Ints) -> Floats:
        """x·x' of all pairs of some rows."""
        part = self.x[rows]
        return np.asarray((part @ part.T).toarray())

    def restored(self, w: Floats) -> Floats:
        """W in the order of the columns of x."""
        out = np.empty_like(w)
        out[self.order] = w
        return out


def _in_single(indptr: Ints, data: Floats, mean: int) -> tuple[Any, Floats]:
    """The numbers in single precision, unless some would overflow or vanish; ‖x‖² of rows."""
    if len(data) < _LARGE:
        square = np.add.reduceat(np.append(data**2, 0.0), indptr[:-1])
        return data, np.where(np.diff(indptr) > 0, square, 0.0)
    single, square = np.empty(len(data), dtype=np.float32), np.empty(len(indptr) - 1)

    def part(at: slice) -> tuple[float, float]:
        return in_single(at.start, at.stop, indptr, data, single, square)  # type: ignore[no-any-return]

    sizes = parallel_map(part, pieces(len(square), -(-_WORK // mean)))
    least, most = min(size[0] for size in sizes), max(size[1] for size in sizes)
    return single if least > 1e-30 and most < 1e30 else data, square


def _times(entries: tuple[Any, ...], rows: Ints, v: Floats, mean: int) -> Floats:
    """x·v of some rows, in pieces."""
    v, out = v.astype(entries[-1].dtype, copy=False), np.empty(len(rows))

    def part(at: slice) -> None:
        some_rows_times(at.start, at.stop, rows, *entries, v, out)

    parallel_map(part, pieces(len(rows), -(-_WORK // mean)))
    return out


def _sum(entries: tuple[Any, ...], rows: Ints, r: Floats, mean: int, width: int) -> Floats:
    """Σ r x over some rows: a sum for every piece, then their sum in order."""
    r = r.astype(entries[-1].dtype, copy=False)
    most = int(np.clip(len(rows) * mean // (4 * width), 1, _PARTS))
    cuts = pieces(len(rows), -(-_WORK // mean), most)
    sums = np.empty((len(cuts), width), dtype=r.dtype)

    def part(at: int) -> None:
        sums[at] = 0.0
        some_rows_sum(cuts[at].start, cuts[at].stop, rows, *entries, r, sums[at])

    parallel_map(part, range(len(cuts)))
    return _total(sums)


def _total(sums: Floats) -> Floats:
    """The sum of a few long rows, in order."""
    if len(sums) == 1:
        return np.asarray(sums[0])
    out = np.empty_like(sums[0])

    def part(at: slice) -> None:
        np.add(sums[0][at], sums[1][at], out=out[at])
        for other in sums[2:]:
            out[at] += other[at]

    parallel_map(part, pieces(len(out), 16_384, 4))
    return np.asarray(out)
