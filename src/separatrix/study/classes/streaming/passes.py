"""Passes over a stream: counted, and announced while they run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from separatrix.rows.block import Block
from separatrix.rows.rows import Rows, S
from separatrix.study.progress import Step

#: Passes of the closed forms: moments, comparison, test; and about so many more of a descent.
CLOSED_FORM_PASSES, DESCENT_PASSES = 3, 6


class Passes(Rows):
    """Rows of which every pass is counted, and announced by what it is for."""

    def __init__(self, rows: Rows, step: Step, planned: int) -> None:
        self.rows, self.step, self.planned = rows, step, planned
        self.schema, self.notes, self.ignored = rows.schema, rows.notes, rows.ignored
        self.count, self.purpose = 0, "reading"

    def reduce(self, statistic: S) -> S:
        """Compute a statistic of all rows in one pass."""
        self._begin()
        return self.rows.reduce(statistic)

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks in order: a pass as well."""
        self._begin()
        yield from self.rows.blocks()

    def with_parts(self, parts: Any) -> Rows:
        """Label each row with its part; the passes of those rows are counted here."""
        return Passes(self.rows.with_parts(parts), self.step, self.planned)

    def named(self, purpose: str) -> Passes:
        """These rows, whose next passes are for ``purpose``."""
        self.purpose = purpose
        return self

    def _begin(self) -> None:
        self.count += 1
        if self.count <= self.planned:
            self.step(f"pass {self.count}: {self.purpose}")
