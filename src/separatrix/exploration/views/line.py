"""Questions of the view: a model with its curve or field, and parameters learned from points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

import separatrix as sx
from separatrix.arrays import Floats
from separatrix.catalogue import REGRESSION
from separatrix.exploration import plots
from separatrix.exploration.points import most_correlated, numeric_target
from separatrix.exploration.session import Session
from separatrix.exploration.state import ViewState
from separatrix.exploration.table import PageTable
from separatrix.linear.inference import Summary
from separatrix.messages import InputError


def fit(session: Session, state: ViewState) -> dict[str, Any]:
    """Points after their edits, the model, what it predicts, and what one may say about it."""
    scene, model, text = _fit_line(session, state)
    name, summary = state.choice("model", plots.view_models(REGRESSION)), summary_of(model)
    pairs = isinstance(model, sx.NadarayaWatson | sx.GaussianProcessRegressor)
    places, grid = places_of(scene, state, pairs=pairs)
    row = state.whole("point", -1, -1, 10**9)
    # Points up to which the errors of a kernel smoother, sums over pairs, come with its curve.
    slow = isinstance(model, sx.NadarayaWatson) and len(scene.points) > 600
    curve = len(grid) == 1
    return {
        "points": {
            "x": plots.pack(scene.points.x, "float64"),
            "rows": plots.pack(scene.points.rows, "int32"),
        },
        "names": scene.names,
        "target": scene.target,
        "box": scene.box.tolist(),
        "grid": grid,
        "at": float(places[0, 1]) if curve and places.shape[1] == 2 else None,
        "values": plots.pack(model.predict(places), "float64"),
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
        "certificate": plots.certificate_state(getattr(model, "certificate_", None)),
        "note": _note(model, scene),
        "python": scene.python(text),
    }


def errors(session: Session, state: ViewState) -> dict[str, Any]:
    """Errors of a model for which they take longer than its picture."""
    scene, model, _ = _fit_line(session, state)
    return errors_of(model, scene, summary_of(model))


def learn(session: Session, state: ViewState) -> dict[str, Any]:
    """Parameters that the points choose themselves, for the sliders."""
    return learned_parameters(state, scene_of(session, state))


def _fit_line(session: Session, state: ViewState) -> tuple[Scene, Any, str]:
    scene = scene_of(session, state)
    if len(scene.points) < 3:
        raise InputError("fewer than three points are left.")
    model, text = model_of(session, state, scene)
    return scene, model.fit(scene.X, scene.y), text


def _least_squares(scene: Scene) -> dict[str, Any]:
    """The line of least squares, for comparison."""
    least_squares = sx.LinearRegression().fit(scene.X, scene.y)
    return {"coef": least_squares.coef_.tolist(), "intercept": float(least_squares.intercept_)}


def _bands(model: Any, places: Floats) -> list[dict[str, Any]]:
    """Bands of 95 %: where the curve lies, and where new points would."""
    if hasattr(model, "predictive"):
        ends = [model.predictive(places, include_noise=n).interval(0.95) for n in (False, True)]
    elif hasattr(model, "predict_interval"):
        try:
            kinds = ("confidence", "prediction")
            ends = [model.predict_interval(places, kind=kind) for kind in kinds]
        except InputError:  # no degrees of freedom, or columns that depend on each other
            return []
    else:
        return []
    return [
        {"low": plots.pack(e[:, 0], "float64"), "high": plots.pack(e[:, 1], "float64")}
        for e in ends
    ]


def _draws(model: Any, places: Floats, state: ViewState) -> list[Any]:
    """Functions drawn from the posterior; the seed is part of the state."""
    n, seed = state.whole("draws", 5, 0, 30), state.whole("seed", 0, 0, 10**6)
    if not isinstance(model, sx.GaussianProcessRegressor) or not n:
        return []
    draws = model.sample_y(places, n, random_state=seed, include_noise=False)
    return [plots.pack(draw, "float64") for draw in draws.T]


def _without(scene: Scene, model: Any, row: int, places: Floats) -> Any:
    refit = without(scene, model, row, places)
    return None if refit is None or not np.isfinite(refit).all() else plots.pack(refit, "float64")


def _note(model: Any, scene: Scene) -> str:
    """What was done that one would not see."""
    if isinstance(model, sx.GaussianProcessRegressor) and model.n_inducing is not None:
        return f"{INDUCING} inducing points stand for all {len(scene.points):,} points."
    return ""


QUESTIONS = {"fit": fit, "errors": errors, "learn": learn}


# -------------------------------------------------------------------------------------------------
# Models of the view: how the state becomes an estimator, and the line of Python that makes it.


#: Inducing points of a Gaussian process that follows the hand.
INDUCING = 64


def model_of(session: Session, state: ViewState, scene: Scene) -> plots.ChosenEstimator:
    """The estimator that the state names, and its call in Python."""
    models = plots.view_models(REGRESSION)
    name = state.choice("model", models)
    if name in PATHS:
        alpha = penalty(session, state, scene, name)
        return plots.make_estimator(models[name], alpha=alpha, standardize=True)
    return SLIDERS[name](state, scene) if name in SLIDERS else plots.make_plain(models[name])


def huber(state: ViewState, _: Scene) -> plots.ChosenEstimator:
    """Squares up to ε·σ, absolute values beyond."""
    return plots.make_estimator("HuberRegressor", epsilon=state.number("epsilon", 1.35, 1.0, 10.0))


def quantile(state: ViewState, _: Scene) -> plots.ChosenEstimator:
    """The line that a share τ of the points lies below; τ = ½ is least absolute deviations."""
    tau = state.number("quantile", 0.5, 0.01, 0.99)
    return plots.make_estimator("QuantileRegressor", quantile=tau, alpha=0.0)


def polynomial(state: ViewState, scene: Scene) -> plots.ChosenEstimator:
    """Least squares on all products of the columns up to a degree."""
    most = 12 if len(scene.names) == 1 else 5
    return plots.make_estimator("PolynomialRegression", degree=state.whole("degree", 3, 1, most))


def smoother(state: ViewState, _: Scene) -> plots.ChosenEstimator:
    """Means of all points with Gaussian weights."""
    h = state.number("bandwidth", 0.3, 0.005, 20.0)
    return plots.make_estimator("NadarayaWatson", bandwidth=h, standardize=True)


def process(state: ViewState, scene: Scene) -> plots.ChosenEstimator:
    """A Gaussian process with the hyperparameters of the sliders.

    Lengths are in standard deviations of the columns, signal and noise in those of the target.
    """
    scales = scene.before.x.std(axis=0)[:-1]
    names = ("length", "length2")[: len(scales)]
    lengths = tuple(
        float(f"{state.number(name, 1.0, 0.01, 1000.0) * scale:.6g}")
        for name, scale in zip(names, scales, strict=True)
    )
    signal = state.number("signal", 1.0, 0.01, 1000.0) ** 2
    noise = state.number("noise", 0.5, 0.001, 100.0) ** 2
    kernel = sx.Constant(signal) * sx.Gaussian(lengths) + sx.White(noise)
    text = f"sx.Constant({signal!r}) * sx.Gaussian({lengths!r}) + sx.White({noise!r})"
    given = {"optimizer": None, "normalize_y": True, **_inducing(len(scene.points))}
    model = sx.GaussianProcessRegressor(kernel, **given)
    return plots.ChosenEstimator(model, f"sx.GaussianProcessRegressor({text}, {_arguments(given)})")


def learned_parameters(state: ViewState, scene: Scene) -> dict[str, float]:
    """Parameters that the points themselves choose: by evidence, or by leave-one-out error."""
    if state.choice("model", ["process", "smoother"]) == "smoother":
        smooth = sx.NadarayaWatson("loo", standardize=True).fit(scene.X, scene.y)
        return {"bandwidth": _between(smooth.bandwidth_, 0.005, 20.0)}
    given = _inducing(len(scene.points))
    process = sx.GaussianProcessRegressor(normalize_y=True, **given).fit(scene.X, scene.y)
    kernel: Any = process.kernel_
    product, white = kernel.operands
    constant, gaussian = product.operands
    lengths = gaussian.bandwidth / scene.before.x.std(axis=0)[:-1]
    named = zip(("length", "length2"), lengths, strict=False)
    return {
        **{name: _between(value, 0.01, 1000.0) for name, value in named},
        "signal": _between(constant.constant**0.5, 0.01, 1000.0),
        "noise": _between(white.variance**0.5, 0.001, 100.0),
    }


#: Models with sliders, by their names in the view; those of a penalty follow its path.
SLIDERS: dict[str, Callable[[ViewState, Scene], plots.ChosenEstimator]] = {
    "huber": huber,
    "quantile": quantile,
    "polynomial": polynomial,
    "smoother": smoother,
    "process": process,
}


def _inducing(n: int) -> dict[str, Any]:
    return {} if n <= 600 else {"n_inducing": INDUCING}  # of more rows a fit is felt as a delay


def _between(value: float, low: float, high: float) -> float:
    return float(f"{min(max(value, low), high):.4g}")


def _arguments(given: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in given.items())


# -------------------------------------------------------------------------------------------------
# What the view looks at: points of one or two columns and a target, after their edits.


@dataclass(frozen=True)
class Scene:
    """Places (columns, then target) before and after the edits."""

    table: PageTable
    names: tuple[str, ...]
    target: str
    before: plots.PlotPoints
    points: plots.PlotPoints
    edits: Any

    @property
    def X(self) -> Floats:
        """The columns."""
        return np.ascontiguousarray(self.points.x[:, :-1])

    @property
    def y(self) -> Floats:
        """The target."""
        return np.ascontiguousarray(self.points.x[:, -1])

    @property
    def box(self) -> Floats:
        """The range of every column and of the target, with a margin; edits do not change it."""
        return plots.frame(self.before.x)

    def python(self, model: str) -> str:
        """The Python that makes the same model."""
        changes = plots.in_python(self.before, self.edits, len(self.table))
        if changes:  # an edit moves a point in its columns and its target at once
            changes = ["X = np.column_stack([X, y])", *changes, "X, y = X[:, :-1], X[:, -1]"]
        if self.target in self.table.classes:
            true = self.target in self.table.booleans
            changes = [
                "y = (y == 'True').astype(float)" if true else "y = y.astype(float)",
                *changes,
            ]
        lines = [*changes, f"model = {model}.fit(X, y)"]
        return plots.fitting(self.table, self.names, self.target, lines)


def scene_of(session: Session, state: ViewState) -> Scene:
    """The scene of a state: by default the column that correlates most with the target."""
    table = session.table
    if len(table.numbers) < 2:
        raise InputError(
            "a line needs two columns of numbers that vary.", remedy="Choose another view."
        )
    target = state.choice("target", table.numbers, numeric_target(table))
    others = [name for name in table.numbers if name != target]
    first = state.choice("x", others, most_correlated(table, others, target))
    second = state.choice("z", ["", *(name for name in others if name != first)])
    names = (first, second) if second else (first,)
    rows = table.complete((*names, target))
    places = table.matrix((*names, target))[rows]
    if len(places) < 3:
        raise InputError("fewer than three rows have values in all of these columns.")
    before = plots.PlotPoints(places, places[:, -1].copy(), rows)
    edits = state.items("edits")
    return Scene(table, names, target, before, plots.apply_edits(before, edits, len(table)), edits)


def places_of(scene: Scene, state: ViewState, *, pairs: bool) -> tuple[Floats, list[int]]:
    """Places at which predictions are drawn: along a line, or on a grid row by row from below.

    ``pairs`` says that a prediction sums over all points, so that a field of many is coarser.
    """
    (x0, x1), *_ = scene.box
    curve = 161  # places along a curve
    x = np.linspace(x0, x1, curve)
    if len(scene.names) == 1:
        return x[:, None], [curve]
    if state.choice("picture", ["field", "slice"]) == "slice":
        at = state.number("at", float(np.median(scene.before.x[:, 1])), -1e300, 1e300)
        return np.column_stack([x, np.full(curve, at)]), [curve]
    # Sums over pairs of a place and a point up to which a field is fine.
    field = (60, 45)  # columns and rows of a field
    many = pairs and field[0] * field[1] * len(scene.points) > 1_500_000
    # Columns and rows of a field whose every place is a sum over all points.
    shape = (32, 24) if many else field
    return plots.cells(scene.box[:2], shape), list(shape)


# -------------------------------------------------------------------------------------------------
# Numbers beside the picture: errors, coefficients, and the influence of single points.


def summary_of(model: Any) -> Summary | None:
    """Inference of least squares on columns or powers; None where it is not defined."""
    if not hasattr(model, "summary"):
        return None
    try:
        summary = model.summary()
    except InputError:  # another objective, or no degrees of freedom are left
        return None
    return summary if isinstance(summary, Summary) else None


def errors_of(model: Any, scene: Scene, summary: Summary | None) -> dict[str, Any]:
    """R², the root of the mean square error, and the same without each point, where closed."""
    y, total = scene.y, float(scene.y.var())
    if isinstance(model, sx.NadarayaWatson):
        fitted, left_out = _smooth_line(model, scene)
    else:
        fitted, left_out = model.predict(scene.X), _left_out(model, summary)
    square = float(np.mean((y - fitted) ** 2))
    return {
        "r2": plots.finite(1.0 - square / total) if total else None,
        "rmse": plots.finite(square**0.5),
        "loo": None if left_out is None else plots.finite(left_out**0.5),
    }


def _left_out(model: Any, summary: Summary | None) -> float | None:
    """Mean square error of the points by the fits without them."""
    if summary is not None:
        left = 1.0 - summary.leverage
        if left.min() <= 1e-12:
            return None
        return float(np.mean((summary.residuals / left) ** 2))
    if isinstance(model, sx.GaussianProcessRegressor) and model.n_inducing is None:
        left_out = model.leave_one_out()
        y = model.y_train_ * model.target_scale_[0] + model.target_mean_[0]
        return float(np.average((y - left_out.mean) ** 2, weights=left_out.weights))
    return None


def _smooth_line(model: Any, scene: Scene) -> tuple[Floats, float | None]:
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
        return [
            [_describe_model(name, scene), float(b), plots.finite(float(e))] for name, b, e in rows
        ]
    if not hasattr(model, "coef_"):
        return []
    terms = getattr(model, "term_names_", None)
    names = scene.names if terms is None else [_describe_model(term, scene) for term in terms]
    pairs = zip(
        ("intercept", *names), [*np.ravel(model.intercept_), *np.ravel(model.coef_)], strict=True
    )
    return [[name, float(b), None] for name, b in pairs]


def influence_of(summary: Summary | None) -> dict[str, Any] | None:
    """Cook's distances of all points."""
    if summary is None:
        return None
    return {
        "cooks": plots.pack(np.nan_to_num(summary.cooks_distance, nan=0.0, posinf=1e9), "float64")
    }


