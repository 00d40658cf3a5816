"""Questions of the view: a model with its values on a grid of the plane, and its whole path."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

import separatrix as sx
from separatrix.arrays import Floats, Ints
from separatrix.catalogue import CLASSIFICATION
from separatrix.exploration import plots
from separatrix.exploration.session import Session
from separatrix.exploration.state import ViewState
from separatrix.exploration.table import PageTable
from separatrix.geometry.discriminant_plane import discriminant_plane
from separatrix.geometry.normal import MultivariateNormal
from separatrix.hypotheses.version_space import Box
from separatrix.kernels import Constant, Gaussian
from separatrix.messages import InputError
from separatrix.selection.leave_one_out import leave_one_out_fits
from separatrix.statistics.moments import Standardizer
from separatrix.svm.path import SVMTrace


def fit(session: Session, state: ViewState) -> dict[str, Any]:
    """Points after their edits, the model, its values on the grid, its errors and certificate."""
    shown = picture(session, state)
    points, labels = shown.points, shown.labels
    models = plots.view_models(CLASSIFICATION)
    name = state.choice("model", models, "svm")
    choice = SLIDERS[name](state, points.x) if name in SLIDERS else plots.make_plain(models[name])
    model = choice.estimator.fit(points.x, points.y)
    index = [labels.index(label) for label in model.classes_.tolist()]
    return {
        "points": {
            "x": plots.pack(points.x, "float64"),
            "rows": plots.pack(points.rows, "int32"),
            "groups": plots.pack([labels.index(label) for label in points.y], "int32"),
        },
        "labels": labels,
        "axes": shown.axes,
        "projected": shown.projected,
        "box": shown.box.tolist(),
        "grid": shown.grid,
        "classes": index,
        "field": _field(model, shown),
        "error": float(np.mean(model.predict(points.x) != points.y)),
        "without": _without(model, points.x, points.y),
        "outlines": _outlines(model, shown),
        "certificate": plots.certificate_state(model.certificate_),
        "python": shown.python(choice.text),
    }


def _field(model: Any, shown: Picture) -> dict[str, Any]:
    """Values at the cells: probabilities, scores of classes or of pairs, or classes alone."""
    if hasattr(model, "predict_proba"):
        return {"kind": "probabilities", "values": plots.pack(model.predict_proba(shown.cells).T)}
    if hasattr(model, "decision_function") and not hasattr(model, "spaces_"):  # boxes have steps
        return _scores(model, shown)
    codes = {label: i for i, label in enumerate(model.classes_.tolist())}
    predicted = [codes[label] for label in model.predict(shown.cells).tolist()]
    return {"kind": "classes", "values": plots.pack(predicted, "uint8")}


def _scores(model: Any, shown: Picture) -> dict[str, Any]:
    """f of every pair of classes, positive for the first of the pair; support vectors of each."""
    k, pairwise = len(model.classes_), "decision_function_shape" in model.get_params(deep=False)
    if pairwise:
        model.set_params(decision_function_shape="ovo")
    values = np.asarray(model.decision_function(shown.cells)).reshape(len(shown.cells), -1)
    if k == 2:
        values, pairs = values[:, -1:], [(1, 0)]
    elif pairwise:
        pairs = list(combinations(range(k), 2))
    else:
        return {"kind": "scores", "values": plots.pack(values.T)}
    found = {"kind": "pairs", "pairs": pairs, "values": plots.pack(values.T)}
    if not pairwise:
        return found
    support = [[int(row) for row in shown.points.rows[svm.support]] for svm in model.svms_]
    return {**found, "support": support}


def _without(model: Any, x: Floats, y: Any) -> dict[str, Any] | None:
    """The leave-one-out error where a closed form exists; of an SVM a bound."""
    if hasattr(model, "svms_") and not hasattr(model, "tune"):  # C does not depend on the row
        return {"name": "Leave-one-out error, at most", "value": len(model.support_) / len(y)}
    if hasattr(model, "n_neighbors_"):
        k = model.n_neighbors_
        if k >= len(y):
            return None
        error = float(model.leave_one_out(k).error[k - 1])
        return {"name": "Leave-one-out error", "value": error}
    fits = leave_one_out_fits(model, x, y, None)
    if fits is None:
        return None
    wrong = model.classes_[fits.own.argmax(axis=1)] != y
    return {"name": "Leave-one-out error", "value": plots.finite(float(wrong.mean()))}


def _outlines(model: Any, shown: Picture) -> dict[str, Any]:
    """Ellipses of normal classes, boxes S and G, or cells of points and exemplars."""
    if hasattr(model, "normals_"):
        return {"ellipses": ellipses(model.normals_)}
    if hasattr(model, "boxes_") and isinstance(model.boxes_[0], Box):
        return {"boxes": box_outlines(model, shown.box)}
    if hasattr(model, "n_neighbors_"):
        mean, scale = model.standardizer_.mean, model.standardizer_.scale
        return {"cells": cells(model.points_, model.codes_, mean, scale)}
    return {}


def path(session: Session, state: ViewState) -> dict[str, Any]:
    """The whole path of the model's slider; nothing where it has none, or one too long."""
    shown = picture(session, state)
    name = state.choice("model", plots.view_models(CLASSIFICATION), "svm")
    return {"path": PATHS[name](shown, state) if name in PATHS else None}


