"""The rows of largest value: named in a caption, and marked on axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.pictures.formatting import join_words, number
from separatrix.pictures.points import annotate_points, largest
from separatrix.rows.block import Floats

Labels = Sequence[object] | None


def row_names(labels: Labels, count: int) -> Sequence[object]:
    """Labels of the rows by position, whatever their index; without labels the positions."""
    return range(count) if labels is None or len(labels) != count else list(labels)


def largest_rows(values: Floats, labels: Labels, digits: int) -> str:
    """The three rows of largest absolute value, each with its value, in words."""
    names = row_names(labels, values.size)
    top = largest(np.abs(values))
    return join_words([f"row {names[i]} ({number(values[i], digits)})" for i in top])


def mark_largest(ax: Any, x: Floats, y: Floats, size: Floats, labels: Labels) -> None:
    """A ring and a name at the three points of largest absolute ``size``."""
    names = row_names(labels, size.size)
    top = largest(np.abs(size))
    annotate_points(ax, x[top], y[top], [names[i] for i in top])
