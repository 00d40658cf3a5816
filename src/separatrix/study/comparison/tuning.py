"""The training rows of a study as candidates that tune are given them."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.estimators.targets import codes_of
from separatrix.rows.block import Floats, unit_weights
from separatrix.selection.tuning import TuningData
from separatrix.statistics.preparation import prepare
from separatrix.study.folds import RowFolds, truth_of

#: Larger designs stay sparse where they are: each candidate fills in the rows that it needs.
MAX_DENSE_BYTES = 100e6
#: What searches minimize, by what candidates are compared by.
LOSSES = {
    "error": "error",
    "balanced_error": "error",
    "rmse": "squared",
    "r2": "squared",
    "mae": "absolute",
}


def tuning_data(folds: RowFolds, classes: Any, metric: str, work: float) -> TuningData:
    """Encoded columns of the training rows, with their folds; ``classes`` are empty for numbers.

    Columns are imputed, and later standardized, by all training rows: that uses no target, and one
    matrix then serves all folds.
    """
    rows = folds.design.take(folds.training)
    block = prepare(rows).rows.collect()
    truth = truth_of(rows)
    w: Floats = unit_weights(block.w, len(truth))
    dense = 8.0 * block.n * len(block.terms) <= MAX_DENSE_BYTES
    x = block.dense() if dense and folds.design is folds.table else block.x
    y = codes_of(truth, classes) if len(classes) else np.asarray(truth, dtype=float)
    loss = LOSSES.get(metric, "log_loss")
    return TuningData(x, y, w, folds.pairs(), len(classes), loss, work)