QUESTIONS = {"fit": fit, "path": path}


# -------------------------------------------------------------------------------------------------
# Models of the view: how the state becomes an estimator, and the line of Python that makes it.
#
# Lengths (bandwidths, distances of neighbors) are in standard deviations of the columns, and
# penalties are on standardized columns, so that no picture depends on units.


#: Values of C between which the slider goes.
COSTS = 1e-2, 1e2
#: Neighbors at most.
NEIGHBORS = 50


def svm(state: ViewState, _: Floats) -> plots.ChosenEstimator:
    """min ½‖w‖² + C Σ max(0, 1 − y f), with a Gaussian or a linear kernel."""
    kernel = state.choice("kernel", ["rbf", "linear"])
    gamma = {"gamma": _gamma(_bandwidth(state))} if kernel == "rbf" else {}
    return plots.make_estimator("SVC", kernel=kernel, C=_cost(state), **gamma, standardize=True)


def logistic(state: ViewState, _: Floats) -> plots.ChosenEstimator:
    """min (1 − ρ)/2 ‖w‖² + ρ ‖w‖₁ + C Σ ln(1 + e^{−y f})."""
    ratio = state.number("l1", 0.0, 0.0, 1.0)
    return plots.make_estimator(
        "LogisticRegression", C=_cost(state), l1_ratio=ratio, standardize=True
    )


def regularized_discriminant(state: ViewState, _: Floats) -> plots.ChosenEstimator:
    """Covariances between the own and the common one (α), and between that and a sphere (β)."""
    alpha, beta = state.number("alpha", 0.5, 0.0, 1.0), state.number("beta", 0.0, 0.0, 1.0)
    return plots.make_estimator("GaussianDiscriminant", alpha=alpha, beta=beta)


def neighbors(state: ViewState, x: Floats) -> plots.ChosenEstimator:
    """A vote of the k nearest rows."""
    k = min(state.whole("k", 5, 1, NEIGHBORS), len(x))
    return plots.make_estimator("KNeighborsClassifier", n_neighbors=k, standardize=True)


def kernel_vote(state: ViewState, _: Floats) -> plots.ChosenEstimator:
    """A vote of all rows with weights exp(−d²/2h²)."""
    return plots.make_estimator(
        "KernelVoteClassifier", bandwidth=_bandwidth(state), standardize=True
    )


def exemplar(state: ViewState, _: Floats) -> plots.ChosenEstimator:
    """The class of the nearest exemplar: the mean of a class, or its medoid."""
    kind = state.choice("exemplar", ["mean", "medoid"])
    return plots.make_estimator("NearestExemplar", exemplar=kind, standardize=True)


def perceptron(state: ViewState, _: Floats) -> plots.ChosenEstimator:
    """w ← w + y x for each row on the wrong side, epoch by epoch."""
    epochs = state.whole("epochs", 20, 1, 200)
    return plots.make_estimator("Perceptron", max_epochs=epochs, standardize=True)


