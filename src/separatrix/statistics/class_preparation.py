"""Moments by class, in one pass: of raw terms, and of the design of a table.

Imputation by a constant and dummy coding are linear in the raw terms, so the raw moments of a
class become those of its design without another pass. Only regression imputation reads the rows
again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Self

import numpy as np

from separatrix.rows.block import Block, Floats
from separatrix.rows.encoding import Encoding
from separatrix.rows.mapped import EncodedRows
from separatrix.rows.rows import ArrayRows, Rows, merged
from separatrix.rows.schema import NO_TERMS, Term, Terms
from separatrix.rows.sources.reader import no_usable_rows
from separatrix.statistics.moments import Moments
from separatrix.statistics.preparation import design_moments, learn_encoding, prepare


class MomentsByClass:
    """The :class:`Moments` of X for each class, by the indicator of the class; merges with ``+``.

    The scatter within a class is computed about its own mean, so that it is accurate however far
    apart the classes are.
    """

    def __init__(self, parts: dict[Term, Moments] | None = None) -> None:
        self.parts: dict[Term, Moments] = {} if parts is None else parts

    def fresh(self) -> Self:
        """An empty statistic."""
        return type(self)()

    def update(self, block: Block) -> None:
        """Add the rows of a block, class by class."""
        for j, term in enumerate(block.targets):
            rows = block.take(np.flatnonzero(block.y[:, j] > 0.5))
            rows = replace(rows, y=np.empty((rows.n, 0)), targets=NO_TERMS)
            self.parts.setdefault(term, Moments()).update(rows)

    def __add__(self, other: Self) -> Self:
        return type(self)(merged(self.parts, other.parts))


@dataclass(frozen=True)
class ClassCodes:
    """The class of every row as its part: the position of its indicator among ``targets``."""

    targets: Terms

    def apply(self, block: Block) -> Block:
        """Rows of these classes, without targets of their own."""
        y = np.zeros((block.n, len(self.targets)))
        for j, term in enumerate(block.targets):
            if term in self.targets.position:
                y[:, self.targets.position[term]] = block.y[:, j]
        block = replace(block, y=np.empty((block.n, 0)), targets=NO_TERMS, parts=y.argmax(axis=1))
        known = y.max(axis=1, initial=0.0) > 0.5
        return block if known.all() else block.take(np.flatnonzero(known))


@dataclass(frozen=True)
class TargetMap:
    """Linear map of the targets, y ↦ y·matrix, of blocks and of moments."""

    matrix: Floats
    targets: Terms

    def apply(self, block: Block) -> Block:
        """Map the targets of a block."""
        return replace(block, y=block.y @ self.matrix, targets=self.targets)

    def moments(self, m: Moments) -> Moments:
        """The moments of the mapped rows, from those of the rows."""
        return m.mapped(np.eye(m.d), self.matrix, m.terms, self.targets)


@dataclass(frozen=True)
class PreparedClasses:
    """The encoding of a table, and the moments of the design ``terms`` for each target class."""

    encoding: Encoding
    terms: Terms
    targets: Terms
    parts: dict[Term, Moments]

    def of(self, target: Term) -> Moments:
        """The moments of one class over the whole design; empty if no row has the class."""
        return self.parts.get(target, Moments()).aligned(self.terms, NO_TERMS)


def prepare_classes(rows: Rows) -> PreparedClasses:
    """Learn the encoding and the moments of each class in one pass (more for regression)."""
    if isinstance(rows, ArrayRows | EncodedRows) or rows.schema.missing == "regress":
        prepared = prepare(rows)
        parts = prepared.rows.reduce(MomentsByClass()).parts
        terms, targets = prepared.moments.terms, prepared.targets
        return PreparedClasses(prepared.encoding, terms, targets, parts)
    raw = rows.reduce(MomentsByClass()).parts
    total = reduce(add, raw.values(), Moments())
    if not total.count:
        raise no_usable_rows(rows.schema, rows.dropped, None)
    encoding = learn_encoding(rows.schema, _with_proportions(total, raw))
    columns = replace(encoding, targets=NO_TERMS)  # indicators are constant within a class
    parts = {
        term: design_moments(columns, part.aligned(total.terms, NO_TERMS))
        for term, part in raw.items()
    }
    return PreparedClasses(encoding, encoding.terms, encoding.targets, parts)


def _with_proportions(total: Moments, parts: dict[Term, Moments]) -> Moments:
    """Moments of all rows, with the class proportions as means of the class indicators."""
    targets = Terms(tuple(parts))
    proportions = np.array([part.weight for part in parts.values()]) / total.weight
    p = total.d + len(targets)
    scatter = np.zeros((p, p))
    scatter[: total.d, : total.d] = total.xx
    mean = np.concatenate([total.x_mean, proportions])
    return Moments(total.terms, targets, total.count, total.weight, mean, scatter)
