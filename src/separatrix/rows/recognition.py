"""Recognition of notations: first rows for candidates, then one pass over those columns.

A table of plain numbers costs no further pass. Texts with two readings (1,234; 3/4/2021) are
decided by the other columns, and every decision becomes a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.arrays import NDArray
from separatrix.messages import InputError
from separatrix.rows.notations import (
    AMONG_NUMBERS,
    CLOCK,
    DATES,
    IN_EVERY_COLUMN,
    SEPARATORS,
    SILENT,
    NumberParts,
    SentinelTally,
    Separators,
    TextOptions,
    clean_text,
    sentinels_given,
    taken_apart,
    to_days,
)
from separatrix.rows.notations import fits as number_fits
from separatrix.rows.schema import PLAIN, Column, ColumnNote, Kind, Notation, Schema
from separatrix.rows.sources.columns import (
    Location,
    is_number,
    is_text,
    numbers,
    text_in_dates,
    text_in_numbers,
)
from separatrix.rows.sources.csv import CsvSource
from separatrix.rows.sources.source import (
    Contradiction,
    FileSource,
    LocatedBatch,
    Source,
    SuspectedMissing,
    batch_rows,
    head,
)
from separatrix.rows.sources.stream import SourceReading

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
            return _recognize(source, names, kinds, options)
        except Contradiction as problem:  # a column does not go on as it begins: it is text
            if not isinstance(source, CsvSource) or problem.column in (None, *source.texts):
                raise
            source = source.as_text([str(problem.column)])


def _recognize(
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
    tallies = tally_columns(source, candidates, options)
    hints = _hints(tallies.values(), source, sample)
    recognized = Recognized(source, sample)
    _decide_all(recognized, tallies, hints, forced)
    if hints.decimal == "," and isinstance(source, CsvSource) and not options.separators:
        _decide_points(recognized, free, options, hints)
    _find_sentinels(recognized, names, kinds, options)
    return recognized


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


def tally_columns(source: Source, names: list[str], options: TextOptions) -> dict[str, Tally]:
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
    recognized: Recognized, tallies: dict[str, Tally], hints: Hints, forced: set[str]
) -> None:
    for name, tally in tallies.items():
        notation = decide(tally, hints, forced=name in forced)
        if notation is None:
            continue
        if name not in forced and not _is_written(recognized.source, name):
            signs = notation.thousands or notation.unit or notation.dates or notation.na
            if not signs and Separators(".", "") in tally.forms:
                continue  # text by declaration, such as the codes of a data frame
        recognized.notations[name] = notation
        recognized.counts[name] = dict(tally.na)
        if not tally.forms:
            recognized.slips[name] = slips_note(tally, notation)
        if _two_readings(tally):
            recognized.ambiguous.add(name)


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
    recognized: Recognized,
    free: list[str],
    options: TextOptions,
    hints: Hints,
) -> None:
    """Points beside decimal commas may separate thousands: such columns are read as text."""
    import pyarrow as pa

    source, batch = recognized.source, recognized.sample.batch
    assert isinstance(source, CsvSource)
    inside = [n for n in free if n in source.inferred.names]
    floating = [n for n in inside if pa.types.is_floating(source.inferred.field(n).type)]
    floating = [n for n in floating if is_number(batch[n].type)]
    if not floating:
        return
    as_text = source.as_text(floating)
    tallies = tally_columns(as_text, floating, options)
    grouped = Recognized(as_text, recognized.sample)
    _decide_all(grouped, tallies, hints, set())
    points = {n: m for n, m in grouped.notations.items() if m.thousands}
    if points:
        recognized.source = source.as_text(points)
        recognized.sample = head(recognized.source, batch.schema.names)
        recognized.notations |= points
        recognized.slips |= {n: grouped.slips[n] for n in points if n in grouped.slips}
        recognized.ambiguous |= set(points)


# -- sentinels -------------------------------------------------------------------------------------


def _find_sentinels(
    recognized: Recognized, names: list[str], kinds: Mapping[str, Kind], options: TextOptions
) -> None:
    """Numbers that are missing values: given ones, else those clearly apart in files."""
    numeric = [
        name
        for name in names
        if kinds.get(name) in (None, Kind.NUMERIC)
        and (is_number(recognized.sample.batch[name].type) or _is_number_text(recognized, name))
    ]
    if options.na is not None:
        given = sentinels_given(options.na)
        if given:
            for name in numeric:
                before = recognized.notations.get(name, PLAIN)
                recognized.notations[name] = replace(before, sentinels=given, na_given=True)
        return
    if not isinstance(recognized.source, FileSource):
        return
    suspects = [
        name for name in numeric if _suspicious(_values(recognized, recognized.sample, name))
    ]
    for name, tally in sentinel_tallies(recognized.source, suspects, recognized.notations).items():
        apart = tally.sentinels()
        if apart:
            before = recognized.notations.get(name, PLAIN)
            recognized.notations[name] = replace(before, sentinels=apart)
            recognized.counts.setdefault(name, {}).update(
                {f"{value:g}": tally.counts[value] for value in apart}
            )


def _is_number_text(recognized: Recognized, name: str) -> bool:
    notation = recognized.notations.get(name)
    return notation is not None and not notation.dates


def _values(recognized: Recognized, located: LocatedBatch, name: str) -> Any:
    notation = recognized.notations.get(name, PLAIN)
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


# -------------------------------------------------------------------------------------------------
# The notation of a column from its tally, or a refusal that names the row.


@dataclass(frozen=True)
class Hints:
    """What the other columns say about texts with two readings (1,234 and 3/4/2021)."""

    decimal: str | None = None
    dates: str | None = None


def promising(tally: Tally) -> bool:
    """Whether the first rows may be numbers or dates; other columns hold levels."""
    return not tally.present or 2 * tally.best.fitting >= tally.present


def decide(tally: Tally, hints: Hints, *, forced: bool) -> Notation | None:
    """How the column is written; None if it holds levels.

    ``forced`` says that the caller declared it numeric. A few texts that do not fit are missing
    values of the notation.
    """
    if tally.forms:
        return _written(tally, _prefer(tally.forms, hints), ())
    best = tally.best
    if best.misfit is None:
        return None
    if isinstance(best.form, Separators):
        levels = len(tally.codes) <= MAX_CODES and 2 * len(tally.codes) <= best.fitting
        levels = levels and all(code.isdigit() for code in tally.codes)  # such as 0, 1, 2, 3+
    else:
        # With fewer texts than this, dates with other texts among them are levels.
        levels = tally.present < 10
    # From this part of its texts on, a column of numbers with other texts is refused.
    if not forced and (levels or best.fitting < 0.7 * tally.present):
        return None
    slips = slips_of(tally)
    if slips:
        return _written(tally, _prefer([guess.form for guess in tally.guesses], hints), slips)
    if isinstance(best.form, Separators):
        raise text_in_numbers(*_where(tally, best.misfit))
    raise text_in_dates(*_where(tally, best.misfit), best.form)


def slips_of(tally: Tally) -> tuple[str, ...]:
    """The texts of a column of numbers or dates that are neither, if they are few enough.

    Numbers with other separators and dates in another order are not slips: the column is written in
    two ways.
    """
    best, strict = tally.best, tally.options.strict or tally.options.na is not None
    # Up to this part of its texts, those that are not numbers or dates are slips, and read as
    # missing; of more, another way of writing is likelier.
    few = tally.present - best.fitting <= 0.05 * tally.present
    if strict or best.misfit is None or not few or len(best.misfits) > MAX_MISFITS:
        return ()
    texts = sorted(best.misfits)
    return () if tally.fits_otherwise(texts, best.form) else tuple(texts)


def _written(tally: Tally, form: Separators | str, slips: tuple[str, ...]) -> Notation:
    na, given = tuple(sorted({*tally.na, *slips})), tally.options.na is not None
    if not isinstance(form, Separators):
        return Notation(dates=form, na=na, na_given=given)
    return Notation(form.decimal, form.thousands, _unit(tally), na=na, na_given=given)


def _where(tally: Tally, place: LocatedText) -> tuple[str, str, str | None, int]:
    return place.text, tally.name, place.file, place.row


def _prefer(forms: list[Separators | str], hints: Hints) -> Separators | str:
    """One of the notations that fit equally: as the other columns, else the most usual one."""
    numbers = [form for form in forms if isinstance(form, Separators)]
    if numbers:
        like = [form for form in numbers if form.decimal == hints.decimal]
        return (like or numbers)[0]
    orders = [form for form in forms if isinstance(form, str)]
    if "year-first" in orders:
        return "year-first"
    return hints.dates if hints.dates in orders else orders[-1]


def _unit(tally: Tally) -> str:
    """The one unit of a column of numbers; two of them are refused."""
    signs = [sign for sign in tally.units if sign]
    if not signs:
        return ""
    if len(signs) > 1:
        place = tally.units[signs[1]]
        raise InputError(
            f"{place.text!r} has the unit {signs[1]!r}, but others have {signs[0]!r}.",
            file=place.file,
            row=place.row,
            column=tally.name,
            remedy="Convert the values to one unit, or read the column as levels with "
            f"kinds={{{tally.name!r}: 'discrete'}}.",
        )
    if signs == ["%"] and "" in tally.units:
        place = tally.units[""]
        raise InputError(
            f"{place.text!r} has no % sign, but other values have one.",
            file=place.file,
            row=place.row,
            column=tally.name,
            remedy="Write all values with %, or none.",
        )
    return signs[0]


# -------------------------------------------------------------------------------------------------
# Which notations fit every text of a column so far; one pass over the column decides.


#: Distinct numbers are counted up to one more than this: so few may be codes of levels.
MAX_CODES = 10
#: Distinct texts that a notation does not fit are kept up to one more than this: a column with more
#: is not one of numbers with a few slips.
MAX_MISFITS = 100


@dataclass(frozen=True, slots=True)
class LocatedText:
    """A text, and where it stands."""

    text: str
    file: str | None
    row: int


@dataclass
class Guess:
    """A notation, the number of texts that it fits, the first that it does not, and the others."""

    form: Separators | str
    fitting: int = 0
    misfit: LocatedText | None = None
    misfits: set[str] = field(default_factory=set)


@dataclass
class Tally:
    """Counts of one text column: missing values, units, and texts that each notation fits."""

    name: str
    options: TextOptions
    present: int = 0
    na: dict[str, int] = field(default_factory=dict)
    units: dict[str, LocatedText] = field(default_factory=dict)
    codes: set[str] = field(default_factory=set)
    guesses: list[Guess] = field(default_factory=list)

    def __post_init__(self) -> None:
        given = self.options
        self.guesses = [
            Guess(s)
            for s in SEPARATORS
            if given.decimal in (None, s.decimal) and given.thousands in (None, s.thousands)
        ]
        free = ("year-first", CLOCK)
        orders = [d for d in (*DATES, CLOCK) if given.dates in (None, d) or d in free]
        self.guesses += [Guess(order) for order in orders]

    def update(self, array: pa.Array, location: Location) -> None:
        """Add the texts of a batch; notations that fit no longer are dropped."""
        import pyarrow as pa
        import pyarrow.compute as pc

        text = clean_text(array)
        tokens = (AMONG_NUMBERS | SILENT) if self.options.na is None else {"", *self.options.na}
        missing = pc.is_in(text, pa.array(sorted(tokens)))
        here = pc.and_(pc.invert(missing), pc.is_valid(text))
        for entry in pc.value_counts(text.filter(missing)).to_pylist():
            token = entry["values"]
            if token is not None and token not in SILENT:
                self.na[token] = self.na.get(token, 0) + entry["counts"]
        rows = np.flatnonzero(np.asarray(here))
        if not len(rows):
            return
        texts = text.filter(here)
        parts = taken_apart(texts)
        self.present += len(rows)
        self._count_units(texts, parts, rows, location)
        for guess in self.guesses:
            fits = self._fits(texts, parts, guess.form)
            guess.fitting += int(fits.sum())
            if fits.all():
                continue
            others = pc.unique(texts.filter(pa.array(~fits)))
            guess.misfits.update(others[: MAX_MISFITS + 1 - len(guess.misfits)].to_pylist())
            if guess.misfit is None:
                guess.misfit = _place(texts, rows, int(fits.argmin()), location)
        alive = [guess for guess in self.guesses if guess.misfit is None]
        most = self.best.fitting
        self.guesses = alive or [guess for guess in self.guesses if guess.fitting == most]

    def _fits(
        self, texts: pa.Array, parts: NumberParts, form: Separators | str
    ) -> NDArray[np.bool_]:
        if isinstance(form, Separators):
            return np.asarray(number_fits(parts, form), dtype=bool)
        distinct = texts.dictionary_encode()
        is_date = ~np.isnan(to_days(distinct.dictionary, form))
        return np.asarray(is_date[np.asarray(distinct.indices)], dtype=bool)

    def fits_otherwise(self, texts: list[str], form: Separators | str) -> bool:
        """Whether some texts are numbers as well, or dates as well, in another notation."""
        import pyarrow as pa

        array = pa.array(texts, pa.string())
        parts = taken_apart(array)
        others = SEPARATORS if isinstance(form, Separators) else DATES
        return any(self._fits(array, parts, other).any() for other in others)

    def _count_units(
        self, texts: pa.Array, parts: NumberParts, rows: NDArray[np.intp], location: Location
    ) -> None:
        import pyarrow.compute as pc

        if len(self.codes) <= MAX_CODES:
            self.codes.update(pc.unique(parts.body.drop_null())[: MAX_CODES + 1].to_pylist())
        number = pc.is_valid(parts.body)
        unit = pc.fill_null(parts.unit, "").filter(number)
        where = np.flatnonzero(np.asarray(number))
        for sign in pc.unique(unit).to_pylist():
            if sign not in self.units:
                i = int(where[pc.index(unit, sign).as_py()])
                self.units[sign] = _place(texts, rows, i, location)

    @property
    def best(self) -> Guess:
        """The notation that fits the most texts."""
        return max(self.guesses, key=lambda guess: guess.fitting)

    @property
    def forms(self) -> list[Separators | str]:
        """The notations that fit every text."""
        return [guess.form for guess in self.guesses if guess.misfit is None]

    @property
    def decimal(self) -> str | None:
        """The decimal separator, if only one is possible."""
        marks = {form.decimal for form in self.forms if isinstance(form, Separators)}
        return marks.pop() if len(marks) == 1 and self.present else None

    @property
    def order(self) -> str | None:
        """The order of dates, if only one is possible."""
        if self.decimal is not None or any(isinstance(f, Separators) for f in self.forms):
            return None
        orders = {str(form) for form in self.forms}
        return orders.pop() if len(orders) == 1 and self.present else None


def _place(texts: pa.Array, rows: NDArray[np.intp], i: int, location: Location) -> LocatedText:
    return LocatedText(texts[i].as_py(), location.file, location.row(int(rows[i])))


# -------------------------------------------------------------------------------------------------
# Sentences on how the columns of a table were read, and how to override it.


_ORDERS = {
    "day-first": "the day first (22/07/2022)",
    "month-first": "the month first (07/22/2022)",
    "year-first": "the year first (2022-07-22)",
}
_WORDS = {",": "commas", ".": "points", " ": "spaces", "'": "apostrophes"}


def reading_notes(
    recognized: Recognized, columns: Mapping[str, Column], options: TextOptions
) -> Iterator[str]:
    """What was recognized about a file, its separators, dates and missing values."""
    if isinstance(recognized.source, FileSource):
        yield from (*recognized.source.announced, *recognized.source.notes)
    used = {name: n for name, n in recognized.notations.items() if name in columns}
    counts = {name: dict(recognized.counts.get(name, {})) for name in columns}
    if options.na is None:
        for name, column in columns.items():
            if column.kind is Kind.DISCRETE and is_text(recognized.sample.batch[name].type):
                counts[name] |= _marks(recognized, name)
    yield from (note for name, note in recognized.slips.items() if name in columns)
    given = options.separators and not recognized.ambiguous
    yield from number_notes(used, counts, recognized.ambiguous, announced=not given)


def slips_note(tally: Tally, notation: Notation) -> str:
    """How many texts of a column are read as missing since they do not fit, and the first."""
    first, count = tally.best.misfit, tally.present - tally.best.fitting
    assert first is not None
    what = "a number" if not notation.dates else "a time" if notation.dates == CLOCK else "a date"
    many = f"{count:,} of {tally.present:,} values are not {what[2:]}s and are"
    sentence = f"1 of {tally.present:,} values is not {what} and is"
    where = f"{first.text!r} in row {first.row}" + (f" of {first.file}" if first.file else "")
    return ColumnNote.on(
        tally.name,
        f"Column {tally.name!r}: {sentence if count == 1 else many} read as missing, "
        f"{'' if count == 1 else 'the first '}{where} (override: correct them, "
        f"`kinds={{{tally.name!r}: 'discrete'}}` reads levels; `strict=True` refuses them).",
    )


def _marks(recognized: Recognized, name: str) -> dict[str, int]:
    """Texts among levels that are missing values, in the first rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = pc.utf8_trim_whitespace(recognized.sample.batch[name].cast(pa.string()))
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
    named = 4  # how many columns are named before the rest is only counted
    more = len(shown) - named
    return ", ".join(shown[:named]) + (f" and {more} more" if more > 0 else "")


