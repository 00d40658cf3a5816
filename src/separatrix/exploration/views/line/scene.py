"""What the view looks at: points of one or two columns and a target, after their edits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.exploration.code import fitting
from separatrix.exploration.edits import Points, edited, in_python
from separatrix.exploration.grid import cells, frame
from separatrix.exploration.session import Session
from separatrix.exploration.state import State
from separatrix.exploration.table import Table
from separatrix.messages import InputError
from separatrix.rows.block import Floats

#: Places along a curve; columns and rows of a field.
CURVE, FIELD, COARSE = 161, (60, 45), (32, 24)
#: Sums over pairs of a place and a point up to which a field is fine.
PAIRS = 1_500_000


@dataclass(frozen=True)
class Scene:
    """Places (columns, then target) before and after the edits."""

    table: Table
    names: tuple[str, ...]
    target: str
    before: Points
    points: Points
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
        return frame(self.before.x)

    def python(self, model: str) -> str:
        """The Python that makes the same model."""
        changes = in_python(self.before, self.edits, len(self.table))
        if changes:  # an edit moves a point in its columns and its target at once
            changes = ["X = np.column_stack([X, y])", *changes, "X, y = X[:, :-1], X[:, -1]"]
        if self.target in self.table.classes:
            true = self.target in self.table.booleans
            changes = [
                "y = (y == 'True').astype(float)" if true else "y = y.astype(float)",
                *changes,
            ]
        lines = [*changes, f"model = {model}.fit(X, y)"]
        return fitting(self.table, self.names, self.target, lines)


def scene_of(session: Session, state: State) -> Scene:
    """The scene of a state: by default the column that correlates most with the target."""
    table = session.table
    if len(table.numbers) < 2:
        raise InputError(
            "a line needs two columns of numbers that vary.", remedy="Choose another view."
        )
    target = state.choice("target", table.numbers, _target(table))
    others = [name for name in table.numbers if name != target]
    first = state.choice("x", others, most_correlated(table, others, target))
    second = state.choice("z", ["", *(name for name in others if name != first)])
    names = (first, second) if second else (first,)
    rows = table.complete((*names, target))
    places = table.matrix((*names, target))[rows]
    if len(places) < 3:
        raise InputError("fewer than three rows have values in all of these columns.")
    before = Points(places, places[:, -1].copy(), rows)
    edits = state.items("edits")
    return Scene(table, names, target, before, edited(before, edits, len(table)), edits)


def places_of(scene: Scene, state: State, *, pairs: bool) -> tuple[Floats, list[int]]:
    """Places at which predictions are drawn: along a line, or on a grid row by row from below.

    ``pairs`` says that a prediction sums over all points, so that a field of many is coarser.
    """
    (x0, x1), *_ = scene.box
    x = np.linspace(x0, x1, CURVE)
    if len(scene.names) == 1:
        return x[:, None], [CURVE]
    if state.choice("picture", ["field", "slice"]) == "slice":
        at = state.number("at", float(np.median(scene.before.x[:, 1])), -1e300, 1e300)
        return np.column_stack([x, np.full(CURVE, at)]), [CURVE]
    many = pairs and FIELD[0] * FIELD[1] * len(scene.points) > PAIRS
    shape = COARSE if many else FIELD
    return cells(scene.box[:2], shape), list(shape)


def most_correlated(table: Table, names: list[str], target: str) -> str:
    """The column with the largest |correlation| with the target."""
    y = table.column(target)

    def size(name: str) -> float:
        known = ~np.isnan(table.columns[name]) & ~np.isnan(y)
        x = table.columns[name][known]
        if len(x) < 3 or x.min() == x.max() or y[known].min() == y[known].max():
            return 0.0
        return float(abs(np.corrcoef(x, y[known])[0, 1]))

    return max(names, key=size)


def _target(table: Table) -> str:
    """The target of the table if it is numbers, else the last column of many distinct numbers."""
    if table.target in table.numbers:
        return str(table.target)
    many = [name for name in table.numbers if name not in table.classes]
    return (many or list(table.numbers))[-1]
