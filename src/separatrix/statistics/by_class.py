"""Moments of the features, class by class, where the target is one indicator per class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from separatrix.rows.block import Block, Floats
from separatrix.rows.schema import Term, Terms
from separatrix.statistics.moments import Moments

_NO_TARGETS = Terms(())


class ByClass:
    """One :class:`Moments` of X per class, keyed by the class's indicator; merges with ``+``.

    Scatter within a class is summed about that class's own mean, so it keeps its digits however
    far the classes lie apart.
    """

    def __init__(self, parts: dict[Term, Moments] | None = None) -> None:
        self.parts: dict[Term, Moments] = {} if parts is None else parts

    def fresh(self) -> Self:
        """An empty one."""
        return type(self)()

    def update(self, block: Block) -> None:
        """Split the rows of a block by class."""
        for j, term in enumerate(block.targets):
            rows = block.take(np.flatnonzero(block.y[:, j] > 0.5))
            rows = replace(rows, y=np.empty((rows.n, 0)), targets=_NO_TARGETS)
            moments = Moments()
            moments.update(rows)
            self.parts[term] = self.parts[term] + moments if term in self.parts else moments

    def __add__(self, other: Self) -> Self:
        merged = dict(self.parts)
        for term, part in other.parts.items():
            merged[term] = merged[term] + part if term in merged else part
        return type(self)(merged)


@dataclass(frozen=True)
class TargetMap:
    """New targets y·matrix, of blocks and of moments alike: one code for several indicators."""

    matrix: Floats
    targets: Terms

    def apply(self, block: Block) -> Block:
        """The block with its new targets."""
        return replace(block, y=block.y @ self.matrix, targets=self.targets)

    def moments(self, m: Moments) -> Moments:
        """The moments that the mapped rows have."""
        d, (k, new) = m.d, self.matrix.shape
        full = np.zeros((d + k, d + new))
        full[:d, :d] = np.eye(d)
        full[d:, d:] = self.matrix
        return Moments(
            m.terms, self.targets, m.count, m.weight, m.mean @ full, full.T @ m.scatter @ full
        )
