"""Rows of a table as those of a process of two classes: a target of 0 or 1."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from separatrix.estimators.class_labels import outputs_of
from separatrix.rows.block import Block, Floats, Ints
from separatrix.rows.mapped import MappedRows
from separatrix.rows.rows import InMemory, Rows
from separatrix.rows.schema import Term, Terms

LABEL = Terms((Term("class"),))


@dataclass(frozen=True)
class TwoClasses:
    """Blocks of class indicators as class ``second`` (1) against ``first``, or against the rest."""

    targets: Terms
    second: int
    first: int | None = None

    def apply(self, block: Block) -> Block:
        """The rows of both classes."""
        indicators = block.indicators(self.targets)
        labeled = Block(block.x, indicators[:, [self.second]], block.w, block.terms, LABEL)
        if self.first is None:
            return labeled
        return labeled.take(np.flatnonzero(indicators[:, [self.first, self.second]].any(axis=1)))

    def of(self, rows: Rows) -> Rows:
        """The rows of both classes, in memory where all rows are."""
        if isinstance(rows, InMemory):
            return InMemory(rows.schema, self.apply(rows.block))
        return MappedRows(rows, self)


def two_classes(targets: Terms, *, pairs: bool) -> list[TwoClasses]:
    """What every process tells apart: pairs of classes, or each from the rest (one of two)."""
    if pairs:
        return [TwoClasses(targets, j, i) for i, j in combinations(range(len(targets)), 2)]
    return [TwoClasses(targets, c) for c in outputs_of(len(targets))]


def coded_parts(codes: Ints, n_classes: int, *, pairs: bool) -> list[tuple[Ints, Floats]]:
    """The same of class codes in memory: rows, and labels 0 or 1, of every process."""
    every = np.arange(len(codes))
    if not pairs:
        return [(every, (codes == c).astype(float)) for c in outputs_of(n_classes)]
    chosen = [(every[(codes == i) | (codes == j)], j) for i, j in combinations(range(n_classes), 2)]
    return [(rows, (codes[rows] == j).astype(float)) for rows, j in chosen]
