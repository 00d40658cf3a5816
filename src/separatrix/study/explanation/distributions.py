"""Histograms of columns by class or with the mean of the target, and correlations of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.estimators.targets import codes_of
from separatrix.rows.block import Floats, Ints, to_array
from separatrix.rows.profile import ColumnProfile
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Kind, Term
from separatrix.statistics.correlation import pairwise_correlations
from separatrix.statistics.grids import histogram_edges
from separatrix.study.explanation.answers import columns_at, display_of
from separatrix.study.explanation.records import ColumnCorrelations, ColumnDistribution
from separatrix.study.folds import truth_of

#: Columns that get a histogram, and levels that get a bar.
MOST_COLUMNS, MOST_LEVELS = 4, 12
#: Numeric columns that are correlated with one another, and those of them that are drawn.
MOST_CORRELATED, MOST_DRAWN = 300, 14


def distributions(
    rows: InMemory, columns: Sequence[str], classes: tuple[str, ...]
) -> tuple[ColumnDistribution, ...]:
    """One for each of the first columns, after that of the target."""
    y, target = truth_of(rows), rows.schema.targets[0].name
    if classes:
        found = [
            _levels(target, codes_of(y, np.array(classes, object)), [*classes], rows, (), None)
        ]
    else:
        found = [_numbers(target, np.asarray(y, dtype=float), rows, (), None)]
    known = columns_at(rows)
    found += [
        _distribution(rows, name, known[name], y, classes)
        for name in columns[:MOST_COLUMNS]
        if name in known
    ]
    return tuple(d for d in found if d.counts.size)


def _distribution(
    rows: InMemory, name: str, at: Ints, y: NDArray[Any], classes: tuple[str, ...]
) -> ColumnDistribution:
    terms = [rows.block.terms.items[j] for j in at]
    raw = to_array(rows.block.x[:, at])
    gaps = [i for i, t in enumerate(terms) if t.missing]
    present = np.ones(len(raw), dtype=bool) if not gaps else raw[:, gaps[0]] == 0
    column = rows.schema.by_name[name]
    if column.kind is Kind.NUMERIC:
        values = raw[:, terms.index(Term(name))]
        values = np.where(present, values, np.nan)
        return _numbers(name, values, rows, classes, y)
    if Term(name) in terms:  # yes or no
        codes, levels = raw[:, terms.index(Term(name))].astype(np.int64), ["false", "true"]
    else:
        shown = [i for i, t in enumerate(terms) if not t.missing]
        codes, levels = raw[:, shown].argmax(axis=1), [str(terms[i].level) for i in shown]
        present &= raw[:, shown].max(axis=1) > 0
    return _levels(name, np.where(present, codes, -1), levels, rows, classes, y)


def _numbers(
    name: str, values: Floats, rows: InMemory, classes: tuple[str, ...], y: NDArray[Any] | None
) -> ColumnDistribution:
    known = np.isfinite(values)
    if not known.any():
        return ColumnDistribution(name, np.zeros(0), (), np.zeros((0, 1)))
    edges = histogram_edges(values[known])
    bins = np.clip(np.searchsorted(edges, values, side="right") - 1, -1, len(edges) - 1)
    bins = np.where(values == edges[-1], len(edges) - 2, bins)
    inside = known & (bins >= 0) & (bins < len(edges) - 1)
    counts, mean, deviation = _by_bin(np.where(inside, bins, -1), len(edges) - 1, rows, classes, y)
    return ColumnDistribution(
        name,
        edges,
        (),
        counts,
        classes,
        mean,
        deviation,
        int((~known).sum()),
        int((known & ~inside).sum()),
        display_of(rows, name),
    )


def _levels(
    name: str,
    codes: Ints,
    levels: list[str],
    rows: InMemory,
    classes: tuple[str, ...],
    y: NDArray[Any] | None,
) -> ColumnDistribution:
    total = np.bincount(codes[codes >= 0], minlength=len(levels))
    ranked = sorted(range(len(levels)), key=lambda i: (-total[i], levels[i]))
    ranked = [i for i in ranked if total[i]][:MOST_LEVELS]
    place = np.full(len(levels) + 1, -1)
    place[ranked] = np.arange(len(ranked))
    counts, mean, deviation = _by_bin(place[codes], len(ranked), rows, classes, y)
    outside = int(total.sum() - total[ranked].sum())
    return ColumnDistribution(
        name,
        np.zeros(0),
        tuple(levels[i] for i in ranked),
        counts,
        classes,
        mean,
        deviation,
        int((codes < 0).sum()),
        outside,
    )


def _by_bin(
    bins: Ints, count: int, rows: InMemory, classes: tuple[str, ...], y: NDArray[Any] | None
) -> tuple[Floats, Floats | None, Floats | None]:
    """Weight by bin and class; or by bin, with mean and deviation of a numeric target."""
    inside = bins >= 0
    at, w = bins[inside], rows.block.weights[inside]
    if classes and y is not None:
        codes = codes_of(y, np.array(classes, dtype=object))[inside]
        counts = np.zeros((count, len(classes)))
        np.add.at(counts, (at[codes >= 0], codes[codes >= 0]), w[codes >= 0])
        return counts, None, None
    total: Floats = np.bincount(at, w, count).astype(float)
    if y is None:
        return total[:, None], None, None
    target = np.asarray(y, dtype=float)[inside]
    center = float(np.average(target, weights=w)) if w.sum() > 0 else 0.0
    target = target - center
    some = np.where(total > 0, total, np.nan)
    mean = np.bincount(at, w * target, count) / some
    square = np.bincount(at, w * target**2, count) / some
    return total[:, None], mean + center, np.sqrt(np.maximum(square - mean**2, 0.0))


def correlations(
    rows: InMemory, leading: Sequence[str], columns: tuple[ColumnProfile, ...], target: str
) -> ColumnCorrelations | None:
    """Pearson's r of the leading numeric columns and of a numeric target; None for fewer than two.

    Each pair uses the rows in which both are present. Of many columns the leading ones are given,
    then those of the largest correlations.
    """
    numeric = [c.name for c in columns if c.kind is Kind.NUMERIC and c.std > 0 and c.name != target]
    usable = frozenset(numeric)
    ranked = [n for n in leading if n in usable]
    names = list(dict.fromkeys(ranked + numeric))[:MOST_CORRELATED]
    if len(names) < 2:
        return None
    at = [rows.block.terms.position[Term(name)] for name in names]
    x = to_array(rows.block.x[:, at]).astype(float)
    present = np.ones_like(x)
    for j, name in enumerate(names):
        gap = rows.block.terms.position.get(Term(name, missing=True))
        if gap is not None:
            present[:, j] = np.ravel(to_array(rows.block.x[:, [gap]])) == 0
    if rows.schema.targets[0].kind is Kind.NUMERIC:
        names = [*names, target]
        x = np.column_stack([x, rows.block.y[:, 0]])
        present = np.column_stack([present, np.ones(len(x))])
    matrix = pairwise_correlations(x, present, rows.block.weights)
    shown = _leading(matrix, len(names))
    return ColumnCorrelations(
        tuple(names[j] for j in shown), matrix[np.ix_(shown, shown)], len(numeric), len(x)
    )


def _leading(matrix: Floats, count: int) -> list[int]:
    """Positions of the columns given: half of them the first, the others of the largest |r|."""
    if count <= MOST_DRAWN:
        return list(range(count))
    other = np.abs(matrix - np.eye(count))
    strongest = np.argsort(-np.nan_to_num(other).max(axis=1), kind="stable").tolist()
    first = [*range(MOST_DRAWN // 2), count - 1]
    rest = [j for j in strongest if j not in first][: MOST_DRAWN - len(first)]
    return sorted([*first, *rest])
