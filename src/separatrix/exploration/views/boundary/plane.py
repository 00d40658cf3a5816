"""The plane of the picture: two columns, or the discriminant plane of all columns of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.exploration.code import fitting
from separatrix.exploration.edits import Points, edited
from separatrix.exploration.grid import cells, frame
from separatrix.exploration.session import Session
from separatrix.exploration.state import State
from separatrix.exploration.table import Table
from separatrix.geometry.discriminant_plane import discriminant_plane
from separatrix.messages import InputError
from separatrix.rows.block import Floats

#: Columns and rows of the grid at rest, and of the one while a point is dragged.
GRID, COARSE = (96, 72), (56, 42)

PROJECTED = (
    "from separatrix.geometry.discriminant_plane import discriminant_plane",
    "X = discriminant_plane(X, np.unique(y, return_inverse=True)[1]).transform(X)",
)


@dataclass(frozen=True)
class Picture:
    """Points of a plane before and after their edits, its axes and its classes."""

    table: Table
    target: str
    columns: Sequence[str]
    axes: Sequence[str]
    before: Points
    edits: Sequence[Any]
    grid: tuple[int, int]
    projected: bool = False

    @cached_property
    def points(self) -> Points:
        """The points after their edits."""
        return edited(self.before, self.edits, len(self.table))

    @cached_property
    def labels(self) -> list[str]:
        """All classes of the table that have a point, in their order."""
        present = set(self.before.y.tolist())
        return [label for label in self.table.classes[self.target] if label in present]

    @cached_property
    def box(self) -> Floats:
        """The rectangle of the picture: all points of the table, with a margin."""
        return frame(self.before.x)

    @cached_property
    def cells(self) -> Floats:
        """Places of the grid, row by row from the lowest."""
        return cells(self.box, self.grid)

    def python(self, model: str) -> str:
        """The lines that make the same model."""
        first = PROJECTED if self.projected else ()
        return fitting(
            self.table,
            self.columns,
            self.target,
            [f"model = {model}.fit(X, y)"],
            first=first,
            before=self.before,
            edits=self.edits,
        )


def picture(session: Session, state: State) -> Picture:
    """The plane, the points and the classes of a state."""
    table = session.table
    target = state.class_column(table)
    numbers = [name for name in table.numbers if name != target]
    projected = state.choice("plane", ["columns", "discriminant"]) == "discriminant"
    edits, grid = state.items("edits"), COARSE if state.flag("moving") else GRID
    if projected:
        before, axes = session.once(("plane", target), lambda: _projected(table, numbers, target))
        found = Picture(table, target, numbers, axes, before, edits, grid, projected=True)
    else:
        names = [state.choice("x", table.numbers, numbers[0] if numbers else None)]
        names.append(state.choice("y", table.numbers, numbers[-1] if numbers else None))
        before = Points(*table.arrays(names, target), table.complete(names, target))
        found = Picture(table, target, names, names, before, edits, grid)
    if len(set(found.points.y.tolist())) < 2:
        raise InputError("all points are of one class: a boundary needs two.")
    return found


def _projected(table: Table, names: Sequence[str], target: str) -> tuple[Points, list[str]]:
    """Rows on the plane that separates the classes best, and names of its axes."""
    if len(names) < 2:
        raise InputError("the discriminant plane needs two columns of numbers.")
    x, y = table.arrays(names, target)
    if len(set(y.tolist())) < 2:
        raise InputError("rows without a missing value are of one class: a plane needs two.")
    plane = discriminant_plane(x, np.unique(y, return_inverse=True)[1], names=tuple(names))
    kinds = ["discriminant"] * plane.n_discriminant + ["variance"] * 2
    axes = [f"{kinds[i]} {i + 1}: mostly {', '.join(plane.top_columns(i))}" for i in range(2)]
    return Points(plane.transform(x), y, table.complete(names, target)), axes
