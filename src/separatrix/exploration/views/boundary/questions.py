"""Questions of the view: the points, and a model with its values on a grid of the plane."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.exploration.code import fitting
from separatrix.exploration.edits import Points, edited
from separatrix.exploration.session import Session
from separatrix.exploration.state import State, packed
from separatrix.exploration.views.boundary.models import MODELS
from separatrix.messages import InputError
from separatrix.rows.block import Floats

#: Columns and rows of the grid.
GRID = 72, 54


def fit(session: Session, state: State) -> dict[str, Any]:
    """Points after their edits, the model, and its probabilities or decisions on the grid."""
    table = session.table
    target = state.choice("target", table.classes, _default(session))
    names = [state.choice("x", table.numbers), state.choice("y", table.numbers, table.numbers[-1])]
    before = Points(*table.arrays(names, target), table.complete(names, target))
    edits = state.items("edits")
    points = edited(before, edits, len(table))
    labels = sorted(set(before.y.tolist()), key=table.classes[target].index)
    if len(set(points.y.tolist())) < 2:
        raise InputError("all points are of one class: a boundary needs two.")
    model, text = MODELS[state.choice("model", MODELS)](state)
    model.fit(points.x, points.y)
    box = _box(before.x)
    grid = _grid(box)
    wrong = model.predict(points.x) != points.y
    certificate = getattr(model, "certificate_", None)
    return {
        "points": {
            "x": packed(points.x, "float64"),
            "rows": packed(points.rows, "int32"),
            "groups": packed([labels.index(label) for label in points.y], "int32"),
        },
        "labels": labels,
        "names": names,
        "target": target,
        "box": box.tolist(),
        "grid": GRID,
        "classes": packed([labels.index(label) for label in model.predict(grid)], "uint8"),
        "error": float(wrong.mean()),
        "support": [int(points.rows[i]) for i in getattr(model, "support_", [])],
        "certificate": None
        if certificate is None
        else {"holds": bool(certificate.holds), "text": str(certificate)},
        "python": fitting(
            table, names, target, [f"model = {text}.fit(X, y)"], before=before, edits=edits
        ),
    }


def _default(session: Session) -> str | None:
    target = session.table.target
    return target if target in session.table.classes else None


def _box(x: Floats) -> Floats:
    """The rectangle of the picture: all points, with a margin."""
    low, high = x.min(axis=0), x.max(axis=0)
    margin = 0.06 * (high - low)
    return np.column_stack([low - margin, high + margin])


def _grid(box: Floats) -> Floats:
    """Places of the cells, row by row from the lowest y."""
    (x0, x1), (y0, y1) = box
    x, y = np.linspace(x0, x1, GRID[0]), np.linspace(y0, y1, GRID[1])
    return np.column_stack([np.tile(x, len(y)), np.repeat(y, len(x))])


QUESTIONS = {"fit": fit}
