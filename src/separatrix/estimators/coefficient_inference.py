"""Coefficients of a fitted model with their inference, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.estimators.inference import CoefficientTable
from separatrix.rows.block import Floats


@dataclass(frozen=True)
class Inference:
    """Coefficients by name, without the intercept, each with its 95 % interval if there is one.

    ``t_values`` are estimates by their standard errors, called by the ``letter`` of their law.
    ``reason`` says why intervals are missing; arrays with one number per training row are None
    where the model does not keep its rows.
    """

    names: tuple[str, ...]
    estimates: Floats
    intercept: float | None = None
    intervals: Floats | None = None
    standard_errors: Floats | None = None
    t_values: Floats | None = None
    p_values: Floats | None = None
    intercept_row: tuple[float, ...] | None = None
    r_squared: float | None = None
    sigma: float | None = None
    residuals: Floats | None = None
    fitted: Floats | None = None
    leverage: Floats | None = None
    cooks_distance: Floats | None = None
    reason: str = ""
    letter: str = "t"


def inference(model: Any) -> Inference | None:
    """Read ``model.summary()``; where it refuses, the bare coefficients and the refusal.

    None where the model has no coefficient vector, or one for each of several outputs.
    """
    coef = getattr(model, "coef_", None)
    if coef is None:
        return None
    coef = np.asarray(coef, dtype=float)
    if coef.ndim == 2 and coef.shape[0] == 1:
        coef = coef[0]
    if coef.ndim != 1:
        return None
    names = names_of(model, coef.size)
    constant = np.ravel(getattr(model, "intercept_", np.nan))
    intercept = float(constant[0]) if constant.size == 1 else None
    bare = Inference(names, coef, intercept)
    if not callable(getattr(model, "summary", None)):
        kind = type(model).__name__
        return _without(bare, f"No theory of standard errors is offered for {kind}.")
    try:
        return _from_summary(model.summary(), bare)
    except (ValueError, AttributeError, NotImplementedError) as refusal:
        return _without(bare, str(refusal))


def names_of(model: Any, count: int) -> tuple[str, ...]:
    """The names of the columns of the design, by what the model remembers of them."""
    for holder, attribute in ((model, "term_names_"), (getattr(model, "encoding_", None), "names")):
        names = getattr(holder, attribute, None)
        if names is not None and len(names) == count:
            return tuple(str(name) for name in names)
    names = getattr(model, "feature_names_in_", None)
    if names is not None and len(names) == count:
        return tuple(str(name) for name in names)
    return tuple(f"x{j}" for j in range(count))


def _without(bare: Inference, reason: str) -> Inference:
    return Inference(bare.names, bare.estimates, bare.intercept, reason=reason)


def _from_summary(summary: CoefficientTable, bare: Inference) -> Inference:
    """Split the intercept, which comes first where there is one, from the rest."""
    skip = summary.estimates.size - bare.estimates.size
    columns = (
        summary.estimates,
        summary.standard_errors,
        summary.statistics,
        summary.p_values,
        summary.intervals[:, 0],
        summary.intervals[:, 1],
    )
    names, fit = summary.names[skip:], summary.diagnostics()
    return Inference(
        names if len(names) == bare.estimates.size else bare.names,
        summary.estimates[skip:],
        float(summary.estimates[0]) if skip else None,
        summary.intervals[skip:],
        summary.standard_errors[skip:],
        summary.statistics[skip:],
        summary.p_values[skip:],
        tuple(float(column[0]) for column in columns) if skip else None,
        fit.r_squared,
        fit.sigma,
        fit.residuals,
        fit.fitted,
        fit.leverage,
        fit.cooks_distance,
        letter=summary.letter,
    )
