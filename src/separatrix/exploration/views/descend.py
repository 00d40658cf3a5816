"""Questions of the view: a surface with its minimum, a descent on it, and a perceptron."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

import separatrix as sx
from separatrix.arrays import Floats, Ints, NDArray
from separatrix.exploration import plots
from separatrix.exploration.session import Session
from separatrix.exploration.state import ViewState
from separatrix.exploration.table import PageTable
from separatrix.messages import InputError
from separatrix.optimize.convex import Hinge
from separatrix.optimize.descent import gradient_descent
from separatrix.perceptron.perceptron import (
    PerceptronRows,
    PerceptronState,
    TrainingOptions,
    epoch_orders,
)
from separatrix.statistics.moments import Standardizer

SURFACE = ("loss", "terms", "x", "y", "target", "label", "standardize")


def shape(session: Session, state: ViewState) -> dict[str, Any]:
    """The surface on a grid, its minimum with the certificate, and the step that diverges."""
    f, names = _surface(session, state)
    best, proof = session.once(("minimum", _key(state)), f.minimum)
    box = _box(f, best)
    curvature = np.linalg.eigvalsh(f.hessian(np.zeros(2) if best is None else best))
    grid = 72, 54  # columns and rows of the grid of a surface
    return {
        "names": names,
        "box": box.tolist(),
        "grid": grid,
        "values": plots.pack(f.values(plots.cells(box, grid)), "float64"),
        "best": None if best is None else best.tolist(),
        "least": None if best is None else f.value(best),
        "lipschitz": f.lipschitz(),
        "condition": plots.finite(float(curvature[-1] / max(curvature[0], 1e-300))),
        "smooth": f.loss != "hinge",
        "certificate": None if best is None else plots.certificate_state(proof),
        "rows": len(f.z),
        "data": _data(session, state, f) if _is_line(state) else None,
    }


def _data(session: Session, state: ViewState, f: Surface) -> dict[str, Any]:
    """One column with its target, and what standardizes it: the line b₀ + b₁ (x − mean)/scale."""
    x, _, names, label = _rows(session, state, f.loss == "squares", both=False)
    to = Standardizer.from_rows(x, np.ones(len(x)))
    standardize = state.flag("standardize", True)
    target = _target(session.table, state)
    name = target if f.loss == "squares" else f"{target} above its median"
    low, high = float(f.y.min()), float(f.y.max())
    return {
        "x": plots.pack(x[:, 0], "float64"),
        "y": plots.pack(f.y, "float64"),
        "mean": float(to.mean[0]) if standardize else 0.0,
        "scale": float(to.scale[0]) if standardize else 1.0,
        "box": [plots.frame(x)[0].tolist(), [low, high]],
        "names": [names[0], name if label is None else label],
        "classes": label is not None or f.loss != "squares",
    }


def descent(session: Session, state: ViewState) -> dict[str, Any]:
    """The points of a descent with their losses."""
    f, _ = _surface(session, state)
    step = state.number("rate", 1.0, 1e-4, 100.0) / f.lipschitz()
    steps, seed = state.whole("steps", 60, 1, 1_000), state.whole("seed", 0, 0, 2**31 - 1)
    start = np.array(
        [
            ViewState({"start": v}).number("start", 0.0, -1e150, 1e150)
            for v in state.items("start", 2)
        ]
    )
    if len(start) != 2:
        best, _ = session.once(("minimum", _key(state)), f.minimum)
        start = _first(_box(f, best))
    single = state.choice("batch", ["all", "one"]) == "one"
    descended = (
        stochastic(f, start, step, steps, seed) if single else descend(f, start, step, steps)
    )
    points, values, status = descended
    known = np.isfinite(points).all(axis=1) & np.isfinite(values[: len(points)])
    last = int(np.argmin(known)) if not known.all() else len(known)
    return {
        "points": plots.pack(points[:last], "float64"),
        "values": plots.pack(values[:last], "float64"),
        "status": status,
        "step": step,
        "start": start.tolist(),
        "python": _python(session, state, f, start, step, single),
    }


def perceptron(session: Session, state: ViewState) -> dict[str, Any]:
    """Updates one by one: the line after each, and the point of each mistake."""
    x, y, names, label = _classes(session, state)
    standardize = state.flag("standardize", True)
    z = x
    if standardize:
        z = Standardizer.from_rows(x, np.ones(len(x))).transform(x)
    epochs = 40  # epochs of a perceptron at most
    most_updates = 400  # updates of a perceptron at most
    updates = perceptron_updates(z, y.astype(np.int64), epochs, most_updates)
    weights = updates.weights
    if standardize:
        to = Standardizer.from_rows(x, np.ones(len(x)))
        slopes = weights[:, 1:] / to.scale
        weights = np.column_stack([weights[:, 0] - slopes @ to.mean, slopes])
    model = sx.Perceptron(order="given", max_epochs=epochs, standardize=standardize)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(x, y)
    return {
        "places": plots.pack(x, "float64"),
        "classes": plots.pack(y.astype(int), "int32"),
        "box": plots.frame(x).tolist(),
        "names": names,
        "label": label,
        "weights": plots.pack(weights, "float64"),
        "wrong": plots.pack(updates.rows, "int32"),
        "epochs": plots.pack(updates.epochs, "int32"),
        "converged": updates.converged,
        "cut": len(updates.rows) >= most_updates,
        "bound": plots.finite(float(model.mistake_bound_)),
        "certificate": plots.certificate_state(model.certificate_),
        "python": "\n".join(
            [
                *_reading(session, state, names, label),
                f"model = sx.Perceptron(order='given', max_epochs={epochs}, "
                f"standardize={standardize}).fit(X, y)",
                "print(model.mistakes_.sum(), model.mistake_bound_)",
            ]
        ),
    }


# -- rows ------------------------------------------------------------------------------------------


def _key(state: ViewState) -> str:
    return repr([state.values.get(name) for name in SURFACE])


def _is_line(state: ViewState) -> bool:
    """Whether the coefficients are an intercept and the slope of one column."""
    return state.choice("terms", ["intercept", "two"]) == "intercept"


def _surface(session: Session, state: ViewState) -> tuple[Surface, list[str]]:
    return session.once(("surface", _key(state)), lambda: _made(session, state))


def _made(session: Session, state: ViewState) -> tuple[Surface, list[str]]:
    intercept = _is_line(state)
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
    session: Session, state: ViewState, numbers: bool, *, both: bool
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


def _target(table: PageTable, state: ViewState) -> str:
    """The target: classes, or numbers, which are compared with their median."""
    options = [*table.classes, *(n for n in table.numbers if n not in table.classes)]
    return state.choice("target", options, table.target)


def _classes(session: Session, state: ViewState) -> tuple[Floats, NDArray[Any], list[str], str]:
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


def _reading(session: Session, state: ViewState, names: list[str], label: str | None) -> list[str]:
    table = session.table
    target = _target(table, state)
    lines = ["import numpy as np", "import separatrix as sx"]
    reading = plots.read_arrays(table, names, target)
    if "read_table" in reading[0]:
        lines.append("from separatrix.exploration import read_table")
    lines += ["", *reading]
    if target in table.classes:
        return [*lines, f"y = y == {label!r}"]
    return [*lines, "y = y > np.median(y)"]


def _python(
    session: Session, state: ViewState, f: Surface, start: Floats, step: float, single: bool
) -> str:
    intercept = _is_line(state)
    loss = state.choice("loss", LOSSES)
    _, _, names, label = _rows(session, state, loss == "squares", both=not intercept)
    lines = _reading(session, state, names, label)
    if loss == "squares":  # numbers as they are, classes as 1 and 0
        lines = lines[:-1] if label is None else [*lines, "y = y.astype(float)"]
    function = "stochastic" if single else "descend"
    seed = f", seed={state.whole('seed', 0, 0, 2**31 - 1)}" if single else ""
    lines[3:3] = [
        "from separatrix.exploration.views.descend import surface",
        f"from separatrix.exploration.views.descend import {function}",
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


# -------------------------------------------------------------------------------------------------
# A loss of two coefficients, over rows of two features.
#
#     squares   ½ mean (y − z·b)²
#     logistic  mean ln(1 + e^{−y z·b})
#     hinge     mean max(0, 1 − y z·b) + ½ λ ‖b‖²
#
# The features are 1 and a column (intercept and slope), or two columns and no intercept.


LOSSES = ("squares", "logistic", "hinge")

#: λ of the hinge loss, without which its minimum need not be at one place.
PENALTY = 0.01


@dataclass(frozen=True)
class Surface:
    """f(b) with its gradient, for ``separatrix.optimize.descent``."""

    z: Floats
    y: Floats
    loss: str

    def values(self, b: Floats) -> Floats:
        """f at many points (m × 2)."""
        score = self.z @ b.T
        if self.loss == "squares":
            return np.asarray(0.5 * ((self.y[:, None] - score) ** 2).mean(axis=0))
        margin = self.y[:, None] * score
        if self.loss == "logistic":
            return np.asarray(np.logaddexp(0.0, -margin).mean(axis=0))
        return np.asarray(Hinge().value(margin).mean(axis=0) + 0.5 * PENALTY * (b**2).sum(axis=1))

    def value(self, b: Floats) -> float:
        """f(b)."""
        return float(self.values(np.asarray(b)[None])[0])

    def gradient(self, b: Floats) -> Floats:
        """∇f(b); of the hinge loss, a subgradient."""
        return self.part(b, np.arange(len(self.z)))

    def part(self, b: Floats, rows: Any) -> Floats:
        """The gradient of the mean over some rows."""
        z, y = self.z[rows], self.y[rows]
        score = z @ b
        if self.loss == "squares":
            return np.asarray(z.T @ (score - y) / len(z))
        if self.loss == "logistic":
            return np.asarray(-z.T @ (y * expit(-y * score)) / len(z))
        return np.asarray(z.T @ (y * Hinge().gradient(y * score)) / len(z) + PENALTY * b)

    def hessian(self, b: Floats) -> Floats:
        """∇²f(b), where the loss has one."""
        weight = np.ones(len(self.z))
        if self.loss == "logistic":
            p = expit(self.z @ b)
            weight = p * (1 - p)
        return np.asarray((self.z.T * weight) @ self.z / len(self.z))

    def lipschitz(self) -> float:
        """L, the largest eigenvalue of the Hessian anywhere: ¼ of that of squares for logistic."""
        largest = float(np.linalg.eigvalsh(self.z.T @ self.z / len(self.z))[-1])
        return 0.25 * largest if self.loss == "logistic" else largest

    def optimum(self) -> tuple[Any, str]:
        """The estimator at the minimum, and its Python; it warns where there is none."""
        if self.loss == "squares":
            return sx.LinearRegression(fit_intercept=False), "LinearRegression(fit_intercept=False)"
        if self.loss == "logistic":
            model: Any = sx.LogisticRegression(C=np.inf, fit_intercept=False)
            return model, "LogisticRegression(C=np.inf, fit_intercept=False)"
        c = 1.0 / (PENALTY * len(self.z))
        model = sx.LinearSVC(loss="hinge", C=c, fit_intercept=False)
        return model, f"LinearSVC(loss='hinge', C={c!r}, fit_intercept=False)"

    def minimum(self) -> tuple[Floats | None, Any]:
        """b* and its certificate; None where the classes are separable, and b grows for ever."""
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            model = self.optimum()[0].fit(self.z, self.y)
        b = np.ravel(model.coef_).astype(float)
        endless = self.loss == "logistic" and bool(raised)
        return (None if endless or not np.isfinite(b).all() else b), model.certificate_


def surface(
    X: Any, y: Any, loss: str = "squares", *, intercept: bool = True, standardize: bool = True
) -> Surface:
    """The surface of a table: ``y`` is numbers for squares, and yes or no for other losses.

    Without an intercept columns are centered, and so are numbers ``y``.

    Examples
    --------
    >>> from separatrix.exploration.views.descend import surface
    >>> found = surface([[0.0], [1.0], [3.0]], [1.0, 3.0, 7.0], standardize=False)
    >>> found.minimum()[0].round(6).tolist()
    [1.0, 2.0]
    """
    x, target = np.asarray(X, dtype=float), np.asarray(y)
    if target.dtype == bool and not 0 < target.sum() < len(target):
        raise InputError("all rows are on one side: a loss of classes needs both.")
    target = np.where(target, 1.0, -1.0) if target.dtype == bool else target.astype(float)
    if standardize:
        x = Standardizer.from_rows(x, np.ones(len(x))).transform(x)
    if intercept:
        z = np.column_stack([np.ones(len(x)), x[:, 0]])
    else:
        z = x - x.mean(axis=0)
        target = target - target.mean() if loss == "squares" else target
    return Surface(np.ascontiguousarray(z), target, loss)


# -------------------------------------------------------------------------------------------------
# Steps down a surface, and the updates of a perceptron, one by one.


def descend(f: Surface, start: Floats, step: float, steps: int) -> tuple[Floats, Floats, str]:
    """Points, values and status of gradient descent with a constant step."""
    points: list[Floats] = []

    def record(b: Floats, _: float) -> bool:
        points.append(b.copy())
        return False

    with np.errstate(over="ignore", invalid="ignore"):
        descended = gradient_descent(
            f, start, step=step, tol=1e-10, max_iter=steps, callback=record
        )
    return np.array(points), np.asarray(descended.history), str(descended.status)


def stochastic(
    f: Surface, start: Floats, step: float, steps: int, seed: int
) -> tuple[Floats, Floats, str]:
    """The same with the gradient of one row a step, drawn anew in every pass over the rows."""
    rng, b = np.random.default_rng(seed), np.array(start, dtype=float)
    points, order = [b], np.zeros(0, dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(steps):
            order = rng.permutation(len(f.z)) if not len(order) else order
            b, order = b - step * f.part(b, order[:1]), order[1:]
            points.append(b)
        path = np.array(points)
        values = f.values(path)
    return path, values, "diverged" if not values[-1] <= 10 * values[0] else "limit reached"


@dataclass(frozen=True)
class Updates:
    """Weights (intercept first) after each update, the row of each mistake, and its epoch."""

    weights: Floats
    rows: Ints
    epochs: Ints
    converged: bool


def perceptron_updates(x: Floats, positive: Ints, epochs: int, most: int) -> Updates:
    """Updates of ``Perceptron(order="given", max_epochs=epochs)``, at most so many of them."""
    n, d = x.shape
    rows = PerceptronRows(
        np.ascontiguousarray(x), positive, np.array([1]), np.ones(n), constant=True
    )
    zero = np.zeros((1, 1 + d))
    rows.start(PerceptronState(zero, zero, 0))
    weights = [zero[0].copy()]
    wrong: list[int] = []
    when: list[int] = []
    streak, longest = np.zeros(1, np.int64), np.full(1, np.iinfo(np.int64).max)
    for epoch, order in enumerate(epoch_orders(TrainingOptions(max_epochs=epochs), n, None), 1):
        before = len(wrong)
        for i in order:
            count = np.zeros(1, np.int64)
            rows.run_epoch(np.array([i]), count, streak, longest, np.zeros(3, np.int64))
            if count[0]:
                weights.append(rows.w[0].copy())
                wrong.append(int(i))
                when.append(epoch)
            if len(wrong) >= most:
                return Updates(np.array(weights), np.array(wrong), np.array(when), False)
        if len(wrong) == before:
            return Updates(np.array(weights), np.array(wrong), np.array(when), True)
    return Updates(np.array(weights), np.array(wrong), np.array(when), False)
