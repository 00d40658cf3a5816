"""Descriptive statistics of every column, in one pass: missing values, range, mean, levels."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats, Matrix
from separatrix.formatting import join_words, plural, value_text
from separatrix.notebook import MOST_LINES, Details, Grid, Heading, Item
from separatrix.rows.rows import InMemory, Rows, merge
from separatrix.rows.schema import Block, Column, Kind, Schema, Terms

#: Distinct numbers are counted up to this many.
COUNTED_VALUES = 100


@dataclass(frozen=True)
class ColumnProfile:
    """Descriptive statistics of one column: ``count`` rows, ``missing`` of them without a value.

    ``distinct`` is the number of distinct values or levels (None: more than were counted);
    ``integer`` says that every number is an integer, ``display`` what the numbers are (see
    :class:`~separatrix.rows.schema.Column`). Weights are not used.
    """

    name: str
    kind: Kind
    count: int
    missing: int
    minimum: float = float("nan")
    maximum: float = float("nan")
    mean: float = float("nan")
    std: float = float("nan")
    levels: dict[str, int] = field(default_factory=dict)
    distinct: int | None = None
    integer: bool = False
    display: str = ""


@dataclass(frozen=True)
class _Numbers:
    """Count, range, mean, sum of squares about it, and the distinct values while they are few."""

    count: int = 0
    minimum: float = math.inf
    maximum: float = -math.inf
    mean: float = 0.0
    scatter: float = 0.0
    values: frozenset[float] | None = frozenset()
    integer: bool = True

    def __add__(self, other: _Numbers) -> _Numbers:
        if not self.count or not other.count:
            return self if self.count else other
        count, step = self.count + other.count, other.mean - self.mean
        few = self.values is not None and other.values is not None
        values = self.values | other.values if few else None  # type: ignore[operator]
        return _Numbers(
            count,
            min(self.minimum, other.minimum),
            max(self.maximum, other.maximum),
            self.mean + step * other.count / count,
            self.scatter + other.scatter + step * step * self.count * other.count / count,
            values if values is None or len(values) <= COUNTED_VALUES else None,
            self.integer and other.integer,
        )


def _numbers(v: Floats, counting: bool) -> _Numbers:
    if not len(v):
        return _Numbers()
    mean = float(v.mean())
    with np.errstate(over="ignore"):  # such columns are refused when they are used
        scatter = float(((v - mean) ** 2).sum())
    values = np.unique(v) if counting else None
    few = values is not None and len(values) <= COUNTED_VALUES
    return _Numbers(
        len(v),
        float(v.min()),
        float(v.max()),
        mean,
        scatter,
        frozenset(values.tolist()) if few and values is not None else None,
        bool((v == np.floor(v)).all()),
    )


class Profile:
    """Mergeable descriptive statistics of all columns, from raw blocks."""

    def __init__(self) -> None:
        self.count = 0
        self.missing: Counter[str] = Counter()
        self.numbers: dict[str, _Numbers] = {}
        self.levels: dict[str, Counter[str]] = {}

    def fresh(self) -> Self:
        """An empty profile."""
        return type(self)()

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        self.count += block.n
        for matrix, terms in ((block.x, block.terms), (block.y, block.targets)):
            self._add(sparse.csc_array(matrix) if sparse.issparse(matrix) else matrix, terms)

    def _add(self, matrix: Matrix, terms: Terms) -> None:
        masks = {t.column: _column(matrix, j) != 0 for j, t in enumerate(terms) if t.missing}
        self.missing.update({name: int(mask.sum()) for name, mask in masks.items()})
        for j, term in enumerate(terms):
            if term.missing:
                continue
            values = _column(matrix, j)
            if term.level is not None:
                count = int(np.count_nonzero(values))
                self.levels.setdefault(term.column, Counter())[term.level] += count
                continue
            if term.column in masks:
                values = values[~masks[term.column]]
            before = self.numbers.get(term.column, _Numbers())
            self.numbers[term.column] = before + _numbers(values, before.values is not None)

    def __add__(self, other: Self) -> Self:
        total = type(self)()
        total.count = self.count + other.count
        total.missing = self.missing + other.missing
        total.numbers = merge(self.numbers, other.numbers)
        total.levels = merge(self.levels, other.levels)
        return total

    def columns(self, schema: Schema) -> Iterator[ColumnProfile]:
        """Yield the profile of every feature, then of every target."""
        for column in (*schema.columns, *schema.targets):
            name = column.name
            plain = ColumnProfile(
                name, column.kind, self.count, self.missing[name], display=column.display
            )
            if column.kind is Kind.DISCRETE:
                counts = Counter({k: n for k, n in self.levels.get(name, Counter()).items() if n})
                ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
                # Levels that a profile lists, the most frequent first.
                yield replace(plain, levels=dict(ranked[:50]), distinct=len(counts))
                continue
            n = self.numbers.get(name, _Numbers())
            if not n.count:
                yield replace(plain, distinct=0)
                continue
            yield replace(
                plain,
                minimum=n.minimum,
                maximum=n.maximum,
                mean=n.mean,
                # exactly 0 for a constant column, which is known here by its range
                std=0.0 if n.minimum == n.maximum else math.sqrt(n.scatter / n.count),
                distinct=None if n.values is None else len(n.values),
                integer=n.integer,
            )


def profile(rows: Rows) -> tuple[ColumnProfile, ...]:
    """Describe every feature and target column in one pass over the rows."""
    return tuple(rows.reduce(Profile()).columns(rows.schema))


def _column(matrix: Matrix, j: int) -> Floats:
    if sparse.issparse(matrix):
        return np.ravel(matrix[:, [j]].toarray())
    return np.asarray(matrix[:, j])


# -------------------------------------------------------------------------------------------------
# What rows show of themselves.


def preview(rows: Rows) -> list[Item]:
    """The columns with their kinds and, of rows in memory, missing values, ranges and levels."""
    schema = rows.schema
    columns = f"{plural(len(schema.columns), 'column')}"
    targets = f", target {join_words([c.name for c in schema.targets])}" * bool(schema.targets)
    if not isinstance(rows, InMemory):
        lines = [(c.name, c.display or str(c.kind), _levels(c.levels)) for c in _all(schema)]
        grid = Grid(("column", "kind", "levels"), lines, frozenset({0, 1, 2}))
        return [Heading(f"A table of {columns}{targets}, read block by block"), grid, *_notes(rows)]
    most = 10_000  # rows that are described: a preview is to take no time
    some = len(rows) > most
    seen = rows.take(slice(0, most)) if some else rows
    # Wide tables show their first and last columns, and are not described for that.
    described = {c.name: c for c in profile(seen)} if len(_all(schema)) <= MOST_LINES else {}
    described_lines = []
    for column in _all(schema):
        c = described.get(column.name)
        missing = "" if c is None else f"{c.missing:,}" if c.missing else "–"
        described_lines.append(
            (column.name, column.display or str(column.kind), missing, _values(c))
        )
    return [
        Heading(f"{plural(len(rows), 'row')} of {columns}{targets}"),
        Grid(
            ("column", "kind", "missing", "values"),
            described_lines,
            frozenset({0, 1, 3}),
            caption=f"Of the first {most:,} rows." if some else "",
        ),
        *_notes(rows),
    ]


def _all(schema: Schema) -> list[Column]:
    return [*schema.columns, *schema.targets]


def _notes(rows: Rows) -> list[Item]:
    return [Details("What was inferred", [str(note) for note in rows.notes])] if rows.notes else []


def _levels(levels: Sequence[str]) -> str:
    named = levels[:4]
    more = len(levels) - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more > 0 else "")


def _values(column: ColumnProfile | None) -> str:
    """Levels, or a range."""
    if column is None or not column.count:
        return ""
    if column.levels:
        return _levels(list(column.levels))
    low, high = (value_text(v, column.display) for v in (column.minimum, column.maximum))
    return f"{low} to {high}" if math.isfinite(column.minimum) else ""