def boxes(state: ViewState, _: Floats) -> plots.ChosenEstimator:
    """A box for each class between the most specific, S, and the most general ones, G."""
    kind = state.choice("hypothesis", ["average", "specific", "general"])
    return plots.make_estimator("BoxClassifier", hypothesis=kind)


def process(state: ViewState, x: Floats) -> plots.ChosenEstimator:
    """σ(f) with f from a Gaussian process of a given bandwidth."""
    given: dict[str, Any] = {"optimizer": None}
    if len(x) > 500:  # rows whose cube still follows the hand; more stand behind inducing points
        given["n_inducing"] = 32
    widths = tuple(float(f"{w:.6g}") for w in _bandwidth(state) * x.std(axis=0))
    kernel = Constant(4.0) * Gaussian(widths)
    text = f"sx.kernels.Constant(4.0) * sx.kernels.Gaussian({widths!r})"
    arguments = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return plots.ChosenEstimator(
        sx.GaussianProcessClassifier(kernel, **given),
        f"sx.GaussianProcessClassifier({text}, {arguments})",
    )


#: Models with sliders, by their names in the view.
SLIDERS: dict[str, Callable[[ViewState, Floats], plots.ChosenEstimator]] = {
    "svm": svm,
    "logistic": logistic,
    "rda": regularized_discriminant,
    "neighbors": neighbors,
    "vote": kernel_vote,
    "exemplar": exemplar,
    "perceptron": perceptron,
    "boxes": boxes,
    "process": process,
}


def _cost(state: ViewState) -> float:
    return state.number("C", 1.0, *COSTS)


def _bandwidth(state: ViewState) -> float:
    return state.number("h", 0.8, 0.05, 10.0)


def _gamma(h: float) -> float:
    """γ of the Gaussian kernel exp(−γ d²) of bandwidth h."""
    return float(np.float64(f"{0.5 / h**2:.6g}"))


# -------------------------------------------------------------------------------------------------
# The plane of the picture: two columns, or the discriminant plane of all columns of numbers.


PROJECTED = (
    "from separatrix.geometry.discriminant_plane import discriminant_plane",
    "X = discriminant_plane(X, np.unique(y, return_inverse=True)[1]).transform(X)",
)


@dataclass(frozen=True)
class Picture:
    """Points of a plane before and after their edits, its axes and its classes."""

    table: PageTable
    target: str
    columns: Sequence[str]
    axes: Sequence[str]
    before: plots.PlotPoints
    edits: Sequence[Any]
    grid: tuple[int, int]
    projected: bool = False

    @cached_property
    def points(self) -> plots.PlotPoints:
        """The points after their edits."""
        return plots.apply_edits(self.before, self.edits, len(self.table))

    @cached_property
    def labels(self) -> list[str]:
        """All classes of the table that have a point, in their order."""
        present = set(self.before.y.tolist())
        return [label for label in self.table.classes[self.target] if label in present]

    @cached_property
    def box(self) -> Floats:
        """The rectangle of the picture: all points of the table, with a margin."""
        return plots.frame(self.before.x)

    @cached_property
    def cells(self) -> Floats:
        """Places of the grid, row by row from the lowest."""
        return plots.cells(self.box, self.grid)

    def python(self, model: str) -> str:
        """The lines that make the same model."""
        first = PROJECTED if self.projected else ()
        return plots.fitting(
            self.table,
            self.columns,
            self.target,
            [f"model = {model}.fit(X, y)"],
            first=first,
            before=self.before,
            edits=self.edits,
        )


