"""Distance matrices in condensed form: the entries above the diagonal, row by row.

    v = (d₀₁, d₀₂, …, d₀ₙ₋₁, d₁₂, …),     n (n − 1) / 2 numbers

This is the form of SciPy's ``pdist``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Floats


def is_condensed(distances: Any) -> bool:
    """Whether these are distances in condensed form: one dimension, and numbers."""
    if isinstance(distances, str) or hasattr(distances, "columns"):
        return False
    if not isinstance(distances, np.ndarray | list | tuple):
        return False
    return np.ndim(distances) == 1 and np.asarray(distances).dtype.kind in "fiub"


def condensed_size(length: int) -> int:
    """n, of which n (n − 1) / 2 is this length; refused if there is none."""
    n = int((1.0 + np.sqrt(1.0 + 8.0 * length)) / 2.0 + 0.5)
    if n * (n - 1) // 2 != length:
        raise InputError(
            f"{length} distances in a vector belong to no number of points: n points have "
            "n (n − 1) / 2 pairs.",
            remedy="Give the vector of scipy.spatial.distance.pdist, or a square matrix.",
        )
    return n


def as_square(distances: Any) -> Any:
    """The square matrix of distances in condensed form; anything else as it is."""
    if not is_condensed(distances):
        return distances
    vector = np.asarray(distances, dtype=np.float64)
    n = condensed_size(len(vector))
    square: Floats = np.zeros((n, n))
    square[np.triu_indices(n, 1)] = vector
    square += square.T
    return square
