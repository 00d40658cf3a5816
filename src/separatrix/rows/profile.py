"""A column at a glance: kind, gaps, range, levels. Merges with ``+`` like every statistic."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from scipy import sparse

from separatrix.rows.block import Block, Floats, Matrix
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Kind, Schema, Terms

#: Levels that a profile lists, the most frequent first.
SHOWN_LEVELS = 50

#: Distinct numbers are counted up to this many.
COUNTED_VALUES = 100


@dataclass(frozen=True)
class ColumnProfile:
    """``count`` rows were seen, ``missing`` of them had no value.

    ``distinct`` is the number of different values or levels (None: more than were counted);
    ``whole`` says that every number is a whole one. Rows count once, whatever their weight.
    """

    name: str
    kind: Kind
    count: int
    missing: int
    low: float = float("nan")
    high: float = float("nan")
    mean: float = float("nan")
    deviation: float = float("nan")
    levels: dict[str, int] = field(default_factory=dict)
    distinct: int | None = None
    whole: bool = False


@dataclass(frozen=True)
class _Numbers:
    """Range, mean, sum of squares about it, and the different values while they are few."""

    seen: int = 0
    low: float = math.inf
    high: float = -math.inf
    mean: float = 0.0
    square: float = 0.0
    values: frozenset[float] | None = frozenset()
    whole: bool = True

    def __add__(self, other: _Numbers) -> _Numbers:
        if not self.seen or not other.seen:
            return self if self.seen else other
        seen, step = self.seen + other.seen, other.mean - self.mean
        few = self.values is not None and other.values is not None
        values = self.values | other.values if few else None  # type: ignore[operator]
        return _Numbers(
            seen,
            min(self.low, other.low),
            max(self.high, other.high),
            self.mean + step * other.seen / seen,
            self.square + other.square + step * step * self.seen * other.seen / seen,
            values if values is None or len(values) <= COUNTED_VALUES else None,
            self.whole and other.whole,
        )


def _numbers(v: Floats, counting: bool) -> _Numbers:
    if not len(v):
        return _Numbers()
    mean = float(v.mean())
    with np.errstate(over="ignore"):  # numbers that large are refused by name when they are used
        square = float(((v - mean) ** 2).sum())
    values = np.unique(v) if counting else None
    few = values is not None and len(values) <= COUNTED_VALUES
    return _Numbers(
        len(v),
        float(v.min()),
        float(v.max()),
        mean,
        square,
        frozenset(values.tolist()) if few and values is not None else None,
        bool((v == np.floor(v)).all()),
    )


class Profile:
    """What a report says of every column, from one pass over raw blocks."""

    def __init__(self) -> None:
        self.count = 0
        self.missing: Counter[str] = Counter()
        self.numbers: dict[str, _Numbers] = {}
        self.levels: dict[str, Counter[str]] = {}

    def fresh(self) -> Self:
        """An empty one."""
        return type(self)()

    def update(self, block: Block) -> None:
        """Take in the rows of a block."""
        self.count += block.n
        for matrix, terms in ((block.x, block.terms), (block.y, block.targets)):
            self._take(sparse.csc_array(matrix) if sparse.issparse(matrix) else matrix, terms)

    def _take(self, matrix: Matrix, terms: Terms) -> None:
        gaps = {t.column: _column(matrix, j) != 0 for j, t in enumerate(terms) if t.missing}
        self.missing.update({name: int(gap.sum()) for name, gap in gaps.items()})
        for j, term in enumerate(terms):
            if term.missing:
                continue
            values = _column(matrix, j)
            if term.level is not None:
                met = int(np.count_nonzero(values))
                self.levels.setdefault(term.column, Counter())[term.level] += met
                continue
            if term.column in gaps:
                values = values[~gaps[term.column]]
            before = self.numbers.get(term.column, _Numbers())
            self.numbers[term.column] = before + _numbers(values, before.values is not None)

    def __add__(self, other: Self) -> Self:
        total = type(self)()
        total.count = self.count + other.count
        total.missing = self.missing + other.missing
        names = {**self.numbers, **other.numbers}
        empty = _Numbers()
        total.numbers = {n: self.numbers.get(n, empty) + other.numbers.get(n, empty) for n in names}
        total.levels = {
            n: self.levels.get(n, Counter()) + other.levels.get(n, Counter())
            for n in {**self.levels, **other.levels}
        }
        return total

    def columns(self, schema: Schema) -> Iterator[ColumnProfile]:
        """Features in order, then targets."""
        for column in (*schema.columns, *schema.targets):
            name = column.name
            plain = ColumnProfile(name, column.kind, self.count, self.missing[name])
            if column.kind is Kind.DISCRETE:
                met = Counter({k: n for k, n in self.levels.get(name, Counter()).items() if n})
                ranked = sorted(met.items(), key=lambda item: (-item[1], item[0]))
                yield replace(plain, levels=dict(ranked[:SHOWN_LEVELS]), distinct=len(met))
                continue
            n = self.numbers.get(name, _Numbers())
            if not n.seen:
                yield replace(plain, distinct=0)
                continue
            yield replace(
                plain,
                low=n.low,
                high=n.high,
                mean=n.mean,
                deviation=math.sqrt(n.square / n.seen),
                distinct=None if n.values is None else len(n.values),
                whole=n.whole,
            )


def profile(rows: Rows) -> tuple[ColumnProfile, ...]:
    """One pass over the rows: every feature and target column at a glance."""
    return tuple(rows.reduce(Profile()).columns(rows.schema))


def _column(matrix: Matrix, j: int) -> Floats:
    if sparse.issparse(matrix):
        return np.ravel(matrix[:, [j]].toarray())
    return np.asarray(matrix[:, j])
