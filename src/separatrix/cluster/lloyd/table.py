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
    known: tuple[Floats, float] | None = None

    @property
    def batch_rows(self) -> int:
        """Rows in a batch."""
        return max(16, BATCH_NUMBERS // max(int(self.x.shape[1]), 1))

    def batches(self, start: int, stop: int) -> Iterator[tuple[slice, Floats, Floats]]:
        """(positions, rows, weights) of the rows ``start:stop``; a view where there can be one."""
        for first in range(start, stop, self.batch_rows):
            at = slice(first, min(first + self.batch_rows, stop))
            x = self.x[at] if self.transform is None else self.transform(self.x[at])
            w = np.ones(len(x)) if self.w is None else np.ascontiguousarray(self.w[at])
            yield at, np.ascontiguousarray(x), w

    def origin_and_unit(self) -> tuple[Floats, float]:
        """The mean, and a power of two near the largest distance from it in any column.

        Scaling by a power of two does not round. They are found by a pass unless they are known.
        """
        if self.known is not None:
            return self.known
        n = len(self.x)
        found = parallel_map(self._extent, pieces(n, self.batch_rows))
        mean = np.asarray(np.sum([part[0] for part in found], axis=0))
        mean = mean / sum(part[1] for part in found)
        low = np.min([part[2] for part in found], axis=0)
        high = np.max([part[3] for part in found], axis=0)
        return mean, power_of_two(float(max((high - mean).max(), (mean - low).max())))

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


def power_of_two(number: float) -> float:
    """The largest power of two that is no larger; 1 for zero."""
    exponent = int(np.frexp(number or 1.0)[1]) - 1
    return float(2.0 ** min(max(exponent, -1000), 1000))
