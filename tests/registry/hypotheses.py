"""Boxes, balls and ellipsoids as hypotheses."""

from __future__ import annotations

from typing import Any

import numpy as np

import separatrix as sx
from tests.registry.row import Row


def faces(model: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Lower and upper faces of the most specific boxes."""
    boxes = [space.specific for space in model.spaces_]
    return np.array([box.lower for box in boxes]), np.array([box.upper for box in boxes])


def box_errors(model: Any, lower: Any, upper: Any, x: Any, y: Any) -> float:
    """Rows of each class outside of its box, and others inside."""
    return float(
        sum(
            (((x >= low) & (x <= high)).all(axis=1) != (y == label)).sum()
            for label, low, high in zip(model.concepts_, lower, upper, strict=True)
        )
    )


ROWS: list[Row] = [
    Row(
        "BoxClassifier",
        lambda: sx.BoxClassifier(max_nodes=1000),
        "classification",
        objective=box_errors,
        parameters=faces,
        classes=(2, 3),
    ),
]
