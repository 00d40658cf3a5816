"""Decision surface of a classifier on a plane, with rows and classes projected onto it.

The utility of a prediction is on a scale on which boundaries of linear models are straight: log
probability, score, or minus log expected cost. The prediction of largest utility is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.arrays import Floats, NDArray
from separatrix.geometry.discriminant_plane import DiscriminantPlane, discriminant_plane
from separatrix.geometry.normal import MultivariateNormal
from separatrix.messages import InputError
from separatrix.probability.costs import Costs
from separatrix.rows.schema import unit_weights

MOST_DOTS = 5_000


_LEAST = 1e-12


@dataclass(frozen=True)
class DecisionSurface:
    """``utility[i, j, a]`` of prediction a (a class, or last a rejection) at (x[j], y[i]).

    ``dots`` (m x 2) are projected rows with their true class and the prediction of the whole row;
    ``normals`` are the classes on the plane. ``agreement`` is the fraction of dots for which the
    surface predicts the same as the model does for the row itself. ``fixed`` names columns without
    numbers, and the level at which they are fixed.
    """

    plane: DiscriminantPlane
    classes: tuple[str, ...]
    x: Floats
    y: Floats
    utility: NDArray[np.float32]
    dots: NDArray[np.float32]
    truth: NDArray[np.int64]
    called: NDArray[np.int64]
    normals: tuple[MultivariateNormal | None, ...]
    agreement: float
    fixed: tuple[str, ...] = ()
    rejected: float = 0.0

    @property
    def rejects(self) -> bool:
        """Whether rows may be rejected."""
        return int(self.utility.shape[2]) > len(self.classes)


def utilities(model: Any, rows: Any) -> Floats:
    """Utility of each prediction for each row: a column for each class, and one for rejection."""
    from sklearn.utils.validation import _check_response_method

    from separatrix.probability.costs import RejectOption
    from separatrix.probability.multiclass import BinaryEnsemble  # compiles, unlike the surface

    if isinstance(model, RejectOption):
        return _minus_cost(model.costs_, model.predict_proba(rows))
    if isinstance(model, BinaryEnsemble) and model.reject:
        predicted = _by_prediction(model, rows)
        return np.column_stack([predicted, 1.0 - predicted.sum(axis=1)])
    methods = ["predict_proba", "decision_function", "predict"]
    response = _check_response_method(model, methods)
    if response.__name__ == "predict":
        return _by_prediction(model, rows)
    values = np.asarray(response(rows), dtype=float)
    if response.__name__ == "predict_proba":
        return np.asarray(np.log(np.maximum(values, _LEAST)))
    k = len(model.classes_)
    if k == 2:
        score = values.reshape(len(values), -1)[:, -1]
        return np.column_stack([-score, score])
    return values if values.shape[1] == k else _by_prediction(model, rows)


def _minus_cost(costs: Costs, p: Floats) -> Floats:
    """Minus the logarithm of the expected cost of each decision; minus the cost if any is < 0."""
    expected = costs.expected(p)
    if costs.reject_cost is not None:
        expected = np.column_stack([expected, p @ costs.reject_cost])
    if expected.min(initial=0.0) < 0:
        return np.asarray(-expected)
    return np.asarray(-np.log(np.maximum(expected, _LEAST)))


def _by_prediction(model: Any, rows: Any) -> Floats:
    """1 for the predicted class, 0 for the others."""
    predicted = np.array([str(label) for label in model.predict(rows)])
    classes = np.array([str(label) for label in model.classes_])
    return np.asarray(predicted[:, None] == classes, dtype=float)


def decision_surface(
    trained: tuple[Floats, NDArray[np.intp], Floats | None],
    shown: tuple[Floats, NDArray[np.intp]],
    utility_at: Callable[[Floats], Floats],
    called: NDArray[np.intp],
    classes: tuple[str, ...],
    *,
    names: tuple[str, ...] = (),
    fixed: tuple[str, ...] = (),
) -> DecisionSurface:
    """The discriminant plane of the rows ``trained`` (numbers, class codes, weights) as a surface.

    ``utility_at`` gives the utility of every prediction at numeric rows; ``called`` are the
    predictions of the rows ``shown``. A class code outside ``classes`` (absent from training) is
    not drawn.
    """
    x, codes, w = trained
    most_classes = 10  # more classes cannot be distinguished in one picture
    if not 2 <= len(classes) <= most_classes:
        raise InputError(
            f"The boundary is drawn for 2 to {most_classes} classes; there are {len(classes)}."
        )
    plane = discriminant_plane(x, codes, w, names=names)
    normals = _normals(plane.transform(x), codes, w, len(classes))
    some = _thin(np.flatnonzero(shown[1] < len(classes)))
    dots, truth = plane.transform(shown[0][some]), shown[1][some]
    across, up = _window(dots, normals)
    utility = on_grid(across, up, lambda at: utility_at(plane.inverse_transform(at)))
    on_plane = (
        utility_at(plane.inverse_transform(dots)).argmax(axis=1) if len(dots) else np.zeros(0)
    )
    answers = np.asarray(called)[some]
    same = float(np.mean(on_plane == answers)) if len(dots) else float("nan")
    return DecisionSurface(
        plane=plane,
        classes=classes,
        x=across,
        y=up,
        utility=utility.astype(np.float32),
        dots=dots.astype(np.float32),
        truth=truth.astype(np.int64),
        called=answers.astype(np.int64),
        normals=normals,
        agreement=same,
        fixed=fixed,
        rejected=float(np.mean(answers == len(classes))) if len(dots) else 0.0,
    )


@dataclass(frozen=True)
class DecisionFunctionSurface:
    """The decision function of two classes on a plane: ``values[i, j]`` at (x[j], y[i]).

    ``points`` (n x 2) are rows in the coordinates of the plane, ``names`` its axes. ``projected``
    says that the rows have more than these two columns; ``fixed`` what other columns are set to.
    """

    points: Floats
    x: Floats
    y: Floats
    values: Floats
    names: tuple[str, str]
    projected: bool
    fixed: tuple[str, ...] = ()


def decision_function_surface(
    x: Floats,
    codes: NDArray[np.intp],
    decision_function: Callable[[Floats], Floats],
    *,
    w: Floats | None = None,
    names: tuple[str, ...] = (),
    fixed: tuple[str, ...] = (),
) -> DecisionFunctionSurface:
    """Evaluate a decision function on two columns, or on the discriminant plane of more.

    ``fixed`` columns make a projection of any table; two varying columns are needed at least.
    """
    plane = discriminant_plane(x, codes, w, names=names)
    projected = x.shape[1] > 2 or bool(fixed)
    points = plane.transform(x) if projected else x
    low, high = points.min(axis=0), points.max(axis=0)
    pad = 0.06 * (high - low)
    # Points of the grid of regions, across and up.
    columns, rows = (
        np.linspace(low[i] - pad[i], high[i] + pad[i], size) for i, size in enumerate((80, 60))
    )
    values = on_grid(
        columns,
        rows,
        lambda at: decision_function(plane.inverse_transform(at) if projected else at),
    )
    if projected:
        axes = [f"mostly {', '.join(plane.top_columns(i))}" for i in (0, 1)]
    else:
        axes = list(names) or ["x0", "x1"]
    return DecisionFunctionSurface(
        points, columns, rows, values, (axes[0], axes[1]), projected, fixed
    )


def on_grid(x: Floats, y: Floats, evaluate: Callable[[Floats], Floats]) -> Floats:
    """Values of a function at the points (x[j], y[i]) of a grid: an array (len(y), len(x), …)."""
    points = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    values = np.asarray(evaluate(points), dtype=float)
    return values.reshape(len(y), len(x), *values.shape[1:])


def _thin(positions: NDArray[np.intp]) -> NDArray[np.intp]:
    """At most ``MOST_DOTS`` positions, evenly spaced."""
    if positions.size <= MOST_DOTS:
        return positions
    return positions[np.linspace(0, positions.size - 1, MOST_DOTS).round().astype(np.intp)]


def _normals(
    c: Floats, codes: NDArray[np.intp], w: Floats | None, k: int
) -> tuple[MultivariateNormal | None, ...]:
    """A normal distribution for each class on the plane; None for fewer than three rows."""
    multivariate_normals: list[MultivariateNormal | None] = []
    for label in range(k):
        class_centers = c[codes == label]
        own_w = unit_weights(None if w is None else w[codes == label], len(class_centers))
        if len(class_centers) < 3 or own_w.sum() <= 2:
            multivariate_normals.append(None)
            continue
        mean = np.average(class_centers, axis=0, weights=own_w)
        rest = class_centers - mean
        covariance = (rest * own_w[:, None]).T @ rest / (own_w.sum() - 1.0)
        multivariate_normals.append(MultivariateNormal(mean, 0.5 * (covariance + covariance.T)))
    return tuple(multivariate_normals)


def _window(dots: Floats, normals: tuple[MultivariateNormal | None, ...]) -> tuple[Floats, Floats]:
    """A window that shows the classes and all but the outermost dots."""
    low, high = np.full(2, np.inf), np.full(2, -np.inf)
    for normal in normals:
        if normal is not None:
            # Standard deviations about the mean of each class that the window holds.
            reach = 2.4 * np.sqrt(np.diag(normal.covariance))
            low, high = np.minimum(low, normal.mean - reach), np.maximum(high, normal.mean + reach)
    if len(dots):
        inner = np.quantile(dots, [0.005, 0.995], axis=0)
        low, high = np.minimum(low, inner[0]), np.maximum(high, inner[1])
    if not np.isfinite(low).all():
        raise InputError("There are too few rows to draw the boundary between classes.")
    pad = 0.04 * (high - low) + 1e-9
    low, high = low - pad, high + pad
    grid = (64, 48)  # points of the grid, across and up
    return np.linspace(low[0], high[0], grid[0]), np.linspace(low[1], high[1], grid[1])
