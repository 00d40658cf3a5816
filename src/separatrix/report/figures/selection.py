"""Cross-validation, test scores and learning curve."""

from __future__ import annotations

import math

import numpy as np

from separatrix.pictures import (
    CrossValidationDisplay,
    GeneralizationGapDisplay,
    LearningCurveDisplay,
    PredictedActualDisplay,
)
from separatrix.pictures.formatting import score_info
from separatrix.report.figures.gallery import MANY, Gallery, row_labels
from separatrix.report.tables import fold_interval, ordered_entries
from separatrix.report.verdict import chosen_by, counterpart, display_name, is_baseline, winner_of
from separatrix.rows.block import Floats, unit_weights
from separatrix.study.result import Study


def comparison(study: Study) -> Gallery:
    """The folds of every candidate."""
    gallery = Gallery()
    entries = [e for e in ordered_entries(study) if len(e.folds)]
    if entries:
        names = [display_name(e.name) for e in entries]
        scores = [np.asarray(e.folds, dtype=float) for e in entries]
        winner = display_name(study.winner)
        gallery.pictures.append(CrossValidationDisplay(names, scores, entries[0].metric, winner))
    return gallery


def test_scores(study: Study) -> Gallery:
    """The metric of the leaderboard on each part; predicted against actual test rows."""
    gallery, entry, own = Gallery(), winner_of(study), chosen_by(study)
    if entry is None or own is None:
        return gallery
    low, high = fold_interval(entry)
    parts = [("cross-validation", entry.mean, low, high), ("test", own.value, own.low, own.high)]
    trained = _training_score(study, entry.metric)
    if math.isfinite(trained):
        parts.insert(0, ("training", trained, math.nan, math.nan))
    base = counterpart(study, own.metric)
    if base is not None:
        parts.append(("baseline on test", base.value, base.low, base.high))
    names, values, lows, highs = zip(*parts, strict=True)
    muted = ("baseline on test",)
    gallery.pictures.append(
        GeneralizationGapDisplay(names, values, lows, highs, entry.metric, muted)
    )
    test = study.test_predictions
    if test is not None and study.task == "regression" and not is_baseline(study.winner):
        rows = row_labels(test.rows)
        display = next((d.display for d in study.distributions if d.column == study.target), "")
        gallery.add(
            lambda: PredictedActualDisplay.from_predictions(
                test.truth, test.predicted, row_labels=rows, max_points=MANY, display=display
            )
        )
    return gallery


def _training_score(study: Study, metric: str) -> float:
    """The metric on the training rows; NaN where they are not stored."""
    part, known = study.training, score_info(metric).short
    if part is None or part.predicted is None:
        curve = study.learning_curve
        if curve is None or score_info(curve.metric).short != known:
            return math.nan
        return float(np.mean(curve.train[-1]))
    w = unit_weights(part.w, len(part.y))
    if study.task == "classification":
        right = np.array([str(a) == str(b) for a, b in zip(part.y, part.predicted, strict=True)])
        accuracy = float(np.average(right, weights=w))
        losses = {"Accuracy": accuracy, "Error rate": 1 - accuracy, "Log loss": _log_loss(study, w)}
        return losses.get(known, math.nan)
    y = np.asarray(part.y, dtype=float)
    residual = y - np.asarray(part.predicted, dtype=float)
    square = float(np.average(residual**2, weights=w))
    variance = float(np.average((y - np.average(y, weights=w)) ** 2, weights=w))
    scores = {
        "RMSE": math.sqrt(square),
        "MSE": square,
        "MAE": float(np.average(np.abs(residual), weights=w)),
        "R²": 1 - square / variance if variance > 0 else math.nan,
    }
    return scores.get(known, math.nan)


def _log_loss(study: Study, w: Floats) -> float:
    """−mean ln p of the true class, on the training rows."""
    part = study.training
    if part is None or part.probabilities is None:
        return math.nan
    place = {label: k for k, label in enumerate(study.classes)}
    codes = [place[str(label)] for label in part.y]
    own = np.asarray(part.probabilities, dtype=float)[np.arange(len(codes)), codes]
    return float(-np.average(np.log(np.maximum(own, np.finfo(float).eps)), weights=w))


def learning(study: Study) -> Gallery:
    """Error against the number of training rows."""
    gallery, curve = Gallery(), study.learning_curve
    if curve is not None and len(curve.sizes) > 1:
        sizes = np.asarray(curve.sizes, dtype=float)
        gallery.pictures.append(
            LearningCurveDisplay(sizes, curve.train, curve.validation, curve.metric)
        )
    return gallery
