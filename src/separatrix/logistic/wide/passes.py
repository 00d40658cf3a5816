"""One pass over wide dense rows: scores and gradient while a row is in the cache.

In single precision the columns are standardized first and copied: half the memory to read in every
pass, and units of any size. In double precision the rows are read where they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix.logistic.wide.loops import fused_rows
from separatrix.rows.block import Floats
from separatrix.threads import parallel_map, pieces

#: Values of a piece of rows that is worth a thread.
MIN_VALUES = 100_000


class RowsPass(NamedTuple):
    """Value, gradient (by column, then by the constant) and scores of one pass."""

    value: float
    gradient: Floats
    scores: Floats


class DenseRows:
    """Rows z = (x − center) / scale that are read once a pass, of two classes."""

    def __init__(self, x: Floats, center: Floats, scale: Floats, sign: Floats, w: Floats) -> None:
        self.x, self.center, self.scale, self.sign, self.w = x, center, scale, sign, w
        self.cuts = pieces(len(x), max(1, MIN_VALUES // max(x.shape[1], 1)))

    def single(self) -> DenseRows:
        """A standardized copy in single precision."""
        n, d = self.x.shape
        z = np.empty((n, d), np.float32)
        inverse = 1.0 / self.scale

        def part(rows: slice) -> None:
            for start in range(rows.start, rows.stop, 64):
                here = slice(start, min(start + 64, rows.stop))
                z[here] = (self.x[here] - self.center) * inverse

        parallel_map(part, self.cuts)
        return DenseRows(z, np.zeros(d, np.float32), np.ones(d), self.sign, self.w)

    def __call__(self, theta: Floats, constant: float) -> RowsPass:
        """The pass at a point of coefficients and intercept."""
        n, d = self.x.shape
        number = self.x.dtype.type
        point = (theta / self.scale).astype(number)
        center = self.center.astype(number)
        scores = np.empty(n)

        def part(rows: slice) -> tuple[float, float, Floats]:
            gradient = np.zeros(d, number)
            x = np.ascontiguousarray(self.x[rows])
            found = fused_rows(
                x, center, point, constant, self.sign[rows], self.w[rows], scores[rows], gradient
            )
            return found[0], found[1], gradient

        found = parallel_map(part, self.cuts)
        gradient = np.zeros(d + 1)
        for _, residuals, one in found:
            gradient[:d] += one
            gradient[d] += residuals
        gradient[:d] /= self.scale
        return RowsPass(float(sum(value for value, _, _ in found)), gradient, scores)
