"""Paths of ridge and lasso over the penalty, sent once: the slider stands on their points."""

from __future__ import annotations

from typing import Any

import numpy as np

import separatrix as sx
from separatrix.exploration.session import Session
from separatrix.exploration.state import State, finite, packed
from separatrix.exploration.views.line.scene import Scene
from separatrix.rows.block import Floats

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


def penalty(session: Session, state: State, scene: Scene, name: str) -> float:
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
        "coefs": packed(coefs, "float64"),
        "intercepts": packed(intercepts, "float64"),
        "rmse": packed(np.sqrt(squares), "float64"),
        "r2": packed(1.0 - squares / max(scene.y.var(), np.finfo(float).tiny), "float64"),
        "freedom": packed(path.degrees_of_freedom_[order], "float64"),
        "gap": finite(float(np.max(path.gaps_))),
    }
    if name == "ridge":
        found["gcv"] = packed(np.sqrt(path.gcv_[order]), "float64")
    return found
