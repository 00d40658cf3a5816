"""What dual coordinate descent needs of the rows, sparse or dense."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy import sparse

from separatrix.rows.block import Floats, Ints, Matrix
from separatrix.svm.primal.dense_rows import DenseRows
from separatrix.svm.primal.sparse_rows import SparseRows


class RowsPart(Protocol):
    """Some rows for many products; sparse ones in single precision and in columns of their own."""

    heavy: int

    def times(self, v: Floats) -> Floats:
        """x·v of the rows."""
        ...

    def weighted_sum(self, r: Floats) -> Floats:
        """Σ r x over the rows."""
        ...


class SomeRows(Protocol):
    """Rows x; ``square`` is ‖x‖² of each, ``light`` without the first ``heavy`` columns.

    Rows are ``alike`` where columns that many of them have make K far from its diagonal. The system
    of up to ``most_in_system`` rows is factored where conjugate gradients are slow.
    """

    most_in_system: int
    square: Floats
    light: Floats
    heavy: int
    alike: bool

    def times(self, rows: Ints, v: Floats) -> Floats:
        """x·v of some rows."""
        ...

    def weighted_sum(self, rows: Ints, r: Floats) -> Floats:
        """Σ r x over some rows."""
        ...

    def part(self, rows: Ints) -> RowsPart:
        """Some rows for many products."""
        ...

    def epoch(
        self, numbers: Floats, rows: Ints, chunks: Ints, epsilon: float, step: float, state: Any
    ) -> None:
        """One epoch of coordinate descent over some rows, which changes β, w and b of ``state``."""
        ...

    def in_double(self) -> bool:
        """Take double precision from now on; whether that was not so before."""
        ...

    def most_steps(self, count: int) -> int:
        """Steps of conjugate gradients that take as long as factors of a system of ``count``."""
        ...

    def gram(self, rows: Ints) -> Floats:
        """x·x' of all pairs of some rows, which may be written to."""
        ...

    def restored(self, w: Floats) -> Floats:
        """W in the order of the columns of the matrix."""
        ...


def some_rows(x: Matrix, root: Floats) -> SomeRows:
    """The rows of x, their columns divided by ``root``."""
    return SparseRows(x, root) if sparse.issparse(x) else DenseRows(np.asarray(x), root)
