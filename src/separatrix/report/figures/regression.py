"""Residuals of a regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.estimators.coefficient_inference import Inference
from separatrix.messages import InputError
from separatrix.pictures import (
    LeverageDisplay,
    QuantileQuantileDisplay,
    ResidualDisplay,
    ScaleLocationDisplay,
)
from separatrix.report.figures.gallery import MANY, Gallery, row_labels
from separatrix.report.verdict import is_baseline
from separatrix.rows.block import Floats
from separatrix.study.result import Study, TrainingRows


def regression(study: Study) -> Gallery:
    """Residuals of the training rows (of the test rows where those are all there is)."""
    gallery, part, test = Gallery(), study.training, study.test_predictions
    plain = is_baseline(study.winner) or study.description.evidence is not None
    found = None if plain else study.description.inference
    truth: Any
    if part is not None and part.predicted is not None:
        truth, fitted, rows = part.y, part.predicted, part.rows
    elif test is not None:
        truth, fitted, rows = test.truth, test.predicted, test.rows
    else:
        gallery.missing.append("The rows are not stored, so residuals cannot be drawn.")
        return gallery
    y, fitted = np.asarray(truth, dtype=float), np.asarray(fitted, dtype=float)
    if y.ndim != 1:
        gallery.missing.append("Residuals are drawn for one target only.")
        return gallery
    names = row_labels(rows)
    gallery.pictures += [
        ResidualDisplay.from_predictions(y, fitted, row_labels=names, max_points=MANY),
        QuantileQuantileDisplay.from_predictions(y, fitted, row_labels=names),
        ScaleLocationDisplay.from_predictions(y, fitted, row_labels=names, max_points=MANY),
    ]
    gallery.add(lambda: _leverage(found, part, y - fitted, names, study.n_train))
    return gallery


def _leverage(
    found: Inference | None,
    part: TrainingRows | None,
    residuals: Floats,
    names: list[str] | None,
    total: int,
) -> LeverageDisplay:
    """From the stored leverages of a least squares model."""
    if found is None or found.intervals is None:
        raise InputError("Leverage is defined for least squares, not for this model.")
    if part is None or part.leverage is None or part.leverage.size != residuals.size:
        raise InputError("The training rows are not stored, so leverage cannot be drawn.")
    scaled = residuals if part.w is None else residuals * np.sqrt(part.w)
    # Leverages of all rows add up to the rank; those of a selection do not.
    count = None if residuals.size == total else found.estimates.size + 1
    return LeverageDisplay.from_fit(
        scaled, part.leverage, found.sigma, count, row_labels=names, max_points=MANY
    )
