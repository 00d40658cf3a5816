"""Scores of classes with diagonal covariances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from separatrix.compilation import compiled

Floats = NDArray[np.float64]


@compiled(fastmath={"reassoc", "contract"})
def diagonal_scores(x: Floats, means: Floats, scale: Floats, offset: Floats, out: Floats) -> None:
    """out[i, k] = oₖ − ½ Σⱼ ((xᵢⱼ − μₖⱼ) aₖⱼ)²."""
    for i in range(x.shape[0]):
        for k in range(means.shape[0]):
            square = 0.0
            for j in range(x.shape[1]):
                z = (x[i, j] - means[k, j]) * scale[k, j]
                square += z * z
            out[i, k] = offset[k] - 0.5 * square
