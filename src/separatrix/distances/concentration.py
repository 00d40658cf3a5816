"""Concentration of distances: in many dimensions all points may be about equally far apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.distances.names import metric_from, sample_distances
from separatrix.kernels.base import n_items
from separatrix.messages import InputError
from separatrix.rows.block import Floats

#: Points of the sample.
MAX_POINTS = 500
#: Distances are concentrated if their coefficient of variation is below the first, and the median
#: distance to the nearest neighbor is above the second, as a fraction of the mean distance.
MAX_SPREAD, MIN_NEAREST = 0.1, 0.7


@dataclass(frozen=True)
class DistanceConcentration:
    """Distances between all pairs of a sample, and how much they vary.

    ``spread`` is their standard deviation over their mean, ``nearest`` the median distance to the
    nearest neighbor over the mean distance. Clusters and low-dimensional surfaces have a large
    spread and near neighbors; noise in many columns has neither.
    """

    distances: Floats
    spread: float
    nearest: float

    @property
    def concentrated(self) -> bool:
        """Whether the nearest neighbor is hardly nearer than the average point."""
        return self.spread < MAX_SPREAD and self.nearest > MIN_NEAREST

    def __str__(self) -> str:
        figures = (
            f"The standard deviation of the distances is {self.spread:.0%} of their mean, and the "
            f"nearest neighbor is at {self.nearest:.0%} of it"
        )
        if self.concentrated:
            return f"{figures}: all points are about equally far apart."
        return f"{figures}: distances discriminate between points."


def distance_concentration(X: Any, metric: Any = "euclidean") -> DistanceConcentration:
    """Measure whether the distances between rows are concentrated around their mean.

        spread = std(d) / mean(d)
        nearest = median distance to the nearest neighbor / mean(d)

    Parameters
    ----------
    X : array-like or list
        The points. Of more than 500, as many evenly spaced ones are measured.
    metric : str, Metric or callable, default="euclidean"
        The distance.

    Returns
    -------
    DistanceConcentration
        ``spread``, ``nearest``, ``concentrated`` (bool), and the ``distances`` of all pairs.

    See Also
    --------
    metric_axioms : whether a distance is a metric.
    KNeighborsClassifier : warns of concentrated distances.

    References
    ----------
    K. Beyer et al., When is "nearest neighbor" meaningful?, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> sx.distance_concentration(rng.normal(size=(200, 500))).concentrated
    True
    >>> sx.distance_concentration(rng.normal(size=(200, 2))).concentrated
    False
    """
    fitted = metric_from(metric).fitted(X)
    x = fitted.validate(X)
    n = n_items(x)
    if n < 3:
        raise InputError(f"{n} points have too few distances.", remedy="Give at least 3 points.")
    _, square = sample_distances(fitted, x, MAX_POINTS)
    pairs = square[np.triu_indices(len(square), 1)]
    np.fill_diagonal(square, np.inf)
    mean = float(pairs.mean()) or 1.0
    return DistanceConcentration(
        pairs, float((pairs / mean).std()), float(np.median(square.min(axis=1))) / mean
    )
