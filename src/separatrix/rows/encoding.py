"""From the raw terms of a table to the columns of the design, row by row.

Dummies lose their reference level, gaps receive their replacement: both are linear in the raw
terms (a value, level indicators, gap indicators), so the same map works on blocks and on moments.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from separatrix.rows.block import Block, Floats
from separatrix.rows.schema import Schema, Term, Terms


@dataclass(frozen=True)
class Encoding:
    """design = raw terms · matrix. ``matrix`` None means that the raw terms are the design."""

    schema: Schema
    raw: Terms
    matrix: Floats | None = None
    design: Terms | None = None

    @property
    def terms(self) -> Terms:
        """The terms of the design."""
        return self.raw if self.design is None else self.design

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the design by name, in order."""
        return tuple(str(term) for term in self.terms)

    def apply(self, block: Block) -> Block:
        """A raw block as design rows."""
        if self.matrix is None:
            return block
        return replace(block, x=np.asarray(block.x @ self.matrix), terms=self.terms)


def identity(schema: Schema) -> Encoding:
    """The encoding of a table that is a matrix already."""
    return Encoding(schema, Terms(tuple(Term(name) for name in schema.names)))