def point_of(scene: Scene, model: Any, summary: Summary | None, row: int) -> dict[str, Any] | None:
    """What is known of one point: its residual, leverage, Cook's and studentized residual."""
    indices = np.flatnonzero(scene.points.rows == row)
    if not len(indices):
        return None
    i = int(indices[0])
    residual = float(scene.y[i] - model.predict(scene.X[[i]])[0])
    known = {"row": row, "residual": plots.finite(residual)}
    if summary is None:
        return known
    return {
        **known,
        "leverage": plots.finite(float(summary.leverage[i])),
        "cooks": plots.finite(float(summary.cooks_distance[i])),
        "studentized": plots.finite(float(summary.external_residuals[i])),
    }


def without(scene: Scene, model: Any, row: int, places: Floats) -> Floats | None:
    """Predictions of the same model fitted to all other points."""
    others = scene.points.rows != row
    if others.all() or others.sum() < 3:
        return None
    other = clone(model).fit(scene.X[others], scene.y[others])
    return np.asarray(other.predict(places))


def _describe_model(name: str, scene: Scene) -> str:
    """x0^2 x1 → the names of the columns."""
    for i in range(len(scene.names)):
        name = name.replace(f"x{i}", f"\0{i}")
    for i, column in enumerate(scene.names):
        name = name.replace(f"\0{i}", column)
    return name


