"""Rows that are not independent: groups whose rows resemble each other, and series in time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from separatrix.rows.block import Floats, Ints
from separatrix.rows.schema import Schema
from separatrix.study.checks.columns import (
    ColumnValues,
    class_agreement,
    number_agreement,
)
from separatrix.study.checks.leakage import max_codes

#: Groups, and rows in all, from which a column may name groups.
MIN_GROUPS, MIN_ROWS = 10, 40
#: Agreement of the target within groups that is a warning by itself, or beside that of columns.
CERTAIN, LIKELY = 0.95, 0.8
#: Agreement of other columns within groups, and the part of the columns that must agree.
SIMILAR, MOST = 0.8, 0.5
#: Columns tried as groups, and compared within them, at most.
TRIED, COMPARED = 10, 20
#: Squared differences of neighbors against those of any two: less is a smooth function.
ROUGH = 0.5
#: Correlation of the target with that of the row before, from which rows are a series.
SERIAL = 0.7
#: Names of columns of times.
_TIME = re.compile(
    r"(?i)^(t|time|date|datetime|timestamp|day|week|month|year|hour|minute|second|epoch|period"
    r"|quarter|tick|step)$|(date|time|timestamp)$|^(date|time)[\W_]"
)


@dataclass(frozen=True)
class Target:
    """The target as numbers, or as codes of classes."""

    name: str
    numbers: Floats | None
    classes: Ints | None = None

    @property
    def k(self) -> int:
        """Number of classes; 1 for numbers."""
        return 1 if self.classes is None else len(np.unique(self.classes))

    def agreement(self, values: Ints) -> float:
        """How well rows of the same value tell each other's target."""
        if self.numbers is not None:
            return number_agreement(values, self.numbers)
        assert self.classes is not None
        return class_agreement(values, self.classes)

    def scores(self) -> Floats:
        """A number for each row: the target, or whether it is of the largest class."""
        if self.numbers is not None:
            return self.numbers
        assert self.classes is not None
        return np.asarray(self.classes == np.bincount(self.classes).argmax(), dtype=float)

    def serial(self, order: Ints) -> float:
        """Correlation of the target with that of the row before, in an order; of classes kappa."""
        if self.numbers is not None:
            y = self.numbers[order] - self.numbers.mean()
            return float(y[1:] @ y[:-1] / (y @ y)) if y.any() else 0.0
        assert self.classes is not None
        c = self.classes[order]
        chance = float(((np.bincount(c) / len(c)) ** 2).sum())
        return float(((c[1:] == c[:-1]).mean() - chance) / (1 - chance)) if chance < 1 else 0.0

    def is_sorted(self) -> bool:
        """Whether the rows stand in order of the target: then their order says nothing."""
        if self.numbers is not None:
            steps = np.diff(self.numbers)
            return bool(min((steps < 0).sum(), (steps > 0).sum()) <= len(steps) / 100)
        assert self.classes is not None
        return bool((np.diff(self.classes) != 0).sum() <= 3 * self.k)


@dataclass(frozen=True)
class Suspicion:
    """What looks dependent, and whether it is a warning."""

    column: str | None
    text: str
    warning: bool


def grouped(columns: Sequence[ColumnValues], target: Target) -> Suspicion | None:
    """The column that most looks like one of groups; None if none does."""
    possible = [j for j, column in enumerate(columns) if _may_group(column, target)]
    ranked = sorted(((_agreement(columns[j], target), -j) for j in possible), reverse=True)
    found: Suspicion | None = None
    for own, j in ranked[:TRIED]:
        column = columns[-j]
        similar = _similar(column, columns)
        warning = own >= CERTAIN or (own >= LIKELY and similar)
        if warning or (similar and found is None):
            found = Suspicion(column.name, _group_text(column, own, similar), warning)
        if warning:
            break
    return found


def _agreement(column: ColumnValues, target: Target) -> float:
    """That of the target within values; none where it is a smooth function of a number."""
    if column.numbers is not None and _smooth(column, target.scores()):
        return 0.0
    return target.agreement(column.values)


def _may_group(column: ColumnValues, target: Target) -> bool:
    n = len(column.values)
    if n < MIN_ROWS or not column.whole or column.n_values > n:
        return False
    groups = column.distinct
    if groups <= max(MIN_GROUPS, max_codes(target.k)) or 2 * groups > n:
        return False
    sizes = np.bincount(column.values)
    return bool(sizes[sizes > 1].sum() >= 0.8 * n)


