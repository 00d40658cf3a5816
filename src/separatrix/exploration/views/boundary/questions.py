"""Questions of the view: a model with its values on a grid of the plane, and its whole path."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from separatrix.exploration.session import Session
from separatrix.exploration.state import State, certified, finite, packed
from separatrix.exploration.views.boundary import outlines
from separatrix.exploration.views.boundary.models import MODELS
from separatrix.exploration.views.boundary.paths import PATHS
from separatrix.exploration.views.boundary.plane import Picture, picture
from separatrix.rows.block import Floats
from separatrix.selection.leave_one_out import leave_one_out_fits


def fit(session: Session, state: State) -> dict[str, Any]:
    """Points after their edits, the model, its values on the grid, its errors and certificate."""
    shown = picture(session, state)
    points, labels = shown.points, shown.labels
    name = state.choice("model", MODELS)
    choice = MODELS[name](state, points.x)
    model = choice.estimator.fit(points.x, points.y)
    index = [labels.index(label) for label in model.classes_.tolist()]
    return {
        "points": {
            "x": packed(points.x, "float64"),
            "rows": packed(points.rows, "int32"),
            "groups": packed([labels.index(label) for label in points.y], "int32"),
        },
        "labels": labels,
        "axes": shown.axes,
        "projected": shown.projected,
        "box": shown.box.tolist(),
        "grid": shown.grid,
        "classes": index,
        "field": _field(model, name, shown),
        "error": float(np.mean(model.predict(points.x) != points.y)),
        "without": _without(model, name, points.x, points.y),
        "outlines": _outlines(model, name, shown),
        "certificate": certified(model.certificate_),
        "python": shown.python(choice.text),
    }


def _field(model: Any, name: str, shown: Picture) -> dict[str, Any]:
    """Values at the cells: scores of pairs of classes, probabilities, or classes alone."""
    if name in ("svm", "perceptron", "exemplar"):
        return _scores(model, name, shown)
    if hasattr(model, "predict_proba"):
        return {"kind": "probabilities", "values": packed(model.predict_proba(shown.cells).T)}
    codes = {label: i for i, label in enumerate(model.classes_.tolist())}
    predicted = [codes[label] for label in model.predict(shown.cells).tolist()]
    return {"kind": "classes", "values": packed(predicted, "uint8")}


def _scores(model: Any, name: str, shown: Picture) -> dict[str, Any]:
    """f of every pair of classes, positive for the first of the pair; support vectors of each."""
    k = len(model.classes_)
    if name == "svm":
        model.set_params(decision_function_shape="ovo")
    values = np.asarray(model.decision_function(shown.cells)).reshape(len(shown.cells), -1)
    if k == 2:
        values, pairs = values[:, -1:], [(1, 0)]
    elif name == "svm":
        pairs = list(combinations(range(k), 2))
    else:
        return {"kind": "scores", "values": packed(values.T)}
    support = [svm.support for svm in model.svms_] if name == "svm" else []
    return {
        "kind": "pairs",
        "pairs": pairs,
        "values": packed(values.T),
        "support": [[int(row) for row in shown.points.rows[s]] for s in support],
    }


def _without(model: Any, name: str, x: Floats, y: Any) -> dict[str, Any] | None:
    """The leave-one-out error where a closed form exists; of an SVM a bound."""
    if name == "svm":
        return {"name": "Leave-one-out error, at most", "value": len(model.support_) / len(y)}
    if name == "neighbors":
        k = model.n_neighbors_
        if k >= len(y):
            return None
        error = float(model.leave_one_out(k).error[k - 1])
        return {"name": "Leave-one-out error", "value": error}
    fits = leave_one_out_fits(model, x, y, None)
    if fits is None:
        return None
    wrong = model.classes_[fits.own.argmax(axis=1)] != y
    return {"name": "Leave-one-out error", "value": finite(float(wrong.mean()))}


def _outlines(model: Any, name: str, shown: Picture) -> dict[str, Any]:
    """Ellipses of normal classes, boxes S and G, or cells of points and exemplars."""
    if name in ("lda", "qda", "rda", "bayes"):
        return {"ellipses": outlines.ellipses(model.normals_)}
    if name == "boxes":
        return {"boxes": outlines.boxes(model, shown.box)}
    if name == "neighbors":
        mean, scale = model.standardizer_.mean, model.standardizer_.scale
        return {"cells": outlines.cells(model.points_, model.codes_, mean, scale)}
    return {}


def path(session: Session, state: State) -> dict[str, Any]:
    """The whole path of the model's slider; nothing where it has none, or one too long."""
    shown = picture(session, state)
    name = state.choice("model", MODELS)
    return {"path": PATHS[name](shown, state) if name in PATHS else None}


QUESTIONS = {"fit": fit, "path": path}