# -------------------------------------------------------------------------------------------------
# Paths of ridge and lasso over the penalty, sent once: the slider stands on their points.


#: Name → its path.
PATHS: dict[str, Any] = {"ridge": sx.RidgePath, "lasso": sx.LassoPath}


def penalties(session: Session, scene: Scene, name: str) -> tuple[Floats, float]:
    """Penalties of the slider, and where it starts: edits of points change neither.

    It starts where a quarter of the largest penalty's effect is seen, not at the optimum, which
    for one column is hardly any penalty.
    """

    def compute() -> tuple[Floats, float]:
        places = scene.before.x
        path = PATHS[name](standardize=True).fit(places[:, :-1], places[:, -1])
        alphas = np.array([float(f"{alpha:.6g}") for alpha in np.sort(path.alphas_)])
        top = len(places) if name == "ridge" else float(path.alphas_.max())
        return alphas, float(alphas[np.argmin(np.abs(np.log(alphas / (0.25 * top))))])

    return session.once(("line penalties", name, scene.names, scene.target), compute)


def penalty(session: Session, state: ViewState, scene: Scene, name: str) -> float:
    """α of the state, or where its slider starts."""
    return state.number(name, penalties(session, scene, name)[1], 1e-300, 1e300)


def path_of(session: Session, scene: Scene, name: str) -> dict[str, Any]:
    """Coefficients, errors and duality gaps at every penalty of the slider."""
    alphas, start = penalties(session, scene, name)
    path = PATHS[name](alphas, standardize=True).fit(scene.X, scene.y)
    order = np.argsort(path.alphas_)
    coefs, intercepts = path.coefs_[order], path.intercepts_[order]
    residuals = scene.y[:, None] - scene.X @ coefs.T - intercepts
    squares = (residuals**2).mean(axis=0)
    found = {
        "alphas": alphas.tolist(),
        "start": start,
        "coefs": plots.pack(coefs, "float64"),
        "intercepts": plots.pack(intercepts, "float64"),
        "rmse": plots.pack(np.sqrt(squares), "float64"),
        "r2": plots.pack(1.0 - squares / max(scene.y.var(), np.finfo(float).tiny), "float64"),
        "freedom": plots.pack(path.degrees_of_freedom_[order], "float64"),
        "gap": plots.finite(float(np.max(path.gaps_))),
    }
    if name == "ridge":
        found["gcv"] = plots.pack(np.sqrt(path.gcv_[order]), "float64")
    return found