# -------------------------------------------------------------------------------------------------
# A table decided anew, after a row that contradicts what the first rows showed.


@dataclass(frozen=True)
class Reconsideration:
    """Decides from the whole column: another notation, numbers that are missing, or a refusal."""

    kinds: Mapping[str, Kind]
    options: TextOptions

    def __call__(self, reading: SourceReading, problem: Contradiction) -> None:
        """Change how the table is read, or raise the problem."""
        name = problem.column
        if name is None:
            raise problem
        if isinstance(problem, SuspectedMissing):
            reading.ranges = {k: v for k, v in reading.ranges.items() if k != name}
            self._find_sentinels(reading, name)
        else:
            self._find_notation(reading, name, problem)

    def _find_sentinels(self, reading: SourceReading, name: str) -> None:
        before = reading.schema.notation(name)
        tally = sentinel_tallies(reading.source, [name], {name: before})[name]
        apart = tally.sentinels()
        if apart:
            counts = {name: {f"{value:g}": tally.counts[value] for value in apart}}
            _change(reading, name, replace(before, sentinels=apart), counts)

    def _find_notation(self, reading: SourceReading, name: str, problem: Contradiction) -> None:
        source = reading.source
        if not isinstance(source, CsvSource) or name in source.texts:
            raise problem
        source = source.as_text([name])
        tally = tally_columns(source, [name], self.options)[name]
        notation = decide(tally, Hints(), forced=True)
        if notation is None:
            raise problem
        reading.source = source
        before = reading.schema.notation(name)
        notation = replace(notation, sentinels=before.sentinels)
        _change(reading, name, notation, {name: dict(tally.na)})
        if not tally.forms:
            reading.notes += (slips_note(tally, notation),)


