"""Permutation importance: how much worse the model predicts test rows without one column.

    importance of column c = mean over rows i and donors j ≠ i of
        loss(row i with column c of row j) − loss(row i)

Each row takes column c from several others, by shifts along one random order, so that no row takes
its own. Every row is in two roles, as a row and as a donor, and the interval counts both: with aᵢ
the mean difference of row i and bᵢ that of the rows which took their value from it, the mean ā has
variance var(a + b − ā)/n. Counting rows alone would cover the truth four times in five, not 95 %.
"""

from __future__ import annotations

import numpy as np

from separatrix.rows.block import Floats, Ints
from separatrix.rows.rows import InMemory
from separatrix.study.explanation.answers import (
    BATCH,
    RowLoss,
    columns_at,
    exchanged,
    loss_weights,
    row_work,
    stacked,
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
WORK, SCREEN_WORK = 6e9, 2e9

_Z = 1.959963984540054


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
    donors = _donors(len(rows), repeats, seed)
    found = np.array(
        [
            _importance(rise, donors, w)
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


def _donors(n: int, repeats: int, seed: int) -> Ints:
    """Row i takes its value from row ``donors[r, i]``: shifts along a random order."""
    order = np.random.default_rng(seed).permutation(n)
    donors = np.empty((repeats, n), dtype=np.int64)
    for r in range(repeats):
        donors[r, order] = np.roll(order, -(r + 1))
    return donors


def _rises(
    loss: RowLoss,
    rows: InMemory,
    y: np.ndarray,
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
        changed = stacked([exchanged(x, columns[c], donors[r]) for c, r in some])
        after = loss.values(with_features(rows, changed), np.tile(y, len(some)))
        for (c, r), values in zip(some, np.reshape(after, (len(some), n)), strict=True):
            found[c, r] = values - before
    return list(found)


def _importance(rise: Floats, donors: Ints, w: Floats) -> tuple[float, float]:
    """The mean rise of the loss, and half the width of its 95 % interval."""
    n, mean = rise.shape[1], float(np.average(rise.mean(axis=0), weights=w))
    influence = (w * (rise - mean)).mean(axis=0)
    for r, taken in enumerate(donors):
        influence[taken] += w * (rise[r] - mean) / len(donors)
    error = float(np.sqrt((influence**2).sum() * n / (n - 1))) / float(w.sum())
    return mean, _Z * error


def _screened(
    loss: RowLoss, rows: InMemory, columns: dict[str, Ints], count: int, each: float, seed: int
) -> dict[str, Ints]:
    """The ``count`` columns whose exchange changes the loss of a few training rows most."""
    most = int(np.clip(SCREEN_WORK / (each * len(columns)), 2, SCREEN_ROWS))
    rows = rows.take(thinned(np.arange(len(rows)), most))
    y = truth_of(rows)
    before = loss.values(with_features(rows, rows.block.x), y)
    donors = _donors(len(rows), 1, seed)
    change = [
        float(np.abs(rise).mean())
        for rise in _rises(loss, rows, y, before, [*columns.values()], donors)
    ]
    order = np.argsort(-np.array(change), kind="stable")[:count]
    names = [*columns]
    return {names[j]: columns[names[j]] for j in sorted(order.tolist())}
