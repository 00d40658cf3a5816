"""Compressed rows as K-means reads them: products with centers and sums of clusters.

Nothing is centered, so that rows stay sparse: K-means does not change if rows and centers are
shifted alike. Standardized columns are divided, and the centers shifted by what was not subtracted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from separatrix.cluster.lloyd.column_spread import ColumnSpread
from separatrix.rows.block import Floats, Ints, to_array
from separatrix.statistics.standardizer import Standardizer
from separatrix.threads import parallel_map, pieces

#: Multiplications that are worth a piece of their own.
MIN_WORK = 200_000
#: A sparse table with fewer numbers is filled in, or with more than this fraction if it fits.
MIN_SPARSE, MAX_FRACTION, MAX_DENSE = 1_000_000, 0.25, 50_000_000
#: Squared norm of the mean over the variance, beyond which products of rows lose digits.
MAX_OFFSET = 1e6


def dense_if_small(x: Any, spread: ColumnSpread) -> Any:
    """A sparse matrix filled in where that is as cheap, or where products would lose digits."""
    size = x.shape[0] * x.shape[1]
    far = float((spread.mean**2).sum()) > MAX_OFFSET * float(spread.squares.sum()) / spread.weight
    if size <= MIN_SPARSE or (size <= MAX_DENSE and (far or x.nnz > MAX_FRACTION * size)):
        return to_array(x)
    return x


def scaled(x: Any, standardizer: Standardizer | None) -> tuple[Any, Floats | float]:
    """Rows divided by the scales of their columns, and what to add to standardized centers."""
    if standardizer is None:
        return x, 0.0
    inverse = standardizer.inverse_scale
    return sparse.csr_array(x @ sparse.diags_array(inverse)), standardizer.mean * inverse


class SparseRows:
    """Compressed rows (n x d) in pieces, and their squared norms."""

    def __init__(self, x: Any, k: int) -> None:
        self.x = x
        n = x.shape[0]
        work = k * x.nnz // max(n, 1)
        self.cuts = pieces(n, MIN_WORK // max(work, 1))
        self.parts = [self._view(rows) for rows in self.cuts]
        squares = [np.asarray(part.multiply(part).sum(axis=1)).ravel() for part in self.parts]
        self.square: Floats = np.concatenate(squares)
        #: Bound of the relative error of a squared distance from products.
        self.rounding = 8 * (float(np.diff(x.indptr).max(initial=0)) + 4) * np.finfo(float).eps

    def _view(self, rows: slice) -> Any:
        """Some rows, which share the memory of all."""
        x = self.x
        begin, end = x.indptr[rows.start], x.indptr[rows.stop]
        inner = (x.data[begin:end], x.indices[begin:end], x.indptr[rows.start : rows.stop + 1])
        pointers = inner[2] - begin
        shape = (rows.stop - rows.start, x.shape[1])
        return sparse.csr_array((inner[0], inner[1], pointers), shape=shape, copy=False)

    def squared_distances(self, piece: int, by_column: Floats, norms: Floats, rows: Any) -> Floats:
        """‖x − c‖² of some rows of a piece; ``by_column`` is the centers transposed (d x k)."""
        part = self.parts[piece]
        square = self.square[self.cuts[piece]]
        if rows is not None:
            part, square = part[rows], square[rows]
        out = np.asarray(part @ by_column)
        out *= -2.0
        out += norms
        out += square[:, None]
        return np.asarray(np.maximum(out, 0.0, out=out))

    def cluster_sum(self, members: Ints, w: Floats) -> Floats:
        """Σ w x over some rows."""
        return np.asarray(self.x[members].T @ w[members])


def transposed(centers: Floats) -> Floats:
    """The centers as columns, contiguous, on threads."""
    k, d = centers.shape
    out = np.empty((d, k))

    def copy(columns: slice) -> None:
        out[columns] = centers[:, columns].T

    parallel_map(copy, pieces(d, MIN_WORK // max(k, 1)))
    return out


def squared_distances(x: Any, centers: Floats) -> Floats:
    """‖x − c‖² of all rows and centers, from products."""
    rows = SparseRows(x, len(centers))
    by_column, norms = transposed(centers), np.einsum("ij,ij->i", centers, centers)
    found = parallel_map(
        lambda piece: rows.squared_distances(piece, by_column, norms, None), range(len(rows.cuts))
    )
    return np.concatenate(found)
