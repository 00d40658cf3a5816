"""Predictions out of fold by fits to all training rows, after a search on some of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.rows.block import Floats, Ints
from separatrix.selection.tuning import TuningData
from separatrix.svm.tuning.result import SVMTuning
from separatrix.svm.tuning.sample import subsample

#: Scores of test rows by a fit to training rows with the parameters given.
FitAndScore = Callable[[Mapping[str, Any], Ints, Ints], Floats]


def predicted_at_full_size(
    data: TuningData, tuning: SVMTuning, scores: FitAndScore, cost: float, work: float
) -> SVMTuning:
    """The tuning with predictions of as many folds as the ``work`` allows, at least one.

    ``cost`` is that of one fit to all rows. Where even that is too dear, fits have fewer rows.
    """
    folds = data.folds.pairs
    count = int(np.clip(work / cost, 1, len(folds)))
    share = min(1.0, float(np.sqrt(work / cost)))
    codes = np.asarray(data.y, dtype=np.int64) if data.n_classes else np.zeros(data.n, np.int64)
    rows, parts = [], []
    for f, (train, test) in enumerate(folds[:count]):
        some = train[subsample(len(train), int(share * len(train)), codes[train])]
        rows.append(test)
        parts.append(scores(tuning.grid[tuning.by_fold[f]], some, test))
    order = np.argsort(np.concatenate(rows), kind="stable")
    fit_rows = 0 if share == 1.0 else int(share * data.n)
    return replace(
        tuning,
        rows=np.concatenate(rows)[order],
        predictions=np.concatenate(parts)[order],
        fit_rows=fit_rows,
        note=_note(data, tuning, count, fit_rows),
    )


def _note(data: TuningData, tuning: SVMTuning, count: int, fit_rows: int) -> str:
    notes = [f"parameters compared on {tuning.n_search_rows} of {data.n} rows"]
    if count < len(data.folds):
        notes.append(f"{count} of {len(data.folds)} folds predicted")
    if fit_rows:
        notes.append(f"fitted to {fit_rows} rows")
    return ", ".join(notes)
