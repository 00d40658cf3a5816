"""The grid on which fields are computed and shaded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from separatrix.rows.block import Floats


def cells(box: Floats | Sequence[Sequence[float]], shape: Sequence[int]) -> Floats:
    """Places of columns × rows of a rectangle ((x₀, x₁), (y₀, y₁)), row by row from the lowest."""
    (x0, x1), (y0, y1) = box
    x, y = np.linspace(x0, x1, shape[0]), np.linspace(y0, y1, shape[1])
    return np.column_stack([np.tile(x, len(y)), np.repeat(y, len(x))])
