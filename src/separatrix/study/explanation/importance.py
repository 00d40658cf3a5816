"""Permutation importance of columns on test rows: how much worse the model predicts without one.

All terms of a column (levels, the indicator of missing values) are permuted together. The work is
bounded: with many columns or dear predictions there are fewer donors, then fewer rows, and then
only those columns are measured whose permutation changes the loss of a few training rows most.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Floats, Ints
from separatrix.rows.rows import InMemory
from separatrix.statistics.permutation import donor_rows, mean_rise
from separatrix.study.explanation.answers import (
    BATCH,
    RowLoss,
    all_permuted,
    columns_at,
    loss_weights,
    row_work,
    with_features,
)
from separatrix.study.explanation.records import ColumnImportance
from separatrix.study.folds import thinned, truth_of

#: Test rows, donors of each, and the rows below which columns are left out instead.
MOST_ROWS, MOST_REPEATS, FEW_ROWS = 2_000, 10, 200
#: Columns measured in any case, however dear a prediction is.
LEAST_COLUMNS = 12
#: Rows that tell which columns change predictions at all, at most.
SCREEN_ROWS = 50
#: Work (multiplications) of the whole, and of choosing the columns.
WORK, SCREEN_WORK = 8e9, 2e9


def column_importance(
    loss: RowLoss, test: InMemory, training: InMemory, model: object, outputs: int, seed: int
) -> ColumnImportance | None:
    """Importance of every column (of many, of those that change predictions most).

    ``training`` rows choose the columns where there are too many to measure all. None where
    fewer than two test rows are left, or no column is.
    """
    columns = columns_at(test)
    total, each = len(columns), row_work(model, test, outputs)
    rows = test.take(thinned(np.arange(len(test)), MOST_ROWS))
    n = len(rows)
    if n < 2 or not columns:
        return None
    fewest = min(n, FEW_ROWS)
    affordable = max(LEAST_COLUMNS, int(WORK / (each * fewest)))
    if total > affordable:
        columns = _screened(loss, training, columns, affordable, each, seed)
    by_column = max(fewest, int(WORK / (each * len(columns))))
    if by_column < n:
        rows = rows.take(thinned(np.arange(n), by_column))
        n = len(rows)
    repeats = min(MOST_REPEATS, n - 1, max(1, by_column // n))
    return _measured(loss, rows, columns, repeats, seed, total)


def _measured(
    loss: RowLoss, rows: InMemory, columns: dict[str, Ints], repeats: int, seed: int, total: int
) -> ColumnImportance:
    y, w = truth_of(rows), loss_weights(loss.name, rows)
    before = np.asarray(loss.values(with_features(rows, rows.block.x), y), dtype=float)
    donors = donor_rows(len(rows), repeats, seed)
    found = np.array(
        [
            mean_rise(rise, donors, w)
            for rise in _rises(loss, rows, y, before, [*columns.values()], donors)
        ]
    )
    names = np.array([*columns], dtype=object)
    order = np.argsort(-found[:, 0], kind="stable")
    value, half = found[order].T
    return ColumnImportance(
        tuple(names[order].tolist()),
        value,
        value - half,
        value + half,
        loss.name,
        float(np.average(before, weights=w)),
        len(rows),
        repeats,
        total,
    )


def _rises(
    loss: RowLoss,
    rows: InMemory,
    y: NDArray[Any],
    before: Floats,
    columns: list[Ints],
    donors: Ints,
) -> list[Floats]:
    """The rise of the loss (donors x rows) for each column; many rows are predicted at a time."""
    x, n = rows.block.x, len(rows)
    jobs = [(c, r) for c in range(len(columns)) for r in range(len(donors))]
    at_a_time = max(1, BATCH // max(1, n * x.shape[1]))
    found = np.empty((len(columns), len(donors), n))
    for start in range(0, len(jobs), at_a_time):
        some = jobs[start : start + at_a_time]
        changed = all_permuted(x, [(columns[c], donors[r]) for c, r in some])
        after = loss.values(with_features(rows, changed), np.tile(y, len(some)))
        for (c, r), values in zip(some, np.reshape(after, (len(some), n)), strict=True):
            found[c, r] = values - before
    return list(found)


def _screened(
    loss: RowLoss, rows: InMemory, columns: dict[str, Ints], count: int, each: float, seed: int
) -> dict[str, Ints]:
    """The ``count`` columns whose permutation changes the loss of a few training rows most."""
    most = int(np.clip(SCREEN_WORK / (each * len(columns)), 2, SCREEN_ROWS))
    rows = rows.take(thinned(np.arange(len(rows)), most))
    y = truth_of(rows)
    before = loss.values(with_features(rows, rows.block.x), y)
    donors = donor_rows(len(rows), 1, seed)
    change = [
        float(np.abs(rise).mean())
        for rise in _rises(loss, rows, y, before, [*columns.values()], donors)
    ]
    order = np.argsort(-np.array(change), kind="stable")[:count]
    names = [*columns]
    return {names[j]: columns[names[j]] for j in sorted(order.tolist())}
