"""What a table consists of: columns, and the terms (numbers per row) that each column yields.

A numeric column yields its value; a discrete one yields a 0/1 indicator per level; a column with
gaps yields one more indicator that is 1 where the value is missing. Terms are what matrices count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """The three kinds of column."""

    NUMERIC = "numeric"
    BOOLEAN = "boolean"
    DISCRETE = "discrete"


@dataclass(frozen=True, slots=True, order=True)
class Term:
    """One number per row: a value, a level's indicator, or the indicator of a gap."""

    column: str
    level: str | None = None
    missing: bool = False

    def __str__(self) -> str:
        if self.missing:
            return f"{self.column} missing"
        return self.column if self.level is None else f"{self.column}={self.level}"


@dataclass(frozen=True, slots=True)
class Column:
    """A named column. ``levels`` of a discrete column are empty until known: found while reading.

    Once they are known, a level outside them is unseen.

    ``origin`` stands in for missing numbers until their replacement is known: near the middle of
    the column, so that the later correction (a linear map) loses no digits.
    """

    name: str
    kind: Kind = Kind.NUMERIC
    levels: tuple[str, ...] = ()
    origin: float = 0.0


@dataclass(frozen=True, slots=True)
class Schema:
    """Feature columns in order, target columns, the weight column, and what to do about gaps.

    ``missing`` is ``"drop"``, ``"mean"``, ``"regress"`` or ``"indicator"``; ``unseen`` (a level not
    met in training) is ``"error"`` or ``"zeros"``.
    """

    columns: tuple[Column, ...]
    targets: tuple[Column, ...] = ()
    weight: str | None = None
    missing: str = "mean"
    unseen: str = "error"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the feature columns."""
        return tuple(column.name for column in self.columns)

    @property
    def named(self) -> dict[str, Column]:
        """Every column that is read, feature or target, by name."""
        return {column.name: column for column in self.columns + self.targets}

    def ordered(self, terms: Iterable[Term]) -> Terms:
        """Terms in the order of the schema: by column, the value or sorted levels, then the gap."""
        place = {name: i for i, name in enumerate(self.named)}
        return Terms(
            tuple(sorted(terms, key=lambda t: (place[t.column], t.missing, t.level or "")))
        )


@dataclass(frozen=True)
class Terms:
    """An ordered set of terms that knows where each one stands."""

    items: tuple[Term, ...]
    position: dict[Term, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "position", {term: i for i, term in enumerate(self.items)})

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Term]:
        return iter(self.items)

    def union(self, other: Terms) -> Terms:
        """Own terms first, then those only the other has."""
        if self is other or self.items == other.items:
            return self
        return Terms(self.items + tuple(t for t in other.items if t not in self.position))
