"""Levels of a matrix counted by class, without an indicator for each of them.

A matrix of codes 0, 1, 2, … is read once; every value adds the weight of its row to one number of
a table (levels x K), which is small.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from separatrix.discriminant.naive_bayes.column_moments import ClassColumnMoments
from separatrix.rows.block import Block, Floats, Ints, unit_weights
from separatrix.rows.categorical import OneHotColumns
from separatrix.rows.mapped import MappedStatistic
from separatrix.rows.rows import ArrayRows
from separatrix.rows.schema import Kind, Schema, Term, Terms
from separatrix.threads import parallel_map, pieces

#: Codes above this are not looked up in a table.
MAX_CODE = 10_000
#: Rows that are worth a piece of their own.
MIN_ROWS = 4096


def matrix_moments(rows: ArrayRows, schema: Schema, targets: Terms) -> ClassColumnMoments:
    """Moments by class of a matrix: of its numbers, and of the indicators of its levels."""
    empty, one_hot = ClassColumnMoments(targets=targets), OneHotColumns(schema)
    if one_hot.is_identity:
        return rows.reduce(empty)
    counted = count_levels(rows.block, schema, targets)
    if counted is None:
        return rows.reduce(MappedStatistic(empty, one_hot)).inner
    others, rest = _without_levels(rows, schema)
    if not others.columns:
        return counted
    return counted.beside(rest.reduce(MappedStatistic(empty, OneHotColumns(others))).inner)


def count_levels(block: Block, schema: Schema, targets: Terms) -> ClassColumnMoments | None:
    """The moments of the indicators of all levels of the discrete columns, by class.

    None if values are no codes, or too many for a table: they are then compared one by one.
    """
    at = np.array([j for j, c in enumerate(schema.columns) if c.kind is Kind.DISCRETE])
    known = any(schema.columns[j].levels for j in at)
    if not isinstance(block.x, np.ndarray) or known or not len(at) or block.parts is None:
        return None
    maxima = _largest_codes(block.x, at)
    if maxima is None or maxima.sum() * len(targets) > max(block.x.size, 100_000):
        return None
    starts = np.concatenate([[0], np.cumsum(maxima + 2)])  # the last of a column: missing
    counts = _table(block, at, starts, len(targets))
    moments = _moments(counts, schema, at, starts, targets)
    moments.weight = np.bincount(block.parts, block.w, len(targets)).astype(np.float64)
    names = [schema.columns[j].name for j in at]
    missing = {name: counts[stop - 1] for name, stop in zip(names, starts[1:], strict=True)}
    moments.set_counts(moments.mean, np.stack([missing[t.column] for t in moments.terms], axis=1))
    return moments


def _without_levels(rows: ArrayRows, schema: Schema) -> tuple[Schema, ArrayRows]:
    """The other columns, numeric and boolean, and the rows over them."""
    at = [j for j, c in enumerate(schema.columns) if c.kind is not Kind.DISCRETE]
    others = replace(schema, columns=tuple(schema.columns[j] for j in at))
    block = rows.block
    rest = ArrayRows(block.x[:, at], None, block.w, names=others.names, parts=block.parts)
    return others, rest


def _largest_codes(x: Floats, at: Ints) -> Ints | None:
    """The largest code of every column; None where a value is no code."""
    from separatrix.statistics.loops.level_counts import largest_codes

    def one(rows: slice) -> Ints:
        found = np.zeros(len(at), dtype=np.int64)
        largest_codes(x[rows], at, float(MAX_CODE), found)
        return found

    found = np.stack(parallel_map(one, pieces(len(x), MIN_ROWS)))
    return None if found.min(initial=0) < 0 else found.max(axis=0, initial=0)


def _table(block: Block, at: Ints, starts: Ints, k: int) -> Floats:
    """The weight of every level, and of missing values, by class (levels x K)."""
    from separatrix.statistics.loops.level_counts import add_levels

    x, codes, w = block.x, block.parts, unit_weights(block.w, block.n)
    assert isinstance(x, np.ndarray)
    assert codes is not None

    def one(rows: slice) -> Floats:
        counts = np.zeros((int(starts[-1]), k))
        add_levels(x[rows], codes[rows], w[rows], at, starts, counts)
        return counts

    found = parallel_map(one, pieces(block.n, max(MIN_ROWS, 8 * int(starts[-1]))))
    total = found[0]
    for counts in found[1:]:
        total += counts
    return total


def _moments(
    counts: Floats, schema: Schema, at: Ints, starts: Ints, targets: Terms
) -> ClassColumnMoments:
    """Terms of the levels that occur, with their counts in place of their means."""
    terms: list[Term] = []
    rows: list[int] = []
    occurs = (counts > 0.0).sum(axis=1)
    for c, j in enumerate(at):
        found = np.flatnonzero(occurs[starts[c] : starts[c + 1] - 1])
        order = sorted((str(code), int(starts[c]) + code) for code in found.tolist())
        terms += [Term(schema.columns[j].name, text) for text, _ in order]
        rows += [row for _, row in order]
    moments = ClassColumnMoments(Terms(tuple(terms)), targets)
    moments.mean = np.ascontiguousarray(counts[rows].T)
    return moments
