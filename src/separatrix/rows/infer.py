"""Inference of a schema: the kind of each column from its type and first rows, with reasons."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np

from separatrix.arrays import Floats
from separatrix.messages import InputError, did_you_mean
from separatrix.rows.notations import CLOCK, TextOptions
from separatrix.rows.recognition import Recognized, reading_notes, recognize
from separatrix.rows.schema import PLAIN, Column, ColumnNote, Kind, Schema
from separatrix.rows.sources.columns import POLICIES as UNSEEN_POLICIES
from separatrix.rows.sources.columns import (
    display_of,
    is_number,
    is_text,
    is_time,
    kind_of,
    numbers,
)
from separatrix.rows.sources.source import FileSource, Source, refuse_duplicates

if TYPE_CHECKING:
    import pyarrow as pa


_YEAR = re.compile(
    r"(?i:(^|[\W_\d])(year|yr|jahr|ann[ée]e|año|ano|anno)s?($|[\W_\d])|(year|jahr)$)"
    r"|^[Yy]ear[A-Z]|[a-z]Year"
)

MISSING_POLICIES = ("drop", "mean", "regress", "indicator", "compare")


@dataclass(frozen=True)
class ReadOptions:
    """Options of a scan: roles and kinds of columns, policies for missing values and levels.

    ``columns`` and ``drop`` are names of features or patterns of names (``*``, ``?``, ``[…]``).
    """

    targets: tuple[str, ...] = ()
    weight: str | None = None
    missing: str = "compare"
    unseen: str = "missing"
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    ignore: frozenset[str] = frozenset()
    group: str | None = None
    time: str | None = None
    text: TextOptions = field(default_factory=TextOptions)
    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()

    @property
    def mentioned(self) -> frozenset[str]:
        """Names of columns that the caller gave: a line of a file with one of them is a header."""
        singles = (name for name in (self.weight, self.group, self.time) if name is not None)
        return frozenset((*self.targets, *singles, *self.kinds, *self.ignore, *self.selected))

    @property
    def selected(self) -> tuple[str, ...]:
        """The names and patterns by which features are chosen or dropped."""
        return (*(self.columns or ()), *self.drop)

    def choose(self, names: Sequence[str], table: str | None) -> ReadOptions:
        """With every column ignored that is not among ``columns``, or is among ``drop``.

        Target, weight, group and time stay what they are, unless one is dropped by its name.
        """
        if not self.selected and self.columns is None:
            return self
        roles = {*self.targets, self.weight, self.group, self.time}
        for name in self.drop:
            if name in roles and name in names:
                raise InputError(
                    "cannot be dropped: it is the target, the weight, the group or the time.",
                    file=table,
                    column=name,
                    remedy="Leave it out of `drop`.",
                )
        used = names if self.columns is None else _matching(self.columns, names, "columns", table)
        dropped = _matching(self.drop, names, "drop", table)
        unused = {n for n in names if n not in used or n in dropped} - roles
        ignore = self.ignore | unused
        return replace(
            self, ignore=ignore, kinds={n: k for n, k in self.kinds.items() if n not in ignore}
        )


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
    text: TextOptions | None = None,
    columns: Sequence[str] | str | None = None,
    drop: Sequence[str] | str = (),
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
    text = text or TextOptions()
    return ReadOptions(
        tuple(targets),
        weight,
        missing,
        unseen,
        used,
        ignore,
        group,
        time,
        text,
        None if columns is None else _patterns(columns),
        _patterns(drop),
        tuple(ids),
    )


def _enumerate(names: Sequence[str]) -> str:
    """A few of the names, and how many more."""
    most = 8  # names that fit into a line or two
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + rest


def _patterns(given: Sequence[str] | str) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _matching(
    patterns: Sequence[str], names: Sequence[str], option: str, table: str | None
) -> frozenset[str]:
    """The columns of these names or patterns; one that matches none is refused."""
    found: set[str] = set()
    for pattern in patterns:
        whole = [pattern] if pattern in names else []
        matched = whole or [name for name in names if fnmatchcase(name, pattern)]
        if not matched:
            raise InputError(
                f"there is no column {pattern!r} (given as {option}).",
                file=table,
                remedy=did_you_mean(pattern, names),
            )
        found.update(matched)
    return frozenset(found)


def _one_of(what: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise InputError(f"{what} cannot be {value!r}.", remedy=did_you_mean(value, known))


@dataclass(frozen=True)
class Inferred:
    """A schema, the source read under it, and a sentence for everything inferred or left out.

    ``left_out`` are those of the notes that are on columns left out, ``ranges`` those of the
    numeric columns in the first rows. ``named_by`` is the column of identifiers that names rows to
    people: one that was given, or one of texts.
    """

    source: Source
    schema: Schema
    notes: tuple[str, ...]
    left_out: tuple[str, ...]
    ranges: dict[str, tuple[float, float]]
    named_by: str | None = None


def infer_schema(source: Source, options: ReadOptions) -> Inferred:
    """The schema of a source from the types of its columns, or from how they are written."""
    names = source.arrow.names
    refuse_duplicates(names, source.name)
    _check_roles(names, options, source)
    chosen = options.choose(names, source.name)
    unused = [name for name in names if name in chosen.ignore - options.ignore]
    options = chosen
    used = [name for name in names if name not in options.ignore]
    beside = [name for name in (options.weight, options.time) if name is not None]
    recognized = recognize(source, [*dict.fromkeys(used + beside)], options.kinds, options.text)
    notes = [f"Not used, as asked: {_enumerate(unused)}."] if unused else []
    left_out: list[str] = []
    identifiers = [name for name in options.ids if name in names]
    targets = tuple(_target(name, recognized, options) for name in options.targets)
    columns = []
    for name in used:
        if name in (*options.targets, options.weight, options.group):
            continue
        kind = _kind(name, recognized, options)
        requested = name in options.kinds or name == options.time
        why = "" if requested else _identifiers(name, kind, recognized)
        if why:
            left_out.append(why)
            notes.append(why)
            identifiers += [name] if kind is Kind.DISCRETE else []
            continue
        columns.append(_column(name, kind, recognized, notes))
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
        beside=tuple((n, recognized.notations[n]) for n in beside if n in recognized.notations),
        header=has_header(recognized.source),
        na=options.text.na,
    )
    written = reading_notes(recognized, {**schema.by_name}, options.text)
    ranges = _ranges(recognized, schema, options)
    named_by = next(iter(identifiers), None)
    return Inferred(
        recognized.source, schema, (*written, *notes), tuple(left_out), ranges, named_by
    )


def has_header(source: Source) -> bool:
    """Whether the columns of a file have names (those of other tables do)."""
    return not isinstance(source, FileSource) or source.has_header


def _ranges(
    recognized: Recognized, schema: Schema, options: ReadOptions
) -> dict[str, tuple[float, float]]:
    """Ranges of columns in which missing values may be numbers: those of files, not decided yet."""
    if options.text.na is not None or not isinstance(recognized.source, FileSource):
        return {}
    ranges = {}
    for column in schema.by_name.values():
        if column.kind is not Kind.NUMERIC or column.display or column.notation.sentinels:
            continue
        values = _values(recognized, column.name)
        if len(values):
            ranges[column.name] = (float(values.min()), float(values.max()))
    return ranges


def _check_roles(names: list[str], options: ReadOptions, source: Source) -> None:
    singles = (options.weight, "weight"), (options.group, "group"), (options.time, "time")
    roles = [(name, "target") for name in options.targets]
    roles += [(name, role) for name, role in singles if name is not None]
    once = [name for name, _ in roles]
    roles += [(name, "column") for name in (*options.kinds, *sorted(options.ignore))]
    for name, role in roles:
        if name not in names:
            no_names = "" if has_header(source) else ", and the first line of the file holds values"
            raise InputError(
                f"there is no column {name!r} (given as {role}){no_names}.",
                file=source.name,
                remedy=did_you_mean(name, names),
            )
    if len(set(once)) < len(once):
        raise InputError(
            f"a column has two roles: {', '.join(map(repr, once))}.",
            remedy="Give each column one role.",
        )


def _kind(name: str, recognized: Recognized, options: ReadOptions) -> Kind:
    """The kind given by the caller, else that of the notation, else that of the type."""
    natural = kind_of(name, recognized.source.arrow.field(name).type)
    if name in recognized.notations:
        natural = Kind.NUMERIC
    return options.kinds.get(name, natural)


def _target(name: str, recognized: Recognized, options: ReadOptions) -> Column:
    kind = _kind(name, recognized, options)
    if kind is Kind.NUMERIC:
        return _column(name, kind, recognized, [])
    return Column(name, Kind.DISCRETE)


def _column(name: str, kind: Kind, recognized: Recognized, notes: list[str]) -> Column:
    if kind is Kind.DISCRETE:
        return Column(name, kind)
    type_ = recognized.sample.batch[name].type
    notation = recognized.notations.get(name, PLAIN)
    display = display_of(type_)
    if display:
        since = "days since 1970-01-01" if display in ("date", "datetime") else "seconds"
        what = "dates" if since.startswith("days") else "times"
        text = f"Column {name!r} holds {what}: read as {since}."
        notes.append(ColumnNote.on(name, text))
    if kind is Kind.BOOLEAN:
        return Column(name, kind, notation=notation)
    values = _values(recognized, name)
    placeholder = _round_value(np.median(values)) if len(values) else 0.0
    if notation.dates == CLOCK:
        display = "time"
    elif notation.dates:
        display = "date" if (values == np.floor(values)).all() else "datetime"
    elif not display and is_year(name, values):
        display = "year"
    return Column(name, kind, placeholder=placeholder, notation=notation, display=display)


def _values(recognized: Recognized, name: str) -> Floats:
    """The numbers in the first rows, without missing ones."""
    sample, location = recognized.sample.batch[name], recognized.sample.location
    if not (is_number(sample.type) or is_time(sample.type) or is_text(sample.type)):
        return np.zeros(0)
    read = numbers(sample, name, location, recognized.notations.get(name, PLAIN))
    return read.values if read.missing is None else read.values[~read.missing]


def _round_value(value: float) -> float:
    """A number to seven digits."""
    return float(np.format_float_scientific(value, precision=6))


def is_year(name: str, values: Floats) -> bool:
    """Whether a column called so holds years: they are shown without separators and decimals."""
    if not len(values) or not _YEAR.search(name):
        return False
    return bool(
        (values == np.floor(values)).all() and values.min() >= 1000 and values.max() <= 2200
    )


def _identifiers(name: str, kind: Kind, recognized: Recognized) -> str:
    """Why a column is left out: it holds names or numbers of the rows; empty if it does not."""
    if recognized.notations.get(name, PLAIN).needs_text:  # dates, or numbers with signs
        return ""
    why = identifies(name, recognized.sample.batch[name], discrete=kind is Kind.DISCRETE)
    if why is None:
        return ""
    return ColumnNote.on(
        name,
        f"Column {name!r} is left out: {why}. To use it all the same: "
        f"kinds={{{name!r}: {str(kind)!r}}}.",
    )


# -------------------------------------------------------------------------------------------------
# Columns that only tell rows apart: counters, keys and names. They say nothing about new rows.


#: Names of identifiers: id, customer_id, orderId, uuid; index.
_ID = re.compile(r"(?i:(^|[\W_])(id|ids|uuid|guid)$)|[a-z](Id|ID)$|(?i:^id[\W_])")
_INDEX = re.compile(r"(?i)^(index|idx|row_?names?|level_0)$")
#: The index of a data frame in a file, which is one even where tables were joined and it repeats.
_UNNAMED = re.compile(r"(?i)^(unnamed: ?\d+|__index_level_\d+__|)$")
#: Names of counters, which are identifiers if they do count.
_COUNTER = re.compile(
    r"(?i)^(#|no|nr|num|number|row|row[\W_]?(no|nr|num|number|index|idx)|obs|observation"
    r"|record|case|key|serial|seq|sequence|rank|sample|instance)$"
)


def named_like_id(name: str) -> bool:
    """Whether a column is called like an identifier: ``id``, ``customer_id``, ``orderId``."""
    return bool(_ID.search(name.strip()))


def identifies(name: str, sample: pa.Array, *, discrete: bool) -> str | None:
    """Why a column holds identifiers of the rows, judged by the first rows; None if it does not."""
    from separatrix.rows.sources.columns import is_number  # the help of the command loads no NumPy

    if discrete:
        return _texts(sample)
    return _numbers(name.strip(), sample) if is_number(sample.type) else None


def _texts(sample: pa.Array) -> str | None:
    from separatrix.rows.sources.columns import levels

    values = levels(sample)
    present, distinct = int((values.codes >= 0).sum()), len(values.names)
    # From this many rows on, a text of its own in every row is an identifier.
    # A text column with more distinct values than this, and than half the rows, holds identifiers.
    if distinct > max(50, present // 2) or (distinct == present >= 10):
        return f"{distinct} distinct texts in {present} rows look like identifiers"
    return None


def _numbers(name: str, sample: pa.Array) -> str | None:
    import numpy as np

    unnamed = bool(_UNNAMED.match(name))
    called = named_like_id(name) or bool(_INDEX.match(name))
    if not unnamed and not called and not _COUNTER.match(name):
        return None
    values = np.asarray(sample.drop_null().cast("float64", safe=False).to_numpy())
    if len(values) < 2 or len(values) < len(sample) or (values != np.floor(values)).any():
        return None
    if unnamed:
        return "whole numbers without a name look like the index of a data frame"
    ordered = np.sort(values)
    steps = np.diff(ordered)
    if not (steps > 0).all() or not (called or (steps == 1).all()):
        return None
    return "a whole number of its own in every row looks like an identifier"
