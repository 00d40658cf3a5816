"""The points of a view, which are drawn at once: fits must first be imported, and made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from separatrix.exploration import plots
from separatrix.exploration.session import Session
from separatrix.exploration.state import ViewState
from separatrix.exploration.table import PageTable
from separatrix.messages import InputError


def describe_classes(session: Session, state: ViewState) -> dict[str, Any]:
    """The points of a plane of two columns, with their classes: what is there before any fit."""
    table = session.table
    target = state.class_column(table)
    numbers = [name for name in table.numbers if name != target] or list(table.numbers)
    axes = [state.choice(axis, table.numbers, numbers[at]) for axis, at in (("x", 0), ("y", -1))]
    x, y = table.arrays(axes, target)
    if not len(x):
        raise InputError("no row has values in these columns.")
    before = plots.PlotPoints(x, y, table.complete(axes, target))
    points = plots.apply_edits(before, state.items("edits"), len(table))
    labels = [label for label in table.classes[target] if label in set(y.tolist())]
    return {
        "x": plots.pack(points.x, "float64"),
        "rows": plots.pack(points.rows, "int32"),
        "groups": plots.pack([labels.index(label) for label in points.y], "int32"),
        "labels": labels,
        "axes": axes,
        "box": plots.frame(before.x).tolist(),
    }


def describe_numbers(session: Session, state: ViewState) -> dict[str, Any]:
    """The points of one column and the target."""
    table = session.table
    if len(table.numbers) < 2:
        raise InputError("a line needs two columns of numbers that vary.")
    target = state.choice("target", table.numbers, numeric_target(table))
    others = [name for name in table.numbers if name != target]
    axes = [state.choice("x", others, most_correlated(table, others, target)), target]
    rows = table.complete(axes)
    places = table.matrix(axes)[rows]
    if not len(places):
        raise InputError("no row has values in these columns.")
    before = plots.PlotPoints(places, places[:, -1].copy(), rows)
    points = plots.apply_edits(before, state.items("edits"), len(table))
    return {
        "x": plots.pack(points.x, "float64"),
        "rows": plots.pack(points.rows, "int32"),
        "axes": axes,
        "box": plots.frame(before.x).tolist(),
    }


def most_correlated(table: PageTable, names: Sequence[str], target: str) -> str:
    """The column with the largest |correlation| with the target."""
    y = table.column(target)

    def size(name: str) -> float:
        known = ~np.isnan(table.columns[name]) & ~np.isnan(y)
        x = table.columns[name][known]
        if len(x) < 3 or x.min() == x.max() or y[known].min() == y[known].max():
            return 0.0
        return float(abs(np.corrcoef(x, y[known])[0, 1]))

    return max(names, key=size)


def numeric_target(table: PageTable) -> str:
    """The target of the table if it is numbers, else the last column of many distinct numbers."""
    if table.target in table.numbers:
        return str(table.target)
    many = [name for name in table.numbers if name not in table.classes]
    return (many or list(table.numbers))[-1]


#: The question ``points`` of the views that have it.
POINTS: dict[str, Callable[[Session, ViewState], dict[str, Any]]] = {
    "boundary": describe_classes,
    "line": describe_numbers,
}
