"""Rows of which only the moments by part are available."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, cast

from separatrix.messages import InputError
from separatrix.rows.block import Block
from separatrix.rows.parts import Parts
from separatrix.rows.rows import InMemory, Rows, S
from separatrix.rows.schema import Schema
from separatrix.statistics.grouped import Grouped
from separatrix.statistics.moments import Moments


class MomentRows(Rows):
    """A table reduced to raw moments by part; any other statistic is refused.

    The parts are relabeled 0, 1, …, and serve as the folds of cross-validation: the split was made
    when the rows were read.
    """

    def __init__(self, schema: Schema, parts: Mapping[int, Moments]) -> None:
        self.schema = schema
        self.parts = {i: parts[key] for i, key in enumerate(sorted(parts))}

    def without(self, fold: int) -> MomentRows:
        """All parts but one: the training part of a fold."""
        return MomentRows(self.schema, {k: m for k, m in self.parts.items() if k != fold})

    def reduce(self, statistic: S) -> S:
        """The moments of all rows, or by part; other statistics are refused."""
        grouped = Grouped(Moments(), dict(self.parts))
        if isinstance(statistic, Moments):
            return cast(S, grouped.total())
        if isinstance(statistic, Grouped) and isinstance(statistic.inner, Moments):
            return cast(S, grouped)
        return self._refuse()

    def with_parts(self, parts: Any) -> MomentRows:
        """Return these rows: the parts are those of the moments."""
        folds = parts.folds if isinstance(parts, Parts) else len(self.parts)
        if folds != len(self.parts):
            raise InputError(
                f"The moments are stored for {len(self.parts)} folds, not {folds}.",
                remedy=f"Use {len(self.parts)} folds, or summarize the table again.",
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
            "This model needs the rows, but only their moments are stored.",
            remedy="Fit it to the table itself, or choose linear, ridge or lasso.",
        )
