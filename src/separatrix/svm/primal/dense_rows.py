"""Products with some rows of a dense matrix, and epochs of coordinate descent over them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from separatrix.matrices.gram import column_gram
from separatrix.matrices.products import DenseProducts
from separatrix.rows.block import Floats, Ints
from separatrix.svm.loops.dual_coordinate_descent import dense_epoch


class DensePart:
    """Some rows: copied where they are few, else all with zeros for the others."""

    heavy = 0

    def __init__(self, x: Floats, rows: Ints) -> None:
        self.rows, self.n = rows, len(x)
        self.whole = 2 * len(rows) > self.n
        self.products = DenseProducts(x if self.whole else x[rows])

    def times(self, v: Floats) -> Floats:
        """x·v of the rows."""
        out = self.products.times(v)
        return out[self.rows] if self.whole else out

    def weighted_sum(self, r: Floats) -> Floats:
        """Σ r x over the rows."""
        if self.whole:
            every = np.zeros(self.n)
            every[self.rows] = r
            r = every
        return self.products.transposed_times(r)


class DenseRows:
    """Rows of a dense matrix, their columns divided by ``root``."""

    heavy, alike = 0, True
    most_in_system = 4_000

    def __init__(self, x: Floats, root: Floats) -> None:
        if not (root == 1.0).all():
            x = x / root
        self.x = np.ascontiguousarray(x, dtype=np.float64)
        self.square = self.light = np.einsum("ij,ij->i", self.x, self.x)

    def times(self, rows: Ints, v: Floats) -> Floats:
        """x·v of some rows."""
        return self.part(rows).times(v)

    def weighted_sum(self, rows: Ints, r: Floats) -> Floats:
        """Σ r x over some rows."""
        return self.part(rows).weighted_sum(r)

    def part(self, rows: Ints) -> DensePart:
        """Some rows for many products."""
        return DensePart(self.x, rows)

    def epoch(
        self, numbers: Floats, rows: Ints, chunks: Ints, epsilon: float, step: float, state: Any
    ) -> None:
        """One epoch of coordinate descent over some rows, which changes β, w and b of ``state``."""
        state.b = dense_epoch(
            self.x, numbers, rows, chunks, epsilon, state.beta, state.w, state.b, step
        )

    def in_double(self) -> bool:
        """Dense rows are in double precision always."""
        return False

    def most_steps(self, count: int) -> int:
        """Steps of conjugate gradients that take as long as factors of a system of ``count``."""
        return 25 if count <= self.most_in_system else 150

    def gram(self, rows: Ints) -> Floats:
        """x·x' of all pairs of some rows; of all rows once, where these are not many."""
        if len(self.x) > self.most_in_system:
            return column_gram(self.x[rows].T)
        return self._whole_gram[np.ix_(rows, rows)]

    @cached_property
    def _whole_gram(self) -> Floats:
        return column_gram(self.x.T)

    def restored(self, w: Floats) -> Floats:
        """W as it is."""
        return w
