"""Statistics that merge field by field: sums, minima and maxima over the rows."""

from __future__ import annotations

from copy import copy
from typing import ClassVar, Self

import numpy as np


class FieldStatistic:
    """A mergeable statistic whose fields are sums, minima or maxima over the rows.

    A subclass names its fields; all other attributes are settings, equal in all parts.
    """

    sums: ClassVar[tuple[str, ...]] = ()
    minima: ClassVar[tuple[str, ...]] = ()
    maxima: ClassVar[tuple[str, ...]] = ()

    def fresh(self) -> Self:
        """An empty one with the same settings."""
        empty = copy(self)
        for name in self.sums:
            setattr(empty, name, np.zeros_like(getattr(self, name))[()])
        for name in self.minima:
            setattr(empty, name, np.inf)
        for name in self.maxima:
            setattr(empty, name, -np.inf)
        return empty

    def __add__(self, other: Self) -> Self:
        merged = copy(self)
        rules = ((self.sums, np.add), (self.minima, np.minimum), (self.maxima, np.maximum))
        for names, merge in rules:
            for name in names:
                setattr(merged, name, merge(getattr(self, name), getattr(other, name)))
        return merged
