"""A table decided anew, after a row that contradicts what the first rows showed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from separatrix.rows.notations.decide import Hints, decide
from separatrix.rows.notations.missing import sentinels_given
from separatrix.rows.notations.notes import number_notes, slips_note
from separatrix.rows.notations.options import TextOptions
from separatrix.rows.notations.recognize import sentinel_tallies, tallied
from separatrix.rows.schema import Column, Kind, Notation, Schema
from separatrix.rows.sources.csv import CsvSource
from separatrix.rows.sources.source import Contradiction, SuspectedMissing
from separatrix.rows.sources.stream import Reading


@dataclass(frozen=True)
class Reconsideration:
    """Decides from the whole column: another notation, numbers that are missing, or a refusal."""

    kinds: Mapping[str, Kind]
    options: TextOptions

    def __call__(self, reading: Reading, problem: Contradiction) -> None:
        """Change how the table is read, or raise the problem."""
        name = problem.column
        if name is None:
            raise problem
        if isinstance(problem, SuspectedMissing):
            reading.ranges = {k: v for k, v in reading.ranges.items() if k != name}
            self._find_sentinels(reading, name)
        else:
            self._find_notation(reading, name, problem)

    def _find_sentinels(self, reading: Reading, name: str) -> None:
        before = reading.schema.notation(name)
        tally = sentinel_tallies(reading.source, [name], {name: before})[name]
        apart = tally.sentinels()
        if apart:
            counts = {name: {f"{value:g}": tally.counts[value] for value in apart}}
            _change(reading, name, replace(before, sentinels=apart), counts)

    def _find_notation(self, reading: Reading, name: str, problem: Contradiction) -> None:
        source = reading.source
        if not isinstance(source, CsvSource) or name in source.texts:
            raise problem
        source = source.as_text([name])
        tally = tallied(source, [name], self.options)[name]
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

    def __call__(self, reading: Reading, problem: Contradiction) -> None:
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
        columns=tuple(_written(column, options) for column in schema.columns),
        targets=tuple(_written(column, options) for column in schema.targets),
        na=schema.na if options.na is None else options.na,
    )


def _written(column: Column, options: TextOptions) -> Column:
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
    reading: Reading, name: str, notation: Notation, counts: Mapping[str, Mapping[str, int]]
) -> None:
    """The new notation of a column, and a note on it."""
    schema = reading.schema

    def changed(columns: tuple[Column, ...]) -> tuple[Column, ...]:
        return tuple(replace(c, notation=notation) if c.name == name else c for c in columns)

    if name in (schema.weight, schema.time):
        beside = tuple((dict(schema.beside) | {name: notation}).items())
        schema = replace(schema, beside=beside)
    reading.schema = replace(
        schema, columns=changed(schema.columns), targets=changed(schema.targets)
    )
    reading.notes += tuple(number_notes({name: notation}, counts, set()))
