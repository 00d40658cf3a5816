"""Recognition of notations: first rows for candidates, then one pass over those columns.

A table of plain numbers costs no further pass. Texts with two readings (1,234; 3/4/2021) are
decided by the other columns, and every decision becomes a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from separatrix.rows.notations.decide import Hints, decide, promising
from separatrix.rows.notations.missing import SentinelTally, sentinels_given
from separatrix.rows.notations.notes import slips_note
from separatrix.rows.notations.numbers import Separators
from separatrix.rows.notations.options import TextOptions
from separatrix.rows.notations.tally import Tally
from separatrix.rows.schema import PLAIN, Kind, Notation
from separatrix.rows.sources.columns import is_number, is_text, numbers
from separatrix.rows.sources.csv import CsvSource
from separatrix.rows.sources.file_source import FileSource
from separatrix.rows.sources.source import (
    Contradiction,
    LocatedBatch,
    Source,
    batch_rows,
    head,
)

if TYPE_CHECKING:
    import pyarrow as pa

PASS_ROWS = 65_536


@dataclass
class Recognized:
    """A source with the notation of every column that is not written plainly.

    ``counts`` are the missing values by column and token, for the notes, and ``slips`` sentences on
    texts that are read as missing because they are neither numbers nor dates.
    """

    source: Source
    sample: LocatedBatch
    notations: dict[str, Notation] = field(default_factory=dict)
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    ambiguous: set[str] = field(default_factory=set)
    slips: dict[str, str] = field(default_factory=dict)


def recognize(
    source: Source, names: list[str], kinds: Mapping[str, Kind], options: TextOptions
) -> Recognized:
    """The notations of the columns in use."""
    while True:
        try:
            return _recognized(source, names, kinds, options)
        except Contradiction as problem:  # a column does not go on as it begins: it is text
            if not isinstance(source, CsvSource) or problem.column in (None, *source.texts):
                raise
            source = source.as_text([str(problem.column)])


def _recognized(
    source: Source, names: list[str], kinds: Mapping[str, Kind], options: TextOptions
) -> Recognized:
    sample = head(source, names)
    free = [name for name in names if kinds.get(name) in (None, Kind.NUMERIC)]
    texts = [name for name in free if is_text(sample.batch[name].type)]
    forced = {name for name in texts if kinds.get(name) is Kind.NUMERIC}
    if options.separators and isinstance(source, CsvSource):
        numeric = [name for name in free if is_number(sample.batch[name].type)]
        source = source.as_text(numeric)
        sample = head(source, names)
        texts += numeric
        forced |= set(numeric)
    candidates = []
    for name in texts:
        if name in forced or _may_be_numbers(name, sample, options):
            candidates.append(name)
    tallies = tallied(source, candidates, options)
    hints = _hints(tallies.values(), source, sample)
    found = Recognized(source, sample)
    _decide_all(found, tallies, hints, forced)
    if hints.decimal == "," and isinstance(source, CsvSource) and not options.separators:
        _decide_points(found, free, options, hints)
    _find_sentinels(found, names, kinds, options)
    return found


def _may_be_numbers(name: str, sample: LocatedBatch, options: TextOptions) -> bool:
    """Whether the first texts of a column are mostly numbers or dates, or all missing."""
    import pyarrow.compute as pc

    distinct = pc.unique(sample.batch[name]).drop_null()
    few = distinct[:100]
    if not pc.any(pc.match_substring_regex(few, "[0-9]")).as_py() and len(distinct) > 1:
        marks = pc.sum(pc.match_substring_regex(few, "[A-Za-z]")).as_py() or 0
        if 2 * marks > len(few) and len(distinct) == len(few):
            return False  # words without any digit: a quick answer for most columns
    tally = Tally(name, options)
    tally.update(sample.batch[name], sample.location)
    return promising(tally)


def tallied(source: Source, names: list[str], options: TextOptions) -> dict[str, Tally]:
    """One pass over some text columns: which notations fit all of their texts."""
    tallies = {name: Tally(name, options) for name in names}
    if names:
        for located in source.batches(names, batch_rows(PASS_ROWS, len(names))):
            for name, tally in tallies.items():
                tally.update(located.batch[name], located.location)
    return tallies


def _hints(tallies: Iterable[Tally], source: Source, sample: LocatedBatch) -> Hints:
    """The separators of columns with one reading; a semicolon goes with decimal commas."""
    tallies = list(tallies)
    decimals = [tally.decimal for tally in tallies if tally.decimal is not None]
    orders = [tally.order for tally in tallies if tally.order in ("day-first", "month-first")]
    decimal = max(sorted(set(decimals)), key=decimals.count) if decimals else None
    semicolons = isinstance(source, FileSource) and source.delimiter == ";"
    if decimal is None and semicolons and not _has_fractions(sample.batch):
        decimal = ","
    order = max(sorted(set(orders)), key=orders.count) if orders else None
    if order is None and decimal == ",":
        order = "day-first"
    return Hints(decimal, order)


def _has_fractions(batch: pa.RecordBatch) -> bool:
    """Whether a column of numbers has a decimal point somewhere."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return any(
        pa.types.is_floating(column.type)
        and bool(pc.any(pc.not_equal(column, pc.floor(column))).as_py())
        for column in batch.columns
    )


