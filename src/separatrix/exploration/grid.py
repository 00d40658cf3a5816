"""The rectangle of a picture, and the grid on which fields are computed and shaded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from separatrix.rows.block import Floats

#: Space around the points of a picture, as a share of their range.
MARGIN = 0.06


def cells(box: Floats | Sequence[Sequence[float]], shape: Sequence[int]) -> Floats:
    """Places of columns × rows of a rectangle ((x₀, x₁), (y₀, y₁)), row by row from the lowest."""
    (x0, x1), (y0, y1) = box
    x, y = np.linspace(x0, x1, shape[0]), np.linspace(y0, y1, shape[1])
    return np.column_stack([np.tile(x, len(y)), np.repeat(y, len(x))])


def frame(places: Floats) -> Floats:
    """The ranges ((x₀, x₁), (y₀, y₁), …) of points with a margin."""
    low, high = places.min(axis=0), places.max(axis=0)
    size = np.where(high > low, high - low, np.maximum(np.abs(high), 1.0))
    margin = MARGIN * size + 1e-9 * np.abs(high)  # seen above the rounding of large numbers
    return np.column_stack([low - margin, high + margin])
