"""What a model says of rows that it did not see."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.rows import InMemory
from separatrix.study.data import truth_of
from separatrix.study.result import Predictions

#: Rows of one part that a picture shows at most.
SHOWN_ROWS = 20_000


def judged(model: Any, rows: InMemory) -> Predictions:
    """Truth and prediction side by side."""
    return Predictions(rows.row_ids, truth_of(rows), model.predict(rows), None, rows.block.w)


def thinned(rows: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """The rows, or ``most`` of them at even distances."""
    if len(rows) <= most:
        return rows
    return np.asarray(rows[np.linspace(0, len(rows) - 1, most).astype(int)])