def _decide_all(
    found: Recognized, tallies: dict[str, Tally], hints: Hints, forced: set[str]
) -> None:
    for name, tally in tallies.items():
        notation = decide(tally, hints, forced=name in forced)
        if notation is None:
            continue
        if name not in forced and not _is_written(found.source, name):
            signs = notation.thousands or notation.unit or notation.dates or notation.na
            if not signs and Separators(".", "") in tally.forms:
                continue  # text by declaration, such as the codes of a data frame
        found.notations[name] = notation
        found.counts[name] = dict(tally.na)
        if not tally.forms:
            found.slips[name] = slips_note(tally, notation)
        if _two_readings(tally):
            found.ambiguous.add(name)


def _is_written(source: Source, name: str) -> bool:
    """Whether the texts of a column may be numbers, and are not texts by declaration."""
    return isinstance(source, FileSource) and source.is_written(name)


def _two_readings(tally: Tally) -> bool:
    """Whether another notation fits every text as well, with other values."""
    forms = tally.forms
    if not tally.present:
        return False
    if any(isinstance(form, Separators) for form in forms):
        return (
            Separators(".", ",") in forms
            and Separators(",", "") in forms
            and (Separators(".", "") not in forms)
        )
    return "day-first" in forms and "month-first" in forms and "year-first" not in forms


def _decide_points(
    found: Recognized,
    free: list[str],
    options: TextOptions,
    hints: Hints,
) -> None:
    """Points beside decimal commas may separate thousands: such columns are read as text."""
    import pyarrow as pa

    source, batch = found.source, found.sample.batch
    assert isinstance(source, CsvSource)
    inside = [n for n in free if n in source.inferred.names]
    floating = [n for n in inside if pa.types.is_floating(source.inferred.field(n).type)]
    floating = [n for n in floating if is_number(batch[n].type)]
    if not floating:
        return
    as_text = source.as_text(floating)
    tallies = tallied(as_text, floating, options)
    grouped = Recognized(as_text, found.sample)
    _decide_all(grouped, tallies, hints, set())
    points = {n: m for n, m in grouped.notations.items() if m.thousands}
    if points:
        found.source = source.as_text(points)
        found.sample = head(found.source, batch.schema.names)
        found.notations |= points
        found.slips |= {n: grouped.slips[n] for n in points if n in grouped.slips}
        found.ambiguous |= set(points)


# -- sentinels -------------------------------------------------------------------------------------


def _find_sentinels(
    found: Recognized, names: list[str], kinds: Mapping[str, Kind], options: TextOptions
) -> None:
    """Numbers that are missing values: given ones, else those clearly apart in files."""
    numeric = [
        name
        for name in names
        if kinds.get(name) in (None, Kind.NUMERIC)
        and (is_number(found.sample.batch[name].type) or _is_number_text(found, name))
    ]
    if options.na is not None:
        given = sentinels_given(options.na)
        if given:
            for name in numeric:
                before = found.notations.get(name, PLAIN)
                found.notations[name] = replace(before, sentinels=given, na_given=True)
        return
    if not isinstance(found.source, FileSource):
        return
    suspects = [name for name in numeric if _suspicious(_values(found, found.sample, name))]
    for name, tally in sentinel_tallies(found.source, suspects, found.notations).items():
        apart = tally.sentinels()
        if apart:
            before = found.notations.get(name, PLAIN)
            found.notations[name] = replace(before, sentinels=apart)
            found.counts.setdefault(name, {}).update(
                {f"{value:g}": tally.counts[value] for value in apart}
            )


def _is_number_text(found: Recognized, name: str) -> bool:
    notation = found.notations.get(name)
    return notation is not None and not notation.dates


def _values(found: Recognized, located: LocatedBatch, name: str) -> Any:
    notation = found.notations.get(name, PLAIN)
    return numbers(located.batch[name], name, located.location, notation).values


def _suspicious(values: Any) -> bool:
    """Whether a number in the first rows may stand for missing values."""
    tally = SentinelTally()
    tally.update(values)
    return any(tally.far(value) for value in tally.counts)


def sentinel_tallies(
    source: Source, names: list[str], notations: Mapping[str, Notation]
) -> dict[str, SentinelTally]:
    """One pass over some columns of numbers: sentinels, and the range of the rest."""
    tallies = {name: SentinelTally() for name in names}
    if names:
        for located in source.batches(names, batch_rows(PASS_ROWS, len(names))):
            for name, tally in tallies.items():
                plain = replace(notations.get(name, PLAIN), sentinels=())
                array = located.batch[name]
                tally.update(numbers(array, name, located.location, plain).values)
    return tallies
