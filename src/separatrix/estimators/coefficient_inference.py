"""Coefficients of a fitted model with their inference, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from separatrix.estimators.inference import CoefficientTable, ModelQuality
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.rows.encoding import Encoding


@dataclass(frozen=True)
class Inference:
    """Coefficients by name, without the intercept, each with its 95 % interval if there is one.

    ``t_values`` are estimates by their standard errors, called by the ``letter`` of their law.
    ``variance_inflation`` are those factors of least squares, ``quality`` its tests as a whole.
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
    quality: ModelQuality | None = None
    variance_inflation: Floats | None = None


@runtime_checkable
class FittedLinearModel(Protocol):
    """A fitted linear model, of this library or of scikit-learn."""

    coef_: Floats
    intercept_: Any


@runtime_checkable
class SupportsSummary(Protocol):
    """A model with inference: ``summary`` raises InputError where its theory does not hold."""

    def summary(self) -> CoefficientTable:
        """Estimates, standard errors, tests and confidence intervals."""


@runtime_checkable
class SupportsTermNames(Protocol):
    """A model of functions of the columns, each with a name."""

    term_names_: tuple[str, ...]


@runtime_checkable
class SupportsEncoding(Protocol):
    """A model that stores how it encodes the columns of a table."""

    encoding_: Encoding


@runtime_checkable
class SupportsFeatureNames(Protocol):
    """A model fitted to a table with column names, by scikit-learn's convention."""

    feature_names_in_: NDArray[Any]


def inference(model: object) -> Inference | None:
    """The summary of a linear model; where it refuses, the bare coefficients and the reason.

    None where the model has no coefficient vector, or one for each of several outputs.
    """
    if not isinstance(model, FittedLinearModel):
        return None
    coef = np.asarray(model.coef_, dtype=float)
    if coef.ndim == 2 and coef.shape[0] == 1:
        coef = coef[0]
    if coef.ndim != 1:
        return None
    constant = np.ravel(model.intercept_)
    intercept = float(constant[0]) if constant.size == 1 else None
    bare = Inference(names_of(model, coef.size), coef, intercept)
    if not isinstance(model, SupportsSummary):
        kind = type(model).__name__
        return replace(bare, reason=f"No theory of standard errors is offered for {kind}.")
    try:
        return _from_summary(model.summary(), bare)
    except InputError as refusal:
        return replace(bare, reason=str(refusal))


def names_of(model: object, count: int) -> tuple[str, ...]:
    """The names of ``count`` coefficients: terms, columns of the design, or x0, x1, …."""
    names: Sequence[str] | NDArray[Any] = ()
    if isinstance(model, SupportsTermNames):
        names = model.term_names_
    elif isinstance(model, SupportsEncoding):
        names = model.encoding_.names
    elif isinstance(model, SupportsFeatureNames):
        names = model.feature_names_in_
    if len(names) != count:
        return tuple(f"x{j}" for j in range(count))
    return tuple(str(name) for name in names)


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
    vif = summary.extra_columns().get("VIF")
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
        quality=fit.quality,
        variance_inflation=None if vif is None else vif[skip:],
    )
