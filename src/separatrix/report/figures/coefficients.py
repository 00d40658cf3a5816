"""Coefficients of a linear winner: with intervals, along the penalty, and the error there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from separatrix.estimators.coefficient_inference import Inference
from separatrix.pictures import (
    CoefficientDisplay,
    RegularizationPathDisplay,
    ValidationCurveDisplay,
)
from separatrix.report.figures.gallery import Gallery
from separatrix.report.verdict import spoken
from separatrix.rows.block import Floats, unit_weights
from separatrix.study.result import Study, TrainingRows


def coefficients(study: Study, found: Inference | None) -> Gallery:
    """Coefficients with intervals, the path over the penalty, and the error along it."""
    gallery, scale = Gallery(), _scale(study.training)
    if found is not None and found.estimates.size:
        if scale is None:
            scale = _scale_by_name(study, found.names)
        gallery.pictures.append(_coefficients(found, scale, _unit(study)))
    if getattr(study.core, "coefs_", None) is not None:
        gallery.add(lambda: _path(study, scale))
    elif study.path is not None and found is not None:
        gallery.add(lambda: _path_beside(study, found, scale))
    if getattr(study.core, "mse_path_", None) is not None:
        gallery.add(lambda: ValidationCurveDisplay.from_estimator(study.core))
    return gallery


def _unit(study: Study) -> str:
    """What coefficients change."""
    from separatrix.logistic.logistic_regression import LogisticRegression

    if study.task != "classification":
        return "prediction"
    return "log odds" if isinstance(study.core, LogisticRegression) else "score"


def _coefficients(found: Inference, scale: Floats | None, unit: str) -> CoefficientDisplay:
    """Per standard deviation; where that is not known, in standard errors: never in mixed units."""
    if scale is not None and scale.size == found.estimates.size:
        axis = f"change of the {unit} per standard deviation"
        return CoefficientDisplay(found.names, found.estimates, found.intervals, scale, axis=axis)
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


def _path(study: Study, scale: Floats | None) -> RegularizationPathDisplay:
    path = RegularizationPathDisplay.from_estimator(study.core)
    path.scale = _fitting(scale, study.core, path.coefs.shape[1])
    return path


def _path_beside(study: Study, found: Inference, scale: Floats | None) -> RegularizationPathDisplay:
    """The ridge path of the training part, with the winner, which has no penalty, at its end."""
    assert study.path is not None
    alphas, coefs = study.path
    called = RegularizationPathDisplay.called if study.winner == "linear" else spoken(study.winner)
    return RegularizationPathDisplay(
        alphas,
        coefs,
        found.names,
        scale=_fitting(scale, study.core, coefs.shape[1]),
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


def _scale(part: TrainingRows | None) -> Floats | None:
    """The standard deviation of every column of the design."""
    if part is None or part.scale is not None or part.x is None:
        return None if part is None else part.scale
    x = np.asarray(part.x, dtype=float)
    w = unit_weights(part.w, x.shape[0])
    mean = np.average(x, axis=0, weights=w)
    return np.asarray(np.sqrt(np.average((x - mean) ** 2, axis=0, weights=w)))


def _scale_by_name(study: Study, names: tuple[str, ...]) -> Floats | None:
    """The same from the profile of the table, where every term is a column or a level of one."""
    spread: dict[str, float] = {}
    for column in study.columns:
        spread[column.name] = column.std
        seen = max(column.count - column.missing, 1)
        for level, count in column.levels.items():
            share = count / seen
            spread[f"{column.name}={level}"] = math.sqrt(max(share * (1 - share), 0.0))
    scale = np.array([spread.get(name, math.nan) for name in names])
    return scale if np.isfinite(scale).all() else None
