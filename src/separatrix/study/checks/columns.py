"""Columns of a table as values, and how well the value of a row tells the target of its likes.

agreement of numbers = 1 − variance within values / variance        (intraclass correlation)
agreement of classes = (a − b) / (1 − b),   a: rows whose class most others of their value have,
                                            b: the frequency of the largest class
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Floats, Ints, to_array
from separatrix.rows.copies import column_positions
from separatrix.rows.parts import column_of
from separatrix.rows.rows import InMemory
from separatrix.rows.sources.columns import Levels


@dataclass(frozen=True)
class ColumnValues:
    """One column: numbers, NaN where missing; or codes of ``levels``, −1 where missing."""

    name: str
    numbers: Floats | None
    codes: Ints | None = None
    levels: tuple[str, ...] = ()

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Mask of the rows without a value."""
        if self.numbers is not None:
            return np.isnan(self.numbers)
        assert self.codes is not None
        return self.codes < 0

    @cached_property
    def _sorted(self) -> tuple[Ints, Floats]:
        """A code for every number, and the numbers; missing ones have a code beyond."""
        assert self.numbers is not None
        present, codes = np.unique(self.numbers, return_inverse=True)  # one NaN, the last
        return codes, present[~np.isnan(present)]

    @property
    def n_values(self) -> int:
        """Number of levels, or of distinct numbers."""
        return len(self.levels) if self.numbers is None else len(self._sorted[1])

    @cached_property
    def values(self) -> Ints:
        """A code for the value of every row; missing ones have one of their own, the last."""
        codes = self.codes if self.numbers is None else self._sorted[0]
        assert codes is not None
        return np.asarray(np.where(codes < 0, self.n_values, codes), dtype=np.int64)

    def text(self, code: int) -> str:
        """The value of a code."""
        if code == self.n_values:
            return "missing"
        return repr(self.levels[code]) if self.numbers is None else f"{self._sorted[1][code]:g}"

    @cached_property
    def distinct(self) -> int:
        """Number of values that occur, a missing one among them."""
        return int((np.bincount(self.values) > 0).sum())

    @property
    def whole(self) -> bool:
        """Whether the column holds levels or whole numbers, which may be codes."""
        if self.numbers is None:
            return True
        present = self.numbers[~np.isnan(self.numbers)]
        return bool((present == np.floor(present)).all())

    def take(self, index: NDArray[Any] | slice) -> ColumnValues:
        """Some of the rows."""
        return ColumnValues(
            self.name,
            None if self.numbers is None else self.numbers[index],
            None if self.codes is None else self.codes[index],
            self.levels,
        )


def columns_of(table: InMemory, names: Container[str] | None = None) -> Iterator[ColumnValues]:
    """The feature columns that vary, one after the other; only those in ``names`` where given."""
    block = table.block
    for name, at in column_positions(block.terms).items():
        if names is not None and name not in names:
            continue
        found = column_of(to_array(block.x[:, at]), block.terms, at)
        if isinstance(found, Levels):
            column = ColumnValues(name, None, found.codes, found.names)
        else:
            column = ColumnValues(name, found.values)
        raw = found.codes if isinstance(found, Levels) else found.values
        if (raw != raw[0]).any() and not column.missing.all():
            yield column


def counts(values: Ints, classes: Ints) -> Ints:
    """Rows by value and class."""
    k = int(classes.max()) + 1
    cells = np.bincount(values * k + classes, minlength=(int(values.max()) + 1) * k)
    return cells.reshape(-1, k)


def tells_class(values: Ints, classes: Ints) -> NDArray[np.bool_]:
    """Whether most *other* rows of a row's value have its class."""
    table = counts(values, classes)
    own = table[values, classes] - 1
    others = table.copy()
    top = others.max(axis=1)
    at = others.argmax(axis=1)
    others[np.arange(len(others)), at] = -1
    second = others.max(axis=1)
    rival = np.where(at[values] == classes, second[values], top[values])
    return np.asarray(own > np.maximum(rival, 0))


def class_agreement(values: Ints, classes: Ints) -> float:
    """How much better than the largest class the other rows of its value tell a row's class."""
    largest = np.bincount(classes).max() / len(classes)
    if largest == 1:
        return 0.0
    return float((tells_class(values, classes).mean() - largest) / (1 - largest))


def number_agreement(values: Ints, y: Floats) -> float:
    """1 − variance within values / variance, of the rows with a number."""
    present = ~np.isnan(y)
    values, y = values[present], y[present]
    n = np.bincount(values)
    used = int((n > 0).sum())
    if len(y) <= used or not y.var():
        return 0.0
    y = y - y.mean()
    means = np.bincount(values, y) / np.maximum(n, 1)
    within = float(((y - means[values]) ** 2).sum()) / (len(y) - used)
    return 1 - within / float(y.var(ddof=1))
