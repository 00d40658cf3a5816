"""All checks of a table before models are fitted: warnings with codes, and suggestions."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.messages import warn
from separatrix.rows import split
from separatrix.rows.parts import column_of
from separatrix.rows.rows import InMemory
from separatrix.rows.sampling import RowSample
from separatrix.rows.schema import Schema, to_array
from separatrix.rows.sources.columns import Levels
from separatrix.study.design import with_warnings
from separatrix.study.result import Predictions

#: What becomes of copies.
#: Rows of a large table that are looked at first; only what shows there is checked on all rows.
SAMPLE = 5_000


def check_table(table: InMemory) -> list[str]:
    """Warn of copies, leakage and dependent rows; return what is only worth a message."""
    messages = _copies(table)
    leaks = _leaks(table)
    for text in name_columns(leaks.items(), table.schema.targets[0].name):
        warn("SEP010", text)
    if not leaks:
        _warn_combination(table)
    for suspicion in _dependent(table, leaks):
        if suspicion.warning:
            warn("SEP011", suspicion.text)
        else:
            messages.append(suspicion.text[0].upper() + suspicion.text[1:])
    codes = split.class_codes(table.block)
    return messages if codes is None else messages + about_rare(_levels(table)[codes])


def check_stream(sample: RowSample) -> None:
    """Warn of copies in a table that is read once; few distinct rows repeat by chance."""
    once = sample.exact and int(np.gcd.reduce(sample.counts)) == 1
    few = once and 2 * len(sample.hashes) < sample.rows
    if not sample.copies or few:
        return
    about = "" if sample.exact else "about "
    warn(
        "SEP009",
        f"{about}{split.count_copies(sample.copies, sample.rows)}. {split.TOGETHER}",
    )


def _target(table: InMemory) -> Target:
    codes = split.class_codes(table.block)
    name = table.schema.targets[0].name
    return Target(name, table.block.y[:, 0] if codes is None else None, codes)


def _levels(table: InMemory) -> NDArray[np.str_]:
    return np.array([str(term.level) for term in table.block.targets])


def _copies(table: InMemory) -> list[str]:
    """Warn of copies; a message where rows must repeat because there are few values."""
    if table.keys.groups is not None or table.keys.times is not None:
        return []
    copies = split.Copies(table.block, split.varying_content(table.block, table.hashes))
    if not copies.rows:
        return []
    n = len(copies.hashes)
    if copies.are_counts and copies.times == 1:
        return [
            f"{copies.rows} of {n} rows repeat one of the {copies.distinct} distinct rows, as "
            "chance has it with so few values; they are split like any other rows."
        ]
    if copies.suspicion:
        warn("SEP009", f"{copies.suspicion} {split.TOGETHER}")
    return []


def _leaks(table: InMemory) -> dict[str, str]:
    """The columns that determine the target, and how."""
    n = len(table)
    if n <= 2 * SAMPLE:
        return _leaks_in(table, None)
    some = _leaks_in(table.take(slice(None, None, n // SAMPLE)), None)
    return _leaks_in(table, some) if some else {}


def _leaks_in(table: InMemory, names: Container[str] | None) -> dict[str, str]:
    target, levels, leaks = _target(table), _levels(table), {}
    for column in columns_of(table, names):
        if target.numbers is not None:
            how = tells_number(column, target.numbers, target.name)
        else:
            assert target.classes is not None
            how = tells_classes(column, target.classes, levels)
        if how is not None:
            leaks[column.name] = how
    return leaks


def _warn_combination(table: InMemory) -> None:
    """Warn of a number that is the sum of columns, first of a sample and then of all rows."""
    name, how = table.schema.targets[0].name, None
    for step in (max(1, len(table) // SAMPLE), 1):
        rows = table.take(slice(None, None, step)) if step > 1 else table
        target = _target(rows)
        if target.numbers is None:
            return
        how = combination(list(columns_of(rows)), target.numbers, name)
        if how is None:
            return
    warn(
        "SEP010",
        f"columns give the target away together: {how}. Leave them out (`kinds`) unless they are "
        f"known before {name!r} is.",
    )


def _dependent(table: InMemory, leaks: Container[str]) -> list[Suspicion]:
    """Groups or a series, where the table was not split by one already."""
    if table.keys.groups is not None or table.keys.times is not None:
        return []
    # Numbers among the first rows in which groups and series are looked for.
    first = 4_000_000 // max(1, len(table.block.terms))
    table = table.take(slice(0, first)) if len(table) > first else table
    columns = [c for c in columns_of(table) if c.name not in leaks]
    target = _target(table)
    by_group = check_grouped(columns, target)
    if by_group is not None:
        return [by_group]
    by_time = in_time(columns, table.schema, target)
    return [] if by_time is None else [by_time]


# -------------------------------------------------------------------------------------------------
# Columns of a table as values, and how well the value of a row tells the target of its likes.
#
# agreement of numbers = 1 − variance within values / variance        (intraclass correlation)
# agreement of classes = (a − b) / (1 − b),   a: rows whose class most others of their value have,
#                                             b: the frequency of the largest class


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
    for name, at in split.column_positions(block.terms).items():
        if names is not None and name not in names:
            continue
        column_values = column_of(to_array(block.x[:, at]), block.terms, at)
        if isinstance(column_values, Levels):
            column = ColumnValues(name, None, column_values.codes, column_values.names)
        else:
            column = ColumnValues(name, column_values.values)
        raw = column_values.codes if isinstance(column_values, Levels) else column_values.values
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
    rest_of_class = table[values, classes] - 1
    others = table.copy()
    top = others.max(axis=1)
    index = others.argmax(axis=1)
    others[np.arange(len(others)), index] = -1
    second = others.max(axis=1)
    rival = np.where(index[values] == classes, second[values], top[values])
    return np.asarray(rest_of_class > np.maximum(rival, 0))


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


# -------------------------------------------------------------------------------------------------
# Rows that are not independent: groups whose rows resemble each other, and series in time.


#: Groups, and rows in all, from which a column may name groups.
MIN_GROUPS, MIN_ROWS = 10, 40
#: Agreement of the target within groups that is a warning by itself, or beside that of columns.
CERTAIN, LIKELY = 0.95, 0.8
#: Agreement of other columns within groups, and the part of the columns that must agree.
SIMILAR, MOST = 0.8, 0.5
#: Columns tried as groups, and compared within them, at most.
TRIED, COMPARED = 10, 20
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


def check_grouped(columns: Sequence[ColumnValues], target: Target) -> Suspicion | None:
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
    # Squared differences of neighbors against those of any two: less is a smooth function.
    return not spread or float((np.diff(means) ** 2).mean()) / (2 * spread) < 0.5


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


# -------------------------------------------------------------------------------------------------
# Leakage: a column that determines the target alone, and how it does.


#: Fewer rows show nothing.
MIN_LEAKAGE_ROWS = 20
EXACT = 1e-9
#: Classes that are shown.
SHOWN = 4


def max_codes(n_classes: int) -> int:
    """Values that a coded copy of the class has at most; more of them are groups of rows."""
    return max(10, 3 * n_classes)


def tells_number(column: ColumnValues, y: Floats, target: str) -> str | None:
    """How a column determines a number; None if it does not."""
    present = ~column.missing & ~np.isnan(y)
    if present.sum() < max(MIN_LEAKAGE_ROWS, len(y) / 2):
        return None
    y = y[present]
    if column.numbers is None:
        return _by_level(column.values[present], y, target)
    x = column.numbers[present]
    # Distinct numbers of a target that is a monotone function of a column by more than chance.
    if len(np.unique(y)) < 6:
        return None
    return _linear(x, y, column.name, target) or _monotone_map(x, y, column.name, target)


def _linear(x: Floats, y: Floats, name: str, target: str) -> str | None:
    dx, dy = x - x.mean(), y - y.mean()
    sxx, syy, sxy = float(dx @ dx), float(dy @ dy), float(dx @ dy)
    if not sxx or not syy:
        return None
    slope = sxy / sxx
    unexplained = float(((dy - slope * dx) ** 2).sum()) / syy
    # 1 − r² up to which a target is a linear function of a column, up to rounding of its digits.
    if not unexplained <= 1e-4:
        return None
    shift = _shift(float(y.mean() - slope * x.mean()), y)
    equals = "=" if unexplained <= EXACT else "≈"
    return f"{target!r} {equals} {slope:.4g} · {name!r}{shift}"


def _monotone_map(x: Floats, y: Floats, name: str, target: str) -> str | None:
    order = np.lexsort((y, x))
    x, y = x[order], y[order]
    if ((x[1:] == x[:-1]) & (y[1:] != y[:-1])).any():
        return None
    steps = np.diff(y)
    if not ((steps >= 0).all() or (steps <= 0).all()):
        return None
    way = "rises" if y[-1] > y[0] else "falls"
    return f"{target!r} {way} with {name!r} without exception"


def _by_level(values: Ints, y: Floats, target: str) -> str | None:
    n = np.bincount(values)
    levels = int((n > 0).sum())
    repeated = int(n[n > 1].sum())
    if not 2 < levels <= max_codes(1) or repeated < len(values) - levels / 2:
        return None
    first = np.zeros(len(n))
    first[values] = y
    if (np.abs(y - first[values]) > EXACT * np.ptp(y)).any():
        return None
    return f"{target!r} is the same in all rows of each of its {levels} levels"


def combination(columns: Sequence[ColumnValues], y: Floats, target: str) -> str | None:
    """How several numeric columns add up to a number; None if they do not."""
    used = [c for c in columns if c.numbers is not None and not c.missing.any()]
    # Columns of which a linear combination is looked for, at most.
    if len(used) < 2 or len(y) < max(MIN_LEAKAGE_ROWS, 3 * len(used)) or len(used) > 300:
        return None
    x = np.column_stack([c.numbers for c in used if c.numbers is not None])
    center, scale = x.mean(axis=0), x.std(axis=0)
    z, dy = (x - center) / scale, y - y.mean()
    b = np.linalg.lstsq(z, dy, rcond=1e-9)[0]
    if not float(((dy - z @ b) ** 2).sum()) <= EXACT**2 * float(dy @ dy):
        return None
    needed = np.flatnonzero(np.abs(b) > 1e-6 * np.abs(b).max())
    slopes = b / scale
    shown = [_term(slopes[j], used[j].name, first=j == needed[0]) for j in needed[:SHOWN]]
    if len(needed) > SHOWN:
        return f"{target!r} = {' '.join(shown)} …"
    return f"{target!r} = {' '.join(shown)}{_shift(float(y.mean() - slopes @ center), y)}"


def _shift(intercept: float, y: Floats) -> str:
    """An intercept, unless it is zero up to rounding."""
    if abs(intercept) <= 1e-3 * float(y.std()):
        return ""
    return f" {'−' if intercept < 0 else '+'} {abs(intercept):.4g}"


def _term(slope: float, name: str, *, first: bool) -> str:
    sign = ("−" if slope < 0 else "") if first else ("− " if slope < 0 else "+ ")
    return f"{sign}{abs(slope):.4g} · {name!r}"


def tells_classes(column: ColumnValues, classes: Ints, names: NDArray[np.str_]) -> str | None:
    """How a column determines a class; None if it does not."""
    if len(classes) < MIN_LEAKAGE_ROWS:
        return None
    if column.distinct <= max_codes(len(names)):
        return _find_coding(column, classes, names)
    if column.missing.any():
        return _by_missing(column, classes, names)
    return _ranges(column, classes, names)


def _by_missing(column: ColumnValues, classes: Ints, names: NDArray[np.str_]) -> str | None:
    """Values are missing in one of two classes, and in no row of the other."""
    gaps = ColumnValues(column.name, column.missing.astype(float))
    if len(names) != 2 or _find_coding(gaps, classes, names) is None:
        return None
    empty = np.bincount(classes[column.missing], minlength=2).argmax()
    return f"it is missing where the class is {names[empty]!s}, and nowhere else"


def _find_coding(column: ColumnValues, classes: Ints, names: NDArray[np.str_]) -> str | None:
    right = tells_class(column.values, classes)
    n = np.bincount(classes, minlength=len(names))
    misses = np.bincount(classes[~right], minlength=len(names))
    # The part of a class that a coded copy may miss.
    if (misses > 0.01 * n).any() or (n > 0).sum() < 2:
        return None
    table = counts(column.values, classes)
    at = [v for v in range(len(table)) if table[v].any()]
    pairs = [f"{column.text(v)} → {names[table[v].argmax()]}" for v in at]
    more = ", …" if len(pairs) > SHOWN else ""
    exactly = "each of its values" if not misses.any() else "nearly each of its values"
    return f"{exactly} belongs to one class ({', '.join(pairs[:SHOWN])}{more})"


def _ranges(column: ColumnValues, classes: Ints, names: NDArray[np.str_]) -> str | None:
    """Each class has a range of numbers of its own."""
    if column.numbers is None:
        return None
    k = int((np.bincount(classes) > 0).sum())
    if k < 2 or np.bincount(classes, minlength=len(names)).min() < 2:
        return None
    order = np.lexsort((classes, column.numbers))
    x, ranked = column.numbers[order], classes[order]
    changes = np.flatnonzero(ranked[1:] != ranked[:-1])
    if len(changes) != k - 1 or (x[changes] == x[changes + 1]).any():
        return None
    first = changes[0]
    cut = (x[first] + x[first + 1]) / 2
    lowest = names[ranked[0]]
    return f"each class has a range of its own ({lowest!s} below {cut:.4g}, the others above)"


def name_columns(found: Iterable[tuple[str, str]], target: str) -> list[str]:
    """A warning for each column that tells, the first few in full."""
    columns = list(found)
    texts = [
        f"{name!r} gives the target away: {how}. Leave it out (`kinds={{{name!r}: 'ignore'}}`) "
        f"unless it is known before {target!r} is."
        for name, how in columns[:SHOWN]
    ]
    if len(columns) > SHOWN:
        others = ", ".join(repr(name) for name, _ in columns[SHOWN:])
        texts.append(f"so do {others}.")
    return texts


# -------------------------------------------------------------------------------------------------
# Rare classes: said before models are fitted, and a warning where the chosen one finds none.


REMEDY = (
    "State what a miss costs (`costs`), which moves the threshold, or choose by "
    "`metric='balanced_error'`, to which all classes count alike."
)


def about_rare(truth: NDArray[Any]) -> list[str]:
    """A message on the rarest class, where it is rare."""
    names, n = np.unique(truth, return_counts=True)
    least = int(n.argmin())
    # A class with fewer rows than this part of all is rare.
    if len(names) < 2 or n[least] >= 0.01 * len(truth):
        return []
    return [
        f"Class {str(names[least])!r} is rare: {n[least]} of {len(truth)} rows, 1 in "
        f"{len(truth) / n[least]:.0f}. The error rate says little about it. {REMEDY}"
    ]


def missed_classes(test: Predictions, classes: Sequence[str]) -> tuple[str, ...]:
    """The warnings on small classes of which no test row was found."""
    return with_warnings(lambda: _warn_missed(test.truth, test.predicted, classes))[1]


def _warn_missed(truth: NDArray[Any], predicted: NDArray[Any], classes: Sequence[str]) -> None:
    for name in classes:
        is_class = truth == name
        m = int(is_class.sum())
        # A class that is not found is a warning up to this part of the rows, from so many test rows
        # on.
        if 3 <= m <= 0.1 * len(truth) and not (predicted[is_class] == name).any():
            warn(
                "SEP012",
                f"none of the {m} test rows of class {str(name)!r} was found ({m} of "
                f"{len(truth)}, 1 in {len(truth) / m:.0f}). {REMEDY}",
            )
