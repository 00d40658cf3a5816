"""A statistic by part of the data (fold, class, test part), in one pass."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from typing import Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Block, Ints
from separatrix.rows.rows import Statistic, merged

S = TypeVar("S", bound=Statistic)


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
