"""Which pictures a study gets, and why one is missing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.decision.roc import RocCurve, roc_curve
from separatrix.messages import InputError
from separatrix.pictures import (
    CoefficientDisplay,
    ConfusionDisplay,
    Display,
    DistanceDisplay,
    FoldDisplay,
    GapDisplay,
    LearningCurveDisplay,
    LeverageDisplay,
    PathDisplay,
    PrecisionRecallDisplay,
    QuantileDisplay,
    ResidualDisplay,
    RocDisplay,
    ScaleLocationDisplay,
    ValidationCurveDisplay,
)
from separatrix.pictures.inference import Inference
from separatrix.pictures.wording import measure
from separatrix.report.tables import fold_interval, ordered_entries
from separatrix.report.verdict import counterpart, main_scores, spoken, winner_of
from separatrix.rows.block import Floats
from separatrix.study.result import Held, Study, Training

#: Dots in one picture of the page before the density is drawn: a page holds several.
MANY = 2_000


@dataclass
class Gallery:
    """Pictures that could be drawn, and the reasons of those that could not."""

    pictures: list[Display] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def add(self, make: Callable[[], Display]) -> None:
        """Keep the picture, or the reason for its absence."""
        try:
            self.pictures.append(make())
        except InputError as refusal:
            self.missing.append(str(refusal))


def comparison(study: Study) -> Gallery:
    """The folds of every candidate."""
    gallery = Gallery()
    entries = [e for e in ordered_entries(study) if len(e.folds)]
    if entries:
        names = [spoken(e.name) for e in entries]
        scores = [np.asarray(e.folds, dtype=float) for e in entries]
        winner = spoken(study.winner)
        gallery.pictures.append(FoldDisplay(names, scores, entries[0].metric, winner))
    return gallery


def measured(study: Study) -> Gallery:
    """The same measure on the training, validation and test parts."""
    gallery, entry, pair = Gallery(), winner_of(study), main_scores(study)
    if entry is None or pair is None or measure(pair[0].metric) != measure(entry.metric):
        return gallery
    own, base = pair
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
    gallery.pictures.append(GapDisplay(names, values, lows, highs, entry.metric, muted))
    return gallery


def _training_score(study: Study, metric: str) -> float:
    """The measure on the rows that were trained on, where it can be told."""
    part, known = study.training, measure(metric).short
    if part is None or part.predicted is None:
        curve = study.curve
        if curve is None or measure(curve.metric).short != known:
            return math.nan
        return float(np.mean(curve.train[-1]))
    w = np.ones(len(part.y)) if part.w is None else part.w
    if study.task == "classification":
        right = np.array([str(a) == str(b) for a, b in zip(part.y, part.predicted, strict=True)])
        share = float(np.average(right, weights=w))
        return {"Accuracy": share, "Error rate": 1 - share}.get(known, math.nan)
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


def coefficients(study: Study, found: Inference | None) -> Gallery:
    """Coefficients with intervals, the path over the penalty, and the error along it."""
    gallery, scale = Gallery(), _scale(study.training)
    if found is not None and found.estimates.size:
        if scale is None:
            scale = _scale_by_name(study, found.names)
        gallery.pictures.append(_coefficients(found, scale))
    if getattr(study.model, "coefs_", None) is not None:
        gallery.add(lambda: _path(study, scale))
    elif study.path is not None and found is not None:
        gallery.add(lambda: _path_beside(study, found, scale))
    if getattr(study.model, "mse_path_", None) is not None:
        gallery.add(lambda: ValidationCurveDisplay.from_estimator(study.model))
    return gallery


def _coefficients(found: Inference, scale: Floats | None) -> CoefficientDisplay:
    """Per standard deviation; where that is not known, in standard errors: never in mixed units."""
    if scale is not None and scale.size == found.estimates.size:
        return CoefficientDisplay(found.names, found.estimates, found.intervals, scale)
    if found.standard_errors is None or not (found.standard_errors > 0).any():
        return CoefficientDisplay(found.names, found.estimates, found.intervals)
    errors = np.where(found.standard_errors > 0, found.standard_errors, np.inf)
    return CoefficientDisplay(
        found.names,
        found.estimates,
        found.intervals,
        1 / errors,
        axis="standard errors from zero",
    )


def _path(study: Study, scale: Floats | None) -> PathDisplay:
    path = PathDisplay.from_estimator(study.model)
    path.scale = _fitting(scale, study.model, path.coefs.shape[1])
    return path


def _path_beside(study: Study, found: Inference, scale: Floats | None) -> PathDisplay:
    """The ridge path of the training part, with the winner, which has no penalty, at its end."""
    assert study.path is not None
    alphas, coefs = study.path
    called = PathDisplay.called if study.winner == "linear" else spoken(study.winner)
    return PathDisplay(
        alphas,
        coefs,
        found.names,
        scale=_fitting(scale, study.model, coefs.shape[1]),
        beside=found.estimates,
        called=called,
    )


def _fitting(scale: Floats | None, model: Any, count: int) -> Floats | None:
    """The deviations if they are those of the design; else by the moments that the model kept."""
    if scale is not None and scale.size == count:
        return scale
    moments = getattr(model, "moments_", None)
    if moments is None or len(moments.terms) != count:
        return None
    return np.asarray(np.sqrt(np.diag(moments.xx) / moments.weight))


def _scale(part: Training | None) -> Floats | None:
    """The standard deviation of every column of the design."""
    if part is None or part.scale is not None or part.x is None:
        return None if part is None else part.scale
    x = np.asarray(part.x, dtype=float)
    w = np.ones(x.shape[0]) if part.w is None else part.w
    mean = np.average(x, axis=0, weights=w)
    return np.asarray(np.sqrt(np.average((x - mean) ** 2, axis=0, weights=w)))


def _scale_by_name(study: Study, names: tuple[str, ...]) -> Floats | None:
    """The same from the profile of the table, where every term is a column or a level of one."""
    spread: dict[str, float] = {}
    for column in study.columns:
        spread[column.name] = column.deviation
        seen = max(column.count - column.missing, 1)
        for level, count in column.levels.items():
            share = count / seen
            spread[f"{column.name}={level}"] = math.sqrt(max(share * (1 - share), 0.0))
    scale = np.array([spread.get(name, math.nan) for name in names])
    return scale if np.isfinite(scale).all() else None


def regression(study: Study, found: Inference | None) -> Gallery:
    """Residuals of the training part (of the test part where that is all there is)."""
    gallery, part, held = Gallery(), study.training, study.held
    truth: Any
    if part is not None and part.predicted is not None:
        truth, fitted, rows = part.y, part.predicted, part.rows
    elif held is not None:
        truth, fitted, rows = held.truth, held.predicted, held.rows
    else:
        gallery.missing.append("The rows were not kept, so residuals cannot be drawn.")
        return gallery
    y, fitted = np.asarray(truth, dtype=float), np.asarray(fitted, dtype=float)
    if y.ndim != 1:
        gallery.missing.append("Residuals are drawn for one target only.")
        return gallery
    names = _row_names(rows)
    gallery.pictures += [
        ResidualDisplay.from_predictions(y, fitted, rows=names, many=MANY),
        QuantileDisplay.from_predictions(y, fitted, rows=names),
        ScaleLocationDisplay.from_predictions(y, fitted, rows=names, many=MANY),
    ]
    gallery.add(lambda: _leverage(found, part, y - fitted, names, study.n_train))
    return gallery


def _leverage(
    found: Inference | None,
    part: Training | None,
    residuals: Floats,
    names: list[str] | None,
    total: int,
) -> LeverageDisplay:
    """By the model's own leverages; else, for least squares, from the design of the pictures."""
    if found is None or found.intervals is None:
        raise InputError("Leverage belongs to least squares: this model has no such number.")
    if part is None:
        raise InputError("The training rows were not kept, so leverage cannot be drawn.")
    own = found.leverage if part.leverage is None else part.leverage
    if own is not None and own.size == residuals.size:
        pull = residuals if part.w is None else residuals * np.sqrt(part.w)
        # Leverages of all rows add up to the rank; those of a selection do not.
        count = None if residuals.size == total else found.estimates.size + 1
        return LeverageDisplay.from_fit(pull, own, found.sigma, count, rows=names, many=MANY)
    no_constant = found.intercept_row is None
    if part.x is None or no_constant or part.x.shape[1] != found.estimates.size:
        raise InputError("The training rows were not kept, so leverage cannot be drawn.")
    return LeverageDisplay.from_design(part.x, residuals, w=part.w, rows=names, many=MANY)


