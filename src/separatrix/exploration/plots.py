"""What plots of views are made of: arrays, points and edits, grids, estimators, their Python."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from separatrix.arrays import Floats, Ints
from separatrix.catalogue import DECLARATIONS, of_task
from separatrix.exploration.state import brief
from separatrix.exploration.table import PageTable
from separatrix.messages import InputError


def pack(values: ArrayLike, dtype: str = "float32") -> dict[str, Any]:
    """An array for the page: its shape, and its bytes as base64 (``unpack`` of ``server.js``)."""
    array = np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
    data = base64.b64encode(array.tobytes()).decode("ascii")
    return {"dtype": dtype, "shape": list(array.shape), "data": data}


def certificate_state(certificate: Any) -> dict[str, Any] | None:
    """A certificate for the page: whether it holds, and its words; None where there is none."""
    if certificate is None:
        return None
    return {"holds": bool(certificate.holds), "text": str(certificate)}


def finite(value: float | None) -> float | None:
    """A number that JSON can say: None where it is not finite."""
    return None if value is None or not math.isfinite(value) else float(value)


# -------------------------------------------------------------------------------------------------
# Points moved, added, flipped and deleted by hand.
#
#     [["move", row, x, y], ["add", x, y, value], ["label", row, value], ["delete", row]]
#
# Edits are applied in order; an added point is called by the number after the last one of the
# table. ``value`` is a label or a number: whatever the target of the view is.


@dataclass(frozen=True)
class PlotPoints:
    """Rows of a picture: places ``x`` (n × 2), target ``y``, and the number of each row."""

    x: Floats
    y: NDArray[Any]
    rows: Ints

    def __len__(self) -> int:
        return len(self.rows)


def apply_edits(points: PlotPoints, edits: Sequence[Any], total: int) -> PlotPoints:
    """The points after all edits; ``total`` is the number of rows of the table."""
    x, y = points.x.copy(), points.y.astype(object)
    rows = points.rows.copy()
    for edit in edits:
        if not isinstance(edit, list) or not edit:
            raise InputError(f"{brief(edit)} is not an edit.")
        match edit:
            case ["move", row, *place]:
                x[_at(rows, row)] = _place(place, x.shape[1])
            case ["add", *place, value]:
                x = np.vstack([x, [_place(place, x.shape[1])]])
                y = np.append(y, [_value(value, points.y)])
                rows = np.append(rows, total)
                total += 1
            case ["label", row, value]:
                y[_at(rows, row)] = _value(value, points.y)
            case ["delete", row]:
                at = _at(rows, row)
                x, y, rows = np.delete(x, at, 0), np.delete(y, at), np.delete(rows, at)
            case _:
                raise InputError(f"{brief(edit)} is not an edit.")
    return PlotPoints(x, y.astype(points.y.dtype if points.y.dtype.kind == "f" else str), rows)


def in_python(points: PlotPoints, edits: Sequence[Any], total: int) -> list[str]:
    """The edits as lines of Python on the arrays ``X`` and ``y``."""
    lines: list[str] = []
    rows = points.rows.copy()
    for edit, later in pairwise([*edits, None]):
        if later is not None and edit[0] == later[0] == "move" and edit[1] == later[1]:
            continue  # the last position of a point is the one that counts
        match edit:
            case ["move", row, *place]:
                lines.append(f"X[{_at(rows, row)}] = {place!r}")
            case ["add", *place, value]:
                lines.append(f"X, y = np.vstack([X, {place!r}]), np.append(y, {value!r})")
                rows, total = np.append(rows, total), total + 1
            case ["label", row, value]:
                lines.append(f"y[{_at(rows, row)}] = {value!r}")
            case ["delete", row]:
                at = _at(rows, row)
                lines.append(f"X, y = np.delete(X, {at}, axis=0), np.delete(y, {at})")
                rows = np.delete(rows, at)
    return lines


def _at(rows: Ints, row: Any) -> int:
    if not isinstance(row, int) or not (rows == row).any():
        raise InputError(f"there is no point {brief(row)}.")
    return int(np.argmax(rows == row))


def _place(place: Sequence[Any], d: int) -> list[float]:
    if len(place) != d or not all(_is_number(value) for value in place):
        raise InputError(f"{brief(list(place))} is not a place of {d} numbers.")
    return [float(value) for value in place]


def _value(value: Any, y: NDArray[Any]) -> Any:
    if y.dtype.kind == "f":
        if not _is_number(value):
            raise InputError(f"the target {brief(value)} is not a number.")
        return float(value)
    if not isinstance(value, str) or value not in set(y.tolist()):
        raise InputError(f"there is no class {brief(value)}.")
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


# -------------------------------------------------------------------------------------------------
# The Python that makes the same model as the page.


def fitting(
    table: PageTable,
    names: Sequence[str],
    target: str,
    model: Sequence[str],
    *,
    first: Sequence[str] = (),
    before: PlotPoints | None = None,
    edits: Sequence[Any] = (),
) -> str:
    """Lines that read the shown rows as ``X, y``, repeat the edits, and then ``model``.

    ``first`` are lines before the edits (imports among them go to the top), and ``before`` the
    points without their edits.
    """
    imports = [line for line in first if line.startswith("from ")]
    first = [line for line in first if line not in imports]
    lines = ["import separatrix as sx", *imports, "", *read_arrays(table, names, target)]
    if "read_table" in lines[-1]:
        lines.insert(1, "from separatrix.exploration import read_table")
    changes = [] if before is None else in_python(before, edits, len(table))
    if any("np." in line for line in (*first, *changes, *model)):
        lines.insert(0, "import numpy as np")
    return "\n".join([*lines, *first, *changes, *model])


def read_arrays(table: PageTable, names: Sequence[str], target: str) -> list[str]:
    """Lines that read the shown rows as ``X, y``: by ``scan``, and a sample as the page does."""
    if table.options is None or target in table.booleans:
        return [f"X, y = {table.source}.arrays({list(names)!r}, {target!r})"]
    columns = [name for name in dict.fromkeys(names) if name != target]
    call = scan_call(table, target, columns=columns, missing="drop")
    return [f"rows = {call}", "X, y = rows.read().arrays()"]


def scan_call(table: PageTable, target: str, **given: Any) -> str:
    """The call of ``scan`` that reads the shown rows, for a table that is shown whole."""
    assert table.options is not None
    ignored = ("", "columns", "drop", "id") if "columns" in given else ("",)
    options = {k: v for k, v in table.options.items() if k not in ignored} | given
    if table.column(target).dtype.kind == "f":
        kind = "discrete" if target in table.classes else "numeric"
        options["kinds"] = {**options.get("kinds", {}), target: kind}
    words = "".join(f", {name}={value!r}" for name, value in options.items())
    return f"sx.scan({table.options['']}, target={target!r}{words})"


# -------------------------------------------------------------------------------------------------
# The rectangle of a picture, and the grid on which fields are computed and shaded.


def cells(box: Floats | Sequence[Sequence[float]], shape: Sequence[int]) -> Floats:
    """Places of columns × rows of a rectangle ((x₀, x₁), (y₀, y₁)), row by row from the lowest."""
    (x0, x1), (y0, y1) = box
    x, y = np.linspace(x0, x1, shape[0]), np.linspace(y0, y1, shape[1])
    return np.column_stack([np.tile(x, len(y)), np.repeat(y, len(x))])


def frame(places: Floats) -> Floats:
    """The ranges ((x₀, x₁), (y₀, y₁), …) of points with a margin."""
    low, high = places.min(axis=0), places.max(axis=0)
    size = np.where(high > low, high - low, np.maximum(np.abs(high), 1.0))
    # Space around the points of a picture, as a share of their range.
    margin = 0.06 * size + 1e-9 * np.abs(high)  # seen above the rounding of large numbers
    return np.column_stack([low - margin, high + margin])


# -------------------------------------------------------------------------------------------------
# Estimators of views, with the Python that makes them.


class ChosenEstimator(NamedTuple):
    """An estimator, not yet fitted, and the expression that makes it."""

    estimator: Any
    text: str


def make_estimator(name: str, *args: Any, **given: Any) -> ChosenEstimator:
    """A declared estimator with some parameters."""
    declared = DECLARATIONS[name]
    values = [*map(repr, args), *(f"{key}={value!r}" for key, value in given.items())]
    place = "sx." if declared.family else ""
    text = f"{place}{name}({', '.join(values)})"
    return ChosenEstimator(declared.load()(*args, **given), text)


def make_plain(name: str) -> ChosenEstimator:
    """A declared estimator as it is by default, on standardized columns where it can."""
    return make_estimator(name, **DECLARATIONS[name].free_of_units())


def view_models(task: str) -> dict[str, str]:
    """The declared estimators of a task, by their names in a view."""
    return {declared.view or declared.name: declared.name for declared in of_task(task, alone=True)}


def plain_models(task: str) -> list[str]:
    """Those that a view knows by the names of their classes alone."""
    return [view for view, name in view_models(task).items() if view == name]
