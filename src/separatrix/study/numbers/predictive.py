"""Predictive distributions in a study: out of fold, on the test set, along the only column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.bayes.predictive import PredictiveDistribution
from separatrix.rows.block import Floats, Ints, unit_weights
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Kind
from separatrix.study.explanation.answers import display_of, with_features
from separatrix.study.folds import SHOWN_ROWS, RowFolds, thinned, truth_of
from separatrix.study.measure import mean_score, proportion_score
from separatrix.study.uncertainty import (
    TEST_LEVELS,
    IntervalScore,
    PredictiveBand,
    PredictiveCheck,
    Uncertainty,
)

#: Places along the column at which a band is computed.
PLACES = 120


@dataclass(frozen=True)
class Judged:
    """Targets under their predictive distributions: residuals (y − m)/s and F(y)."""

    residuals: Floats
    pit: Floats

    @classmethod
    def of(cls, y: Floats, predictive: PredictiveDistribution) -> Judged:
        """Targets of the same rows."""
        return cls(predictive.residuals(y), predictive.pit(y))

    @classmethod
    def joined(cls, parts: Sequence[Judged]) -> Judged:
        """One after the other."""
        return cls(
            np.concatenate([part.residuals for part in parts]),
            np.concatenate([part.pit for part in parts]),
        )

    def take(self, at: Ints) -> Judged:
        """Some of the rows."""
        return Judged(self.residuals[at], self.pit[at])


def predictive_for(model: Any, rows: InMemory) -> PredictiveDistribution | None:
    """The predictive distribution of each row; None where the estimator has none."""
    if not hasattr(model, "predictive"):
        return None
    found: PredictiveDistribution = model.predictive(rows)
    return found


def checked(
    folds: RowFolds, rows: Ints, values: Floats, judged: Judged, w: Floats
) -> PredictiveCheck:
    """Out-of-fold rows, by position among the training rows, as a study stores them."""
    some = thinned(np.arange(len(rows)), SHOWN_ROWS)
    numbers = folds.table.take(folds.training[rows[some]]).row_ids
    part = judged.take(some)
    weights = None if (w == 1.0).all() else w[some]
    return PredictiveCheck(numbers, values[some], part.residuals, part.pit, weights)


def uncertainty(
    model: Any,
    rows: InMemory,
    predictive: PredictiveDistribution | None,
    level: float,
    check: PredictiveCheck | None,
) -> Uncertainty | None:
    """Intervals and densities of the test rows; None for a model without distributions."""
    if predictive is None:
        return None
    y = truth_of(rows)
    w = unit_weights(rows.block.w, len(y))
    scores = []
    for one in sorted({*TEST_LEVELS, level}):
        low, high = predictive.interval(one).T
        inside = proportion_score("interval_coverage", (y >= low) & (y <= high), w)
        scores.append(IntervalScore(one, inside, float(np.average(high - low, weights=w))))
    loss = mean_score("nlpd", -predictive.log_density(y), w)
    return Uncertainty(level, tuple(scores), loss, check, _band(model, rows, level))


def _band(model: Any, rows: InMemory, level: float) -> PredictiveBand | None:
    """The band along the only column of the table, if it is one of numbers that vary."""
    columns = [c for c in rows.schema.columns if c.kind is Kind.NUMERIC]
    block = rows.block
    if len(rows.schema.columns) != 1 or len(columns) != 1 or block.x.shape[1] != 1:
        return None
    own = np.ravel(block.dense())
    low, high = float(np.min(own)), float(np.max(own))
    if not np.isfinite([low, high]).all() or low == high:
        return None
    x = np.linspace(low, high, PLACES)
    found = predictive_for(model, with_features(rows.take(np.zeros(PLACES, int)), x[:, None]))
    if found is None:
        return None
    return PredictiveBand(
        columns[0].name,
        x,
        found.mean,
        found.interval(level),
        np.stack([own, truth_of(rows)], axis=1),
        display_of(rows, columns[0].name),
    )
