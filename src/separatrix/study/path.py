"""What a penalty would have done to a winner that has none: the ridge path of its training part.

    b(α) = argmin Σ w (y − a − b·z)² + α ‖b‖²,     z the columns in units of their deviation

One decomposition of the moments gives every α. At its weak end it arrives at least squares.
"""

from __future__ import annotations

import warnings
from typing import Any

from separatrix.linear.ridge.ridge_path import RidgePath
from separatrix.messages import SeparatrixWarning
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Floats
from separatrix.statistics.moments import Moments
from separatrix.study.data import RowFolds

#: Penalties from "nothing moves" to "least squares"; enough for a smooth line.
POINTS = 60

#: Winners whose coefficients stand beside the path; those with a penalty keep a path of their own.
WITHOUT_PENALTY = ("linear", "huber", "least_absolute")


def ridge_path(winner: str, model: Any, bench: RowFolds | None) -> tuple[Floats, Floats] | None:
    """Penalties and the coefficients at each; None for a winner that has a path, or no columns.

    ``bench`` holds the rows, where they are at hand: the model may have kept no moments of them.
    """
    if winner not in WITHOUT_PENALTY:
        return None
    source: Any = getattr(model, "moments_", None)
    if bench is not None and (source is None or len(bench.training) <= len(model.encoding_.names)):
        source = _design(model, bench)
    with warnings.catch_warnings():
        # shown once, for the model that is kept
        warnings.simplefilter("ignore", SeparatrixWarning)
        walked = RidgePath(POINTS, standardize=True).fit(source)
    return walked.alphas_, walked.coefs_


def _design(model: Any, bench: RowFolds) -> Any:
    """Moments of the columns as the model saw them; rows, where they are fewer than the columns."""
    block = model.encoding_.apply(bench.table.take(bench.training).block)
    if block.n <= block.x.shape[1]:
        return ArrayRows(block.x, block.y, block.w)
    moments = Moments()
    moments.update(block)
    return moments
