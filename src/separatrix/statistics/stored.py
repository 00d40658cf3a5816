"""Rows that are gone: only their moments by part are left, and those answer what moments can."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, cast

from separatrix.messages import InputError
from separatrix.rows.block import Block
from separatrix.rows.rows import InMemory, Rows, S
from separatrix.rows.schema import Schema
from separatrix.statistics.grouped import Grouped
from separatrix.statistics.moments import Moments


class MomentRows(Rows):
    """A table reduced to raw moments by part. It reduces to moments again, and to nothing else.

    The parts are relabelled 0, 1, …, so that a model that asks for as many folds finds them here:
    the split was made when the rows were read.
    """

    def __init__(self, schema: Schema, parts: Mapping[int, Moments]) -> None:
        self.schema = schema
        self.parts = {i: parts[key] for i, key in enumerate(sorted(parts))}

    def without(self, fold: int) -> MomentRows:
        """All parts but one: the training side of a fold."""
        return MomentRows(self.schema, {k: m for k, m in self.parts.items() if k != fold})

    def reduce(self, statistic: S) -> S:
        """The moments of all rows, or by part; other statistics need rows."""
        grouped = Grouped(Moments(), dict(self.parts))
        if isinstance(statistic, Moments):
            return cast(S, grouped.total())
        if isinstance(statistic, Grouped) and isinstance(statistic.inner, Moments):
            return cast(S, grouped)
        return self._refuse()

    def with_parts(self, parts: Any) -> MomentRows:
        """Itself: the parts are those that the rows were reduced by."""
        folds = getattr(parts, "folds", len(self.parts))
        if folds != len(self.parts):
            raise InputError(
                f"The moments were kept by {len(self.parts)} parts, not {folds}.",
                remedy=f"Ask for {len(self.parts)} folds, or summarise the table again.",
            )
        return self

    def blocks(self) -> Iterator[Block]:
        """Refused: there are no rows."""
        self._refuse()

    def read(self) -> InMemory:
        """Refused: there are no rows."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise InputError(
            "This model needs the rows, but only their moments were kept.",
            remedy="Fit it to the table itself, or choose linear, ridge or lasso.",
        )
