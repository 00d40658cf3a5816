"""Do distances tell points apart? In many dimensions everybody may be equally far away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.distances.metric_from import distances_among_some, metric_from
from separatrix.kernels.base import n_items
from separatrix.messages import InputError
from separatrix.rows.block import Floats

#: Rows of the sample.
MOST_POINTS = 500
#: Distances that vary less than this share of their mean, with nearest neighbours farther than
#: this share of it, say little about who is near.
SPREAD, NEAREST = 0.1, 0.7


@dataclass(frozen=True)
class DistanceConcentration:
    """Distances between all pairs of a sample.

    ``spread`` is their deviation over their mean; ``nearest`` the usual (median) distance to the
    nearest neighbour over the mean of all. Points in groups or along a surface have a large spread
    and near neighbours; noise in many columns has neither.
    """

    distances: Floats
    spread: float
    nearest: float

    @property
    def concentrated(self) -> bool:
        """Whether the nearest neighbour is hardly nearer than anybody else."""
        return self.spread < SPREAD and self.nearest > NEAREST

    def __str__(self) -> str:
        said = (
            f"Distances vary by {self.spread:.0%} of their mean, and the nearest neighbour is at "
            f"{self.nearest:.0%} of it"
        )
        if self.concentrated:
            return f"{said}: everybody is about equally far away, and to be near means little."
        return f"{said}: distances tell points apart."


def distance_concentration(X: Any, metric: Any = "euclidean") -> DistanceConcentration:
    """Look at the distances between the rows of X (of more than 500 an even selection)."""
    chosen = metric_from(metric).fitted(X)
    x = chosen.validate(X)
    n = n_items(x)
    if n < 3:
        raise InputError(f"{n} points have too few distances to look at.")
    _, square = distances_among_some(chosen, x, MOST_POINTS)
    pairs = square[np.triu_indices(len(square), 1)]
    np.fill_diagonal(square, np.inf)
    mean = float(pairs.mean()) or 1.0
    return DistanceConcentration(
        pairs, float(pairs.std()) / mean, float(np.median(square.min(axis=1))) / mean
    )
