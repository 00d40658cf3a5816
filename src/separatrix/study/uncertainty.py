"""What a study shows of predictive distributions: records, filled in by ``study/numbers``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from separatrix.rows.block import Floats
from separatrix.study.score import Score

#: Level of the intervals beside predictions, unless another is requested.
LEVEL = 0.95
#: Levels whose coverage on the test set is measured.
TEST_LEVELS = (0.5, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class PredictiveCheck:
    """Training rows, each under the predictive distribution of a model that was not fitted to it.

    ``mean`` is the predicted value, ``residuals`` are (y − m)/s, and ``pit`` is F(y), the
    probability of a smaller target. ``rows`` are the row numbers in the table; of a large table
    they are an even selection.
    """

    rows: Any
    mean: Floats
    residuals: Floats
    pit: Floats
    w: Floats | None = None


@dataclass(frozen=True)
class IntervalScore:
    """Intervals of one level on the test set: the proportion of targets within, the mean width."""

    level: float
    coverage: Score
    width: float


@dataclass(frozen=True)
class PredictiveBand:
    """Predictive mean and intervals along the only column; ``points`` are test rows (x, y)."""

    column: str
    x: Floats
    mean: Floats
    intervals: Floats
    points: Floats
    display: str = ""


@dataclass(frozen=True)
class Uncertainty:
    """Predictive distributions of the chosen model, checked on rows it was not fitted to.

    ``test`` are intervals on the test set, ``log_loss`` the mean negative log predictive density
    there; ``check`` are the training rows out of fold, None where the comparison gave none.
    """

    level: float
    test: tuple[IntervalScore, ...]
    log_loss: Score
    check: PredictiveCheck | None = None
    band: PredictiveBand | None = None
