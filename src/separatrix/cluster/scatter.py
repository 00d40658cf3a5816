"""Scatter, split into what is within clusters and what is between them.

Σ ‖x − μ‖²  =  Σ_j Σ_{i in j} ‖x − μ_j‖²  +  Σ_j n_j ‖μ_j − μ‖²
  total               within                      between
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.rows.block import Floats


@dataclass(frozen=True)
class ScatterDecomposition:
    """Traces of the scatter matrices: ``total`` = ``within.sum()`` + ``between``.

    ``within`` has one number per cluster, in the order of ``labels``; ``means`` and ``sizes`` (the
    sums of weights) are those of the clusters.
    """

    total: float
    within: Floats
    between: float
    labels: NDArray[Any]
    sizes: Floats
    means: Floats

    @property
    def explained(self) -> float:
        """Share of the scatter that is between clusters; NaN when all rows are equal."""
        return self.between / self.total if self.total > 0 else float("nan")

    def __str__(self) -> str:
        parts = " + ".join(f"{value:.6g}" for value in (*self.within, self.between))
        return f"{self.total:.6g} = {parts} (the last between the clusters)"


def scatter_decomposition(X: Any, labels: Any, sample_weight: Any = None) -> ScatterDecomposition:
    """Split the scatter of the rows of X by the clusters that ``labels`` names."""
    x = np.asarray(X, dtype=np.float64)
    named = np.asarray(labels)
    if x.ndim != 2 or named.shape != (len(x),) or not len(x):
        raise InputError(
            f"Rows of shape {x.shape} and labels of shape {named.shape} do not go together.",
            remedy="Give a matrix with rows, and one label for each of them.",
        )
    if not np.isfinite(x).all():
        raise InputError("X holds NaN or infinity; scatter needs finite numbers.")
    w = np.ones(len(x)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if w.shape != (len(x),) or not np.isfinite(w).all() or (w < 0).any() or not w.any():
        raise InputError("sample_weight must be finite, not negative, and one number a row.")
    x, named, w = x[w > 0], named[w > 0], w[w > 0]
    names, code = np.unique(named, return_inverse=True)
    origin = x[0]  # sums about a row keep their digits when all rows are far from zero
    z = x - origin
    sizes: Floats = np.asarray(np.bincount(code, w), dtype=float)
    means = np.stack([np.bincount(code, w * column) for column in z.T], axis=1) / sizes[:, None]
    mean = (w @ z) / w.sum()
    square = w * ((z - means[code]) ** 2).sum(axis=1)
    within: Floats = np.asarray(np.bincount(code, square), dtype=float)
    between = float(sizes @ ((means - mean) ** 2).sum(axis=1))
    total = float(w @ ((z - mean) ** 2).sum(axis=1))
    return ScatterDecomposition(total, within, between, names, sizes, means + origin)
