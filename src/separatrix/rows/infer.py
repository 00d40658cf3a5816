"""What each column is taken for, and what is said about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from separatrix.messages import InputError, did_you_mean
from separatrix.rows.schema import Column, Kind, Schema
from separatrix.rows.sources.columns import (
    Numbers,
    Place,
    is_number,
    is_text,
    is_time,
    kind_of,
    levels,
    numbers,
    text_in_numbers,
)
from separatrix.rows.sources.source import Piece, Source, head, refuse_duplicates

if TYPE_CHECKING:
    import pyarrow as pa

#: A text column of more distinct values than this, and than half the rows, names rows, not groups.
FEWEST_NAMES = 50

#: How a number looks, and the share of such values that makes a column one of numbers.
NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
MOSTLY = 0.7
#: Up to so many different numbers may be the codes of levels ("0", "1", "2", "3+").
FEW_LEVELS = 10

MISSING_POLICIES = ("drop", "mean", "regress", "indicator")
UNSEEN_POLICIES = ("error", "zeros")


@dataclass(frozen=True)
class Wanted:
    """How the caller wants a table to be read: roles, kinds, policies."""

    targets: tuple[str, ...] = ()
    weight: str | None = None
    missing: str = "mean"
    unseen: str = "error"
    kinds: Mapping[str, Kind] | None = None
    ignore: frozenset[str] = frozenset()

    @property
    def kind(self) -> Mapping[str, Kind]:
        """Kinds asked for, by column."""
        return self.kinds or {}


def wanted(
    targets: Sequence[str],
    weight: str | None,
    missing: str,
    unseen: str,
    kinds: Mapping[str, str] | None,
) -> Wanted:
    """Check the words of a request."""
    _one_of("missing", missing, MISSING_POLICIES)
    _one_of("unseen", unseen, UNSEEN_POLICIES)
    asked = dict(kinds or {})
    for name, kind in asked.items():
        _one_of(f"the kind of column {name!r}", str(kind), (*Kind, "ignore"))
    ignore = frozenset(name for name, kind in asked.items() if kind == "ignore")
    for name in (*targets, *(() if weight is None else (weight,))):
        if name in ignore:
            raise InputError(
                "cannot be ignored: it is the target or the weight.",
                column=name,
                remedy="Name another target, or leave out the kind.",
            )
    chosen = {name: Kind(kind) for name, kind in asked.items() if name not in ignore}
    return Wanted(tuple(targets), weight, missing, unseen, chosen, ignore)


def _one_of(what: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise InputError(f"{what} cannot be {value!r}.", remedy=did_you_mean(value, known))


def infer_schema(source: Source, want: Wanted) -> tuple[Schema, tuple[str, ...]]:
    """The schema of a source, and a sentence for everything that was inferred or left out."""
    arrow = source.arrow
    refuse_duplicates(arrow.names, source.name)
    _check_roles(arrow.names, want, source.name)
    used = [name for name in arrow.names if name not in want.ignore]
    piece = head(source, used)
    sample, place = piece.batch, piece.place
    for name in used:
        if name not in want.kind and is_text(sample[name].type):
            _refuse_stray_word(name, sample[name], place)
    notes: list[str] = []
    targets = tuple(_target(name, arrow, piece, want) for name in want.targets)
    columns = []
    for name in used:
        if name in want.targets or name == want.weight:
            continue
        kind = _kind(name, arrow, want)
        if (
            kind is Kind.DISCRETE
            and name not in want.kind
            and _names_rows(name, sample[name], notes)
        ):
            continue
        columns.append(_column(name, kind, sample[name], place, notes))
    if not columns:
        raise InputError(
            "no column is left to learn from.", file=source.name, remedy="Give more columns."
        )
    schema = Schema(tuple(columns), targets, want.weight, want.missing, want.unseen)
    return schema, tuple(notes)


def _check_roles(names: list[str], want: Wanted, file: str | None) -> None:
    weight = () if want.weight is None else (want.weight,)
    roles = [(name, "target") for name in want.targets] + [(name, "weight") for name in weight]
    roles += [(name, "column") for name in (*want.kind, *sorted(want.ignore))]
    for name, role in roles:
        if name not in names:
            raise InputError(
                f"there is no column {name!r} (asked for as {role}).",
                file=file,
                remedy=did_you_mean(name, names),
            )
    twice = [*want.targets, *weight]
    if len(set(twice)) < len(twice):
        raise InputError(
            f"the columns {', '.join(map(repr, twice))} are asked for twice.",
            remedy="Give each column one role.",
        )


def _kind(name: str, arrow: pa.Schema, want: Wanted) -> Kind:
    """The kind asked for, else the natural one; a type that has none is refused in any case."""
    natural = kind_of(name, arrow.field(name).type)
    return want.kind.get(name, natural)


def _target(name: str, arrow: pa.Schema, piece: Piece, want: Wanted) -> Column:
    kind = _kind(name, arrow, want)
    if kind is Kind.NUMERIC:
        return _column(name, kind, piece.batch[name], piece.place, [])
    return Column(name, Kind.DISCRETE)


def _column(name: str, kind: Kind, sample: pa.Array, place: Place, notes: list[str]) -> Column:
    if kind is Kind.DISCRETE:
        return Column(name, kind)
    if is_time(sample.type):
        notes.append(
            f"Column {name!r} holds points in time: read as seconds (since 1970-01-01 for dates)."
        )
    return Column(name, kind, origin=_middle(sample, name, place) if kind is Kind.NUMERIC else 0.0)


def _middle(sample: pa.Array, name: str, place: Place) -> float:
    """A value near the middle of the column, rounded so that it is short to write down."""
    if not (is_number(sample.type) or is_time(sample.type) or is_text(sample.type)):
        return 0.0
    found: Numbers = numbers(sample, name, place)
    present = found.values if found.gaps is None else found.values[~found.gaps]
    if not len(present):
        return 0.0
    return float(np.format_float_scientific(np.median(present), precision=6))


def _refuse_stray_word(name: str, sample: pa.Array, place: Place) -> None:
    """A column of many different numbers with a few words among them is no column of levels.

    One word is enough for a file's reader to call the column text; the first one is named.
    """
    import pyarrow.compute as pc

    present = pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(sample), ""), False)
    number = pc.fill_null(pc.match_substring_regex(sample, NUMBER), False)
    words = pc.and_not(present, number)
    numbers_met, words_met = pc.sum(number).as_py() or 0, pc.sum(words).as_py() or 0
    if not words_met or numbers_met < MOSTLY * (numbers_met + words_met):
        return
    distinct = pc.count_distinct(sample.filter(number)).as_py()
    if distinct > FEW_LEVELS or 2 * distinct > numbers_met:
        i = pc.index(words, True).as_py()
        raise text_in_numbers(sample[i].as_py(), name, place.file, place.row(i))


def _names_rows(name: str, sample: pa.Array, notes: list[str]) -> bool:
    """Whether a text column looks like names or identifiers of the rows: then it is left out."""
    found = levels(sample)
    present = int((found.codes >= 0).sum())
    if len(found.names) <= max(FEWEST_NAMES, present // 2):
        return False
    notes.append(
        f"Column {name!r} is left out: {len(found.names)} different texts in {present} rows look "
        f"like names. To use it all the same: kinds={{{name!r}: 'discrete'}}."
    )
    return True
