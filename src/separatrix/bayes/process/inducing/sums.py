"""The sums behind a process with inducing points: one pass over the rows, merged with ``+``.

    A = K_nm L⁻ᵀ:     Φ = AᵀWA,   b = AᵀWY,   S = YᵀWY,   t = Σ w κ(x, x),   n = Σ w

A weight of w adds what w equal rows add.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from separatrix.bayes.process.inducing.points import InducingPoints, groups
from separatrix.bayes.process.trend import TrendBasis
from separatrix.kernels.base import Items, n_items, take_items
from separatrix.rows.block import Block, Floats
from separatrix.rows.mapped import MappedRows
from separatrix.rows.rows import InMemory, Rows, S
from separatrix.threads import parallel_map


@dataclass(frozen=True)
class Targets:
    """What a row has as targets: its outputs, centered and scaled, then the trend's columns."""

    outputs: int = 1
    center: Floats = field(default_factory=lambda: np.zeros(1))
    scale: Floats = field(default_factory=lambda: np.ones(1))
    basis: TrendBasis = field(default_factory=lambda: TrendBasis.of("none", None, None))

    @property
    def columns(self) -> int:
        """How many columns there are."""
        return self.outputs + len(self.basis)

    def of(self, x: Items, y: Floats) -> Floats:
        """The columns of some rows."""
        standard = (y - self.center) / self.scale
        return np.column_stack([standard, self.basis.of_rows(x)]) if len(self.basis) else standard


class InducingSums:
    """Φ, b, S, t and n of some rows, for given inducing points."""

    def __init__(
        self, inducing: InducingPoints, targets: Targets | None = None, single: bool = False
    ) -> None:
        self.inducing, self.targets = inducing, Targets() if targets is None else targets
        self.single = single
        m, k = len(inducing), self.targets.columns
        self.weight, self.count, self.trace = 0.0, 0, 0.0
        self.gram = np.zeros((m, m))
        self.inner = np.zeros((m, k))
        self.squares = np.zeros((k, k))

    def fresh(self) -> Self:
        """The sums of no rows."""
        return type(self)(self.inducing, self.targets, self.single)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        self.add(block.dense(), block.y, block.w)

    def add(self, x: Items, y: Floats, w: Floats | None = None) -> None:
        """Add rows (or objects) with targets n x outputs and weights."""

        def part(rows: slice) -> tuple[Any, ...]:
            return self._part(take_items(x, rows), y[rows], None if w is None else w[rows])

        for group in groups(n_items(x), len(self.inducing)):
            for gram, inner, squares, trace in parallel_map(part, group):
                self.gram += gram
                self.inner += inner
                self.squares += squares
                self.trace += trace
        self.count += n_items(x) if w is None else int(np.count_nonzero(w))
        self.weight += float(n_items(x) if w is None else w.sum())

    def _part(self, x: Items, y: Floats, w: Floats | None) -> tuple[Any, ...]:
        a = self.inducing.whitened(x, single=self.single)
        y, diagonal = self.targets.of(x, y), self.inducing.diagonal(x)
        if w is not None:
            root = np.sqrt(w)[:, None]
            a *= root.astype(a.dtype)
            y, diagonal = y * root, diagonal * w
        return a.T @ a, a.T @ y.astype(a.dtype, copy=False), y.T @ y, float(diagonal.sum())

    def __add__(self, other: Self) -> Self:
        total = self.fresh()
        for name in ("weight", "count", "trace", "gram", "inner", "squares"):
            setattr(total, name, getattr(self, name) + getattr(other, name))
        return total


def reduced(rows: Rows, statistic: S) -> S:
    """A statistic of all rows; one that works on threads itself takes rows in memory whole."""
    if not isinstance(rows, InMemory):
        return rows.reduce(statistic)
    total = statistic.fresh()
    total.update(rows.block)
    return total


def stored(rows: Rows) -> Rows:
    """The rows of a design; encoded once where the table is in memory."""
    in_memory = isinstance(rows, MappedRows) and isinstance(rows.rows, InMemory)
    return rows.read() if in_memory else rows