def _smooth(column: ColumnValues, y: Floats) -> bool:
    """Whether the target is a smooth function of a number: then it is a measurement, not a name."""
    n = np.bincount(column.values)
    means = (np.bincount(column.values, y) / np.maximum(n, 1))[n > 0]
    spread = float(means.var(ddof=1))
    return not spread or float((np.diff(means) ** 2).mean()) / (2 * spread) < ROUGH


def _similar(column: ColumnValues, columns: Sequence[ColumnValues]) -> bool:
    """Whether rows of one value resemble each other in most other columns."""
    others = [c for c in columns if c.name != column.name]
    if len(others) < 2:
        return False
    others = others[:: max(1, len(others) // COMPARED)]
    alike = 0
    for other in others:
        if other.numbers is None:
            alike += class_agreement(column.values, other.values) >= SIMILAR
        else:
            values = np.where(np.isnan(other.numbers), np.nanmean(other.numbers), other.numbers)
            smooth = column.numbers is not None and _smooth(column, values)
            alike += not smooth and number_agreement(column.values, values) >= SIMILAR
    return alike >= MOST * len(others)


def _group_text(column: ColumnValues, own: float, similar: bool) -> str:
    shown = "have nearly the same target" if own >= LIKELY else "are alike in most columns"
    if own >= LIKELY and similar:
        shown = "are alike in most columns and have nearly the same target"
    return (
        f"rows with the same {column.name!r} ({column.distinct} values in {len(column.values)} "
        f"rows) {shown}. If they belong together, such as visits of one patient, and new rows will "
        f"be of others, keep them in one part: `group={column.name!r}`."
    )


def in_time(columns: Sequence[ColumnValues], schema: Schema, target: Target) -> Suspicion | None:
    """Whether rows are a series, by a column of times or by the order of the rows."""
    n = len(target.scores())
    if n < MIN_ROWS:
        return None
    known = schema.by_name
    times = [c for c in columns if _is_time(c, known[c.name].display)]
    for column in times:
        assert column.numbers is not None
        order = np.lexsort((np.arange(n), column.numbers))
        r = target.serial(order)
        if r >= SERIAL:
            return Suspicion(column.name, _time_text(column.name, target, r), True)
    if times and not target.is_sorted():
        return Suspicion(times[0].name, _time_hint(times[0].name), False)
    if times or target.is_sorted() or any(_monotone(c) for c in columns):
        return None
    r = target.serial(np.arange(n))
    if r < SERIAL:
        return None
    certain = target.numbers is not None and r >= CERTAIN  # files are often sorted by class
    return Suspicion(None, _order_text(target, r), certain)


def _is_time(column: ColumnValues, display: str) -> bool:
    """Dates, columns named like times, and whole numbers that count the rows."""
    if column.numbers is None or column.missing.any():
        return False
    if display in ("date", "datetime"):
        return True
    if _TIME.search(column.name):
        return 2 * column.distinct > len(column.values)
    return _counts_rows(column.numbers)


def _counts_rows(x: Floats) -> bool:
    return bool((np.diff(x) == 1).all())


def _monotone(column: ColumnValues) -> bool:
    """Whether the rows are sorted by this column."""
    if column.numbers is None:
        return bool((np.diff(column.values) >= 0).all())
    steps = np.diff(column.numbers)
    return bool((steps >= 0).all() or (steps <= 0).all())


def _time_text(name: str, target: Target, r: float) -> str:
    return (
        f"in order of {name!r} the target {target.name!r} of a row is close to the one before it "
        f"(correlation {r:.2f}): a random split fills gaps in a series. To predict later rows from "
        f"earlier ones: `time={name!r}`."
    )


def _time_hint(name: str) -> str:
    return (
        f"{name!r} looks like a time. If later rows are to be predicted from earlier ones, split "
        f"by it: `time={name!r}`."
    )


def _order_text(target: Target, r: float) -> str:
    return (
        f"the target {target.name!r} of a row is close to that of the row before it (correlation "
        f"{r:.2f}). If rows are in order of time, or belong to groups, give a column that says so "
        "and name it as `time` or `group`."
    )
