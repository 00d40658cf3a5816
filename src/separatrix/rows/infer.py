"""Inference of a schema: the kind of each column from its type and first rows, with reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from separatrix.messages import InputError, did_you_mean
from separatrix.rows.identifiers import identifies
from separatrix.rows.schema import Column, Kind, Schema
from separatrix.rows.sources.columns import (
    Location,
    is_number,
    is_text,
    is_time,
    kind_of,
    numbers,
    text_in_numbers,
)
from separatrix.rows.sources.source import LocatedBatch, Source, head, refuse_duplicates
from separatrix.rows.sources.unseen import POLICIES as UNSEEN_POLICIES

if TYPE_CHECKING:
    import pyarrow as pa

#: A number as text, and the fraction of such values that makes a text column a numeric one.
NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
NUMERIC_FRACTION = 0.7
#: Up to this many distinct numbers may be codes of levels ("0", "1", "2", "3+").
MAX_CODES = 10

MISSING_POLICIES = ("drop", "mean", "regress", "indicator")


@dataclass(frozen=True)
class ReadOptions:
    """Options of a scan: roles and kinds of columns, policies for missing values and levels."""

    targets: tuple[str, ...] = ()
    weight: str | None = None
    missing: str = "mean"
    unseen: str = "missing"
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    ignore: frozenset[str] = frozenset()
    group: str | None = None
    time: str | None = None


#: The options of a scan, by the names of the targets and of the weight.
OptionsOf = Callable[[Sequence[str], str | None], ReadOptions]


def read_options(
    targets: Sequence[str],
    weight: str | None,
    missing: str,
    unseen: str,
    kinds: Mapping[str, str] | None,
    group: str | None = None,
    time: str | None = None,
    ids: Sequence[str] = (),
) -> ReadOptions:
    """Check the options."""
    _one_of("missing", missing, MISSING_POLICIES)
    _one_of("unseen", unseen, UNSEEN_POLICIES)
    given = dict(kinds or {}) | dict.fromkeys(ids, "ignore")
    for name, kind in given.items():
        _one_of(f"the kind of column {name!r}", str(kind), (*Kind, "ignore"))
    ignore = frozenset(name for name, kind in given.items() if kind == "ignore")
    for name in (*targets, *(() if weight is None else (weight,))):
        if name in ignore:
            raise InputError(
                "cannot be ignored: it is the target or the weight.",
                column=name,
                remedy="Choose another target, or leave out the kind.",
            )
    used = {name: Kind(kind) for name, kind in given.items() if name not in ignore}
    if group is not None and time is not None:
        raise InputError(
            "Rows are split by `group` or by `time`, not by both.",
            remedy="Leave one out; a group may also be a span of time, such as a year.",
        )
    return ReadOptions(tuple(targets), weight, missing, unseen, used, ignore, group, time)


def _one_of(what: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise InputError(f"{what} cannot be {value!r}.", remedy=did_you_mean(value, known))


def infer_schema(source: Source, options: ReadOptions) -> tuple[Schema, tuple[str, ...]]:
    """The schema of a source, and a sentence for everything inferred or left out."""
    arrow = source.arrow
    refuse_duplicates(arrow.names, source.name)
    _check_roles(arrow.names, options, source.name)
    used = [name for name in arrow.names if name not in options.ignore]
    first = head(source, used)
    sample, location = first.batch, first.location
    for name in used:
        if name not in options.kinds and is_text(sample[name].type):
            _refuse_text_among_numbers(name, sample[name], location)
    notes: list[str] = []
    targets = tuple(_target(name, arrow, first, options) for name in options.targets)
    columns = []
    for name in used:
        if name in (*options.targets, options.weight, options.group):
            continue
        kind = _kind(name, arrow, options)
        requested = name in options.kinds or name == options.time
        if not requested and _holds_identifiers(name, kind, sample[name], notes):
            continue
        columns.append(_column(name, kind, sample[name], location, notes))
    if not columns:
        raise InputError(
            "there is no feature column.",
            file=source.name,
            remedy=" ".join(["Give more columns.", *notes]),
        )
    schema = Schema(
        tuple(columns),
        targets,
        options.weight,
        options.missing,
        options.unseen,
        group=options.group,
        time=options.time,
    )
    return schema, tuple(notes)


def _check_roles(names: list[str], options: ReadOptions, file: str | None) -> None:
    singles = (options.weight, "weight"), (options.group, "group"), (options.time, "time")
    roles = [(name, "target") for name in options.targets]
    roles += [(name, role) for name, role in singles if name is not None]
    once = [name for name, _ in roles]
    roles += [(name, "column") for name in (*options.kinds, *sorted(options.ignore))]
    for name, role in roles:
        if name not in names:
            raise InputError(
                f"there is no column {name!r} (given as {role}).",
                file=file,
                remedy=did_you_mean(name, names),
            )
    if len(set(once)) < len(once):
        raise InputError(
            f"a column has two roles: {', '.join(map(repr, once))}.",
            remedy="Give each column one role.",
        )


def _kind(name: str, arrow: pa.Schema, options: ReadOptions) -> Kind:
    """The kind given by the caller, else that of the type; a type without a kind is refused."""
    natural = kind_of(name, arrow.field(name).type)
    return options.kinds.get(name, natural)


def _target(name: str, arrow: pa.Schema, first: LocatedBatch, options: ReadOptions) -> Column:
    kind = _kind(name, arrow, options)
    if kind is Kind.NUMERIC:
        return _column(name, kind, first.batch[name], first.location, [])
    return Column(name, Kind.DISCRETE)


def _column(
    name: str, kind: Kind, sample: pa.Array, location: Location, notes: list[str]
) -> Column:
    if kind is Kind.DISCRETE:
        return Column(name, kind)
    if is_time(sample.type):
        notes.append(
            f"Column {name!r} holds dates or times: read as seconds (since 1970-01-01 for dates)."
        )
    placeholder = _rounded_median(sample, name, location) if kind is Kind.NUMERIC else 0.0
    return Column(name, kind, placeholder=placeholder)


def _rounded_median(sample: pa.Array, name: str, location: Location) -> float:
    """The median of the first rows, to seven digits; 0 where there are none."""
    if not (is_number(sample.type) or is_time(sample.type) or is_text(sample.type)):
        return 0.0
    found = numbers(sample, name, location)
    present = found.values if found.missing is None else found.values[~found.missing]
    if not len(present):
        return 0.0
    return float(np.format_float_scientific(np.median(present), precision=6))


def _refuse_text_among_numbers(name: str, sample: pa.Array, location: Location) -> None:
    """Refuse a text column that holds many distinct numbers and a few other values.

    One such value makes the reader of a file declare the column text; the first one is reported.
    """
    import pyarrow.compute as pc

    present = pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(sample), ""), False)
    number = pc.fill_null(pc.match_substring_regex(sample, NUMBER), False)
    text = pc.and_not(present, number)
    n_numbers, n_texts = pc.sum(number).as_py() or 0, pc.sum(text).as_py() or 0
    if not n_texts or n_numbers < NUMERIC_FRACTION * (n_numbers + n_texts):
        return
    distinct = pc.count_distinct(sample.filter(number)).as_py()
    if distinct > MAX_CODES or 2 * distinct > n_numbers:
        i = pc.index(text, True).as_py()
        raise text_in_numbers(sample[i].as_py(), name, location.file, location.row(i))


def _holds_identifiers(name: str, kind: Kind, sample: pa.Array, notes: list[str]) -> bool:
    """Whether a column holds names or numbers of the rows; it is then left out."""
    why = identifies(name, sample, discrete=kind is Kind.DISCRETE)
    if why is None:
        return False
    notes.append(
        f"Column {name!r} is left out: {why}. To use it all the same: "
        f"kinds={{{name!r}: {str(kind)!r}}}."
    )
    return True
