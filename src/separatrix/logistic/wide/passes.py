"""One pass over wide dense rows: scores and gradient while a row is in the cache.

In single precision the columns are standardized first and copied: half the memory to read in every
pass, and units of any size. In double precision the rows are read where they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from separatrix.logistic.wide.loops import fused_rows, standard_copy
from separatrix.rows.block import Floats
from separatrix.threads import parallel_map, pieces

#: Values of a piece of rows that is worth a thread.
MIN_VALUES = 100_000
#: Rows that the units of a copy in single precision are estimated from.
SAMPLE = 64


class SinglePrecision(NamedTuple):
    """A copy z = (x − shift)·factor in single precision, mean and standard deviation of columns."""

    z: NDArray[np.float32]
    shift: Floats
    factor: Floats
    mean: Floats
    deviation: Floats


def single_precision(x: Floats, w: Floats) -> SinglePrecision:
    """Read the rows once for their copy and for means and deviations of the columns.

    The copy is near standard units by the mean and scale of a few rows, so that neither a mean far
    from zero nor large units cost it digits; the sums are in double precision.
    """
    n, d = x.shape
    counted = np.flatnonzero(w > 0.0)
    some = x[counted[:: max(1, len(counted) // SAMPLE)][:SAMPLE]]
    shift, spread = some.mean(axis=0), some.std(axis=0)
    known = np.isfinite(spread) & (spread > 0.0)
    factor = 1.0 / np.where(known, spread, np.maximum(np.abs(shift), 1.0))
    z = np.empty((n, d), np.float32)

    def part(rows: slice) -> tuple[Floats, Floats]:
        sums, squares = np.zeros(d), np.zeros(d)
        part = np.ascontiguousarray(x[rows])
        standard_copy(part, shift, factor, w[rows], z[rows], sums, squares)
        return sums, squares

    found = parallel_map(part, pieces(n, max(1, MIN_VALUES // max(d, 1))))
    total = float(w.sum())
    offset = sum(one[0] for one in found) / total
    square = sum(one[1] for one in found) / total
    deviation = np.sqrt(np.maximum(square - offset**2, 0.0)) / factor
    return SinglePrecision(z, shift, factor, shift + offset / factor, deviation)


class RowsPass(NamedTuple):
    """Value, gradient (by column, then by the constant) and scores of one pass."""

    value: float
    gradient: Floats
    scores: Floats


class DenseRows:
    """Rows z = (x − center) / scale that are read once a pass, of two classes."""

    def __init__(self, x: Any, center: Floats, scale: Floats, sign: Floats, w: Floats) -> None:
        self.x, self.center, self.scale, self.sign, self.w = x, center, scale, sign, w
        self.cuts = pieces(len(x), max(1, MIN_VALUES // max(x.shape[1], 1)))

    def rows(self, here: Any, number: Any = np.float64) -> NDArray[Any]:
        """Some rows of z."""
        return np.asarray((self.x[here] - self.center) / self.scale, dtype=number)

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
