"""Numbers beside the picture: errors, coefficients, and the influence of single points."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

import separatrix as sx
from separatrix.exploration.state import finite, packed
from separatrix.exploration.views.line.scene import Scene
from separatrix.linear.summary import Summary
from separatrix.messages import InputError
from separatrix.rows.block import Floats


def summary_of(model: Any) -> Summary | None:
    """Inference of least squares on columns or powers; None where it is not defined."""
    if not isinstance(model, sx.LinearRegression | sx.PolynomialRegression):
        return None
    try:
        found: Summary = model.summary()
    except InputError:  # no degrees of freedom are left
        return None
    return found


def errors_of(model: Any, scene: Scene, summary: Summary | None) -> dict[str, Any]:
    """R², the root of the mean square error, and the same without each point, where closed."""
    y, total = scene.y, float(scene.y.var())
    if isinstance(model, sx.NadarayaWatson):
        fitted, left_out = _smoothed(model, scene)
    else:
        fitted, left_out = model.predict(scene.X), _left_out(model, summary)
    square = float(np.mean((y - fitted) ** 2))
    return {
        "r2": finite(1.0 - square / total) if total else None,
        "rmse": finite(square**0.5),
        "loo": None if left_out is None else finite(left_out**0.5),
    }


def _left_out(model: Any, summary: Summary | None) -> float | None:
    """Mean square error of the points by the fits without them."""
    if summary is not None:
        left = 1.0 - summary.leverage
        if left.min() <= 1e-12:
            return None
        return float(np.mean((summary.residuals / left) ** 2))
    if isinstance(model, sx.GaussianProcessRegressor) and model.n_inducing is None:
        found = model.leave_one_out()
        y = model.y_train_ * model.target_scale_[0] + model.target_mean_[0]
        return float(np.average((y - found.mean) ** 2, weights=found.weights))
    return None


def _smoothed(model: Any, scene: Scene) -> tuple[Floats, float | None]:
    """Fitted values, and the error without each point: r / (1 − sᵢᵢ)."""
    weights = model.smoother_matrix(scene.X)
    fitted = weights @ scene.y
    left = 1.0 - np.diagonal(weights)
    if left.min() <= 1e-12:
        return fitted, None  # a point so far from all others that it is alone
    return fitted, float(np.mean(((scene.y - fitted) / left) ** 2))


def terms_of(model: Any, scene: Scene, summary: Summary | None) -> list[list[Any]]:
    """Names, coefficients, and standard errors where they are known."""
    if summary is not None:
        rows = zip(summary.names, summary.estimates, summary.standard_errors, strict=True)
        return [[_named(name, scene), float(b), finite(float(e))] for name, b, e in rows]
    if not hasattr(model, "coef_"):
        return []
    terms = getattr(model, "term_names_", None)
    names = scene.names if terms is None else [_named(term, scene) for term in terms]
    pairs = zip(("intercept", *names), [model.intercept_, *model.coef_], strict=True)
    return [[name, float(b), None] for name, b in pairs]


def influence_of(summary: Summary | None) -> dict[str, Any] | None:
    """Cook's distances of all points."""
    if summary is None:
        return None
    return {"cooks": packed(np.nan_to_num(summary.cooks_distance, nan=0.0, posinf=1e9), "float64")}


def point_of(scene: Scene, model: Any, summary: Summary | None, row: int) -> dict[str, Any] | None:
    """What is known of one point: its residual, leverage, Cook's and studentized residual."""
    found = np.flatnonzero(scene.points.rows == row)
    if not len(found):
        return None
    i = int(found[0])
    residual = float(scene.y[i] - model.predict(scene.X[[i]])[0])
    known = {"row": row, "residual": finite(residual)}
    if summary is None:
        return known
    return {
        **known,
        "leverage": finite(float(summary.leverage[i])),
        "cooks": finite(float(summary.cooks_distance[i])),
        "studentized": finite(float(summary.external_residuals[i])),
    }


def without(scene: Scene, model: Any, row: int, places: Floats) -> Floats | None:
    """Predictions of the same model fitted to all other points."""
    others = scene.points.rows != row
    if others.all() or others.sum() < 3:
        return None
    other = clone(model).fit(scene.X[others], scene.y[others])
    return np.asarray(other.predict(places))


def _named(name: str, scene: Scene) -> str:
    """x0^2 x1 → the names of the columns."""
    for i in range(len(scene.names)):
        name = name.replace(f"x{i}", f"\0{i}")
    for i, column in enumerate(scene.names):
        name = name.replace(f"\0{i}", column)
    return name
