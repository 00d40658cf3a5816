"""Version spaces of a table that is read in blocks: two statistics, each of one pass.

The smallest and largest values of each class are S. The second pass looks for rows of other classes
inside: if there are none, the rows that bound G are all that is needed. Both merge with ``+``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from separatrix.hypotheses.boxes.fit import ClassSpace
from separatrix.hypotheses.boxes.version_space import bounding, within_bounds
from separatrix.rows.block import Block, Floats
from separatrix.rows.encoding import Encoding
from separatrix.rows.rows import InMemory, Rows
from separatrix.rows.schema import Term
from separatrix.statistics.column_extremes import column_extremes
from separatrix.statistics.preparation import prepare


@dataclass
class ClassExtremes:
    """Smallest and largest value of each column, and the weight, for each class."""

    faces: dict[Term, Floats] = field(default_factory=dict)
    weight: dict[Term, float] = field(default_factory=dict)

    def fresh(self) -> Self:
        """The statistic of no rows."""
        return type(self)()

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        for j, term in enumerate(block.targets):
            own = (block.y[:, j] > 0.5) & (block.weights > 0.0)
            if own.any():
                found = column_extremes(np.ascontiguousarray(block.dense()[own]))
                self._add(term, found, float(block.weights[own].sum()))

    def _add(self, term: Term, faces: Floats, weight: float) -> None:
        if term in self.faces:
            low = np.minimum(self.faces[term][0], faces[0])
            faces = np.stack([low, np.maximum(self.faces[term][1], faces[1])])
        self.faces[term] = faces
        self.weight[term] = self.weight.get(term, 0.0) + weight

    def __add__(self, other: Self) -> Self:
        total = type(self)(dict(self.faces), dict(self.weight))
        for term, faces in other.faces.items():
            total._add(term, faces, other.weight[term])
        return total


class OtherClasses:
    """The rows of other classes that bound G of each class, and whether any is inside S."""

    def __init__(self, faces: dict[Term, Floats]) -> None:
        self.faces = faces
        self.rows: dict[Term, Floats] = {}
        self.inside = False

    def fresh(self) -> Self:
        """The statistic of no rows."""
        return type(self)(self.faces)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        if self.inside:
            return
        x = block.dense()
        for term, faces in self.faces.items():
            j = block.targets.position.get(term)
            other = block.weights > 0.0
            if j is not None:
                other &= block.y[:, j] < 0.5
            self._add(term, bounding(x[other], *faces))

    def _add(self, term: Term, rows: Floats) -> None:
        if term in self.rows:
            joined = np.concatenate([self.rows[term], rows])
            rows = bounding(joined, *self.faces[term])
        self.rows[term] = rows
        self.inside = self.inside or bool(np.isnan(rows).all(axis=1).any())

    def __add__(self, other: Self) -> Self:
        total = self.fresh()
        total.rows, total.inside = dict(self.rows), self.inside or other.inside
        if not total.inside:
            for term, rows in other.rows.items():
                total._add(term, rows)
        return total


def consistent_spaces(model: Any, X: Rows) -> tuple[list[ClassSpace], Encoding, Floats, int] | None:
    """Version spaces of a stream, its encoding, the range of each design column, and its rows.

    None for rows in memory, and where no boxes are consistent.
    """
    if isinstance(X, InMemory):
        return None
    rows = model._class_rows(X, None, None)
    prepared = prepare(rows)
    terms = model._class_terms(rows, prepared.targets)
    first = prepared.rows.reduce(ClassExtremes())
    second = prepared.rows.reduce(OtherClasses(first.faces))
    if second.inside:
        return None
    found = []
    for code in model._concept_codes():
        term = terms.items[code]
        space = within_bounds(first.faces[term], second.rows[term])
        weight = first.weight[term]
        found.append(ClassSpace(space, 0.0, 0.0, weight, 0.0, weight))
    lower, upper = zip(*first.faces.values(), strict=True)
    scale = np.max(upper, axis=0) - np.min(lower, axis=0)
    return found, prepared.encoding, scale, prepared.moments.count
