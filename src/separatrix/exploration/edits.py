"""Points moved, added, flipped and deleted by hand.

    [["move", row, x, y], ["add", x, y, value], ["label", row, value], ["delete", row]]

Edits are applied in order; an added point is called by the number after the last one of the table.
``value`` is a label or a number: whatever the target of the view is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.exploration.state import brief
from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints


@dataclass(frozen=True)
class Points:
    """Rows of a picture: places ``x`` (n × 2), target ``y``, and the number of each row."""

    x: Floats
    y: NDArray[Any]
    rows: Ints

    def __len__(self) -> int:
        return len(self.rows)


def edited(points: Points, edits: Sequence[Any], total: int) -> Points:
    """The points after all edits; ``total`` is the number of rows of the table."""
    x, y = points.x.copy(), points.y.astype(object)
    rows = points.rows.copy()
    for edit in edits:
        if not isinstance(edit, list) or not edit:
            raise InputError(f"{brief(edit)} is no edit.")
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
                raise InputError(f"{brief(edit)} is no edit.")
    return Points(x, y.astype(points.y.dtype if points.y.dtype.kind == "f" else str), rows)


def in_python(points: Points, edits: Sequence[Any], total: int) -> list[str]:
    """The edits as lines of Python on the arrays ``X`` and ``y``."""
    lines: list[str] = []
    rows = points.rows.copy()
    for edit in edits:
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
        raise InputError(f"{brief(list(place))} is no place of {d} numbers.")
    return [float(value) for value in place]


def _value(value: Any, y: NDArray[Any]) -> Any:
    if y.dtype.kind == "f":
        if not _is_number(value):
            raise InputError(f"the target {brief(value)} is no number.")
        return float(value)
    if not isinstance(value, str) or value not in set(y.tolist()):
        raise InputError(f"there is no class {brief(value)}.")
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
