"""Leakage: a column that determines the target alone, and how it does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Floats, Ints
from separatrix.study.checks.columns import ColumnValues, counts, tells_class

#: Fewer rows show nothing.
MIN_ROWS = 20
#: 1 − r² up to which a target is a linear function of a column, up to rounding of its digits.
ROUNDING = 1e-4
EXACT = 1e-9
#: Distinct numbers of a target that is a monotone function of a column by more than chance.
MIN_DISTINCT = 6
#: Columns of which a linear combination is looked for, at most.
MAX_COMBINED = 300
#: The part of a class that a coded copy may miss.
MISSES = 0.01
#: Classes that are shown.
SHOWN = 4


def max_codes(n_classes: int) -> int:
    """Values that a coded copy of the class has at most; more of them are groups of rows."""
    return max(10, 3 * n_classes)


def tells_number(column: ColumnValues, y: Floats, target: str) -> str | None:
    """How a column determines a number; None if it does not."""
    present = ~column.missing & ~np.isnan(y)
    if present.sum() < max(MIN_ROWS, len(y) / 2):
        return None
    y = y[present]
    if column.numbers is None:
        return _by_level(column.values[present], y, target)
    x = column.numbers[present]
    if len(np.unique(y)) < MIN_DISTINCT:
        return None
    return _linear(x, y, column.name, target) or _monotone(x, y, column.name, target)


def _linear(x: Floats, y: Floats, name: str, target: str) -> str | None:
    dx, dy = x - x.mean(), y - y.mean()
    sxx, syy, sxy = float(dx @ dx), float(dy @ dy), float(dx @ dy)
    if not sxx or not syy:
        return None
    slope = sxy / sxx
    unexplained = float(((dy - slope * dx) ** 2).sum()) / syy
    if not unexplained <= ROUNDING:
        return None
    shift = _shift(float(y.mean() - slope * x.mean()), y)
    equals = "=" if unexplained <= EXACT else "≈"
    return f"{target!r} {equals} {slope:.4g} · {name!r}{shift}"


def _monotone(x: Floats, y: Floats, name: str, target: str) -> str | None:
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
    if len(used) < 2 or len(y) < max(MIN_ROWS, 3 * len(used)) or len(used) > MAX_COMBINED:
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
    if len(classes) < MIN_ROWS:
        return None
    if column.distinct <= max_codes(len(names)):
        return _coded(column, classes, names)
    if column.missing.any():
        return _by_missing(column, classes, names)
    return _ranges(column, classes, names)


def _by_missing(column: ColumnValues, classes: Ints, names: NDArray[np.str_]) -> str | None:
    """Values are missing in one of two classes, and in no row of the other."""
    gaps = ColumnValues(column.name, column.missing.astype(float))
    if len(names) != 2 or _coded(gaps, classes, names) is None:
        return None
    empty = np.bincount(classes[column.missing], minlength=2).argmax()
    return f"it is missing where the class is {names[empty]!s}, and nowhere else"


def _coded(column: ColumnValues, classes: Ints, names: NDArray[np.str_]) -> str | None:
    right = tells_class(column.values, classes)
    n = np.bincount(classes, minlength=len(names))
    misses = np.bincount(classes[~right], minlength=len(names))
    if (misses > MISSES * n).any() or (n > 0).sum() < 2:
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


def named(found: Iterable[tuple[str, str]], target: str) -> list[str]:
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
