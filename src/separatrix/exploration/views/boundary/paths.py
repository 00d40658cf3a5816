"""Whole paths for the page, which follows them without asking again.

The α of an SVM, and so its f, are linear in C between breakpoints; coefficients of logistic
regression are nearly linear in log C between certified fits; votes are counted for all k from one
search.
"""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import Any

import numpy as np

import separatrix as sx
from separatrix.exploration.state import State, packed
from separatrix.exploration.views.boundary.models import COSTS, MODELS, NEIGHBORS
from separatrix.exploration.views.boundary.plane import Picture
from separatrix.rows.block import Ints
from separatrix.statistics.standardizer import Standardizer
from separatrix.svm.path.trace import SVMTrace

#: Events along one path, and free α of all its segments, at most.
EVENTS, FREE = 5_000, 400_000
#: Pairs of classes that have a path.
PAIRS = 6
#: Rows times γ at most: narrower Gaussians have too many breakpoints, close to each other.
NARROW = 2_800
#: Fits along the path of logistic regression.
FITS = 41


def svm_path(shown: Picture, state: State) -> dict[str, Any] | None:
    """The path of every pair of classes over C, up to where it is known."""
    points = shown.points
    given = MODELS["svm"](state, points.x).estimator
    standardizer = Standardizer.from_rows(points.x, np.ones(len(points)))
    z, classes = standardizer.transform(points.x), np.unique(points.y).tolist()
    pairs = [(1, 0)] if len(classes) == 2 else list(combinations(range(len(classes)), 2))
    narrow = given.kernel == "rbf" and len(points) * given.gamma > NARROW
    if narrow or len(pairs) > PAIRS:
        return None
    traces, end = [], COSTS[1]
    for positive, negative in pairs:
        rows = np.flatnonzero(np.isin(points.y, [classes[positive], classes[negative]]))
        y = np.where(points.y[rows] == classes[positive], 1, 0)
        path = sx.SVMPath(
            given.kernel, gamma=given.gamma, C=1e-9, C_max=COSTS[1], max_changes=EVENTS
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where a path ends is part of the answer
            trace = path.fit(z[rows], y).paths_[0]
        if len(trace.free) > FREE:
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
        name: packed(getattr(trace, name), "float64")
        for name in ("starts", "b0", "b1", "y", "fixed", "slope")
    }
    places = {
        name: packed(getattr(trace, name), "int32")
        for name in ("first", "free", "when", "row", "state", "origin")
    }
    return {"rows": packed(rows, "int32"), "pair": pair, **numbers, **places}


def logistic_path(shown: Picture, state: State) -> dict[str, Any]:
    """Coefficients and intercepts at values of C, each fit certified."""
    points, ratio = shown.points, state.number("l1", 0.0, 0.0, 1.0)
    path = sx.LogisticPath(np.geomspace(*COSTS, FITS), l1_ratio=ratio, standardize=True)
    path.fit(points.x, points.y)
    return {
        "kind": "logistic",
        "C": packed(path.Cs_, "float64"),
        "coefs": packed(path.coefs_, "float64"),
        "intercepts": packed(path.intercepts_, "float64"),
        "classes": [shown.labels.index(label) for label in path.classes_.tolist()],
        "gap": float(np.max(path.gaps_)),
    }


def neighbors_path(shown: Picture, _: State) -> dict[str, Any]:
    """Classes of the nearest points of every cell and every point, and the error without each."""
    points = shown.points
    most = min(NEIGHBORS, len(points) - 1)
    model = sx.KNeighborsClassifier(most, standardize=True).fit(points.x, points.y)
    near = model.codes_[model.kneighbors(np.vstack([shown.cells, points.x]), return_distance=False)]
    return {
        "kind": "neighbors",
        "near": packed(near, "uint8"),
        "without": packed(model.leave_one_out(most).error, "float64"),
        "classes": [shown.labels.index(label) for label in model.classes_.tolist()],
    }


PATHS = {"svm": svm_path, "logistic": logistic_path, "neighbors": neighbors_path}
