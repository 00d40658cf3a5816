"""A reference that is no candidate: gradient-boosted trees on the same folds.

It says how much is lost by staying with geometric models. The trees are scikit-learn's; they are
never chosen and never stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from separatrix.rows.block import Floats, Ints, to_array
from separatrix.selection.tuning import TuningData

NAME, LABEL = "boosting", "gradient-boosted trees"
ITERATIONS, LEARNING_RATE, LEAVES = 40, 0.2, 16
#: Folds that are predicted at most: enough for a comparison on the same rows.
MOST_FOLDS = 3
#: Share of the work of a candidate: for all folds, and for the first.
SHARE, FIRST_SHARE = 0.05, 0.2
#: Operations of one tree: for each column, and for each value of the table.
FOR_COLUMN, FOR_VALUE = 1.5e5, 12.0


@dataclass(frozen=True)
class ReferencePredictions:
    """Predictions out of fold (probabilities, or numbers) of some rows, by position."""

    rows: Ints
    predictions: Floats
    n_folds: int


def reference_predictions(data: TuningData) -> ReferencePredictions | None:
    """Trees fitted without a fold, for as many folds as the work allows; None if for none."""
    n, d = data.x.shape
    trees = ITERATIONS * (1 if data.n_classes <= 2 else data.n_classes)
    work = trees * d * (FOR_COLUMN + FOR_VALUE * n)
    if work > FIRST_SHARE * data.work:
        return None
    count = int(np.clip(SHARE * data.work / work, 1, min(MOST_FOLDS, len(data.folds))))
    rows, found = [], []
    import sklearn.ensemble  # noqa: F401  loads its OpenMP, which the limit must find

    with threadpool_limits(1):  # sums over threads would change last digits
        for train, test in data.folds.pairs[:count]:
            rows.append(test)
            found.append(_predicted(data, train, test))
    return ReferencePredictions(np.concatenate(rows), np.concatenate(found), count)


def _predicted(data: TuningData, train: Ints, test: Ints) -> Floats:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    options: dict[str, Any] = {
        "max_iter": ITERATIONS,
        "learning_rate": LEARNING_RATE,
        "max_leaf_nodes": LEAVES,
        "early_stopping": False,
        "random_state": 0,
    }
    w = None if (data.w == 1.0).all() else data.w[train]  # bins of weighted rows take long
    if not data.n_classes:
        loss = "absolute_error" if data.loss == "absolute" else "squared_error"
        model = HistGradientBoostingRegressor(loss=loss, **options)
        model.fit(to_array(data.x[train]), data.y[train], w)
        return np.asarray(model.predict(to_array(data.x[test])))
    p = np.zeros((len(test), data.n_classes))
    known = np.unique(data.y[train])
    if len(known) == 1:  # as the earliest rows in time may be: trees of one class predict two
        p[:, known] = 1.0
        return p
    trees = HistGradientBoostingClassifier(**options)
    trees.fit(to_array(data.x[train]), data.y[train], w)
    p[:, trees.classes_.astype(int)] = trees.predict_proba(to_array(data.x[test]))
    return p
