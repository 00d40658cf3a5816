"""All checks of a table before models are fitted: warnings with codes, and suggestions."""

from __future__ import annotations

from collections.abc import Container

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import warn
from separatrix.rows.copies import TOGETHER, Copies, class_codes, count_copies
from separatrix.rows.row_sample import RowSample
from separatrix.rows.rows import InMemory
from separatrix.rows.split import varying_content
from separatrix.study.checks import dependence, leakage
from separatrix.study.checks.columns import columns_of
from separatrix.study.checks.dependence import Suspicion, Target
from separatrix.study.checks.rare_classes import about_rare

#: What becomes of copies.
#: Rows of a large table that are looked at first; only what shows there is checked on all rows.
SAMPLE = 5_000
#: Numbers among the first rows in which groups and series are looked for.
FIRST_NUMBERS = 4_000_000


def check_table(table: InMemory) -> list[str]:
    """Warn of copies, leakage and dependent rows; return what is only worth a message."""
    messages = _copies(table)
    leaks = _leaks(table)
    for text in leakage.named(leaks.items(), table.schema.targets[0].name):
        warn("SEP010", text)
    if not leaks:
        _warn_combination(table)
    for suspicion in _dependent(table, leaks):
        if suspicion.warning:
            warn("SEP011", suspicion.text)
        else:
            messages.append(suspicion.text[0].upper() + suspicion.text[1:])
    codes = class_codes(table.block)
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
        f"{about}{count_copies(sample.copies, sample.rows)}. {TOGETHER}",
    )


def _target(table: InMemory) -> Target:
    codes = class_codes(table.block)
    name = table.schema.targets[0].name
    return Target(name, table.block.y[:, 0] if codes is None else None, codes)


def _levels(table: InMemory) -> NDArray[np.str_]:
    return np.array([str(term.level) for term in table.block.targets])


def _copies(table: InMemory) -> list[str]:
    """Warn of copies; a message where rows must repeat because there are few values."""
    if table.keys.groups is not None or table.keys.times is not None:
        return []
    found = Copies(table.block, varying_content(table.block, table.hashes))
    if not found.rows:
        return []
    n = len(found.hashes)
    if found.are_counts and found.times == 1:
        return [
            f"{found.rows} of {n} rows repeat one of the {found.distinct} distinct rows, as chance "
            "has it with so few values; they are split like any other rows."
        ]
    if found.suspicion:
        warn("SEP009", f"{found.suspicion} {TOGETHER}")
    return []


def _leaks(table: InMemory) -> dict[str, str]:
    """The columns that determine the target, and how."""
    n = len(table)
    if n <= 2 * SAMPLE:
        return _leaks_in(table, None)
    some = _leaks_in(table.take(slice(None, None, n // SAMPLE)), None)
    return _leaks_in(table, some) if some else {}


def _leaks_in(table: InMemory, names: Container[str] | None) -> dict[str, str]:
    target, levels, found = _target(table), _levels(table), {}
    for column in columns_of(table, names):
        if target.numbers is not None:
            how = leakage.tells_number(column, target.numbers, target.name)
        else:
            assert target.classes is not None
            how = leakage.tells_classes(column, target.classes, levels)
        if how is not None:
            found[column.name] = how
    return found


def _warn_combination(table: InMemory) -> None:
    """Warn of a number that is the sum of columns, first of a sample and then of all rows."""
    name, how = table.schema.targets[0].name, None
    for step in (max(1, len(table) // SAMPLE), 1):
        rows = table.take(slice(None, None, step)) if step > 1 else table
        target = _target(rows)
        if target.numbers is None:
            return
        how = leakage.combination(list(columns_of(rows)), target.numbers, name)
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
    first = FIRST_NUMBERS // max(1, len(table.block.terms))
    table = table.take(slice(0, first)) if len(table) > first else table
    columns = [c for c in columns_of(table) if c.name not in leaks]
    target = _target(table)
    by_group = dependence.grouped(columns, target)
    if by_group is not None:
        return [by_group]
    by_time = dependence.in_time(columns, table.schema, target)
    return [] if by_time is None else [by_time]
