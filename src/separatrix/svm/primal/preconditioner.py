"""An approximate inverse of K + D on some rows, K = XXᵀ + g 11ᵀ, for conjugate gradients.

Frequent words make the rows of a text resemble each other: a few hundred columns have nearly all
of what K is off its diagonal. With U these columns and Δ the diagonal of the rest,

    M = UUᵀ + Δ + g 11ᵀ

is inverted by a matrix as large as there are such columns (Woodbury). In their absence M is the
diagonal. A free intercept, which constrains the sum to zero, is g → ∞.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from separatrix.rows.block import Floats, Ints
from separatrix.svm.primal.some_rows import RowsPart, SomeRows

#: Least share of the diagonal that counts as the rest.
_REST = 0.05


class Preconditioner:
    """M⁻¹ on some of the rows; which ones may change, and changes the inner matrix by them alone.

    ``inverse_shared`` is 1/g: zero for a free intercept, infinity without one.
    """

    def __init__(self, rows: SomeRows, diagonal: Floats, inverse_shared: float) -> None:
        self.source: Any = rows
        whole = rows.square + diagonal
        delta = np.maximum(rows.light + diagonal, _REST * whole)
        self.inverse = 1.0 / np.where(delta > 0.0, delta, 1.0)
        self.inverse_shared = inverse_shared
        self.inside = np.zeros(len(self.inverse), dtype=bool)
        self.inner = np.eye(rows.heavy)

    def set_rows(self, rows: Ints, part: RowsPart) -> None:
        """The rows from now on, and products with them."""
        self.part: Any = part
        self.own = self.inverse[rows]
        if part.heavy:
            inside = np.zeros_like(self.inside)
            inside[rows] = True
            changed = np.flatnonzero(inside != self.inside)
            if 2 * len(changed) > len(rows):
                self.inner, changed = np.eye(part.heavy), rows
            sign = np.where(inside[changed], 1.0, -1.0)
            self.inner += self.source.heavy_gram(changed, sign * self.inverse[changed])
            self.inside = inside
            self.factor = linalg.cho_factor(self.inner, lower=True, check_finite=False)
        self.ones = self._without_intercept(np.ones(len(rows)))
        self.total = float(self.ones.sum())

    def __call__(self, residual: Floats) -> tuple[Floats, float]:
        """M⁻¹ residual, and what it lets the intercept be."""
        found = self._without_intercept(residual)
        if np.isinf(self.inverse_shared):
            return found, 0.0
        b = float(found.sum()) / (self.inverse_shared + self.total)
        return found - b * self.ones, b

    def _without_intercept(self, residual: Floats) -> Floats:
        found = self.own * residual
        if self.part.heavy:
            inner = linalg.cho_solve(self.factor, self.part.heavy_sum(found), check_finite=False)
            found -= self.own * self.part.heavy_times(inner)
        return found