def picture(session: Session, state: ViewState) -> Picture:
    """The plane, the points and the classes of a state."""
    table = session.table
    target = state.class_column(table)
    numbers = [name for name in table.numbers if name != target]
    projected = state.choice("plane", ["columns", "discriminant"]) == "discriminant"
    # Columns and rows of the grid at rest, and of the one while a point is dragged.
    moving = state.flag("moving")
    edits, grid = state.items("edits"), (56, 42) if moving else (96, 72)
    if moving and state.values.get("model") == "vote" and len(table) > 1_000:
        grid = (40, 30)  # every cell is a sum over all points
    if projected:
        before, axes = session.once(("plane", target), lambda: _project(table, numbers, target))
        result = Picture(table, target, numbers, axes, before, edits, grid, projected=True)
    else:
        names = [state.choice("x", table.numbers, numbers[0] if numbers else None)]
        names.append(state.choice("y", table.numbers, numbers[-1] if numbers else None))
        before = plots.PlotPoints(*table.arrays(names, target), table.complete(names, target))
        result = Picture(table, target, names, names, before, edits, grid)
    if len(set(result.points.y.tolist())) < 2:
        raise InputError("all points are of one class: a boundary needs two.")
    return result


def _project(
    table: PageTable, names: Sequence[str], target: str
) -> tuple[plots.PlotPoints, list[str]]:
    """Rows on the plane that separates the classes best, and names of its axes."""
    if len(names) < 2:
        raise InputError("the discriminant plane needs two columns of numbers.")
    x, y = table.arrays(names, target)
    if len(set(y.tolist())) < 2:
        raise InputError("rows without a missing value are of one class: a plane needs two.")
    plane = discriminant_plane(x, np.unique(y, return_inverse=True)[1], names=tuple(names))
    kinds = ["discriminant"] * plane.n_discriminant + ["variance"] * 2
    axes = [f"{kinds[i]} {i + 1}: mostly {', '.join(plane.top_columns(i))}" for i in range(2)]
    return plots.PlotPoints(plane.transform(x), y, table.complete(names, target)), axes


# -------------------------------------------------------------------------------------------------
# Lines of the picture that the grid does not give: ellipses, boxes, cells, exemplars.


#: Probabilities of the ellipses at one and two standard deviations.
DEVIATIONS = tuple(1.0 - float(np.exp(-0.5 * r**2)) for r in (1.0, 2.0))


def ellipses(normals: tuple[MultivariateNormal, ...]) -> list[Any]:
    """The ellipses of each class at one and at two standard deviations."""
    return [
        [plots.pack(normal.ellipse(probability=p, n_points=73)) for p in DEVIATIONS]
        for normal in normals
    ]


def box_outlines(model: Any, window: Floats) -> list[dict[str, Any]]:
    """S and the members of G of each class, cut at the window; None where G is too long a list."""
    outlines = []
    for space, box in zip(model.spaces_, model.boxes_, strict=True):
        general = space.general(40)  # members of G that are drawn of a class
        outlines.append(
            {
                "S": _faces(space.specific, window),
                "G": None if general is None else [_faces(g, window) for g in general],
                "box": _faces(box, window),
            }
        )
    return outlines


def _faces(box: Box, window: Floats) -> list[float] | None:
    """[x0, y0, x1, y1], or None for the empty box; faces at infinity are beyond the window."""
    if box.empty:
        return None
    span = window[:, 1] - window[:, 0]
    low, high = window[:, 0] - span, window[:, 1] + span
    return [*np.clip(box.lower, low, high).tolist(), *np.clip(box.upper, low, high).tolist()]


def cells(z: Floats, codes: Ints, mean: Floats, scale: Floats) -> dict[str, Any]:
    """Sides of the cells of the points ``z``, and whether the classes of a side differ.

    The cell of a point is where no other is nearer. Of equal points the first counts.
    """
    from scipy.spatial import Voronoi

    distinct, first = np.unique(z, axis=0, return_index=True)
    # How far beyond the points the outermost cells reach, in spreads of the points.
    corners = 30.0 * max(float(np.ptp(z)), 1.0) * np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
    diagram = Voronoi(np.vstack([distinct, corners]))
    inner = (diagram.ridge_points < len(distinct)).all(axis=1)
    ends = np.array(diagram.ridge_vertices)[inner]
    pairs = codes[first][diagram.ridge_points[inner]]
    sides = diagram.vertices[ends] * scale + mean
    return {
        "sides": plots.pack(sides.reshape(-1, 4)),
        "differ": plots.pack(np.diff(pairs)[:, 0] != 0, "uint8"),
    }


