"""The Gram matrix of the rows under a kernel, block by block, and a cache of its rows.

Blocks are of single precision where that is enough. The cache is as large as a given memory, and
evicts the rows that were used least recently.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from separatrix.kernels import Custom, Kernel, Linear, Precomputed, PreparedKernel
from separatrix.kernels.base import finite_diagonal, n_items, take_items
from separatrix.kernels.stationary.radial import RadialKernel
from separatrix.rows.block import Floats, Ints
from separatrix.svm.loops.smo import add_rows
from separatrix.threads import parallel_map, pieces

#: Largest kernel value for which single precision is used.
LARGE = 1e30
#: Megabytes beyond which allocating memory for vector kernels costs more than computing rows again.
_WORTHWHILE = 48.0
#: Columns up to which sparse rows are filled in.
_NARROW = 64
#: Numbers that are added up on one thread, and the fewest columns of a piece.
_SERIAL, _COLUMNS = 200_000, 128
#: Rows that the cache holds in any case.
_LEAST = 64


class GramMatrix:
    """κ(xᵢ, xⱼ) of the rows ``x``; ``single`` says whether blocks may be of float32.

    ``mercer`` is False where a negative eigenvalue was found: then κ is no inner product.
    """

    def __init__(self, kernel: Kernel, x: Any, *, mercer: bool = True) -> None:
        self.kernel, self.x, self.mercer = kernel, x, mercer
        self.n = n_items(x)
        self.precomputed = isinstance(kernel, Precomputed)
        self.linear = isinstance(kernel, Linear)
        self.diagonal: Floats = finite_diagonal(kernel, x)
        self.single = self._allows_single()
        self._x32: Any = None
        # sparse rows of few columns are as fast, and equal to the last bit, as the same dense ones
        narrow = sparse.issparse(x) and x.shape[1] <= _NARROW and self._is_ours()
        self._rows: Any = x.toarray() if narrow else x

    def _allows_single(self) -> bool:
        """Only kernels of this library on dense rows; others may not expect float32."""
        if not isinstance(self.x, np.ndarray) or not self.kernel.of_vectors:
            return False
        return bool(self._is_ours() and np.abs(self.diagonal).max(initial=0.0) < LARGE)

    def _is_ours(self) -> bool:
        return not any(isinstance(leaf, Custom | Precomputed) for leaf in _leaves(self.kernel))

    def items(self, index: NDArray[Any] | slice, single: bool = False) -> Any:
        """Some of the rows of x, as float32 if wanted and allowed."""
        if not (single and self.single):
            return take_items(self.x, index)
        if self._x32 is None:
            # a radial kernel depends on differences alone: near the origin few digits are lost
            center = self.x.mean(axis=0) if isinstance(self.kernel, RadialKernel) else 0.0
            self._x32 = np.ascontiguousarray(self.x - center, dtype=np.float32)
        return self._x32[index]

    def _items(self, index: NDArray[Any] | slice, single: bool = False) -> Any:
        """Some of the rows as the kernel takes them here, sparse ones of few columns as dense."""
        return self.items(index, single) if self._rows is self.x else self._rows[index]

    def prepare(self, index: Ints, single: bool = False) -> PreparedKernel:
        """The kernel with its second argument fixed to the rows of ``index``."""
        if self.precomputed:
            return self.kernel.prepare(np.ascontiguousarray(self.x[np.ix_(index, index)]))
        return self.kernel.prepare(self._items(index, single))

    def square(self, index: Ints, single: bool = False) -> NDArray[Any]:
        """All pairs of some rows, exactly symmetric."""
        gram = self.prepare(index, single).gram()
        return np.ascontiguousarray(gram) if self.single else np.asarray(gram, dtype=float)

    def between(self, at: Any, of: Any, memory: Floats) -> Floats:
        """κ of the rows ``at`` (rows of the result) with the rows ``of``, written to ``memory``."""
        if self.precomputed:
            return np.ascontiguousarray(self.x[np.ix_(at, of)], dtype=float)
        x, prepared = self._items(at), self.kernel.prepare(self._items(of))
        n = n_items(x)
        return prepared.rows(x, memory[: n * len(prepared)].reshape(n, -1))

    def product(self, at: Ints, of: Ints, beta: Floats, single: bool = False) -> Floats:
        """Σ κ(x, z) β over the rows z of ``of``, for every row x of ``at``; block by block."""
        if not len(of) or not len(at):
            return np.zeros(len(at))
        if self.precomputed:
            return np.asarray(self.x[np.ix_(at, of)] @ beta)
        weights = beta.astype(np.float32 if single and self.single else np.float64)[:, None]
        prepared = self.kernel.prepare(self._items(of, single))
        return np.asarray(prepared.dot(self._items(at, single), weights)[:, 0], dtype=float)

    def times(self, beta: Floats) -> Floats:
        """Kβ in double precision."""
        support = np.flatnonzero(beta)
        return self.product(np.arange(self.n), support, beta[support])

    def subset(self, rows: Ints) -> GramMatrix:
        """The Gram matrix of some of the rows."""
        x = self.x[np.ix_(rows, rows)] if self.precomputed else self.items(rows)
        return GramMatrix(self.kernel, x, mercer=self.mercer)

    def computed(self, megabytes: float) -> GramMatrix:
        """The matrix computed once for several problems, where it fits into memory.

        Vector kernels of many rows are computed as fast as they are looked up, others are not.
        """
        fits = 8e-6 * self.n**2 <= megabytes
        if self.precomputed or not fits or (self.single and self.n > 2000):
            return self
        gram = self.square(np.arange(self.n)).astype(float)
        return GramMatrix(Precomputed(), gram, mercer=self.mercer)


def _leaves(kernel: Kernel) -> list[Kernel]:
    """The kernels that an expression is made of."""
    below = kernel._children()
    return [leaf for child in below for leaf in _leaves(child)] if below else [kernel]


class Buffers:
    """Named blocks of memory, used by one cache of rows after the other."""

    def __init__(self, gram: GramMatrix, megabytes: float) -> None:
        self.bytes = int((min(megabytes, _WORTHWHILE) if gram.single else megabytes) * 2**20)
        self.blocks: dict[str, NDArray[np.uint8]] = {}

    def rows(self, width: int, dtype: Any) -> NDArray[Any]:
        """Room for rows of this width, as many as there are columns at most."""
        count = self.bytes // (width * np.dtype(dtype).itemsize)
        return self.block("rows", min(width, max(_LEAST, count)), width, dtype)

    def block(self, name: str, count: int, width: int, dtype: Any) -> NDArray[Any]:
        """An uninitialized block; the next of the same name takes its memory."""
        size = count * width * np.dtype(dtype).itemsize
        if size > len(self.blocks.get(name, ())):
            self.blocks[name] = np.empty(size, dtype=np.uint8)
        return np.asarray(self.blocks[name][:size].view(dtype).reshape(count, width))


class RowCache:
    """Rows of the Gram matrix of the ``columns`` (row numbers), by position among them."""

    def __init__(self, gram: GramMatrix, columns: Ints, buffers: Buffers, single: bool) -> None:
        self.gram, self.columns, self.single = gram, columns, single
        self.prepared = gram.prepare(columns, single)
        self.buffers, self.dtype = buffers, np.float32 if single and gram.single else np.float64
        self.store = buffers.rows(len(columns), self.dtype)
        self.slot = np.full(len(columns), -1, dtype=np.int64)
        self.row_in = np.full(len(self.store), -1, dtype=np.int64)
        self.last_use = np.zeros(len(self.store), dtype=np.int64)
        self.clock = self.filled = self.computed = 0

    def square(self, chosen: Ints) -> NDArray[Any]:
        """The block of the Gram matrix of some columns."""
        block = self.buffers.block("square", len(chosen), len(chosen), self.dtype)
        return self.gram.prepare(self.columns[chosen], self.single).gram(block)

    def add_to(self, f: Floats, changed: Ints, change: Floats) -> None:
        """f += Σ change · rows of what changed, pieces of the columns on each processor."""
        step = len(self.store)
        for start in range(0, len(changed), step):
            slots = self._slots(changed[start : start + step])
            self._accumulate(f, slots, change[start : start + step])

    def _slots(self, wanted: Ints) -> Ints:
        """Where in ``store`` the rows of these columns are; missing ones are computed."""
        self.clock += 1
        found = self.slot[wanted]
        self.last_use[found[found >= 0]] = self.clock
        missing = wanted[found < 0]
        if len(missing):
            places = self._evict(len(missing))
            self._compute(missing, places)
            self.slot[missing], self.row_in[places] = places, missing
            self.last_use[places] = self.clock
            self.computed += len(missing)
        return self.slot[wanted]

    def _compute(self, missing: Ints, places: Ints) -> None:
        """Compute rows, straight into their slots where these are contiguous."""
        first, count = int(places[0]), len(places)
        if (np.diff(places) == 1).all():
            self.prepared.take(missing, self.store[first : first + count])
        else:
            spare = self.buffers.block("new rows", count, len(self.columns), self.dtype)
            self.store[places] = self.prepared.take(missing, spare)

    def _evict(self, count: int) -> Ints:
        """Slots that are empty; then those that were used least recently."""
        size = len(self.store)
        if self.filled + count <= size:
            places = np.arange(self.filled, self.filled + count)
            self.filled += count
            return places
        self.filled = size
        places = np.sort(np.argpartition(self.last_use, count - 1)[:count])
        old = self.row_in[places]
        self.slot[old[old >= 0]] = -1
        return places

    def _accumulate(self, f: Floats, slots: Ints, change: Floats) -> None:
        if len(f) * len(slots) < _SERIAL:
            add_rows(self.store, slots, change, f, 0, len(f))
            return

        def add(part: slice) -> None:
            add_rows(self.store, slots, change, f, part.start, part.stop)

        parallel_map(add, pieces(len(f), _COLUMNS))
