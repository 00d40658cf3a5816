"""Rows about the means of their classes, in units of the columns: Z = √w (x − mₖ)/s.

Sparse rows are not filled in: the means are subtracted from products instead.

    Z Zᵀ = √w (X Xᵀ − X Mᵀ − M Xᵀ + M Mᵀ) √w       with the mean of its class in each row of M
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from separatrix.matrices.gram import row_gram
from separatrix.rows.block import Floats, Ints, Matrix
from separatrix.threads import parallel_map, pieces


def gram(z: Floats) -> Floats:
    """Z Zᵀ in tiles of the symmetric half on threads, each by one thread."""
    n = len(z)
    out = np.empty((n, n))
    blocks = pieces(n, 16, 12)

    def one(tile: tuple[slice, slice]) -> None:
        a, b = tile
        out[a, b] = z[a] @ z[b].T
        if a is not b:
            out[b, a] = out[a, b].T

    parallel_map(one, [(a, b) for i, a in enumerate(blocks) for b in blocks[: i + 1]])
    return out


class DenseRows:
    """Z itself."""

    def __init__(
        self, x: Floats, codes: Ints, means: Floats, inverse: Floats, root: Floats
    ) -> None:
        self.z = (x - means[codes]) * inverse
        self.z *= root[:, None]

    def gram(self) -> Floats:
        """Z Zᵀ."""
        return gram(self.z)

    def products(self, vectors: Floats) -> Floats:
        """V Zᵀ for vectors as long as a row."""
        return np.asarray(vectors @ self.z.T)

    def combinations(self, weights: Floats) -> Floats:
        """A Z: sums of the rows with weights."""
        return np.asarray(weights @ self.z)


class SparseRows:
    """Z by the scaled rows X and the scaled means, which stay apart."""

    def __init__(self, x: Any, codes: Ints, means: Floats, inverse: Floats, root: Floats) -> None:
        self.x = sparse.csr_array(x.multiply(inverse[None, :]))
        self.codes, self.means, self.root = codes, means * inverse, root

    def gram(self) -> Floats:
        """Z Zᵀ."""
        n, d = self.x.shape
        out = row_gram(self.x, np.zeros(d), np.ones(d), np.ones(n))
        cross = np.asarray(self.x @ self.means.T)[:, self.codes]
        out -= cross
        out -= cross.T
        out += (self.means @ self.means.T)[self.codes][:, self.codes]
        out *= self.root
        out *= self.root[:, None]
        return out

    def products(self, vectors: Floats) -> Floats:
        """V Zᵀ for vectors as long as a row."""
        found = np.asarray(self.x @ vectors.T).T - (vectors @ self.means.T)[:, self.codes]
        return np.asarray(found * self.root)

    def combinations(self, weights: Floats) -> Floats:
        """A Z: sums of the rows with weights."""
        scaled = weights * self.root
        by_class = np.stack(
            [np.bincount(self.codes, row, minlength=len(self.means)) for row in scaled]
        )
        return np.asarray((self.x.T @ scaled.T).T - by_class @ self.means)


def centered_rows(
    x: Matrix, codes: Ints, means: Floats, inverse: Floats, weights: Floats
) -> DenseRows | SparseRows:
    """Z for rows of classes ``codes`` with ``means``, ``inverse`` being 1/s."""
    root = np.sqrt(weights)
    if isinstance(x, np.ndarray):
        return DenseRows(x, codes, means, inverse, root)
    return SparseRows(x, codes, means, inverse, root)
