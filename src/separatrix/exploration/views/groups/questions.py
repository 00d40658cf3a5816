"""Questions of the view: sweeps, a tree, silhouettes, and the certificate of the estimator."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

import separatrix as sx
from separatrix.cluster.sweeps import Sweep
from separatrix.exploration.grid import cells, frame
from separatrix.exploration.session import Session
from separatrix.exploration.state import State, certified, packed
from separatrix.exploration.views.groups.cloud import Cloud, cloud
from separatrix.exploration.views.groups.methods import (
    METHODS,
    clusters,
    estimator,
    sweeps,
    tree_estimator,
)
from separatrix.messages import InputError
from separatrix.rows.block import Ints

#: What the sweeps depend on.
CAUSES = ("data", "plane", "x", "y", "standardize", "method", "k", "init", "seed", "start")
#: Columns and rows of the grid on which regions of a kernel are drawn.
GRID = 64, 40
#: Sweeps that a page is sent: of more, the first ones and the last.
MOST_SWEEPS = 120


def trace(session: Session, state: State) -> dict[str, Any]:
    """The points and all sweeps: places of centers, labels and loss."""
    at = cloud(session, state)
    found = _sweeps(session, state)
    if len(found) > MOST_SWEEPS:
        found = [*found[: MOST_SWEEPS - 1], found[-1]]
    moved = [0] + [int((a.labels != b.labels).sum()) for a, b in pairwise(found)]
    centers = None
    if all(sweep.centers is not None for sweep in found):
        centers = packed([at.project(np.asarray(s.centers)) for s in found], "float64")
    return {
        **_points(at),
        "k": clusters(state, at),
        "centers": centers,
        "labels": packed([sweep.labels for sweep in found], "uint8"),
        "losses": [float(sweep.loss) for sweep in found],
        "steps": [sweep.step for sweep in found],
        "moved": moved,
    }


def tree(session: Session, state: State) -> dict[str, Any]:
    """The points, and the merges of the tree with the places of its nodes."""
    at, model = cloud(session, state), _tree(session, state)
    found = model.dendrogram_
    return {
        **_points(at),
        "left": packed(found.left, "int32"),
        "right": packed(found.right, "int32"),
        "heights": packed(found.heights, "float64"),
        "tops": packed(found.max_heights, "float64"),
        "first": packed(found.first_leaf, "int32"),
        "inversions": len(found.inversions),
        "certificate": certified(model.certificate_),
    }


def silhouettes(session: Session, state: State) -> dict[str, Any]:
    """Silhouettes of a sweep, or of the tree where it is cut: sorted by cluster, largest first."""
    at, labels = cloud(session, state), _labels(session, state)
    comparable = 2 <= len(np.unique(labels)) < len(labels)
    python = _python(state, at, comparable)
    if not comparable:
        return {"silhouette": None, "python": python}
    found = sx.silhouette(at.z, labels)
    order = np.lexsort((-found.samples, labels))
    return {
        "python": python,
        "silhouette": {
            "rows": packed(order, "int32"),
            "labels": packed(labels[order], "int32"),
            "values": packed(found.samples[order], "float64"),
            "mean": found.score,
        },
    }


def certificate(session: Session, state: State) -> dict[str, Any]:
    """The estimator itself: what it proves of the last sweep, and regions of a kernel."""
    at = cloud(session, state)
    model, _ = estimator(state, at)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the certificate has the same reason
        model.fit(at.x)
    same = bool((model.labels_ == _sweeps(session, state)[-1].labels).all())
    answer: dict[str, Any] = {"certificate": certified(model.certificate_) if same else None}
    if state.choice("method", METHODS) == "kernel" and at.directions is None:
        regions = model.predict(cells(frame(at.places), GRID))
        answer |= {"grid": GRID, "regions": packed(regions, "uint8")}
    return answer


def _sweeps(session: Session, state: State) -> list[Sweep]:
    names = (*CAUSES, *(["bandwidth"] if state.values.get("method") == "kernel" else []))
    key = ("sweeps", repr([state.values.get(name) for name in names]))
    return session.once(key, lambda: sweeps(session, state, cloud(session, state)))


def _tree(session: Session, state: State) -> Any:
    key = ("tree", repr([state.values.get(name) for name in (*CAUSES[:5], "linkage")]))
    at = cloud(session, state)
    return session.once(key, lambda: tree_estimator(state, at)[0].fit(at.x))


def _labels(session: Session, state: State) -> NDArray[np.integer]:
    if state.choice("method", METHODS) == "tree":
        level = state.number("level", 0.0, 0.0, 1e300)
        labels: Ints = _tree(session, state).dendrogram_.cut(level=level)
        return labels
    found = _sweeps(session, state)
    return found[min(state.whole("at", len(found) - 1, 0, 10_000), len(found) - 1)].labels


def _points(at: Cloud) -> dict[str, Any]:
    if len(at.x) < 3:
        raise InputError("there are fewer than three points.")
    return {
        "places": packed(at.places, "float64"),
        "numbers": packed(at.numbers, "int32"),
        "box": frame(at.places).tolist(),
        "axes": at.axes,
        "share": at.share,
        "columns": at.x.shape[1],
        "standardized": at.standardizer is not None,
        "scale": None if at.directions is not None else at.scale.tolist(),
    }


def _python(state: State, at: Cloud, comparable: bool) -> str:
    """The estimator, its groups and their silhouettes where there are several."""
    text = estimator(state, at)[1]
    lines = ["import separatrix as sx", *at.python, f"model = {text}.fit(X)"]
    labels = "model.labels_"
    if state.choice("method", METHODS) == "tree":
        level = state.number("level", 0.0, 0.0, 1e300)
        lines.append(f"labels = model.dendrogram_.cut(level={level!r})")
        labels = "labels"
    seen = "model.standardizer_.transform(X)" if at.standardizer is not None else "X"
    if comparable:
        lines.append(f"print(sx.silhouette({seen}, {labels}))")
    return "\n".join(lines)


QUESTIONS = {"trace": trace, "tree": tree, "silhouettes": silhouettes, "certificate": certificate}
