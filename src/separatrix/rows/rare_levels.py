"""Rare levels of categorical columns as one level, where a table has more levels than it can carry.

    kept levels of a column = {l : Σ w of the rows of l ≥ c},   c the least with Σ columns ≤ most

Every level that stays has a column of the design, and a coefficient; those in fewer rows share one,
as does any level that comes later. The threshold is the same for all columns, and counts weights,
so that neither the order of rows nor repeated rows matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from separatrix.rows.rows import InMemory, Rows
from separatrix.rows.schema import Block, Column, Schema, Term, TermMap
from separatrix.rows.sources.stream import TableRows

#: What the level of all rare ones is called, unless a level is called so already.
OTHERS = "other levels"


def pool_rare_levels(
    rows: InMemory, most: int, reason: str, remedy: str = "a larger `effort`"
) -> InMemory:
    """The rows with so many levels pooled that the design has at most ``most`` columns.

    ``reason`` says in a sentence where the limit is from, ``remedy`` what raises it. Columns
    without a frequent level are left out, as all of their rows would agree.
    """
    schema = rows.schema
    pooled = _pools(schema, count_levels(rows.block), len(rows.block.terms), most)
    if not pooled:
        return rows
    read = rows.with_hashes()
    read.schema, read.block = _with_pools(schema, rows.block, {p.column.name: p for p in pooled})
    read.notes = (*rows.notes, *(pool.sentence(reason, remedy) for pool in pooled))
    gone = [pool.sentence(reason, remedy) for pool in pooled if pool.is_constant]
    read.left_out = (*rows.left_out, *gone)
    return read


def pool_rare_levels_of_stream(
    rows: TableRows, columns: Callable[[int], int], reason: str, remedy: str = "a larger `effort`"
) -> Rows:
    """The same, as the rows are read: a pass counts the levels, if the first rows have many.

    ``columns`` says how many the design may have by the number of rows.
    """
    first = next(iter(rows.here().blocks()), None)
    if first is None or not any(len(c) > FEW_LEVELS for c in count_levels(first).values()):
        return rows
    weights = rows.reduce(LevelWeights())
    most = columns(weights.n)
    pooled = _pools(rows.schema, weights.counts, len(weights.terms), most)
    if not pooled:
        return rows
    reason = reason.format(columns=most, rows=weights.n)
    schema = _pooled_schema(rows.schema, {p.column.name: p for p in pooled})
    return rows.under(schema, (*rows.notes, *(pool.sentence(reason, remedy) for pool in pooled)))


class LevelWeights:
    """The weight of the rows of every level, the terms and the rows; merges with ``+``."""

    def __init__(
        self,
        counts: dict[str, dict[str, float]] | None = None,
        terms: frozenset[Term] = frozenset(),
        n: int = 0,
    ) -> None:
        self.counts = {} if counts is None else counts
        self.terms, self.n = terms, n

    def fresh(self) -> Self:
        """No rows yet."""
        return type(self)()

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        total = self + type(self)(count_levels(block), frozenset(block.terms), block.n)
        self.counts, self.terms, self.n = total.counts, total.terms, total.n

    def __add__(self, other: Self) -> Self:
        counts = {column: dict(levels) for column, levels in self.counts.items()}
        for column, levels in other.counts.items():
            own = counts.setdefault(column, {})
            for level, weight in levels.items():
                own[level] = own.get(level, 0.0) + weight
        return type(self)(counts, self.terms | other.terms, self.n + other.n)


#: Columns of so few levels keep them all: they are factors as surveys and experiments have them.
FEW_LEVELS = 20


def _pools(
    schema: Schema, counts: dict[str, dict[str, float]], n_terms: int, most: int
) -> list[_PooledLevels]:
    """The columns of which levels are pooled, such that ``most`` terms are left."""
    many = [c for c in schema.columns if len(counts.get(c.name, ())) > FEW_LEVELS]
    sizes = np.array([w for c in many for w in counts[c.name].values()])
    threshold = _threshold(sizes, max(most - (n_terms - len(sizes)), FEW_LEVELS))
    return [p for c in many if (p := _pool_levels(c, counts[c.name], threshold)).pooled]


def count_levels(block: Block) -> dict[str, dict[str, float]]:
    """The weight of the rows of every level that occurs, by column."""
    counts: dict[str, dict[str, float]] = {}
    for term, weight in zip(block.terms, block.rmatvec(block.weights).tolist(), strict=True):
        if term.level is not None and weight > 0.0:
            counts.setdefault(term.column, {})[term.level] = weight
    return counts


@dataclass(frozen=True)
class _PooledLevels:
    """A column with its frequent levels, and the weights of those that are pooled."""

    column: Column
    frequent: dict[str, float]
    pooled: dict[str, float]
    threshold: float

    @property
    def is_constant(self) -> bool:
        return not self.frequent

    @property
    def new(self) -> Column:
        """The column with the frequent levels and that of all others."""
        name = OTHERS
        while name in self.frequent or name in self.pooled:
            name = f"({name})"
        return replace(self.column, levels=tuple(sorted((*self.frequent, name))), pooled=name)

    def sentence(self, reason: str, remedy: str) -> str:
        name, total = self.column.name, len(self.frequent) + len(self.pooled)
        ignore = f"kinds={{{name!r}: 'ignore'}}"
        if self.is_constant:
            return (
                f"Column {name!r} is left out: none of its {total:,} levels is in "
                f"{self.threshold:,.6g} rows, and {reason} (override: {remedy}, or group its "
                "levels)."
            )
        w = sum(self.pooled.values())
        share = w / (w + sum(self.frequent.values()))
        return (
            f"Column {name!r} has {total:,} levels: the {len(self.frequent):,} in at least "
            f"{self.threshold:,.6g} rows are kept, the others ({share:.0%} of the rows) and any "
            f"that come later are one level {self.new.pooled!r}, as {reason} (override: {remedy} "
            f"keeps more; `{ignore}` leaves it out)."
        )


def _threshold(sizes: np.ndarray, most: int) -> float:
    """The least weight of a level such that at most so many levels have it."""
    if len(sizes) <= most:
        return 0.0
    ordered = np.sort(sizes)[::-1]
    above = ordered[ordered > ordered[most]]  # levels of equal weight are kept or pooled together
    return float(above[-1]) if len(above) else math.nextafter(float(ordered[0]), math.inf)


def _pool_levels(column: Column, counts: dict[str, float], threshold: float) -> _PooledLevels:
    frequent = {level: w for level, w in counts.items() if w >= threshold}
    pooled = {level: w for level, w in counts.items() if w < threshold}
    if len(pooled) == 1:  # one rare level alone is not a group
        frequent, pooled = counts, {}
    return _PooledLevels(column, frequent, pooled, threshold)


def _with_pools(
    schema: Schema, block: Block, pools: dict[str, _PooledLevels]
) -> tuple[Schema, Block]:
    """Schema and block with the pooled levels added up."""
    schema = _pooled_schema(schema, pools)
    becomes = [_pooled_term(term, schema) for term in block.terms]
    terms = schema.ordered({term for term in becomes if term is not None})
    entries = tuple(
        (i, terms.position[term], 1.0) for i, term in enumerate(becomes) if term is not None
    )
    x = TermMap(block.terms, terms, entries).rows(block.x)
    return schema, replace(block, x=x, terms=terms)


def _pooled_schema(schema: Schema, pools: dict[str, _PooledLevels]) -> Schema:
    """Columns with their frequent levels, without those that have none."""
    columns = tuple(
        pools[c.name].new if c.name in pools else c
        for c in schema.columns
        if c.name not in pools or not pools[c.name].is_constant
    )
    return replace(schema, columns=columns)


def _pooled_term(term: Term, schema: Schema) -> Term | None:
    """The term that a raw one becomes; None where its column is left out."""
    column = schema.by_name.get(term.column)
    if column is None:
        return None
    if column.pooled and term.level is not None and term.level not in column.levels:
        return Term(column.name, column.pooled)
    return term