# -------------------------------------------------------------------------------------------------
# Whole paths for the page, which follows them without asking again.
#
# The α of an SVM, and so its f, are linear in C between breakpoints; coefficients of logistic
# regression are nearly linear in log C between certified fits; votes are counted for all k from one
# search.


def svm_path(shown: Picture, state: ViewState) -> dict[str, Any] | None:
    """The path of every pair of classes over C, up to where it is known."""
    points = shown.points
    given = SLIDERS["svm"](state, points.x).estimator
    standardizer = Standardizer.from_rows(points.x, np.ones(len(points)))
    z, classes = standardizer.transform(points.x), np.unique(points.y).tolist()
    pairs = [(1, 0)] if len(classes) == 2 else list(combinations(range(len(classes)), 2))
    # Rows times γ at most: narrower Gaussians have too many breakpoints, close to each other.
    narrow = given.kernel == "rbf" and len(points) * given.gamma > 2_800
    if narrow or len(pairs) > 6:  # pairs of classes that have a path
        return None
    traces, end = [], COSTS[1]
    for positive, negative in pairs:
        rows = np.flatnonzero(np.isin(points.y, [classes[positive], classes[negative]]))
        y = np.where(points.y[rows] == classes[positive], 1, 0)
        # Events along one path at most.
        path = sx.SVMPath(
            given.kernel, gamma=given.gamma, C=1e-9, C_max=COSTS[1], max_changes=5_000
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where a path ends is part of the answer
            trace = path.fit(z[rows], y).paths_[0]
        if len(trace.free) > 400_000:  # free α of all its segments at most
            return None
        end = min(end, trace.end)
        traces.append(_trace(trace, rows, (positive, negative)))
    return {
        "kind": "svm",
        "kernel": given.kernel,
        "gamma": given.gamma if given.kernel == "rbf" else None,
        "mean": standardizer.mean.tolist(),
        "scale": standardizer.scale.tolist(),
        "end": end,
        "traces": traces,
    }


def _trace(trace: SVMTrace, rows: Ints, pair: tuple[int, int]) -> dict[str, Any]:
    numbers = {
        name: plots.pack(getattr(trace, name), "float64")
        for name in ("starts", "b0", "b1", "y", "fixed", "slope")
    }
    places = {
        name: plots.pack(getattr(trace, name), "int32")
        for name in ("first", "free", "when", "row", "state", "origin")
    }
    return {"rows": plots.pack(rows, "int32"), "pair": pair, **numbers, **places}


def logistic_path(shown: Picture, state: ViewState) -> dict[str, Any]:
    """Coefficients and intercepts at values of C, each fit certified."""
    points, ratio = shown.points, state.number("l1", 0.0, 0.0, 1.0)
    # Fits along the path of logistic regression.
    path = sx.LogisticPath(np.geomspace(*COSTS, 41), l1_ratio=ratio, standardize=True)
    path.fit(points.x, points.y)
    return {
        "kind": "logistic",
        "C": plots.pack(path.Cs_, "float64"),
        "coefs": plots.pack(path.coefs_, "float64"),
        "intercepts": plots.pack(path.intercepts_, "float64"),
        "classes": [shown.labels.index(label) for label in path.classes_.tolist()],
        "gap": float(np.max(path.gaps_)),
    }


def neighbors_path(shown: Picture, _: ViewState) -> dict[str, Any]:
    """Classes of the nearest points of every cell and every point, and the error without each."""
    points = shown.points
    most = min(NEIGHBORS, len(points) - 1)
    model = sx.KNeighborsClassifier(most, standardize=True).fit(points.x, points.y)
    near = model.codes_[model.kneighbors(np.vstack([shown.cells, points.x]), return_distance=False)]
    return {
        "kind": "neighbors",
        "near": plots.pack(near, "uint8"),
        "without": plots.pack(model.leave_one_out(most).error, "float64"),
        "classes": [shown.labels.index(label) for label in model.classes_.tolist()],
    }


PATHS = {"svm": svm_path, "logistic": logistic_path, "neighbors": neighbors_path}
