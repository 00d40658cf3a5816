"""Parts of dates as columns of their own: weekday, month, year, and hour of the day.

A date is read as days since 1970-01-01, its trend. What comes again every week, or every year, no
smooth function of days shows; a part of the date does. Parts are functions of the date alone: a
table of new rows has its dates, and parts are made of these whenever it is read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats, Ints, Matrix, NDArray
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Block, Column, Kind, Schema, Term, Terms, to_array

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
#: The parts with names; those without are numbers.
NAMES = {"weekday": WEEKDAYS, "month": MONTHS}
PARTS = ("weekday", "month", "year", "hour")


def part_values(days: Floats, part: str) -> Ints:
    """The part of each date: weekdays from Monday, months from January, years, hours."""
    whole = np.floor(days).astype("datetime64[D]")
    if part == "weekday":
        return np.asarray((whole.astype(np.int64) + 3) % 7)  # 1970-01-01 was a Thursday
    if part == "month":
        return np.asarray(whole.astype("datetime64[M]").astype(np.int64) % 12)
    if part == "year":
        return np.asarray(whole.astype("datetime64[Y]").astype(np.int64) + 1970)
    # A time of day has a rounding error as part of a number of days.
    return np.asarray(np.floor((days - np.floor(days)) * 24.0 + 1e-6).astype(np.int64) % 24)


def level_codes(
    days: Floats, missing: NDArray[np.bool_] | None, part: str
) -> tuple[Ints, tuple[str, ...]]:
    """Codes (−1 where missing) into the levels that occur, which are in alphabetical order."""
    known = np.ones(len(days), dtype=bool) if missing is None else ~missing
    values = part_values(np.where(known, days, 0.0), part)
    order = sorted({int(v) for v in np.unique(values[known])}, key=lambda v: NAMES[part][v])
    table = np.full(len(NAMES[part]), -1, dtype=np.int64)
    table[order] = np.arange(len(order))
    return np.where(known, table[values], -1), tuple(NAMES[part][v] for v in order)


def add_date_parts(rows: InMemory) -> InMemory:
    """The rows with the parts of their dates, a note on each column of dates that has some."""
    columns, notes = [], []
    taken = set(rows.schema.by_name)
    for column in rows.schema.columns:
        if column.display not in ("date", "datetime"):
            continue
        days, missing = _dates(rows.block, column)
        parts = [p for p in _parts(column, days[~missing]) if f"{column.name} {p}" not in taken]
        columns += [_part_column(column, part) for part in parts]
        if parts:
            text = ", ".join(parts)
            notes.append(
                f"Column {column.name!r} holds dates: beside its days there are columns of its "
                f"{text}."
            )
    if not columns:
        return rows
    read = rows.with_hashes()
    schema = replace(rows.schema, columns=(*rows.schema.columns, *columns))
    read.block = with_parts_of_dates(rows.block, schema)
    levels: dict[str, list[str]] = {c.name: [] for c in columns if c.kind is Kind.DISCRETE}
    for term in read.block.terms:
        if term.column in levels and term.level is not None:
            levels[term.column].append(term.level)
    read.schema = replace(
        schema,
        columns=tuple(
            replace(c, levels=tuple(levels[c.name])) if c.name in levels else c
            for c in schema.columns
        ),
    )
    read.notes = (*rows.notes, *notes)
    return read


def _parts(column: Column, days: Floats) -> list[str]:
    """The parts that vary, on enough rows for each of their values."""
    if not len(days):
        return []
    found = []
    for part in PARTS:
        if part == "hour" and column.display != "datetime":
            continue
        count = len(np.unique(part_values(days, part)))
        # Dates that stand for months or quarters fall on their first day or the last: on fewer days
        # of the month than this, weekdays mean nothing.
        if part == "weekday" and _days_of_the_month(days) < 5:
            continue
        # Rows for each value, on average, from which it is worth a column of its own.
        if count > 1 and len(days) >= 10 * count:
            found.append(part)
    return found


def _days_of_the_month(days: Floats) -> int:
    dates = np.floor(days).astype("datetime64[D]")
    return len(np.unique((dates - dates.astype("datetime64[M]")).astype(np.int64)))


def _part_column(column: Column, part: str) -> Column:
    kind = Kind.DISCRETE if part in NAMES else Kind.NUMERIC
    year = part == "year"
    return Column(
        f"{column.name} {part}",
        kind,
        placeholder=2000.0 if year else 0.0,
        display="year" if year else "",
        of=column.name,
        part=part,
    )


def _dates(block: Block, column: Column) -> tuple[Floats, NDArray[np.bool_]]:
    """Days of a column, and which are missing."""
    position = block.terms.position
    days = np.ravel(to_array(block.x[:, [position[Term(column.name)]]]))
    at = position.get(Term(column.name, missing=True))
    if at is None:
        return days, np.zeros(block.n, dtype=bool)
    return days, np.ravel(to_array(block.x[:, [at]])) != 0.0


def with_parts_of_dates(block: Block, schema: Schema) -> Block:
    """The block with those columns of the schema that are parts of dates and that it lacks."""
    present = {term.column for term in block.terms}
    terms: list[Term] = list(block.terms)
    added: list[Any] = []
    for column in schema.columns:
        if not column.part or column.name in present:
            continue
        days, missing = _dates(block, schema.by_name[column.of])
        if column.part in NAMES:
            codes, names = level_codes(days, missing, column.part)
            terms += [Term(column.name, level) for level in names]
            added += [(codes == code).astype(float) for code in range(len(names))]
        else:
            terms.append(Term(column.name))
            values = part_values(np.where(missing, 0.0, days), column.part).astype(float)
            added.append(np.where(missing, column.placeholder, values))
        if missing.any():
            terms.append(Term(column.name, missing=True))
            added.append(missing.astype(float))
    if not added:
        return block
    return replace(block, x=_beside(block.x, np.column_stack(added)), terms=Terms(tuple(terms)))


def _beside(x: Matrix, more: Floats) -> Matrix:
    if sparse.issparse(x):
        return sparse.csr_array(sparse.hstack([x, sparse.csr_array(more)], format="csr"))
    return np.asfortranarray(np.hstack([x, more]))
