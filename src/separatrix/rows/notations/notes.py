"""Sentences on how the columns of a table were read, and how to override it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from separatrix.rows.notations.dates import CLOCK
from separatrix.rows.notations.missing import IN_EVERY_COLUMN
from separatrix.rows.notations.options import TextOptions
from separatrix.rows.schema import Column, Kind, Notation
from separatrix.rows.sources.columns import is_text
from separatrix.rows.sources.file_source import FileSource

if TYPE_CHECKING:
    from separatrix.rows.notations.recognize import Recognized
    from separatrix.rows.notations.tally import Tally

#: How many columns are named before the rest is only counted.
NAMED = 4
_ORDERS = {
    "day-first": "the day first (22/07/2022)",
    "month-first": "the month first (07/22/2022)",
    "year-first": "the year first (2022-07-22)",
}
_WORDS = {",": "commas", ".": "points", " ": "spaces", "'": "apostrophes"}


def reading_notes(
    found: Recognized, columns: Mapping[str, Column], options: TextOptions
) -> Iterator[str]:
    """What was recognized about a file, its separators, dates and missing values."""
    if isinstance(found.source, FileSource):
        yield from (*found.source.announced, *found.source.notes)
    used = {name: n for name, n in found.notations.items() if name in columns}
    counts = {name: dict(found.counts.get(name, {})) for name in columns}
    if options.na is None:
        for name, column in columns.items():
            if column.kind is Kind.DISCRETE and is_text(found.sample.batch[name].type):
                counts[name] |= _marks(found, name)
    yield from (note for name, note in found.slips.items() if name in columns)
    given = options.separators and not found.ambiguous
    yield from number_notes(used, counts, found.ambiguous, announced=not given)


def slips_note(tally: Tally, notation: Notation) -> str:
    """How many texts of a column are read as missing since they do not fit, and the first."""
    first, count = tally.best.misfit, tally.present - tally.best.fitting
    assert first is not None
    what = "a number" if not notation.dates else "a time" if notation.dates == CLOCK else "a date"
    many = f"{count:,} of {tally.present:,} values are not {what[2:]}s and are"
    one = f"1 of {tally.present:,} values is not {what} and is"
    where = f"{first.text!r} in row {first.row}" + (f" of {first.file}" if first.file else "")
    return (
        f"Column {tally.name!r}: {one if count == 1 else many} read as missing, "
        f"{'' if count == 1 else 'the first '}{where} (override: correct them, "
        f"`kinds={{{tally.name!r}: 'discrete'}}` reads levels; `strict=True` refuses them)."
    )


def _marks(found: Recognized, name: str) -> dict[str, int]:
    """Texts among levels that are missing values, in the first rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = pc.utf8_trim_whitespace(found.sample.batch[name].cast(pa.string()))
    counts = {mark: pc.sum(pc.equal(array, mark)).as_py() for mark in IN_EVERY_COLUMN}
    return {mark: count for mark, count in counts.items() if count}


def number_notes(
    notations: Mapping[str, Notation],
    counts: Mapping[str, Mapping[str, int]],
    ambiguous: set[str],
    *,
    announced: bool = True,
) -> Iterator[str]:
    """A sentence for every way of writing, with the columns written so."""
    groups: dict[tuple[str, str, bool], list[str]] = {}
    units: dict[str, list[str]] = {}
    orders: dict[tuple[str, bool], list[str]] = {}
    for name, notation in notations.items():
        twofold = name in ambiguous
        if notation.dates:
            orders.setdefault((notation.dates, twofold), []).append(name)
        elif (notation.decimal, notation.thousands) != (".", ""):
            key = (notation.decimal, notation.thousands, twofold)
            groups.setdefault(key, []).append(name)
        if notation.unit:
            units.setdefault(notation.unit, []).append(name)
    if announced:
        for (decimal, thousands, twofold), names in groups.items():
            yield _separators(decimal, thousands, names, twofold)
    for unit, names in units.items():
        shown = f"'12{unit}' is 12" if unit == "%" else f"'{unit}12' is 12"
        yield (
            f"Read as numbers without the sign {unit} ({shown}): {_list(names)} "
            f"(override: `kinds={{{names[0]!r}: 'discrete'}}`)."
        )
    clock = orders.pop((CLOCK, False), None)
    if clock:
        yield (
            f"Read as times of day, in seconds: {_list(clock)} "
            f"(override: `kinds={{{clock[0]!r}: 'discrete'}}`)."
        )
    for (order, twofold), names in orders.items():
        other = "month-first" if order == "day-first" else "day-first"
        both = "; the other order fits every value, too" if twofold else ""
        yield (
            f"Read as dates with {_ORDERS[order]}, in days since 1970-01-01: {_list(names)}{both} "
            f"(override: `dates={other!r}`)."
        )
    yield from missing_notes(counts)


def _separators(decimal: str, thousands: str, names: list[str], twofold: bool) -> str:
    if decimal == ",":
        what = "a decimal comma" + (f" and {_WORDS[thousands]} at thousands" if thousands else "")
        example, other = f"1{thousands}234,5", "decimal='.'"
    else:
        what = f"{_WORDS[thousands]} at thousands"
        example = f"1{thousands}234.5"
        other = "decimal=','" if thousands == "," else "thousands=''"
    both = "; another reading fits every value, too" if twofold else ""
    return (
        f"Read as numbers with {what} ({example!r} is 1234.5): {_list(names)}{both} "
        f"(override: `{other}`)."
    )


def missing_notes(counts: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """A sentence for every text or number that stands for missing values."""
    tokens: dict[str, list[str]] = {}
    for name, found in counts.items():
        for token, count in found.items():
            tokens.setdefault(token, []).append(f"{name!r} ({count})")
    for token, names in tokens.items():
        number = token.lstrip("-").replace(".", "", 1).isdigit()
        shown = f"{token}, far from all other values," if number else repr(token)
        yield f"Read as missing: {shown} in {_list(names, quoted=True)} (override: `na=''`)."


def _list(names: Iterable[str], *, quoted: bool = False) -> str:
    shown = [name if quoted else repr(name) for name in names]
    more = len(shown) - NAMED
    return ", ".join(shown[:NAMED]) + (f" and {more} more" if more > 0 else "")
