"""Questions of the view: a model with its curve or field, and parameters learned from points."""

from __future__ import annotations

from typing import Any

import numpy as np

import separatrix as sx
from separatrix.exploration.session import Session
from separatrix.exploration.state import State, certified, packed
from separatrix.exploration.views.line.measures import (
    errors_of,
    influence_of,
    point_of,
    summary_of,
    terms_of,
    without,
)
from separatrix.exploration.views.line.models import INDUCING, MODELS, learned, model_of
from separatrix.exploration.views.line.paths import PATHS, path_of
from separatrix.exploration.views.line.scene import Scene, places_of, scene_of
from separatrix.messages import InputError
from separatrix.rows.block import Floats

#: Points up to which the errors of a kernel smoother, sums over pairs, come with its curve.
QUICK = 600


def fit(session: Session, state: State) -> dict[str, Any]:
    """Points after their edits, the model, what it predicts, and what one may say about it."""
    scene, model, text = _fitted(session, state)
    name, summary = state.choice("model", MODELS), summary_of(model)
    pairs = isinstance(model, sx.NadarayaWatson | sx.GaussianProcessRegressor)
    places, grid = places_of(scene, state, pairs=pairs)
    row = state.whole("point", -1, -1, 10**9)
    slow = isinstance(model, sx.NadarayaWatson) and len(scene.points) > QUICK
    curve = len(grid) == 1
    return {
        "points": {
            "x": packed(scene.points.x, "float64"),
            "rows": packed(scene.points.rows, "int32"),
        },
        "names": scene.names,
        "target": scene.target,
        "box": scene.box.tolist(),
        "grid": grid,
        "at": float(places[0, 1]) if curve and places.shape[1] == 2 else None,
        "values": packed(model.predict(places), "float64"),
        "bands": _bands(model, places) if curve else [],
        "draws": _draws(model, places, state) if curve else [],
        "reference": None if name == "least squares" else _least_squares(scene),
        "without": _without(scene, model, row, places) if summary and curve else None,
        "influence": influence_of(summary),
        "outliers": scene.points.rows[getattr(model, "outliers_", [])].tolist(),
        "point": point_of(scene, model, summary, row),
        "errors": None if slow else errors_of(model, scene, summary),
        "terms": terms_of(model, scene, summary),
        "path": path_of(session, scene, name) if name in PATHS else None,
        "certificate": certified(getattr(model, "certificate_", None)),
        "note": _note(model, scene),
        "python": scene.python(text),
    }


def errors(session: Session, state: State) -> dict[str, Any]:
    """Errors of a model for which they take longer than its picture."""
    scene, model, _ = _fitted(session, state)
    return errors_of(model, scene, summary_of(model))


def learn(session: Session, state: State) -> dict[str, Any]:
    """Parameters that the points choose themselves, for the sliders."""
    return learned(state, scene_of(session, state))


def _fitted(session: Session, state: State) -> tuple[Scene, Any, str]:
    scene = scene_of(session, state)
    if len(scene.points) < 3:
        raise InputError("fewer than three points are left.")
    model, text = model_of(session, state, scene)
    return scene, model.fit(scene.X, scene.y), text


def _least_squares(scene: Scene) -> dict[str, Any]:
    """The line of least squares, for comparison."""
    found = sx.LinearRegression().fit(scene.X, scene.y)
    return {"coef": found.coef_.tolist(), "intercept": float(found.intercept_)}


def _bands(model: Any, places: Floats) -> list[dict[str, Any]]:
    """Bands of 95 %: where the curve lies, and where new points would."""
    if isinstance(model, sx.GaussianProcessRegressor):
        ends = [model.predictive(places, include_noise=n).interval(0.95) for n in (False, True)]
    elif isinstance(model, sx.LinearRegression | sx.PolynomialRegression):
        try:
            kinds = ("confidence", "prediction")
            ends = [model.predict_interval(places, kind=kind) for kind in kinds]
        except InputError:  # no degrees of freedom, or columns that depend on each other
            return []
    else:
        return []
    return [{"low": packed(e[:, 0], "float64"), "high": packed(e[:, 1], "float64")} for e in ends]


def _draws(model: Any, places: Floats, state: State) -> list[Any]:
    """Functions drawn from the posterior; the seed is part of the state."""
    n, seed = state.whole("draws", 5, 0, 30), state.whole("seed", 0, 0, 10**6)
    if not isinstance(model, sx.GaussianProcessRegressor) or not n:
        return []
    found = model.sample_y(places, n, random_state=seed, include_noise=False)
    return [packed(draw, "float64") for draw in found.T]


def _without(scene: Scene, model: Any, row: int, places: Floats) -> Any:
    found = without(scene, model, row, places)
    return None if found is None or not np.isfinite(found).all() else packed(found, "float64")


def _note(model: Any, scene: Scene) -> str:
    """What was done that one would not see."""
    if isinstance(model, sx.GaussianProcessRegressor) and model.n_inducing is not None:
        return f"{INDUCING} inducing points stand for all {len(scene.points):,} points."
    return ""


QUESTIONS = {"fit": fit, "errors": errors, "learn": learn}
