"""Rows of a fit by likelihood: encoded once, with their moments where a fit needs them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from separatrix.matrices.products import Products
from separatrix.rows.encoding import Encoding, identity
from separatrix.rows.rows import ArrayRows, InMemory, Rows
from separatrix.rows.schema import Terms
from separatrix.statistics.class_moments import ClassMoments
from separatrix.statistics.class_sums import use_compiled
from separatrix.statistics.moments import Moments
from separatrix.statistics.preparation import prepare

#: Values of a table in memory up to which its design is stored.
MAX_ENCODED = 20_000_000


@dataclass(frozen=True)
class LogisticRows:
    """Encoded rows; ``known`` are their moments where the encoding needed them.

    ``x`` are the products with their columns where other fits share them.
    """

    rows: Rows
    known: Moments | None
    encoding: Encoding
    targets: Terms
    x: Products | None = None

    @property
    def n_columns(self) -> int:
        """Columns of the design."""
        return len(self.encoding.names)

    @cached_property
    def moments(self) -> Moments:
        """Moments of the rows, computed for the fits that need them."""
        if self.known is not None:
            return self.known
        block = self.rows.collect()
        if not use_compiled(block.x):
            return prepare(self.rows).moments
        # moments by class, in one compiled pass, give those of all
        empty = ClassMoments.empty("pooled", len(block.targets), block.x.shape[1])
        by_class = self.rows.with_parts(block.y.argmax(axis=1)).reduce(empty)
        return by_class.joint(block.terms, block.targets)

    @classmethod
    def of(cls, rows: Rows) -> LogisticRows:
        """Encode the rows."""
        if isinstance(rows, ArrayRows):
            return cls(rows, None, identity(rows.schema), rows.block.targets)
        prepared = prepare(rows)
        moments, encoding = prepared.moments, prepared.encoding
        if not isinstance(rows, InMemory) or len(rows) * len(encoding.names) > MAX_ENCODED:
            return cls(prepared.rows, moments, encoding, moments.targets)
        # encoded once: every pass of a solver would do it again
        block = encoding.apply(rows.block)
        encoded = ArrayRows(block.x, block.y, block.w, targets=block.targets.items)
        return cls(encoded, moments, encoding, moments.targets)
