"""Coefficients of a linear model: with intervals, along the penalty, and the error there."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from separatrix.estimators.coefficient_inference import Inference
from separatrix.pictures import (
    CoefficientDisplay,
    RegularizationPathDisplay,
    ValidationCurveDisplay,
)
from separatrix.report.figures.gallery import Gallery
from separatrix.report.verdict import display_name, is_baseline
from separatrix.rows.block import Floats
from separatrix.study.description import RegularizationPath
from separatrix.study.result import Study


def coefficients(study: Study) -> Gallery:
    """Coefficients with intervals, the path over the penalty, and the error along it."""
    gallery, model = Gallery(), study.description
    scale = None if study.training is None else study.training.scale
    found = model.inference
    if found is not None and is_baseline(study.winner):
        return gallery
    if found is not None and found.estimates.size:
        if scale is None:
            scale = _scale_by_name(study, found.names)
        finite, own = _finite(study, found, scale)
        gallery.add(lambda: _coefficients(finite, own, _unit(study)))
    path = model.path or study.ridge_path
    if path is not None and found is not None:
        gallery.add(lambda: _path(study, path, found, scale))
    if path is not None and path.errors is not None:
        errors = path.errors
        gallery.add(lambda: ValidationCurveDisplay(path.alphas, errors, path.alpha))
    return gallery


def _finite(
    study: Study, found: Inference, scale: Floats | None
) -> tuple[Inference, Floats | None]:
    """Without the terms that have no finite estimate."""
    odds = study.description.odds
    if odds is None or not odds.no_finite_estimate:
        return found, scale
    at = np.flatnonzero(~np.isin(found.names, odds.no_finite_estimate))
    arrays = ("estimates", "intervals", "standard_errors", "t_values", "p_values")
    some = {name: v[at] for name in arrays if (v := getattr(found, name)) is not None}
    names = tuple(found.names[j] for j in at)
    fits = scale is not None and scale.size == len(found.names)
    return replace(found, names=names, **some), scale[at] if fits and scale is not None else None


def _unit(study: Study) -> str:
    """What a coefficient changes."""
    if study.task != "classification":
        return "prediction"
    return "log odds" if study.description.log_odds else "score"


def _coefficients(found: Inference, scale: Floats | None, unit: str) -> CoefficientDisplay:
    """Per standard deviation; in standard errors where that is not known; never in mixed units."""
    if scale is not None and scale.size == found.estimates.size:
        axis = f"change of the {unit} per standard deviation"
        return CoefficientDisplay(
            found.names, found.estimates, found.intervals, scale, axis_label=axis
        )
    if found.standard_errors is None or not (found.standard_errors > 0).any():
        return CoefficientDisplay(found.names, found.estimates, found.intervals)
    errors = np.where(found.standard_errors > 0, found.standard_errors, np.inf)
    return CoefficientDisplay(
        found.names,
        found.estimates,
        found.intervals,
        1 / errors,
        axis_label="standard errors from zero",
    )


def _path(
    study: Study, path: RegularizationPath, found: Inference, scale: Floats | None
) -> RegularizationPathDisplay:
    """The model's own path; for a model without penalty that of ridge, with the model beside it."""
    scale = _fitting(scale, study, path.coefs.shape[1])
    if path is not study.ridge_path:
        return RegularizationPathDisplay(
            path.alphas, path.coefs, found.names, path.alpha, scale=scale
        )
    linear = study.winner == "linear"
    called = RegularizationPathDisplay.reference_name if linear else display_name(study.winner)
    return RegularizationPathDisplay(
        path.alphas,
        path.coefs,
        found.names,
        scale=scale,
        reference=found.estimates,
        reference_name=called,
    )


def _fitting(scale: Floats | None, study: Study, count: int) -> Floats | None:
    """The deviations of the design, if these are they; else those that the model knows."""
    for known in (scale, study.description.scale):
        if known is not None and known.size == count:
            return known
    return None


def _scale_by_name(study: Study, names: tuple[str, ...]) -> Floats | None:
    """Standard deviations from the profile of the table, if every term is a column or a level."""
    deviation: dict[str, float] = {}
    for column in study.columns:
        deviation[column.name] = column.std
        present = max(column.count - column.missing, 1)
        for level, count in column.levels.items():
            p = count / present
            deviation[f"{column.name}={level}"] = math.sqrt(max(p * (1 - p), 0.0))
    scale = np.array([deviation.get(name, math.nan) for name in names])
    return scale if np.isfinite(scale).all() else None
