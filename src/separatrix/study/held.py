"""What a model says of rows that it did not see: the test part once, every fold in turn."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import Notice
from separatrix.rows.rows import InMemory
from separatrix.study.candidates import BASELINE, Candidate
from separatrix.study.data import RowBench, truth_of
from separatrix.study.result import Held

#: Rows of one part that a picture shows at most.
SHOWN_ROWS = 20_000


def judged(model: Any, rows: InMemory) -> Held:
    """Truth and prediction side by side, with the scores of a classifier."""
    scores = model.decision_function(rows) if hasattr(model, "decision_function") else None
    return Held(rows.row_ids, truth_of(rows), model.predict(rows), scores, rows.block.w)


def left_out(candidate: Candidate, bench: RowBench, classes: int) -> tuple[Held, ...]:
    """Each fold, judged by the candidate fitted to the others: of a classifier of two classes.

    That is the case in which folds are drawn, as curves; of a large table an even selection.
    """
    if classes != 2 or candidate.name == BASELINE:
        return ()
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)  # said once, about the model that is kept
        for fold in range(bench.k):
            inside, outside = bench.sides(fold)
            rows = bench.given.take(thinned(outside, SHOWN_ROWS // bench.k))
            found.append(judged(bench.fitted(candidate, inside), rows))
    return tuple(found)


def thinned(rows: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """The rows, or ``most`` of them at even distances."""
    if len(rows) <= most:
        return rows
    return np.asarray(rows[np.linspace(0, len(rows) - 1, most).astype(int)])