@dataclass(frozen=True)
class SameNotation:
    """New rows for a model: the notations are those of training, missing values may be new."""

    def __call__(self, reading: SourceReading, problem: Contradiction) -> None:
        """Read the column as text in its own notation, or raise the problem."""
        name, source = problem.column, reading.source
        if name is None or not isinstance(source, CsvSource) or name in source.texts:
            raise problem
        reading.source = source.as_text([name])


def written_as(schema: Schema, options: TextOptions) -> Schema:
    """The schema for tables that are written otherwise than those of training."""
    if not options.separators and options.dates is None and options.na is None:
        return schema
    return replace(
        schema,
        columns=tuple(_rewritten(column, options) for column in schema.columns),
        targets=tuple(_rewritten(column, options) for column in schema.targets),
        na=schema.na if options.na is None else options.na,
    )


def _rewritten(column: Column, options: TextOptions) -> Column:
    if column.kind is not Kind.NUMERIC:
        return column
    notation = column.notation
    if notation.dates:
        notation = replace(notation, dates=options.dates or notation.dates)
    elif options.separators:
        decimal = options.decimal or ("," if options.thousands == "." else ".")
        notation = replace(notation, decimal=decimal, thousands=options.thousands or "")
    if options.na is not None:
        numbers = sentinels_given(options.na)
        notation = replace(notation, na=options.na, sentinels=numbers, na_given=True)
    return replace(column, notation=notation)


def _change(
    reading: SourceReading, name: str, notation: Notation, counts: Mapping[str, Mapping[str, int]]
) -> None:
    """The new notation of a column, and a note on it."""
    schema = reading.schema

    def change(columns: tuple[Column, ...]) -> tuple[Column, ...]:
        return tuple(replace(c, notation=notation) if c.name == name else c for c in columns)

    if name in (schema.weight, schema.time):
        beside = tuple((dict(schema.beside) | {name: notation}).items())
        schema = replace(schema, beside=beside)
    reading.schema = replace(schema, columns=change(schema.columns), targets=change(schema.targets))
    reading.notes += tuple(number_notes({name: notation}, counts, set()))
