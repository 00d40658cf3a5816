"""Schema of a table: its columns, and the terms (numbers per row) that each column yields.

A numeric column yields its value; a discrete one a 0/1 indicator per level; a column with missing
values one more indicator that is 1 where the value is missing. Terms are the columns of matrices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Any


class Kind(StrEnum):
    """The three kinds of column."""

    NUMERIC = "numeric"
    BOOLEAN = "boolean"
    DISCRETE = "discrete"


@dataclass(frozen=True, slots=True, order=True)
class Term:
    """One number per row: a value, or the indicator of a level or of a missing value."""

    column: str
    level: str | None = None
    missing: bool = False

    def __str__(self) -> str:
        if self.missing:
            return f"{self.column} missing"
        return self.column if self.level is None else f"{self.column}={self.level}"


@dataclass(frozen=True, slots=True)
class Notation:
    """How the values of a column are written: ``1.234,50 €``, ``12%``, ``22/07/2022``, ``?``.

    ``unit`` is the sign beside the numbers (``"%"``, ``"$"`` …), ``dates`` the order of day, month
    and year (``"day-first"``, ``"month-first"``, ``"year-first"``; empty for numbers). Texts in
    ``na`` and numbers in ``sentinels`` are missing values; the usual ones (``NA``, ``?`` …) are so
    too unless ``na_given``.
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    dates: str = ""
    na: tuple[str, ...] = ()
    sentinels: tuple[float, ...] = ()
    na_given: bool = False

    @property
    def needs_text(self) -> bool:
        """Whether values must be read as text: they are not plain numbers."""
        return bool(self.thousands or self.unit or self.dates or self.na or self.decimal != ".")


PLAIN = Notation()


@dataclass(frozen=True, slots=True)
class Column:
    """A named column. ``levels`` of a discrete column are empty until they are found by reading.

    Once they are known, a level outside them is unseen.

    ``placeholder`` stands for missing numbers until their replacement is known: near the median of
    the column, so that the later correction (a linear map) loses no digits.

    ``display`` says what the numbers are: ``"date"`` and ``"datetime"`` (days since 1970-01-01),
    ``"time"`` and ``"duration"`` (seconds), ``"year"``; empty for plain numbers. Of a target that
    holds classes it is the type of the labels: ``"integer"``, ``"number"``, ``"boolean"``; empty
    for text.

    ``pooled`` is the one of the levels that stands for every other: no level is unseen then. Empty
    where each level stands for itself.
    """

    name: str
    kind: Kind = Kind.NUMERIC
    levels: tuple[str, ...] = ()
    placeholder: float = 0.0
    notation: Notation = PLAIN
    display: str = ""
    pooled: str = ""

    # Formats that write text for a kind give text back.
    def __getstate__(self) -> list[Any]:
        return [getattr(self, part.name) for part in fields(self)]

    def __setstate__(self, state: list[Any]) -> None:
        for part, value in zip(fields(self), state, strict=True):
            restored = Kind(value) if part.name == "kind" else value
            object.__setattr__(self, part.name, restored)


@dataclass(frozen=True)
class Schema:
    """Feature columns in order, target columns, the weight column, and the missing-value policy.

    ``missing`` is ``"drop"``, ``"mean"``, ``"regress"`` or ``"indicator"``; ``unseen`` (for a
    level absent from training) is ``"missing"``, ``"zeros"`` or ``"error"``. Rows with one value of
    the column ``group`` are never parted; those that come last by the column ``time`` are the test
    part. ``beside`` holds the notations of weight and time; ``header`` is false for files whose
    columns have no names; ``na`` are the missing values that the caller gave (None: recognized).
    """

    columns: tuple[Column, ...]
    targets: tuple[Column, ...] = ()
    weight: str | None = None
    missing: str = "mean"
    unseen: str = "missing"
    group: str | None = None
    time: str | None = None
    beside: tuple[tuple[str, Notation], ...] = ()
    header: bool = True
    na: tuple[str, ...] | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the feature columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def by_name(self) -> dict[str, Column]:
        """Feature and target columns by name."""
        return {column.name: column for column in self.columns + self.targets}

    def notation(self, name: str) -> Notation:
        """How a column is written, also the weight and the time."""
        column = self.by_name.get(name)
        return dict(self.beside).get(name, PLAIN) if column is None else column.notation

    def ordered(self, terms: Iterable[Term]) -> Terms:
        """Sort terms by column: the value or the sorted levels, then the missing indicator."""
        rank = {name: i for i, name in enumerate(self.by_name)}
        return Terms(tuple(sorted(terms, key=lambda t: (rank[t.column], t.missing, t.level or ""))))


@dataclass(frozen=True)
class Terms:
    """An ordered set of terms; ``position`` maps each term to its index."""

    items: tuple[Term, ...]

    @cached_property
    def position(self) -> dict[Term, int]:
        """The index of every term: made when it is first asked for, as wide tables never do."""
        return {term: i for i, term in enumerate(self.items)}

    # Positions follow from the items; as a dict of terms they could not be written as JSON.
    def __getstate__(self) -> dict[str, tuple[Term, ...]]:
        return {"items": self.items}

    def __setstate__(self, state: dict[str, tuple[Term, ...]]) -> None:
        object.__setattr__(self, "items", tuple(state["items"]))

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Term]:
        return iter(self.items)

    def union(self, other: Terms) -> Terms:
        """These terms, followed by those that only ``other`` has."""
        if self is other or self.items == other.items:
            return self
        return Terms(self.items + tuple(t for t in other.items if t not in self.position))


NO_TERMS = Terms(())


@lru_cache(maxsize=8)
def matrix_columns(d: int) -> tuple[tuple[Column, ...], Terms]:
    """Columns x0, x1, … of a matrix without names, and their terms.

    They are the same for every matrix of ``d`` columns, so that fits share them.
    """
    names = column_names(d)
    return tuple(map(_column, names)), Terms(tuple(map(_term, names)))


def value_terms(columns: tuple[Column, ...]) -> Terms:
    """One term a column: its value."""
    if columns and columns[0].name == "x0":
        shared, terms = matrix_columns(len(columns))
        if shared is columns:
            return terms
    return Terms(tuple(_term(column.name) for column in columns))


def column_names(d: int) -> tuple[str, ...]:
    """Names for the columns of a matrix without any: x0, x1, …"""
    return tuple(f"x{j}" for j in range(d))


# The slots are set directly: five times as fast as __init__, which counts for 10⁵ columns.
_set_name, *_set_others = (getattr(Column, part.name).__set__ for part in fields(Column))
_SLOTS = tuple(zip(_set_others, (part.default for part in fields(Column)[1:]), strict=True))
_set_column, _set_level, _set_missing = (getattr(Term, part.name).__set__ for part in fields(Term))


def _column(name: str) -> Column:
    """``Column(name)``."""
    column = object.__new__(Column)
    _set_name(column, name)
    for put, default in _SLOTS:
        put(column, default)
    return column


def _term(name: str) -> Term:
    """``Term(name)``."""
    term = object.__new__(Term)
    _set_column(term, name)
    _set_level(term, None)
    _set_missing(term, False)
    return term
