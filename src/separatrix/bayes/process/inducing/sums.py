"""The sums behind a process with inducing points: one pass over the rows, merged with ``+``.

    A = K_nm L⁻ᵀ:     Φ = AᵀWA,   b = AᵀWY,   S = YᵀWY,   t = Σ w κ(x, x),   n = Σ w

A weight of w adds what w equal rows add.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.bayes.process.inducing.points import InducingPoints
from separatrix.kernels.base import Items, n_items, take_items
from separatrix.rows.block import Block, Floats
from separatrix.rows.rows import InMemory, Rows, S
from separatrix.threads import parallel_map

#: Kernel values of a piece of rows, and pieces whose sums are in memory at a time.
PIECE_VALUES, PIECES = 1 << 20, 16


class InducingSums:
    """Φ, b, S, t and n of some rows, for given inducing points."""

    def __init__(
        self,
        inducing: InducingPoints,
        outputs: int = 1,
        center: float | Floats = 0.0,
        single: bool = False,
    ) -> None:
        m = len(inducing)
        self.inducing, self.outputs, self.center = inducing, outputs, center
        self.single = single
        self.weight, self.count, self.trace = 0.0, 0, 0.0
        self.gram = np.zeros((m, m))
        self.inner = np.zeros((m, outputs))
        self.squares = np.zeros((outputs, outputs))

    def fresh(self) -> Self:
        """The sums of no rows."""
        return type(self)(self.inducing, self.outputs, self.center, self.single)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        self.add(block.x, block.y, block.w)

    def add(self, x: Items, y: Floats, w: Floats | None = None) -> None:
        """Add rows (or objects) with targets n x outputs and weights."""
        targets = y - self.center

        def part(rows: slice) -> tuple[Any, ...]:
            return self._part(take_items(x, rows), targets[rows], None if w is None else w[rows])

        for group in groups(n_items(x), len(self.inducing)):
            for gram, inner, squares, trace in parallel_map(part, group):
                self.gram += gram
                self.inner += inner
                self.squares += squares
                self.trace += trace
        self.count += n_items(x) if w is None else int(np.count_nonzero(w))
        self.weight += float(n_items(x) if w is None else w.sum())

    def _part(self, x: Items, y: Floats, w: Floats | None) -> tuple[Any, ...]:
        rows: NDArray[Any] = self.inducing.rows(x)
        whitening: NDArray[Any] = self.inducing.whitening
        if self.single:
            rows, whitening = rows.astype(np.float32), self.inducing.whitening_single
        a = rows @ whitening
        diagonal = self.inducing.diagonal(x)
        if w is not None:
            root = np.sqrt(w)
            a, y, diagonal = a * root[:, None].astype(a.dtype), y * root[:, None], diagonal * w
        inner = a.T @ y.astype(a.dtype)
        return a.T @ a, inner, y.T @ y, float(diagonal.sum())

    def __add__(self, other: Self) -> Self:
        total = self.fresh()
        for name in ("weight", "count", "trace", "gram", "inner", "squares"):
            setattr(total, name, getattr(self, name) + getattr(other, name))
        return total


def groups(n: int, m: int) -> list[list[slice]]:
    """Pieces of rows, a few at a time; they depend on the shape alone."""
    step = max(64, PIECE_VALUES // max(m, 1))
    cuts = [slice(start, min(start + step, n)) for start in range(0, n, step)]
    return [cuts[i : i + PIECES] for i in range(0, len(cuts), PIECES)]


def reduced(rows: Rows, statistic: S) -> S:
    """A statistic of all rows; one that works on threads itself takes rows in memory whole."""
    if not isinstance(rows, InMemory):
        return rows.reduce(statistic)
    total = statistic.fresh()
    total.update(rows.block)
    return total
