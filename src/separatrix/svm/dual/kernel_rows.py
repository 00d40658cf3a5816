"""Kernel rows that are kept: as many as fit in a given memory, the longest unused go first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Floats, Ints
from separatrix.svm.dual.points import Points
from separatrix.svm.loops.smo import accumulate

_WORKERS = 2
_pool = ThreadPoolExecutor(_WORKERS)
#: Megabytes that pay for rows of numbers: asking the system for more costs more than computing.
_PAYS = 160.0
#: Rows that there is room for in any case.
_LEAST = 64


class RowMemory:
    """Stretches of memory, lent to one set of rows after the other."""

    def __init__(self, points: Points, megabytes: float) -> None:
        self.bytes = int((min(megabytes, _PAYS) if points.single else megabytes) * 2**20)
        self.buffers: dict[str, NDArray[np.uint8]] = {}

    def store(self, width: int, dtype: Any) -> NDArray[Any]:
        """Room for rows of this width, as many as there are columns at most."""
        count = self.bytes // (width * np.dtype(dtype).itemsize)
        return self.lend("rows", min(width, max(_LEAST, count)), width, dtype)

    def lend(self, name: str, count: int, width: int, dtype: Any) -> NDArray[Any]:
        """A block whose values mean nothing; the next of the same name takes its place."""
        size = count * width * np.dtype(dtype).itemsize
        if size > len(self.buffers.get(name, ())):
            self.buffers[name] = np.empty(size, dtype=np.uint8)
        return np.asarray(self.buffers[name][:size].view(dtype).reshape(count, width))


class KernelRows:
    """Rows of similarities to the ``columns`` (positions in the table), found by position there."""

    def __init__(self, points: Points, columns: Ints, memory: RowMemory, single: bool) -> None:
        self.points, self.columns, self.single = points, columns, single
        self.prepared = points.prepare(columns, single)
        self.memory, self.dtype = memory, np.float32 if single and points.single else np.float64
        self.store = memory.store(len(columns), self.dtype)
        self.slot = np.full(len(columns), -1, dtype=np.int64)
        self.holds = np.full(len(self.store), -1, dtype=np.int64)
        self.used = np.zeros(len(self.store), dtype=np.int64)
        self.clock = self.filled = self.computed = 0

    def among(self, chosen: Ints) -> NDArray[Any]:
        """Similarities of some columns to each other."""
        block = self.memory.lend("square", len(chosen), len(chosen), self.dtype)
        every = np.arange(len(chosen))
        return self.points.prepare(self.columns[chosen], self.single).take(every, block)

    def add_to(self, f: Floats, moved: Ints, change: Floats) -> None:
        """f += Σ change · rows of what moved, half of the columns on each processor."""
        step = len(self.store)
        for start in range(0, len(moved), step):
            slots = self._slots(moved[start : start + step])
            self._accumulate(f, slots, change[start : start + step])

    def _slots(self, wanted: Ints) -> Ints:
        """Where in ``store`` the rows of these columns are; missing ones are computed."""
        self.clock += 1
        there = self.slot[wanted]
        self.used[there[there >= 0]] = self.clock
        missing = wanted[there < 0]
        if len(missing):
            places = self._make_room(len(missing))
            self._compute(missing, places)
            self.slot[missing], self.holds[places] = places, missing
            self.used[places] = self.clock
            self.computed += len(missing)
        return self.slot[wanted]

    def _compute(self, missing: Ints, places: Ints) -> None:
        """Rows of the Gram matrix of the columns, straight into their slots where these adjoin."""
        first, count = int(places[0]), len(places)
        if (np.diff(places) == 1).all():
            self.prepared.take(missing, self.store[first : first + count])
        else:
            spare = self.memory.lend("new rows", count, len(self.columns), self.dtype)
            self.store[places] = self.prepared.take(missing, spare)

    def _make_room(self, count: int) -> Ints:
        """Slots that are empty; then, around in a circle, those filled longest ago and unused."""
        size = len(self.store)
        if self.filled + count <= size:
            places = np.arange(self.filled, self.filled + count)
            self.filled += count
            return places
        self.filled = size
        places = np.sort(np.argpartition(self.used, count - 1)[:count])
        old = self.holds[places]
        self.slot[old[old >= 0]] = -1
        return places

    def _accumulate(self, f: Floats, slots: Ints, change: Floats) -> None:
        width = len(f)
        if width * len(slots) < 200_000:
            accumulate(self.store, slots, change, f, 0, width)
            return
        cut = [width * k // _WORKERS for k in range(_WORKERS + 1)]
        halves = [
            _pool.submit(accumulate, self.store, slots, change, f, cut[k], cut[k + 1])
            for k in range(_WORKERS)
        ]
        for half in halves:
            half.result()
