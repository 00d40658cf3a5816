"""From the raw terms of a table to the columns of the design, row by row.

    numeric:   design = value + (fill − origin) · gap
    discrete:  one 0/1 column per level met, but for the reference level (the most frequent one)

Dummies lose their reference level, gaps receive their replacement: both are linear in the raw
terms (a value, level indicators, gap indicators), so the same map works on blocks and on moments.
Only completion by regression looks at more than one column at a time; it comes before this map.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from separatrix.rows.block import Block
from separatrix.rows.imputation import Imputation
from separatrix.rows.schema import Schema, Term, Terms
from separatrix.rows.term_map import TermMap

_NO_TERMS = Terms(())


@dataclass(frozen=True)
class Encoding:
    """How the columns of a table become the columns of a design.

    ``plain`` says that the raw terms are the design (a numeric matrix). ``fills`` holds what a gap
    of each numeric column receives, ``references`` the level of each discrete column that has no
    dummy. ``notes`` are sentences on columns that could not be used.
    """

    schema: Schema
    terms: Terms
    plain: bool = False
    targets: Terms = _NO_TERMS
    fills: dict[str, float] = field(default_factory=dict)
    references: dict[str, str] = field(default_factory=dict)
    completion: Imputation | None = None
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the design by name, in order."""
        return tuple(str(term) for term in self.terms)

    @property
    def rounds(self) -> int:
        """Rounds that completion by regression took (0 without it)."""
        return 0 if self.completion is None else self.completion.rounds

    @property
    def last_change(self) -> float:
        """How much the last round changed, in standard deviations (0 without completion)."""
        return 0.0 if self.completion is None else self.completion.last_change

    def apply(self, block: Block) -> Block:
        """A raw block as design rows; targets in the order of training."""
        if self.plain:
            return block
        if self.completion is not None:
            block = self.completion.complete(block)
        x = self.map_from(block.terms).rows(block.x)
        y, targets = block.y, block.targets
        if len(targets) and targets.items != self.targets.items:
            y = self.targets_from(targets).rows(y)
            targets = self.targets
        return replace(block, x=x, y=y, terms=self.terms, targets=targets)

    def map_from(self, raw: Terms) -> TermMap:
        """The linear map from raw terms to the design. A term not met is zero in every row."""
        origin = {column.name: column.origin for column in self.schema.columns}
        entries = []
        for j, term in enumerate(self.terms):
            i = raw.position.get(term)
            if i is not None:
                entries.append((i, j, 1.0))
            gap = raw.position.get(Term(term.column, missing=True))
            if gap is not None and term.column in self.fills and not term.missing:
                entries.append((gap, j, self.fills[term.column] - origin[term.column]))
        return TermMap(raw, self.terms, tuple(entries))

    def targets_from(self, found: Terms) -> TermMap:
        """The map into the targets of training; a class that training did not meet is all zeros."""
        entries = [
            (i, self.targets.position[term], 1.0)
            for i, term in enumerate(found)
            if term in self.targets.position
        ]
        return TermMap(found, self.targets, tuple(entries))


def identity(schema: Schema) -> Encoding:
    """The encoding of a table that is a matrix already."""
    return Encoding(schema, Terms(tuple(Term(name) for name in schema.names)), plain=True)
