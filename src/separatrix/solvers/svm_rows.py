"""Kernel rows that are kept: as many as fit in a given memory, the longest unused go first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from separatrix.compiled.svm import accumulate
from separatrix.rows.block import Floats
from separatrix.solvers.svm_points import Index, Points

_WORKERS = 2
_pool = ThreadPoolExecutor(_WORKERS)


class KernelRows:
    """Rows of similarities to the ``columns`` (positions in the table), found by position there."""

    def __init__(self, points: Points, columns: Index, megabytes: float, single: bool) -> None:
        self.points, self.columns, self.single = points, columns, single
        self.prepared = points.against(columns, single)
        width = len(columns)
        dtype = np.float32 if single and points.single else np.float64
        room = int(megabytes * 2**20 // (width * np.dtype(dtype).itemsize))
        self.capacity = min(width, max(room, 1024))
        self.store = np.empty((self.capacity, width), dtype=dtype)
        self.slot = np.full(width, -1, dtype=np.int64)
        self.holds = np.full(self.capacity, -1, dtype=np.int64)
        self.used = np.zeros(self.capacity, dtype=np.int64)
        self.clock = self.filled = self.computed = 0

    def slots(self, wanted: Index) -> Index:
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

    def _compute(self, missing: Index, places: Index) -> None:
        """Rows of the Gram matrix of the columns, straight into their slots where these adjoin."""
        first, count = int(places[0]), len(places)
        if (np.diff(places) == 1).all():
            self.prepared.take(missing, self.store[first : first + count])
        else:
            self.store[places] = self.prepared.take(missing)

    def _make_room(self, count: int) -> Index:
        """Slots that are empty or were not used for longest."""
        fresh = self.capacity - self.filled
        if count <= fresh:
            self.filled += count
            return np.arange(self.filled - count, self.filled)
        places = np.sort(np.argpartition(self.used, count - 1)[:count])
        self.filled = self.capacity
        old = self.holds[places]
        self.slot[old[old >= 0]] = -1
        return places

    def add_to(self, f: Floats, slots: Index, change: Floats) -> None:
        """f += Σ change · rows, half of the columns on each processor."""
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
