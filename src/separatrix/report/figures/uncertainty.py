"""Predictive distributions: intervals of the test rows, and whether they hold what they promise."""

from __future__ import annotations

import numpy as np

from separatrix.pictures import (
    CoverageDisplay,
    PITDisplay,
    PredictiveBandDisplay,
    PredictiveIntervalDisplay,
    StandardizedResidualDisplay,
)
from separatrix.report.figures.gallery import MANY, Gallery, row_labels
from separatrix.study.result import Study
from separatrix.study.uncertainty import PredictiveBand, PredictiveCheck


def uncertainty(study: Study) -> Gallery:
    """Intervals of the test rows; coverage, F(y) and residuals of rows out of fold."""
    gallery, found, test = Gallery(), study.uncertainty, study.test_predictions
    if found is None:
        return gallery
    band, check = found.band, found.check
    if band is not None:
        gallery.add(lambda: _band(band, study.target, found.level))
    elif test is not None and test.intervals is not None:
        intervals = test.intervals
        display = next((c.display for c in study.columns if c.name == study.target), "")
        gallery.add(
            lambda: PredictiveIntervalDisplay(
                test.truth,
                test.predicted,
                intervals,
                found.level,
                row_labels(test.rows),
                display=display,
            )
        )
    if check is None:
        gallery.missing.append(
            "No training row was predicted out of fold with its distribution, so coverage is not "
            "drawn."
        )
        return gallery
    gallery.add(lambda: _residuals(check))
    gallery.add(lambda: CoverageDisplay.from_pit(check.pit, sample_weight=check.w))
    gallery.add(lambda: PITDisplay.from_pit(check.pit, sample_weight=check.w))
    return gallery


def _band(found: PredictiveBand, target: str, level: float) -> PredictiveBandDisplay:
    return PredictiveBandDisplay(
        found.x,
        found.mean,
        found.intervals,
        level,
        found.points,
        found.column,
        target,
        found.display,
        MANY,
    )


def _residuals(found: PredictiveCheck) -> StandardizedResidualDisplay:
    return StandardizedResidualDisplay(
        np.asarray(found.mean, dtype=float),
        np.asarray(found.residuals, dtype=float),
        row_labels(found.rows),
        MANY,
    )
