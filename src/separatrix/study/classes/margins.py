"""What a winner of two classes with margins was held by, ready to be drawn.

Multipliers of the training rows, and the score on the plane on which the classes lie farthest
apart: of two columns of numbers that is the table itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.geometry.discriminant_plane import discriminant_plane
from separatrix.messages import InputError
from separatrix.rows.block import Floats, unit_weights
from separatrix.study.classes.boundary import Numbers
from separatrix.study.data import RowFolds, truth_of
from separatrix.study.result import Margins, PlaneView
from separatrix.study.test_predictions import SHOWN_ROWS, thinned
from separatrix.svm.base import SupportVectorModel

#: Places of the grid, across and up, and what is left free around the dots.
GRID = (80, 60)
_ROOM = 0.06


def margins_of(core: Any, bench: RowFolds) -> Margins | None:
    """None for a winner without margins, and for machines of more than two classes."""
    if not isinstance(core, SupportVectorModel):
        return None
    if len(getattr(core, "classes_", ())) != 2:
        return None
    alpha = np.abs(core.alpha_)
    some = thinned(np.arange(len(bench.training)), SHOWN_ROWS)
    rows = bench.table.take(bench.training[some])
    w = unit_weights(rows.block.w, len(some))
    price = float(getattr(core, "C_", getattr(core, "C", np.inf)))
    labels = np.array([str(v) for v in truth_of(rows)])
    scores = np.asarray(core.decision_function(rows), dtype=float)
    return Margins(alpha[some], price * w, labels, scores, _seen(core, rows, labels))


def _seen(core: Any, rows: Any, labels: Any) -> PlaneView | None:
    """The rows on a plane, and the score all over it; None without two columns that vary."""
    numbers = Numbers(rows)
    x = numbers.of(rows.block)
    flat = x.shape[1] == 2 and not numbers.fixed
    try:
        plane = discriminant_plane(x, _codes(labels, core), rows.block.w, names=numbers.names)
    except InputError:
        return None
    dots = x if flat else plane.transform(x)
    across, up = _window(dots)
    grid = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    there = grid if flat else plane.inverse_transform(grid)
    score = np.asarray(core.decision_function(numbers.rows(there)), dtype=float)
    axes = numbers.names if flat else tuple(_axis(plane.top_columns(i)) for i in (0, 1))
    names = (axes[0], axes[1])
    return PlaneView(dots, across, up, score.reshape(len(up), -1), names, not flat, numbers.fixed)


def _axis(heaviest: list[str]) -> str:
    return f"mostly {', '.join(heaviest)}"


def _codes(labels: Any, core: Any) -> Any:
    return (labels == str(core.classes_[1])).astype(np.intp)


def _window(dots: Floats) -> tuple[Floats, Floats]:
    low, high = dots.min(axis=0), dots.max(axis=0)
    low, high = low - _ROOM * (high - low), high + _ROOM * (high - low)
    return np.linspace(low[0], high[0], GRID[0]), np.linspace(low[1], high[1], GRID[1])