def _row_names(rows: Any) -> list[str] | None:
    """Row numbers as people write them."""
    if rows is None:
        return None
    return [f"{r:g}" if isinstance(r, float | np.floating) else str(r) for r in rows]


def classification(study: Study) -> Gallery:
    """Confusion, ROC, precision–recall and distances, all on the test part."""
    gallery, held = Gallery(), study.held
    if held is None:
        gallery.missing.append("The rows were not kept, so decisions cannot be drawn.")
        return gallery
    truth = np.array([str(v) for v in held.truth])
    called = np.array([str(v) for v in held.predicted])
    labels = list(study.classes) or sorted({*truth, *called})
    gallery.add(lambda: ConfusionDisplay.from_predictions(truth, called, labels=labels))
    if held.scores is None:
        gallery.missing.append("This model gives no score, so it has no ROC curve.")
        return gallery
    scores = np.asarray(held.scores, dtype=float)
    if len(labels) == 2 and np.ptp(_single(held)) > 0:
        gallery.add(lambda: _roc(study, held, labels[1]))
        gallery.add(
            lambda: PrecisionRecallDisplay.from_predictions(
                truth, _single(held), positive=labels[1], sample_weight=held.w
            )
        )
    coef = getattr(study.model, "coef_", None)
    if coef is not None and np.any(coef):
        gallery.add(lambda: DistanceDisplay.from_scores(truth, scores, coef, labels))
    return gallery


def _single(held: Held) -> Floats:
    """One score per row, high for the second of two classes."""
    line = np.asarray(held.scores, dtype=float).reshape(len(held.truth), -1)
    return np.asarray(line[:, 0] if line.shape[1] == 1 else line[:, 1] - line[:, 0])


def _roc(study: Study, held: Held, positive: str) -> RocDisplay:
    """The curve of the test part over those of the folds; a fold of one class has none."""

    def curve(part: Held) -> RocCurve:
        truth = [str(v) for v in part.truth]
        return roc_curve(truth, _single(part), positive=positive, sample_weight=part.w)

    both = [part for part in study.left_out if len(np.unique(part.truth)) == 2]
    return RocDisplay(curve(held), folds=[curve(part) for part in both])


def learning(study: Study) -> Gallery:
    """Error against the number of training rows."""
    gallery, curve = Gallery(), study.curve
    if curve is not None and len(curve.sizes) > 1:
        sizes = np.asarray(curve.sizes, dtype=float)
        gallery.pictures.append(
            LearningCurveDisplay(sizes, curve.train, curve.validation, curve.metric)
        )
    return gallery
