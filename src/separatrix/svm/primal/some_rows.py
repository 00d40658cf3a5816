"""Products with some of the rows, and epochs of coordinate descent over them: sparse or dense.

Sums over rows are cut at places that depend on the shape alone and added in order, so that results
are the same bits on any number of threads. Epochs and conjugate gradients take the numbers in
single precision, which is half of the memory to read; their beginnings and results are in double.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from separatrix.matrices.products import DenseProducts
from separatrix.rows.block import Floats, Ints, Matrix
from separatrix.svm.loops.dual_coordinate_descent import (
    CHUNK,
    dense_epoch,
    in_single,
    shuffle,
    some_rows_sum,
    some_rows_times,
    sparse_epoch,
)
from separatrix.threads import parallel_map, pieces

#: Entries that are worth a piece of their own; parts that a sum over rows has at most.
_WORK, _PARTS = 60_000, 16
#: Entries from which on single precision saves more time than its loops take to compile.
_LARGE = 500_000


class SomeRows(Protocol):
    """What dual coordinate descent needs of the rows."""

    square: Floats

    def times(self, rows: Ints, v: Floats) -> Floats:
        """x·v of some rows."""
        ...

    def weighted_sum(self, rows: Ints, r: Floats) -> Floats:
        """Σ r x over some rows."""
        ...

    def epoch(self, numbers: Floats, rows: Ints, state: Any, epsilon: float, step: float) -> None:
        """One epoch of coordinate descent over some rows, which changes β, w and b of ``state``."""
        ...

    def residual_pass(
        self, rows: Ints, v: Floats, step: float, inverse: Floats, residual: Floats
    ) -> Floats:
        """residual −= step x·v in place; returns Σ inverse · residual · x. In single precision."""
        ...

    def take(self, rows: Ints) -> Matrix:
        """Some rows, as they are."""
        ...

    def in_double(self) -> bool:
        """Take double precision from now on; whether that was not so before."""
        ...


def some_rows(x: Matrix, root: Floats) -> SomeRows:
    """The rows of x, their columns divided by ``root``."""
    return SparseRows(x, root) if sparse.issparse(x) else DenseRows(np.asarray(x), root)


def _chunks(count: int, seed: int) -> tuple[Ints, int]:
    """Numbers of chunks of rows, shuffled, and the next seed."""
    chunks = np.arange(-(-count // CHUNK))
    return chunks, shuffle(chunks, len(chunks), seed)


class SparseRows:
    """Compressed rows."""

    def __init__(self, x: Any, root: Floats) -> None:
        x = sparse.csr_array(x)
        x.sum_duplicates()
        data = x.data if (root == 1.0).all() else x.data / root[x.indices]
        small = x.shape[1] < np.iinfo(np.int32).max
        indices = x.indices.astype(np.int32 if small else np.int64, copy=False)
        self.arrays = (x.indptr.astype(np.int64), indices, np.asarray(data, dtype=np.float64))
        self._memory: list[Floats] = []
        self.d, self.mean = x.shape[1], max(1, x.nnz // max(x.shape[0], 1))
        self.x = sparse.csr_array((data, x.indices, x.indptr), x.shape)
        self.single, self.square = self._in_single()

    def _in_single(self) -> tuple[Any, Floats]:
        """The numbers in single precision, unless some would overflow or vanish; ‖x‖² of rows."""
        indptr, _, data = self.arrays
        if len(data) < _LARGE:
            square = np.add.reduceat(np.append(data**2, 0.0), indptr[:-1])
            return data, np.where(np.diff(indptr) > 0, square, 0.0)
        single, square = np.empty(len(data), dtype=np.float32), np.empty(len(indptr) - 1)

        def part(at: slice) -> tuple[float, float]:
            return in_single(at.start, at.stop, indptr, data, single, square)  # type: ignore[no-any-return]

        sizes = parallel_map(part, pieces(len(square), -(-_WORK // self.mean)))
        least, most = min(size[0] for size in sizes), max(size[1] for size in sizes)
        return single if least > 1e-30 and most < 1e30 else data, square

    def times(self, rows: Ints, v: Floats) -> Floats:
        """x·v of some rows."""
        out = np.empty(len(rows))

        def part(at: slice) -> None:
            some_rows_times(at.start, at.stop, rows, *self.arrays, v, out)

        parallel_map(part, pieces(len(rows), -(-_WORK // self.mean)))
        return out

    def weighted_sum(self, rows: Ints, r: Floats) -> Floats:
        """Σ r x over some rows: a sum for every piece, then their sum in order."""

        def part(cut: slice, out: Floats) -> None:
            some_rows_sum(cut.start, cut.stop, rows, *self.arrays, r, out)

        return self._summed(part, rows)

    def _summed(self, part: Callable[[slice, Floats], None], rows: Ints) -> Floats:
        """The total of what ``part`` adds to a sum of its own for every piece of the rows."""
        most = int(np.clip(len(rows) * self.mean // (4 * self.d), 1, _PARTS))
        cuts = pieces(len(rows), -(-_WORK // self.mean), most)
        sums = self._memory
        while len(sums) < len(cuts):  # kept: fresh memory costs as much as the sums
            sums.append(np.empty(self.d))

        def one(at: int) -> None:
            sums[at][:] = 0.0
            part(cuts[at], sums[at])

        parallel_map(one, range(len(cuts)))
        out = np.empty(self.d)

        def total(columns: slice) -> None:
            own = out[columns]
            own[:] = sums[0][columns]
            for other in sums[1 : len(cuts)]:
                own += other[columns]

        parallel_map(total, pieces(self.d, 16_384, 4))
        return out

    def residual_pass(
        self, rows: Ints, v: Floats, step: float, inverse: Floats, residual: Floats
    ) -> Floats:
        """residual −= step x·v in place; returns Σ inverse · residual · x. In single precision."""
        if step != 0.0:
            v, scores = v.astype(self.single.dtype), np.empty(len(rows))

            def part(at: slice) -> None:
                some_rows_times(at.start, at.stop, rows, *self.arrays[:2], self.single, v, scores)

            parallel_map(part, pieces(len(rows), -(-_WORK // self.mean)))
            residual -= step * scores
        factor = (inverse * residual).astype(self.single.dtype)
        if self.single.dtype == np.float64 or 2 * len(rows) < len(self.square):
            return self.weighted_sum(rows, factor.astype(np.float64, copy=False))
        whole, out = np.zeros(len(self.square), dtype=self.single.dtype), np.empty(self.d)
        whole[rows] = factor
        by_column, cuts, every = self._by_column

        def sums(at: int) -> None:
            some_rows_times(cuts[at], cuts[at + 1], every, *by_column, whole, out)

        parallel_map(sums, range(len(cuts) - 1))
        return out

    @cached_property
    def _by_column(self) -> tuple[tuple[Any, Any, Any], list[int], Ints]:
        """Compressed columns, where to cut them, and their numbers: sums without a share each."""
        x = sparse.csr_array((self.single, self.x.indices, self.x.indptr), self.x.shape).tocsc()
        starts = x.indptr.astype(np.int64)
        ends = [int(np.searchsorted(starts, at.stop)) for at in pieces(x.nnz, _WORK)]
        bounds = np.unique([0, *np.clip(ends, 0, self.d), self.d]).tolist()
        indices = x.indices.astype(self.arrays[1].dtype, copy=False)
        return (starts, indices, x.data), bounds, np.arange(self.d)

    def epoch(self, numbers: Floats, rows: Ints, state: Any, epsilon: float, step: float) -> None:
        """One epoch of coordinate descent over some rows, which changes β, w and b of ``state``."""
        chunks, state.seed = _chunks(len(rows), state.seed)
        state.w = state.w.astype(self.single.dtype, copy=False)
        state.b = sparse_epoch(
            *self.arrays[:2],
            self.single,
            numbers,
            rows,
            chunks,
            epsilon,
            state.beta,
            state.w,
            state.b,
            step,
        )

    def in_double(self) -> bool:
        """Take double precision from now on; whether that was not so before."""
        changed = bool(self.single.dtype == np.float32)
        self.__dict__.pop("_by_column", None)
        self.single = self.arrays[2]
        return changed

    def take(self, rows: Ints) -> Matrix:
        """Some rows, as they are."""
        return self.x[rows]


class DenseRows:
    """Rows of a dense matrix."""

    def __init__(self, x: Floats, root: Floats) -> None:
        if not (root == 1.0).all():
            x = x / root
        self.x = np.ascontiguousarray(x, dtype=np.float64)
        self.products = DenseProducts(self.x)
        self.square = np.einsum("ij,ij->i", self.x, self.x)
        self._rows: Ints = np.arange(len(x))
        self._part = self.products

    def _products(self, rows: Ints) -> tuple[DenseProducts, bool]:
        """Products with the rows, copied where they are few; or with all, and that they are all."""
        if 2 * len(rows) > len(self.x):
            return self.products, True
        if len(rows) != len(self._rows) or not np.array_equal(rows, self._rows):
            self._rows, self._part = rows, DenseProducts(self.x[rows])
        return self._part, False

    def times(self, rows: Ints, v: Floats) -> Floats:
        """x·v of some rows."""
        part, whole = self._products(rows)
        out = part.times(v)
        return out[rows] if whole else out

    def weighted_sum(self, rows: Ints, r: Floats) -> Floats:
        """Σ r x over some rows."""
        part, whole = self._products(rows)
        if whole:
            every = np.zeros(len(self.x))
            every[rows] = r
            r = every
        return part.transposed_times(r)

    def residual_pass(
        self, rows: Ints, v: Floats, step: float, inverse: Floats, residual: Floats
    ) -> Floats:
        """residual −= step x·v in place; returns Σ inverse · residual · x."""
        part, whole = self._products(rows)
        scores = part.times(v.astype(part.x.dtype))
        residual -= step * (scores[rows] if whole else scores)
        return self.weighted_sum(rows, inverse * residual)

    def epoch(self, numbers: Floats, rows: Ints, state: Any, epsilon: float, step: float) -> None:
        """One epoch of coordinate descent over some rows, which changes β, w and b of ``state``."""
        chunks, state.seed = _chunks(len(rows), state.seed)
        state.w = state.w.astype(np.float64, copy=False)
        state.b = dense_epoch(
            self.x, numbers, rows, chunks, epsilon, state.beta, state.w, state.b, step
        )

    def in_double(self) -> bool:
        """Dense rows are in double precision always."""
        return False

    def take(self, rows: Ints) -> Matrix:
        """Some rows, as they are."""
        return self.x[rows]
