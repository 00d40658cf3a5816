"""A statistic by part of the data (fold, class, test part), and rows of which only that is left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from itertools import pairwise
from typing import Any, Generic, NoReturn, Self, cast

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.rows.block import Block, Ints
from separatrix.rows.parts import Parts
from separatrix.rows.rows import InMemory, Rows, S, merged
from separatrix.rows.schema import Schema
from separatrix.statistics.moments import Moments
from separatrix.statistics.part_moments import moments_by_part


class Grouped(Generic[S]):
    """One statistic like ``inner`` for each value of ``block.parts``; merges part by part."""

    def __init__(self, inner: S, parts: dict[int, S] | None = None) -> None:
        self.inner = inner
        self.parts: dict[int, S] = {} if parts is None else parts

    def fresh(self) -> Self:
        """An empty statistic over the same inner statistic."""
        return type(self)(self.inner)

    def update(self, block: Block) -> None:
        """Add the rows of a block, each to the statistic of its part."""
        assert block.parts is not None, "the rows have no parts"
        labels = block.parts
        if isinstance(self.inner, Moments):
            found = moments_by_part(block)
            if found is not None:
                self.parts = merged(self.parts, cast(dict[int, S], found))
                return
        if (np.diff(labels) < 0).any():  # sort once, so that every part is a contiguous slice
            order = counting_argsort(labels)
            block, labels = block.take(order), labels[order]
        cuts = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels)]
        for a, b in pairwise(cuts):
            if b > a:
                part = self.parts.setdefault(int(labels[a]), self.inner.fresh())
                part.update(block.take(slice(a, b)))

    def __add__(self, other: Self) -> Self:
        return type(self)(self.inner, merged(self.parts, other.parts))

    def total(self, without: int | None = None) -> S:
        """The statistic of all parts but ``without`` (the test rows of a fold)."""
        parts = [self.parts[v] for v in sorted(self.parts) if v != without]
        return reduce(lambda a, b: a + b, parts) if parts else self.inner.fresh()


def counting_argsort(labels: Ints) -> NDArray[np.intp]:
    """Stable order; labels that fit in one byte are sorted by counting, ten times faster."""
    low, high = int(labels.min(initial=0)), int(labels.max(initial=0))
    small = (labels - low).astype(np.uint8) if high - low < 256 else labels
    return np.argsort(small, kind="stable")


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
