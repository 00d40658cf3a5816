"""A dense table as K-means reads it: a batch of rows at a time, on threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from separatrix.rows.block import Floats
from separatrix.threads import parallel_map, pieces

#: Numbers in a batch of rows that is centered: it stays in the cache.
BATCH_NUMBERS = 2**16


@dataclass(frozen=True)
class Table:
    """Rows and weights, of which a batch at a time is laid out for the loops."""

    x: Floats
    w: Floats | None
    transform: Callable[[Floats], Floats] | None = None

    def batches(self, start: int, stop: int) -> Iterator[tuple[slice, Floats, Floats]]:
        """(positions, rows, weights) of the rows ``start:stop``; a view where there can be one."""
        step = max(64, BATCH_NUMBERS // max(self.x.shape[1], 1))
        for first in range(start, stop, step):
            at = slice(first, min(first + step, stop))
            x = self.x[at] if self.transform is None else self.transform(self.x[at])
            w = np.ones(len(x)) if self.w is None else np.ascontiguousarray(self.w[at])
            yield at, np.ascontiguousarray(x), w

    def origin_and_unit(self) -> tuple[Floats, float]:
        """The mean, and a power of two near the largest distance from it in any column.

        Scaling by a power of two does not round.
        """
        n, d = self.x.shape
        found = parallel_map(self._extent, pieces(n, max(64, BATCH_NUMBERS // max(d, 1))))
        mean = np.asarray(np.sum([part[0] for part in found], axis=0))
        mean = mean / sum(part[1] for part in found)
        low = np.min([part[2] for part in found], axis=0)
        high = np.max([part[3] for part in found], axis=0)
        largest = float(max((high - mean).max(), (mean - low).max())) or 1.0
        exponent = int(np.frexp(largest)[1]) - 1
        return mean, 2.0 ** min(max(exponent, -1000), 1000)

    def _extent(self, rows: slice) -> tuple[Floats, float, Floats, Floats]:
        """Sum, weight, least and greatest of some rows."""
        d = self.x.shape[1]
        total, weight = np.zeros(d), 0.0
        low, high = np.full(d, np.inf), np.full(d, -np.inf)
        for _, x, w in self.batches(rows.start, rows.stop):
            total += w @ x
            weight += float(w.sum())
            np.minimum(low, x.min(axis=0), out=low)
            np.maximum(high, x.max(axis=0), out=high)
        return total, weight, low, high
