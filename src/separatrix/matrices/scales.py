"""Means and standard deviations of columns, dense or sparse, on threads."""

from __future__ import annotations

import numpy as np

from separatrix.matrices.products import DenseProducts, Products
from separatrix.rows.block import Floats
from separatrix.threads import parallel_map, pieces

#: Rows that stay in cache while they are summed.
CHUNK = 32


def column_scales(x: Products, w: Floats) -> tuple[Floats, Floats]:
    """Weighted mean and standard deviation (1/N) of every column.

    Dense columns are measured from their first row, so that a mean far from zero costs no digits;
    rows are read once.
    """
    total = float(w.sum())
    if isinstance(x, DenseProducts):
        shift, sums, squares = _shifted_sums(x.x, w)
    else:
        shift = np.zeros(x.shape[1])
        sums, squares = x.transposed_times(w), x.weighted_squares(w)
    offset = sums / total
    variance = np.maximum(squares / total - offset**2, 0.0)
    return shift + offset, np.sqrt(variance)


def _shifted_sums(x: Floats, w: Floats) -> tuple[Floats, Floats, Floats]:
    n, d = x.shape
    counted = np.flatnonzero(w > 0.0)
    shift = np.asarray(x[counted[:: max(1, len(counted) // 8)][:8]].mean(axis=0), dtype=np.float64)

    def part(rows: slice) -> tuple[Floats, Floats]:
        sums, squares = np.zeros(d), np.zeros(d)
        for start in range(rows.start, rows.stop, CHUNK):
            here = slice(start, min(start + CHUNK, rows.stop))
            z = x[here] - shift
            sums += w[here] @ z
            np.multiply(z, z, out=z)
            squares += w[here] @ z
        return sums, squares

    found = parallel_map(part, pieces(n, max(1, 100_000 // max(d, 1))))
    sums, squares = found[0]
    for one in found[1:]:
        sums, squares = sums + one[0], squares + one[1]
    return shift, sums, squares
