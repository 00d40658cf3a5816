"""Questions of the view: a surface with its minimum, a descent on it, and a perceptron."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

import separatrix as sx
from separatrix.exploration.grid import cells, frame
from separatrix.exploration.session import Session
from separatrix.exploration.state import State, certified, finite, packed
from separatrix.exploration.table import Table
from separatrix.exploration.views.descend.steps import descend, perceptron_updates, stochastic
from separatrix.exploration.views.descend.surface import LOSSES, Surface, surface
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.statistics.standardizer import Standardizer

#: Columns and rows of the grid of a surface.
GRID = 72, 54
#: Epochs and updates of a perceptron.
EPOCHS, UPDATES = 40, 400
SURFACE = ("loss", "terms", "x", "y", "target", "label", "standardize")


def shape(session: Session, state: State) -> dict[str, Any]:
    """The surface on a grid, its minimum with the certificate, and the step that diverges."""
    f, names = _surface(session, state)
    best, proof = session.once(("minimum", _key(state)), f.minimum)
    box = _box(f, best)
    curvature = np.linalg.eigvalsh(f.hessian(np.zeros(2) if best is None else best))
    return {
        "names": names,
        "box": box.tolist(),
        "grid": GRID,
        "values": packed(f.values(cells(box, GRID)), "float64"),
        "best": None if best is None else best.tolist(),
        "least": None if best is None else f.value(best),
        "lipschitz": f.lipschitz(),
        "condition": finite(float(curvature[-1] / max(curvature[0], 1e-300))),
        "smooth": f.loss != "hinge",
        "certificate": None if best is None else certified(proof),
        "rows": len(f.z),
    }


def descent(session: Session, state: State) -> dict[str, Any]:
    """The points of a descent with their losses."""
    f, _ = _surface(session, state)
    step = state.number("rate", 1.0, 1e-4, 100.0) / f.lipschitz()
    steps, seed = state.whole("steps", 60, 1, 1_000), state.whole("seed", 0, 0, 2**31 - 1)
    start = np.array(
        [State({"start": v}).number("start", 0.0, -1e150, 1e150) for v in state.items("start", 2)]
    )
    if len(start) != 2:
        best, _ = session.once(("minimum", _key(state)), f.minimum)
        start = _first(_box(f, best))
    one = state.choice("batch", ["all", "one"]) == "one"
    found = stochastic(f, start, step, steps, seed) if one else descend(f, start, step, steps)
    points, values, status = found
    known = np.isfinite(points).all(axis=1) & np.isfinite(values[: len(points)])
    last = int(np.argmin(known)) if not known.all() else len(known)
    return {
        "points": packed(points[:last], "float64"),
        "values": packed(values[:last], "float64"),
        "status": status,
        "step": step,
        "start": start.tolist(),
        "python": _python(session, state, f, start, step, one),
    }


def perceptron(session: Session, state: State) -> dict[str, Any]:
    """Updates one by one: the line after each, and the point of each mistake."""
    x, y, names, label = _classes(session, state)
    standardize = state.flag("standardize", True)
    z = x
    if standardize:
        z = Standardizer.from_rows(x, np.ones(len(x))).transform(x)
    found = perceptron_updates(z, y.astype(np.int64), EPOCHS, UPDATES)
    weights = found.weights
    if standardize:
        to = Standardizer.from_rows(x, np.ones(len(x)))
        slopes = weights[:, 1:] / to.scale
        weights = np.column_stack([weights[:, 0] - slopes @ to.mean, slopes])
    model = sx.Perceptron(order="given", max_epochs=EPOCHS, standardize=standardize)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(x, y)
    return {
        "places": packed(x, "float64"),
        "classes": packed(y.astype(int), "int32"),
        "box": frame(x).tolist(),
        "names": names,
        "label": label,
        "weights": packed(weights, "float64"),
        "wrong": packed(found.rows, "int32"),
        "epochs": packed(found.epochs, "int32"),
        "converged": found.converged,
        "cut": len(found.rows) >= UPDATES,
        "bound": finite(float(model.mistake_bound_)),
        "certificate": certified(model.certificate_),
        "python": "\n".join(
            [
                *_reading(session, state, names, label),
                f"model = sx.Perceptron(order='given', max_epochs={EPOCHS}, "
                f"standardize={standardize}).fit(X, y)",
                "print(model.mistakes_.sum(), model.mistake_bound_)",
            ]
        ),
    }


# -- rows ------------------------------------------------------------------------------------------


def _key(state: State) -> str:
    return repr([state.values.get(name) for name in SURFACE])


def _surface(session: Session, state: State) -> tuple[Surface, list[str]]:
    return session.once(("surface", _key(state)), lambda: _made(session, state))


def _made(session: Session, state: State) -> tuple[Surface, list[str]]:
    intercept = state.choice("terms", ["intercept", "two"]) == "intercept"
    loss = state.choice("loss", LOSSES)
    x, y, names, _ = _rows(session, state, loss == "squares", both=not intercept)
    made = surface(x, y, loss, intercept=intercept, standardize=state.flag("standardize", True))
    if not made.lipschitz() > 0.0:
        raise InputError(
            f"{' and '.join(names)} vary so little that their squares vanish.",
            remedy="Choose other columns, or multiply them by a power of ten.",
        )
    labels = (
        ["intercept", f"slope of {names[0]}"] if intercept else [f"slope of {n}" for n in names]
    )
    return made, labels


def _rows(
    session: Session, state: State, numbers: bool, *, both: bool
) -> tuple[Floats, NDArray[Any], list[str], str | None]:
    """Columns, target (numbers, or yes and no), their names, and the class that is "yes"."""
    table = session.table
    names = [state.choice("x", table.numbers)]
    if both:
        names.append(state.choice("y", table.numbers, table.numbers[-1]))
    target = _target(table, state)
    x, y = table.arrays(names, target)
    if len(x) < 3:
        raise InputError("fewer than three rows have no missing value.")
    if target not in table.classes:
        return x, y if numbers else y > np.median(y), names, None
    label = state.choice("label", table.classes[target])
    return x, (y == label).astype(float) if numbers else y == label, names, label


def _target(table: Table, state: State) -> str:
    """The target: classes, or numbers, which are compared with their median."""
    options = [*table.classes, *(n for n in table.numbers if n not in table.classes)]
    return state.choice("target", options, table.target)


def _classes(session: Session, state: State) -> tuple[Floats, NDArray[Any], list[str], str]:
    x, y, names, label = _rows(session, state, numbers=False, both=True)
    if not 0 < y.sum() < len(y):
        raise InputError("all points are of one class: a perceptron needs two.")
    return x, y, names, label if label is not None else "above the median"


def _box(f: Surface, best: Floats | None) -> Floats:
    """A rectangle about the minimum that shows the valley."""
    size = np.sqrt((f.z**2).mean(axis=0))
    spread = float(np.std(f.y)) / size if f.loss == "squares" else 3.0 / size
    center = np.zeros(2) if best is None else best
    half = 1.2 * (np.abs(center) + spread)
    return np.column_stack([center - half, center + half])


def _first(box: Floats) -> Floats:
    """Where a descent starts unless the hand puts it elsewhere."""
    return np.asarray(box[:, 0] + np.array([0.12, 0.85]) * (box[:, 1] - box[:, 0]))


# -- Python ----------------------------------------------------------------------------------------


def _reading(session: Session, state: State, names: list[str], label: str | None) -> list[str]:
    table = session.table
    target = _target(table, state)
    lines = ["import numpy as np", "import separatrix as sx"]
    lines += ["from separatrix.exploration import read_table", ""]
    lines.append(f"X, y = {table.source}.arrays({names!r}, {target!r})")
    if target in table.classes:
        return [*lines, f"y = y == {label!r}"]
    return [*lines, "y = y > np.median(y)"]


def _python(
    session: Session, state: State, f: Surface, start: Floats, step: float, one: bool
) -> str:
    intercept = state.choice("terms", ["intercept", "two"]) == "intercept"
    loss = state.choice("loss", LOSSES)
    _, _, names, label = _rows(session, state, loss == "squares", both=not intercept)
    lines = _reading(session, state, names, label)
    if loss == "squares":  # numbers as they are, classes as 1 and 0
        lines = lines[:-1] if label is None else [*lines, "y = y.astype(float)"]
    function = "stochastic" if one else "descend"
    seed = f", seed={state.whole('seed', 0, 0, 2**31 - 1)}" if one else ""
    lines[3:3] = [
        "from separatrix.exploration.views.descend.surface import surface",
        f"from separatrix.exploration.views.descend.steps import {function}",
    ]
    standardize = state.flag("standardize", True)
    lines += [
        f"f = surface(X, y, {loss!r}, intercept={intercept}, standardize={standardize})",
        f"points, values, status = {function}(f, {start.tolist()!r}, {step!r}, "
        f"{state.whole('steps', 60, 1, 1_000)}{seed})",
        f"model = sx.{f.optimum()[1]}.fit(f.z, f.y)",
        "print(status, points[-1], values[-1], model.coef_)",
    ]
    return "\n".join(lines)


QUESTIONS = {"shape": shape, "descent": descent, "perceptron": perceptron}
